/* Where the fields of a frame's header lie; shared by frame.c and frame_write.c, nobody else.
 * WIRE.md 1: "Every stream is a sequence of frames and nothing else. All integers are little-endian." */
#ifndef PROTO_FRAME_LAYOUT_H
#define PROTO_FRAME_LAYOUT_H

#include <stdint.h>

#define FRAME_MAGIC "DADM"
#define FRAME_AT_VERSION 4
#define FRAME_AT_TYPE 5
#define FRAME_AT_FLAGS 6
#define FRAME_AT_HEAD 8
#define FRAME_AT_PAYLOAD 12
#define FRAME_AT_CRC 16

#define FRAME_FLAG_PAYLOAD 1U   /* the head ends in the key and length of field 15 */
#define FRAME_PAYLOAD_KEY 0x7aU /* field 15, wire type 2 (length-delimited) */
#define FRAME_MAX_TAIL 6U       /* the key and a varint of 32 bits */

/* Write the key and the length (as the shortest varint) of field 15; returns the bytes written. */
uint32_t frame_put_tail(uint8_t out[FRAME_MAX_TAIL], uint32_t payload_len);

#endif
