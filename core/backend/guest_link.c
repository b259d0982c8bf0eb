/* SPDX-License-Identifier: MIT */
/*
 * Our ends of the streams to a machine of its own: what goes in waits here while there is no room, so that a guest that
 * does not read stops nobody; what comes back as files waits on disk until the run is dead.
 */
#include "core/backend/backend.h"

#include "core/base/base.h"

#include <errno.h>
#include <unistd.h>

#define SPOOL_MAX (UINT64_C(5) << 30)

int guest_flush(struct instance *i)
{
	while (i->guest_out_sent < i->guest_out.len) {
		ssize_t n = write(i->guest_fd, i->guest_out.data + i->guest_out_sent,
				  i->guest_out.len - i->guest_out_sent);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return -EAGAIN;
		if (n < 0)
			break; /* it is gone, which its process tells */
		i->guest_out_sent += (size_t) n;
	}
	buf_done(&i->guest_out);
	i->guest_out_sent = 0;
	return 0;
}

void guest_send(struct instance *i, const void *frame, size_t len)
{
	wire_stream_put(&i->guest_out, frame, len);
	(void) guest_flush(i);
}

ssize_t guest_spool(struct instance *i)
{
	char bytes[64 << 10];
	ssize_t n;
	do
		n = read(i->data_fd, bytes, sizeof(bytes));
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n < 0 && errno == EAGAIN ? 1 : n;
	i->spooled += (uint64_t) n;
	if (lseek(i->spool_fd, 0, SEEK_CUR) + n > (off_t) SPOOL_MAX)
		return 0;
	return write_all(i->spool_fd, bytes, (size_t) n) < 0 ? 0 : n;
}
