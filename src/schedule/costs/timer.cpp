#include "schedule/costs/timer.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <system_error>
#include <thread>
#include <vector>

#include "device/device_run.h"
#include "device/weight_choice.h"
#include "graph/storage_users.h"
#include "shunt/message.h"

namespace shunt {

namespace {

/// The median of some runs, after a warm-up: the shortest one may have found its data in a cache.
/// Of an even number it is the shorter of the middle two.
Result<double> median_of(const RepeatLimits& limits, const std::function<Status()>& run) {
  SHUNT_TRY(run());
  std::vector<double> times;
  double total = 0;
  for (int runs = 0; runs < std::max(limits.runs, 1) || total < limits.seconds; ++runs) {
    const double start = limits.now();
    if (runs > 0 && start >= limits.deadline) break;
    SHUNT_TRY(run());
    const double taken = limits.now() - start;
    times.push_back(taken);
    // At least a little each time, so that a clock that stands still ends, too.
    total += std::max(taken, 1e-6);
  }
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>((times.size() - 1) / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

/// Several threads write to host memory: page faults are most of the time. Where the system starts
/// no more threads, this one writes the rest.
void write_zeros(std::span<std::byte> bytes, std::size_t threads) {
  const std::size_t part = bytes.size() / threads;
  std::vector<std::jthread> others;
  std::size_t begun = 1;
  for (; begun < threads; ++begun) {
    try {
      others.emplace_back([=] { std::memset(bytes.data() + begun * part, 0, part); });
    } catch (const std::system_error&) {
      break;
    }
  }
  std::memset(bytes.data(), 0, part);
  std::memset(bytes.data() + begun * part, 0, bytes.size() - begun * part);
}

/// Memory of the device with zeros in it.
Result<std::unique_ptr<Buffer>> zeros(BufferType& type, std::size_t bytes) {
  constexpr std::size_t kBytesOfThread = std::size_t{8} << 20;
  constexpr std::size_t kMostThreads = 8;
  const std::size_t threads = std::min(
      {bytes / kBytesOfThread, kMostThreads, std::size_t{std::thread::hardware_concurrency()}});
  if (threads < 2) return filled_buffer(type, bytes, std::byte{0});
  SHUNT_ASSIGN(auto buffer, type.allocate(bytes));
  if (std::byte* const data = buffer->host_data(); data != nullptr) {
    write_zeros({data, bytes}, threads);
  } else {
    SHUNT_TRY(buffer->fill(0, bytes, std::byte{0}));
  }
  return buffer;
}

/// The memory of a leaf or a result: of a weight, that of the form which the device prefers.
Result<BufferType*> memory_of(Device& device, const Graph& graph, NodeId id) {
  if (is_weight(graph.node(id).role)) {
    SHUNT_ASSIGN(const WeightChoice choice, choose_weight_form(device, graph, id, false));
    if (choice.memory != nullptr) return choice.memory;
  }
  return &device.memory();
}

/// The offset of the next tensor behind `bytes`.
std::size_t align_up(std::size_t bytes, std::size_t step) {
  return (bytes + step - 1) / step * step;
}

/// Zeros for each node. Allocating is most of a short measurement. So plain memory and the types
/// that can be placed in it share one buffer, and those of other types have as few as hold them.
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
    SHUNT_TRY(memory.place_shared(graph, nodes));
    for (const auto& [type, ids] : nodes) SHUNT_TRY(memory.place(*type, graph, ids));
    return memory;
  }
  NodeMemory(NodeMemory&&) = default;
  NodeMemory& operator=(NodeMemory&&) = delete;
  ~NodeMemory() {
    buffers_.clear();
    if (shared_ != nullptr) spare_.give_back(std::move(shared_));
  }
  std::span<const Address> addresses() const { return addresses_; }

 private:
  using NodesByType = std::map<BufferType*, std::vector<NodeId>>;

  NodeMemory(BufferType& plain, SpareMemory& spare) : plain_(plain), spare_(spare) {}

  bool lies_in_plain(BufferType& type) const {
    return &type == &plain_ ||
           (type.container() == &plain_ && type.alignment() <= plain_.alignment());
  }

  /// Places the nodes of plain memory, and of types that it can hold, in one buffer, and removes
  /// them from `nodes`. It leaves all of them if one buffer is too small.
  Status place_shared(const Graph& graph, NodesByType& nodes) {
    std::size_t bytes = 0;
    std::map<BufferType*, std::vector<PlacedTensor>> placed;
    for (const auto& [type, ids] : nodes) {
      if (!lies_in_plain(*type)) continue;
      for (const NodeId id : ids) {
        const Tensor& tensor = graph.node(id).result;
        const std::size_t offset = align_up(bytes, type->alignment());
        const std::size_t size = type->size_of(tensor);
        if (offset > plain_.max_size() || size > plain_.max_size() - offset) return ok();
        placed[type].push_back({tensor, offset});
        bytes = offset + size;
      }
    }
    if (placed.empty()) return ok();
    SHUNT_ASSIGN(shared_, spare_.take(plain_, bytes));
    for (const auto& [type, tensors] : placed) {
      Buffer* buffer = shared_.get();
      if (type != &plain_) {
        SHUNT_ASSIGN(auto inside, type->place_in(*shared_, tensors));
        buffer = inside.get();
        buffers_.push_back(std::move(inside));
      }
      const std::vector<NodeId>& ids = nodes[type];
      for (std::size_t i = 0; i < ids.size(); ++i) addresses_[ids[i]] = {buffer, tensors[i].offset};
      nodes.erase(type);
    }
    return ok();
  }

  Status place(BufferType& type, const Graph& graph, std::span<const NodeId> ids) {
    std::vector<PlacedTensor> placed;
    std::size_t bytes = 0;
    std::size_t first = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const Tensor& tensor = graph.node(ids[i]).result;
      const std::size_t size = type.size_of(tensor);
      std::size_t offset = align_up(bytes, type.alignment());
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
    SHUNT_ASSIGN(auto buffer, type.allocate_for(bytes, placed));
    SHUNT_TRY(buffer->fill(0, bytes, std::byte{0}));
    for (std::size_t i = 0; i < ids.size(); ++i)
      addresses_[ids[i]] = {buffer.get(), placed[i].offset};
    buffers_.push_back(std::move(buffer));
    return ok();
  }

  BufferType& plain_;  ///< memory of the device that does not depend on the place of tensors
  SpareMemory& spare_;
  std::unique_ptr<Buffer> shared_;
  std::vector<std::unique_ptr<Buffer>> buffers_;  ///< some are in the shared one
  std::vector<Address> addresses_;
};

}  // namespace

Status SpareMemory::reserve(BufferType& type, std::size_t bytes) {
  SHUNT_ASSIGN(auto buffer, take(type, bytes));
  give_back(std::move(buffer));
  return ok();
}

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
  const DynamicDimValues dynamic_dims = graph.max_dynamic_dims();
  return median_of(limits, [&] { return run.run(dynamic_dims); });
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
  return median_of(limits, [&]() -> Status {
    if (to_device) {
      SHUNT_TRY(stream->write(at, here, {}, done.get()));
    } else {
      SHUNT_TRY(stream->read(here, at, {}, done.get()));
    }
    return done->wait();
  });
}

}  // namespace shunt
