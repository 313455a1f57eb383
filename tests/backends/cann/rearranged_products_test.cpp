// Products with rearranged weights, on the chips that have them, compared with the plain reference.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "graph/reference.h"
#include "shunt/ops.h"
#include "shunt/registry.h"
#include "support/ascend_twin.h"
#include "support/graph_run.h"
#include "support/tensor_io.h"

namespace shunt::test::rearranged_products_test {
namespace {

using testing::HasSubstr;

/// Of factors and results in F16, in sums of few numbers.
constexpr double kError = 5e-7;

struct ChipTypes {
  const char* profile;
  std::vector<DType> types;
};
void PrintTo(const ChipTypes& chip, std::ostream* to) {
  *to << chip.profile;
}

class RearrangedProducts : public testing::TestWithParam<ChipTypes> {
 protected:
  void SetUp() override {
    if (!twin_.there()) GTEST_SKIP() << "there is no twin of CANN in this build";
    twin_.set("PROFILE", GetParam().profile);
    twin_.set("STRICT", "abort");
    twin_.set("ORDER", "lazy");
    auto registry = Registry::create(twin_.options());
    ASSERT_TRUE(registry) << registry.error().message();
    registry_ = std::move(*registry);
    for (const char* name : {"cann0", "cpu0"}) {
      const auto device = registry_->find(name);
      ASSERT_TRUE(device) << device.error().message();
      devices_.push_back(*device);
    }
  }
  Device& cann() { return *devices_.front(); }

  static std::shared_ptr<const Graph> built(GraphBuilder&& g) {
    auto graph = std::move(g).build();
    EXPECT_TRUE(graph) << graph.error().message();
    return std::make_shared<const Graph>(std::move(*graph));
  }

  struct Prepared {
    std::unique_ptr<GraphRun> run;
    RefTensor expected;
  };
  /// With the weights as loading places them. Leaves that are not given have random values.
  Result<Prepared> prepare(const std::shared_ptr<const Graph>& graph,
                           std::map<NodeId, RefTensor> leaves) {
    std::vector<RefTensor> by_node(graph->size());
    for (NodeId id = 0; id < graph->size(); ++id) {
      const Tensor& tensor = graph->node(id).result;
      if (!graph->node(id).is_leaf()) continue;
      if (!leaves.contains(id))
        leaves[id] = make_values({.dtype = tensor.dtype, .sizes = max_sizes(tensor.shape)}, id);
      by_node[id] = rounded(leaves[id], tensor.dtype);
    }
    Prepared made;
    SHUNT_ASSIGN(auto expected, reference_run(*graph, by_node));
    made.expected = std::move(expected[graph->outputs()[0]]);
    SHUNT_ASSIGN(
        made.run,
        GraphRun::create(graph, devices_, leaves,
                         {.by_ability = true,
                          .weight_memory = [&](Device& device, const Graph& of, NodeId leaf) {
                            return &device == &cann() ? chosen_memory(device, of, leaf) : nullptr;
                          }}));
    return made;
  }

  /// Runs it. The output is the start of the expected one.
  static void expect_run(const Graph& graph, const Prepared& prepared) {
    Plan& plan = prepared.run->plan();
    const Status status = plan.run();
    ASSERT_TRUE(status) << status.error().message();
    const auto got = prepared.run->output(graph.outputs()[0], plan.dynamic_dims());
    ASSERT_TRUE(got) << got.error().message();
    RefTensor expected(got->sizes);
    std::copy_n(prepared.expected.data.begin(), expected.data.size(), expected.data.begin());
    EXPECT_LT(nmse(*got, expected), kError);
  }

  void expect_right(const std::shared_ptr<const Graph>& graph,
                    std::map<NodeId, RefTensor> leaves = {}) {
    const auto prepared = prepare(graph, std::move(leaves));
    ASSERT_TRUE(prepared) << prepared.error().message();
    const std::uint64_t before = twin_.calls(kProduct);
    for (int i = 0; i < 2; ++i) expect_run(*graph, *prepared);
    launches_ = twin_.calls(kProduct) - before;
  }

  /// Some experts more often than others.
  static RefTensor chosen_experts(std::int64_t experts, const Sizes& sizes) {
    RefTensor chosen(sizes);
    for (std::size_t i = 0; i < chosen.data.size(); ++i)
      chosen.data[i] = static_cast<double>(i * 7 % static_cast<std::size_t>(experts));
    return chosen;
  }

  void expect_product(DType type, std::int64_t k, std::int64_t m, const Shape& x_shape) {
    SCOPED_TRACE(std::string(to_string(type)) + " " + std::to_string(k) + " x " +
                 std::to_string(m));
    GraphBuilder g;
    const auto w = g.weight("w", *make_tensor(type, {k, m}));
    const auto x = g.input("x", *make_tensor(DType::kF32, x_shape));
    ASSERT_TRUE(g.output(matmul(g, w, x), "y"));
    const auto graph = built(std::move(g));
    EXPECT_NE(chosen_memory(cann(), *graph, w->id), nullptr);
    expect_right(graph);
  }

  void expect_experts(DType type, std::int64_t experts, std::int64_t used, std::int64_t tokens) {
    SCOPED_TRACE(std::string(to_string(type)) + " " + std::to_string(tokens) + " tokens");
    GraphBuilder g;
    const auto w = g.weight("w", *make_tensor(type, {64, 48, experts}), Role::kExpertWeight);
    const auto x = g.input("x", *make_tensor(DType::kF32, {64, 1, tokens}));
    const auto ids = g.input("ids", *make_tensor(DType::kI32, {used, tokens}));
    ASSERT_TRUE(g.output(matmul_id(g, w, x, ids), "y"));
    const auto graph = built(std::move(g));
    EXPECT_NE(chosen_memory(cann(), *graph, w->id), nullptr);
    expect_right(graph, {{ids->id, chosen_experts(experts, {used, tokens, 1, 1})}});
  }

  static constexpr const char* kProduct = "aclnnWeightQuantBatchMatmulV2";
  static constexpr const char* kGroups = "aclnnGroupedMatmulV3";
  AscendTwin twin_;
  std::unique_ptr<Registry> registry_;
  std::vector<Device*> devices_;
  std::uint64_t launches_ = 0;  // of the vendor's product, in the last runs
};

TEST_P(RearrangedProducts, OfAMatrixUseTheVendorsProduct) {
  for (const DType type : GetParam().types) {
    expect_product(type, 128, 33, {128, 3});
    EXPECT_EQ(launches_, 2U);
    expect_product(type, 64, 7, {64, 1});
    expect_product(type, 64, 2, {64, 5, 2, 3});
  }
}

TEST_P(RearrangedProducts, OfOneBlockARowHaveAScaleForEachColumn) {
  for (const DType type : GetParam().types) expect_product(type, 32, 5, {32, 3});
}

TEST_P(RearrangedProducts, OfMoreColumnsThanTheProductTakesAreInPieces) {
  for (const DType type : GetParam().types) {
    expect_product(type, 32, 65536, {32, 1});
    EXPECT_EQ(launches_, 4U);
  }
}

TEST_P(RearrangedProducts, OfExpertsReadTheMatricesOfTheIds) {
  for (const DType type : GetParam().types) {
    expect_experts(type, 5, 2, 3);
    EXPECT_EQ(launches_, 12U) << "a product for each id";
  }
}

/// Sorted by expert, where the chip multiplies groups.
TEST_P(RearrangedProducts, OfExpertsMayHaveManyTokens) {
  for (const DType type : GetParam().types) {
    const std::uint64_t before = twin_.calls(kGroups);
    expect_experts(type, 5, 2, 40);
    EXPECT_EQ(twin_.calls(kGroups), before + 2);
  }
}

/// As of an embedding that is the output's matrix, too.
TEST_P(RearrangedProducts, OfAWeightWhoseRowsAreRead) {
  for (const DType type : GetParam().types) {
    GraphBuilder g;
    const auto w = g.weight("w", *make_tensor(type, {64, 40}));
    const auto ids = g.input("ids", *make_tensor(DType::kI32, {3}));
    ASSERT_TRUE(g.output(matmul(g, w, get_rows(g, w, ids)), "y"));
    const auto graph = built(std::move(g));
    EXPECT_NE(chosen_memory(cann(), *graph, w->id), nullptr);
    RefTensor chosen({3, 1, 1, 1});
    chosen.data = {39, 0, 17};
    expect_right(graph, {{ids->id, chosen}});
    EXPECT_EQ(launches_, 2U);
  }
}

/// One plan for few columns, which get copies of their matrices, and for many, which are sorted.
TEST_P(RearrangedProducts, OfExpertsAreRightForAnyNumberOfTokens) {
  for (const DType type : GetParam().types) {
    GraphBuilder g;
    const Dim tokens = *g.dynamic_dim("tokens", 40);
    const auto w = g.weight("w", *make_tensor(type, {64, 48, 5}), Role::kExpertWeight);
    const auto x = g.input("x", *make_tensor(DType::kF32, {64, 1, tokens}));
    const auto ids = g.input("ids", *make_tensor(DType::kI32, {2, tokens}));
    ASSERT_TRUE(g.output(matmul_id(g, w, x, ids), "y"));
    const auto graph = built(std::move(g));
    const auto prepared = prepare(graph, {{ids->id, chosen_experts(5, {2, 40, 1, 1})}});
    ASSERT_TRUE(prepared) << prepared.error().message();
    for (const std::int64_t count : {40, 1, 8, 9, 16, 33, 2}) {
      SCOPED_TRACE(count);
      ASSERT_TRUE(prepared->run->plan().set_dynamic_dim(tokens, count));
      expect_run(*graph, *prepared);
    }
  }
}

/// The first `count` of the second dimension.
RefTensor first_columns(const RefTensor& of, std::int64_t count) {
  RefTensor part({of.sizes[0], count, of.sizes[2], of.sizes[3]});
  for (std::int64_t i2 = 0; i2 < of.sizes[2]; ++i2) {
    for (std::int64_t i1 = 0; i1 < count; ++i1) {
      for (std::int64_t i0 = 0; i0 < of.sizes[0]; ++i0) part.at(i0, i1, i2) = of.at(i0, i1, i2);
    }
  }
  return part;
}

/// Below the maximum, the result's slices have gaps between them.
TEST_P(RearrangedProducts, OfSlicesAreRightForAnyNumberOfColumns) {
  for (const DType type : GetParam().types) {
    GraphBuilder g;
    const Dim columns = *g.dynamic_dim("columns", 8);
    const auto w = g.weight("w", *make_tensor(type, {64, 40}));
    const auto x = g.input("x", *make_tensor(DType::kF32, {64, columns, 2}));
    ASSERT_TRUE(g.output(matmul(g, w, x), "y"));
    const auto graph = built(std::move(g));
    std::map<NodeId, RefTensor> leaves;
    leaves[x->id] = make_values({.sizes = {64, 8, 2, 1}}, 5);
    const RefTensor all = leaves[x->id];
    const auto prepared = prepare(graph, leaves);
    ASSERT_TRUE(prepared) << prepared.error().message();
    Plan& plan = prepared->run->plan();
    for (const std::int64_t count : {8, 3, 1}) {
      SCOPED_TRACE(count);
      ASSERT_TRUE(plan.set_dynamic_dim(columns, count));
      ASSERT_TRUE(prepared->run->set_inputs({{x->id, first_columns(all, count)}}));
      const Status status = plan.run();
      ASSERT_TRUE(status) << status.error().message();
      const auto got = prepared->run->output(graph->outputs()[0], plan.dynamic_dims());
      ASSERT_TRUE(got) << got.error().message();
      EXPECT_LT(nmse(*got, first_columns(prepared->expected, count)), kError);
    }
  }
}

/// Streams, too, write and read the bytes as the file has them.
TEST_P(RearrangedProducts, WeightsAreCopiedByStreams) {
  for (const DType type : GetParam().types) {
    GraphBuilder g;
    const auto w = g.weight("w", *make_tensor(type, {64, 40}));
    const auto x = g.input("x", *make_tensor(DType::kF32, {64, 1}));
    ASSERT_TRUE(g.output(matmul(g, w, x), "y"));
    const auto graph = built(std::move(g));
    BufferType& memory = *chosen_memory(cann(), *graph, w->id);
    const PlacedTensor placed{graph->node(w->id).result, 0};
    const auto buffer = memory.allocate_for(memory.size_of(placed.tensor), {&placed, 1});
    ASSERT_TRUE(buffer) << buffer.error().message();
    const auto bytes = make_bytes({.dtype = type, .sizes = {64, 40, 1, 1}}, 7);
    const auto stream = cann().open_stream();
    ASSERT_TRUE(stream) << stream.error().message();
    const std::size_t half = bytes.size() / 2 + 1;  // within a block
    const std::span<const std::byte> plain(bytes);
    ASSERT_TRUE((*stream)->write({buffer->get(), 0}, plain.first(half), {}, nullptr));
    ASSERT_TRUE((*stream)->write({buffer->get(), half}, plain.subspan(half), {}, nullptr));
    std::vector<std::byte> back(bytes.size());
    ASSERT_TRUE((*stream)->read(back, {buffer->get(), 0}, {}, nullptr));
    const CopyShape rows = {2, 5, 5, 30};
    std::vector<std::byte> some(10);
    ASSERT_TRUE((*stream)->read_2d(some.data(), {buffer->get(), 3}, rows, {}, nullptr));
    ASSERT_TRUE((*stream)->synchronize());
    EXPECT_EQ(back, bytes);
    EXPECT_TRUE(std::ranges::equal(std::span(some).first(5), plain.subspan(3, 5)));
    EXPECT_TRUE(std::ranges::equal(std::span(some).last(5), plain.subspan(33, 5)));
  }
}

TEST_P(RearrangedProducts, OtherReadersOfTheWeightKeepItPlain) {
  GraphBuilder g;
  const auto w = g.weight("w", *make_tensor(DType::kQ8_0, {64, 64}));
  const auto x = g.input("x", *make_tensor(DType::kF32, {64, 64}));
  const auto viewed = matmul(g, reshape(g, w, {64, 32, 2}), x);
  ASSERT_TRUE(g.output(viewed, "y"));
  const auto graph = built(std::move(g));
  EXPECT_EQ(chosen_memory(cann(), *graph, w->id), nullptr);
  const auto candidates = cann().weight_forms(*graph, w->id);
  ASSERT_EQ(candidates.size(), 1U);
  EXPECT_FALSE(candidates[0].lossy);
  EXPECT_TRUE(cann().can_read(*candidates[0].memory));
  std::vector<const BufferType*> kinds(graph->size(), nullptr);
  kinds[w->id] = candidates[0].memory;
  const Support answer = cann().supports(*graph, viewed->id, kinds);
  EXPECT_EQ(answer.refusal(), Refusal::kLayout);
  EXPECT_THAT(answer.facts(), HasSubstr("it can't read source 0 in cann0 weights memory"));
}

INSTANTIATE_TEST_SUITE_P(Chips, RearrangedProducts,
                         testing::Values(ChipTypes{"910b", {DType::kQ8_0, DType::kQ4_0}},
                                         ChipTypes{"310p", {DType::kQ8_0}}),
                         [](const auto& chip) { return "of_" + std::string(chip.param.profile); });

}  // namespace
}  // namespace shunt::test::rearranged_products_test
