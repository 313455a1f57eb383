// A capture under way: the graph that it fills, and the streams that take part.
// Driver::graphs_mutex guards all of it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "cuda/driver/state.h"
#include "cuda/graphs/graph.h"

namespace cuda_twin {

struct Capture {
  /// A stream that takes part, and the nodes that its next piece of work depends on.
  struct Member {
    std::shared_ptr<Stream> stream;  ///< until the capture ends, which leave_capture() sees to
    std::vector<Edge> tails;
    std::vector<CUgraphNode> shown;  ///< answers of cuStreamGetCaptureInfo
    std::vector<CUgraphEdgeData> shown_edges;
  };
  std::uint64_t id = 0;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::thread::id thread;
  const Stream* origin = nullptr;
  std::shared_ptr<Graph> graph;
  bool into_own_graph = true;  ///< false: cuStreamBeginCaptureToGraph gave it
  bool invalid = false;
  std::size_t nodes = 0;  ///< of the graph, with those of child graphs
  std::vector<std::unique_ptr<Member>> members;

  Member* member(const Stream& stream) const;
  /// All nodes that members' work ended with are before the origin's next piece.
  bool is_joined() const;
};

/// The capture that the stream takes part in, or null. Needs Driver::graphs_mutex.
inline const std::shared_ptr<Capture>& capture_of(const Stream& stream) {
  return stream.capture;
}
std::shared_ptr<Capture> begin_capture(Stream& stream, std::shared_ptr<Graph> graph,
                                       CUstreamCaptureMode mode);
Capture::Member& join_capture(const std::shared_ptr<Capture>& capture, Stream& stream);
/// Takes all streams out of it. A graph of its own is dropped unless `keep_graph`.
void end_capture(const std::shared_ptr<Capture>& capture, bool keep_graph);
/// A new node after all that the stream captured so far.
Node& capture_node(Capture& capture, Capture::Member& member, Work work);
void add_tails(std::vector<Edge>& tails, std::span<const Edge> more);

/// The calling thread's mode: cuThreadExchangeStreamCaptureMode.
CUstreamCaptureMode& thread_capture_mode();
/// The legacy stream has an implicit order with a blocking stream of this context that captures.
bool blocks_legacy_stream(const Context& context);

}  // namespace cuda_twin
