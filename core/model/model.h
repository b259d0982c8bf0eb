/* SPDX-License-Identifier: MIT */
/*
 * The door of core/model: what is asked for (policy, launch) and what happened (event, recording), as data. Nothing
 * here acts on a process or a kernel object.
 */
#pragma once

#include "core/model/event.h"
#include "core/model/image.h"
#include "core/model/inside.h"
#include "core/model/launch.h"
#include "core/model/lesson.h"
#include "core/model/need.h"
#include "core/model/policy.h"
#include "core/model/record.h"
