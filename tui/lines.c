/* SPDX-License-Identifier: MIT */
/*
 * Lines of text for a terminal's width.
 */
#include "tui/lines.h"

#include "core/base/base.h"

#include <string.h>

void lines_wrap(const char *line, size_t columns, size_t indent, struct buf *out)
{
	size_t room = columns, len = strlen(line);

	while (columns > 0 && text_width(line, len) > room) {
		size_t cut = text_fit(line, len, room);
		size_t at = cut;
		while (at > 0 && line[at] != ' ')
			at--;
		if (at == 0)
			at = cut;
		if (at == 0)
			break;
		buf_printf(out, "%.*s\n%*s", (int) at, line, (int) indent, "");
		line += at + strspn(line + at, " ");
		len = strlen(line);
		room = columns - indent;
	}
	buf_printf(out, "%s\n", line);
}
