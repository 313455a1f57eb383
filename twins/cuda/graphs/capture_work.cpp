#include "cuda/graphs/capture.h"

#include <algorithm>
#include <string>
#include <utility>

#include "cuda/call.h"
#include "cuda/graphs/captures.h"
#include "cuda/graphs/exec.h"
#include "cuda/graphs/graphs.h"
#include "cuda/graphs/nodes.h"

namespace cuda_twin {
namespace {

constexpr Captured kNotTaken = {false, CUDA_SUCCESS};

Captured taken(CUresult result = CUDA_SUCCESS) {
  return {true, result};
}
Captured refused(CUresult code, const char* reason) {
  return taken(refuse(code, reason));
}
Captured invalidated() {
  return refused(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
                 "an earlier call has made this stream's capture invalid");
}
Captured spoiled(Capture& capture, CUresult code, const char* reason) {
  capture.invalid = true;
  return refused(code, reason);
}

bool nothing_captures() {
  return !driver().has_captured.load(std::memory_order_acquire);
}

/// Work of the legacy stream would wait for the blocking streams that capture.
CUresult check_legacy(const Stream& stream) {
  const std::shared_ptr<Context> context = stream.context.lock();
  if (!stream.is_legacy || context == nullptr || !blocks_legacy_stream(*context))
    return CUDA_SUCCESS;
  for (const auto& capture : driver().captures)
    for (const auto& member : capture->members)
      if (!member->stream->non_blocking() && member->stream->context.lock() == context)
        capture->invalid = true;
  return refuse(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
                "the legacy stream waits for blocking streams, and one of them captures");
}

/// The calling thread's mode and the capture's say whether a call is refused that it would miss.
bool forbids(const Capture& capture) {
  const CUstreamCaptureMode mode = thread_capture_mode();
  if (mode == CU_STREAM_CAPTURE_MODE_RELAXED) return false;
  if (capture.thread == std::this_thread::get_id())
    return capture.mode != CU_STREAM_CAPTURE_MODE_RELAXED;
  return mode == CU_STREAM_CAPTURE_MODE_GLOBAL && capture.mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

CUresult refuse_unsafe() {
  bool any = false;
  for (const auto& capture : driver().captures) {
    if (!forbids(*capture)) continue;
    capture->invalid = true;
    any = true;
  }
  if (!any) return CUDA_SUCCESS;
  return refuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                "a stream captures, and the capture would miss this call");
}

/// A graph that is launched in a capturing stream becomes a child graph.
CUresult prepare(const Capture& capture, GraphWork& launch, Work& work) {
  std::shared_ptr<Graph> child = graph_of(*launch.graph->plan);
  if (has_memory_nodes(*child))
    return refuse(CUDA_ERROR_NOT_SUPPORTED, "a child graph cannot allocate or free memory");
  const Extents more = extents_of(*child);
  if (more.levels >= kDeepest || capture.nodes + 1 + more.nodes > kMostNodes)
    return refuse(CUDA_ERROR_OUT_OF_MEMORY, "too many nodes, or levels of child graphs");
  work = ChildGraphWork{std::move(child)};
  return CUDA_SUCCESS;
}
CUresult prepare(const Capture& capture, FreeWork& free, Work& work) {
  CUDA_TWIN_TRY(claim_free(*capture.graph, free));
  work = free;
  return CUDA_SUCCESS;
}
template <class Other>
CUresult prepare(const Capture&, Other&, Work&) {
  return CUDA_SUCCESS;
}

CUresult prepare_node(const Capture& capture, Work& work) {
  if (capture.nodes >= kMostNodes)
    return refuse(CUDA_ERROR_OUT_OF_MEMORY, "the graph has too many nodes");
  return std::visit(
      [&](auto& kind) {
        auto copy = kind;
        return prepare(capture, copy, work);
      },
      work);
}

Captured wait_in_capture(Capture& capture, Capture::Member& member, const Event& event) {
  const std::shared_ptr<Capture>& from = event.capture;
  if (from == nullptr || from->graph == nullptr)
    return spoiled(capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
                   "a capturing stream waits for an event that was recorded outside its capture");
  if (from.get() != &capture) {
    from->invalid = true;
    return spoiled(capture, CUDA_ERROR_STREAM_CAPTURE_MERGE,
                   "a wait for an event of another capture would join the two");
  }
  for (Node* const node : event.captured_nodes) add_tails(member.tails, {{Edge{node, {}}}});
  return taken();
}

/// A stream that does not capture waits for an event of one that does.
Captured join(Stream& stream, const Event& event) {
  const std::shared_ptr<Capture>& capture = event.capture;
  if (capture->graph == nullptr)
    return refused(CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
                   "the event was recorded in a capture that has ended");
  if (capture->invalid) return invalidated();
  if (stream.is_legacy)
    return spoiled(*capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                   "the legacy stream cannot take part in a capture");
  Capture::Member& member = join_capture(capture, stream);
  for (Node* const node : event.captured_nodes) member.tails.push_back({node, {}});
  return taken();
}

}  // namespace

Captured capture_work(Stream& stream, Work& work) {
  if (nothing_captures()) return kNotTaken;
  const GraphsLock lock = lock_graphs();
  const std::shared_ptr<Capture> capture = capture_of(stream);
  if (capture == nullptr) {
    const CUresult legacy = check_legacy(stream);
    return legacy == CUDA_SUCCESS ? kNotTaken : taken(legacy);
  }
  if (capture->invalid) return invalidated();
  const CUresult code = prepare_node(*capture, work);
  if (code != CUDA_SUCCESS) {
    capture->invalid = true;
    return taken(code);
  }
  capture_node(*capture, *capture->member(stream), std::move(work));
  return taken();
}

Captured capture_record(Stream& stream, const std::shared_ptr<Event>& event, bool external) {
  if (nothing_captures() && !external) return kNotTaken;
  const GraphsLock lock = lock_graphs();
  const std::shared_ptr<Capture> capture = capture_of(stream);
  if (capture == nullptr) {
    if (external)
      return refused(CUDA_ERROR_INVALID_VALUE, "an external record needs a capturing stream");
    if (const CUresult legacy = check_legacy(stream); legacy != CUDA_SUCCESS) return taken(legacy);
    event->capture = nullptr;
    event->captured_nodes.clear();
    return kNotTaken;
  }
  if (capture->invalid) return invalidated();
  Capture::Member& member = *capture->member(stream);
  if (external) {
    capture_node(*capture, member, RecordWork{event});
    return taken();
  }
  event->capture = capture;
  event->captured_nodes.clear();
  for (const Edge& edge : member.tails) event->captured_nodes.push_back(edge.from);
  return taken();
}

Captured capture_wait(Stream& stream, const std::shared_ptr<Event>& event, bool external) {
  if (nothing_captures() && !external) return kNotTaken;
  const GraphsLock lock = lock_graphs();
  const std::shared_ptr<Capture> capture = capture_of(stream);
  if (capture == nullptr) {
    if (external)
      return refused(CUDA_ERROR_INVALID_VALUE, "an external wait needs a capturing stream");
    if (const CUresult legacy = check_legacy(stream); legacy != CUDA_SUCCESS) return taken(legacy);
    return event->capture == nullptr ? kNotTaken : join(stream, *event);
  }
  if (capture->invalid) return invalidated();
  Capture::Member& member = *capture->member(stream);
  if (!external) return wait_in_capture(*capture, member, *event);
  capture_node(*capture, member, WaitWork{event});
  return taken();
}

CUresult refuse_unsafe_call() {
  if (nothing_captures()) return CUDA_SUCCESS;
  const GraphsLock lock = lock_graphs();
  return refuse_unsafe();
}

CUresult refuse_synchronize(Context& context) {
  if (nothing_captures()) return CUDA_SUCCESS;
  const GraphsLock lock = lock_graphs();
  bool any = false;
  for (const auto& capture : driver().captures)
    for (const auto& member : capture->members) {
      if (member->stream->context.lock().get() != &context) continue;
      capture->invalid = true;
      any = true;
    }
  if (!any) return refuse_unsafe();
  return refuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                "a stream of the context captures: the context cannot be waited for");
}

CUresult refuse_synchronize(Stream& stream) {
  if (nothing_captures()) return CUDA_SUCCESS;
  const GraphsLock lock = lock_graphs();
  if (const std::shared_ptr<Capture>& capture = capture_of(stream)) {
    if (capture->invalid) return invalidated().result;
    capture->invalid = true;
    return refuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                  "the stream captures: it has no work to wait for");
  }
  if (const CUresult legacy = check_legacy(stream); legacy != CUDA_SUCCESS) return legacy;
  return refuse_unsafe();
}

CUresult refuse_synchronize(const std::shared_ptr<Event>& event) {
  if (nothing_captures()) return CUDA_SUCCESS;
  const GraphsLock lock = lock_graphs();
  if (event->capture == nullptr) return refuse_unsafe();
  if (event->capture->graph != nullptr) event->capture->invalid = true;
  return refuse(CUDA_ERROR_CAPTURED_EVENT, "the event was last recorded in a capturing stream");
}

bool is_capturing(const Stream& stream) {
  if (nothing_captures()) return false;
  const GraphsLock lock = lock_graphs();
  return capture_of(stream) != nullptr;
}

void leave_capture(Stream& stream) {
  if (nothing_captures()) return;
  const GraphsLock lock = lock_graphs();
  const std::shared_ptr<Capture> capture = capture_of(stream);
  if (capture == nullptr) return;
  capture->invalid = true;
  if (capture->origin == &stream) return end_capture(capture, false);
  stream.capture = nullptr;
  std::erase_if(capture->members, [&](const auto& each) { return each->stream.get() == &stream; });
}

void drop_captures(const Context& context) {
  if (nothing_captures()) return;
  const GraphsLock lock = lock_graphs();
  const std::vector<std::shared_ptr<Capture>> all = driver().captures;
  for (const auto& capture : all) {
    const bool is_of_context = std::ranges::any_of(capture->members, [&](const auto& each) {
      return each->stream->context.lock().get() == &context;
    });
    if (is_of_context) end_capture(capture, false);
  }
}

void drop_captures() {
  if (nothing_captures()) return;
  const GraphsLock lock = lock_graphs();
  while (!driver().captures.empty()) {
    const std::shared_ptr<Capture> capture = driver().captures.back();
    end_capture(capture, false);
  }
  driver().has_captured = false;
}

}  // namespace cuda_twin
