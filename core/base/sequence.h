/* SPDX-License-Identifier: MIT */
/*
 * What a control sequence is for. Private to this room: text.c finds where one begins and ends, this tells
 * its kind.
 */
#pragma once

#include "core/base/text.h"

/* sequence_byte: takes note of a printable ASCII character behind the introducer, the final one included. */
void sequence_byte(struct text_sequence *q, char c);

/* sequence_kind: of one that ended as it should. */
enum text_removed sequence_kind(const struct text_sequence *q);
