// How far off a result may be: the rule, and every op that is allowed more, with the words of its
// documentation about it.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "conformance/case_data.h"
#include "conformance/case_errors.h"
#include "conformance/case_sources.h"
#include "conformance/cases.h"
#include "graph/tensor_values.h"
#include "ops/list.h"

namespace shunt::ops_bounds_test {
namespace {

constexpr double kElementwise = 1e-12;
constexpr double kSums = 1e-10;

/// Ops of which an element of the result is a sum over many elements of the sources, or depends on
/// one. A new op is held to the other bound, unless it is named here.
const std::set<std::string_view>& sums() {
  static const std::set<std::string_view> kOps = {
      // clang-format off
      "attention", "paged_attention", "softmax",
      "col2im_1d", "conv_2d", "conv_2d_dw", "conv_3d", "conv_transpose_1d", "conv_transpose_2d",
      "pool_1d", "pool_2d",
      "matmul", "matmul_id", "solve_tri",
      "group_norm", "l2_norm", "norm", "rms_norm",
      "cumsum", "mean", "sum", "sum_rows",
      "gated_delta_net", "gated_linear_attn", "rwkv_wkv6", "rwkv_wkv7", "ssm_conv", "ssm_scan",
      "cross_entropy_loss", "cross_entropy_loss_back", "get_rows_back", "im2col_back", "out_prod",
      "repeat_back", "rms_norm_back", "softmax_back",
      // clang-format on
  };
  return kOps;
}

/// Cases that may be off by more than the rule says.
struct Exception {
  std::string_view op;
  bool (*covers)(const Case&);
  double (*most)(double n);     ///< of a result of n elements, at least 1
  std::string_view documented;  ///< the words of the op's documentation that say why
};

bool is_half(DType type) {
  return type == DType::kF16 || type == DType::kBF16;
}
bool weights_are_quantised(const Case& c) {
  return trait(c.sources[0].dtype).quantized;
}
bool weights_are_bf16(const Case& c) {
  return c.sources[0].dtype == DType::kBF16;
}
template <DType kType>
bool keys_or_values_are(const Case& c) {
  return c.sources[1].dtype == kType || c.sources[2].dtype == kType;
}

/// The error of rounding to blocks of 8 bits: 4e-5 over many sums, 1 + 64 / n times that over n.
double eight_bits(double n) {
  return 4e-5 + 256e-5 / n;
}
/// The same of rounding to BF16.
double sixteen_bits(double n) {
  return 6e-6 + 384e-6 / n;
}
template <int kOf, int kPower>
double flat(double) {
  return kOf * std::pow(10, -kPower);
}
constexpr std::string_view kRoundsX =
    "Where w is quantised, a device may round x to blocks of 8-bit integers, at a normalised mean "
    "square error of at most 4e-5 * (1 + 64 / n) over n elements of y.";
constexpr std::string_view kRoundsXToBF16 =
    "Where w is BF16, it may round x to BF16, at one of at most 6e-6 * (1 + 64 / n), and take "
    "numbers below 2^-126 for 0.";
constexpr std::string_view kRoundsQ =
    "Where k or v is F16 or BF16, a device may round the other factor to that type";
const auto kExceptions = std::to_array<Exception>({
    {"matmul", weights_are_quantised, eight_bits, kRoundsX},
    {"matmul_id", weights_are_quantised, eight_bits, kRoundsX},
    {"matmul", weights_are_bf16, sixteen_bits, kRoundsXToBF16},
    // q, the scores and the weights: some roundings of 1e-7 or 1e-5 each.
    {"attention", keys_or_values_are<DType::kF16>, flat<5, 7>, kRoundsQ},
    {"attention", keys_or_values_are<DType::kBF16>, flat<5, 5>, kRoundsQ},
    {"paged_attention", keys_or_values_are<DType::kF16>, flat<5, 7>, kRoundsQ},
    {"paged_attention", keys_or_values_are<DType::kBF16>, flat<5, 5>, kRoundsQ},
});

/// The error that one rounding to a type may cause, by the type's precision. For floats it is half
/// a unit in the last place, never more than the value itself. For block types the test below gives
/// it.
double rounding(DType type, bool from_blocks) {
  if (is_half(type)) return 1.01 * std::pow(2, -2 * trait(type).precision);
  if (!trait(type).quantized) return 0;
  return std::min(0.8, rounding_error(type) * (from_blocks ? 4 : 1));
}

/// Largest normalised mean square error that the rule allows, for a result of a type.
double most_by_rule(const Op& op, const Case& c, DType result) {
  if (trait(result).integer) return 0;
  const double computed = sums().contains(op.info().name) ? kSums : kElementwise;
  const bool from_blocks = std::ranges::any_of(
      c.sources, [](const CaseSource& source) { return trait(source.dtype).quantized; });
  return computed + rounding(result, from_blocks);
}

Tensor result_of(const Op& op, const Case& c) {
  std::vector<Inferred> seen;
  for (const CaseSource& source : c.sources) {
    seen.push_back(source.given ? tensor_of(source).value() : Inferred());
  }
  std::vector<const Tensor*> sources;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    sources.push_back(c.sources[i].given ? &seen[i].tensor : nullptr);
  }
  return op.infer(sources, c.params).value().tensor;
}

TEST(OpBounds, FollowTheRulesOrADocumentedException) {
  for (const Op* op : all_ops()) {
    each_case(*op, [&](const Case& c) {
      const Tensor result = result_of(*op, c);
      const auto n = static_cast<double>(element_count(result.shape));
      double most = most_by_rule(*op, c, result.dtype);
      for (const Exception& exception : kExceptions) {
        if (exception.op == op->info().name && exception.covers(c)) {
          most = std::max(most, exception.most(n > 0 ? n : INFINITY));
        }
      }
      // In the last digits the two may differ.
      EXPECT_LE(c.max_error, most * (1 + 1e-12)) << op->info().name << ": " << c.name;
    });
  }
}

TEST(OpBounds, ExceptionsAreDocumentedAndNeeded) {
  for (const Exception& exception : kExceptions) {
    const Op* op = find_op(exception.op);
    ASSERT_NE(op, nullptr) << exception.op;
    EXPECT_NE(op->info().summary.find(exception.documented), std::string_view::npos)
        << exception.op << " does not say: " << exception.documented;
    bool needed = false;
    each_case(*op, [&](const Case& c) {
      needed = needed ||
               (exception.covers(c) && c.max_error > most_by_rule(*op, c, result_of(*op, c).dtype));
    });
    EXPECT_TRUE(needed) << exception.op << ": " << exception.documented;
  }
}

/// By the numbers that its documentation gives.
TEST(OpBounds, OfMatmulsGrowForFewSums) {
  for (const DType type : {DType::kQ8_0, DType::kQ4_0, DType::kIQ1_S}) {
    EXPECT_DOUBLE_EQ(product_error(type, 1), 2.6e-3);
    EXPECT_DOUBLE_EQ(product_error(type, 64), 8e-5);
    EXPECT_DOUBLE_EQ(product_error(type, 6400), 4.04e-5);
  }
  EXPECT_DOUBLE_EQ(product_error(DType::kBF16, 1), 390e-6);
  EXPECT_DOUBLE_EQ(product_error(DType::kBF16, 64), 12e-6);
  EXPECT_DOUBLE_EQ(product_error(DType::kBF16, 6400), 6.06e-6);
  for (const DType type : {DType::kF32, DType::kF16}) EXPECT_EQ(product_error(type, 1), kSums);
  EXPECT_EQ(product_error(DType::kQ8_0, 0), kSums);
  EXPECT_EQ(product_error(DType::kBF16, 0), kSums);
}

/// The error of each x from its own rounding. It is largest where all are just above a power of
/// two.
TEST(OpBounds, OfMatmulsAllowBf16Activations) {
  const auto cost = [](const RefTensor& x) { return nmse(rounded(x, DType::kBF16), x); };
  RefTensor x = make_values(source_of(DType::kF32, {4096, 64, 1, 1}), 3);
  EXPECT_LT(cost(x), 6e-6);
  EXPECT_GT(cost(x), 2e-6);
  for (double& value : x.data) value = 1 + 0x1p-7 * std::fabs(value - std::trunc(value));
  EXPECT_LT(cost(x), 6e-6);
  EXPECT_GT(cost(x), 4.5e-6);
}

/// A step of a block of 8 bits is 1/127 of its largest element; errors are spread evenly over it.
TEST(OpBounds, OfMatmulsAllowInt8Activations) {
  const RefTensor x = make_values(source_of(DType::kF32, {4096, 64, 1, 1}), 3);
  double squares = 0;
  double errors = 0;
  for (std::size_t block = 0; block < x.data.size(); block += 32) {
    double largest = 0;
    for (std::size_t i = block; i < block + 32; ++i) {
      squares += x.data[i] * x.data[i];
      largest = std::max(largest, std::fabs(x.data[i]));
    }
    errors += 32 * std::pow(largest / 127, 2) / 12;
  }
  EXPECT_LT(errors / squares, 4e-5);
  EXPECT_GT(errors / squares, 2e-5);
}

TEST(OpBounds, NameExistingOps) {
  for (const std::string_view name : sums()) EXPECT_NE(find_op(name), nullptr) << name;
}

/// A bound that zeros pass says nothing: their error is 1.
TEST(OpBounds, AreTooTightForZerosToPass) {
  for (const Op* op : all_ops()) {
    each_case(*op,
              [&](const Case& c) { EXPECT_LT(c.max_error, 0.9) << op->info().name << c.name; });
  }
}

/// Bounds of block types: the error that their own encoders reach, and at most twice that.
TEST(OpBounds, OfTypesMatchTheErrorOfTheirEncoders) {
  std::size_t types = 0;
  for (const DTypeTrait& type : dtypes()) {
    if (!type.quantized || type.encode == nullptr) continue;
    const RefTensor values = make_values(source_of(DType::kF32, {2048, 8, 1, 1}), 9);
    const double reached = nmse(rounded(values, type.dtype), values);
    EXPECT_LE(reached, rounding_error(type.dtype)) << type.name;
    EXPECT_GE(2 * reached, rounding_error(type.dtype)) << type.name;
    ++types;
  }
  EXPECT_EQ(types, 17U);
}

TEST(OpBounds, OfLosslessConversionsAreZero) {
  for (const DTypeTrait& type : dtypes()) {
    EXPECT_EQ(conversion_error(type.dtype, type.dtype), 0) << type.name;
  }
  EXPECT_EQ(conversion_error(DType::kI32, DType::kI8), 0);
  EXPECT_EQ(conversion_error(DType::kI8, DType::kBF16), 0);
  EXPECT_GT(conversion_error(DType::kF32, DType::kF16), 0);
  EXPECT_GT(conversion_error(DType::kI8, DType::kQ8_0), 0);
}

/// Numbers that were there before do not make an error smaller: 900 of the 1000 stay.
TEST(OpBounds, OfPartialWritesCountOnlyWrittenElements) {
  RefTensor before({1000, 1, 1, 1});
  std::ranges::fill(before.data, 3.0);
  RefTensor expected = before;
  std::fill_n(expected.data.begin(), 100, 2.0);
  RefTensor zeros = expected;
  std::fill_n(zeros.data.begin(), 100, 0.0);
  EXPECT_DOUBLE_EQ(nmse(zeros, expected, &before), 1);
  EXPECT_EQ(nmse(expected, expected, &before), 0);
  RefTensor stray = expected;
  stray.data[999] = 5;
  EXPECT_DOUBLE_EQ(nmse(stray, expected, &before), 4.0 / 400);
}

}  // namespace
}  // namespace shunt::ops_bounds_test
