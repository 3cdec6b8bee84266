/* IDX, the format of MNIST (http://yann.lecun.com/exdb/mnist), plain or gzip. All numbers big-endian:
 *
 *   0 0 TYPE N | N sizes of 4 bytes | the numbers, last index fastest
 *
 * TYPE 08 u8, 09 i8, 0B i16, 0C i32, 0D f32, 0E f64. Images are N = 2 (rows, features), 3 (rows, height,
 * width) or 4 (rows, channels, height, width); labels are N = 1 of a type of whole numbers. */
#ifndef LIBCORE_DATA_IDX_H
#define LIBCORE_DATA_IDX_H

#include "libcore/base/err.h"
#include "libcore/data/table.h"

/* Read images and their labels into t. u8 stays bytes, all else becomes real.
 *
 * ST_NOT_FOUND, ST_DENIED, ST_IO  a file
 * ST_DATA   no IDX header, a header that does not fit what follows it (checked before anything is allocated),
 *           more or fewer labels than images, a label below 0 or above 65 535, a number that is not finite
 * ST_NOMEM */
MUST_CHECK enum status idx_read(struct table *t, const char *images, const char *labels, struct error *err);

#endif
