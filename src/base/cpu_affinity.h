// Which processors a thread may run on.
#pragma once

#include <span>
#include <vector>

namespace shunt {

/// The processors that the calling thread may run on, as the system numbers them, ascending; empty
/// if the system doesn't report them. Threads that it starts may run on the same.
std::vector<int> this_threads_processors();

/// Keeps the calling thread on these processors. False if the system refuses: then nothing has
/// changed.
bool bind_this_thread(std::span<const int> processors);

}  // namespace shunt
