// Small graphs computed by plain reference, for tests that know the result by hand.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <vector>

#include "graph/reference.h"
#include "shunt/ops.h"

namespace shunt {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Leaf {
  DType dtype = DType::kF32;
  Sizes sizes = {1, 1, 1, 1};
  std::vector<double> data;
};

inline Shape shape_of(const Sizes& sizes) {
  return {Dim(sizes[0]), Dim(sizes[1]), Dim(sizes[2]), Dim(sizes[3])};
}

using Values = std::vector<Result<Value>>;
using BuildFunction = std::function<Result<Value>(GraphBuilder&, const Values&)>;

/// All values of the graph that `build` makes of the leaves, which come first; its result is the
/// last.
inline std::vector<RefTensor> evaluate_all(const std::vector<Leaf>& leaves,
                                           const BuildFunction& build) {
  GraphBuilder g;
  Values values;
  std::vector<RefTensor> data;
  for (const Leaf& leaf : leaves) {
    values.push_back(g.cache("", *make_tensor(leaf.dtype, shape_of(leaf.sizes))));
    data.emplace_back(leaf.sizes).data = leaf.data;
  }
  const Result<Value> result = build(g, values);
  EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().message());
  const Status marked = g.output(result, "result");
  const Result<Graph> graph = std::move(g).build();
  if (!marked || !graph) return {};
  const auto all = reference_run(*graph, data);
  EXPECT_TRUE(all.has_value()) << (all ? "" : all.error().message());
  return all ? *all : std::vector<RefTensor>();
}

inline RefTensor evaluate(const std::vector<Leaf>& leaves, const BuildFunction& build) {
  const std::vector<RefTensor> all = evaluate_all(leaves, build);
  return all.empty() ? RefTensor() : all.back();
}

/// Element by element, within `error` of a difference.
inline auto is_near(const std::vector<double>& expected, double error = 1e-6) {
  return ::testing::Pointwise(::testing::DoubleNear(error), expected);
}

}  // namespace shunt
