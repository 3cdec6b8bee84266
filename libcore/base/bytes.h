/* Little-endian numbers in byte arrays, at any alignment, on any machine. */
#ifndef LIBCORE_BASE_BYTES_H
#define LIBCORE_BASE_BYTES_H

#include <stdint.h>
#include <string.h>

static inline uint16_t bytes_load_u16(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

static inline uint32_t bytes_load_u32(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t bytes_load_u64(const uint8_t *p)
{
	return bytes_load_u32(p) | (uint64_t)bytes_load_u32(p + 4) << 32;
}

static inline float bytes_load_f32(const uint8_t *p)
{
	uint32_t bits = bytes_load_u32(p);
	float x;

	memcpy(&x, &bits, sizeof x);
	return x;
}

static inline void bytes_store_u16(uint8_t *p, uint16_t x)
{
	p[0] = (uint8_t)x;
	p[1] = (uint8_t)(x >> 8);
}

static inline void bytes_store_u32(uint8_t *p, uint32_t x)
{
	p[0] = (uint8_t)x;
	p[1] = (uint8_t)(x >> 8);
	p[2] = (uint8_t)(x >> 16);
	p[3] = (uint8_t)(x >> 24);
}

static inline void bytes_store_u64(uint8_t *p, uint64_t x)
{
	bytes_store_u32(p, (uint32_t)x);
	bytes_store_u32(p + 4, (uint32_t)(x >> 32));
}

static inline void bytes_store_f32(uint8_t *p, float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof bits);
	bytes_store_u32(p, bits);
}

#endif
