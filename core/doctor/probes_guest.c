/* SPDX-License-Identifier: MIT */
/*
 * Probes of what a microVM is made with: programs and files of the host, room for what is kept, KVM.
 */
#include "core/doctor/probe.h"

#include "core/base/base.h"

#include <stdio.h>

/* Nothing is remembered: the doctor leaves no file behind. */
void probe_kvm(const struct given *g, int arg, struct answer *a)
{
	struct kvm_verdict v;
	(void) g, (void) arg;
	machine_kvm(false, &v);
	if (v.state == KVM_USABLE) {
		answer_ok(a, "%s", v.why);
	} else if (v.state == KVM_UNTRIED) {
		answer_unknown(a, "%s", v.why);
	} else {
		answer_missing(a, 0, "%s", v.why);
		snprintf(a->remedy, sizeof(a->remedy), "%s", kvm_kinds[v.state].remedy);
	}
}
