/* What mlp_test.c says of mlp and its layers holds in the precision of the product too, but for differences. */
#include "tests/unit/libcore/models/mlp_test.c"
