#include "support/graph_run.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "device/weight_choice.h"
#include "shunt/message.h"
#include "support/tensor_io.h"

namespace shunt::test {

namespace {

WeightChoice choose(Device& device, const Graph& graph, NodeId leaf, bool lossy) {
  auto choice = choose_weight_form(device, graph, leaf, lossy);
  EXPECT_TRUE(choice) << choice.error().message();
  return choice.value_or(WeightChoice());
}

}  // namespace

BufferType* chosen_memory(Device& device, const Graph& graph, NodeId leaf, bool lossy) {
  return choose(device, graph, leaf, lossy).memory;
}

BufferType* lossy_memory(Device& device, const Graph& graph, NodeId leaf) {
  const WeightChoice choice = choose(device, graph, leaf, true);
  return choice.lossy ? choice.memory : nullptr;
}

Result<std::unique_ptr<GraphRun>> GraphRun::create(std::shared_ptr<const Graph> graph,
                                                   std::span<Device* const> devices,
                                                   const std::map<NodeId, RefTensor>& leaves,
                                                   const GraphRunOptions& options) {
  auto run = std::make_unique<GraphRun>();
  run->graph_ = graph;
  SHUNT_ASSIGN(Placement first, options.by_ability
                                    ? place_by_ability(*graph, devices)
                                    : place(*graph, devices, {.costs = options.costs}));
  for (NodeId id = 0; id < graph->size(); ++id) {
    const Node& node = graph->node(id);
    if (!node.is_leaf() || node.role == Role::kInput) continue;
    const auto values = leaves.find(id);
    if (values == leaves.end()) return invalid("no values for {}", graph->describe(id));
    const std::vector<std::byte> bytes = tensor_bytes(values->second, node.result);
    const bool on_host = options.weights_on_host && node.role != Role::kCache;
    Device& device =
        on_host ? *devices.back() : *devices[static_cast<std::size_t>(first.decisions[id].device)];
    BufferType* memory = nullptr;
    if (options.weight_memory && node.role != Role::kCache) {
      memory = options.weight_memory(device, *graph, id);
    }
    if (memory == nullptr) memory = &device.memory();
    const PlacedTensor placed{node.result, 0};
    SHUNT_ASSIGN(auto buffer, memory->allocate_for(memory->size_of(node.result), {&placed, 1}));
    SHUNT_TRY(buffer->write(0, bytes));
    run->memory_.push_back({id, {buffer.get(), 0}});
    run->buffers_.push_back(std::move(buffer));
  }
  Placement placement = first;
  if (!options.by_ability) {
    SHUNT_ASSIGN(placement, place(*graph, devices,
                                  {.memory = run->memory_,
                                   .stream_rows = options.stream_rows,
                                   .costs = options.costs}));
  }
  SHUNT_ASSIGN(run->plan_, compile(graph, std::move(placement),
                                   {.memory = run->memory_,
                                    .observe = options.observe,
                                    .steps_in_flight = options.steps_in_flight,
                                    .trace = options.trace}));
  SHUNT_TRY(run->set_inputs(leaves));
  return run;
}

Status GraphRun::set_inputs(const std::map<NodeId, RefTensor>& leaves) {
  for (const auto& [id, values] : leaves) {
    if (graph_->node(id).role != Role::kInput) continue;
    SHUNT_ASSIGN(const auto bytes, plan_->input(Value{id}));
    write_tensor(values, graph_->node(id).result, bytes.data());
  }
  return ok();
}

Result<RefTensor> GraphRun::output(NodeId node, const DynamicDimValues& dynamic_dims) const {
  SHUNT_ASSIGN(const auto bytes, plan_->output(Value{node}));
  const Tensor& tensor = graph_->node(node).result;
  return read_tensor(bytes.data(), tensor, actual_sizes(tensor, dynamic_dims));
}

Address GraphRun::address(NodeId node) const {
  const auto found = std::ranges::find(memory_, node, &LeafMemory::leaf);
  return found == memory_.end() ? Address{} : found->address;
}

Result<RefTensor> GraphRun::leaf(NodeId node) const {
  const Address at = address(node);
  if (!at) return invalid("{} has no memory of its own", graph_->describe(node));
  const Tensor& tensor = graph_->node(node).result;
  std::vector<std::byte> bytes(static_cast<std::size_t>(byte_span(tensor)));
  SHUNT_TRY(at.buffer->read(at.offset, bytes));
  return read_tensor(bytes.data(), tensor, max_sizes(tensor.shape));
}

Result<Placement> place_by_ability(const Graph& graph, std::span<Device* const> devices) {
  SHUNT_ASSIGN(Placement placement, place(graph, devices));
  const auto decide = [&](NodeId id, NodeId like) {
    for (int i = 0; i < static_cast<int>(devices.size()); ++i) {
      if (!devices[static_cast<std::size_t>(i)]->supports(graph, like)) continue;
      placement.decisions[id] = {i, Rule::kMemory, "the test says so", {}};
      return;
    }
  };
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.is_leaf()) continue;
    if (node.storage == id) decide(id, id);
    if (node.writes_storage) {
      decide(id, id);
      decide(node.storage, id);
    }
  }
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.storage != id && !node.writes_storage) {
      placement.decisions[id].device = placement.decisions[node.storage].device;
    }
  }
  return placement;
}

std::string dump(const Graph& graph) {
  std::string text;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    text += fmt::format("{} {} {} {} strides {} {} {} {} storage {}+{} writes {} from",
                        graph.describe(id), to_string(node.role), to_string(node.result),
                        node.is_leaf() ? "" : node.op->describe(node.params), node.result.stride(0),
                        node.result.stride(1), node.result.stride(2), node.result.stride(3),
                        node.storage, node.offset, node.writes_storage);
    for (NodeId source : node.sources) text += fmt::format(" {}", source);
    text += "\n";
  }
  return text;
}

}  // namespace shunt::test
