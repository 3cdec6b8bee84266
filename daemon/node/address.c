/* Where members can be reached. See address.h. */
#include "daemon/node/address.h"

#include "daemon/node/text.h"

#include <string.h>

#define BACKOFF_FIRST_MS 200U
#define BACKOFF_MOST_MS 10000U
#define TURN_MS 250U /* between two addresses of one member (RFC 8305 5: connection attempt delay) */

struct address *address_find(struct addresses *as, const char *text)
{
	for (uint32_t i = 0; i < as->n; i++)
		if (strcmp(as->list[i].text, text) == 0)
			return &as->list[i];
	return NULL;
}

/* Those that its owner names come before hearsay. */
static int rank(const struct address *a)
{
	if ((a->sources & (ADDRESS_INBOUND | ADDRESS_SAID | ADDRESS_SEED)) != 0)
		return 2;
	return (a->sources & (ADDRESS_TOLD | ADDRESS_REMEMBERED)) != 0;
}

/* Is a rather to be tried than b? What worked last and has not failed since, what did not fail, ... */
static int is_better(const struct address *a, const struct address *b)
{
	if ((a->tries == 0) != (b->tries == 0))
		return a->tries == 0;
	if (a->good_ms != b->good_ms)
		return a->good_ms > b->good_ms;
	if (a->tries != b->tries)
		return a->tries < b->tries;
	return rank(a) > rank(b);
}

/* When the owner has as many as it may: the worst of them, if it may go for one from this source. */
static int is_crowded(struct addresses *as, enum address_source source, const struct id *owner, struct address **worst)
{
	uint32_t n = 0;

	*worst = NULL;
	for (uint32_t i = 0; i < as->n; i++) {
		struct address *a = &as->list[i];
		int hearsay = source == ADDRESS_TOLD || source == ADDRESS_SEEN;

		if (!id_equal(&a->owner, owner))
			continue;
		n++;
		if (!a->dialling && (a->sources & ADDRESS_SEED) == 0 && (!hearsay || (a->tries > 0 && a->good_ms == 0)) &&
				(*worst == NULL || is_better(*worst, a)))
			*worst = a;
	}
	return n >= ADDRESSES_PER_OWNER;
}

/* A place for one more: at the end, or of one that nobody owns and nobody configured. */
static struct address *place(struct addresses *as, enum address_source source, const struct id *owner)
{
	struct address *worst;

	if (owner != NULL && is_crowded(as, source, owner, &worst))
		return worst;
	if (as->n < ADDRESSES_MAX)
		return &as->list[as->n++];
	for (uint32_t i = 0; i < as->n; i++) {
		struct address *a = &as->list[i];

		if (id_is_zero(&a->owner) && (a->sources & ADDRESS_SEED) == 0 && !a->dialling)
			return a;
	}
	return NULL;
}

struct address *address_add(struct addresses *as, const char *text, enum address_source source, const struct id *owner)
{
	struct address *a;

	if (text[0] == '\0')
		return NULL;
	a = address_find(as, text);
	if (a == NULL) {
		a = place(as, source, owner);
		if (a == NULL)
			return NULL;
		memset(a, 0, sizeof *a);
		text_put(a->text, sizeof a->text, "%s", text);
		if (owner != NULL)
			a->owner = *owner;
	} else if (owner != NULL && !id_equal(&a->owner, owner)) {
		if (source == ADDRESS_SEEN)
			return NULL; /* behind one address translator there may be many */
		if (a->sources == ADDRESS_SEEN)
			a->owner = *owner;
		else
			memset(&a->owner, 0, sizeof a->owner); /* two claim it: whoever answers there has it */
		a->due_ms = 0;
	}
	a->sources |= (uint8_t)source;
	return a;
}

static int is_listed(const char *text, const char (*texts)[64], size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(texts[i], text) == 0)
			return 1;
	return 0;
}

void address_set_seeds(struct addresses *as, const char (*texts)[64], size_t n)
{
	for (size_t i = 0; i < n; i++)
		(void)address_add(as, texts[i], ADDRESS_SEED, NULL);
	for (uint32_t i = 0; i < as->n;) {
		struct address *a = &as->list[i];

		if ((a->sources & ADDRESS_SEED) != 0 && !is_listed(a->text, texts, n))
			a->sources &= (uint8_t)~ADDRESS_SEED;
		if (a->sources == 0 && !a->dialling && !a->self && id_is_zero(&a->owner))
			*a = as->list[--as->n];
		else
			i++;
	}
}

void address_noted(struct address *a, struct step *st, enum control_reach reach, const char *why)
{
	a->dialling = 0;
	a->failed_ms = st->now_ms + 1;
	a->reach = reach;
	text_put(a->note, sizeof a->note, "%s", why);
}

void address_failed(struct address *a, struct step *st, enum control_reach reach, const char *why)
{
	a->due_ms = st->now_ms + step_backoff(st, BACKOFF_FIRST_MS, BACKOFF_MOST_MS, a->tries);
	if (a->tries++ == 0 || strcmp(a->note, why) != 0)
		step_log(st, NODE_LOG_INFO, "cannot connect", "address=%s why=\"%s\"", a->text, why);
	address_noted(a, st, reach, why);
}

void address_worked(struct address *a, struct step *st, const struct id *owner)
{
	a->dialling = 0;
	a->tries = 0;
	a->note[0] = '\0';
	a->reach = CONTROL_REACH_NONE;
	a->owner = *owner;
	a->good_ms = st->now_ms + 1;
}

void address_retry(struct addresses *as, struct step *st, const struct id *owner)
{
	uint64_t due_ms = st->now_ms + step_backoff(st, BACKOFF_FIRST_MS, BACKOFF_MOST_MS, 0); /* one for all: in turn */

	for (uint32_t i = 0; i < as->n; i++) {
		struct address *a = &as->list[i];

		if (!id_equal(&a->owner, owner))
			continue;
		a->tries = 0;
		a->due_ms = due_ms;
	}
}

struct address *address_turn(struct addresses *as, struct address *a, uint64_t now_ms)
{
	struct address *best = a;

	if (id_is_zero(&a->owner))
		return a;
	for (uint32_t i = 0; i < as->n; i++) {
		struct address *b = &as->list[i];

		if (id_equal(&b->owner, &a->owner) && !b->self && !b->dialling && b->due_ms <= now_ms && is_better(b, best))
			best = b;
	}
	for (uint32_t i = 0; i < as->n; i++) {
		struct address *b = &as->list[i];

		if (b != best && id_equal(&b->owner, &a->owner) && b->due_ms <= now_ms)
			b->due_ms = now_ms + TURN_MS;
	}
	return best;
}

const char *address_best(const struct addresses *as, const struct id *owner)
{
	const struct address *best = NULL;

	for (uint32_t i = 0; i < as->n; i++) {
		const struct address *a = &as->list[i];

		if (a->self || !id_equal(&a->owner, owner))
			continue;
		if (best == NULL || is_better(a, best))
			best = a;
	}
	return best != NULL ? best->text : "";
}
