// An 8-bit product with a bias, whose columns are cut into several pieces, was tested with a bound
// of 1e-3. With a bias as small as in that test, even the bias of other columns had a smaller
// error. Tested with the bound of the roundings since 59c6de0.
#include <cmath>
#include <random>

#include "backends/zdnn/support.h"

namespace shunt::test::inexact_bias_of_8_bit_products_test {
namespace {

class ProductWithBiasIn8Bits : public ZdnnTest {};

TEST_F(ProductWithBiasIn8Bits, RoundsOnlyTheBiasAndTheResult) {
  constexpr std::int64_t kDepth = 4096;
  constexpr std::int64_t kColumns = 600;  // of which 256 have a scale: three pieces
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {kDepth, 1}));
  const auto w = g.weight("w", *make_tensor(DType::kQ8_0, {kDepth, kColumns}));
  const auto bias = g.weight("bias", *make_tensor(DType::kF32, {kColumns}));
  ASSERT_TRUE(g.output(add(g, matmul(g, w, x), bias), "y"));
  const auto graph = built(std::move(g));

  // 8 bits hold both operands exactly: integers up to 127, with a 127 in each block of Q8_0. The
  // bias is about as large as the product.
  auto leaves = values(*graph);
  std::mt19937_64 random(1);
  for (const NodeId id : {x->id, w->id}) {
    RefTensor& operand = leaves[id];
    for (std::size_t i = 0; i < operand.data.size(); ++i) {
      operand.data[i] = i % 32 == 31 ? 127 : static_cast<double>(random() % 253) - 126;
    }
  }
  for (double& b : leaves[bias->id].data) b *= 126.0 * 126 / 3 * std::sqrt(double{kDepth});

  const auto lossy = [](Device& device, const Graph& of, NodeId leaf) {
    return chosen_memory(device, of, leaf, true);
  };
  const auto run = GraphRun::create(graph, devices_, leaves, {.weight_memory = lossy});
  ASSERT_TRUE(run) << run.error().message();
  twin_->reset_counts();
  ASSERT_TRUE((*run)->plan().run());
  constexpr std::uint32_t kQuantizedMatmul = 113;
  EXPECT_EQ(twin_->calls(kQuantizedMatmul), 3U);
  // Two roundings to DLFLOAT16, each with |error| <= 2^-10 |number|.
  const auto y = (*run)->output(graph->outputs()[0]);
  ASSERT_TRUE(y) << y.error().message();
  EXPECT_LT(nmse(*y, expected(*graph, leaves)), 2.0 / (1 << 20));
}

}  // namespace
}  // namespace shunt::test::inexact_bias_of_8_bit_products_test
