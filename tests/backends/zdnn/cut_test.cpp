// Products of which something is larger than the machine takes: in pieces, and put together.
#include "backends/zdnn/support.h"

namespace shunt::test::cut_test {
namespace {

/// The cost of a run: tensors brought into the layout and out of it, and operations of the machine.
struct Costs {
  std::uint64_t in, out, operations;
};

class ZdnnCut : public ZdnnTest {
 protected:
  /// `of_weight`: with w in the machine's layout; `of_input`: with w that comes plain.
  void expect_right(const char* profile, std::int64_t k, std::int64_t n, std::int64_t m,
                    const Costs& of_weight, const Costs& of_input) {
    open(profile);
    for (const Role role : {Role::kWeight, Role::kInput}) {
      GraphBuilder g;
      const auto x = g.input("x", *make_tensor(DType::kF32, {k, m}));
      const Tensor tensor = *make_tensor(DType::kF32, {k, n});
      const auto w = role == Role::kWeight ? g.weight("w", tensor) : g.input("w", tensor);
      ASSERT_TRUE(g.output(matmul(g, w, x), "y"));
      const auto graph = built(std::move(g));
      ASSERT_TRUE(zdnn().supports(*graph, graph->outputs()[0]));
      const auto leaves = values(*graph);
      auto run = prepare(graph, leaves);
      ASSERT_TRUE(run) << run.error().message();
      ASSERT_TRUE((*run)->plan().run());  // after this one constants are there
      twin_->reset_counts();
      ASSERT_TRUE((*run)->plan().run());
      const auto got = (*run)->output(graph->outputs()[0]);
      ASSERT_TRUE(got);
      EXPECT_LT(nmse(*got, expected(*graph, leaves)), kChainError)
          << profile << ": " << k << " x " << n << " x " << m;
      const Costs& costs = role == Role::kWeight ? of_weight : of_input;
      EXPECT_EQ(twin_->transforms_in(), costs.in) << to_string(role);
      EXPECT_EQ(twin_->transforms_out(), costs.out) << to_string(role);
      EXPECT_EQ(twin_->operations(), costs.operations) << to_string(role);
      EXPECT_EQ(twin_->objections(), 0U);
      EXPECT_EQ(twin_->allocations(), 0U);
      EXPECT_GT(twin_->calls(113), 0U) << "products of the machine";
      EXPECT_TRUE(zdnn().warnings().empty());
    }
  }
};

/// x goes in once, whatever the number of columns, each of which comes out once. Of plain w each
/// piece goes in once.
TEST_F(ZdnnCut, SplitsWeightsWithManyRows) {
  expect_right("z16", 32, 33000, 3, {1, 2, 2}, {1 + 5, 5, 5});
}

/// Each piece of x goes in once; the products of pieces are added up in the layout.
TEST_F(ZdnnCut, SplitsAlongSums) {
  expect_right("z16", 33000, 9, 3, {2, 1, 2 + 1}, {9 + 9, 1, 9 + 8});
  expect_right("z17", 2097152 / 32, 3, 2, {1, 1, 1}, {2, 1, 1});  // whole
}

/// Blocks of 256 rows, or of 1024 if w is plain; that goes in once, as it is a single piece.
TEST_F(ZdnnCut, SplitsAlongColumns) {
  expect_right("z16", 5, 7, 33000, {129, 129, 129}, {33 + 1, 33, 33});
}

TEST_F(ZdnnCut, RejectsElementwiseOpsOfTooLongRows) {
  open("z16");
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {33000, 2}));
  const auto y = silu(g, x);
  const auto normed = rms_norm(g, x, {});
  ASSERT_TRUE(g.output(y, "y"));
  const auto graph = built(std::move(g));
  const Support answer = zdnn().supports(*graph, y->id);
  EXPECT_EQ(answer.refusal(), Refusal::kShape);
  EXPECT_THAT(answer.facts(), testing::HasSubstr("33000 elements a row"));
  EXPECT_THAT(answer.facts(), testing::HasSubstr("32768"));
  const Support of_norm = zdnn().supports(*graph, normed->id);
  EXPECT_EQ(of_norm.refusal(), Refusal::kShape);
  EXPECT_THAT(of_norm.facts(), testing::HasSubstr("F32 [33000, 2] has 33000 "));
}

}  // namespace
}  // namespace shunt::test::cut_test
