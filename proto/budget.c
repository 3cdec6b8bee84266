/* Blocks in a ring that the budget knows. See budget.h. */
#include "proto/budget.h"

#include "libcore/base/mem.h"

struct budget_block {
	_Alignas(max_align_t) struct budget_block *next;
	struct budget_block *prev;
	size_t size;
};

static void *take(void *data, size_t size)
{
	return budget_alloc(data, size);
}

static void give(void *data, void *p)
{
	struct budget *b = data;
	struct budget_block *block;

	if (p == NULL)
		return;
	block = (struct budget_block *)p - 1;
	b->used -= block->size;
	if (block->prev != NULL)
		block->prev->next = block->next;
	else
		b->blocks = block->next;
	if (block->next != NULL)
		block->next->prev = block->prev;
	mem_free(block);
}

void budget_init(struct budget *b, size_t limit)
{
	*b = (struct budget){.limit = limit};
	b->allocator = (ProtobufCAllocator){.alloc = take, .free = give, .allocator_data = b};
}

void *budget_alloc(struct budget *b, size_t size)
{
	struct budget_block *block;

	if (size > b->limit || sizeof *block + size > b->limit - b->used) {
		b->over = 1;
		return NULL;
	}
	block = mem_alloc(1, sizeof *block + size);
	if (block == NULL) {
		b->no_memory = 1;
		return NULL;
	}
	block->size = sizeof *block + size;
	block->next = b->blocks;
	if (b->blocks != NULL)
		b->blocks->prev = block;
	b->blocks = block;
	b->used += block->size;
	return block + 1;
}

void budget_fini(struct budget *b)
{
	while (b->blocks != NULL) {
		struct budget_block *next = b->blocks->next;

		mem_free(b->blocks);
		b->blocks = next;
	}
	b->used = 0;
}

enum status budget_error(const struct budget *b, enum status st_bad, const char *what, struct error *err)
{
	if (b->no_memory)
		return error_set(err, ST_NOMEM, "%s: no memory", what);
	if (b->over)
		return error_set(err, st_bad, "%s: needs more than %zu bytes of memory", what, b->limit);
	return error_set(err, st_bad, "%s: not a message of this type", what);
}
