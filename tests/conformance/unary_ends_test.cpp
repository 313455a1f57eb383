// Functions of each element where they are special, on the CPU, element by element against the
// reference: halves between integers, tiny and huge numbers, infinities, not-a-number.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/list.h"
#include "shunt/registry.h"
#include "support/graph_run.h"

namespace shunt::test {
namespace {

/// Close, though exp may have had a rounded number far below 0; subnormal numbers apart.
bool agree(double got, double expected) {
  if (std::isnan(expected)) return std::isnan(got);
  const double rounded = static_cast<float>(expected);
  if (std::isinf(rounded)) return got == rounded;
  const double least = std::numeric_limits<float>::min();
  return std::abs(got - expected) <= std::max(1e-5 * std::abs(expected), least);
}

TEST(UnaryEnds, AreThoseOfTheReference) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  RefTensor x(Sizes{37, 1, 1, 1});
  x.data = {0, -0.0, std::numeric_limits<double>::quiet_NaN()};
  for (const double size : {0.5, 1.0, 1.5, 2.5, 3.0, 3.5, 1e-30, 1e-20, 1e-6, 0.01, 5.0, 9.0, 20.0,
                            85.0, 1e4, 1e30, kInfinity}) {
    for (const double value : {size, -size}) x.data.push_back(static_cast<float>(value));
  }
  ASSERT_EQ(x.data.size(), 37U);
  auto registry = Registry::create({});
  ASSERT_TRUE(registry);
  const auto devices = (*registry)->select({});
  if (!devices || devices->empty()) GTEST_SKIP() << "there is no CPU backend in this build";
  for (const Op* op : all_ops()) {
    if (op->info().family != "unary" || !op->describe_defaults().empty()) continue;
    GraphBuilder g;
    const auto in = g.input("x", *make_tensor(DType::kF32, {37}));
    const auto out = g.apply(*op, Params::of(NoParams{}), {&in});
    ASSERT_TRUE(g.output(out, "y"));
    auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
    auto run = GraphRun::create(graph, *devices, {{in->id, x}});
    ASSERT_TRUE(run) << run.error().message();
    ASSERT_TRUE((*run)->plan().run());
    const auto y = (*run)->output(out->id);
    ASSERT_TRUE(y);
    RefTensor expected(x.sizes);
    const RefTensor* const sources[] = {&x};
    op->reference(sources, Params::of(NoParams{}), expected);
    for (std::size_t i = 0; i < x.data.size(); ++i) {
      EXPECT_TRUE(agree(y->data[i], expected.data[i]))
          << op->info().name << "(" << x.data[i] << ") is " << y->data[i] << ", not "
          << expected.data[i];
    }
  }
}

}  // namespace
}  // namespace shunt::test
