// Stream capture as the rest of the driver sees it. Exported functions ask these first; none of
// them takes a lock while no stream captures.
#pragma once

#include <memory>

#include "cuda/driver/work.h"

namespace cuda_twin {

/// If `taken`, capture has dealt with the call and `result` is its result: the work is a graph
/// node, or it was refused. Else the call goes on as usual.
struct Captured {
  bool taken = false;
  CUresult result = CUDA_SUCCESS;
};

/// First step of submit() for all work but records and waits. Moves from `work` only if taken.
Captured capture_work(Stream& stream, Work& work);
/// First step of cuEventRecord; `external` is CU_EVENT_RECORD_EXTERNAL.
Captured capture_record(Stream& stream, const std::shared_ptr<Event>& event, bool external);
/// First step of cuStreamWaitEvent; `external` is CU_EVENT_WAIT_EXTERNAL. A stream that waits for
/// an event of a capturing one joins its capture.
Captured capture_wait(Stream& stream, const std::shared_ptr<Event>& event, bool external);

/// Calls that a capture would miss: cuMemAlloc, cuMemFree, pinned and registered memory, cuMemset
/// and cuMemcpy without a stream, module loading, and queries and synchronisation of any kind.
/// CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, and the captures in conflict are invalid, if the calling
/// thread's mode forbids them now.
CUresult refuse_unsafe_call();
/// cuCtxSynchronize and its like: also refused if any stream of the context captures.
CUresult refuse_synchronize(Context& context);
/// cuStreamSynchronize, cuStreamQuery: also refused if the stream captures, or if it is the legacy
/// stream while a blocking stream of its context captures.
CUresult refuse_synchronize(Stream& stream);
/// cuEventSynchronize, cuEventQuery, cuEventElapsedTime: also CUDA_ERROR_CAPTURED_EVENT for an
/// event that was last recorded in a capturing stream.
CUresult refuse_synchronize(const std::shared_ptr<Event>& event);

bool is_capturing(const Stream& stream);
/// Before a stream is destroyed: a capture that it takes part in is invalid; one that it began
/// ends.
void leave_capture(Stream& stream);
/// Drops the captures that streams of this context take part in.
void drop_captures(const Context& context);
/// For cuda_twin_reset().
void drop_captures();

}  // namespace cuda_twin
