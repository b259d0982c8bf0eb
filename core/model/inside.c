/* SPDX-License-Identifier: MIT */
/*
 * Packing and unpacking of what the supervisor inside a microVM is told. One function a struct walks its fields in both
 * directions, so that the two cannot differ.
 */
#include "core/model/model.h"
#include "core/model/pack.h"

#include "core/base/base.h"
#include "core/base/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *waiting_name(enum waiting w)
{
	static const char *const names[] = { "program", "python", "terminal" };
	return w < WAITING_MAX ? names[w] : "";
}

/* ---- the two messages ---- */

static void pack_set(struct pack *p, struct syscall_set **set)
{
	if (!p->out)
		*set = xcalloc(1, sizeof(**set));
	struct syscall_set *s = *set;
	pack_str(p, &s->name);
	pack_str(p, &s->summary);
	s->group_count = pack_count(p, s->group_count);
	if (!p->out)
		s->groups = xcalloc(s->group_count + 1, sizeof(*s->groups));
	for (size_t k = 0; k < s->group_count; k++) {
		struct syscall_group *g = &s->groups[k];
		pack_str(p, &g->rule);
		pack_str(p, &g->means);
		PACK_NUMBER(p, g->action);
		pack_strv(p, &g->calls);
	}
}

static void pack_policy(struct pack *p, struct policy **policy)
{
	if (!p->out)
		*policy = xcalloc(1, sizeof(**policy));
	struct policy *l = *policy;
	pack_str(p, &l->name);
	pack_str(p, &l->summary);
	pack_str(p, &l->backend);
	for (int k = 0; k < LIMIT_MAX; k++)
		pack_u64(p, &l->limit[k]);
	PACK_NUMBER(p, l->on_output_limit);
	PACK_NUMBER(p, l->require);
	pack_strv(p, &l->pass);
	PACK_NUMBER(p, l->microvm.accel);
	pack_strv(p, &l->microvm.languages);
	PACK_NUMBER(p, l->microvm.spare);
	pack_str(p, &l->root);
	pack_strv(p, &l->read_only);
	pack_strv(p, &l->writable);
	PACK_NUMBER(p, l->network);
	pack_set(p, &l->syscalls);
	pack_strv(p, &l->deny);
	pack_strv(p, &l->allow);
	PACK_NUMBER(p, l->on_denied);
	PACK_NUMBER(p, l->run_as);
	PACK_NUMBER(p, l->observe.denied);
	PACK_NUMBER(p, l->observe.network);
	PACK_NUMBER(p, l->observe.exec);
	PACK_NUMBER(p, l->observe.files);
}

struct policy *policy_copy(const struct policy *l, struct buf *ret_bytes)
{
	struct buf whole = { 0 };
	struct pack out = pack_begin(&whole);
	struct policy *copy = (struct policy *) l;
	pack_policy(&out, &copy);
	struct pack in = unpack_begin(&whole);
	pack_policy(&in, &copy);
	*ret_bytes = whole;
	return copy;
}

static void pack_setup(struct pack *p, struct inside_setup *s)
{
	PACK_NUMBER(p, s->waiting);
	pack_policy(p, &s->policy);
}

static void pack_inputs(struct pack *p, struct inside_go *g)
{
	g->input_count = pack_count(p, g->input_count);
	if (!p->out)
		g->inputs = xcalloc(g->input_count + 1, sizeof(*g->inputs));
	for (size_t k = 0; k < g->input_count; k++) {
		pack_str(p, &g->inputs[k].from);
		pack_str(p, &g->inputs[k].dest);
		PACK_NUMBER(p, g->inputs[k].folder);
	}
}

static void pack_go(struct pack *p, struct inside_go *g)
{
	pack_str(p, &g->run_id);
	pack_u64(p, &g->realtime_ns);
	for (size_t k = 0; k < INSIDE_SEED; k++)
		PACK_NUMBER(p, g->seed[k]);
	pack_strv(p, &g->argv);
	pack_strv(p, &g->env);
	pack_str(p, &g->code_path);
	pack_bytes(p, &g->code, &g->code_len);
	pack_str(p, &g->canary);
	pack_inputs(p, g);
	PACK_NUMBER(p, g->warm);
	PACK_NUMBER(p, g->project);
	PACK_NUMBER(p, g->output);
	PACK_NUMBER(p, g->input);
	PACK_NUMBER(p, g->answers);
	PACK_NUMBER(p, g->rows);
	PACK_NUMBER(p, g->columns);
}

/* ---- whole messages ---- */

void inside_setup_pack(const struct inside_setup *s, struct buf *out)
{
	struct buf whole = { 0 };
	struct pack p = pack_begin(&whole);
	pack_setup(&p, (struct inside_setup *) s); /* only read, in this direction */
	pack_frames(&whole, out);
	buf_done(&whole);
}

void inside_go_pack(const struct inside_go *g, struct buf *out)
{
	struct buf whole = { 0 };
	struct pack p = pack_begin(&whole);
	pack_go(&p, (struct inside_go *) g);
	pack_frames(&whole, out);
	buf_done(&whole);
}

static bool policy_fits(const struct policy *p)
{
	bool fits = p->name && p->backend && p->root && p->syscalls->name && p->require <= REQUIRE_KERNEL &&
		    p->network <= NETWORK_HOST && p->on_denied <= DENIED_ASK &&
		    p->observe.files <= FILES_ATTEMPTS;
	for (size_t k = 0; fits && k < p->syscalls->group_count; k++)
		fits = p->syscalls->groups[k].rule && p->syscalls->groups[k].action <= SYSCALL_ABSENT;
	return fits;
}

int inside_setup_unpack(const struct buf *whole, struct inside_setup *ret, struct err *e)
{
	struct pack p = unpack_begin(whole);
	struct inside_setup s = { 0 };
	int r;
	pack_setup(&p, &s);
	r = wire_end(&p.in, e);
	if (r == 0 && (s.waiting >= WAITING_MAX || !policy_fits(s.policy)))
		r = err_say(e, EPROTO, "a setup with a value that cannot be");
	if (r < 0)
		inside_setup_done(&s);
	else
		*ret = s;
	return r;
}

int inside_go_unpack(const struct buf *whole, struct inside_go *ret, struct err *e)
{
	struct pack p = unpack_begin(whole);
	struct inside_go g = { 0 };
	int r;
	pack_go(&p, &g);
	r = wire_end(&p.in, e);
	if (r == 0 && (!g.run_id || !g.argv || (g.code && !g.code_path)))
		r = err_say(e, EPROTO, "a launch without something to run");
	for (size_t k = 0; r == 0 && k < g.input_count; k++)
		if (!g.inputs[k].from || !g.inputs[k].dest)
			r = err_say(e, EPROTO, "an input without a place");
	if (r < 0)
		inside_go_done(&g);
	else
		*ret = g;
	return r;
}

void inside_setup_done(struct inside_setup *s)
{
	s->policy = policy_free(s->policy);
}

void inside_go_done(struct inside_go *g)
{
	free(g->run_id);
	strv_free(g->argv);
	strv_free(g->env);
	free(g->code_path);
	free(g->code);
	free(g->canary);
	for (size_t k = 0; g->inputs && k < g->input_count; k++) {
		free(g->inputs[k].from);
		free(g->inputs[k].dest);
	}
	free(g->inputs);
	*g = (struct inside_go){ 0 };
}

size_t inside_streams_encode(const struct inside_streams *s, void *space, size_t size)
{
	struct wire_out w;
	wire_begin(&w, space, size, INSIDE_STREAMS);
	for (size_t k = 0; k < ARRAY_LEN(s->bytes); k++)
		wire_put_u64(&w, s->bytes[k]);
	return w.len;
}

int inside_streams_decode(const void *frame, size_t len, struct inside_streams *ret, struct err *e)
{
	struct wire_in in;
	struct inside_streams s;
	uint8_t type;
	int r = wire_open(&in, frame, len, &type, e);
	if (r < 0)
		return r;
	if (type != INSIDE_STREAMS)
		return err_say(e, EPROTO, "a frame of type %u counts no streams", type);
	for (size_t k = 0; k < ARRAY_LEN(s.bytes); k++)
		s.bytes[k] = wire_get_u64(&in);
	if ((r = wire_end(&in, e)) == 0)
		*ret = s;
	return r;
}
