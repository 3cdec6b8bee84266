/* The disk's thread. See queue.h.
 *
 *   queue_* ─► todo ─► the thread: work() ─► done ─► queue_poll() in the loop
 *               ▲                      └─► failed, a write of that file as a whole: its bytes ─► kept
 *               └──────────────────────────────────────────── queue_retry() ◄───────────────────────┘
 *
 * One lock guards the lists, the flag and the count; no disk access happens under it. */
#include "daemon/store/queue.h"

#include "daemon/store/files.h"

#include "libcore/base/mem.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum task_type { TASK_REPLACE, TASK_APPEND, TASK_READ };

struct task {
	enum task_type type;
	char path[400];
	struct buf bytes;
	size_t max; /* APPEND: of the file; READ: how many to read */
	uint64_t offset;
	queue_read_fn done;
	void *done_data;
	struct queue_chunk chunk;
	int owed; /* REPLACE: the last write of this file failed */
	struct task *next;
};

struct list {
	struct task *first, *last;
};

struct queue {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t work;
	struct list todo, done, kept;
	size_t waiting_bytes; /* of todo and kept */
	unsigned owing;       /* files whose last write failed; their tasks are in todo, at work or in kept */
	int troubled;         /* the loop's: writes() was told of a failure */
	int stopping;
	void (*wake)(void *data);
	queue_writes_fn writes;
	void *data;
};

static void push(struct list *l, struct task *t)
{
	t->next = NULL;
	if (l->first == NULL)
		l->first = t;
	else
		l->last->next = t;
	l->last = t;
}

static struct task *pop(struct list *l)
{
	struct task *t = l->first;

	if (t != NULL)
		l->first = t->next;
	return t;
}

static struct task *task_create(enum task_type type, const char *path, struct error *err)
{
	struct task *t = mem_alloc(1, sizeof *t);

	if (t == NULL) {
		(void)error_set(err, ST_NOMEM, "no memory to queue for %s", path);
		return NULL;
	}
	t->type = type;
	(void)snprintf(t->path, sizeof t->path, "%s", path);
	return t;
}

static void task_free(struct task *t)
{
	buf_fini(&t->bytes);
	mem_free(t->chunk.bytes);
	mem_free(t);
}

/* ---- the thread ---- */

static void work(struct task *t)
{
	struct error *err = &t->chunk.error;
	enum status st = t->type == TASK_READ ? ST_OK : files_make_parent(t->path, err);

	switch (t->type) {
	case TASK_REPLACE:
		st = st == ST_OK ? files_replace(t->path, t->bytes.data, t->bytes.len, err) : st;
		break;
	case TASK_APPEND:
		st = st == ST_OK ? files_append(t->path, t->bytes.data, t->bytes.len, t->max, err) : st;
		break;
	case TASK_READ:
		st = files_read_at(t->path, t->offset, t->chunk.bytes, t->max, &t->chunk.len, &t->chunk.total, err);
		break;
	}
	err->status = st;
}

/* The last task for that file, when it is of that type and has not begun. Under the lock. */
static struct task *find_waiting(struct queue *q, enum task_type type, const char *path)
{
	struct task *found = NULL;

	for (struct task *t = q->todo.first; t != NULL; t = t->next)
		if (t->type != TASK_READ && strcmp(t->path, path) == 0)
			found = t;
	return found != NULL && found->type == type ? found : NULL;
}

/* Who owes the file after t failed to write it: a newer task that waits, else one with the bytes of t, which is
 * kept. NULL: no memory, nobody. Under the lock. */
static struct task *heir_of(struct queue *q, struct task *t)
{
	struct task *heir = find_waiting(q, TASK_REPLACE, t->path);

	if (heir != NULL)
		return heir;
	heir = task_create(TASK_REPLACE, t->path, NULL);
	if (heir == NULL)
		return NULL;
	heir->bytes = t->bytes;
	t->bytes = (struct buf){0};
	q->waiting_bytes += heir->bytes.len;
	push(&q->kept, heir);
	return heir;
}

/* Count what is owed, now that t is done. Under the lock. */
static void settle(struct queue *q, struct task *t)
{
	struct task *heir;

	q->owing -= (unsigned)t->owed;
	t->owed = 0;
	if (t->type != TASK_REPLACE || t->chunk.error.status == ST_OK)
		return;
	heir = heir_of(q, t);
	if (heir == NULL || heir->owed)
		return;
	heir->owed = 1;
	q->owing++;
}

static struct task *next_task(struct queue *q)
{
	struct task *t;

	(void)pthread_mutex_lock(&q->lock);
	while (q->todo.first == NULL && !q->stopping)
		(void)pthread_cond_wait(&q->work, &q->lock);
	t = pop(&q->todo);
	if (t != NULL)
		q->waiting_bytes -= t->bytes.len;
	(void)pthread_mutex_unlock(&q->lock);
	return t;
}

static void *run(void *arg)
{
	struct queue *q = arg;
	struct task *t;

	while ((t = next_task(q)) != NULL) {
		work(t);
		(void)pthread_mutex_lock(&q->lock);
		settle(q, t);
		buf_fini(&t->bytes);
		push(&q->done, t);
		(void)pthread_mutex_unlock(&q->lock);
		q->wake(q->data);
	}
	return NULL;
}

/* ---- the loop ---- */

enum status queue_start(struct queue **out, void (*wake)(void *data), queue_writes_fn writes, void *data,
		struct error *err)
{
	struct queue *q = mem_alloc(1, sizeof *q);
	pthread_attr_t attr;
	int code;

	*out = NULL;
	if (q == NULL)
		return error_set(err, ST_NOMEM, "no memory for the disk's queue");
	q->wake = wake;
	q->writes = writes;
	q->data = data;
	(void)pthread_mutex_init(&q->lock, NULL);
	(void)pthread_cond_init(&q->work, NULL);
	(void)pthread_attr_init(&attr);
	(void)pthread_attr_setstacksize(&attr, (size_t)128 * 1024);
	code = pthread_create(&q->thread, &attr, run, q);
	(void)pthread_attr_destroy(&attr);
	if (code != 0) {
		mem_free(q);
		return error_set(err, ST_IO, "no thread for the disk: %s", strerror(code));
	}
	*out = q;
	return ST_OK;
}

static void submit(struct queue *q, struct task *t)
{
	push(&q->todo, t);
	q->waiting_bytes += t->bytes.len;
	(void)pthread_cond_signal(&q->work);
}

/* Newer bytes have come: what is kept of that file is not worth a try any more. Its debt is the newer task's. Under
 * the lock. */
static void drop_kept(struct queue *q, struct task *newer)
{
	struct list kept = q->kept;

	q->kept = (struct list){0};
	while (kept.first != NULL) {
		struct task *t = pop(&kept);

		if (strcmp(t->path, newer->path) != 0) {
			push(&q->kept, t);
			continue;
		}
		newer->owed = t->owed;
		q->waiting_bytes -= t->bytes.len;
		task_free(t);
	}
}

enum status queue_replace(struct queue *q, const char *path, struct buf *bytes, struct error *err)
{
	struct task *waiting, *t = task_create(TASK_REPLACE, path, err);

	if (t == NULL) {
		buf_fini(bytes);
		return ST_NOMEM;
	}
	t->bytes = *bytes;
	*bytes = (struct buf){0};
	(void)pthread_mutex_lock(&q->lock);
	waiting = find_waiting(q, TASK_REPLACE, path);
	if (waiting != NULL) {
		struct buf newer = t->bytes;

		q->waiting_bytes += newer.len - waiting->bytes.len;
		t->bytes = waiting->bytes;
		waiting->bytes = newer;
	} else {
		drop_kept(q, t);
		submit(q, t);
	}
	(void)pthread_mutex_unlock(&q->lock);
	if (waiting != NULL)
		task_free(t);
	return ST_OK;
}

void queue_retry(struct queue *q)
{
	(void)pthread_mutex_lock(&q->lock);
	while (q->kept.first != NULL) {
		struct task *t = pop(&q->kept);

		q->waiting_bytes -= t->bytes.len;
		submit(q, t);
	}
	(void)pthread_mutex_unlock(&q->lock);
}

void queue_append(struct queue *q, const char *path, const char *text, size_t max)
{
	size_t n = strlen(text);
	struct task *t;

	(void)pthread_mutex_lock(&q->lock);
	t = find_waiting(q, TASK_APPEND, path);
	if (q->waiting_bytes + n > QUEUE_MAX_BYTES) {
		t = NULL; /* the disk is far behind: lines are what can be lost */
	} else if (t != NULL) {
		if (buf_append(&t->bytes, text, n) == ST_OK)
			q->waiting_bytes += n;
	} else {
		t = task_create(TASK_APPEND, path, NULL);
		if (t != NULL && buf_append(&t->bytes, text, n) == ST_OK) {
			t->max = max;
			submit(q, t);
		} else {
			mem_free(t);
		}
	}
	(void)pthread_mutex_unlock(&q->lock);
}

enum status queue_read(struct queue *q, const char *path, uint64_t offset, size_t cap, queue_read_fn done,
		void *done_data, struct error *err)
{
	struct task *t = task_create(TASK_READ, path, err);

	if (t == NULL)
		return ST_NOMEM;
	t->chunk.bytes = mem_alloc(cap, 1);
	if (t->chunk.bytes == NULL) {
		task_free(t);
		return error_set(err, ST_NOMEM, "no memory for %zu bytes of %s", cap, path);
	}
	t->max = cap;
	t->offset = offset;
	t->done = done;
	t->done_data = done_data;
	(void)pthread_mutex_lock(&q->lock);
	submit(q, t);
	(void)pthread_mutex_unlock(&q->lock);
	return ST_OK;
}

static int is_owing(struct queue *q)
{
	int owing;

	(void)pthread_mutex_lock(&q->lock);
	owing = q->owing > 0;
	(void)pthread_mutex_unlock(&q->lock);
	return owing;
}

static void deliver(struct queue *q, struct task *t)
{
	const struct error *err = &t->chunk.error;

	if (t->type == TASK_READ) {
		struct queue_chunk chunk = t->chunk;

		t->chunk.bytes = NULL; /* the callee's */
		t->done(t->done_data, &chunk);
	} else if (err->status != ST_OK && err->status != ST_STATE) { /* a full log is no news */
		q->troubled = 1;
		q->writes(q->data, err);
	} else if (err->status == ST_OK && q->troubled && !is_owing(q)) {
		q->troubled = 0;
		q->writes(q->data, NULL);
	}
	task_free(t);
}

void queue_poll(struct queue *q)
{
	struct list done;

	(void)pthread_mutex_lock(&q->lock);
	done = q->done;
	q->done = (struct list){0};
	(void)pthread_mutex_unlock(&q->lock);
	while (done.first != NULL)
		deliver(q, pop(&done));
}

void queue_stop(struct queue *q)
{
	if (q == NULL)
		return;
	queue_retry(q);
	(void)pthread_mutex_lock(&q->lock);
	q->stopping = 1;
	(void)pthread_cond_signal(&q->work);
	(void)pthread_mutex_unlock(&q->lock);
	(void)pthread_join(q->thread, NULL);
	queue_poll(q);
	while (q->kept.first != NULL)
		task_free(pop(&q->kept));
	(void)pthread_mutex_destroy(&q->lock);
	(void)pthread_cond_destroy(&q->work);
	mem_free(q);
}
