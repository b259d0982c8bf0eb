/* SPDX-License-Identifier: MIT */
/*
 * SipHash-2-4 (Aumasson and Bernstein): whoever does not know the key finds no two texts with the same hash, so what
 * a target chooses can be told apart by it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct hash {
	uint64_t v[4], block; /* block: bytes that are not mixed in yet */
	uint64_t len;
};

void hash_init(struct hash *h, const uint64_t key[2]);
void hash_add(struct hash *h, const void *bytes, size_t len);
uint64_t hash_end(struct hash *h);
