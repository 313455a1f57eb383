// The overhead of a launch: runs of 100 launches of a kernel that does nothing. Each launch waits
// for the one before. The time of an item is that of one launch, with its barrier. Arguments:
// threads, items a launch.
#include <benchmark/benchmark.h>

#include <vector>

#include "backends/cpu/program.h"
#include "shunt/ops/unary.h"

namespace shunt::cpu {

namespace {

constexpr int kLaunches = 100;

class Empty final : public CpuKernel {
 public:
  explicit Empty(std::int64_t items) : items_(items) {}
  const Op& op() const override { return silu_op(); }
  Support supports(const NodeView&, const CpuTarget&) const override { return Support::yes(); }
  std::int64_t items(const Call&, int) const override { return items_; }
  Fault run(const Call&, int, std::int64_t begin, std::int64_t end, std::byte*) const override {
    for (std::int64_t i = begin; i < end; ++i) benchmark::DoNotOptimize(i);
    return Fault::kNone;
  }

 private:
  std::int64_t items_;
};

void launches(benchmark::State& state) {
  const auto pool = Pool::create(static_cast<int>(state.range(0)));
  const Empty kernel(state.range(1));
  const CpuKernel* kernels[] = {&kernel};
  const Table table(std::vector{[&] { return KernelList(kernels); }});
  GraphBuilder g;
  Result<Value> x = g.input("x", *make_tensor(DType::kF32, {4}));
  for (int i = 0; i < kLaunches; ++i) x = silu(g, x);
  if (!g.output(x, "x")) return state.SkipWithError("no output");
  const Result<Graph> graph = std::move(g).build();
  if (!graph || !pool) return state.SkipWithError("it can't be made");
  const auto memory = host_memory().allocate((kLaunches + 1) * 64);
  std::vector<NodeId> nodes;
  std::vector<Address> addresses;
  for (NodeId id = 0; id < graph->size(); ++id) {
    if (!graph->node(id).is_leaf()) nodes.push_back(id);
    addresses.push_back({memory->get(), 64 * addresses.size()});
  }
  const std::unique_ptr<bool[]> kept(new bool[addresses.size()]());
  const SegmentView segment{*graph, nodes, {kept.get(), addresses.size()}};
  const auto program = prepare(segment, table, {}, **pool);
  if (!program) return state.SkipWithError("no program");
  const auto binding = (*program)->bind({addresses, {}});
  if (!binding) return state.SkipWithError("no binding");
  for (auto _ : state) {
    if (!run(**binding, {.dynamic_dims = graph->max_dynamic_dims()}))
      return state.SkipWithError("it failed");
  }
  state.SetItemsProcessed(state.iterations() * kLaunches);
  state.counters["launch"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * kLaunches,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(launches)->Name("launches")->ArgsProduct({{1, 2}, {1, 2, 16}})->UseRealTime();

}  // namespace
}  // namespace shunt::cpu
