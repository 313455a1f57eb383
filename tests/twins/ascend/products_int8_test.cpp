// Products of INT8 with INT8: scales, factors of tokens, bias, refusals.
#include "products_support.h"

namespace ascend_test::products_int8 {
namespace {

using Int8Products = TwinTest;
using Bytes = std::vector<std::int8_t>;

Bytes codes(std::size_t count, int size, unsigned seed) {
  Bytes result;
  for (const float value : numbers(count, size, seed))
    result.push_back(static_cast<std::int8_t>(value));
  return result;
}

TEST_F(Int8Products, EqualTheFormula) {
  const Bytes a = codes(3 * 20, 127, 8);
  const Bytes b = codes(20 * 5, 127, 9);
  const std::vector<float> sums = product({a.begin(), a.end()}, {b.begin(), b.end()}, 3, 20, 5);
  Tensor<std::int8_t> x1(ACL_INT8, {3, 20}, a);
  Tensor<std::int8_t> x2(ACL_INT8, {5, 20}, turned(b, 20, 5));
  Tensor<float> scale(ACL_FLOAT, {5}, {0x1p-6F, 0x1p-7F, 0x1p-8F, 0x1p-9F, 0x1p-10F});
  Tensor<float> token(ACL_FLOAT, {3}, {1, 2, 4});
  Tensor<std::int32_t> bias(ACL_INT32, {5}, {1000, -1000, 3, 4, 5});
  Tensor<Half> out(ACL_FLOAT16, {3, 5}, std::vector<Half>(15));
  ASSERT_EQ(RUN_OP(QuantMatmulV4, x1.get(), x2.get(), scale.get(), nullptr, token.get(), bias.get(),
                   false, true, out.get()),
            ACL_SUCCESS)
      << ascend_twin_last_message();
  const std::vector<std::int32_t> addends = bias.values();
  for (std::size_t i = 0; i < 15; ++i) {
    const double value = (static_cast<double>(sums[i]) + addends[i % 5]) *
                         std::ldexp(1.0, -6 - static_cast<int>(i % 5) + static_cast<int>(i / 5));
    EXPECT_EQ(out.values()[i], half(static_cast<float>(value))) << i;
  }
  // Scales of 64 bits have an F32 in the lower half; a result in INT8 is rounded to even and cut.
  Tensor<std::uint64_t> packed(ACL_UINT64, {1}, {std::bit_cast<std::uint32_t>(0x1p-7F)});
  Tensor<float> offset(ACL_FLOAT, {1}, {3});
  Tensor<std::int8_t> small(ACL_INT8, {3, 5}, Bytes(15));
  ASSERT_EQ(RUN_OP(QuantMatmulV4, x1.get(), x2.get(), packed.get(), offset.get(), nullptr, nullptr,
                   false, true, small.get()),
            ACL_SUCCESS)
      << ascend_twin_last_message();
  for (std::size_t i = 0; i < 15; ++i) {
    const double value = std::nearbyint(static_cast<double>(sums[i]) / 128 + 3);
    EXPECT_EQ(small.values()[i], static_cast<std::int8_t>(std::fmin(std::fmax(value, -128), 127)));
  }
}

TEST_F(Int8Products, FormsThatAreRefused) {
  Tensor<std::int8_t> x(ACL_INT8, {2, 2}, {1, 2, 3, 4});
  Tensor<Half> half_x(ACL_FLOAT16, {2, 2}, std::vector<Half>(4));
  Tensor<float> scale(ACL_FLOAT, {1}, {1});
  Tensor<std::uint64_t> packed(ACL_UINT64, {1}, {0x3F800000});
  Tensor<float> token(ACL_FLOAT, {2}, {1, 1});
  Tensor<float> three(ACL_FLOAT, {3}, {1, 1, 1});
  Tensor<Half> out(ACL_FLOAT16, {2, 2}, std::vector<Half>(4));
  Tensor<float> wide(ACL_FLOAT, {2, 2}, std::vector<float>(4));
  const auto code_for = [&](aclTensor* a, aclTensor* b, aclTensor* s, aclTensor* offset,
                            aclTensor* tokens, aclTensor* bias, aclTensor* result) {
    return RUN_OP(QuantMatmulV4, a, b, s, offset, tokens, bias, false, false, result);
  };
  constexpr auto kBad = ACLNN_ERR_PARAM_INVALID;
  aclTensor* const none = nullptr;
  EXPECT_EQ(code_for(x.get(), x.get(), packed.get(), none, none, none, out.get()), ACL_SUCCESS);
  EXPECT_EQ(code_for(x.get(), x.get(), none, none, none, none, out.get()), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(code_for(half_x.get(), x.get(), packed.get(), none, none, none, out.get()), kBad);
  EXPECT_EQ(code_for(x.get(), half_x.get(), packed.get(), none, none, none, out.get()), kBad);
  EXPECT_EQ(code_for(x.get(), x.get(), scale.get(), none, none, none, out.get()), kBad);
  EXPECT_EQ(code_for(x.get(), x.get(), packed.get(), none, token.get(), none, out.get()), kBad);
  EXPECT_EQ(code_for(x.get(), x.get(), packed.get(), scale.get(), none, none, out.get()), kBad);
  EXPECT_EQ(code_for(x.get(), x.get(), packed.get(), none, none, token.get(), out.get()), kBad);
  EXPECT_EQ(code_for(x.get(), x.get(), packed.get(), none, none, none, wide.get()), kBad);
  EXPECT_EQ(code_for(x.get(), x.get(), three.get(), none, token.get(), none, out.get()), kBad);
  EXPECT_EQ(code_for(x.get(), x.get(), scale.get(), none, three.get(), none, out.get()), kBad);
  restart({{"PROFILE", "310p"}});
  Tensor<std::int8_t> a(ACL_INT8, {2, 2}, {1, 2, 3, 4});
  Tensor<std::uint64_t> one(ACL_UINT64, {1}, {0x3F800000});
  Tensor<Half> result(ACL_FLOAT16, {2, 2}, std::vector<Half>(4));
  for (const bool first : {false, true}) {
    for (const bool second : {false, true}) {
      EXPECT_EQ(RUN_OP(QuantMatmulV4, a.get(), a.get(), one.get(), none, none, none, first, second,
                       result.get()),
                !first && second ? ACL_SUCCESS : kBad)
          << first << second;
    }
  }
  EXPECT_EQ(floats(result.values()), (std::vector<float>{5, 11, 11, 25}));
  restart({{"PROFILE", "310b"}});
  Tensor<std::int8_t> other(ACL_INT8, {1, 1}, {1});
  EXPECT_EQ(RUN_OP(QuantMatmulV4, other.get(), other.get(), other.get(), nullptr, nullptr, nullptr,
                   false, false, other.get()),
            ACLNN_ERR_INNER_NULLPTR);
}

}  // namespace
}  // namespace ascend_test::products_int8
