/* SPDX-License-Identifier: MIT */
/*
 * Packing and unpacking of what the supervisor inside a microVM is told. One function a struct walks its fields in both
 * directions, so that the two cannot differ.
 */
#include "core/model/model.h"

#include "core/base/base.h"
#include "core/base/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TYPE_SHAPE    1           /* of the packed form: both ends are of one build, and say so */
#define CHUNK         (100u << 10) /* bytes of one frame */
#define WHOLE_MAX     (CODE_MAX + (4u << 20))
#define LIST_LONGEST  65536

const char *waiting_name(enum waiting w)
{
	static const char *const names[] = { "program", "python", "terminal" };
	return w < WAITING_MAX ? names[w] : "";
}

/* ---- fields, in either direction ---- */

struct pack {
	struct buf *out;   /* packing; else NULL */
	struct wire_in in; /* unpacking */
};

static void pack_u64(struct pack *p, uint64_t *v)
{
	if (p->out)
		buf_add(p->out, v, sizeof(*v));
	else
		*v = wire_get_u64(&p->in);
}

#define PACK_NUMBER(p, field)              \
	do {                               \
		uint64_t v_ = (field);     \
		pack_u64(p, &v_);          \
		(field) = (typeof(field)) v_; \
	} while (0)

static void pack_bytes(struct pack *p, char **bytes, size_t *len)
{
	uint64_t n = *bytes ? *len : UINT64_MAX;
	pack_u64(p, &n);
	if (p->out) {
		if (*bytes)
			buf_add(p->out, *bytes, *len);
		return;
	}
	*bytes = NULL;
	*len = 0;
	if (p->in.bad || n == UINT64_MAX)
		return;
	if (n > (size_t) (p->in.end - p->in.p)) {
		p->in.bad = true;
		return;
	}
	*bytes = xstrndup("", 0);
	*bytes = xrealloc(*bytes, n + 1);
	memcpy(*bytes, p->in.p, n);
	(*bytes)[n] = 0;
	*len = n;
	p->in.p += n;
}

static void pack_str(struct pack *p, char **s)
{
	size_t len = *s ? strlen(*s) : 0;
	pack_bytes(p, s, &len);
	if (!p->out && *s && strlen(*s) != len)
		p->in.bad = true;
}

static size_t pack_count(struct pack *p, size_t count)
{
	uint64_t n = count;
	pack_u64(p, &n);
	if (!p->out && n > LIST_LONGEST)
		p->in.bad = true;
	return p->in.bad ? 0 : n;
}

static void pack_strv(struct pack *p, char ***v)
{
	size_t count = pack_count(p, strv_len(*v));
	if (!p->out)
		*v = NULL;
	for (size_t k = 0; k < count && !p->in.bad; k++) {
		char *s = p->out ? (*v)[k] : NULL;
		pack_str(p, &s);
		if (p->out)
			continue;
		if (s)
			*v = strv_add(*v, s);
		else
			p->in.bad = true;
		free(s);
	}
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
	PACK_NUMBER(p, l->require);
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
	PACK_NUMBER(p, g->project);
	PACK_NUMBER(p, g->output);
	PACK_NUMBER(p, g->input);
	PACK_NUMBER(p, g->answers);
	PACK_NUMBER(p, g->rows);
	PACK_NUMBER(p, g->columns);
}

/* ---- frames ---- */

/* Each frame begins with whether it is the last. */
static void put_frames(const struct buf *whole, struct buf *out)
{
	FREE uint8_t *space = xmalloc(WIRE_FRAME_MAX);
	FREE char *chunk = xmalloc(CHUNK + 1);
	for (size_t at = 0; at < whole->len;) {
		size_t len = whole->len - at < CHUNK ? whole->len - at : CHUNK;
		chunk[0] = at + len == whole->len;
		memcpy(chunk + 1, whole->data + at, len);
		const struct verb_msg m = { .verb = VERB_LAUNCH, .bytes = chunk, .len = len + 1 };
		ssize_t n = verb_encode(&m, space, WIRE_FRAME_MAX);
		wire_stream_put(out, space, (size_t) n); /* a chunk always fits */
		at += len;
	}
}

int inside_take(struct buf *whole, const char *bytes, size_t len, struct err *e)
{
	if (len < 2 || whole->len + len > WHOLE_MAX)
		return err_say(e, EPROTO, "a launch of %zu bytes", whole->len + len);
	buf_add(whole, bytes + 1, len - 1);
	return bytes[0] != 0;
}

static struct pack unpack_begin(const struct buf *whole)
{
	const uint8_t *p = (const uint8_t *) whole->data;
	struct pack pack = { .in = { .p = p, .end = p + whole->len } };
	if (wire_get_u64(&pack.in) != TYPE_SHAPE)
		pack.in.bad = true;
	return pack;
}

void inside_setup_pack(const struct inside_setup *s, struct buf *out)
{
	struct buf whole = { 0 };
	struct pack p = { .out = &whole };
	uint64_t shape = TYPE_SHAPE;
	pack_u64(&p, &shape);
	pack_setup(&p, (struct inside_setup *) s); /* only read, in this direction */
	put_frames(&whole, out);
	buf_done(&whole);
}

void inside_go_pack(const struct inside_go *g, struct buf *out)
{
	struct buf whole = { 0 };
	struct pack p = { .out = &whole };
	uint64_t shape = TYPE_SHAPE;
	pack_u64(&p, &shape);
	pack_go(&p, (struct inside_go *) g);
	put_frames(&whole, out);
	buf_done(&whole);
}

static bool policy_fits(const struct policy *p)
{
	bool fits = p->name && p->backend && p->root && p->syscalls->name && p->require <= REQUIRE_KERNEL &&
		    p->network <= NETWORK_HOST && p->on_denied <= DENIED_ASK && p->observe.files <= FILES_ATTEMPTS;
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
