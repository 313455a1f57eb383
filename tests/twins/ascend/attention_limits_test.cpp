// Attention: nulls, types and features that are refused, strict mode, empty keys, workspaces.
#include <functional>

#include "products_support.h"

namespace ascend_test::attention_limits {
namespace {

using AttentionLimits = TwinTest;

/// The first phase of V2 with some arguments exchanged.
struct Arguments {
  const aclTensor* query = nullptr;
  const aclTensorList *key = nullptr, *value = nullptr;
  const aclTensor *bias = nullptr, *mask = nullptr, *scale = nullptr, *table = nullptr,
                  *out = nullptr;
  std::int64_t block = 0, key_mode = 0;
  bool lse = false;
  const char* layout = "BNSD";
};
aclError phase_one(const Arguments& a, std::uint64_t* bytes) {
  const aclTensor* const none = nullptr;
  const aclIntArray* const no_array = nullptr;
  const std::int64_t zero = 0;
  return first_phase(aclnnFusedInferAttentionScoreV2GetWorkspaceSize, bytes, a.query, a.key,
                     a.value, a.bias, a.mask, no_array, no_array, a.scale, none, none, none, none,
                     none, none, a.table, none, none, none, none, none, none, none, none, no_array,
                     std::int64_t{2}, 1.0, std::int64_t{9}, std::int64_t{9},
                     const_cast<char*>(a.layout), std::int64_t{0}, zero, zero, a.block, zero, a.lse,
                     a.key_mode, zero, a.out, none);
}

TEST_F(AttentionLimits, NullsTypesAndFeaturesThatAreRefused) {
  const Described q(nullptr, ACL_FLOAT16, {1, 2, 3, 16}, {}, 0, {96});
  const Described wide(nullptr, ACL_FLOAT, {1, 2, 3, 16}, {}, 0, {96});
  const Described bytes8(nullptr, ACL_INT8, {1, 2, 3, 16}, {}, 0, {96});
  const List keys({member(nullptr, ACL_FLOAT16, {1, 2, 4, 16})});
  const List values({member(nullptr, ACL_FLOAT16, {1, 2, 4, 16})});
  const List others({member(nullptr, ACL_FLOAT16, {1, 2, 5, 16})});
  const List bfloats({member(nullptr, ACL_BF16, {1, 2, 4, 16})});
  const List two(
      {member(nullptr, ACL_FLOAT16, {1, 2, 4, 16}), member(nullptr, ACL_FLOAT16, {1, 2, 4, 16})});
  const List none({});
  const Described mask(nullptr, ACL_FLOAT16, {3, 4}, {}, 0, {12});
  const Described bias(nullptr, ACL_FLOAT16, {1, 1, 3, 4}, {}, 0, {12});
  std::uint64_t bytes = 0;
  const Arguments right{.query = q.get(), .key = keys.get(), .value = values.get(), .out = q.get()};
  EXPECT_EQ(phase_one(right, &bytes), ACL_SUCCESS) << ascend_twin_last_message();
  EXPECT_GT(bytes, 0U);
  const auto code_with = [&](const std::function<void(Arguments&)>& change) {
    Arguments arguments = right;
    change(arguments);
    return phase_one(arguments, &bytes);
  };
  constexpr auto kBad = ACLNN_ERR_PARAM_INVALID;
  constexpr auto kNull = ACLNN_ERR_PARAM_NULLPTR;
  EXPECT_EQ(code_with([](Arguments& a) { a.query = nullptr; }), kNull);
  EXPECT_EQ(code_with([](Arguments& a) { a.key = nullptr; }), kNull);
  EXPECT_EQ(code_with([](Arguments& a) { a.value = nullptr; }), kNull);
  EXPECT_EQ(code_with([](Arguments& a) { a.out = nullptr; }), kNull);
  EXPECT_EQ(code_with([](Arguments& a) { a.layout = nullptr; }), kNull);
  EXPECT_EQ(code_with([](Arguments& a) { a.lse = true; }), kNull);
  EXPECT_EQ(code_with([&](Arguments& a) { a.query = wide.get(); }), kBad);
  EXPECT_EQ(code_with([&](Arguments& a) { a.query = bytes8.get(); }), kBad);
  EXPECT_EQ(code_with([&](Arguments& a) { a.out = wide.get(); }), kBad);
  EXPECT_EQ(code_with([&](Arguments& a) { a.key = bfloats.get(); }), kBad);
  EXPECT_EQ(code_with([&](Arguments& a) { a.key = others.get(); }), kBad);
  EXPECT_EQ(code_with([&](Arguments& a) { a.key = two.get(); }), kBad);
  EXPECT_EQ(code_with([&](Arguments& a) { a.key = none.get(); }), kBad);
  EXPECT_EQ(code_with([&](Arguments& a) { a.mask = mask.get(); }), kBad);
  EXPECT_EQ(code_with([&](Arguments& a) { a.bias = bias.get(); }), kBad);
  EXPECT_EQ(code_with([&](Arguments& a) { a.scale = q.get(); }), kBad);
  EXPECT_EQ(code_with([&](Arguments& a) { a.table = q.get(); }), kBad);
  EXPECT_EQ(code_with([](Arguments& a) { a.block = 128; }), kBad);
  EXPECT_EQ(code_with([](Arguments& a) { a.key_mode = 1; }), kBad);
  for (const char* const chip : {"310p", "310b"}) {
    set("PROFILE", chip);
    EXPECT_EQ(phase_one(right, &bytes), ACLNN_ERR_INNER_NULLPTR) << chip;
  }
}

TEST_F(AttentionLimits, StrictModeObjectsToOperandsThatAreNotContiguous) {
  // A bias with one row for all heads, as some programs pass it.
  const Described q(nullptr, ACL_FLOAT16, {1, 2, 3, 16}, {}, 0, {96});
  const Described bias(nullptr, ACL_FLOAT16, {1, 2, 3, 4}, {12, 0, 4, 1}, 0, {12});
  const List keys({member(nullptr, ACL_FLOAT16, {1, 2, 4, 16})});
  const List values({member(nullptr, ACL_FLOAT16, {1, 2, 4, 16})});
  const Arguments arguments{.query = q.get(),
                            .key = keys.get(),
                            .value = values.get(),
                            .bias = bias.get(),
                            .out = q.get()};
  std::uint64_t bytes = 0;
  EXPECT_EQ(phase_one(arguments, &bytes), ACL_SUCCESS);
  set("STRICT", "status");
  EXPECT_EQ(phase_one(arguments, &bytes), ACLNN_ERR_PARAM_INVALID);
  EXPECT_NE(std::string(ascend_twin_last_objection()).find("not contiguous"), std::string::npos);
}

TEST_F(AttentionLimits, NoKeysGiveZeros) {
  const List keys({member(nullptr, ACL_FLOAT16, {1, 2, 0, 16})});
  const List values({member(nullptr, ACL_FLOAT16, {1, 2, 0, 16})});
  Tensor<Half> q(ACL_FLOAT16, {1, 2, 3, 16}, std::vector<Half>(96));
  Tensor<Half> out(ACL_FLOAT16, {1, 2, 3, 16}, std::vector<Half>(96, 0xBEEF));
  const aclTensor* const none = nullptr;
  const aclIntArray* const no_array = nullptr;
  const std::int64_t zero = 0;
  std::string layout = "BNSD";
  ASSERT_EQ(RUN_OP(FusedInferAttentionScoreV2, q.get(), keys.get(), values.get(), none, none,
                   no_array, no_array, none, none, none, none, none, none, none, none, none, none,
                   none, none, none, none, none, none, no_array, std::int64_t{2}, 1.0, zero, zero,
                   layout.data(), zero, zero, zero, zero, zero, false, zero, zero, out.get(), none),
            ACL_SUCCESS)
      << ascend_twin_last_message();
  EXPECT_EQ(out.values(), std::vector<Half>(96));
}

TEST_F(AttentionLimits, NoBatchesNeedNoWorkspace) {
  const Described q(nullptr, ACL_FLOAT16, {0, 2, 3, 16}, {}, 0, {0, 2, 3, 16});
  const List keys({member(nullptr, ACL_FLOAT16, {0, 2, 4, 16})});
  const List values({member(nullptr, ACL_FLOAT16, {0, 2, 4, 16})});
  std::uint64_t bytes = 7;
  EXPECT_EQ(phase_one({.query = q.get(), .key = keys.get(), .value = values.get(), .out = q.get()},
                      &bytes),
            ACL_SUCCESS)
      << ascend_twin_last_message();
  EXPECT_EQ(bytes, 0U);
}

TEST_F(AttentionLimits, WorkspacesShrinkWithMoreBatches) {
  const auto bytes_of = [](std::int64_t batches) {
    const Described q(nullptr, ACL_FLOAT16, {batches, 2, 1, 16}, {}, 0, {batches * 32});
    const List keys({member(nullptr, ACL_FLOAT16, {batches, 2, 1024, 16})});
    const List values({member(nullptr, ACL_FLOAT16, {batches, 2, 1024, 16})});
    std::uint64_t bytes = 0;
    EXPECT_EQ(
        phase_one({.query = q.get(), .key = keys.get(), .value = values.get(), .out = q.get()},
                  &bytes),
        ACL_SUCCESS)
        << ascend_twin_last_message();
    return bytes;
  };
  EXPECT_GT(bytes_of(5), bytes_of(6));
}

}  // namespace
}  // namespace ascend_test::attention_limits
