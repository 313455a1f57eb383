// cuStreamBeginCapture and its like.
#include <utility>

#include "cuda/call.h"
#include "cuda/graphs/captures.h"
#include "cuda/graphs/edges.h"
#include "cuda/graphs/graphs.h"

namespace cuda_twin {
namespace {

CUresult check_begin(const Stream& stream, CUstreamCaptureMode mode) {
  if (static_cast<unsigned>(mode) > CU_STREAM_CAPTURE_MODE_RELAXED)
    return refuse(CUDA_ERROR_INVALID_VALUE, "there is no such capture mode");
  if (stream.is_legacy)
    return refuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "the legacy stream cannot capture");
  if (capture_of(stream) != nullptr)
    return refuse(CUDA_ERROR_ILLEGAL_STATE, "the stream captures already");
  return CUDA_SUCCESS;
}

CUresult check_end(const Stream& stream) {
  const std::shared_ptr<Capture>& capture = capture_of(stream);
  if (capture == nullptr) return refuse(CUDA_ERROR_ILLEGAL_STATE, "the stream does not capture");
  if (capture->origin != &stream)
    return refuse(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED,
                  "the stream joined the capture of another one, which must end it");
  if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
      capture->thread != std::this_thread::get_id())
    return refuse(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
                  "another thread began the capture, and its mode is not relaxed");
  return CUDA_SUCCESS;
}

CUresult end(Stream& stream, CUgraph* graph) {
  if (const CUresult code = check_end(stream); code != CUDA_SUCCESS) return code;
  const std::shared_ptr<Capture> capture = capture_of(stream);
  const bool invalid = capture->invalid;
  const bool joined = capture->is_joined();
  const CUgraph handle = capture->graph->handle;
  end_capture(capture, !invalid && joined);
  if (invalid)
    return refuse(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
                  "an earlier call made the capture invalid");
  if (!joined)
    return refuse(CUDA_ERROR_STREAM_CAPTURE_UNJOINED,
                  "work of another stream in the capture does not lead back to this one");
  *graph = handle;
  return CUDA_SUCCESS;
}

CUresult stream_with_status(CUstream handle, std::shared_ptr<Context>& context,
                            std::shared_ptr<Stream>& stream) {
  if (const CUresult code = stream_of(handle, context, stream); code != CUDA_SUCCESS) return code;
  if (!stream->is_legacy || !blocks_legacy_stream(*context)) return CUDA_SUCCESS;
  return refuse(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
                "the legacy stream waits for blocking streams, and one of them captures");
}

CUstreamCaptureStatus status_of(const Stream& stream) {
  const std::shared_ptr<Capture>& capture = capture_of(stream);
  if (capture == nullptr) return CU_STREAM_CAPTURE_STATUS_NONE;
  return capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

struct Answers {
  CUstreamCaptureStatus* status;
  cuuint64_t* id;
  CUgraph* graph;
  const CUgraphNode** nodes;
  const CUgraphEdgeData** edges;
  size_t* count;
};

template <class T>
void answer(T* to, T value) {
  if (to != nullptr) *to = value;
}

CUresult show_tails(Capture::Member& member, const Answers& answers) {
  member.shown.clear();
  member.shown_edges.clear();
  for (const Edge& edge : member.tails) {
    member.shown.push_back(edge.from->handle);
    member.shown_edges.push_back(edge.data);
  }
  if (answers.nodes != nullptr && answers.edges == nullptr && has_edge_data(member.tails))
    return refuse(CUDA_ERROR_LOSSY_QUERY,
                  "a dependency has edge data that this call cannot return");
  answer(answers.nodes, static_cast<const CUgraphNode*>(member.shown.data()));
  answer(answers.edges, static_cast<const CUgraphEdgeData*>(member.shown_edges.data()));
  answer(answers.count, member.shown.size());
  return CUDA_SUCCESS;
}

CUresult capture_info(CUstream handle, const Answers& answers) {
  if (answers.status == nullptr)
    return refuse(CUDA_ERROR_INVALID_VALUE, "the place for the status is null");
  const GraphsLock lock = lock_graphs();
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
  if (const CUresult code = stream_with_status(handle, context, stream); code != CUDA_SUCCESS)
    return code;
  *answers.status = status_of(*stream);
  if (*answers.status != CU_STREAM_CAPTURE_STATUS_ACTIVE) {
    answer(answers.count, size_t{0});
    return CUDA_SUCCESS;
  }
  const Capture& capture = *capture_of(*stream);
  answer(answers.id, cuuint64_t{capture.id});
  answer(answers.graph, capture.graph->handle);
  return show_tails(*capture.member(*stream), answers);
}

CUresult set_tails(CUstream handle, const CUgraphNode* nodes, const CUgraphEdgeData* data,
                   size_t count, unsigned flags) {
  if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES)
    return refuse(CUDA_ERROR_INVALID_VALUE, "unknown flags");
  const GraphsLock lock = lock_graphs();
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
  if (const CUresult code = stream_of(handle, context, stream); code != CUDA_SUCCESS) return code;
  const std::shared_ptr<Capture>& capture = capture_of(*stream);
  if (capture == nullptr) return refuse(CUDA_ERROR_ILLEGAL_STATE, "the stream does not capture");
  if (capture->invalid)
    return refuse(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
                  "an earlier call made the capture invalid");
  std::vector<Edge> edges;
  if (const CUresult code = edges_of(*capture->graph, nodes, data, count, edges);
      code != CUDA_SUCCESS)
    return code;
  Capture::Member& member = *capture->member(*stream);
  if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) member.tails.clear();
  add_tails(member.tails, edges);
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult cuStreamBeginCapture(CUstream handle, CUstreamCaptureMode mode) {
  return call(__func__, [&] {
    const GraphsLock lock = lock_graphs();
    std::shared_ptr<Context> context;
    std::shared_ptr<Stream> stream;
    if (const CUresult code = stream_of(handle, context, stream); code != CUDA_SUCCESS) return code;
    if (const CUresult code = check_begin(*stream, mode); code != CUDA_SUCCESS) return code;
    auto graph = std::make_shared<Graph>();
    publish(graph);
    begin_capture(*stream, std::move(graph), mode);
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamBeginCaptureToGraph(CUstream handle, CUgraph graph_handle,
                                     const CUgraphNode* dependencies, const CUgraphEdgeData* edges,
                                     size_t count, CUstreamCaptureMode mode) {
  return call(__func__, [&] {
    const GraphsLock lock = lock_graphs();
    std::shared_ptr<Context> context;
    std::shared_ptr<Stream> stream;
    if (const CUresult code = stream_of(handle, context, stream); code != CUDA_SUCCESS) return code;
    if (const CUresult code = check_begin(*stream, mode); code != CUDA_SUCCESS) return code;
    const std::shared_ptr<Graph> graph = driver().graphs.find(graph_handle);
    if (graph == nullptr || graph->capturing)
      return refuse(CUDA_ERROR_INVALID_VALUE, "no graph that a stream could capture into");
    std::vector<Edge> tails;
    if (const CUresult code = edges_of(*graph, dependencies, edges, count, tails);
        code != CUDA_SUCCESS)
      return code;
    const std::shared_ptr<Capture> capture = begin_capture(*stream, graph, mode);
    capture->into_own_graph = false;
    capture->member(*stream)->tails = std::move(tails);
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph* graph) {
  return call(__func__, [&] {
    if (graph == nullptr)
      return refuse(CUDA_ERROR_INVALID_VALUE, "the place for the graph is null");
    *graph = nullptr;
    const GraphsLock lock = lock_graphs();
    std::shared_ptr<Context> context;
    std::shared_ptr<Stream> stream;
    if (const CUresult code = stream_of(handle, context, stream); code != CUDA_SUCCESS) return code;
    return end(*stream, graph);
  });
}

CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus* status) {
  return call(__func__, [&] {
    return capture_info(handle, {status, nullptr, nullptr, nullptr, nullptr, nullptr});
  });
}

CUresult cuStreamGetCaptureInfo_v2(CUstream handle, CUstreamCaptureStatus* status, cuuint64_t* id,
                                   CUgraph* graph, const CUgraphNode** dependencies,
                                   size_t* count) {
  return call(__func__, [&] {
    return capture_info(handle, {status, id, graph, dependencies, nullptr, count});
  });
}

CUresult cuStreamGetCaptureInfo(CUstream handle, CUstreamCaptureStatus* status, cuuint64_t* id,
                                CUgraph* graph, const CUgraphNode** dependencies,
                                const CUgraphEdgeData** edges, size_t* count) {
  return call(__func__, [&] {
    return capture_info(handle, {status, id, graph, dependencies, edges, count});
  });
}

CUresult cuStreamUpdateCaptureDependencies(CUstream handle, CUgraphNode* dependencies,
                                           const CUgraphEdgeData* edges, size_t count,
                                           unsigned flags) {
  return call(__func__, [&] { return set_tails(handle, dependencies, edges, count, flags); });
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  return call(__func__, [&] {
    if (mode == nullptr || static_cast<unsigned>(*mode) > CU_STREAM_CAPTURE_MODE_RELAXED)
      return refuse(CUDA_ERROR_INVALID_VALUE, "there is no such capture mode");
    std::swap(*mode, thread_capture_mode());
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
}  // namespace cuda_twin
