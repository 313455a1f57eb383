#include "schedule/costs/timer.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>

#include "base/fail.h"
#include "device/device_run.h"
#include "device/weight_choice.h"
#include "graph/storage_users.h"

namespace shunt {

namespace {

constexpr int kLeastRuns = 3;

/// The shortest of some runs, after one that doesn't count.
Result<double> best_of(const RepeatLimits& limits, const std::function<Status()>& run) {
  SHUNT_TRY(run());
  double best = std::numeric_limits<double>::infinity();
  double total = 0;
  for (int runs = 0; runs < kLeastRuns || total < limits.seconds; ++runs) {
    const double start = limits.now();
    if (runs > 0 && start >= limits.deadline) break;
    SHUNT_TRY(run());
    const double taken = limits.now() - start;
    best = std::min(best, taken);
    // At least a little each time, so that a clock that stands still ends, too.
    total += std::max(taken, 1e-6);
  }
  return best;
}

/// Memory of the device with zeros in it.
Result<std::unique_ptr<Buffer>> zeros(BufferType& type, std::size_t bytes) {
  return filled_buffer(type, bytes, std::byte{0});
}

/// The memory of a leaf or a result: of a weight, that of the form which the device prefers.
Result<BufferType*> memory_of(Device& device, const Graph& graph, NodeId id) {
  if (is_weight(graph.node(id).role)) {
    SHUNT_ASSIGN(const WeightChoice choice, choose_weight_form(device, graph, id, false));
    if (choice.memory != nullptr) return choice.memory;
  }
  return &device.memory();
}

/// Zeros for each node, those of one kind of memory in as few buffers as hold them: allocating is
/// most of a short measurement.
class NodeMemory {
 public:
  static Result<NodeMemory> create(Device& device, const Graph& graph, SpareMemory& spare) {
    NodeMemory memory(device.memory(), spare);
    memory.addresses_.resize(graph.size());
    std::map<BufferType*, std::vector<NodeId>> nodes;
    for (NodeId id = 0; id < graph.size(); ++id) {
      SHUNT_ASSIGN(BufferType* const type, memory_of(device, graph, id));
      nodes[type].push_back(id);
    }
    for (const auto& [type, ids] : nodes) SHUNT_TRY(memory.place(*type, graph, ids));
    return memory;
  }
  NodeMemory(NodeMemory&&) = default;
  NodeMemory& operator=(NodeMemory&&) = delete;
  ~NodeMemory() {
    for (auto& buffer : buffers_) {
      if (&buffer->type() == &plain_) spare_.give_back(std::move(buffer));
    }
  }
  std::span<const Address> addresses() const { return addresses_; }

 private:
  NodeMemory(const BufferType& plain, SpareMemory& spare) : plain_(plain), spare_(spare) {}

  Status place(BufferType& type, const Graph& graph, std::span<const NodeId> ids) {
    std::vector<PlacedTensor> placed;
    std::size_t bytes = 0;
    std::size_t first = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const Tensor& tensor = graph.node(ids[i]).result;
      const std::size_t size = type.size_of(tensor);
      const std::size_t step = type.alignment();
      std::size_t offset = (bytes + step - 1) / step * step;
      if (!placed.empty() && (offset > type.max_size() || size > type.max_size() - offset)) {
        SHUNT_TRY(allocate(type, ids.subspan(first, i - first), placed, bytes));
        placed.clear();
        offset = 0;
        first = i;
      }
      placed.push_back({tensor, offset});
      bytes = offset + size;
    }
    return allocate(type, ids.subspan(first), placed, bytes);
  }

  Status allocate(BufferType& type, std::span<const NodeId> ids,
                  std::span<const PlacedTensor> placed, std::size_t bytes) {
    std::unique_ptr<Buffer> buffer;
    if (&type == &plain_) {
      SHUNT_ASSIGN(buffer, spare_.take(type, bytes));
    } else {
      SHUNT_ASSIGN(buffer, type.allocate_for(bytes, placed));
      SHUNT_TRY(buffer->fill(0, bytes, std::byte{0}));
    }
    for (std::size_t i = 0; i < ids.size(); ++i)
      addresses_[ids[i]] = {buffer.get(), placed[i].offset};
    buffers_.push_back(std::move(buffer));
    return ok();
  }

  const BufferType& plain_;  ///< memory of the device that need not know what lies where
  SpareMemory& spare_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::vector<Address> addresses_;
};

}  // namespace

Result<std::unique_ptr<Buffer>> SpareMemory::take(BufferType& type, std::size_t bytes) {
  const auto found = spare_.find(&type);
  if (found == spare_.end()) return zeros(type, bytes);
  std::unique_ptr<Buffer> buffer = std::move(found->second);
  spare_.erase(found);
  if (buffer->size() >= bytes) return buffer;
  buffer.reset();  // before there is another
  return zeros(type, bytes);
}

void SpareMemory::give_back(std::unique_ptr<Buffer> buffer) {
  std::unique_ptr<Buffer>& kept = spare_[&buffer->type()];
  if (kept == nullptr || kept->size() < buffer->size()) kept = std::move(buffer);
}

Result<double> time_graph(Device& device, const Graph& graph, const RepeatLimits& limits,
                          SpareMemory& spare) {
  std::vector<NodeId> computed;
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (graph.node(id).storage != id) {
      return invalid("{} has no memory of its own", graph.describe(id));
    }
    if (!is_computed(graph.node(id))) continue;
    computed.push_back(id);
    if (const Support answer = device.supports(graph, id); !answer) {
      return fail(ErrorCode::kUnsupported, "{}",
                  answer.refused() ? answer.facts() : "only with a source of another type");
    }
  }
  SHUNT_ASSIGN(const NodeMemory memory, NodeMemory::create(device, graph, spare));
  SHUNT_ASSIGN(DeviceRun run, DeviceRun::create(device, graph, computed, memory.addresses()));
  const ExtentValues extents = graph.max_extents();
  return best_of(limits, [&] { return run.run(extents); });
}

Result<double> time_copy(Device& device, std::size_t bytes, bool to_device,
                         const RepeatLimits& limits) {
  BufferType* staging = device.staging_memory();
  SHUNT_ASSIGN(const auto host, zeros(staging != nullptr ? *staging : host_memory(), bytes));
  SHUNT_ASSIGN(const auto there, zeros(device.memory(), bytes));
  SHUNT_ASSIGN(const auto stream, device.open_stream());
  SHUNT_ASSIGN(const auto done, stream->create_event());
  const Address at{there.get(), 0};
  const std::span<std::byte> here(host->host_data(), bytes);
  return best_of(limits, [&]() -> Status {
    if (to_device) {
      SHUNT_TRY(stream->write(at, here, {}, done.get()));
    } else {
      SHUNT_TRY(stream->read(here, at, {}, done.get()));
    }
    return done->wait();
  });
}

}  // namespace shunt
