/* SPDX-License-Identifier: MIT */
/*
 * Private to the microvm backend: what a run's machine is made of.
 */
#pragma once

#include "core/backend/vm.h"

struct microvm {
	struct guest_parts parts;
	enum accel accel;
	const char *accel_why;
	uint64_t memory;
	uint32_t tsc_khz;
	enum waiting waiting;
	int root_fd, data_fd, empty_fd;
	char root_key[65], key[65];
	char *initrd, *code_path;
	struct snapshot snapshot;
	struct vm vm;
};

void microvm_init(struct microvm *m, const struct launch *l);
void microvm_free(struct microvm *m); /* accepts NULL */
/* microvm_ready: parts, images, and a snapshot in which what waits for such a launch is up; each made where it is missing. */
int microvm_ready(struct microvm *m, const struct launch *l, const struct progress *to, struct err *e);
/* microvm_again: the snapshot anew, where nothing could be restored from the one there is. */
int microvm_again(struct microvm *m, const struct launch *l, const struct progress *to, struct err *e);
/* microvm_images: its parts and disks alone. */
int microvm_images(struct microvm *m, const struct launch *l, const struct progress *to, struct err *e);
const char *trial_pack(enum waiting waiting, bool warm, struct buf *out, struct err *e);
/* go_begin: with the time and the random numbers of one copy. */
int go_begin(struct inside_go *go, const char *run_id, struct err *e);
