#include "support/test_accelerator.h"

#include <algorithm>

#include "backend_support/event_stream.h"
#include "backend_support/node_launch.h"
#include "backend_support/packed_memory.h"
#include "backend_support/queue_pair.h"
#include "backend_support/segment_program.h"
#include "shunt/ops.h"
#include "support/tensor_io.h"
#include "support/thread_native.h"
#include "support/world_native.h"

namespace shunt::test {

namespace {

/// Bytes in reverse order: nothing that reads them as if they were plain gets it right.
struct ReversedTensor final : PackedTensor {
  ReversedTensor(std::byte* data, std::size_t bytes) : begin(data), size(bytes) {}
  std::size_t plain_bytes() const override { return size; }
  Status write(std::size_t offset, std::span<const std::byte> from) override {
    std::ranges::reverse_copy(from, begin + size - offset - from.size());
    return ok();
  }
  Status read(std::size_t offset, std::span<std::byte> to) override {
    std::reverse_copy(begin + size - offset - to.size(), begin + size - offset, to.begin());
    return ok();
  }
  std::byte* begin;
  std::size_t size;
};

struct AcceleratorMemory final : PackedMemory {
  AcceleratorMemory(std::string type, bool reversed)
      : PackedMemory(std::move(type)), packing(reversed) {}
  bool packs(const Tensor&) const override { return packing; }
  std::unique_ptr<PackedTensor> place(const Tensor& tensor, Buffer& bytes,
                                      std::size_t offset) const override {
    return std::make_unique<ReversedTensor>(bytes.host_data() + offset, packed_bytes(tensor));
  }
  bool packing;
};

/// A tensor where a launch finds it.
struct Operand {
  const Tensor* tensor = nullptr;  // null: it is absent
  Sizes sizes = {};
  std::byte* data = nullptr;
  PackedTensor* packed = nullptr;
};

Result<RefTensor> read_operand(const Operand& from) {
  if (from.packed == nullptr) return read_tensor(from.data, *from.tensor, from.sizes);
  std::vector<std::byte> plain(from.packed->plain_bytes());
  SHUNT_TRY(from.packed->read(0, plain));
  return read_tensor(plain.data(), *from.tensor, from.sizes);
}

struct Launch {
  NodeId node = 0;
  std::vector<Operand> sources = {};
  Operand result = {};
};
using CapturedGraph = std::shared_ptr<const std::vector<Launch>>;

struct AcceleratorBinding final : Binding {
  AcceleratorBinding(const Graph& of, std::span<const NodeId> segment, const Addresses& where)
      : graph(of), nodes(segment), addresses(where.nodes.begin(), where.nodes.end()) {}
  Operand operand(NodeId id, const DynamicDimValues& dynamic_dims) const {
    if (id == kNoNode) return {};
    const Tensor& tensor = graph.node(id).result;
    const Address& at = addresses[id];
    return {&tensor, actual_sizes(tensor, dynamic_dims), packed_data(*at.buffer) + at.offset,
            find_packed(at)};
  }
  Result<CapturedGraph> capture(const DynamicDimValues& dynamic_dims) const {
    std::vector<Launch> launches;
    for (const NodeId id : nodes) {
      launches.push_back({.node = id, .result = operand(id, dynamic_dims)});
      for (const NodeId source : graph.node(id).sources)
        launches.back().sources.push_back(operand(source, dynamic_dims));
    }
    return std::make_shared<const std::vector<Launch>>(std::move(launches));
  }
  const Graph& graph;
  std::span<const NodeId> nodes;  // of the program
  std::vector<Address> addresses;
  static inline std::atomic<std::uint64_t> bindings = 0;
  const std::uint64_t number = ++bindings;
};

Status compute(const Graph& graph, const Launch& launch,
               const std::function<Status(NodeId)>& before) {
  if (before) SHUNT_TRY(before(launch.node));
  const Node& node = graph.node(launch.node);
  std::vector<RefTensor> values(launch.sources.size());
  std::vector<const RefTensor*> sources(values.size(), nullptr);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (launch.sources[i].tensor == nullptr) continue;
    SHUNT_ASSIGN(values[i], read_operand(launch.sources[i]));
    sources[i] = &values[i];
  }
  RefTensor result(launch.result.sizes);
  if (node.writes_storage) result = values[0];
  node.op->reference(sources, node.params, result);
  write_tensor(result, node.result, launch.result.data);
  return ok();
}

std::unique_ptr<NativeQueue> open_queue(TestWorld* world) {
  if (world == nullptr) return std::make_unique<ThreadNativeStream>();
  return std::make_unique<WorldNativeStream>(*world);
}

}  // namespace

TestAccelerator::TestAccelerator(TestAcceleratorConfig config)
    : config_(std::move(config)),
      memory_(std::make_unique<AcceleratorMemory>(config_.name + " memory", false)),
      weights_(std::make_unique<AcceleratorMemory>(config_.name + " weights", true)),
      staging_(config_.name + " pinned memory"),
      health_(std::make_shared<DeviceHealth>(config_.name)) {}

DeviceInfo TestAccelerator::info() const {
  DeviceInfo info{.name = config_.name, .description = "exists only in tests", .priority = 1};
  info.memory_total = kMemory;
  info.asynchronous = true;
  info.dynamic_dim_granularity = config_.granularity;
  return info;
}

Support TestAccelerator::supports(const Graph& graph, NodeId id, MemoryOfLeaves memory) const {
  const Node& node = graph.node(id);
  if (node.is_leaf() || node.op->info().storage == Storage::kView) return Support::yes();
  const std::string op(node.op->info().name);
  if (!config_.ops.empty() && !config_.ops.contains(op))
    return Support::no(Refusal::kOp, config_.name + " has no " + op);
  for (const NodeId source : node.sources) {
    if (source == kNoNode || memory.empty() || node.op == &matmul_op()) continue;
    if (memory[graph.node(source).storage] == weights_.get())
      return Support::no(Refusal::kLayout, op + " reads no reversed bytes");
  }
  if (trait(node.result.dtype).block_elements == 1) return Support::yes();
  return Support::no(Refusal::kType, "encoding decoded blocks again is not exact");
}

Result<std::unique_ptr<Stream>> TestAccelerator::open_transfer_stream() {
  return EventStream::create(open_queue(config_.world), health_);
}

bool TestAccelerator::can_copy_from(const BufferType& type) const {
  return dynamic_cast<const AcceleratorMemory*>(&type) != nullptr;
}

bool TestAccelerator::offload_op(const Graph& graph, NodeId id) const {
  return graph.node(id).op == &matmul_op();
}

Result<std::unique_ptr<Stream>> TestAccelerator::open_stream() {
  auto computing = open_queue(config_.world);
  auto cache = std::make_shared<GraphCache<CapturedGraph>>(config_.graphs);
  computing->launch = [this, cache](Binding& any,
                                    const RunArgs& args) -> Result<NativeQueue::Work> {
    const auto& binding = static_cast<const AcceleratorBinding&>(any);
    const auto capture = [&] { return binding.capture(args.dynamic_dims); };
    SHUNT_ASSIGN(const auto* captured, cache->find({binding.number, args.dynamic_dims}, capture));
    graphs = cache->counts();
    return [this, &graph = binding.graph, launches = *captured, cancel = args.cancel] {
      return run_node_by_node(
          graph, launches->size(), cancel, [&](std::size_t i) { return (*launches)[i].node; },
          [&](std::size_t i) { return compute(graph, (*launches)[i], on_launch); });
    };
  };
  SHUNT_ASSIGN(auto queues, QueuePair::create(std::move(computing), open_queue(config_.world)));
  return EventStream::create(std::move(queues), health_);
}

Result<std::unique_ptr<Program>> TestAccelerator::prepare(const SegmentView& segment) {
  return std::make_unique<SegmentProgram<AcceleratorBinding>>(segment);
}

}  // namespace shunt::test
