// Gradients against finite differences, optimiser steps and the rest by hand.
#include <cmath>
#include <map>

#include "ops/list.h"
#include "unit/ops/values.h"

namespace shunt::ops_training_test {
namespace {

using testing::ElementsAre;

/// Some numbers that are neither equal nor small.
Leaf leaf_of(const Sizes& sizes, double seed) {
  RefTensor values(sizes);
  for (std::size_t i = 0; i < values.data.size(); ++i) {
    values.data[i] = 1.5 * std::sin(seed + 2.4 * static_cast<double>(i));
  }
  return {.sizes = sizes, .data = values.data};
}

/// The slope of a function, by central differences.
template <class F>
double difference_quotient(const F& function, double at) {
  constexpr double kStep = 1e-5;
  return (function(at + kStep) - function(at - kStep)) / (2 * kStep);
}

/// Whether `back` gives the gradient by x, when dy is the gradient by forward(x). That gradient is
/// the change of sum(dy * forward(x)) as each element of x changes, by central differences. Both
/// take `others` as v[1] on; v[0] is x for forward, dy for back.
void check_gradient(const Leaf& x, const std::vector<Leaf>& others, const BuildFunction& forward,
                    const BuildFunction& back) {
  const auto with = [&](const Leaf& first) {
    std::vector<Leaf> leaves = {first};
    leaves.insert(leaves.end(), others.begin(), others.end());
    return leaves;
  };
  const Sizes sizes = evaluate(with(x), forward).sizes;
  const Leaf dy = leaf_of(sizes, 0.3);
  const auto loss = [&](const Leaf& at) {
    const std::vector<double> y = evaluate(with(at), forward).data;
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += dy.data[i] * y[i];
    return sum;
  };
  const RefTensor gradient = evaluate(with(dy), back);
  ASSERT_EQ(gradient.sizes, x.sizes);
  for (std::size_t i = 0; i < x.data.size(); ++i) {
    Leaf changed = x;
    const double difference = difference_quotient(
        [&](double value) {
          changed.data[i] = value;
          return loss(changed);
        },
        x.data[i]);
    EXPECT_NEAR(gradient.data[i], difference, 1e-8 * (1 + std::abs(difference))) << i;
  }
}

void check_silu_back() {
  const Leaf x = leaf_of({5, 3, 1, 1}, 1);
  check_gradient(
      x, {x}, [](GraphBuilder& g, const Values& v) { return silu(g, v[0]); },
      [](GraphBuilder& g, const Values& v) { return silu_back(g, v[0], v[1]); });
}

void check_rms_norm_back() {
  const Leaf x = leaf_of({5, 2, 2, 1}, 1);
  for (const RmsNormParams params : {RmsNormParams{1e-5F}, RmsNormParams{0.5F}}) {
    check_gradient(
        x, {x}, [&](GraphBuilder& g, const Values& v) { return rms_norm(g, v[0], params); },
        [&](GraphBuilder& g, const Values& v) { return rms_norm_back(g, v[0], v[1], params); });
  }
}

/// With scale and mask.
void check_softmax_back() {
  const Leaf x = leaf_of({5, 2, 2, 1}, 1);
  const Leaf mask = leaf_of({5, 2, 1, 1}, 2);
  const SoftmaxParams params = {.scale = 0.7F};
  const Leaf y = {.sizes = x.sizes,
                  .data = evaluate({x, mask}, [&](GraphBuilder& g, const Values& v) {
                            return softmax(g, v[0], v[1], params);
                          }).data};
  check_gradient(
      x, {mask, y},
      [&](GraphBuilder& g, const Values& v) { return softmax(g, v[0], v[1], params); },
      [&](GraphBuilder& g, const Values& v) { return softmax_back(g, v[0], v[2], params); });
}

TEST(Gradients, OfSoftmaxWithSinksAndAlibi) {
  const Leaf x = leaf_of({5, 2, 3, 1}, 1);
  const Leaf mask = leaf_of({5, 2, 1, 1}, 2);
  const Leaf sinks = leaf_of({3, 1, 1, 1}, 3);
  const SoftmaxParams params = {.scale = 0.7F, .max_bias = 2};
  const BuildFunction forward = [&](GraphBuilder& g, const Values& v) {
    return softmax(g, v[0], v[1], params, v[2]);
  };
  const Leaf y = {.sizes = x.sizes, .data = evaluate({x, mask, sinks}, forward).data};
  check_gradient(x, {mask, sinks, y}, forward, [&](GraphBuilder& g, const Values& v) {
    return softmax_back(g, v[0], v[3], params);
  });
}

TEST(Gradients, OfRopeInSections) {
  const Leaf positions = {DType::kI32, {3, 4, 1, 1}, {0, 7, 100, 1, 2, 3, 50, 51, 52, 9, 9, 9}};
  const Leaf factors = {.sizes = {3, 1, 1, 1}, .data = {1, 2, 0.5}};
  for (RopeMode mode : {RopeMode::kMulti, RopeMode::kVision}) {
    const RopeParams params = {.dims = 6, .mode = mode, .sections = {1, 0, 2, 0}};
    check_gradient(
        leaf_of({8, 2, 3, 1}, 1), {positions, factors},
        [&](GraphBuilder& g, const Values& v) { return rope(g, v[0], v[1], v[2], params); },
        [&](GraphBuilder& g, const Values& v) { return rope_back(g, v[0], v[1], v[2], params); });
  }
}

void check_rope_back() {
  const Leaf positions = {DType::kI32, {3, 1, 1, 1}, {0, 7, 100}};
  const Leaf factors = {.sizes = {3, 1, 1, 1}, .data = {1, 2, 0.5}};
  for (RopeMode mode : {RopeMode::kNormal, RopeMode::kNeox}) {
    const RopeParams plain = {.dims = 6, .mode = mode};
    RopeParams yarn = plain;
    yarn.freq_scale = 0.25F;
    yarn.ext_factor = 1;
    yarn.attn_factor = 0.9F;
    yarn.original_context = 64;
    for (const RopeParams& params : {plain, yarn}) {
      check_gradient(
          leaf_of({8, 2, 3, 1}, 1), {positions, factors},
          [&](GraphBuilder& g, const Values& v) { return rope(g, v[0], v[1], v[2], params); },
          [&](GraphBuilder& g, const Values& v) { return rope_back(g, v[0], v[1], v[2], params); });
    }
  }
}

/// They add up where a row is taken twice.
void check_get_rows_back() {
  check_gradient(
      leaf_of({3, 4, 1, 1}, 1), {{DType::kI32, {5, 1, 1, 1}, {2, 0, 2, 3, 2}}},
      [](GraphBuilder& g, const Values& v) { return get_rows(g, v[0], v[1]); },
      [](GraphBuilder& g, const Values& v) { return get_rows_back(g, v[0], v[1], 4); });
}

void check_repeat_back() {
  const Leaf whole = leaf_of({6, 4, 2, 3}, 1);
  for (const Sizes& sizes : {Sizes{6, 4, 2, 3}, Sizes{6, 1, 1, 1}, Sizes{2, 4, 1, 3},
                             Sizes{3, 2, 2, 1}, Sizes{1, 1, 1, 1}}) {
    check_gradient(
        leaf_of(sizes, 2), {whole},
        [](GraphBuilder& g, const Values& v) { return add(g, v[1], v[0]); },
        [&](GraphBuilder& g, const Values& v) { return repeat_back(g, v[0], shape_of(sizes)); });
  }
}

/// Whatever the labels sum up to.
void check_cross_entropy_loss_back() {
  const Leaf logits = leaf_of({5, 3, 1, 1}, 1);
  Leaf labels = leaf_of({5, 3, 1, 1}, 2);
  for (double& label : labels.data) label = std::abs(label);
  check_gradient(
      logits, {labels, logits},
      [](GraphBuilder& g, const Values& v) { return cross_entropy_loss(g, v[0], v[1]); },
      [](GraphBuilder& g, const Values& v) {
        return cross_entropy_loss_back(g, v[0], v[2], v[1]);
      });
}

/// They add up where windows overlap.
void check_im2col_back() {
  const Im2colParams windows = {
      .kernel = {3, 2}, .stride = {1, 2}, .pad = {1, 0}, .dilation = {2, 1}};
  check_gradient(
      leaf_of({6, 5, 2, 2}, 1), {},
      [&](GraphBuilder& g, const Values& v) { return im2col(g, v[0], windows); },
      [&](GraphBuilder& g, const Values& v) {
        return im2col_back(g, v[0], {windows, {6, 5}});
      });
}

/// Of matmul by its weights.
void check_out_prod() {
  check_gradient(
      leaf_of({4, 3, 1, 1}, 1), {leaf_of({4, 5, 1, 1}, 2)},
      [](GraphBuilder& g, const Values& v) { return matmul(g, v[0], v[1]); },
      [](GraphBuilder& g, const Values& v) { return out_prod(g, v[1], v[0]); });
}

/// A step of gradient descent, along the gradient of x * w + decay / 2 * w^2 by w. opt_step_sgd
/// takes x for the gradient of the loss.
void check_opt_step_sgd() {
  constexpr double kRate = 0.1;
  constexpr double kDecay = 0.5;
  const Leaf w = leaf_of({5, 3, 1, 1}, 1);
  const Leaf x = leaf_of({5, 3, 1, 1}, 2);
  const RefTensor after = evaluate({w, x, {.data = {kRate}}}, [](GraphBuilder& g, const Values& v) {
    return opt_step_sgd(g, v[0], v[1], v[2], {.weight_decay = static_cast<float>(kDecay)});
  });
  for (std::size_t i = 0; i < w.data.size(); ++i) {
    const double slope = difference_quotient(
        [&](double at) { return x.data[i] * at + kDecay / 2 * at * at; }, w.data[i]);
    EXPECT_NEAR(after.data[i], w.data[i] - kRate * slope, 1e-8) << i;
  }
}

using CheckFunction = void (*)();
const std::map<std::string_view, CheckFunction> kGradients = {
    {"cross_entropy_loss_back", check_cross_entropy_loss_back},
    {"get_rows_back", check_get_rows_back},
    {"im2col_back", check_im2col_back},
    {"opt_step_sgd", check_opt_step_sgd},
    {"out_prod", check_out_prod},
    {"repeat_back", check_repeat_back},
    {"rms_norm_back", check_rms_norm_back},
    {"rope_back", check_rope_back},
    {"silu_back", check_silu_back},
    {"softmax_back", check_softmax_back},
};

TEST(Gradients, AgreeWithCentralDifferencesOfTheForwardOp) {
  for (const auto& [op, check] : kGradients) {
    SCOPED_TRACE(op);
    ASSERT_NE(find_op(op), nullptr);
    check();
  }
}

TEST(Gradients, EveryBackwardOpIsChecked) {
  for (const Op* op : all_ops()) {
    const std::string_view name = op->info().name;
    EXPECT_TRUE(!name.ends_with("_back") || kGradients.contains(name))
        << name << " has no line in kGradients";
  }
}

RefTensor loss_of(const Leaf& logits, const Leaf& labels) {
  return evaluate({logits, labels}, [](GraphBuilder& g, const Values& v) {
    return cross_entropy_loss(g, v[0], v[1]);
  });
}

TEST(CrossEntropyLoss, IsTheMeanNegativeLogLikelihoodOverRows) {
  // Of four equal logits each has probability 1/4; of (ln 3, 0) the second has 1/4.
  const double ln4 = std::log(4);
  EXPECT_THAT(loss_of({.sizes = {4, 1, 1, 1}, .data = {7, 7, 7, 7}},
                      {.sizes = {4, 1, 1, 1}, .data = {0, 1, 0, 0}})
                  .data,
              is_near({ln4}));
  EXPECT_THAT(loss_of({.sizes = {2, 2, 1, 1}, .data = {std::log(3), 0, 0, 0}},
                      {.sizes = {2, 2, 1, 1}, .data = {0, 1, 0.5, 0.5}})
                  .data,
              is_near({(ln4 + std::log(2)) / 2}));
}

TEST(CrossEntropyLoss, IgnoresZeroProbabilityWithZeroLabel) {
  EXPECT_THAT(loss_of({.sizes = {3, 1, 1, 1}, .data = {0, 0, -kInfinity}},
                      {.sizes = {3, 1, 1, 1}, .data = {1, 0, 0}})
                  .data,
              is_near({std::log(2)}));
  EXPECT_THAT(
      loss_of({.sizes = {3, 0, 1, 1}, .data = {}}, {.sizes = {3, 0, 1, 1}, .data = {}}).data,
      ElementsAre(0));
}

Leaf number(double value) {
  return {.sizes = {1, 1, 1, 1}, .data = {value}};
}

TEST(OptStepAdamw, CorrectsBiasAndDecouplesWeightDecay) {
  const AdamwParams params = {.weight_decay = 0.5F};
  const auto step = [&](double w, double gradient, double m, double v, double number_of_step) {
    return evaluate_all({number(w),
                         number(gradient),
                         number(m),
                         number(v),
                         number(0.1),
                         {DType::kI32, {1, 1, 1, 1}, {number_of_step}}},
                        [&](GraphBuilder& g, const Values& n) {
                          return opt_step_adamw(g, n[0], n[1], n[2], n[3], n[4], n[5], params);
                        });
  };
  // The first gradient is its own mean: a step of rate, whatever its size.
  const auto first = step(1, 2, 0, 0, 1);
  EXPECT_NEAR(first.back().data[0], 1 - 0.1 * (1 + 0.5), 1e-6);
  EXPECT_NEAR(first[0].data[0], 0.85, 1e-6);  // in place
  EXPECT_NEAR(first[2].data[0], 0.2, 1e-6);
  EXPECT_NEAR(first[3].data[0], 0.004, 1e-6);
  // m = 0.9 * 0.2 - 0.1 * 2 = -0.02, of which 1 - 0.9^2 = 0.19 has been collected; v is 4 again.
  const auto second = step(0.85, -2, 0.2, 0.004, 2);
  EXPECT_NEAR(second.back().data[0], 0.85 - 0.1 * (-0.02 / 0.19 / 2 + 0.5 * 0.85), 1e-6);
}

TEST(OptStepSgd, StepsAgainstTheGradientWithWeightDecay) {
  const auto y =
      evaluate_all({number(1), number(2), number(0.1)}, [](GraphBuilder& g, const Values& v) {
        return opt_step_sgd(g, v[0], v[1], v[2], {.weight_decay = 0.5F});
      });
  EXPECT_NEAR(y.back().data[0], 1 - 0.1 * (2 + 0.5), 1e-7);
  EXPECT_NEAR(y[0].data[0], 0.75, 1e-7);
}

TEST(UpdateMoment, AveragesPowers) {
  const auto y = evaluate({number(10), number(3)}, [](GraphBuilder& g, const Values& v) {
    return update_moment(g, v[0], v[1], {.beta = 0.5F, .power = 2});
  });
  EXPECT_THAT(y.data, ElementsAre(0.5 * 10 + 0.5 * 9));
}

TEST(Acc, AddsToAWindow) {
  const auto all = evaluate_all({{.sizes = {3, 2, 1, 1}, .data = {1, 2, 3, 4, 5, 6}},
                                 {.sizes = {2, 1, 1, 1}, .data = {10, 20}}},
                                [](GraphBuilder& g, const Values& v) {
                                  return acc(g, view(g, v[0], {1, 1, 0, 0}, {2, 1}), v[1]);
                                });
  EXPECT_THAT(all[0].data, ElementsAre(1, 2, 3, 4, 15, 26));
}

TEST(CountEqual, CountsEqualElements) {
  const auto y = evaluate(
      {{DType::kI32, {2, 2, 1, 1}, {1, 2, 3, -4}}, {DType::kI32, {2, 2, 1, 1}, {1, 0, 3, -4}}},
      [](GraphBuilder& g, const Values& v) { return count_equal(g, v[0], v[1]); });
  EXPECT_THAT(y.data, ElementsAre(3));
}

/// Numbers that are the same only in their lower half are not equal. A number of 32 bits equals the
/// same number in 64.
TEST(CountEqual, ComparesNumbersAndNotBytes) {
  constexpr double kBeyond = 4294967296;
  const auto y =
      evaluate({{DType::kI32, {4, 1, 1, 1}, {1, -1, 0, 7}},
                {DType::kI64, {4, 1, 1, 1}, {1, -1, kBeyond, 7 + kBeyond}}},
               [](GraphBuilder& g, const Values& v) { return count_equal(g, v[0], v[1]); });
  EXPECT_THAT(y.data, ElementsAre(2));
}

TEST(OutProd, SumsUpProductsOfRows) {
  const auto y = evaluate({{.sizes = {2, 2, 1, 1}, .data = {1, 2, 10, 20}},
                           {.sizes = {3, 2, 1, 1}, .data = {3, 4, 5, 1, 0, 2}}},
                          [](GraphBuilder& g, const Values& v) { return out_prod(g, v[0], v[1]); });
  EXPECT_EQ(y.sizes, (Sizes{2, 3, 1, 1}));
  EXPECT_THAT(y.data, ElementsAre(3 + 10, 6 + 20, 4, 8, 5 + 20, 10 + 40));
}

}  // namespace
}  // namespace shunt::ops_training_test
