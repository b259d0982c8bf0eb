/* SPDX-License-Identifier: MIT */
/*
 * The tables of keys and commands as they stand in the man page and in the README.
 */
#pragma once

struct buf;

void keys_man(struct buf *out);    /* mdoc(7): subsections of lists. Appended. */
void keys_readme(struct buf *out); /* Markdown: one row a screen, of what the hint bar says. Appended. */
