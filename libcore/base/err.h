/* Errors: a code for the program, a sentence for the person.
 *
 * A function that can fail returns `enum status` and takes `struct error *err` last; err may be
 * NULL. The sentence names what was found and what is allowed; the hint says what to do next. Each
 * layer adds *who* (error_wrap), none repeats *what*; the top prints or logs it once. */
#ifndef LIBCORE_BASE_ERR_H
#define LIBCORE_BASE_ERR_H

#define MUST_CHECK __attribute__((warn_unused_result))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))

/* One enum for all of dadam. Values travel to dadamctl: never renumber, only add at the end. */
#define STATUS_MAP(X)                                                                              \
	X(ST_OK, 0, "ok")                                                                          \
	X(ST_NOMEM, 1, "out of memory")                                                            \
	X(ST_INVALID, 2, "invalid value")                                                          \
	X(ST_PROTO, 3, "peer broke the protocol")                                                  \
	X(ST_IO, 4, "input/output error")                                                          \
	X(ST_TIMEOUT, 5, "timed out")                                                              \
	X(ST_NOT_FOUND, 6, "not found")                                                            \
	X(ST_DENIED, 7, "permission denied")                                                       \
	X(ST_STATE, 8, "not possible in this state")                                               \
	X(ST_UNAVAILABLE, 9, "not available")                                                      \
	X(ST_DATA, 10, "bad data")                                                                 \
	X(ST_PLUGIN, 11, "plugin failed")                                                          \
	X(ST_NOT_FINITE, 12, "value is not finite")                                                \
	X(ST_VERSION, 13, "versions do not match")                                                 \
	X(ST_CLOSED, 14, "closed")                                                                 \
	X(ST_STOPPED, 15, "stopped")                                                               \
	X(ST_BUG, 16, "internal error")

enum status {
#define X(name, value, text) name = value,
	STATUS_MAP(X)
#undef X
};

struct error {
	enum status status;
	char msg[480];  /* "who: what was found, what is allowed" */
	char hint[240]; /* what to do next; may be empty */
};

/* The fixed text of a status; "unknown status" for a value outside the enum. */
const char *status_text(enum status st);

/* Fill err (when not NULL) with st and the sentence; clears the hint. Returns st. */
enum status error_set(struct error *err, enum status st, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Put "who: " before the sentence that err already holds and set its status. Returns st. */
enum status error_wrap(struct error *err, enum status st, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Set what to do next, without touching status and sentence. */
void error_hint(struct error *err, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
