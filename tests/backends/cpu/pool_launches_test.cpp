// Launches that threads share, and those that the caller does alone, in the order that memory
// wants.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <set>
#include <thread>

#include "backends/cpu/program.h"
#include "shunt/ops/unary.h"

namespace shunt::cpu::pool_launches_test {
namespace {

/// Runs a function of the test, with a given number of items.
class Told final : public CpuKernel {
 public:
  using Work = std::function<void(std::int64_t begin, std::int64_t end)>;
  Told(const Op& op, std::int64_t items, Work work)
      : op_(op), items_(items), work_(std::move(work)) {}
  const Op& op() const override { return op_; }
  Support supports(const NodeView&, const CpuTarget&) const override { return Support::yes(); }
  std::int64_t items(const Call&, int) const override { return items_; }
  Fault run(const Call&, int, std::int64_t begin, std::int64_t end, std::byte*) const override {
    work_(begin, end);
    return Fault::kNone;
  }

 private:
  const Op& op_;
  std::int64_t items_;
  Work work_;
};

/// Runs the graph's nodes with these kernels, `repeats` times.
void run_with(const Graph& graph, std::span<const CpuKernel* const> kernels, Pool& pool,
              int repeats) {
  const Table table(std::vector{[&] { return KernelList(kernels); }});
  const auto memory = host_memory().allocate(64 * graph.size());
  ASSERT_TRUE(memory);
  std::vector<NodeId> nodes;
  std::vector<Address> addresses;
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (!graph.node(id).is_leaf()) nodes.push_back(id);
    addresses.push_back({memory->get(), 64 * addresses.size()});
  }
  const std::unique_ptr<bool[]> kept(new bool[graph.size()]());
  const auto program = prepare({graph, nodes, {kept.get(), graph.size()}}, table, {}, pool);
  ASSERT_TRUE(program) << program.error().message();
  const auto binding = (*program)->bind({addresses, {}});
  ASSERT_TRUE(binding) << binding.error().message();
  for (int i = 0; i < repeats; ++i) {
    ASSERT_TRUE(run(**binding, {.dynamic_dims = graph.max_dynamic_dims()}));
  }
}

TEST(PoolLaunches, LaunchByTheCallerAloneIsABarrierForAllWorkers) {
  const auto pool = Pool::create(2);
  ASSERT_TRUE(pool);
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {4}));
  const auto first = silu(g, x);      // shared: one item is done late
  const auto alone = neg(g, first);   // waits for it
  const auto second = abs(g, first);  // shared: nothing between it and the one before
  ASSERT_TRUE(g.output(alone, "alone"));
  ASSERT_TRUE(g.output(second, "second"));
  const Result<Graph> graph = std::move(g).build();
  ASSERT_TRUE(graph);
  std::atomic<bool> other{false};
  std::atomic<bool> late{false};
  std::atomic<int> early{0};
  const Told slow(silu_op(), 2, [&](std::int64_t begin, std::int64_t) {
    if (begin == 1) {
      other = true;
      other.notify_all();
      return;
    }
    other.wait(false);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    late = true;
  });
  const Told single(neg_op(), 1, [&](std::int64_t, std::int64_t) {
    if (!late) early.fetch_add(1);
  });
  const Told after(abs_op(), 2, [&](std::int64_t, std::int64_t) {
    if (!late) early.fetch_add(1);
  });
  const CpuKernel* kernels[] = {&slow, &single, &after};
  for (int i = 0; i < 30; ++i) {
    late = false;
    other = false;
    run_with(*graph, kernels, **pool, 1);
  }
  EXPECT_EQ(early, 0);
}

TEST(PoolLaunches, ItemsRunOnceAfterTheItemsTheyRead) {
  GraphBuilder g;
  Result<Value> x = g.input("x", *make_tensor(DType::kF32, {4}));
  for (int i = 0; i < 4; ++i) x = abs(g, neg(g, silu(g, x)));
  ASSERT_TRUE(g.output(x, "x"));
  const Result<Graph> graph = std::move(g).build();
  ASSERT_TRUE(graph);
  // 67: more threads than heads of launches, and most of them do not come in time.
  for (int threads : {1, 2, 3, 67}) {
    const auto pool = Pool::create(threads);
    ASSERT_TRUE(pool);
    for (const std::int64_t items : {0, 1, 2, 7, 100, 1000}) {
      // Shared, alone, and as many again, four times: each starts when the one before is done.
      std::atomic<std::int64_t> done{0};
      std::atomic<int> wrong{0};
      const auto counting = [&](std::int64_t before, std::int64_t mine) {
        return [&done, &wrong, before, mine, items](std::int64_t begin, std::int64_t end) {
          const std::int64_t round = done.load() % (items + 1 + items);
          if (round < before || round >= before + mine) wrong.fetch_add(1);
          if (begin >= end || end > mine) wrong.fetch_add(1);
          done.fetch_add(end - begin);
        };
      };
      const Told first(silu_op(), items, counting(0, items));
      const Told middle(neg_op(), 1, counting(items, 1));
      const Told last(abs_op(), items, counting(items + 1, items));
      const CpuKernel* kernels[] = {&first, &middle, &last};
      run_with(*graph, kernels, **pool, 5);
      EXPECT_EQ(done, 5 * 4 * (items + 1 + items)) << threads << " threads, " << items << " items";
      EXPECT_EQ(wrong, 0) << threads << " threads, " << items << " items";
    }
  }
}

TEST(PoolLaunches, LaunchOfOneChunkRunsOnTheCaller) {
  const auto pool = Pool::create(3);
  ASSERT_TRUE(pool);
  GraphBuilder g;
  const auto y = neg(g, silu(g, g.input("x", *make_tensor(DType::kF32, {4}))));
  ASSERT_TRUE(g.output(y, "y"));
  const Result<Graph> graph = std::move(g).build();
  ASSERT_TRUE(graph);
  std::atomic<int> elsewhere{0};
  const auto caller = std::this_thread::get_id();
  const auto work = [&](std::int64_t, std::int64_t) {
    if (std::this_thread::get_id() != caller) elsewhere.fetch_add(1);
  };
  const Told first(silu_op(), 1, work);
  const Told second(neg_op(), 1, work);
  const CpuKernel* kernels[] = {&first, &second};
  run_with(*graph, kernels, **pool, 200);
  EXPECT_EQ(elsewhere, 0);
}

}  // namespace
}  // namespace shunt::cpu::pool_launches_test
