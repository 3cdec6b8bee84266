/* Short sentences in fixed places. Too long a text is cut, on purpose and without complaint. */
#ifndef DAEMON_NODE_TEXT_H
#define DAEMON_NODE_TEXT_H

#include "libcore/base/err.h"

#include <stddef.h>

/* Replace the text in dst (size bytes, the closing zero included). Arguments may not lie in dst. */
void text_put(char *dst, size_t size, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Put more behind the text that dst holds. */
void text_add(char *dst, size_t size, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Put one more item behind the list "a, b" that dst (10 bytes or more) holds. An item without room is left
 * out whole, and "..." closes the list. */
void text_add_item(char *dst, size_t size, const char *item);

/* "IP:PORT" from what a peer says of itself: when it names no host (":PORT", 0.0.0.0, [::]), the host
 * is the one that it was seen at. */
void text_address(char *dst, size_t size, const char *said, const char *seen);

/* Is the host of "IP:PORT" a loopback address; a link-local one (worth nothing to a third node)? */
int text_is_loopback(const char *address);
int text_is_link_local(const char *address);

#endif
