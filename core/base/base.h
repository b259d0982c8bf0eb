/* SPDX-License-Identifier: MIT */
/*
 * The door of core/base: what every other room stands on. Knows nothing of sandboxes: error values, small
 * utilities, the scrubber of untrusted text, a keyed hash, frames on a wire, the event loop. Depends on libc and libmd alone.
 */
#pragma once

#include "core/base/err.h"
#include "core/base/hash.h"
#include "core/base/loop.h"
#include "core/base/style.h"
#include "core/base/text.h"
#include "core/base/util.h"
#include "core/base/wire.h"
