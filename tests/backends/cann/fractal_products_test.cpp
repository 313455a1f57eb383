// Products with weights of F16 in FRACTAL_NZ, on a 310P, compared with the plain reference.
#include <gmock/gmock.h>

#include "backends/cann/cann_devices.h"
#include "support/graph_run.h"
#include "support/networks.h"

namespace shunt::test::fractal_products_test {
namespace {

using testing::HasSubstr;

struct Product {
  std::int64_t k = 64, m = 48;
  Shape x = {64, 3};
  DType type = DType::kF16;
};

Network product_of(const Product& each) {
  GraphBuilder g;
  const auto w = g.weight("w", *make_tensor(each.type, {each.k, each.m}));
  const auto x = g.input("x", *make_tensor(DType::kF32, each.x));
  EXPECT_TRUE(g.output(matmul(g, w, x), "y"));
  return with_values(std::move(g).build());
}

class FractalProducts : public CannDevices {
 protected:
  void SetUp() override {
    CannDevices::SetUp();
    if (IsSkipped()) return;
    reopen({{"PROFILE", "310p"}, {"STRICT", "abort"}, {"ORDER", "lazy"}}, with("nz", "on"));
  }
  BufferType* memory_of_weight(const Network& network) {
    return chosen_memory(device(), *network.graph, 0);
  }
  /// Computes it with the weights as loading places them.
  void expect_right(const Network& network) {
    const auto run = GraphRun::create(
        network.graph, devices(), network.leaves,
        {.by_ability = true, .weight_memory = [&](Device& of, const Graph& graph, NodeId leaf) {
           return &of == &device() ? chosen_memory(of, graph, leaf) : nullptr;
         }});
    ASSERT_TRUE(run) << run.error().message();
    EXPECT_EQ((*run)->plan().segments().front().device, 0U);
    for (int i = 0; i < 2; ++i) {
      const Status status = (*run)->plan().run();
      ASSERT_TRUE(status) << status.error().message();
      EXPECT_LT(reference_error(**run, network), 5e-7);  // factors are F16
    }
  }
};

TEST_F(FractalProducts, MultiplyWeightsInFractalNz) {
  for (const Product& each :
       {Product{}, Product{.m = 16, .x = {64, 1}}, Product{.k = 16, .m = 16, .x = {16, 2, 3, 2}},
        Product{.k = 16, .m = 64, .x = {16, 5}}}) {
    SCOPED_TRACE(std::to_string(each.k) + " x " + std::to_string(each.m));
    const Network network = product_of(each);
    const BufferType* const memory = memory_of_weight(network);
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(memory->name(), "cann0 fractals");
    expect_right(network);
  }
}

TEST_F(FractalProducts, OnlyMatricesOfF16AreInIt) {
  EXPECT_EQ(memory_of_weight(product_of({.type = DType::kF32})), nullptr);
  EXPECT_EQ(memory_of_weight(product_of({.m = 40})), nullptr);
  EXPECT_EQ(memory_of_weight(product_of({.k = 72, .x = {72, 3}})), nullptr);
}

/// The vendor's sources round such results to F16.
TEST_F(FractalProducts, ResultsMayBeF16) {
  const Network network = product_of({});
  const NodeId y = network.graph->outputs()[0];
  std::vector<const BufferType*> kinds(network.graph->size(), nullptr);
  const double plain = device().rounding_error(*network.graph, y, kinds);
  kinds[0] = memory_of_weight(network);
  EXPECT_GT(device().rounding_error(*network.graph, y, kinds), plain);
}

TEST_F(FractalProducts, WithoutTheOptionWeightsAreKeptPlain) {
  reopen({{"PROFILE", "310p"}});
  const Network network = product_of({});
  EXPECT_EQ(memory_of_weight(network), nullptr);
  expect_right(network);
}

TEST_F(FractalProducts, OtherChipsKeepWeightsPlain) {
  for (const char* profile : {"910b", "310b"}) {
    reopen({{"PROFILE", profile}}, with("nz", "on"));
    EXPECT_EQ(memory_of_weight(product_of({})), nullptr) << profile;
  }
}

TEST_F(FractalProducts, WeightsThatAreReadThroughAViewAreKeptPlain) {
  GraphBuilder g;
  const auto w = g.weight("w", *make_tensor(DType::kF16, {64, 48}));
  const auto x = g.input("x", *make_tensor(DType::kF32, {32, 3}));
  EXPECT_TRUE(g.output(matmul(g, reshape(g, w, {32, 96}), x), "y"));
  const auto graph = std::move(g).build();
  ASSERT_TRUE(graph) << graph.error().message();
  EXPECT_EQ(chosen_memory(device(), *graph, w->id), nullptr);
}

/// As of an embedding that is the output's matrix, too.
TEST_F(FractalProducts, OtherReadersOfTheWeightKeepItPlain) {
  GraphBuilder g;
  const auto w = g.weight("w", *make_tensor(DType::kF16, {64, 48}));
  const auto ids = g.input("ids", *make_tensor(DType::kI32, {3}));
  const auto rows = get_rows(g, w, ids);
  EXPECT_TRUE(g.output(matmul(g, w, rows), "y"));
  auto built = std::move(g).build();
  ASSERT_TRUE(built) << built.error().message();
  const Graph& graph = *built;
  EXPECT_EQ(chosen_memory(device(), graph, w->id), nullptr);
  const auto forms = device().weight_forms(graph, w->id);
  ASSERT_EQ(forms.size(), 1U);
  EXPECT_FALSE(forms[0].lossy);
  EXPECT_TRUE(device().can_read(*forms[0].memory));
  std::vector<const BufferType*> kinds(graph.size(), nullptr);
  kinds[w->id] = forms[0].memory;
  const Support answer = device().supports(graph, rows->id, kinds);
  EXPECT_EQ(answer.refusal(), Refusal::kLayout);
  EXPECT_THAT(answer.facts(), HasSubstr("it can't read source 0 in cann0 fractals memory"));
}

}  // namespace
}  // namespace shunt::test::fractal_products_test
