#include "schedule/place/facts.h"

#include <algorithm>
#include <limits>

#include "graph/storage_users.h"
#include "schedule/memory/homes.h"
#include "shunt/message.h"

namespace shunt {

std::vector<const BufferType*> memory_of_leaves(const Graph& graph,
                                                std::span<const LeafMemory> memory) {
  std::vector<const BufferType*> types(graph.size(), nullptr);
  for (const LeafMemory& leaf : memory) {
    if (leaf.address) types[leaf.leaf] = &leaf.address.buffer->type();
  }
  return types;
}

std::uint64_t bytes_to_send(const Graph& graph, NodeId node, Device& device,
                            std::span<const BufferType* const> memory) {
  std::uint64_t bytes = 0;
  for (NodeId source : graph.node(node).sources) {
    if (source == kNoNode) continue;
    const NodeId owner = graph.node(source).storage;
    const BufferType* const there = memory[owner];
    if (!is_weight(graph.node(owner).role) || there == nullptr || device.can_read(*there)) continue;
    bytes += device.memory().size_of(graph.node(source).result);
  }
  return bytes;
}

namespace {

/// Bytes of weights that may be sent to each device for one op. The CPU has no limit.
Result<PerDevice<std::uint64_t>> send_limits(const DeviceSet& devices,
                                             const PerDevice<DeviceInfo>& infos,
                                             DeviceSpan<const std::uint64_t> given) {
  if (!given.empty() && given.size() != devices.size()) {
    return invalid("there are {} limits of the bytes to send, but {} devices", given.size(),
                   devices.size());
  }
  PerDevice<std::uint64_t> limits;
  for (const DeviceIndex i : devices.indices()) {
    std::uint64_t limit = devices[i]->memory().max_size();
    if (infos[i].memory_total > 0) limit = std::min(limit, infos[i].memory_total);
    if (!given.empty()) limit = std::min(limit, given[i]);
    limits.push_back(limit);
  }
  limits.of_cpu() = std::numeric_limits<std::uint64_t>::max();
  return limits;
}

}  // namespace

Result<PlaceFacts> PlaceFacts::create(const Graph& graph, std::span<Device* const> devices,
                                      const PlaceOptions& options) {
  PlaceFacts facts;
  facts.graph_ = &graph;
  facts.devices_ = DeviceSet(devices);
  for (Device* device : devices) facts.infos_.push_back(device->info());
  if (devices.empty() || facts.infos_.of_cpu().kind != DeviceKind::kCpu) {
    return invalid("a placement needs a CPU as its last device");
  }
  SHUNT_TRY(check_memory(graph, options.memory));
  facts.memory_ = PerNode(memory_of_leaves(graph, options.memory));
  facts.streams_ = options.stream_rows > 0;
  SHUNT_ASSIGN(const auto limits, send_limits(facts.devices_, facts.infos_, options.stream_bytes));
  facts.users_ = StorageUsers(graph);
  facts.answers_ = Answers::ask(graph, devices, options, facts.users_);
  SHUNT_TRY(facts.exclude(options.exclusions));
  facts.writers_.resize(graph.size());
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (!is_computed(graph.node(id))) continue;
    for (const DeviceIndex index : facts.devices_.indices()) {
      const std::uint64_t sent = facts.can(index, id) ? facts.bytes_to_send(id, index) : 0;
      const std::uint64_t limit = limits[index];
      if (sent <= limit) continue;
      facts.answers_.refuse(
          id, index,
          Support::no(
              Refusal::kMemory,
              fmt::format(
                  "{} bytes of weights would have to be streamed for it, and the limit is {} bytes",
                  sent, limit)));
    }
    if (graph.node(id).writes_storage) facts.writers_[graph.node(id).storage].push_back(id);
    if (!facts.can(facts.cpu(), id)) {
      return fail(ErrorCode::kUnsupported, "{}: {} can't compute it: {}", graph.describe(id),
                  facts.name(facts.cpu()), facts.answer(id, facts.cpu()).facts());
    }
  }
  return facts;
}

Status PlaceFacts::exclude(std::span<const Exclusion> exclusions) {
  for (const Exclusion& exclusion : exclusions) {
    const NodeId id = exclusion.node;
    if (id >= graph_->size() || !is_computed(graph_->node(id))) {
      return invalid("{} is not a computed node, so it can't be excluded from a device",
                     graph_->describe(id));
    }
    if (exclusion.device < 0 || exclusion.device >= cpu()) {
      return invalid("{} can't be excluded from device {}; there are {} devices beside the CPU",
                     graph_->describe(id), exclusion.device, cpu());
    }
    refuse(id, exclusion.device, exclusion.refusal, exclusion.reason);
  }
  return ok();
}

void PlaceFacts::refuse(NodeId id, DeviceIndex index, Refusal refusal, std::string reason) {
  if (!can(index, id)) return;  // its own reason is the better one
  answers_.refuse(id, index, Support::no(refusal, std::move(reason)));
}

bool PlaceFacts::can_own(DeviceIndex index, NodeId id) const {
  return can(index, id) && std::all_of(writers_[id].begin(), writers_[id].end(),
                                       [&](NodeId writer) { return can(index, writer); });
}

std::vector<NodeId> PlaceFacts::weights_of(NodeId id) const {
  std::vector<NodeId> weights;
  for (NodeId source : graph_->node(id).sources) {
    if (source == kNoNode) continue;
    const NodeId owner = graph_->node(source).storage;
    if (is_weight(graph_->node(owner).role)) weights.push_back(owner);
  }
  return weights;
}

const BufferType& PlaceFacts::memory_if_on(NodeId owner, DeviceIndex index) const {
  const Node& node = graph_->node(owner);
  if (node.is_leaf() && memory_[owner] != nullptr) return *memory_[owner];
  if (node.is_leaf() && node.role == Role::kInput) return input_memory(devices_);
  return device(index).memory();
}

}  // namespace shunt
