/* SPDX-License-Identifier: MIT */
/*
 * SipHash-2-4 against the vectors of its paper and its reference code: key 00 01 … 0f, input 00 01 ….
 */
#include "core/base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const uint64_t key[2] = { UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908) };

static uint64_t hash_of(size_t len, size_t piece)
{
	uint8_t bytes[64];
	struct hash h;
	for (size_t k = 0; k < sizeof(bytes); k++)
		bytes[k] = (uint8_t) k;
	hash_init(&h, key);
	for (size_t at = 0; at < len; at += piece)
		hash_add(&h, bytes + at, piece < len - at ? piece : len - at);
	return hash_end(&h);
}

static void test_vectors(void **state)
{
	(void) state;
	assert_true(hash_of(0, 1) == UINT64_C(0x726fdb47dd0e0e31));
	assert_true(hash_of(1, 1) == UINT64_C(0x74f839c593dc67fd));
	assert_true(hash_of(8, 8) == UINT64_C(0x93f5f5799a932462));
	assert_true(hash_of(15, 15) == UINT64_C(0xa129ca6149be45e5));
}

static void test_pieces_are_no_different(void **state)
{
	(void) state;
	for (size_t len = 0; len <= 64; len++)
		for (size_t piece = 1; piece < 20; piece++)
			assert_true(hash_of(len, piece) == hash_of(len, 64));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_pieces_are_no_different),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
