/* SPDX-License-Identifier: MIT */
/*
 * Attacks: programs that try to do harm, each run without a sandbox first and then at each level.
 */
#include "core/base/base.h"
#include "tui/screen/app.h"

static void draw(struct app *app, const struct pane *body)
{
	(void) app;
	struct section box = { .title = "Attacks", .rows = -1, .focus = true };
	box_stack(body, &box, 1, BOX_CLOSED);
}

static void sentence(struct app *app, struct buf *out)
{
	(void) app;
	buf_str(out, "Not in this version yet.");
}

static void move(struct app *app, enum move move)
{
	(void) app;
	(void) move;
}

static bool find(struct app *app, const char *text, bool back)
{
	(void) app;
	(void) text;
	(void) back;
	return false;
}

static bool back(struct app *app)
{
	(void) app;
	return false;
}

const struct view attacks_view = {
	.id = VIEW_ATTACKS,
	.title = "Attacks",
	.means = "Programs that try to do harm, each run without a sandbox first and then at each level.",
	.draw = draw,
	.status = run_status,
	.sentence = sentence,
	.move = move,
	.find = find,
	.back = back,
};
