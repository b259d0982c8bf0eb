/* SPDX-License-Identifier: MIT */
/*
 * Presets of the person's own, into which what was refused is written.
 */
#pragma once

struct err;
struct preset_grant;

struct granted {
	char *name, *path; /* of the preset that was written */
};

/*
 * grant_write: `base` is the preset of the run that refused it. Written is the person's own preset of that name, else
 * my-BASE, or the one that is asked for ("": none is), made where there is none. The new file takes the old one's place
 * only whole and without a fault. Gives: *ret, released by granted_done.
 */
int grant_write(const struct preset_grant *g, const char *base, const char *name, struct granted *ret,
		struct err *e);
void granted_done(struct granted *g);
