// Results of a segment stay in the machine's layout on their way from one operation to the next,
// for any operation. Inputs go in once, or once more in a form that an operation needs for
// precision.
#include <limits>

#include "backends/zdnn/support.h"

namespace shunt::test::layout_test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Tensors brought into the layout, and out of it.
struct Transforms {
  std::uint64_t in = 0;
  std::uint64_t out = 0;
};

class ZdnnLayout : public ZdnnTest, public testing::WithParamInterface<ZdnnMachine> {
 protected:
  void SetUp() override { open(GetParam(), "single"); }
  /// Whether the machine multiplies with the transposition of its own result.
  static bool transposes() {
    return std::string_view(GetParam().profile) == "z17" && !GetParam().old;
  }

  /// One segment, right, with the expected number of transforms.
  void expect_costs(GraphBuilder&& g, const Transforms& expected_ones,
                    std::map<NodeId, RefTensor> known = {}) {
    const auto graph = built(std::move(g));
    const auto leaves = values(*graph, std::move(known));
    auto run = prepare(graph, leaves);
    ASSERT_TRUE(run) << run.error().message();
    EXPECT_EQ((*run)->plan().segments().size(), 1U);
    ASSERT_TRUE((*run)->plan().run());  // after this one constants are there
    twin_->reset_counts();
    ASSERT_TRUE((*run)->plan().run());
    EXPECT_EQ(twin_->transforms_in(), expected_ones.in);
    EXPECT_EQ(twin_->transforms_out(), expected_ones.out);
    EXPECT_EQ(twin_->objections(), 0U);
    EXPECT_EQ(twin_->allocations(), 0U);
    EXPECT_TRUE(zdnn().warnings().empty());
    const auto got = (*run)->output(graph->outputs()[0]);
    ASSERT_TRUE(got);
    EXPECT_LT(nmse(*got, expected(*graph, leaves)), 2 * kChainError);
  }

  static Result<Value> product(GraphBuilder& g, const char* name, std::int64_t from,
                               std::int64_t to, const Result<Value>& x) {
    return matmul(g, g.weight(name, *make_tensor(DType::kF32, {from, to})), x);
  }
  static Result<Value> small(GraphBuilder& g, const Result<Value>& x) {
    return scale(g, x, {.scale = 0.125F});
  }
};

/// A product's left side must be transposed: a z17 does that itself. With a z16, and with the older
/// library, it must be plain for that: it comes out once and goes in once, for all products.
TEST_P(ZdnnLayout, KeepsTheLeftOperandOfAMatmul) {
  for (const std::int64_t matrices : {1, 3}) {
    GraphBuilder g;
    const auto x = g.input("x", *make_tensor(DType::kF32, {32, 9, matrices}));
    const auto z = g.input("z", *make_tensor(DType::kF32, {32, 5, 2 * matrices}));
    const auto k = product(g, "wk", 32, 70, x);
    const auto q = product(g, "wq", 32, 70, z);
    const auto first = small(g, matmul(g, k, q));
    ASSERT_TRUE(g.output(add(g, first, small(g, matmul(g, k, silu(g, q)))), "y"));
    const bool stays = transposes();
    expect_costs(std::move(g), {stays ? 2U : 3U, stays ? 1U : 2U});
  }
}

/// One that comes in goes in once as well, all its matrices together.
TEST_P(ZdnnLayout, TransformsTheLeftOperandOfMatmulsOnce) {
  GraphBuilder g;
  const auto w = g.input("w", *make_tensor(DType::kF16, {70, 9, 3}));
  const auto x = g.input("x", *make_tensor(DType::kF32, {70, 5, 6}));
  ASSERT_TRUE(g.output(add(g, matmul(g, w, x), matmul(g, w, silu(g, x))), "y"));
  expect_costs(std::move(g), {2, 1});
}

/// A mask goes in once for all softmaxes, together with the record of its hidden elements.
TEST_P(ZdnnLayout, TransformsAMaskOnce) {
  for (const float max_bias : {0.0F, 4.0F}) {
    for (const bool hides_rows : {false, true}) {
      for (const std::int64_t matrices : {1, 2}) {
        GraphBuilder g;
        const auto x = g.input("x", *make_tensor(DType::kF32, {33, 5, 4, 2}));
        const auto mask = g.input("mask", *make_tensor(DType::kF16, {33, 5, 1, matrices}));
        auto y = softmax(g, silu(g, x), mask, {.scale = 0.25F, .max_bias = max_bias});
        for (int times = 0; times < 3; ++times) {
          y = softmax(g, y, mask, {.scale = 1, .max_bias = max_bias});
        }
        ASSERT_TRUE(g.output(y, "y"));
        RefTensor hidden({33, 5, 1, matrices});
        for (std::int64_t i = 0; i < 33; ++i) {
          for (std::int64_t row = 0; row < 5; ++row) {
            if (i > 20 + row) hidden.at(i, row, 0, matrices - 1) = -kInfinity;
          }
          if (hides_rows) hidden.at(i, 2, 0, 0) = -kInfinity;
        }
        expect_costs(std::move(g), {2, 1}, {{mask->id, hidden}});
      }
    }
  }
}

/// Masks that the machine computes, too, with the slopes of heads or without.
TEST_P(ZdnnLayout, KeepsAComputedMask) {
  for (const float max_bias : {0.0F, 4.0F}) {
    GraphBuilder g;
    const auto x = g.input("x", *make_tensor(DType::kF32, {33, 5, 4, 2}));
    const auto m = g.input("m", *make_tensor(DType::kF32, {33, 5, 1, 2}));
    ASSERT_TRUE(
        g.output(softmax(g, silu(g, x), tanh(g, m), {.scale = 1, .max_bias = max_bias}), "y"));
    expect_costs(std::move(g), {2, 1});
  }
}

/// Second operands that are repeated: along rows, over rows, over matrices, and all of that.
TEST_P(ZdnnLayout, BroadcastsComputedOperands) {
  using Operation = Result<Value> (*)(GraphBuilder&, const Result<Value>&, const Result<Value>&);
  for (const Operation operation :
       {Operation{add}, Operation{sub}, Operation{mul}, Operation{div}}) {
    for (const Sizes& of_b : {Sizes{1, 5, 4, 2}, Sizes{70, 1, 4, 2}, Sizes{70, 5, 2, 1},
                              Sizes{1, 5, 1, 1}, Sizes{70, 1, 2, 1}, Sizes{1, 1, 4, 1},
                              Sizes{1, 1, 1, 1}, Sizes{70, 1, 1, 1}, Sizes{70, 5, 4, 1}}) {
      SCOPED_TRACE(testing::PrintToString(of_b));
      GraphBuilder g;
      const auto x = g.input("x", *make_tensor(DType::kF32, {70, 5, 4, 2}));
      const auto z = g.input("z", *make_tensor(DType::kF32, {of_b[0], of_b[1], of_b[2], of_b[3]}));
      const auto b = exp(g, small(g, z));  // no divisor near 0
      ASSERT_TRUE(g.output(operation(g, silu(g, x), b), "y"));
      expect_costs(std::move(g), {2, 1});
    }
  }
}

/// Several rows or columns in turn are no form that the layout has: these come out and go in again.
TEST_P(ZdnnLayout, TilesBlocksThroughPlainMemory) {
  for (const Sizes& of_b : {Sizes{35, 6, 1, 1}, Sizes{70, 3, 1, 1}}) {
    GraphBuilder g;
    const auto x = g.input("x", *make_tensor(DType::kF32, {70, 6}));
    const auto z = g.input("z", *make_tensor(DType::kF32, {of_b[0], of_b[1]}));
    ASSERT_TRUE(g.output(mul(g, silu(g, x), silu(g, z)), "y"));
    expect_costs(std::move(g), {3, 2});
  }
}

/// Heads of whole sticks are matrices of their own in place, and so are the transposed ones.
TEST_P(ZdnnLayout, SplitsHeadsOfWholeSticks) {
  for (const std::int64_t size : {64, 128}) {
    constexpr std::int64_t kHeads = 3;
    constexpr std::int64_t kTokens = 37;
    GraphBuilder g;
    const auto x = g.input("x", *make_tensor(DType::kF32, {48, kTokens}));
    const auto mask = g.input("mask", *make_tensor(DType::kF32, {kTokens, kTokens}));
    const auto heads = [&](const char* name) {
      const auto all = small(g, product(g, name, 48, size * kHeads, x));
      return permute(g, reshape(g, all, {size, kHeads, kTokens}), {0, 2, 1, 3});
    };
    const auto scores = matmul(g, heads("k"), heads("q"));
    const auto weights = softmax(g, scores, mask, {.scale = 0.125F});
    ASSERT_TRUE(g.output(matmul(g, permute(g, heads("v"), {1, 0, 2, 3}), weights), "y"));
    const bool stays = transposes();
    expect_costs(std::move(g), {stays ? 2U : 3U, stays ? 1U : 2U});
  }
}

/// Others are not: a tensor with such a view comes out once, and goes in once for each kind of
/// view.
TEST_P(ZdnnLayout, SplitsOtherHeadsThroughPlainMemory) {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {48, 7}));
  const auto all = silu(g, product(g, "w", 48, 96, x));
  const auto heads = permute(g, reshape(g, all, {32, 3, 7}), {0, 2, 1, 3});
  const auto y = add(g, silu(g, heads), tanh(g, heads));
  ASSERT_TRUE(g.output(y, "y"));
  expect_costs(std::move(g), {2, 2});
}

/// It goes in as it is, and less the common part of its rows, scaled. The number of readers of
/// either form does not matter.
TEST_P(ZdnnLayout, TransformsATensorAtMostTwice) {
  for (const bool softmaxed : {false, true}) {
    GraphBuilder g;
    const auto x = g.input("x", *make_tensor(DType::kF32, {64, 6}));
    auto y = silu(g, x);
    for (const float eps : {1e-3F, 1e-2F, 1.0F}) {
      y = add(g, y,
              softmaxed ? softmax(g, x, absent(), {.scale = 0.5F}) : norm(g, x, {.eps = eps}));
    }
    ASSERT_TRUE(g.output(add(g, y, x), "y"));
    expect_costs(std::move(g), {2, 1});
  }
}

/// Second operands that are repeated go in once, too, as they are.
TEST_P(ZdnnLayout, TransformsABroadcastOperandOnce) {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {70, 5, 4}));
  const auto b = g.input("b", *make_tensor(DType::kF32, {1, 5, 4}));
  auto y = mul(g, x, b);
  for (int times = 0; times < 3; ++times) y = add(g, silu(g, y), b);
  ASSERT_TRUE(g.output(y, "y"));
  expect_costs(std::move(g), {2, 1});
}

/// The position of dimensions of one element is arbitrary.
TEST_P(ZdnnLayout, SplitsHeadsOfASingleToken) {
  for (const Sizes& heads : {Sizes{64, 1, 3, 1}, Sizes{64, 1, 1, 3}, Sizes{192, 1, 1, 1}}) {
    SCOPED_TRACE(testing::PrintToString(heads));
    GraphBuilder g;
    const auto x = g.input("x", *make_tensor(DType::kF32, {192, 1}));
    const auto split = reshape(g, silu(g, x), {heads[0], heads[1], heads[2], heads[3]});
    ASSERT_TRUE(g.output(tanh(g, split), "y"));
    expect_costs(std::move(g), {1, 1});
  }
}

INSTANTIATE_TEST_SUITE_P(, ZdnnLayout, testing::ValuesIn(kZdnnMachines),
                         [](const auto& test) { return std::string(test.param.name); });

class ZdnnCutLayout : public ZdnnTest {};

/// The weight is larger than the machine takes, but its other operand is not. That operand stays in
/// the layout.
TEST_F(ZdnnCutLayout, KeepsTheOperandOfASplitWeight) {
  open("z16");
  for (const std::int64_t matrices : {1, 2}) {
    GraphBuilder g;
    const auto x = g.input("x", *make_tensor(DType::kF32, {32, 3, matrices}));
    const auto w = g.weight("w", *make_tensor(DType::kF32, {32, 33000}));
    ASSERT_TRUE(g.output(matmul(g, w, silu(g, x)), "y"));
    const auto graph = built(std::move(g));
    const auto leaves = values(*graph);
    auto run = prepare(graph, leaves);
    ASSERT_TRUE(run) << run.error().message();
    ASSERT_TRUE((*run)->plan().run());
    twin_->reset_counts();
    ASSERT_TRUE((*run)->plan().run());
    EXPECT_EQ(twin_->transforms_in(), 1U);
    EXPECT_EQ(twin_->transforms_out(), 2U * static_cast<std::uint64_t>(matrices))
        << "each column once, in two pieces";
    EXPECT_EQ(twin_->objections(), 0U);
    const auto got = (*run)->output(graph->outputs()[0]);
    ASSERT_TRUE(got);
    EXPECT_LT(nmse(*got, expected(*graph, leaves)), kChainError);
  }
}

/// Many rows at once: columns come out in narrower blocks, in runs with fewer of them as well.
TEST_F(ZdnnCutLayout, TransformsOutManyRowsInNarrowBlocks) {
  open("z16");
  GraphBuilder g;
  const auto tokens = g.dynamic_dim("tokens", 300);
  ASSERT_TRUE(tokens);
  const auto x = g.input("x", *make_tensor(DType::kF32, {4, *tokens}));
  const auto w = g.weight("w", *make_tensor(DType::kF32, {4, 33000}));
  ASSERT_TRUE(g.output(matmul(g, w, relu(g, x)), "y"));
  const auto graph = built(std::move(g));
  const auto leaves = values(*graph);
  auto run = prepare(graph, leaves);
  ASSERT_TRUE(run) << run.error().message();
  const RefTensor all = expected(*graph, leaves);
  for (const std::int64_t size : {300, 1, 255, 256, 257}) {
    ASSERT_TRUE((*run)->plan().set_dynamic_dim(*tokens, size));
    ASSERT_TRUE((*run)->plan().run());
    const auto got = (*run)->output(graph->outputs()[0], (*run)->plan().dynamic_dims());
    ASSERT_TRUE(got);
    RefTensor first({33000, size, 1, 1});
    std::copy_n(all.data.begin(), first.data.size(), first.data.begin());
    EXPECT_LT(nmse(*got, first), kChainError) << size;
  }
  EXPECT_EQ(twin_->objections(), 0U);
}

/// A large tensor that takes 2 bytes an element in the layout takes no more on its way there. It
/// goes in as it is or, if the library does not know its type, by parts.
TEST_F(ZdnnCutLayout, TransformsLargeLeftOperandsWithLittleMemory) {
  constexpr std::uint64_t kElements = 1024 * 17000;
  for (const char* profile : {"z16", "z17"}) {
    for (const DType type : {DType::kF16, DType::kQ8_0}) {
      open(profile);
      GraphBuilder g;
      const auto w = g.input("w", *make_tensor(type, {1024, 8500, 2}));
      const auto x = g.input("x", *make_tensor(DType::kF32, {1024, 2, 2}));
      ASSERT_TRUE(g.output(matmul(g, w, x), "y"));
      const auto graph = built(std::move(g));
      const auto run = prepare(
          graph, {{w->id, RefTensor({1024, 8500, 2, 1})}, {x->id, RefTensor({1024, 2, 2, 1})}});
      ASSERT_TRUE(run) << run.error().message();
      EXPECT_LT((*run)->plan().memory().front().activations, 3 * kElements)
          << profile << " " << to_string(type);
    }
  }
}

/// Sums that are longer than the machine's: the operand is in the layout, and is taken piece by
/// piece there. The other operand is a weight, or a matrix that comes in piece by piece.
TEST_F(ZdnnCutLayout, ReadsPiecesOfLongRowsInTheLayout) {
  constexpr std::int64_t kLong = (std::int64_t{1} << 20) + 5000;
  for (const bool weight : {true, false}) {
    open("z17");
    GraphBuilder g;
    const auto tensor = make_tensor(DType::kF16, {kLong, 2});
    const auto x = g.input("x", *make_tensor(DType::kF32, {kLong, 3}));
    const auto w = weight ? g.weight("w", *tensor) : g.input("w", *tensor);
    ASSERT_TRUE(g.output(matmul(g, w, relu(g, x)), "y"));
    const auto graph = built(std::move(g));
    const auto leaves = values(*graph);
    expect_within_bound(graph, leaves);
    EXPECT_EQ(twin_->objections(), 0U);
  }
}

}  // namespace
}  // namespace shunt::test::layout_test
