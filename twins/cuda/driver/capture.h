// Streams that capture: the hooks by which the rest of the driver asks.
#pragma once

#include "cuda/driver/state.h"

namespace cuda_twin {

/// For calls that may not run while a stream captures (allocations, synchronizing calls, module
/// loading): CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, and the captures are invalidated, if a capture
/// under way and the calling thread's mode forbid them; else CUDA_SUCCESS.
CUresult check_capture_allows();

/// For calls that would wait for `stream` or use the legacy stream implicitly: 900, 901 or 906.
CUresult check_not_capturing(Stream& stream);

/// Work for a capturing stream: a node of its graph. Context::mutex is not held.
CUresult capture_work(Stream& stream, Work work);
bool is_capturing(Stream& stream);

/// cuEventRecord and cuStreamWaitEvent where the stream captures or the event was captured. Set
/// `handled` if the call is done.
CUresult capture_record(Stream& stream, const std::shared_ptr<Event>& event, bool& handled);
CUresult capture_wait(Stream& stream, const std::shared_ptr<Event>& event, bool& handled);
/// 907 if the event was last recorded in a capture.
CUresult check_not_captured(Event& event);

/// Executes on the calling thread, for perform(). Storage of pools is theirs too.
CUresult perform_graph(Context& context, const GraphWork& work, std::uint64_t number);
CUresult perform_child(Context& context, const ChildGraphWork& work, std::uint64_t number);
CUresult perform_allocate(Context& context, const AllocateWork& work);
CUresult perform_free(Context& context, const FreeWork& work);

/// A context or device goes: drop pools and all else that belongs to it.
void drop_pools(Device& device);

}  // namespace cuda_twin
