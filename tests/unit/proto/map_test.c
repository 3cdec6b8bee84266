/* The tables against the .proto files, and the budget that unpacking runs under. */
#include "proto/map.h"

#include "proto/budget.h"
#include "proto/control.h"
#include "proto/control_map.h"
#include "proto/frame.h"
#include "proto/job_map.h"
#include "tests/lib/fail_mem.h"

#include <criterion/criterion.h>
#include <string.h>

static const ProtobufCType types[] = {
		[MAP_INT] = PROTOBUF_C_TYPE_SINT32,   [MAP_DOUBLE] = PROTOBUF_C_TYPE_DOUBLE,
		[MAP_BYTES] = PROTOBUF_C_TYPE_BYTES,  [MAP_LINE] = PROTOBUF_C_TYPE_STRING,
		[MAP_LINES] = PROTOBUF_C_TYPE_STRING, [MAP_STRING] = PROTOBUF_C_TYPE_STRING,
		[MAP_SUB] = PROTOBUF_C_TYPE_MESSAGE,  [MAP_ARRAY] = PROTOBUF_C_TYPE_MESSAGE,
		[MAP_LIST] = PROTOBUF_C_TYPE_MESSAGE,
};

/* An enum's row must allow exactly the values of the .proto file (0 only where it has a meaning). */
static void assert_enum_fits(const struct map_field *f, const ProtobufCEnumDescriptor *e)
{
	int last = e->values[e->n_values - 1].value;
	int has_unspecified = strstr(e->values[0].name, "UNSPECIFIED") != NULL;

	cr_assert_eq(f->greatest, (uint64_t)last, "%s", e->name);
	cr_assert_eq(f->least, (uint64_t)has_unspecified, "%s", e->name);
	cr_assert_eq(e->n_values, (unsigned)last + 1, "%s has gaps", e->name);
}

static void assert_row_fits(const struct map *m, const struct map_field *f)
{
	const ProtobufCFieldDescriptor *d = map_pb_field(m, f);
	int repeated = f->kind == MAP_ARRAY || f->kind == MAP_LIST;

	cr_assert_not_null(d, "%s: no field %u", m->pb->name, f->number);
	cr_assert_eq(d->label == PROTOBUF_C_LABEL_REPEATED, repeated, "%s.%s", m->pb->name, d->name);
	if (f->kind == MAP_UINT) {
		int wide = d->type == PROTOBUF_C_TYPE_UINT64;

		cr_assert(wide || d->type == PROTOBUF_C_TYPE_UINT32 || d->type == PROTOBUF_C_TYPE_BOOL ||
				d->type == PROTOBUF_C_TYPE_ENUM, "%s.%s", m->pb->name, d->name);
		cr_assert_eq(f->size == 8, wide, "%s.%s", m->pb->name, d->name);
		cr_assert(f->size != 1 || f->greatest <= 255, "%s.%s", m->pb->name, d->name);
		if (d->type == PROTOBUF_C_TYPE_ENUM)
			assert_enum_fits(f, d->descriptor);
	} else {
		cr_assert_eq(d->type, types[f->kind], "%s.%s", m->pb->name, d->name);
	}
}

static void assert_table_fits(const struct map *m, unsigned left_out)
{
	unsigned payload = protobuf_c_message_descriptor_get_field(m->pb, 15) != NULL &&
			strcmp(protobuf_c_message_descriptor_get_field(m->pb, 15)->name, "payload") == 0;

	for (size_t i = 0; i < m->n_fields; i++) {
		assert_row_fits(m, &m->fields[i]);
		for (size_t k = 0; k < i; k++)
			cr_assert_neq(m->fields[i].number, m->fields[k].number, "%s", m->pb->name);
		if (m->fields[i].sub != NULL && m->fields[i].sub != &map_progress)
			assert_table_fits(m->fields[i].sub, 0);
	}
	cr_assert_eq(m->n_fields + payload + left_out, m->pb->n_fields, "%s: a field has no row", m->pb->name);
	cr_assert(!payload || m->pb->fields[m->pb->n_fields - 1].id == 15, "%s: payload must be last",
			m->pb->name);
}

Test(map, the_tables_have_a_row_for_every_field_and_fit_its_type)
{
	assert_table_fits(&map_request, 0);
	assert_table_fits(&map_response, 0);
	assert_table_fits(&map_progress, 7); /* rank, node, name, state, why, hint, news_ms are the daemon's */
	assert_table_fits(&map_rank, 0);
	assert_table_fits(&map_job_rank, 0);
	assert_table_fits(&map_job_ballot, 0);
	assert_table_fits(&map_job_mean, 0);
}

Test(map, a_message_that_wants_too_much_memory_is_refused)
{
	/* 30 000 empty members: 60 KB that would become megabytes */
	static uint8_t bytes[60000];
	struct control_response resp;
	struct error err = {0};

	for (size_t i = 0; i < sizeof bytes; i += 2)
		bytes[i] = 0x2a; /* field 5, length-delimited, length 0 */
	fail_mem_at(-1);
	cr_assert_eq(map_decode(&map_response, &resp, bytes, sizeof bytes, &err), ST_PROTO);
	cr_assert_eq(fail_mem_outstanding(), 0);
	fail_mem_off();
	cr_assert(strstr(err.msg, "needs more than 1048576 bytes"), "%s", err.msg);
}

Test(map, unknown_fields_are_passed_over)
{
	/* a metric: name "x", and field 9 of each wire type */
	static const uint8_t bytes[] = {0x0a, 1, 'x', 0x48, 5, 0x4a, 2, 'h', 'i', 0x4d, 1, 2, 3, 4, 0x49, 1, 2, 3,
			4, 5, 6, 7, 8};
	struct control_metric metric;

	cr_assert_eq(map_decode(&map_metric, &metric, bytes, sizeof bytes, NULL), ST_OK);
	cr_assert_str_eq(metric.name, "x");
}

Test(map, the_budget_counts_gives_back_and_frees_what_is_left)
{
	struct budget b;
	void *p, *q;
	size_t before;

	fail_mem_at(-1);
	budget_init(&b, 1000);
	p = budget_alloc(&b, 100);
	before = b.used;
	q = b.allocator.alloc(b.allocator.allocator_data, 200);
	cr_assert(p != NULL && q != NULL);
	cr_assert_gt(b.used, before + 199);
	b.allocator.free(b.allocator.allocator_data, q);
	b.allocator.free(b.allocator.allocator_data, NULL);
	cr_assert_eq(b.used, before);
	cr_assert_null(budget_alloc(&b, 1000));
	cr_assert_null(budget_alloc(&b, SIZE_MAX));
	cr_assert(b.over && !b.no_memory);
	cr_assert_not_null(budget_alloc(&b, 100));
	budget_fini(&b);
	cr_assert_eq(fail_mem_outstanding(), 0);

	fail_mem_at(0);
	budget_init(&b, 1000);
	cr_assert_null(budget_alloc(&b, 1));
	cr_assert(b.no_memory && !b.over);
	fail_mem_off();
}
