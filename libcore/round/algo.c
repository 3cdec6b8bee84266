/* The rows. See algo.h. */
#include "libcore/round/algo.h"

struct row {
	const char *name;
	bool adam;
	struct algo algo;
};

static const struct row rows[ALGO_KINDS] = {
	[ALGO_D_ADAM] = {"d-adam", true, {.exchange = ALGO_PARAMETERS}},
	[ALGO_CD_ADAM] = {"cd-adam", true, {.exchange = ALGO_DIFFERENCES_LAGGED}},
	[ALGO_CHOCO_SGD] = {"choco-sgd", false, {.exchange = ALGO_DIFFERENCES_FRESH}},
	[ALGO_D_PSGD] = {"d-psgd", false, {.exchange = ALGO_PARAMETERS}},
	[ALGO_LOCAL_ADAM] = {"local-adam", true, {.exchange = ALGO_PARAMETERS, .exact = true}},
	[ALGO_LOCAL_SGD] = {"local-sgd", false, {.exchange = ALGO_PARAMETERS, .exact = true}},
	[ALGO_CENTRAL_ADAM] = {"central-adam", true,
			{.exchange = ALGO_GRADIENTS, .step_last = true, .every_step = true, .exact = true}},
	[ALGO_CENTRAL_SGD] = {"central-sgd", false,
			{.exchange = ALGO_GRADIENTS, .step_last = true, .every_step = true, .exact = true}},
};

const char *algo_name(enum algo_kind kind)
{
	return rows[kind].name;
}

enum status algo_row(struct algo *out, enum algo_kind kind, const struct algo_choice *choice, struct error *err)
{
	const struct row *row = &rows[(unsigned)kind < ALGO_KINDS ? kind : 0];

	if ((unsigned)kind >= ALGO_KINDS)
		return error_set(err, ST_INVALID, "a pipeline's algorithm has no rounds of gossip");
	if (choice->order != ALGO_ORDER_DEFAULT && kind != ALGO_CD_ADAM)
		return error_set(err, ST_INVALID, "%s has one order only; `order` is for cd-adam: take it out", row->name);
	if (choice->mix != ALGO_MIX_DEFAULT && kind != ALGO_D_PSGD)
		return error_set(err, ST_INVALID, "%s mixes at one place only; `mix` is for d-psgd: take it out", row->name);
	if (choice->momentum != 0 && row->adam)
		return error_set(err, ST_INVALID, "%s has no momentum but beta1; `momentum` is for SGD: take it out",
				row->name);
	if (choice->mixed_moments && (!row->adam || row->algo.exchange != ALGO_PARAMETERS))
		return error_set(err, ST_INVALID, "%s sends no moments; `moments: mixed` is for d-adam and local-adam: take it out",
				row->name);
	*out = row->algo;
	out->mixed_moments = choice->mixed_moments;
	out->optim = row->adam ? OPTIM_ADAM : choice->momentum != 0 ? OPTIM_MOMENTUM : OPTIM_SGD;
	if (choice->order == ALGO_ORDER_FRESH)
		out->exchange = ALGO_DIFFERENCES_FRESH;
	if (choice->mix == ALGO_MIX_BEFORE)
		out->step_last = true;
	return ST_OK;
}

bool algo_has_replicas(const struct algo *a)
{
	return a->exchange == ALGO_DIFFERENCES_LAGGED || a->exchange == ALGO_DIFFERENCES_FRESH;
}

enum gossip_order algo_order(const struct algo *a)
{
	if (a->exact)
		return GOSSIP_TREE;
	switch (a->exchange) {
	case ALGO_PARAMETERS:
	case ALGO_GRADIENTS:
		return GOSSIP_DENSE;
	case ALGO_DIFFERENCES_LAGGED:
		return GOSSIP_LAGGED;
	case ALGO_DIFFERENCES_FRESH:
		return GOSSIP_FRESH;
	}
	return GOSSIP_DENSE;
}
