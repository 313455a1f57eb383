// Running a compiled plan allocates nothing: every operator new of the process is counted.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>

#include "graph/gathered.h"
#include "graph/reference.h"
#include "shunt/ops.h"
#include "shunt/registry.h"
#include "shunt/trace.h"
#include "support/graph_run.h"
#include "support/remote_device.h"
#include "support/replaced_new.h"
#include "support/tensor_io.h"

namespace {

std::atomic<std::size_t> allocations{0};
std::atomic<std::size_t> bytes_asked{0};

}  // namespace

void* shunt::test::allocate_in_test(std::size_t size, std::size_t alignment) noexcept {
  allocations.fetch_add(1, std::memory_order_relaxed);
  bytes_asked.fetch_add(size, std::memory_order_relaxed);
  return allocate_memory(size, alignment);
}

namespace shunt::test::allocation_test {
namespace {

TEST(Plan, RunningAllocatesNothing) {
  Options options;
  options.threads = 2;
  auto registry = Registry::create(options);
  ASSERT_TRUE(registry);
  const auto devices = (*registry)->select({});
  if (!devices || devices->empty()) GTEST_SKIP() << "there is no CPU backend in this build";

  GraphBuilder g;
  const auto tokens = g.dynamic_dim("tokens", 9);
  const auto x = g.input("x", *make_tensor(DType::kF32, {64, *tokens}));
  const auto positions = g.input("positions", *make_tensor(DType::kI32, {*tokens}));
  const auto rows = g.input("rows", *make_tensor(DType::kI64, {*tokens}));
  const auto w = g.weight("w", *make_tensor(DType::kQ8_0, {64, 64}));
  const auto f = g.weight("f", *make_tensor(DType::kF16, {64, 64}));
  const auto cache = g.cache("cache", *make_tensor(DType::kF16, {64, 16}));
  const auto h = rms_norm(g, x);
  const auto q =
      rope(g, reshape(g, matmul(g, w, h), {16, 4, *tokens}), positions, absent(), {.dims = 16});
  const auto kept = set_rows(g, cache, reshape(g, q, {64, *tokens}), rows);
  const auto heads = reshape(g, kept, {16, 4, 16});
  const auto mixed = reshape(g, attention(g, q, heads, heads), {64, *tokens});
  const auto y = add(g, x, matmul(g, f, swiglu(g, mixed, silu(g, h))));
  ASSERT_TRUE(g.output(y, "y"));
  auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  std::map<NodeId, RefTensor> leaves;
  for (NodeId id = 0; id < graph->size(); ++id) {
    if (!graph->node(id).is_leaf()) continue;
    CaseSource source{.dtype = graph->node(id).result.dtype,
                      .sizes = max_sizes(graph->node(id).result.shape)};
    if (id == positions->id || id == rows->id)
      source = {source.dtype, source.sizes, Fill::kPermutation, 0, 9};
    leaves[id] = make_values(source, id);
  }
  const auto trace = Trace::create({.capacity = 2});  // which is full after two runs
  ASSERT_TRUE(trace);
  for (Trace* traced : {static_cast<Trace*>(nullptr), trace->get()}) {
    auto run = GraphRun::create(graph, *devices, leaves, {.trace = traced});
    ASSERT_TRUE(run) << run.error().message();
    const std::size_t before_compiling = allocations.load();
    EXPECT_GT(before_compiling, 0U);  // it does count
    for (std::int64_t count : {9, 1, 0, 5}) {
      ASSERT_TRUE((*run)->plan().set_dynamic_dim(*tokens, count));
      const std::size_t before = allocations.load();
      const Status status = (*run)->plan().run();
      const std::size_t after = allocations.load();
      ASSERT_TRUE(status) << status.error().message();
      EXPECT_EQ(after - before, 0U) << "at " << count << " tokens";
    }
  }
  EXPECT_EQ((*trace)->spans().size(), 2U);
  EXPECT_EQ((*trace)->left_out(), 2U);
}

TEST(Plan, RunningOnTwoDevicesAllocatesNothing) {
  Options options;
  options.threads = 2;
  auto registry = Registry::create(options);
  ASSERT_TRUE(registry);
  const auto found = (*registry)->select({});
  if (!found || found->empty()) GTEST_SKIP() << "there is no CPU backend in this build";
  Device& cpu = *found->back();

  GraphBuilder g;
  const auto tokens = g.dynamic_dim("tokens", 9);
  const auto x = g.input("x", *make_tensor(DType::kF32, {64, *tokens}));
  const auto rows = g.input("rows", *make_tensor(DType::kI64, {*tokens}));
  const auto w = g.weight("w", *make_tensor(DType::kF16, {64, 64}));
  const auto cache = g.cache("cache", *make_tensor(DType::kF32, {64, 16}));
  const auto first = silu(g, matmul(g, w, rms_norm(g, x)));  // cpu0, then a0
  const auto second = scale(g, first, {.scale = 2});         // b0
  const auto kept = set_rows(g, cache, second, rows);        // b0
  const auto y = mul(g, first, second);                      // a0
  ASSERT_TRUE(g.output(y, "y") && g.output(kept, "kept"));
  const auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  std::map<NodeId, RefTensor> leaves;
  std::vector<RefTensor> by_node(graph->size());
  for (const auto& leaf : {x, rows, w, cache}) {
    const Tensor& tensor = graph->node(leaf->id).result;
    CaseSource source{.dtype = tensor.dtype, .sizes = max_sizes(tensor.shape)};
    if (leaf->id == rows->id) source = {source.dtype, source.sizes, Fill::kPermutation, 0, 9};
    by_node[leaf->id] = leaves[leaf->id] = make_values(source, leaf->id);
  }
  const auto expected = reference_run(*graph, by_node);
  ASSERT_TRUE(expected);

  std::size_t staged_before = 0;
  for (int way = 0; way < 8; ++way) {
    const bool directly = way % 2 > 0;
    const int in_flight = way / 2 % 2 > 0 ? 4 : 1;
    const auto trace = Trace::create({.capacity = 2});
    ASSERT_TRUE(trace);
    RemoteConfig config{.name = "a0", .ops = {"matmul", "silu", "mul"}};
    config.copies_directly = directly;
    config.pinned = RemotePinned();
    RemoteDevice a(cpu, config);
    config.name = "b0";
    config.ops = {"scale", "set_rows"};
    RemoteDevice b(cpu, config);
    Device* const devices[] = {&a, &b, &cpu};
    const auto run = GraphRun::create(graph, devices, leaves,
                                      {.steps_in_flight = in_flight,
                                       .by_ability = true,
                                       .trace = way < 4 ? nullptr : trace->get()});
    ASSERT_TRUE(run) << run.error().message();
    Plan& plan = (*run)->plan();
    // Both devices have host ends of copies; direct copies between them need none.
    std::size_t staged = 0;
    for (const MemoryUse& use : plan.memory()) staged += use.staging;
    EXPECT_GT(staged, 0U);
    if (directly) {
      EXPECT_LT(staged, staged_before);
    }
    staged_before = staged;
    std::vector<int> crossings;  // the device that each transfer goes to
    for (const Segment& segment : plan.segments()) {
      for (const Transfer& transfer : segment.transfers) crossings.push_back(transfer.to);
    }
    EXPECT_TRUE(std::ranges::count(crossings, 0) >= 2 && std::ranges::count(crossings, 1) >= 2);
    for (int step = 0; step < in_flight; ++step) {
      ASSERT_TRUE((*run)->set_inputs(leaves));
      ASSERT_TRUE(plan.run());
    }

    const auto calls = [&] { return allocations.load() + a.allocations() + b.allocations(); };
    EXPECT_GT(a.allocations(), 0U);  // it does count
    EXPECT_GT(b.allocations(), 0U);
    Status status;
    const std::size_t before = calls();
    std::uint64_t last = 0;
    for (int step = 0; status && step < 12; ++step) {
      status =
          plan.set_dynamic_dim(*tokens, std::array{1, 0, 5, 9}[static_cast<std::size_t>(step % 4)]);
      if (!status || !plan.input(*x)) break;
      const auto started = plan.start();
      if (!started) break;
      last = *started;
      if (step % 3 == 2) status = plan.wait(last);
    }
    const Status waited = plan.wait(last);
    const std::size_t after = calls();
    ASSERT_TRUE(status) << status.error().message();
    ASSERT_TRUE(waited) << waited.error().message();
    EXPECT_EQ(last, static_cast<std::uint64_t>(in_flight) + 11) << "that many have been started";
    EXPECT_EQ(after - before, 0U) << "way " << way;
    EXPECT_LT(nmse(*(*run)->output(y->id), (*expected)[y->id]), 1e-6);  // the last had 9 tokens
  }
}

TEST(Plan, FindingTheSelectedExpertsAllocatesNothing) {
  GraphBuilder g;
  const auto w = g.weight("w", *make_tensor(DType::kF32, {4, 2, 64}), Role::kExpertWeight);
  const auto x = g.input("x", *make_tensor(DType::kF32, {4, 1, 10}));
  const auto ids = g.input("ids", *make_tensor(DType::kI32, {3, 10}));
  ASSERT_TRUE(g.output(matmul_id(g, w, x, ids), "y"));
  const auto graph = std::move(g).build();
  ASSERT_TRUE(graph);
  GatheredSlices slices(*graph, w->id, {.ids = ids->id, .dim = 2});
  std::array<std::int32_t, 30> numbers = {};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<std::int32_t>(i * 2);  // no two are neighbours: as many as can be
  }
  const auto* const bytes = reinterpret_cast<const std::byte*>(numbers.data());
  const std::size_t before = allocations.load();
  const Status status = slices.find(bytes, graph->max_dynamic_dims());
  const std::size_t after = allocations.load();
  ASSERT_TRUE(status) << status.error().message();
  EXPECT_EQ(slices.runs().size(), 30U);
  EXPECT_EQ(after - before, 0U);
}

/// Bytes that are asked for to compile attention and to run it once.
std::size_t bytes_of_attention(std::span<Device* const> devices, std::int64_t queries,
                               std::int64_t keys, std::int64_t heads) {
  constexpr std::int64_t kSize = 8;
  GraphBuilder g;
  const auto q = g.input("q", *make_tensor(DType::kF32, {kSize, heads, queries}));
  const auto k = g.input("k", *make_tensor(DType::kF32, {kSize, heads, keys}));
  const auto v = g.input("v", *make_tensor(DType::kF32, {kSize, heads, keys}));
  const auto y = attention(g, q, k, v);
  EXPECT_TRUE(g.output(y, "y"));
  const auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  std::map<NodeId, RefTensor> leaves;
  for (const auto& leaf : {q, k, v}) {
    leaves[leaf->id] = make_values({.sizes = max_sizes(graph->node(leaf->id).result.shape)}, 1);
  }
  // Of values that are all the same, the weighted mean is that.
  leaves[v->id].data.assign(leaves[v->id].data.size(), 1.0);
  const std::size_t before = bytes_asked.load();
  auto run = GraphRun::create(graph, devices, leaves);
  EXPECT_TRUE(run) << run.error().message();
  EXPECT_TRUE((*run)->plan().run());
  const std::size_t asked = bytes_asked.load() - before;
  const auto values = (*run)->output(y->id);
  EXPECT_TRUE(values);
  for (const double value : values->data) EXPECT_NEAR(value, 1, 1e-5);
  return asked;
}

TEST(Attention, NeedsNoMemoryForAllScores) {
  Options options;
  options.threads = 2;
  auto registry = Registry::create(options);
  ASSERT_TRUE(registry);
  const auto devices = (*registry)->select({});
  if (!devices || devices->empty()) GTEST_SKIP() << "there is no CPU backend in this build";
  constexpr std::int64_t kHeads = 2;
  bytes_of_attention(*devices, 16, 16, kHeads);  // memory that threads keep from run to run
  // Few queries, whose keys threads share, and many.
  for (const auto& [queries, keys] : {std::pair(8, 65536), std::pair(256, 2048)}) {
    const std::size_t asked = bytes_of_attention(*devices, queries, keys, kHeads);
    const std::size_t twice = bytes_of_attention(*devices, 2 * queries, keys, kHeads);
    const auto scores = static_cast<std::size_t>(queries * keys * kHeads) * sizeof(float);
    EXPECT_GT(asked, 0U);
    // As many scores more: they would be this much, and half of it if they were F16.
    EXPECT_LT(twice, asked + scores / 4) << queries << " queries, " << keys << " keys";
  }
}

}  // namespace
}  // namespace shunt::test::allocation_test
