// How exact products with weights of every type are, on rows as long as those of large models:
// against the decoded weights, multiplied in double precision.
#include <gtest/gtest.h>

#include <random>

#include "ops/common/type_lists.h"
#include "shunt/ops.h"
#include "shunt/registry.h"
#include "support/graph_run.h"
#include "support/tensor_io.h"

namespace shunt::test::matmul_accuracy_test {
namespace {

constexpr std::int64_t kColumns = 4096;  // of the weights: terms of each sum
constexpr std::int64_t kRows = 12;

/// The distribution of activations: normal; or one in a thousand is 50 times larger.
struct Activations {
  const char* name;
  bool outliers;
  double most;  ///< the error that is allowed
};
constexpr Activations kActivations[] = {{"normal", false, 4e-5}, {"with outliers", true, 4e-4}};

class MatmulAccuracy : public testing::TestWithParam<DType> {
 protected:
  void SetUp() override {
    registry_ = std::move(*Registry::create({}));
    const auto cpu = registry_->find("cpu0");
    if (!cpu) GTEST_SKIP() << "there is no CPU backend in this build";
    cpu_ = *cpu;
  }

  static RefTensor activations(const Sizes& sizes, bool outliers) {
    RefTensor x = make_values({.dtype = DType::kF32, .sizes = sizes}, 7);
    std::mt19937 random(11);
    constexpr std::uint32_t kOneIn = 1000;
    for (double& value : x.data) {
      if (outliers && random() % kOneIn == 0) value *= 50;
    }
    return rounded(x, DType::kF32);
  }

  /// The error of the graph's one output, y, against `product(w, x, y)` in double precision, whose
  /// w is the content of the device's memory.
  template <class Product>
  void expect_accurate(Result<Graph> built, const std::map<NodeId, RefTensor>& leaves, NodeId w,
                       const Activations& of, const Product& product) {
    ASSERT_TRUE(built) << built.error().message();
    const auto graph = std::make_shared<const Graph>(std::move(*built));
    Device* const devices[] = {cpu_};
    auto run = GraphRun::create(graph, devices, leaves);
    ASSERT_TRUE(run) << run.error().message();
    ASSERT_TRUE((*run)->plan().run());
    const auto got = (*run)->output(graph->outputs()[0]);
    const auto weights = (*run)->leaf(w);
    ASSERT_TRUE(got && weights);
    RefTensor expected(got->sizes);
    product(*weights, expected);
    EXPECT_LE(nmse(*got, expected), of.most) << of.name;
    EXPECT_GT(nmse(RefTensor(got->sizes), expected), 0.9) << "there is something to be computed";
  }

  std::unique_ptr<Registry> registry_;
  Device* cpu_ = nullptr;
};

double dot(const RefTensor& w, std::int64_t row, std::int64_t matrix, const RefTensor& x,
           std::int64_t column, std::int64_t slice) {
  double sum = 0;
  for (std::int64_t k = 0; k < kColumns; ++k) {
    sum += w.at(k, row, matrix) * x.at(k, column, slice);
  }
  return sum;
}

TEST_P(MatmulAccuracy, OfMatmul) {
  const RefTensor weights = make_values({.dtype = GetParam(), .sizes = {kColumns, kRows, 1, 1}}, 1);
  for (const Activations& of : kActivations) {
    for (const std::int64_t tokens : {1, 3, 9}) {  // few and many: there are kernels for each
      const RefTensor x = activations({kColumns, tokens, 1, 1}, of.outliers);
      GraphBuilder g;
      const auto w = g.weight("w", *make_tensor(GetParam(), {kColumns, kRows}));
      const auto in = g.input("x", *make_tensor(DType::kF32, {kColumns, tokens}));
      ASSERT_TRUE(g.output(matmul(g, w, in), "y"));
      expect_accurate(std::move(g).build(), {{w->id, weights}, {in->id, x}}, w->id, of,
                      [&](const RefTensor& stored, RefTensor& y) {
                        for (std::int64_t t = 0; t < tokens; ++t) {
                          for (std::int64_t r = 0; r < kRows; ++r) {
                            y.at(r, t) = dot(stored, r, 0, x, t, 0);
                          }
                        }
                      });
    }
  }
}

TEST_P(MatmulAccuracy, OfMatmulId) {
  constexpr std::int64_t kExperts = 3;
  constexpr std::int64_t kUsed = 2;
  const RefTensor weights =
      make_values({.dtype = GetParam(), .sizes = {kColumns, kRows / 3, kExperts, 1}}, 1);
  for (const Activations& of : kActivations) {
    for (const std::int64_t tokens : {1, 8}) {
      const RefTensor x = activations({kColumns, kUsed, tokens, 1}, of.outliers);
      RefTensor ids({kUsed, tokens, 1, 1});
      for (std::size_t i = 0; i < ids.data.size(); ++i) ids.data[i] = i % 5 == 0 ? 0 : 2;
      GraphBuilder g;
      const auto w = g.weight("w", *make_tensor(GetParam(), {kColumns, kRows / 3, kExperts}),
                              Role::kExpertWeight);
      const auto in = g.input("x", *make_tensor(DType::kF32, {kColumns, kUsed, tokens}));
      const auto chosen = g.input("ids", *make_tensor(DType::kI32, {kUsed, tokens}));
      ASSERT_TRUE(g.output(matmul_id(g, w, in, chosen), "y"));
      expect_accurate(std::move(g).build(), {{w->id, weights}, {in->id, x}, {chosen->id, ids}},
                      w->id, of, [&](const RefTensor& stored, RefTensor& y) {
                        for (std::int64_t t = 0; t < tokens; ++t) {
                          for (std::int64_t u = 0; u < kUsed; ++u) {
                            const auto expert = static_cast<std::int64_t>(ids.at(u, t));
                            for (std::int64_t r = 0; r < kRows / 3; ++r) {
                              y.at(r, u, t) = dot(stored, r, expert, x, u, t);
                            }
                          }
                        }
                      });
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cpu, MatmulAccuracy, testing::ValuesIn(kWeightTypes),
                         [](const auto& test) { return std::string(to_string(test.param)); });

}  // namespace
}  // namespace shunt::test::matmul_accuracy_test
