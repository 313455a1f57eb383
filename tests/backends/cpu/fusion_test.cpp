// What the CPU computes at once gives bit by bit what the nodes give one after the other, which an
// observer of the first makes it do. What can't be computed at once is not.
#include <gtest/gtest.h>

#include "backends/cpu/every_level.h"
#include "backends/cpu/fusion.h"
#include "shunt/ops.h"
#include "shunt/registry.h"
#include "support/graph_run.h"
#include "support/tensor_io.h"

namespace shunt::test {
namespace {

constexpr std::int64_t kN = 75;
constexpr std::int64_t kRows = 9;

/// A graph in which a norm is multiplied with something.
struct Case {
  GraphBuilder g;
  std::map<NodeId, RefTensor> leaves;
  Value norm;
  std::vector<Value> outputs;
  std::uint64_t seed = 1;

  Value leaf(Role role, DType type, const Shape& shape) {
    const Tensor tensor = *make_tensor(type, shape);
    const Value made = role == Role::kInput   ? *g.input("x", tensor)
                       : role == Role::kCache ? *g.cache("x", tensor)
                                              : *g.weight("w", tensor);
    leaves[made.id] = make_values({.dtype = type, .sizes = max_sizes(tensor.shape)}, seed++);
    return made;
  }
  Value input(DType type = DType::kF32) { return leaf(Role::kInput, type, {kN, kRows}); }
  Value scale(const Shape& shape = {kN}, DType type = DType::kF32) {
    return leaf(Role::kWeight, type, shape);
  }
  Value normed(Value x) { return norm = *rms_norm(g, x, {.eps = 1e-5F}); }
  void output(Result<Value> value) {
    ASSERT_TRUE(value) << value.error().message();
    ASSERT_TRUE(g.output(*value, "y"));
    outputs.push_back(*value);
  }
};

using Build = void (*)(Case&);

std::vector<RefTensor> compute(Build build, bool apart) {
  Case made;
  build(made);
  const auto graph = std::make_shared<const Graph>(std::move(*std::move(made.g).build()));
  const auto registry = Registry::create({});
  Device* device = (*registry)->devices().back();
  GraphRunOptions options;
  if (apart) options.observe = {&made.norm.id, 1};
  const auto run = GraphRun::create(graph, {&device, 1}, made.leaves, options);
  EXPECT_TRUE(run) << run.error().message();
  const Status ran = (*run)->plan().run();
  EXPECT_TRUE(ran) << ran.error().message();
  std::vector<RefTensor> outputs;
  for (const Value& output : made.outputs) outputs.push_back(*(*run)->output(output.id));
  return outputs;
}

/// Whether the norm is computed at once with another node. Outputs are as they are without that.
bool is_fused(Build build) {
  const auto at_once = compute(build, false);
  const auto apart = compute(build, true);
  EXPECT_EQ(at_once.size(), apart.size());
  for (std::size_t i = 0; i < at_once.size(); ++i) EXPECT_EQ(at_once[i].data, apart[i].data);

  Case made;
  build(made);
  const Graph graph = std::move(*std::move(made.g).build());
  std::vector<NodeId> nodes;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    if (!node.is_leaf() && node.op->info().storage != Storage::kView) nodes.push_back(id);
  }
  const auto kept = std::make_unique<bool[]>(graph.size());
  for (const NodeId output : graph.outputs()) kept[output] = true;
  const SegmentView segment{graph, nodes, {kept.get(), graph.size()}};
  return cpu::Fusions(segment).is_first(made.norm.id);
}

class CpuFusion : public cpu::simd::AtLevel {};

TEST_P(CpuFusion, ANormAndItsScale) {
  EXPECT_TRUE(is_fused([](Case& c) { c.output(mul(c.g, c.normed(c.input()), c.scale())); }));
}

TEST_P(CpuFusion, WhatTheNormReadsStaysUntilItIsComputed) {
  // The sum of a and b is not read after the norm: other results would take its place.
  EXPECT_TRUE(is_fused([](Case& c) {
    const Value a = c.input();
    const Value b = c.input();
    const Value norm = c.normed(*add(c.g, a, b));
    const Value other = *sub(c.g, a, b);
    const Value another = *mul(c.g, other, a);
    const Value scaled = *mul(c.g, norm, c.scale());
    c.output(add(c.g, scaled, *add(c.g, other, another)));
  }));
}

TEST_P(CpuFusion, ANormOfWhatIsWrittenToMeanwhileIsOfWhatWasThere) {
  EXPECT_FALSE(is_fused([](Case& c) {
    const Value x = c.leaf(Role::kCache, DType::kF32, {kN, kRows});
    const Value norm = c.normed(x);
    const Value rows = *c.g.input("rows", *make_tensor(DType::kI64, {2}));
    RefTensor numbers({2, 1, 1, 1});
    numbers.data = {3, 1};
    c.leaves[rows.id] = numbers;
    const Value written = *set_rows(c.g, x, c.leaf(Role::kInput, DType::kF32, {kN, 2}), rows);
    c.output(mul(c.g, norm, c.scale()));
    c.output(scale(c.g, written, {.scale = 2}));
  }));
}

TEST_P(CpuFusion, WhatSomebodyElseReadsIsInMemory) {
  EXPECT_FALSE(is_fused([](Case& c) {
    const Value norm = c.normed(c.input());
    c.output(mul(c.g, norm, c.scale()));
    c.output(neg(c.g, norm));
  }));
  EXPECT_FALSE(is_fused([](Case& c) {
    const Value norm = c.normed(c.input());
    c.output(mul(c.g, norm, c.scale()));
    c.output(neg(c.g, *reshape(c.g, norm, {kN * kRows})));
  }));
  EXPECT_FALSE(is_fused([](Case& c) {
    c.output(c.normed(c.input()));
    c.output(mul(c.g, c.norm, c.scale()));
  }));
  EXPECT_FALSE(is_fused([](Case& c) {
    const Value norm = c.normed(c.input());
    c.output(mul(c.g, norm, norm));
  }));
}

TEST_P(CpuFusion, OtherScalesAndTypesAreComputedOneByOne) {
  EXPECT_FALSE(is_fused([](Case& c) { c.output(mul(c.g, c.normed(c.input()), c.input())); }));
  EXPECT_FALSE(is_fused([](Case& c) { c.output(mul(c.g, c.normed(c.input()), c.scale({25}))); }));
  EXPECT_FALSE(is_fused([](Case& c) { c.output(mul(c.g, c.normed(c.input()), c.scale({1}))); }));
  EXPECT_FALSE(is_fused(
      [](Case& c) { c.output(mul(c.g, c.normed(c.input()), c.scale({kN}, DType::kF16))); }));
  EXPECT_FALSE(is_fused([](Case& c) {
    c.output(mul(c.g, c.normed(c.input(DType::kF16)), c.scale({kN}, DType::kF16)));
  }));
}

INSTANTIATE_TEST_SUITE_P(Levels, CpuFusion, testing::ValuesIn(cpu::simd::level_names()),
                         cpu::simd::name_of_level);

}  // namespace
}  // namespace shunt::test
