/* Tables of the views that several protocols carry; for codecs only. */
#ifndef PROTO_CONTROL_MAP_H
#define PROTO_CONTROL_MAP_H

#include "proto/map.h"

extern const struct map map_metric;   /* struct control_metric */
extern const struct map map_rank;     /* struct control_rank */
extern const struct map map_progress; /* struct control_rank without rank, node, node_name, state, why */
extern const struct map map_job;      /* struct control_job without spec */
extern const struct map map_member;   /* struct control_member */
extern const struct map map_request;  /* struct control_request without spec */
extern const struct map map_response; /* struct control_response without chunk */

#endif
