// Attention against a second formula in double: layouts, grouped heads, masks, bands, sinks.
#include <functional>

#include "products_support.h"

namespace ascend_test::attention_fused {
namespace {

using Fused = TwinTest;
using Sizes = std::vector<std::int64_t>;
using Mask = std::vector<std::uint8_t>;

/// A use of attention. Numbers are [B][N][S][D]; the layout is made from them.
struct Use {
  std::int64_t batches = 2, heads = 4, key_heads = 2, queries = 3, keys = 5, width = 16;
  std::string layout = "BNSD";
  double scale = 0.25;
  std::vector<float> bias;  ///< [B][N][S][keys]
  Mask mask;
  Sizes mask_shape;
  std::vector<std::int64_t> key_lengths, query_lengths;
  std::int64_t before = 2147483647, after = 2147483647, sparse = 0, precise = 0;
  std::vector<float> sink;
  bool wants_lse = false;
  bool in_list = false;

  std::vector<float> q() const { return values(heads, queries, 1); }
  std::vector<float> k() const { return values(key_heads, keys, 2); }
  std::vector<float> v() const { return values(key_heads, keys, 3); }

 private:
  /// Quarters: exact in F16.
  std::vector<float> values(std::int64_t count, std::int64_t rows, unsigned seed) const {
    std::vector<float> result =
        numbers(static_cast<std::size_t>(batches * count * rows * width), 8, seed);
    for (float& value : result) value /= 4;
    return result;
  }
};

/// The formula: hidden(batch, i, j) is the mask and the band.
struct Result {
  std::vector<double> out, lse;
};
Result formula(const Use& use,
               const std::function<bool(std::int64_t, std::int64_t, std::int64_t)>& hidden) {
  const std::vector<float> q = use.q(), k = use.k(), v = use.v();
  Result result;
  for (std::int64_t b = 0; b < use.batches; ++b) {
    for (std::int64_t h = 0; h < use.heads; ++h) {
      for (std::int64_t i = 0; i < use.queries; ++i) {
        const std::int64_t kh = h * use.key_heads / use.heads;
        const auto row = [&](std::int64_t heads, std::int64_t head, std::int64_t rows,
                             std::int64_t r) {
          return static_cast<std::size_t>(((b * heads + head) * rows + r) * use.width);
        };
        std::vector<double> weights;
        double sum = use.sink.empty()
                         ? 0
                         : std::exp(static_cast<double>(use.sink[static_cast<std::size_t>(h)]));
        for (std::int64_t j = 0; j < use.keys; ++j) {
          double score = 0;
          for (std::int64_t d = 0; d < use.width; ++d) {
            score += static_cast<double>(
                         q[row(use.heads, h, use.queries, i) + static_cast<std::size_t>(d)]) *
                     static_cast<double>(
                         k[row(use.key_heads, kh, use.keys, j) + static_cast<std::size_t>(d)]);
          }
          score *= use.scale;
          if (!use.bias.empty()) {
            score += static_cast<double>(use.bias[static_cast<std::size_t>(
                ((b * use.heads + h) * use.queries + i) * use.keys + j)]);
          }
          weights.push_back(hidden(b, i, j) ? 0 : std::exp(score));
          sum += weights.back();
        }
        for (std::int64_t d = 0; d < use.width; ++d) {
          double total = 0;
          for (std::int64_t j = 0; j < use.keys; ++j) {
            total += weights[static_cast<std::size_t>(j)] / sum *
                     static_cast<double>(
                         v[row(use.key_heads, kh, use.keys, j) + static_cast<std::size_t>(d)]);
          }
          result.out.push_back(total);
        }
        result.lse.push_back(std::log(sum));
      }
    }
  }
  return result;
}
bool visible(std::int64_t, std::int64_t, std::int64_t) {
  return false;
}

/// [B][N][S][D] to [B][S][N][D], and back with the sizes swapped.
template <class Value>
std::vector<Value> swapped(const std::vector<Value>& values, std::int64_t batches, std::int64_t n,
                           std::int64_t s, std::int64_t d) {
  std::vector<Value> result(values.size());
  for (std::int64_t b = 0; b < batches; ++b) {
    for (std::int64_t i = 0; i < n * s * d; ++i) {
      const std::int64_t head = i / (s * d), row = i / d % s, column = i % d;
      result[static_cast<std::size_t>(((b * s + row) * n + head) * d + column)] =
          values[static_cast<std::size_t>(b * n * s * d + i)];
    }
  }
  return result;
}

Sizes shape_of(const std::string& layout, std::int64_t b, std::int64_t n, std::int64_t s,
               std::int64_t d) {
  if (layout == "BSH") return {b, s, n * d};
  return layout == "BSND" ? Sizes{b, s, n, d} : Sizes{b, n, s, d};
}

struct Found {
  aclError code = ACL_SUCCESS;
  std::vector<float> out, lse;  ///< [B][N][S][D]
};

/// The call with everything that a Use says; V4 with a sink.
Found call(const Use& use) {
  const bool is_both = use.layout == "BNSD_BSND";
  const std::string in = is_both ? "BNSD" : use.layout;
  const std::string out_layout = is_both ? "BSND" : use.layout;
  const auto arranged = [&](const std::vector<float>& values, std::int64_t n, std::int64_t s) {
    return halves(in == "BNSD" ? values : swapped(values, use.batches, n, s, use.width));
  };
  Tensor<Half> q(ACL_FLOAT16, shape_of(in, use.batches, use.heads, use.queries, use.width),
                 arranged(use.q(), use.heads, use.queries));
  const std::int64_t elements = use.key_heads * use.keys * use.width;
  Buffer k(static_cast<std::size_t>(use.batches * elements * 2));
  Buffer v(static_cast<std::size_t>(use.batches * elements * 2));
  k.put(arranged(use.k(), use.key_heads, use.keys));
  v.put(arranged(use.v(), use.key_heads, use.keys));
  const auto list = [&](const Buffer& memory) {
    std::vector<aclTensor*> members;
    const std::int64_t count = use.in_list ? use.batches : 1;
    for (std::int64_t i = 0; i < count; ++i) {
      members.push_back(
          member(static_cast<char*>(memory.address()) + i * elements * 2, ACL_FLOAT16,
                 shape_of(in, use.batches / count, use.key_heads, use.keys, use.width)));
    }
    return members;
  };
  const List keys(list(k));
  const List values(list(v));
  const Tensor<Half> bias(
      ACL_FLOAT16, {use.batches, use.heads, use.queries, use.keys},
      halves(use.bias.empty() ? std::vector<float>(static_cast<std::size_t>(
                                    use.batches * use.heads * use.queries * use.keys))
                              : use.bias));
  const Tensor<std::uint8_t> mask(ACL_UINT8, use.mask_shape.empty() ? Sizes{1} : use.mask_shape,
                                  use.mask.empty() ? Mask{0} : use.mask);
  const Integers key_lengths(use.key_lengths);
  const Integers query_lengths(use.query_lengths);
  const std::int64_t rows = use.batches * use.heads * use.queries;
  Tensor<Half> out(ACL_FLOAT16,
                   shape_of(out_layout, use.batches, use.heads, use.queries, use.width),
                   std::vector<Half>(static_cast<std::size_t>(rows * use.width), 0xBEEF));
  Tensor<float> lse(ACL_FLOAT, {use.batches, use.heads, use.queries, 1},
                    std::vector<float>(static_cast<std::size_t>(rows)));
  const Tensor<Half> sink(
      ACL_FLOAT16, {use.heads},
      halves(use.sink.empty() ? std::vector<float>(static_cast<std::size_t>(use.heads))
                              : use.sink));
  const aclTensor* const none = nullptr;
  const aclIntArray* const no_array = nullptr;
  std::string layout = use.layout;
  Found found;
  const aclTensor* const pse = use.bias.empty() ? none : bias.get();
  const aclTensor* const hidden = use.mask.empty() ? none : mask.get();
  const aclIntArray* const q_lengths = use.query_lengths.empty() ? no_array : query_lengths.get();
  const aclIntArray* const k_lengths = use.key_lengths.empty() ? no_array : key_lengths.get();
  const aclTensor* const logarithms = use.wants_lse ? lse.get() : none;
  const std::int64_t zero = 0;
  if (use.sink.empty()) {
    found.code = RUN_OP(FusedInferAttentionScoreV2, q.get(), keys.get(), values.get(), pse, hidden,
                        q_lengths, k_lengths, none, none, none, none, none, none, none, none, none,
                        none, none, none, none, none, none, none, no_array, use.heads, use.scale,
                        use.before, use.after, layout.data(), use.key_heads, use.sparse,
                        use.precise, zero, zero, use.wants_lse, zero, zero, out.get(), logarithms);
  } else {
    found.code = RUN_NEWER(
        "libopapi_transformer.so", FusedInferAttentionScoreV4, q.get(), keys.get(), values.get(),
        pse, hidden, q_lengths, k_lengths, none, none, none, none, none, none, none, none, none,
        none, none, none, none, none, none, none, no_array, none, none, none, none, sink.get(),
        use.heads, use.scale, use.before, use.after, layout.data(), use.key_heads, use.sparse,
        use.precise, zero, zero, use.wants_lse, zero, zero, zero, out.get(), logarithms);
  }
  found.out = floats(out.values());
  if (out_layout != "BNSD")
    found.out = swapped(found.out, use.batches, use.queries, use.heads, use.width);
  found.lse = lse.values();
  return found;
}

/// Within one rounding to F16 and the error of scores in FP32.
void expect_near(const std::vector<float>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double size = std::fabs(expected[i]);
    EXPECT_NEAR(static_cast<double>(found[i]), expected[i], size * 0x1p-11 + 1e-5) << i;
  }
}

void expect_formula(const Use& use,
                    const std::function<bool(std::int64_t, std::int64_t, std::int64_t)>& hidden) {
  const Found found = call(use);
  ASSERT_EQ(found.code, ACL_SUCCESS) << ascend_twin_last_message();
  expect_near(found.out, formula(use, hidden).out);
}

TEST_F(Fused, EveryLayoutGivesTheFormula) {
  for (const char* const layout : {"BSH", "BSND", "BNSD", "BNSD_BSND"}) {
    Use use;
    use.layout = layout;
    expect_formula(use, visible);
  }
}

TEST_F(Fused, ManyKeysOfOneQueryAndAListOfBatches) {
  Use use;
  use.queries = 1;
  use.keys = 70;
  use.in_list = true;
  expect_formula(use, visible);
}

TEST_F(Fused, TheBiasIsAddedAfterTheScaleAndMinusInfinityHides) {
  Use use;
  for (const float value : numbers(2 * 4 * 3 * 5, 6, 9)) use.bias.push_back(value / 2);
  for (std::size_t i = 0; i < use.bias.size(); i += 5) use.bias[i + 4] = -INFINITY;
  expect_formula(use, visible);
}

TEST_F(Fused, MasksOfEveryShape) {
  const Mask one = {0, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1};
  const Mask two = {1, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 1, 1, 1, 1};
  Mask both = one;
  both.insert(both.end(), two.begin(), two.end());
  for (const Sizes& shape : {Sizes{3, 5}, Sizes{1, 3, 5}, Sizes{1, 1, 3, 5}}) {
    Use use;
    use.mask = one;
    use.mask_shape = shape;
    expect_formula(use, [&](std::int64_t, std::int64_t i, std::int64_t j) {
      return one[static_cast<std::size_t>(i * 5 + j)] != 0;
    });
  }
  for (const Sizes& shape : {Sizes{2, 3, 5}, Sizes{2, 1, 3, 5}}) {
    Use use;
    use.mask = both;
    use.mask_shape = shape;
    expect_formula(use, [&](std::int64_t b, std::int64_t i, std::int64_t j) {
      return both[static_cast<std::size_t>(b * 15 + i * 5 + j)] != 0;
    });
  }
  for (const Sizes& shape : {Sizes{2, 5}, Sizes{2, 1, 5}, Sizes{2, 1, 1, 5}}) {
    Use use;
    use.queries = 1;
    use.mask = {0, 1, 0, 1, 0, 1, 1, 0, 0, 0};
    use.mask_shape = shape;
    expect_formula(use, [&](std::int64_t b, std::int64_t, std::int64_t j) {
      return use.mask[static_cast<std::size_t>(b * 5 + j)] != 0;
    });
  }
}

TEST_F(Fused, AMaskMayBePaddedTo32Columns) {
  Use use;
  use.mask.assign(3 * 32, 0);
  use.mask[1] = use.mask[32 + 2] = 1;
  use.mask_shape = {3, 32};
  expect_formula(use, [](std::int64_t, std::int64_t i, std::int64_t j) {
    return (i == 0 && j == 1) || (i == 1 && j == 2);
  });
  use.mask.assign(3 * 33, 0);
  use.mask_shape = {3, 33};
  EXPECT_EQ(call(use).code, ACLNN_ERR_PARAM_INVALID);
}

TEST_F(Fused, BandsOfEachSparseMode) {
  struct Row {
    std::int64_t sparse, before, after;
    std::function<bool(std::int64_t, std::int64_t, std::int64_t)> hidden;
  };
  const Row rows[] = {
      {0, 1, 0, [](auto, auto i, auto j) { return j > i || j < i - 1; }},
      {1, 1, 0, [](auto, auto, auto) { return false; }},
      {2, 0, 0, [](auto, auto i, auto j) { return j > i; }},
      {3, 0, 0, [](auto, auto i, auto j) { return j > i + 2; }},
      {4, 2, 1, [](auto, auto i, auto j) { return j > i + 3 || j < i; }},
  };
  for (const Row& row : rows) {
    Use use;
    use.sparse = row.sparse;
    use.before = row.before;
    use.after = row.after;
    const std::int64_t size = row.sparse < 2 ? 0 : 2048;
    use.mask.assign(row.sparse < 2 ? 15 : 2048 * 2048, row.sparse < 2 ? 0 : 1);
    use.mask_shape = row.sparse < 2 ? Sizes{3, 5} : Sizes{size, size};
    expect_formula(use, row.hidden);
    use.mask.assign(15, 0);
    use.mask_shape = {3, 5};
    EXPECT_EQ(call(use).code, row.sparse < 2 ? ACL_SUCCESS : ACLNN_ERR_PARAM_INVALID);
    use.mask.clear();
    EXPECT_EQ(call(use).code, row.sparse < 2 ? ACL_SUCCESS : ACLNN_ERR_PARAM_NULLPTR);
  }
}

TEST_F(Fused, LengthsOfEachBatch) {
  Use use;
  use.key_lengths = {2, 4};
  expect_formula(
      use, [](std::int64_t b, std::int64_t, std::int64_t j) { return j >= (b == 0 ? 2 : 4); });
  use.key_lengths = {3};
  expect_formula(use, [](std::int64_t, std::int64_t, std::int64_t j) { return j >= 3; });
  use.query_lengths = {2, 3};
  const Found found = call(use);
  ASSERT_EQ(found.code, ACL_SUCCESS);
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(found.out[2 * 16 + i], 0) << i;
  for (const std::vector<std::int64_t>& wrong :
       {std::vector<std::int64_t>{6}, std::vector<std::int64_t>{-1, 2}}) {
    use.key_lengths = wrong;
    EXPECT_EQ(call(use).code, ACLNN_ERR_PARAM_INVALID);
  }
}

TEST_F(Fused, HiddenRowsAreMeansOrZeroAndRowsOfMinusInfinityAreNaN) {
  Use use;
  use.mask.assign(15, 0);
  for (std::size_t j = 5; j < 10; ++j) use.mask[j] = 1;  // row 1
  use.mask_shape = {3, 5};
  Found found = call(use);
  ASSERT_EQ(found.code, ACL_SUCCESS);
  const std::vector<float> v = use.v();
  for (std::size_t d = 0; d < 16; ++d) {
    float mean = 0;
    for (std::size_t j = 0; j < 5; ++j) mean += v[j * 16 + d] / 5;
    EXPECT_NEAR(found.out[16 + d], mean, 1e-3) << d;
  }
  use.precise = 2;
  found = call(use);
  for (std::size_t d = 0; d < 16; ++d) EXPECT_EQ(found.out[16 + d], 0);
  EXPECT_NE(found.out[0], 0);
  use.mask.clear();
  use.bias.assign(2 * 4 * 3 * 5, 0);
  for (std::size_t j = 5; j < 10; ++j) use.bias[j] = -INFINITY;
  found = call(use);
  for (std::size_t d = 0; d < 16; ++d) EXPECT_EQ(found.out[16 + d], 0);
  use.precise = 0;
  found = call(use);
  for (std::size_t d = 0; d < 16; ++d) EXPECT_TRUE(std::isnan(found.out[16 + d]));
  EXPECT_FALSE(std::isnan(found.out[0]));
}

TEST_F(Fused, SinksAndLogarithmsOfSums) {
  Use use;
  use.wants_lse = true;
  Found found = call(use);
  ASSERT_EQ(found.code, ACL_SUCCESS) << ascend_twin_last_message();
  std::vector<double> expected = formula(use, visible).lse;
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(static_cast<double>(found.lse[i]), expected[i], 1e-5);
  use.sink = {0, 1, -2, 3};
  found = call(use);
  ASSERT_EQ(found.code, ACL_SUCCESS) << ascend_twin_last_message();
  const Result with_sink = formula(use, visible);
  expect_near(found.out, with_sink.out);
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(static_cast<double>(found.lse[i]), with_sink.lse[i], 1e-5);
}

TEST_F(Fused, HighPerformanceRoundsScoresToF16) {
  Use use;
  use.scale = 200;
  for (const std::int64_t precise : {0, 1}) {
    use.precise = precise;
    const Found found = call(use);
    ASSERT_EQ(found.code, ACL_SUCCESS);
    // Scores beyond 65504 are infinite in F16, and their differences NaN.
    bool has_nan = false;
    for (const float value : found.out) has_nan = has_nan || std::isnan(value);
    EXPECT_EQ(has_nan, false) << precise;
  }
  use.scale = 20000;
  use.precise = 0;
  Found found = call(use);
  for (const float value : found.out) EXPECT_FALSE(std::isnan(value));
  use.precise = 1;
  found = call(use);
  bool has_nan = false;
  for (const float value : found.out) has_nan = has_nan || std::isnan(value);
  EXPECT_TRUE(has_nan);
}

TEST_F(Fused, NumbersThatAreRefused) {
  const std::vector<std::pair<const char*, std::function<void(Use&)>>> changes = {
      {"layout", [](Use& u) { u.layout = "TND"; }},
      {"heads that do not share", [](Use& u) { u.key_heads = 3; }},
      {"a width of 24", [](Use& u) { u.width = 24; }},
      {"a width of 528", [](Use& u) { u.width = 528; }},
      {"257 heads", [](Use& u) { u.heads = u.key_heads = 257; }},
      {"65 heads for one", [](Use& u) { u.heads = 65, u.key_heads = 1; }},
      {"sparse mode 5", [](Use& u) { u.sparse = 5; }},
      {"precise 4", [](Use& u) { u.precise = 4; }},
      {"one row of BNSD_BSND", [](Use& u) { u.layout = "BNSD_BSND", u.queries = 1; }},
      {"mask of another shape",
       [](Use& u) {
         u.mask = Mask(12), u.mask_shape = {3, 4};
       }},
      {"mask of heads",
       [](Use& u) {
         u.mask = Mask(120), u.mask_shape = {2, 4, 3, 5};
       }},
      {"mask of batches",
       [](Use& u) {
         u.mask = Mask(45), u.mask_shape = {3, 3, 5};
       }},
  };
  for (const auto& [name, change] : changes) {
    Use use;
    use.batches = 2;
    change(use);
    EXPECT_EQ(call(use).code, ACLNN_ERR_PARAM_INVALID) << name;
  }
}

}  // namespace
}  // namespace ascend_test::attention_fused
