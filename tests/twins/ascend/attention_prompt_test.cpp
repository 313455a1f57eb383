// The two calls of fused attention that a 310P has, and its limits.
#include <functional>

#include "products_support.h"

namespace ascend_test::attention_prompt {
namespace {

using Prompt = TwinTest;
using Sizes = std::vector<std::int64_t>;

constexpr std::int64_t kAll = 2147483647;

/// One head of 16: softmax(q k / 4) v in double.
std::vector<float> formula(const std::vector<float>& q, const std::vector<float>& k,
                           const std::vector<float>& v, bool is_causal) {
  const std::size_t rows = q.size() / 16, keys = k.size() / 16;
  std::vector<float> result;
  for (std::size_t i = 0; i < rows; ++i) {
    std::vector<double> weights(keys);
    double sum = 0;
    for (std::size_t j = 0; j < keys; ++j) {
      double score = 0;
      for (std::size_t d = 0; d < 16; ++d)
        score += static_cast<double>(q[i * 16 + d]) * static_cast<double>(k[j * 16 + d]);
      weights[j] = is_causal && j > i ? 0 : std::exp(score / 4);
      sum += weights[j];
    }
    for (std::size_t d = 0; d < 16; ++d) {
      double total = 0;
      for (std::size_t j = 0; j < keys; ++j)
        total += weights[j] / sum * static_cast<double>(v[j * 16 + d]);
      result.push_back(static_cast<float>(total));
    }
  }
  return result;
}

void expect_near(const std::vector<float>& found, const std::vector<float>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], expected[i], std::fabs(expected[i]) * 0x1p-11F + 1e-5F) << i;
}

struct PromptUse {
  Sizes q = {1, 1, 4, 16}, k = {1, 1, 4, 16};
  Sizes bias, mask;
  aclDataType type = ACL_FLOAT16, mask_type = ACL_BOOL;
  std::int64_t heads = 1, key_heads = 0, before = kAll, after = kAll, sparse = 0;
  bool has_scale = false;
};

aclError prompt_code(const PromptUse& use) {
  const Sizes room{std::int64_t{1} << 40};
  const Described q(nullptr, use.type, use.q, {}, 0, room);
  const Described k(nullptr, use.type, use.k, {}, 0, room);
  const Described bias(nullptr, use.type, use.bias, {}, 0, room);
  const Described mask(nullptr, use.mask_type, use.mask, {}, 0, room);
  const aclTensor* const none = nullptr;
  const aclIntArray* const no_array = nullptr;
  std::string layout = "BNSD";
  std::uint64_t bytes = 0;
  return first_phase(aclnnPromptFlashAttentionV3GetWorkspaceSize, &bytes, q.get(), k.get(), k.get(),
                     use.bias.empty() ? none : bias.get(), use.mask.empty() ? none : mask.get(),
                     no_array, no_array, use.has_scale ? q.get() : none, none, none, none, none,
                     use.heads, 0.25, use.before, use.after, layout.data(), use.key_heads,
                     use.sparse, std::int64_t{0}, q.get());
}

struct OneUse {
  Sizes q = {2, 1, 1, 16}, k = {2, 1, 4, 16};
  Sizes bias, mask;
  aclDataType type = ACL_FLOAT16, mask_type = ACL_BOOL;
  std::int64_t heads = 1, key_heads = 0, block = 0;
  bool has_table = false;
};

aclError one_code(const OneUse& use) {
  const Sizes room{std::int64_t{1} << 40};
  const Described q(nullptr, use.type, use.q, {}, 0, room);
  const List keys({member(nullptr, use.type, use.k)});
  const List values({member(nullptr, use.type, use.k)});
  const Described bias(nullptr, use.type, use.bias, {}, 0, room);
  const Described mask(nullptr, use.mask_type, use.mask, {}, 0, room);
  const aclTensor* const none = nullptr;
  const aclIntArray* const no_array = nullptr;
  std::string layout = "BNSD";
  std::uint64_t bytes = 0;
  return first_phase(aclnnIncreFlashAttentionV4GetWorkspaceSize, &bytes, q.get(), keys.get(),
                     values.get(), use.bias.empty() ? none : bias.get(),
                     use.mask.empty() ? none : mask.get(), no_array, none, none, none, none, none,
                     none, none, use.has_table ? q.get() : none, none, use.heads, 0.25,
                     layout.data(), use.key_heads, use.block, std::int64_t{0}, q.get());
}

template <class Use>
Use with(const std::function<void(Use&)>& change) {
  Use use;
  change(use);
  return use;
}

TEST_F(Prompt, BothCallsGiveTheFormula) {
  for (const char* const chip : {"910b", "310p"}) {
    restart({{"PROFILE", chip}});
    std::vector<float> q = numbers(64, 4, 1), k = numbers(64, 4, 2), v = numbers(64, 4, 3);
    for (auto* const values : {&q, &k, &v}) {
      for (float& value : *values) value /= 4;
    }
    Tensor<Half> query(ACL_FLOAT16, {1, 4, 16}, halves(q));
    Tensor<Half> key(ACL_FLOAT16, {1, 4, 16}, halves(k));
    Tensor<Half> value(ACL_FLOAT16, {1, 4, 16}, halves(v));
    Tensor<Half> out(ACL_FLOAT16, {1, 4, 16}, std::vector<Half>(64));
    const Tensor<std::uint8_t> mask(ACL_BOOL, {4, 4}, std::vector<std::uint8_t>(16));
    const aclTensor* const none = nullptr;
    const aclIntArray* const no_array = nullptr;
    const std::int64_t zero = 0;
    std::string layout = "BSH";
    for (const bool is_causal : {false, true}) {
      ASSERT_EQ(RUN_OP(PromptFlashAttentionV3, query.get(), key.get(), value.get(), none,
                       is_causal ? mask.get() : none, no_array, no_array, none, none, none, none,
                       none, std::int64_t{1}, 0.25, kAll, is_causal ? zero : kAll, layout.data(),
                       zero, zero, zero, out.get()),
                ACL_SUCCESS)
          << ascend_twin_last_message();
      expect_near(floats(out.values()), formula(q, k, v, is_causal));
    }
    Tensor<Half> row(ACL_FLOAT16, {1, 1, 16}, halves({q.begin(), q.begin() + 16}));
    Tensor<Half> result(ACL_FLOAT16, {1, 1, 16}, std::vector<Half>(16));
    const List keys({member(key.address(), ACL_FLOAT16, {1, 4, 16})});
    const List values({member(value.address(), ACL_FLOAT16, {1, 4, 16})});
    const Integers lengths({3});
    ASSERT_EQ(RUN_OP(IncreFlashAttentionV4, row.get(), keys.get(), values.get(), none, none,
                     lengths.get(), none, none, none, none, none, none, none, none, none,
                     std::int64_t{1}, 0.25, layout.data(), zero, zero, zero, result.get()),
              ACL_SUCCESS)
        << ascend_twin_last_message();
    expect_near(floats(result.values()),
                formula({q.begin(), q.begin() + 16}, {k.begin(), k.begin() + 48},
                        {v.begin(), v.begin() + 48}, false));
  }
}

TEST_F(Prompt, AnInfiniteScoreIsNaNOnA910BAndZeroOnA310P) {
  const auto result_on = [](const char* chip) {
    restart({{"PROFILE", chip}});
    Tensor<Half> query(ACL_FLOAT16, {1, 1, 16}, halves(std::vector<float>(16, 1)));
    Tensor<Half> key(ACL_FLOAT16, {1, 1, 16}, halves(std::vector<float>(16, INFINITY)));
    Tensor<Half> out(ACL_FLOAT16, {1, 1, 16}, halves(std::vector<float>(16, 5)));
    const aclTensor* const none = nullptr;
    const aclIntArray* const no_array = nullptr;
    const std::int64_t zero = 0;
    std::string layout = "BSH";
    EXPECT_EQ(RUN_OP(PromptFlashAttentionV3, query.get(), key.get(), query.get(), none, none,
                     no_array, no_array, none, none, none, none, none, std::int64_t{1}, 1.0, kAll,
                     kAll, layout.data(), zero, zero, zero, out.get()),
              ACL_SUCCESS);
    return floats(out.values())[0];
  };
  EXPECT_TRUE(std::isnan(result_on("910b")));
  EXPECT_EQ(result_on("310p"), 0);
}

TEST_F(Prompt, LimitsOfA310P) {
  const std::vector<std::pair<const char*, PromptUse>> wrong = {
      {"grouped heads", with<PromptUse>([](auto& u) {
         u.q = {1, 2, 4, 16}, u.heads = 2, u.key_heads = 1;
       })},
      {"a bias", with<PromptUse>([](auto& u) {
         u.bias = {1, 1, 4, 4};
       })},
      {"a mask in INT8", with<PromptUse>([](auto& u) {
         u.mask = {4, 4}, u.mask_type = ACL_INT8;
       })},
      {"a sparse mode", with<PromptUse>([](auto& u) { u.sparse = 1; })},
      {"a band before", with<PromptUse>([](auto& u) { u.before = 3; })},
      {"a band after", with<PromptUse>([](auto& u) { u.after = 3; })},
      {"129 batches", with<PromptUse>([](auto& u) {
         u.q = u.k = {129, 1, 4, 16};
       })},
      {"65536 rows", with<PromptUse>([](auto& u) {
         u.q = u.k = {1, 1, 65536, 16};
       })},
      {"a mask of other lengths", with<PromptUse>([](auto& u) {
         u.k = {1, 1, 8, 16}, u.mask = {4, 8};
       })},
  };
  for (const auto& [name, use] : wrong) {
    restart({{"PROFILE", "310p"}});
    EXPECT_EQ(prompt_code(use), ACLNN_ERR_PARAM_INVALID) << name;
    restart({});
    EXPECT_EQ(prompt_code(use), ACL_SUCCESS) << name << ": " << ascend_twin_last_message();
  }
  restart({{"PROFILE", "310p"}});
  EXPECT_EQ(prompt_code({}), ACL_SUCCESS);
  EXPECT_EQ(prompt_code(with<PromptUse>([](auto& u) { u.type = ACL_BF16; })),
            ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(prompt_code(with<PromptUse>([](auto& u) { u.has_scale = true; })),
            ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(prompt_code(with<PromptUse>([](auto& u) {
              u.mask = {4, 4}, u.after = 0;
            })),
            ACL_SUCCESS);
  EXPECT_EQ(prompt_code(with<PromptUse>([](auto& u) {
              u.q = {1, 1, 128, 16}, u.k = {1, 1, 256, 16}, u.mask = {128, 256};
            })),
            ACL_SUCCESS);
  restart({{"PROFILE", "310b"}});
  EXPECT_EQ(prompt_code({}), ACLNN_ERR_INNER_NULLPTR);
}

TEST_F(Prompt, LimitsOfOneRowOnA310P) {
  const std::vector<std::pair<const char*, OneUse>> wrong = {
      {"grouped heads", with<OneUse>([](auto& u) {
         u.q = {2, 2, 1, 16}, u.heads = 2, u.key_heads = 1;
       })},
      {"a bias", with<OneUse>([](auto& u) {
         u.bias = {1, 1, 1, 4};
       })},
      {"a mask in INT8", with<OneUse>([](auto& u) {
         u.mask = {2, 4}, u.mask_type = ACL_INT8;
       })},
      {"257 batches", with<OneUse>([](auto& u) {
         u.q = {257, 1, 1, 16}, u.k = {257, 1, 4, 16};
       })},
      {"65536 keys", with<OneUse>([](auto& u) {
         u.k = {2, 1, 65536, 16};
       })},
  };
  for (const auto& [name, use] : wrong) {
    restart({{"PROFILE", "310p"}});
    EXPECT_EQ(one_code(use), ACLNN_ERR_PARAM_INVALID) << name;
    restart({});
    EXPECT_EQ(one_code(use), ACL_SUCCESS) << name << ": " << ascend_twin_last_message();
  }
  for (const char* const chip : {"910b", "310p"}) {
    restart({{"PROFILE", chip}});
    EXPECT_EQ(one_code({}), ACL_SUCCESS);
    EXPECT_EQ(one_code(with<OneUse>([](auto& u) {
                u.q = {2, 1, 2, 16};
              })),
              ACLNN_ERR_PARAM_INVALID);
    EXPECT_EQ(one_code(with<OneUse>([](auto& u) { u.block = 128; })), ACLNN_ERR_PARAM_INVALID);
    EXPECT_EQ(one_code(with<OneUse>([](auto& u) { u.has_table = true; })), ACLNN_ERR_PARAM_INVALID);
    EXPECT_EQ(one_code(with<OneUse>([](auto& u) { u.mask = {2, 4}; })), ACL_SUCCESS);
  }
  restart({{"PROFILE", "310b"}});
  EXPECT_EQ(one_code({}), ACLNN_ERR_INNER_NULLPTR);
}

}  // namespace
}  // namespace ascend_test::attention_prompt
