// Numbers where functions are special, on the CPU, element by element against the reference: halves
// between integers, tiny and huge numbers, infinities, not-a-number.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/list.h"
#include "shunt/ops.h"
#include "shunt/registry.h"
#include "support/graph_run.h"

namespace shunt::test::ends_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

RefTensor row(std::vector<double> data) {
  RefTensor x(Sizes{static_cast<std::int64_t>(data.size()), 1, 1, 1});
  x.data = std::move(data);
  return x;
}

/// Close, though exp may have had a rounded number far below 0; subnormal numbers apart.
bool agree(double got, double expected) {
  if (std::isnan(expected)) return std::isnan(got);
  const double rounded = static_cast<float>(expected);
  if (std::isinf(rounded)) return got == rounded;
  const double least = std::numeric_limits<float>::min();
  return std::abs(got - expected) <= std::max(1e-5 * std::abs(expected), least);
}

/// Runs an op of one F32 source on the CPU.
void check(const Op& op, const Params& params, const RefTensor& x) {
  auto registry = Registry::create({});
  ASSERT_TRUE(registry);
  const auto devices = (*registry)->select({});
  if (!devices || devices->empty()) GTEST_SKIP() << "there is no CPU backend in this build";
  GraphBuilder g;
  const Sizes& s = x.sizes;
  const auto in = g.input("x", *make_tensor(DType::kF32, {s[0], s[1], s[2], s[3]}));
  const auto out = g.apply(op, params, {&in});
  ASSERT_TRUE(g.output(out, "y"));
  auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  auto run = GraphRun::create(graph, *devices, {{in->id, x}});
  ASSERT_TRUE(run) << run.error().message();
  ASSERT_TRUE((*run)->plan().run());
  const auto y = (*run)->output(out->id);
  ASSERT_TRUE(y);
  RefTensor expected(y->sizes);
  const RefTensor* const sources[] = {&x};
  op.reference(sources, params, expected);
  for (std::size_t i = 0; i < expected.data.size(); ++i) {
    EXPECT_TRUE(agree(y->data[i], expected.data[i]))
        << op.info().name << ": element " << i << " is " << y->data[i] << ", not "
        << expected.data[i];
  }
}

TEST(Ends, UnaryOpsMatchTheReferenceAtSpecialValues) {
  std::vector<double> values = {0, -0.0, kNan};
  for (const double size : {0.5, 1.0, 1.5, 2.5, 3.0, 3.5, 1e-30, 1e-20, 1e-6, 0.01, 5.0, 9.0, 20.0,
                            85.0, 1e4, 1e30, kInfinity}) {
    for (const double value : {size, -size}) values.push_back(static_cast<float>(value));
  }
  for (const Op* op : all_ops()) {
    if (op->info().family != "unary" || !op->describe_defaults().empty()) continue;
    check(*op, Params::of(NoParams{}), row(values));
  }
  check(leaky_relu_op(), Params::of(LeakyReluParams{-2}), row(values));
  check(clamp_op(), Params::of(ClampParams{-1.0F, std::numeric_limits<float>::infinity()}),
        row(values));
}

TEST(Ends, SortsMatchTheReferenceAtSpecialValues) {
  const RefTensor x = row({kNan, 3, -kInfinity, 0.0, -0.0, kNan, kInfinity, -3, 3, kInfinity});
  check(argsort_op(), Params::of(ArgsortParams{SortOrder::kAscending}), x);
  check(argsort_op(), Params::of(ArgsortParams{SortOrder::kDescending}), x);
  for (std::int64_t k = 1; k <= 10; ++k) check(top_k_op(), Params::of(TopKParams{k}), x);
}

TEST(Ends, PoolingMatchesTheReferenceAtSpecialValues) {
  const RefTensor x = row({kNan, 3, -kInfinity, -kInfinity, 0.0, 1, kNan, kInfinity, -3, 3});
  for (const Pooling pooling : {Pooling::kMax, Pooling::kAverage}) {
    check(pool_2d_op(), Params::of(Pool2dParams{pooling, {2, 1}, {1, 1}, {1, 0}}), x);
    check(pool_1d_op(), Params::of(Pool1dParams{pooling, 2, 1, 1}), x);
    // Far larger than the image.
    const std::int64_t huge = 0x7fffffff;
    check(pool_2d_op(),
          Params::of(Pool2dParams{pooling, {huge, huge}, {huge, huge}, {huge - 10, huge / 2}}),
          row({1, 2, 3}));
    check(pool_1d_op(), Params::of(Pool1dParams{pooling, huge, huge, huge - 10}), row({1, 2, 3}));
  }
}

}  // namespace
}  // namespace shunt::test::ends_test
