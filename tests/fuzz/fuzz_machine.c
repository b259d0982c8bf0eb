/* SPDX-License-Identifier: MIT */
/*
 * What is remembered of a machine, as the file may be found. Reading it must never crash; what is believed is within
 * bounds, fit to be shown, and comes back the same when it is written and read once more.
 */
#include "check.h"

#include "core/backend/machine.h"
#include "core/base/base.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FREE char *text = xstrndup((const char *) data, size);
	struct machine_memory m, again;
	struct buf out = { 0 };

	machine_memory_parse(text, "boot", "kernel", &m);
	assert(m.tsc_khz == 0 || (m.tsc_khz >= 100000 && m.tsc_khz <= 20000000));
	assert(m.kvm.state == KVM_UNTRIED || kvm_kinds[m.kvm.state].lasts);
	assert(strnlen(m.kvm.why, KVM_WHY) < KVM_WHY);
	for (const char *p = m.kvm.why; *p; p++)
		assert(*p >= ' ' && *p <= '~');
	machine_memory_format(&m, "boot", "kernel", &out);
	machine_memory_parse(out.data, "boot", "kernel", &again);
	assert(again.tsc_khz == m.tsc_khz && again.kvm.state == m.kvm.state);
	assert(m.kvm.state == KVM_UNTRIED || strcmp(again.kvm.why, m.kvm.why) == 0);
	buf_done(&out);
	return 0;
}
