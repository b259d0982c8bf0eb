/* SPDX-License-Identifier: MIT */
/*
 * SipHash-2-4, over bytes that come in pieces.
 */
#include "core/base/hash.h"

static uint64_t rotate(uint64_t x, unsigned by)
{
	return x << by | x >> (64 - by);
}

static void mix(uint64_t v[4], int rounds)
{
	while (rounds-- > 0) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = rotate(v[1], 13) ^ v[0];
		v[3] = rotate(v[3], 16) ^ v[2];
		v[0] = rotate(v[0], 32);
		v[2] += v[1];
		v[0] += v[3];
		v[1] = rotate(v[1], 17) ^ v[2];
		v[3] = rotate(v[3], 21) ^ v[0];
		v[2] = rotate(v[2], 32);
	}
}

static void take_block(struct hash *h)
{
	h->v[3] ^= h->block;
	mix(h->v, 2);
	h->v[0] ^= h->block;
	h->block = 0;
}

void hash_init(struct hash *h, const uint64_t key[2])
{
	*h = (struct hash){
		.v = { key[0] ^ UINT64_C(0x736f6d6570736575), key[1] ^ UINT64_C(0x646f72616e646f6d),
		       key[0] ^ UINT64_C(0x6c7967656e657261), key[1] ^ UINT64_C(0x7465646279746573) }
	};
}

void hash_add(struct hash *h, const void *bytes, size_t len)
{
	const uint8_t *p = bytes;
	for (size_t k = 0; k < len; k++) {
		h->block |= (uint64_t) p[k] << 8 * (h->len & 7);
		if ((++h->len & 7) == 0)
			take_block(h);
	}
}

uint64_t hash_end(struct hash *h)
{
	h->block |= h->len << 56;
	take_block(h);
	h->v[2] ^= 0xff;
	mix(h->v, 4);
	return h->v[0] ^ h->v[1] ^ h->v[2] ^ h->v[3];
}
