// Weights in the machine's layout: written and read as if they were plain.
#include "backends/zdnn/support.h"

namespace shunt::test::weights_test {
namespace {

class ZdnnWeights : public ZdnnTest {
 protected:
  struct Product {
    std::shared_ptr<const Graph> graph;
    NodeId x;
    NodeId w;
  };
  static Product product(DType dtype, std::int64_t k, std::int64_t n) {
    GraphBuilder g;
    const auto x = g.input("x", *make_tensor(DType::kF32, {k, 5}));
    const auto w = g.weight("w", *make_tensor(dtype, {k, n}));
    EXPECT_TRUE(g.output(matmul(g, w, x), "y"));
    return {built(std::move(g)), x->id, w->id};
  }
};

TEST_F(ZdnnWeights, OfEveryEncodableTypeAreInTheAcceleratorLayout) {
  for (const DTypeTrait& type : dtypes()) {
    if (type.integer || type.dtype == DType::kF64) continue;
    const auto [graph, x, w] = product(type.dtype, 256, 9);
    const BufferType* const memory = chosen_memory(zdnn(), *graph, w);
    EXPECT_EQ(memory != nullptr, type.encode != nullptr) << type.name;
    const auto error = error_of(graph, values(*graph));
    ASSERT_TRUE(error) << type.name << ": " << error.error().message();
    EXPECT_LT(*error, kChainError) << type.name;
  }
}

TEST_F(ZdnnWeights, WithOtherReadersStayPlain) {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {64, 5}));
  const auto w = g.weight("w", *make_tensor(DType::kF32, {64, 64}));
  const auto ids = g.input("ids", *make_tensor(DType::kI32, {5}));
  ASSERT_TRUE(g.output(add(g, matmul(g, w, x), get_rows(g, w, ids)), "y"));
  const auto graph = built(std::move(g));
  EXPECT_EQ(chosen_memory(zdnn(), *graph, w->id), nullptr);
}

/// Preparing refuses the same; the reason names the memory.
TEST_F(ZdnnWeights, OpsThatCannotReadTheLayoutAreRejected) {
  GraphBuilder g;
  const auto w = g.weight("w", *make_tensor(DType::kF32, {64, 64}));
  const auto x = g.input("x", *make_tensor(DType::kF32, {64, 64}));
  const auto product = matmul(g, w, x);
  const auto right = matmul(g, x, w);
  const auto viewed = matmul(g, reshape(g, w, {64, 32, 2}), x);
  const auto sum = add(g, x, w);
  int number = 0;
  for (const auto& each : {product, right, viewed, sum}) {
    ASSERT_TRUE(g.output(each, "y" + std::to_string(number++)));
  }
  const auto graph = built(std::move(g));
  const auto candidates = zdnn().weight_forms(*graph, w->id);
  ASSERT_EQ(candidates.size(), 1U);
  EXPECT_FALSE(candidates[0].lossy);
  std::vector<const BufferType*> kinds(graph->size(), nullptr);
  kinds[w->id] = candidates[0].memory;
  EXPECT_TRUE(zdnn().supports(*graph, product->id, kinds));
  for (const auto& user : {right, viewed, sum}) {
    EXPECT_TRUE(zdnn().supports(*graph, user->id));
    const Support answer = zdnn().supports(*graph, user->id, kinds);
    EXPECT_EQ(answer.refusal(), Refusal::kLayout) << graph->describe(user->id);
    EXPECT_THAT(answer.facts(), testing::HasSubstr("in zdnn weights memory"));
  }
}

/// A write that fails half-way changes nothing.
TEST_F(ZdnnWeights, FailedWriteKeepsThem) {
  const auto [graph, x, w] = product(DType::kF32, 64, 70);
  BufferType& memory = *chosen_memory(zdnn(), *graph, w);
  const Tensor& tensor = graph->node(w).result;
  const PlacedTensor placed{tensor, 0};
  auto buffer = memory.allocate_for(memory.size_of(tensor), {&placed, 1});
  ASSERT_TRUE(buffer) << buffer.error().message();
  const RefTensor weight = make_values({.dtype = DType::kF32, .sizes = {64, 70, 1, 1}}, 3);
  const auto bytes = to_bytes(weight, DType::kF32);
  ASSERT_TRUE((*buffer)->write(0, bytes));
  twin_->set("ZDNN_TWIN_FAIL_CONVERSION", "1+");
  EXPECT_FALSE((*buffer)->write(256, std::span(bytes).first(256)));
  twin_->set("ZDNN_TWIN_FAIL_CONVERSION", "0");
  std::vector<std::byte> read(bytes.size());
  ASSERT_TRUE((*buffer)->read(0, read));
  EXPECT_LT(nmse(read_tensor(read.data(), tensor, {64, 70, 1, 1}), weight), 1e-6);
}

/// Biases and factors of norms, too.
TEST_F(ZdnnWeights, OfASingleRowAreInTheAcceleratorLayout) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    GraphBuilder g;
    const auto x = g.input("x", *make_tensor(DType::kF32, {70, 5}));
    const auto gain = g.weight("gain", *make_tensor(dtype, {70}));
    const auto bias = g.weight("bias", *make_tensor(dtype, {70}));
    ASSERT_TRUE(g.output(add(g, div(g, sub(g, mul(g, x, gain), bias), gain), bias), "y"));
    const auto graph = built(std::move(g));
    EXPECT_NE(chosen_memory(zdnn(), *graph, gain->id), nullptr);
    const auto leaves = values(*graph);
    auto run = prepare(graph, leaves);
    ASSERT_TRUE(run) << run.error().message();
    ASSERT_TRUE((*run)->plan().run());
    twin_->reset_counts();
    ASSERT_TRUE((*run)->plan().run());
    EXPECT_EQ(twin_->transforms_in(), 1U);
    EXPECT_EQ(twin_->objections(), 0U);
    EXPECT_LT(nmse(*(*run)->output(graph->outputs()[0]), expected(*graph, leaves)), kChainError);
    const auto read = (*run)->leaf(gain->id);
    ASSERT_TRUE(read);
    EXPECT_LT(nmse(*read, leaves.at(gain->id)), 1e-5);
  }
}

TEST_F(ZdnnWeights, SizeIsThatOfTheAcceleratorLayout) {
  const auto [graph, x, w] = product(DType::kQ8_0, 2048, 512);
  BufferType& memory = *chosen_memory(zdnn(), *graph, w);
  EXPECT_EQ(memory.size_of(graph->node(w).result), 2048U / 32 * 512 / 64 * 4096);
  EXPECT_FALSE(memory.host_accessible());
  EXPECT_FALSE(memory.layouts().front().exact);
  EXPECT_FALSE(devices_.back()->can_read(memory));
  EXPECT_TRUE(zdnn().can_read(memory));
  EXPECT_TRUE(zdnn().can_read(host_memory()));
}

TEST_F(ZdnnWeights, MemoryRejectsNonMatricesAndWrongOffsets) {
  const auto [graph, x, w] = product(DType::kF32, 64, 64);
  BufferType& memory = *chosen_memory(zdnn(), *graph, w);
  const PlacedTensor cube{*make_tensor(DType::kF32, {4, 4, 4}), 0};
  EXPECT_FALSE(memory.allocate_for(1 << 20, {&cube, 1}));
  const PlacedTensor outside{graph->node(w).result, 4096};
  EXPECT_FALSE(memory.allocate_for(memory.size_of(outside.tensor), {&outside, 1}));
  const PlacedTensor beside{graph->node(w).result, 64};
  EXPECT_FALSE(memory.allocate_for(1 << 20, {&beside, 1}));
}

}  // namespace
}  // namespace shunt::test::weights_test
