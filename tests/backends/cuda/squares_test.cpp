// Sums that F32 is too small for: squares out of its range, and many terms after a large one.
#include <gmock/gmock.h>

#include <cmath>

#include "backends/cuda/cuda_devices.h"

namespace shunt::test::cuda_squares_test {
namespace {

class CudaSquares : public CudaDevices {
 protected:
  /// The result of an op of F32 sources like these.
  RefTensor run(const Op& op, const Params& params, const std::vector<RefTensor>& sources) {
    const auto chosen = devices();
    EXPECT_TRUE(chosen);
    GraphBuilder g;
    std::map<NodeId, RefTensor> leaves;
    std::vector<Result<Value>> values;
    for (const RefTensor& source : sources) {
      values.push_back(g.input("x" + std::to_string(values.size()),
                               *make_tensor(DType::kF32, {source.sizes[0], source.sizes[1]})));
      leaves[values.back()->id] = source;
    }
    const auto y = values.size() == 1 ? g.apply(op, params, {&values[0]})
                                      : g.apply(op, params, {&values[0], &values[1]});
    EXPECT_TRUE(g.output(y, "y"));
    auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
    auto made = GraphRun::create(graph, *chosen, leaves, {.by_ability = true});
    EXPECT_TRUE(made && (*made)->plan().run());
    return *(*made)->output(y->id);
  }
};

TEST_F(CudaSquares, RmsNormOfZerosIsZerosWithoutEps) {
  const RefTensor zeros(Sizes{300, 2, 1, 1});
  EXPECT_EQ(run(rms_norm_op(), Params::of(RmsNormParams{0}), {zeros}).data, zeros.data);
}

TEST_F(CudaSquares, ManyTermsAfterALargeOneCount) {
  RefTensor x(Sizes{100003, 1, 1, 1});
  x.data.assign(x.data.size(), 1);
  x.data[0] = 0x1p24;
  const double sum = 0x1p24 + 100002;
  EXPECT_NEAR(run(sum_rows_op(), Params::of(NoParams{}), {x}).data[0], sum, 1e-5 * sum);
}

TEST_F(CudaSquares, NormsOfTinyAndHugeRowsMatchTheReference) {
  for (const double size : {1e-25, 1e25}) {
    RefTensor x = make_values({.sizes = {300, 2, 1, 1}}, 1);
    for (double& each : x.data) each = static_cast<float>(each * size);
    const RefTensor* const given[] = {&x};
    const auto check = [&](const Op& op, const Params& params) {
      RefTensor expected(x.sizes);
      op.reference(given, params, expected);
      const RefTensor found = run(op, params, {x});
      for (std::size_t i = 0; i < x.data.size(); ++i)
        ASSERT_NEAR(found.data[i], expected.data[i], 1e-5) << op.info().name << " " << size;
    };
    check(rms_norm_op(), Params::of(RmsNormParams{0}));
    check(norm_op(), Params::of(NormParams{0}));
    check(group_norm_op(), Params::of(GroupNormParams{1, 0}));
  }
}

TEST_F(CudaSquares, RmsNormBackOfTinyAndHugeRowsMatchesTheReference) {
  const Params params = Params::of(RmsNormParams{0});
  for (const double size : {1e-25, 1e-14, 1e-12, 1e12, 1e25}) {
    const std::vector<RefTensor> sources = {make_values({.sizes = {300, 2, 1, 1}}, 1),
                                            make_values({.sizes = {300, 2, 1, 1}}, 2)};
    RefTensor x = sources[1];
    for (double& each : x.data) each = static_cast<float>(each * size);
    RefTensor expected(x.sizes);
    const RefTensor* const given[] = {sources.data(), &x};
    rms_norm_back_op().reference(given, params, expected);
    const RefTensor found = run(rms_norm_back_op(), params, {sources[0], x});
    for (std::size_t i = 0; i < x.data.size(); ++i)
      ASSERT_NEAR(found.data[i] * size, expected.data[i] * size, 1e-4) << size << " " << i;
  }
}

}  // namespace
}  // namespace shunt::test::cuda_squares_test
