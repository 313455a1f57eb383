// The thread of a stream: it takes work from the queue, in order, and performs it.
#pragma once

#include <string>

#include "cuda/driver/state.h"

namespace cuda_twin {

/// Starts the stream's thread if it has none. Threads are detached: they do not hold up the end of
/// the process. Under Context::mutex, the stream not locked.
void start_worker(Stream& stream);

/// No more work comes: the thread ends after what is queued. Does not wait.
void close_stream(Stream& stream);

/// For reports: "kernel add", "copy".
std::string name_of_work(const Work& work);

/// A seeded pause of some microseconds, if CUDA_TWIN_ORDER is set.
void delay(std::uint64_t number);

/// The work up to the event's last record is not held back, as something waits for it. The event
/// is not locked.
void hurry(const Event& event);

}  // namespace cuda_twin
