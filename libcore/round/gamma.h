/* gamma for training by default: `gossip_step: auto`.
 *
 * The step to which a rank follows its neighbours' replicas has a sharp cliff: beyond it single workers run away
 * while the mean still looks well. How far it is depends on the compressor, a little on the topology, and on how
 * old the models are that a rank answers to. Pure. */
#ifndef LIBCORE_ROUND_GAMMA_H
#define LIBCORE_ROUND_GAMMA_H

#include "libcore/compress/compress.h"
#include "libcore/round/gossip.h"
#include "libcore/topology/topology.h"

#include <stddef.h>
#include <stdint.h>

/* In (0, 1], for segments of n parameters. In the lagged order with a period above 4 at most .5 for the kinds that
 * send nearly everything: they answer to models that are a period old, and with gamma 1 workers diverge from
 * period 16 on (tests/bench/experiments, `bytes`). Unscaled QSGD has none that is stable below n = s^2, and is
 * refused there (compress_config_check). */
double gamma_by_default(const struct compress_config *compress, size_t n, enum topology_kind topology, enum gossip_order order,
		uint32_t period);

#endif
