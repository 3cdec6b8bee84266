/* Handing a connected socket over to another process: nothing over-read, nothing left open. The child
 * stands for the worker. */
#include "daemon/io/conn.h"

#include "tests/unit/daemon/io/sides.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LAST_FOR_PARENT = 1, FOR_CHILD = 2, LAST = 50, FROM_PARENT = 55, FROM_CHILD = 60, HANDOVER = 40 };

static void child_link_frame(struct side *s, const struct frame *f)
{
	if (f->type == LAST) /* answer with what was seen */
		side_send(s->conn, FROM_CHILD, s->frames);
}

static void child_ipc_frame(struct side *s, const struct frame *f)
{
	if (f->type == HANDOVER)
		s->other->conn = conn_take_passenger(s->conn, &side_plain, side_owner(s->other), NULL);
}

static int run_child(int fd)
{
	uv_loop_t loop;
	struct side link = {.loop = &loop, .then = child_link_frame};
	struct side to_parent = {.loop = &loop, .then = child_ipc_frame, .other = &link};

	uv_loop_init(&loop);
	if (conn_adopt(&to_parent.conn, &loop, fd, UV_NAMED_PIPE, &side_ipc, side_owner(&to_parent), NULL) != ST_OK)
		return 1;
	uv_run(&loop, UV_RUN_DEFAULT); /* until both connections have ended */
	return link.closed == 1 && to_parent.closed == 1 && uv_loop_close(&loop) == 0 ? 0 : 2;
}

static pid_t start_child(int fd[2])
{
	pid_t pid;

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (pid == 0) {
		close(fd[0]);
		_exit(run_child(fd[1]));
	}
	close(fd[1]);
	return pid;
}

static struct conn *to_child;
static size_t bytes_before; /* that the parent sends on the link right before it hands over */

static void hand_over_at_frame(struct side *s, const struct frame *f)
{
	struct buf b = {0};

	cr_assert_eq(f->type, LAST_FOR_PARENT);
	conn_read(s->conn, 0);
	if (bytes_before > 0)
		side_send(s->conn, FROM_PARENT, bytes_before);
	side_append(&b, HANDOVER, 0);
	cr_assert_eq(conn_send_fd(to_child, &b, s->conn, NULL), ST_OK);
	s->conn = NULL;
}

static void send_the_story(struct conn *c)
{
	struct buf b = {0};

	side_append(&b, LAST_FOR_PARENT, 0); /* and bytes for the child right behind it */
	for (int i = 0; i < 9; i++)
		side_append(&b, FOR_CHILD, 1234);
	side_append(&b, LAST, 0);
	cr_assert_eq(conn_send(c, &b, NULL), ST_OK);
}

static void hand_over(size_t before, unsigned answers)
{
	struct pair p = {.b = {.then = hand_over_at_frame}};
	struct side c = {.loop = &p.loop};
	int fd[2], code;
	pid_t pid = start_child(fd);

	bytes_before = before;
	pair_open(&p, &side_plain);
	cr_assert_eq(conn_adopt(&c.conn, &p.loop, fd[0], UV_NAMED_PIPE, &side_ipc, side_owner(&c), NULL), ST_OK);
	to_child = c.conn;
	send_the_story(p.a.conn);
	side_run_until(&p.loop, &p.a.frames, answers);
	cr_assert_eq(p.a.types[answers - 1], FROM_CHILD);
	cr_assert_eq(p.a.payload_bytes, before + 10);
	cr_assert_eq(p.b.closed, 0);
	conn_close(p.a.conn, 15000, NULL); /* ends only when the parent holds no copy of the socket */
	side_run_until(&p.loop, &p.a.closed, 1);
	conn_close(c.conn, 0, NULL);
	pair_end(&p);
	cr_assert_eq(waitpid(pid, &code, 0), pid);
	cr_assert_eq(code, 0);
}

Test(conn_fd, a_socket_handed_over_loses_no_byte)
{
	hand_over(0, 1);
}

Test(conn_fd, a_passenger_leaves_after_its_own_bytes)
{
	hand_over(1000000, 2);
}

static void board_and_wait(struct side *s, const struct frame *f)
{
	struct buf b = {0};

	(void)f;
	conn_read(s->conn, 0);
	for (int i = 0; i < 10; i++)
		side_send(s->conn, FROM_PARENT, 1000000); /* nobody reads them */
	side_append(&b, HANDOVER, 0);
	cr_assert_eq(conn_send_fd(to_child, &b, s->conn, NULL), ST_OK);
	s->conn = NULL;
}

Test(conn_fd, a_passenger_that_waits_for_its_ride_ends_with_the_carrier)
{
	struct pair p = {.b = {.then = board_and_wait}};
	struct side c = {.loop = &p.loop};
	int fd[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
	pair_open(&p, &side_plain);
	cr_assert_eq(conn_adopt(&c.conn, &p.loop, fd[0], UV_NAMED_PIPE, &side_ipc, side_owner(&c), NULL), ST_OK);
	to_child = c.conn;
	side_send(p.a.conn, LAST_FOR_PARENT, 0);
	side_run_until(&p.loop, &p.b.frames, 1);
	conn_read(p.a.conn, 0);
	close(fd[1]);
	side_run_until(&p.loop, &c.closed, 1);
	conn_read(p.a.conn, 1);
	side_run_until(&p.loop, &p.a.closed, 1); /* nobody holds the other end any more */
	pair_end(&p);
}

static void give_fd(int to, struct buf *frame, int gift)
{
	char control[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec iov = {frame->data, frame->len};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
	struct cmsghdr *head = CMSG_FIRSTHDR(&m);

	head->cmsg_len = CMSG_LEN(sizeof(int));
	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	memcpy(CMSG_DATA(head), &gift, sizeof gift);
	cr_assert_eq(sendmsg(to, &m, 0), (ssize_t)frame->len);
	close(gift);
}

Test(conn_fd, a_descriptor_nobody_asked_for_is_closed)
{
	uv_loop_t loop;
	struct side s = {.loop = &loop};
	struct buf b = {0};
	int fd[2], gift[2];
	char byte;

	uv_loop_init(&loop);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, gift), 0);
	cr_assert_eq(conn_adopt(&s.conn, &loop, fd[0], UV_NAMED_PIPE, &side_ipc, side_owner(&s), NULL), ST_OK);
	side_append(&b, 3, 0);
	give_fd(fd[1], &b, gift[0]);
	side_run_until(&loop, &s.frames, 1);
	uv_run(&loop, UV_RUN_NOWAIT);
	cr_assert_eq(recv(gift[1], &byte, 1, MSG_DONTWAIT), 0, "the other end must see the end");
	cr_assert_null(conn_take_passenger(s.conn, &side_plain, side_owner(&s), NULL));
	conn_close(s.conn, 0, NULL);
	close(fd[1]);
	close(gift[1]);
	buf_fini(&b);
	side_end_loop(&loop);
}
