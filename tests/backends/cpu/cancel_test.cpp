// A run that is cancelled stays cancelled, whatever becomes of the flag.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "backends/cpu/program.h"
#include "shunt/ops/unary.h"

namespace shunt::cpu::cancel_test {
namespace {

/// The first phase has three items. One item sets the flag, and another item clears it a while
/// later. The third item runs in between, or not. The second phase reads the results of the first
/// phase.
class Wavering final : public CpuKernel {
 public:
  const Op& op() const override { return silu_op(); }
  Support supports(const NodeView&, const CpuTarget&) const override { return Support::yes(); }
  int phases() const override { return 2; }
  std::int64_t items(const Call&, int phase) const override { return phase == 0 ? 3 : 1; }
  Fault run(const Call&, int phase, std::int64_t begin, std::int64_t, std::byte*) const override {
    if (phase == 1) {
      read = true;
    } else if (begin == 0) {
      second.wait(false);
      cancel = true;
      set = true;
      set.notify_all();
    } else if (begin == 1) {
      second = true;
      second.notify_all();
      set.wait(false);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      cancel = false;
    } else {
      third = true;
    }
    return Fault::kNone;
  }

  mutable std::atomic<bool> cancel{false};
  mutable std::atomic<bool> second{false};
  mutable std::atomic<bool> set{false};
  mutable std::atomic<bool> third{false};
  mutable std::atomic<bool> read{false};
};

TEST(Cancel, CancelledRunStaysCancelledIfTheFlagIsReset) {
  const auto pool = Pool::create(2);
  ASSERT_TRUE(pool) << pool.error().message();
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {4}));
  const auto y = silu(g, x);
  ASSERT_TRUE(g.output(y, "y"));
  const Result<Graph> graph = std::move(g).build();
  ASSERT_TRUE(graph);
  const bool kept[] = {true, true};
  const auto memory = host_memory().allocate(64);
  ASSERT_TRUE(memory);
  const Address addresses[] = {{memory->get(), 0}, {memory->get(), 16}};
  for (int repeat = 0; repeat < 3; ++repeat) {
    const Wavering kernel;
    const CpuKernel* kernels[] = {&kernel};
    const Table table(std::vector{[&] { return KernelList(kernels); }});
    auto program = prepare({*graph, {&y->id, 1}, kept}, table, {}, **pool);
    ASSERT_TRUE(program) << program.error().message();
    auto binding = (*program)->bind({addresses, {}});
    ASSERT_TRUE(binding) << binding.error().message();
    const Status ran =
        run(**binding, {.dynamic_dims = graph->max_dynamic_dims(), .cancel = &kernel.cancel});
    // Where the third item came too late to see the flag there was nothing to cancel.
    EXPECT_EQ(static_cast<bool>(ran), kernel.third);
    EXPECT_EQ(kernel.read, kernel.third) << "the second phase reads what was left out";
    if (!ran) {
      EXPECT_EQ(ran.error().code(), ErrorCode::kCancelled);
    }
  }
}

}  // namespace
}  // namespace shunt::cpu::cancel_test
