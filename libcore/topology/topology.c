/* Topologies as text and value. See topology.h. */
#include "libcore/topology/topology.h"

#include "libcore/base/nearest.h"

#include <ctype.h>
#include <string.h>

#define ALLOWED                                                                                    \
	"ring, complete, path, star, torus, torus(ROWS,COLS), hypercube, exponential, one-peer-exponential, "  \
	"random(DEGREE), {edges: [[0, 1], [1, 2]]}"
#define N_WORDS (sizeof words / sizeof words[0])

static const char *const words[] = {
		[TOPOLOGY_RING] = "ring",           [TOPOLOGY_COMPLETE] = "complete",
		[TOPOLOGY_PATH] = "path",
		[TOPOLOGY_STAR] = "star",           [TOPOLOGY_TORUS] = "torus",
		[TOPOLOGY_HYPERCUBE] = "hypercube", [TOPOLOGY_EXPONENTIAL] = "exponential",
		[TOPOLOGY_ONE_PEER] = "one-peer-exponential", [TOPOLOGY_RANDOM] = "random",
};

/* A text taken apart: word, and up to two numbers in brackets. */
struct parts {
	char word[24];
	uint32_t number[2];
	int n_numbers;
};

static const char *skip_space(const char *p)
{
	while (isspace((unsigned char)*p))
		p++;
	return p;
}

/* A number of 1 to 4 digits (at most TOPOLOGY_MAX_RANKS is useful); NULL when there is none. */
static const char *read_number(const char *p, uint32_t *out)
{
	int digits = 0;

	*out = 0;
	for (p = skip_space(p); isdigit((unsigned char)*p) && digits < 5; p++, digits++)
		*out = *out * 10 + (uint32_t)(*p - '0');
	return digits == 0 || digits == 5 ? NULL : skip_space(p);
}

/* "(3)" or "(3,4)" up to the end of the text. */
static int split_numbers(struct parts *out, const char *p)
{
	do {
		p = read_number(p + 1, &out->number[out->n_numbers]);
		if (p == NULL)
			return 0;
		out->n_numbers++;
	} while (*p == ',' && out->n_numbers < 2);
	return *p == ')' && *skip_space(p + 1) == '\0';
}

/* "0-1 1-2 2-3": how many edges, 0 when something else stands there. */
static size_t count_edges(const char *p)
{
	uint32_t rank;
	size_t n = 0;

	for (p = skip_space(p); *p != '\0'; n++) {
		p = read_number(p, &rank);
		p = p != NULL && *p == '-' ? read_number(p + 1, &rank) : NULL;
		if (p == NULL)
			return 0;
	}
	return n;
}

const char *topology_name(const char *text)
{
	return count_edges(text) > 0 ? "edges" : text;
}

void topology_edge(const struct topology *t, size_t i, uint32_t edge[2])
{
	const char *p = t->list;

	if (t->edges != NULL) {
		edge[0] = t->edges[i][0];
		edge[1] = t->edges[i][1];
		return;
	}
	for (size_t k = 0; k <= i; k++) {
		p = read_number(p, &edge[0]);
		p = read_number(p + 1, &edge[1]);
	}
}

static int split(struct parts *out, const char *text)
{
	const char *p = skip_space(text);
	size_t len = strcspn(p, "( \t\n");

	*out = (struct parts){0};
	if (len >= sizeof out->word)
		len = sizeof out->word - 1;
	memcpy(out->word, p, len);
	p = skip_space(p + len);
	return *p == '\0' || (*p == '(' && split_numbers(out, p));
}

static enum status refuse_word(const char *text, const char *word, struct error *err)
{
	const char *near = nearest_word(word, words, N_WORDS);

	(void)error_set(err, ST_INVALID, "topology \"%s\" is not known, allowed: " ALLOWED, text);
	if (near != NULL)
		error_hint(err, "did you mean \"%s\"?", near);
	else
		error_hint(err, "ring is the usual choice");
	return ST_INVALID;
}

static enum status refuse_form(const char *text, const char *form, struct error *err)
{
	(void)error_set(err, ST_INVALID,
			"topology \"%s\" is not of a known form, allowed: " ALLOWED, text);
	error_hint(err, "write it as \"%s\"", form);
	return ST_INVALID;
}

static enum status fill(struct topology *out, const struct parts *p, const char *text,
			struct error *err)
{
	switch (out->kind) {
	case TOPOLOGY_TORUS:
		if (p->n_numbers == 1 ||
		    (p->n_numbers == 2 && (p->number[0] == 0 || p->number[1] == 0)))
			return refuse_form(text, "torus(3,4)", err);
		out->rows = p->number[0];
		out->cols = p->number[1];
		return ST_OK;
	case TOPOLOGY_RANDOM:
		if (p->n_numbers != 1 || p->number[0] == 0)
			return refuse_form(text, "random(4)", err);
		out->degree = p->number[0];
		return ST_OK;
	case TOPOLOGY_RING:
	case TOPOLOGY_PATH:
	case TOPOLOGY_COMPLETE:
	case TOPOLOGY_STAR:
	case TOPOLOGY_HYPERCUBE:
	case TOPOLOGY_EXPONENTIAL:
	case TOPOLOGY_ONE_PEER:
	case TOPOLOGY_EDGES:
		return p->n_numbers == 0 ? ST_OK : refuse_form(text, words[out->kind], err);
	}
	return ST_BUG;
}

enum status topology_parse(struct topology *out, const char *text, struct error *err)
{
	struct topology t = {0};
	struct parts p;
	int well_formed = split(&p, text);
	size_t kind = 0;
	enum status st;

	t.n_edges = count_edges(text);
	if (t.n_edges > 0) {
		t.kind = TOPOLOGY_EDGES;
		t.list = text;
		*out = t;
		return ST_OK;
	}
	while (kind < N_WORDS && strcmp(words[kind], p.word) != 0)
		kind++;
	if (kind == N_WORDS)
		return refuse_word(text, p.word, err);
	t.kind = (enum topology_kind)kind;
	if (!well_formed) {
		const char *form = t.kind == TOPOLOGY_TORUS    ? "torus(3,4)"
				   : t.kind == TOPOLOGY_RANDOM ? "random(4)"
							       : words[kind];

		return refuse_form(text, form, err);
	}
	st = fill(&t, &p, text, err);
	if (st == ST_OK)
		*out = t;
	return st;
}

static enum status check_torus(const struct topology *t, uint32_t n, struct error *err)
{
	uint32_t rows, cols;
	const struct topology square = {.kind = TOPOLOGY_TORUS};

	if (t->rows == 0 || (uint64_t)t->rows * t->cols == n)
		return ST_OK;
	topology_torus_sides(&square, n, &rows, &cols);
	(void)error_set(err, ST_INVALID, "torus(%u,%u) is for %llu workers, the job has %u",
			t->rows, t->cols, (unsigned long long)t->rows * t->cols, n);
	error_hint(err, "torus(%u,%u), or plain \"torus\", suits %u workers", rows, cols, n);
	return ST_INVALID;
}

static enum status check_hypercube(uint32_t n, struct error *err)
{
	if ((n & (n - 1)) == 0)
		return ST_OK;
	(void)error_set(err, ST_INVALID,
			"a hypercube needs 1, 2, 4, 8, ... workers, the job has %u", n);
	error_hint(err, "take \"exponential\": as well connected, for any number");
	return ST_INVALID;
}

/* One Hamiltonian cycle makes it connected, so a degree of 1 is for two ranks only; a cycle over
 * two ranks is one edge twice. */
static enum status check_random(const struct topology *t, uint32_t n, struct error *err)
{
	if (n == 1)
		return ST_OK;
	if (t->degree < n && (t->degree >= 2 || n == 2) && (uint64_t)n * t->degree % 2 == 0)
		return ST_OK;
	if (n < 4)
		(void)error_set(err, ST_INVALID, "degree %u found, allowed with %u workers is %u", t->degree, n, n - 1);
	else
		(void)error_set(err, ST_INVALID, "degree %u found, allowed with %u workers are %s from 2 to %u", t->degree, n,
				n % 2 != 0 ? "even ones" : "those", n - 1);
	error_hint(err, n < 4 ? "take \"ring\"" : "random(2) always is possible");
	return ST_INVALID;
}

/* Those who wrote the list meant so many ranks. */
static enum status check_edges(const struct topology *t, uint32_t n, struct error *err)
{
	uint32_t edge[2], most = 0;

	for (size_t i = 0; t->list != NULL && i < t->n_edges; i++) {
		topology_edge(t, i, edge);
		most = edge[0] > most ? edge[0] : most;
		most = edge[1] > most ? edge[1] : most;
	}
	if (t->list == NULL || most + 1 == n)
		return ST_OK;
	(void)error_set(err, ST_INVALID, "the edges name ranks 0 to %u, which is %u workers, the job has %u", most, most + 1, n);
	error_hint(err, "write `workers: {min: %u}`, or other edges", most + 1);
	return ST_INVALID;
}

enum status topology_check(const struct topology *t, uint32_t n, struct error *err)
{
	if (n == 0 || n > TOPOLOGY_MAX_RANKS) {
		(void)error_set(err, ST_INVALID, "%u workers, 1 to %u are allowed", n,
				TOPOLOGY_MAX_RANKS);
		error_hint(err, "set workers: {min, max} within these bounds");
		return ST_INVALID;
	}
	switch (t->kind) {
	case TOPOLOGY_TORUS:
		return check_torus(t, n, err);
	case TOPOLOGY_HYPERCUBE:
		return check_hypercube(n, err);
	case TOPOLOGY_RANDOM:
		return check_random(t, n, err);
	case TOPOLOGY_RING:
	case TOPOLOGY_PATH:
	case TOPOLOGY_COMPLETE:
	case TOPOLOGY_STAR:
	case TOPOLOGY_EXPONENTIAL:
	case TOPOLOGY_ONE_PEER:
		return ST_OK;
	case TOPOLOGY_EDGES:
		return check_edges(t, n, err);
	}
	return error_set(err, ST_BUG, "topology kind %d", (int)t->kind);
}

void topology_torus_sides(const struct topology *t, uint32_t n, uint32_t *rows, uint32_t *cols)
{
	*rows = t->rows;
	*cols = t->cols;
	if (t->rows != 0)
		return;
	*rows = 1;
	for (uint32_t r = 2; r * r <= n; r++)
		if (n % r == 0)
			*rows = r;
	*cols = n / *rows;
}
