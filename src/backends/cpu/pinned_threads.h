// Threads of one's own, each held to a processor, for work that is measured.
#pragma once

#include <functional>

#include "shunt/error.h"

namespace shunt::cpu {

/// Runs `work` with the thread's number on `threads` threads, which begin together, each on one of
/// the processors that this process may use, in turn. Returns when all have ended. Io if the system
/// refuses to start one: then none has worked. `work` must not throw.
Status run_pinned(int threads, const std::function<void(int thread)>& work);

}  // namespace shunt::cpu
