// The time of one compile() on one thread: 10,000 nodes in 200 segments, which alternate between
// two devices. Both devices are CPUs: the scheduler and the preparation of a real backend are
// measured, and no kernel runs. The target is 100 ms.
#include <benchmark/benchmark.h>

#include "shunt/ops.h"
#include "shunt/plan.h"
#include "shunt/registry.h"

namespace shunt {
namespace {

/// Another CPU, whose memory the first one can't read: so its results are copied.
class FarMemory final : public BufferType {
 public:
  std::string_view name() const override { return "far"; }
  std::size_t alignment() const override { return host_memory().alignment(); }
  bool host_accessible() const override { return false; }  // so that tensors are copied
  Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes) override {
    return host_memory().allocate(bytes);
  }
};

class FarDevice final : public Device {
 public:
  explicit FarDevice(Device& cpu) : cpu_(cpu) {}
  std::string_view name() const override { return "far0"; }
  DeviceInfo info() const override {
    DeviceInfo info;
    info.name = name();
    info.priority = 1;
    return info;
  }
  Support supports(const Graph& graph, NodeId node, MemoryOfLeaves memory) const override {
    return cpu_.supports(graph, node, memory);
  }
  bool can_read(const BufferType& type) const override { return &type == &memory_; }
  BufferType& memory() override { return memory_; }
  Result<std::unique_ptr<Stream>> open_stream() override { return cpu_.open_stream(); }
  Result<std::unique_ptr<Program>> prepare(const SegmentView& segment) override {
    return cpu_.prepare(segment);
  }

 private:
  Device& cpu_;
  FarMemory memory_;
};

/// Gated layers: products, sums, norms and their scales, as in a transformer.
Result<Graph> layers(std::int64_t nodes) {
  GraphBuilder g;
  SHUNT_ASSIGN(const Tensor tensor, make_tensor(DType::kF32, {64, 4}));
  SHUNT_ASSIGN(const Tensor scale_tensor, make_tensor(DType::kF32, {64}));
  Result<Value> x = g.input("x", tensor);
  const Result<Value> by = g.input("scale", scale_tensor);
  for (std::int64_t i = 0; i < nodes; i += 5) {
    const Result<Value> normed = mul(g, rms_norm(g, x, {.eps = 1e-5F}), by);
    const Result<Value> gate = swiglu(g, normed, neg(g, normed));
    x = add(g, x, gate);
  }
  SHUNT_TRY(g.output(x, "y"));
  return std::move(g).build();
}

void compile_segments(benchmark::State& state) {
  const auto registry = Registry::create({});
  const auto cpu = registry ? (*registry)->find("cpu0") : Error(registry.error());
  auto built = layers(state.range(0));
  if (!cpu || !built) return state.SkipWithError("no CPU, or no graph");
  const auto graph = std::make_shared<const Graph>(std::move(*built));
  FarDevice far(**cpu);
  const std::array<Device*, 2> devices = {&far, *cpu};
  auto placement = place(*graph, devices);
  if (!placement) return state.SkipWithError(placement.error().message().c_str());
  const std::int64_t in_a_segment = state.range(0) / state.range(1);
  std::int64_t computed = 0;
  for (NodeId id = 0; id < graph->size(); ++id) {
    const bool leaf = graph->node(id).is_leaf();
    placement->decisions[id].device = leaf ? 1 : static_cast<int>(computed / in_a_segment % 2);
    computed += leaf ? 0 : 1;
  }
  std::size_t segments = 0;
  for (auto _ : state) {
    const auto plan = compile(graph, *placement, {});
    if (!plan) return state.SkipWithError(plan.error().message().c_str());
    segments = (*plan)->segments().size();
  }
  state.counters["nodes"] = static_cast<double>(computed);
  state.counters["segments"] = static_cast<double>(segments);
}

BENCHMARK(compile_segments)
    ->Args({1000, 20})
    ->Args({10000, 200})
    ->Args({20000, 400})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace shunt
