// Bindings that run on the host, and programs that hold nothing but the prepared data.
#include "backend_support/host_binding.h"

#include <gtest/gtest.h>

namespace shunt::test::backend_support_host_binding_test {
namespace {

struct Prepared {
  Needs needs;
  int value = 0;
};

/// Counts its runs, and fails with a cancelled one. Needs scratch.
class CountingBinding final : public HostBinding {
 public:
  explicit CountingBinding(const Prepared& prepared) : prepared_(prepared) {}
  Status bind(const Addresses& addresses) {
    if (addresses.scratch) return ok();
    return fail(ErrorCode::kInternal, "no scratch for {}", prepared_.value);
  }
  Status run(const RunArgs& args) override {
    ++runs;
    if (args.cancel != nullptr && *args.cancel) return fail(ErrorCode::kCancelled, "cancelled");
    return ok();
  }
  int runs = 0;

 private:
  const Prepared& prepared_;
};

class HostBindingTest : public testing::Test {
 protected:
  Result<std::unique_ptr<Binding>> bind(bool with_scratch) {
    return program_.bind({{}, with_scratch ? Address{scratch_.get(), 0} : Address{}});
  }
  PreparedProgram<CountingBinding, Prepared> program_{Prepared{{{}, {}, 77}, 5}};
  std::unique_ptr<Buffer> scratch_ = *host_memory().allocate(77);
};

TEST_F(HostBindingTest, ProgramReportsItsNeeds) {
  EXPECT_EQ(program_.needs().scratch_bytes, 77U);
}

TEST_F(HostBindingTest, BindErrorIsReturned) {
  const auto binding = bind(false);
  ASSERT_FALSE(binding);
  EXPECT_EQ(binding.error().message(), "no scratch for 5");
}

TEST_F(HostBindingTest, StreamRunIsSynchronous) {
  const auto binding = bind(true);
  ASSERT_TRUE(binding) << binding.error().message();
  auto& counting = static_cast<CountingBinding&>(**binding);
  HostStream stream;
  const DynamicDimValues dynamic_dims = {};
  EXPECT_TRUE(stream.run(counting, {dynamic_dims}, {}, nullptr));
  EXPECT_EQ(counting.runs, 1);
  EXPECT_TRUE(run(counting, {dynamic_dims}));
  const std::atomic<bool> cancel = true;
  const auto event = *stream.create_event();
  EXPECT_FALSE(stream.run(counting, {dynamic_dims, &cancel}, {}, event.get()));
  EXPECT_EQ(event->wait().error().code(), ErrorCode::kCancelled);
  EXPECT_EQ(counting.runs, 3);
}

}  // namespace
}  // namespace shunt::test::backend_support_host_binding_test
