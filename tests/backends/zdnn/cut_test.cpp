// Products of which something is larger than the machine takes: in pieces, and put together.
#include "backends/zdnn/support.h"

namespace shunt::test {
namespace {

class ZdnnCut : public ZdnnTest {
 protected:
  void expect_right(const char* profile, std::int64_t k, std::int64_t n, std::int64_t m) {
    open(profile);
    for (const Role role : {Role::kWeight, Role::kInput}) {
      GraphBuilder g;
      const auto x = g.input("x", *make_tensor(DType::kF32, {k, m}));
      const Tensor tensor = *make_tensor(DType::kF32, {k, n});
      const auto w = role == Role::kWeight ? g.weight("w", tensor) : g.input("w", tensor);
      ASSERT_TRUE(g.output(matmul(g, w, x), "y"));
      const auto graph = built(std::move(g));
      ASSERT_TRUE(zdnn().supports(*graph, graph->outputs()[0]));
      const auto error = error_of(graph, values(*graph));
      ASSERT_TRUE(error) << error.error().message();
      EXPECT_LT(*error, kChainError) << profile << ": " << k << " x " << n << " x " << m;
      EXPECT_EQ(twin_->objections(), 0U);
      EXPECT_GT(twin_->calls(113), 0U) << "products of the machine";
      EXPECT_TRUE(zdnn().warnings().empty());
    }
  }
};

TEST_F(ZdnnCut, AsLongAsAVocabulary) {
  expect_right("z16", 32, 33000, 3);
}

TEST_F(ZdnnCut, AlongSums) {
  expect_right("z16", 33000, 9, 3);
  expect_right("z17", 2097152 / 32, 3, 2);  // what is multiplied has as many rows: 65536, not whole
}

TEST_F(ZdnnCut, AlongRows) {
  expect_right("z16", 5, 7, 33000);
}

TEST_F(ZdnnCut, ElementsOfSuchTensorsAreTheCpus) {
  open("z16");
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {33000, 2}));
  const auto y = silu(g, x);
  ASSERT_TRUE(g.output(y, "y"));
  const auto graph = built(std::move(g));
  const Support answer = zdnn().supports(*graph, y->id);
  EXPECT_EQ(answer.refusal(), Refusal::kShape);
  EXPECT_THAT(answer.facts(), testing::HasSubstr("33000 elements a row"));
  EXPECT_THAT(answer.facts(), testing::HasSubstr("32768"));
}

}  // namespace
}  // namespace shunt::test
