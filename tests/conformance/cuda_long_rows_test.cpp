// Rows that are longer than the parts that CUDA kernels take by themselves: of sorts, of sums.
#include <gtest/gtest.h>

#include <limits>

#include "shunt/ops.h"
#include "shunt/registry.h"
#include "support/cuda_twin.h"
#include "support/graph_run.h"
#include "support/tensor_io.h"

namespace shunt::test::cuda_long_rows_test {
namespace {

class CudaLongRows : public testing::Test {
 protected:
  void SetUp() override {
    if (!twin_.there()) GTEST_SKIP() << "there is no CUDA twin in this build";
    registry_ = std::move(*Registry::create(twin_.options()));
    const auto devices = registry_->select(std::vector<std::string>{"cuda0"});
    if (!devices) GTEST_SKIP() << devices.error().message();
    devices_ = *devices;
  }

  /// Results of the device are near those of the reference, or the same.
  void expect_reference(const Op& op, const Params& params, const RefTensor& x, double max_error) {
    GraphBuilder g;
    const auto in = g.input("x", *make_tensor(DType::kF32, {x.sizes[0], x.sizes[1]}));
    const auto out = g.apply(op, params, {&in});
    ASSERT_TRUE(g.output(out, "y"));
    auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
    ASSERT_TRUE(devices_.front()->supports(*graph, out->id));
    auto run = GraphRun::create(graph, devices_, {{in->id, x}}, {.by_ability = true});
    ASSERT_TRUE(run) << run.error().message();
    const Status status = (*run)->plan().run();
    ASSERT_TRUE(status) << status.error().message();
    const auto y = (*run)->output(out->id);
    ASSERT_TRUE(y);
    RefTensor expected(y->sizes);
    const RefTensor* const sources[] = {&x};
    op.reference(sources, params, expected);
    const std::string text = op.describe(params) + " of " + std::to_string(x.sizes[0]);
    if (max_error == 0) {
      EXPECT_TRUE(y->data == expected.data) << text;
    } else {
      EXPECT_LT(nmse(*y, expected), max_error) << text;
    }
    EXPECT_TRUE(twin_.findings().empty()) << text;
  }

  CudaTwin twin_;
  std::unique_ptr<Registry> registry_;
  std::vector<Device*> devices_;
};

/// Rows of few different numbers and some that are none.
RefTensor rows_with_equals(std::int64_t length) {
  RefTensor x(Sizes{length, 2, 1, 1});
  for (std::size_t i = 0; i < x.data.size(); ++i) {
    x.data[i] = static_cast<double>(i * 7919 % 101) - 50;
    if (i % 97 == 0) x.data[i] = std::numeric_limits<double>::quiet_NaN();
    if (i % 89 == 0) x.data[i] = -std::numeric_limits<double>::infinity();
    if (i % 83 == 0) x.data[i] = -0.0;
  }
  return x;
}

TEST_F(CudaLongRows, ArgsortKeepsTheOrderOfEquals) {
  for (const std::int64_t length : {2047, 2048, 2049, 4097, 5000}) {
    const RefTensor x = rows_with_equals(length);
    for (const SortOrder order : {SortOrder::kAscending, SortOrder::kDescending})
      expect_reference(argsort_op(), Params::of(ArgsortParams{order}), x, 0);
  }
}

TEST_F(CudaLongRows, TopKHasTheFirstOnes) {
  const RefTensor x = rows_with_equals(5000);
  for (const std::int64_t k : {1, 40, 2049})
    expect_reference(top_k_op(), Params::of(TopKParams{k}), x, 0);
}

TEST_F(CudaLongRows, AreSummed) {
  for (const std::int64_t length : {2049, 5000, 70000}) {
    const RefTensor x = make_values({.sizes = {length, 2, 1, 1}}, 1);
    for (const Op* op : {&cumsum_op(), &sum_op(), &sum_rows_op(), &mean_op()})
      expect_reference(*op, Params::of(NoParams{}), x, 1e-9);
    expect_reference(argmax_op(), Params::of(NoParams{}), x, 0);
  }
}

}  // namespace
}  // namespace shunt::test::cuda_long_rows_test
