/* SPDX-License-Identifier: MIT */
/*
 * A whole recording, as a file. What is not damaged ends with its exit event.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "check_event.h"

static void check_recording(const struct recording *r)
{
	CHECK(r->run_id && r->started && r->preset && r->backend && r->language && r->title &&
	      r->code_sha256);
	for (size_t i = 0; i < r->count; i++) {
		CHECK(r->events[i]->seq == i + 1);
		CHECK(r->events[i]->type != EVENT_EXIT || i + 1 == r->count);
		check_line(r->events[i], i & 1);
	}
	bool ended = r->count && r->events[r->count - 1]->type == EVENT_EXIT;
	CHECK(r->damage ? *r->damage : ended);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLOSE_FD int fd = memfd_create("recording", MFD_CLOEXEC);
	struct recording *r = NULL;
	struct err e = { .code = 0 };
	char path[64];

	CHECK(fd >= 0 && write_all(fd, data, size) == 0);
	(void) snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (recording_read(path, &r, &e) < 0) {
		CHECK(!r && e.code && *e.text);
		return 0;
	}
	check_recording(r);
	recording_free(r);
	return 0;
}
