/* The binary version of CIFAR (https://www.cs.toronto.edu/~kriz/cifar.html), plain or gzip: records of one
 * label byte (CIFAR-10) or two (CIFAR-100: coarse, fine; the last one counts) and 3 x 32 x 32 bytes: the red
 * plane, green, blue, each row by row. Nothing else is in the file, so only its size can tell it is one. */
#ifndef LIBCORE_DATA_CIFAR_H
#define LIBCORE_DATA_CIFAR_H

#include "libcore/base/err.h"
#include "libcore/data/table.h"

/* Read a file. label_bytes: 1 or 2.
 *
 * ST_NOT_FOUND, ST_DENIED, ST_IO  the file
 * ST_DATA   not a whole number of records, none, or more than a table holds
 * ST_NOMEM */
MUST_CHECK enum status cifar_read(struct table *t, const char *path, unsigned label_bytes, struct error *err);

#endif
