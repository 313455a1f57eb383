#include "cuda/graphs/captures.h"

#include <algorithm>
#include <utility>

#include "cuda/graphs/graphs.h"

namespace cuda_twin {

Capture::Member* Capture::member(const Stream& stream) const {
  const auto at = std::ranges::find_if(
      members, [&](const std::unique_ptr<Member>& each) { return each->stream.get() == &stream; });
  return at == members.end() ? nullptr : at->get();
}

bool Capture::is_joined() const {
  std::vector<Node*> ends;
  for (const Edge& edge : member(*origin)->tails) ends.push_back(edge.from);
  std::vector<Node*> others;
  for (const auto& each : members)
    for (const Edge& edge : each->tails) others.push_back(edge.from);
  return all_lead_to(others, ends);
}

std::shared_ptr<Capture> begin_capture(Stream& stream, std::shared_ptr<Graph> graph,
                                       CUstreamCaptureMode mode) {
  auto capture = std::make_shared<Capture>();
  capture->id = driver().next_id++;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->origin = &stream;
  capture->graph = std::move(graph);
  capture->graph->capturing = true;
  capture->nodes = extents_of(*capture->graph).nodes;
  driver().captures.push_back(capture);
  driver().has_captured = true;
  join_capture(capture, stream);
  return capture;
}

Capture::Member& join_capture(const std::shared_ptr<Capture>& capture, Stream& stream) {
  capture->members.push_back(std::make_unique<Capture::Member>());
  capture->members.back()->stream = stream.shared_from_this();
  stream.capture = capture;
  return *capture->members.back();
}

void end_capture(const std::shared_ptr<Capture>& capture, bool keep_graph) {
  for (const auto& each : capture->members) each->stream->capture = nullptr;
  capture->members.clear();
  capture->graph->capturing = false;
  if (!keep_graph && capture->into_own_graph) withdraw(*capture->graph);
  capture->graph = nullptr;
  std::erase(driver().captures, capture);
}

Node& capture_node(Capture& capture, Capture::Member& member, Work work) {
  Node& node =
      add_node(*capture.graph, std::move(work), member.stream->context.lock(), member.tails);
  publish(node);
  const Graph* const child = child_of(node);
  capture.nodes += 1 + (child == nullptr ? 0 : extents_of(*child).nodes);
  member.tails.assign(1, Edge{&node, {}});
  return node;
}

void add_tails(std::vector<Edge>& tails, std::span<const Edge> more) {
  for (const Edge& edge : more)
    if (std::ranges::find(tails, edge.from, &Edge::from) == tails.end()) tails.push_back(edge);
}

CUstreamCaptureMode& thread_capture_mode() {
  thread_local CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  return mode;
}

bool blocks_legacy_stream(const Context& context) {
  return std::ranges::any_of(driver().captures, [&](const std::shared_ptr<Capture>& capture) {
    return std::ranges::any_of(capture->members, [&](const std::unique_ptr<Capture::Member>& each) {
      return !each->stream->non_blocking() && each->stream->context.lock().get() == &context;
    });
  });
}

}  // namespace cuda_twin
