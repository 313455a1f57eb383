// Targets of a file that objects of their own compile, see one_target.h. The file declares their
// functions only: it puts the others between #if SHUNT_COMPILED_HERE and #endif.
#pragma once

#ifndef SHUNT_TARGETS_ELSEWHERE
#define SHUNT_TARGETS_ELSEWHERE 0
#endif
#define SHUNT_COMPILED_HERE ((HWY_TARGET & (SHUNT_TARGETS_ELSEWHERE)) == 0)
