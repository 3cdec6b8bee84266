/* The links of this node's own ranks. See roster.h. */
#include "daemon/node/roster.h"

#include "daemon/node/job.h"
#include "daemon/node/member.h"
#include "daemon/node/text.h"
#include "libcore/base/bytes.h"
#include "libcore/base/mem.h"

#include <string.h>

#define RETRY_FIRST_MS 200U
#define RETRY_MOST_MS 10000U
#define DIAL_MS 3000U

static struct job_links *find(struct roster *ro, const struct id *job)
{
	for (struct job_links *jl = ro->first; jl != NULL; jl = jl->next)
		if (id_equal(&jl->job, job))
			return jl;
	return NULL;
}

/* Which job's link to which rank uses this connection? NULL: none. */
static struct job_links *find_conn(struct roster *ro, uint64_t conn, uint32_t *rank)
{
	for (struct job_links *jl = ro->first; conn != 0 && jl != NULL; jl = jl->next)
		for (uint32_t r = 0; r < JOB_MAX_RANKS; r++)
			if (jl->to[r].conn == conn) {
				*rank = r;
				return jl;
			}
	return NULL;
}

int roster_has_conn(const struct roster *ro, uint64_t conn)
{
	for (const struct job_links *jl = ro->first; jl != NULL; jl = jl->next)
		for (uint32_t r = 0; r < JOB_MAX_RANKS; r++)
			if (jl->to[r].conn == conn)
				return 1;
	return 0;
}

static void drop_conn(struct step *st, struct link *l)
{
	if (l->conn != 0)
		(void)step_close(st, l->conn);
	l->conn = 0;
}

/* The offer came to nothing: the next one waits, longer every time. */
static void back_to_idle(struct step *st, struct link *l, int in_vain)
{
	drop_conn(st, l);
	l->state = LINK_IDLE;
	memset(l->secret, 0, sizeof l->secret);
	l->until_ms = st->now_ms + step_backoff(st, RETRY_FIRST_MS, RETRY_MOST_MS, l->tries);
	l->tries = in_vain ? l->tries + 1 : 0;
}

static void forget(struct roster *ro, struct step *st, struct job_links *gone)
{
	struct job_links **at = &ro->first;

	while (*at != gone)
		at = &(*at)->next;
	*at = gone->next;
	for (uint32_t r = 0; st != NULL && r < JOB_MAX_RANKS; r++)
		drop_conn(st, &gone->to[r]);
	mem_free(gone);
}

void roster_fini(struct roster *ro)
{
	while (ro->first != NULL)
		forget(ro, NULL, ro->first);
}

/* The table of a job whose worker is ready here; NULL: there is none (then nor is a table). */
static struct job_links *table_of(struct roster *ro, struct step *st, const struct id *id)
{
	const struct job *j = jobs_find(st->jobs, id);
	struct job_links *jl = find(ro, id);
	int live = j != NULL && job_worker_is_live(j);

	if (jl != NULL && (!live || job_ballot_cmp(&jl->ballot, &j->rec.ballot) != 0)) {
		forget(ro, st, jl);
		jl = NULL;
	}
	if (!live || jl != NULL)
		return jl;
	jl = mem_alloc(1, sizeof *jl);
	if (jl == NULL) {
		*st->nomem = 1;
		return NULL;
	}
	jl->job = *id;
	jl->ballot = j->rec.ballot;
	jl->rank = j->worker.rank;
	jl->next = ro->first;
	ro->first = jl;
	return jl;
}

/* A trained rank begins no round, but a late one starts with it, and the mean needs the link. */
static int wants_links(const struct job *j, uint32_t rank)
{
	enum control_rank_state s = j->rec.ranks[rank].view.state;

	return s == CONTROL_RANK_READY || s == CONTROL_RANK_RUNNING || s == CONTROL_RANK_TRAINED;
}

/* May a link between this node's rank and that one be made now? */
static int is_open(const struct job *j, const struct step *st, uint32_t rank)
{
	return elastic_wants_link(j, rank) && wants_links(j, j->worker.rank) && wants_links(j, rank) &&
			(j->phase.lost >> rank & 1) == 0 && members_conn(st->members, &j->rec.ranks[rank].view.node) != 0;
}

static void offer(struct roster *ro, struct step *st, struct job_links *jl, const struct job *j, uint32_t rank)
{
	struct link *l = &jl->to[rank];
	struct peer_msg msg = {.type = PEER_LINK_OFFER};
	struct peer_link_offer *o = &msg.u.link_offer;

	bytes_store_u64(l->secret, step_random(st));
	bytes_store_u64(l->secret + 8, step_random(st));
	l->id = ++ro->last_id;
	l->dial = l->next_dial;
	o->job = jl->job;
	o->ballot = jl->ballot;
	o->link = l->id;
	memcpy(o->secret, l->secret, sizeof o->secret);
	o->rank_from = jl->rank;
	o->rank_to = rank;
	o->dial = l->dial;
	if (!step_send_to(st, &j->rec.ranks[rank].view.node, &msg))
		return;
	l->state = LINK_OFFERED;
	l->until_ms = st->now_ms + st->cfg->link_offer_ms;
}

static void answer(struct step *st, const struct id *to, const struct id *job, uint64_t link, int ok, const char *why)
{
	struct peer_msg msg = {.type = PEER_LINK_ANSWER};
	struct peer_link_answer *a = &msg.u.link_answer;

	a->job = *job;
	a->link = link;
	a->accepted = ok != 0;
	text_put(a->why, sizeof a->why, "%s", why);
	(void)step_send_to(st, to, &msg);
}

/* The dial came to nothing: the other end shall try. The answerer says so to the offerer. */
static void dial_failed(struct step *st, struct job_links *jl, uint32_t rank, const char *why)
{
	const struct job *j = jobs_find(st->jobs, &jl->job);
	struct link *l = &jl->to[rank];

	step_job_log(st, &jl->job, NODE_LOG_WARN, "cannot connect to rank %u: %s", rank, why);
	if (rank < jl->rank)
		answer(st, &j->rec.ranks[rank].view.node, &jl->job, l->id, 0, why);
	else
		l->next_dial = PEER_ANSWERER_DIALS;
	back_to_idle(st, l, 1);
	if (rank > jl->rank && l->tries == 1)
		l->until_ms = st->now_ms; /* the first time the other end's turn comes at once */
}

static int is_dialling(const struct link *l)
{
	return l->state == LINK_DIALLING || l->state == LINK_GREETING;
}

/* Offer what is missing, drop what took too long. */
static void consider(struct roster *ro, struct step *st, struct job_links *jl)
{
	const struct job *j = jobs_find(st->jobs, &jl->job);

	for (uint32_t r = 0; r < j->rec.n_ranks; r++) {
		struct link *l = &jl->to[r];

		if (is_dialling(l) && st->now_ms >= l->answer_by_ms && st->now_ms < l->until_ms)
			dial_failed(st, jl, r, "no answer in 3 s");
		if (l->state != LINK_IDLE && l->state != LINK_IS_UP && st->now_ms >= l->until_ms) {
			step_job_log(st, &jl->job, NODE_LOG_WARN, "link to rank %u was not up in %u ms; another offer is made", r, st->cfg->link_offer_ms);
			back_to_idle(st, l, 1);
		}
		if (l->state == LINK_IDLE && jl->rank < r && st->now_ms >= l->until_ms && is_open(j, st, r))
			offer(ro, st, jl, j, r);
	}
}

static void dial(struct step *st, struct job_links *jl, uint32_t rank)
{
	const struct job *j = jobs_find(st->jobs, &jl->job);
	const char *address = address_best(&st->members->addresses, &j->rec.ranks[rank].view.node);
	struct link *l = &jl->to[rank];

	l->state = LINK_DIALLING;
	l->answer_by_ms = st->now_ms + DIAL_MS;
	if (address[0] == '\0')
		address = members_find(st->members, &j->rec.ranks[rank].view.node)->address;
	if (address[0] == '\0' || !step_dial(st, address, &l->conn))
		l->until_ms = st->now_ms; /* no address, no memory: another offer */
}

/* Why this offer cannot be accepted; NULL: it can. */
static const char *refusal(const struct step *st, const struct job_links *jl, const struct id *from, const struct peer_link_offer *o)
{
	const struct job *j = jobs_find(st->jobs, &o->job);

	if (j == NULL || job_ballot_cmp(&o->ballot, &j->rec.ballot) != 0)
		return "another attempt of the job stands here";
	if (jl == NULL)
		return "the worker is not ready";
	if (o->rank_to != jl->rank || o->rank_from >= jl->rank || !id_equal(&j->rec.ranks[o->rank_from].view.node, from))
		return "the ranks are not these nodes'";
	if (!elastic_wants_link(j, o->rank_from))
		return "the topology has no such link";
	if (o->link <= jl->to[o->rank_from].id)
		return "a newer offer stands";
	return NULL;
}

static void on_offer(struct roster *ro, struct step *st, const struct id *from, const struct peer_link_offer *o)
{
	struct job_links *jl = table_of(ro, st, &o->job);
	const char *why = refusal(st, jl, from, o);
	struct link *l;

	if (why != NULL) {
		answer(st, from, &o->job, o->link, 0, why);
		return;
	}
	l = &jl->to[o->rank_from];
	drop_conn(st, l);
	l->id = o->link;
	l->dial = o->dial;
	memcpy(l->secret, o->secret, sizeof l->secret);
	l->state = LINK_AWAITED;
	l->until_ms = st->now_ms + st->cfg->link_offer_ms;
	answer(st, from, &o->job, o->link, 1, "");
	if (o->dial == PEER_ANSWERER_DIALS)
		dial(st, jl, o->rank_from);
}

static void on_answer(struct roster *ro, struct step *st, const struct id *from, const struct peer_link_answer *a)
{
	struct job_links *jl = table_of(ro, st, &a->job);
	const struct job *j = jl != NULL ? jobs_find(st->jobs, &a->job) : NULL;

	for (uint32_t r = 0; j != NULL && r < j->rec.n_ranks; r++) {
		struct link *l = &jl->to[r];

		if (l->id != a->link || r < jl->rank || !id_equal(&j->rec.ranks[r].view.node, from))
			continue;
		if (!a->accepted && (l->state == LINK_OFFERED || l->state == LINK_AWAITED)) {
			step_job_log(st, &a->job, NODE_LOG_DEBUG, "link to rank %u refused: %s", r, a->why);
			l->next_dial = PEER_OFFERER_DIALS;
			back_to_idle(st, l, 1);
		} else if (a->accepted && l->state == LINK_OFFERED) {
			l->state = LINK_AWAITED;
			if (l->dial == PEER_OFFERER_DIALS)
				dial(st, jl, r);
		}
	}
}

void roster_on_opened(struct roster *ro, struct step *st, uint64_t conn)
{
	uint32_t r;
	struct job_links *jl = find_conn(ro, conn, &r);
	struct peer_msg msg = {.type = PEER_LINK_HELLO};
	struct peer_link_hello *h = &msg.u.link_hello;

	if (jl == NULL)
		return;
	h->protocol_min = PEER_PROTOCOL_MIN;
	h->protocol_max = PEER_PROTOCOL_MAX;
	text_put(h->cluster, sizeof h->cluster, "%s", st->cfg->cluster);
	h->job = jl->job;
	h->link = jl->to[r].id;
	h->rank_from = jl->rank;
	memcpy(h->secret, jl->to[r].secret, sizeof h->secret);
	jl->to[r].state = LINK_GREETING;
	(void)step_send(st, conn, &msg);
}

/* The connection goes to the worker. Its secret has served. */
static void hand_over(struct step *st, struct job_links *jl, uint32_t rank, uint64_t conn, int accepted)
{
	struct link *l = &jl->to[rank];
	struct worker_msg msg = {.type = WORKER_LINK_HANDOVER};

	msg.u.handover.link = l->id;
	msg.u.handover.rank = rank;
	msg.u.handover.accepted = accepted != 0;
	l->conn = 0;
	memset(l->secret, 0, sizeof l->secret);
	l->state = LINK_HANDED;
	if (!step_worker(st, NODE_DO_HANDOVER, &jl->job, conn, &msg))
		(void)step_close(st, conn);
}

void roster_on_msg(struct roster *ro, struct step *st, uint64_t conn, const struct peer_msg *msg)
{
	uint32_t r;
	struct job_links *jl = find_conn(ro, conn, &r);

	if (jl == NULL)
		return;
	if (msg->type == PEER_LINK_ACCEPT && jl->to[r].state == LINK_GREETING && msg->u.link_accept.link == jl->to[r].id) {
		hand_over(st, jl, r, conn, 0);
		return;
	}
	dial_failed(st, jl, r, msg->type == PEER_BYE ? msg->u.bye.why : "the other end broke the protocol");
	consider(ro, st, jl);
}

void roster_on_lost(struct roster *ro, struct step *st, uint64_t conn, const char *why)
{
	uint32_t r;
	struct job_links *jl = find_conn(ro, conn, &r);

	if (jl == NULL)
		return;
	jl->to[r].conn = 0;
	dial_failed(st, jl, r, why[0] != '\0' ? why : "connection closed");
	consider(ro, st, jl);
}

static int same_secret(const uint8_t *a, const uint8_t *b)
{
	uint8_t diff = 0;

	for (size_t i = 0; i < PEER_SECRET_BYTES; i++)
		diff |= a[i] ^ b[i];
	return diff == 0;
}

/* Why this connection is no link; NULL: it is. */
static const char *link_refusal(const struct step *st, const struct job_links *jl, const struct peer_link_hello *h)
{
	if (h->protocol_min > PEER_PROTOCOL_MAX || h->protocol_max < PEER_PROTOCOL_MIN)
		return "no protocol version in common";
	if (strcmp(h->cluster, st->cfg->cluster) != 0)
		return "another cluster";
	if (jl == NULL)
		return "no worker of this job is ready here";
	if (h->rank_from >= JOB_MAX_RANKS || jl->to[h->rank_from].state != LINK_AWAITED || jl->to[h->rank_from].id != h->link)
		return "this link was not offered, or is closed already";
	if (!same_secret(jl->to[h->rank_from].secret, h->secret))
		return "wrong secret";
	return NULL;
}

static void on_link_hello(struct roster *ro, struct step *st, uint64_t conn, const struct peer_link_hello *h)
{
	struct job_links *jl = table_of(ro, st, &h->job);
	const char *why = link_refusal(st, jl, h);
	struct peer_msg msg = {.type = PEER_LINK_ACCEPT};

	if (why != NULL) {
		step_log(st, NODE_LOG_WARN, "link refused", "rank=%u why=\"%s\"", h->rank_from, why);
		step_bye(st, conn, ST_DENIED, why);
		return;
	}
	msg.u.link_accept.link = h->link;
	(void)step_send(st, conn, &msg);
	hand_over(st, jl, h->rank_from, conn, 1);
}

void roster_on_link_state(struct roster *ro, struct step *st, const struct id *job, const struct worker_link_state *ls)
{
	struct job_links *jl = find(ro, job);
	struct link *l = jl != NULL && ls->rank < JOB_MAX_RANKS ? &jl->to[ls->rank] : NULL;

	if (l == NULL || l->id != ls->link || l->state < LINK_HANDED)
		return; /* of an older link */
	if (ls->up) {
		l->state = LINK_IS_UP;
		l->tries = 0;
		return; /* the worker's own log says so */
	}
	back_to_idle(st, l, l->state != LINK_IS_UP);
}

void roster_on_note(struct roster *ro, struct step *st, const struct note *note)
{
	struct job_links *jl, *next;

	if (note->type == NOTE_LINK_HELLO) {
		on_link_hello(ro, st, note->conn, &note->msg->u.link_hello);
	} else if (note->type == NOTE_PEER_MSG && note->msg->type == PEER_LINK_OFFER) {
		on_offer(ro, st, &note->id, &note->msg->u.link_offer);
	} else if (note->type == NOTE_PEER_MSG && note->msg->type == PEER_LINK_ANSWER) {
		on_answer(ro, st, &note->id, &note->msg->u.link_answer);
	} else if (note->type == NOTE_JOB) {
		jl = table_of(ro, st, &note->id);
		if (jl != NULL)
			consider(ro, st, jl);
	} else if (note->type == NOTE_MEMBER_UP) {
		for (jl = ro->first; jl != NULL; jl = next) {
			next = jl->next;
			jl = table_of(ro, st, &jl->job);
			if (jl != NULL)
				consider(ro, st, jl);
		}
	}
}

void roster_on_tick(struct roster *ro, struct step *st)
{
	for (struct job_links *jl = ro->first, *next; jl != NULL; jl = next) {
		next = jl->next;
		jl = table_of(ro, st, &jl->job);
		if (jl != NULL)
			consider(ro, st, jl);
	}
}

/* An idle link whose time has come waits for its rank, not for the time: the job's own news wake it. */
uint64_t roster_wake_ms(const struct roster *ro, uint64_t now_ms)
{
	uint64_t wake = UINT64_MAX;

	for (const struct job_links *jl = ro->first; jl != NULL; jl = jl->next)
		for (uint32_t r = 0; r < JOB_MAX_RANKS; r++) {
			const struct link *l = &jl->to[r];
			int waits = l->state == LINK_IDLE ? l->until_ms > now_ms : l->state != LINK_IS_UP;

			if (waits && l->until_ms < wake)
				wake = l->until_ms;
			if (is_dialling(l) && l->answer_by_ms < wake)
				wake = l->answer_by_ms;
		}
	return wake;
}
