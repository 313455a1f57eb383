// Compiles one target of a file that Highway otherwise includes once for each target. Define
// SHUNT_ONE_TARGET, include the file's list of targets (targets.h or int8_targets.h), this, then
// the file. Such an object has options of its own: builds with sanitizers do not optimize some
// targets.
#pragma once

// Not by the compiler's options: code of the standard library must run on every machine.
#define HWY_BASELINE_TARGETS SHUNT_ONE_TARGET
#define HWY_COMPILE_ONLY_STATIC

#include "hwy/foreach_target.h"  // includes nothing; the file's own #include of it does nothing then
// After foreach_target.h.
#include "hwy/highway.h"
