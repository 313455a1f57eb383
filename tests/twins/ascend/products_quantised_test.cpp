// Products with weights of 8 and 4 bits: values against a second formula, layouts, limits.
#include <functional>

#include "products_support.h"

namespace ascend_test::products_quantised {
namespace {

using Quantised = TwinTest;
using Sizes = std::vector<std::int64_t>;
using Bytes = std::vector<std::int8_t>;

Bytes codes(std::size_t count, int size, unsigned seed) {
  Bytes result;
  for (const float value : numbers(count, size, seed))
    result.push_back(static_cast<std::int8_t>(value));
  return result;
}

/// Two codes a byte, the even one in the low nibble.
Bytes nibbles(const Bytes& values) {
  Bytes result;
  for (std::size_t i = 0; i < values.size(); i += 2) {
    result.push_back(static_cast<std::int8_t>((values[i] & 15) | (values[i + 1] & 15) << 4));
  }
  return result;
}

/// x [m][k] times the weight [n][k], whose scales are [n][k / group]; F16 weights, one rounding.
std::vector<float> expected(const std::vector<float>& x, const Bytes& w,
                            const std::vector<float>& scales, std::size_t m, std::size_t k,
                            std::size_t n, std::size_t group) {
  const std::size_t groups = (k + group - 1) / group;
  std::vector<float> weights(n * k);
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = 0; i < k; ++i) {
      weights[j * k + i] =
          float_of(half(static_cast<float>(w[j * k + i]) * scales[j * groups + i / group]));
    }
  }
  std::vector<float> result = product(x, turned(weights, n, k), m, k, n);
  for (float& value : result) value = float_of(half(value));
  return result;
}

/// One use with weights [n][k] as a program keeps them: views of (k, n) with strides (1, k).
struct Use {
  std::int64_t m = 3, k = 96, n = 10, group = 32;
  aclDataType type = ACL_INT8;
  std::vector<float> x = numbers(static_cast<std::size_t>(m * k), 4, 1);
  Bytes w = codes(static_cast<std::size_t>(n * k), 7, 2);
  std::vector<float> scales;
  Use() {
    for (const float value : numbers(static_cast<std::size_t>(n * 3), 30, 3))
      scales.push_back(value / 64 + 1);
  }
};

TEST_F(Quantised, GroupsOf32InTransposedViews) {
  for (const aclDataType type : {ACL_INT8, ACL_INT4}) {
    const Use use;
    Tensor<Half> x(ACL_FLOAT16, {3, 96}, halves(use.x));
    Buffer weights(960);
    weights.put(type == ACL_INT8 ? use.w : nibbles(use.w));
    Buffer scales(60);
    scales.put(halves(use.scales));
    const Described weight(weights.address(), type, {96, 10}, {1, 96}, 0, {960});
    const Described scale(scales.address(), ACL_FLOAT16, {3, 10}, {1, 3}, 0, {30});
    Tensor<Half> y(ACL_FLOAT16, {3, 10}, std::vector<Half>(30));
    ASSERT_EQ(RUN_OP(WeightQuantBatchMatmulV2, x.get(), weight.get(), scale.get(), nullptr, nullptr,
                     nullptr, nullptr, 32, y.get()),
              ACL_SUCCESS)
        << ascend_twin_last_message();
    EXPECT_EQ(floats(y.values()), expected(use.x, use.w, use.scales, 3, 96, 10, 32)) << type;
  }
}

TEST_F(Quantised, PiecesOfColumnsByTheOffsetInElements) {
  // Columns 4 to 9 of the weight: 4-bit elements count as elements of the offset.
  const Use use;
  Tensor<Half> x(ACL_FLOAT16, {3, 96}, halves(use.x));
  Buffer weights(480);
  weights.put(nibbles(use.w));
  Buffer scales(60);
  scales.put(halves(use.scales));
  const Described weight(weights.address(), ACL_INT4, {96, 6}, {1, 96}, 4 * 96, {960});
  const Described scale(scales.address(), ACL_FLOAT16, {3, 6}, {1, 3}, 12, {30});
  Buffer results(60);
  results.put(std::vector<Half>(30, 0xBEEF));
  const Described y(results.address(), ACL_FLOAT16, {3, 6}, {10, 1}, 4, {30});
  ASSERT_EQ(RUN_OP(WeightQuantBatchMatmulV2, x.get(), weight.get(), scale.get(), nullptr, nullptr,
                   nullptr, nullptr, 32, y.get()),
            ACL_SUCCESS)
      << ascend_twin_last_message();
  const std::vector<float> whole = expected(use.x, use.w, use.scales, 3, 96, 10, 32);
  const std::vector<Half> found = results.get<Half>();
  for (std::size_t i = 0; i < 30; ++i)
    EXPECT_EQ(found[i], i % 10 < 4 ? 0xBEEF : half(whole[i])) << i;
}

/// n blocks of 32 numbers as GGML keeps Q4_0: an F16, then the bytes with numbers j and j + 16.
std::vector<std::uint8_t> q4_0(const Bytes& values, const std::vector<float>& scales) {
  std::vector<std::uint8_t> blocks;
  for (std::size_t block = 0; block < scales.size(); ++block) {
    const Half scale = half(scales[block]);
    blocks.push_back(static_cast<std::uint8_t>(scale & 255));
    blocks.push_back(static_cast<std::uint8_t>(scale >> 8));
    for (std::size_t j = 0; j < 16; ++j) {
      const std::size_t at = block * 32 + j;
      blocks.push_back(static_cast<std::uint8_t>((values[at] + 8) | (values[at + 16] + 8) << 4));
    }
  }
  return blocks;
}

TEST_F(Quantised, BlocksOfQ4_0AsProgramsRearrangeThem) {
  const Use use;
  const std::vector<std::uint8_t> file = q4_0(use.w, use.scales);
  // All nibbles in order, offset binary made signed; then all scales.
  std::vector<std::uint8_t> device(480 + 60);
  for (std::size_t block = 0; block < 30; ++block) {
    const std::uint8_t* const from = &file[block * 18];
    for (std::size_t i = 0; i < 32; ++i) {
      const unsigned nibble = i < 16 ? from[2 + i] & 15U : from[2 + i - 16] >> 4;
      device[block * 16 + i / 2] |= static_cast<std::uint8_t>(nibble << (i % 2 * 4));
    }
    device[480 + block * 2] = from[0];
    device[480 + block * 2 + 1] = from[1];
  }
  for (std::size_t i = 0; i < 480; ++i) device[i] ^= 0x88;
  Buffer memory(device.size());
  memory.put(device);
  Tensor<Half> x(ACL_FLOAT16, {3, 96}, halves(use.x));
  const Described weight(memory.address(), ACL_INT4, {96, 10}, {1, 96}, 0, {960});
  const Described scale(memory.address(), ACL_FLOAT16, {3, 10}, {1, 3}, 240, {270});
  Tensor<Half> y(ACL_FLOAT16, {3, 10}, std::vector<Half>(30));
  ASSERT_EQ(RUN_OP(WeightQuantBatchMatmulV2, x.get(), weight.get(), scale.get(), nullptr, nullptr,
                   nullptr, nullptr, 32, y.get()),
            ACL_SUCCESS)
      << ascend_twin_last_message();
  EXPECT_EQ(floats(y.values()), expected(use.x, use.w, use.scales, 3, 96, 10, 32));
}

TEST_F(Quantised, MoreThan65535ColumnsInTwoPieces) {
  constexpr std::int64_t kColumns = 65535 + 5;
  const Bytes w = codes(kColumns * 32, 100, 11);
  const std::vector<float> x = numbers(32, 4, 12);
  std::vector<float> scales(kColumns, 0.5F);
  scales.back() = 0.25F;
  Tensor<Half> left(ACL_FLOAT16, {1, 32}, halves(x));
  Buffer weights(w.size());
  weights.put(w);
  Buffer factors(scales.size() * 2);
  factors.put(halves(scales));
  Buffer results(scales.size() * 2);
  const std::pair<std::int64_t, std::int64_t> pieces[] = {{0, 65535}, {65535, 5}};
  for (const auto& [begin, size] : pieces) {
    const Described weight(weights.address(), ACL_INT8, {32, size}, {1, 32}, begin * 32,
                           {kColumns * 32});
    const Described scale(factors.address(), ACL_FLOAT16, {1, size}, {size, 1}, begin, {kColumns});
    const Described y(results.address(), ACL_FLOAT16, {1, size}, {kColumns, 1}, begin, {kColumns});
    ASSERT_EQ(RUN_OP(WeightQuantBatchMatmulV2, left.get(), weight.get(), scale.get(), nullptr,
                     nullptr, nullptr, nullptr, 0, y.get()),
              ACL_SUCCESS)
        << ascend_twin_last_message();
  }
  EXPECT_EQ(floats(results.get<Half>()), expected(x, w, scales, 1, 32, kColumns, 32));
}

TEST_F(Quantised, OneGroupIsAScalePerChannelWithGroupSize0) {
  Use use;
  use.scales.resize(10);
  Tensor<Half> x(ACL_FLOAT16, {2, 32}, halves({use.x.begin(), use.x.begin() + 64}));
  Buffer weights(320);
  weights.put(Bytes(use.w.begin(), use.w.begin() + 320));
  const Described weight(weights.address(), ACL_INT8, {32, 10}, {1, 32}, 0, {320});
  Tensor<Half> scale(ACL_FLOAT16, {1, 10}, halves(use.scales));
  Tensor<Half> y(ACL_FLOAT16, {2, 10}, std::vector<Half>(20));
  ASSERT_EQ(RUN_OP(WeightQuantBatchMatmulV2, x.get(), weight.get(), scale.get(), nullptr, nullptr,
                   nullptr, nullptr, 0, y.get()),
            ACL_SUCCESS)
      << ascend_twin_last_message();
  EXPECT_EQ(floats(y.values()),
            expected({use.x.begin(), use.x.begin() + 64}, {use.w.begin(), use.w.begin() + 320},
                     use.scales, 2, 32, 10, 32));
}

TEST_F(Quantised, AnOddTailOfAGroup) {
  // k = 80: groups of 32, 32 and 16.
  const std::vector<float> x = numbers(80, 4, 4);
  const Bytes w = codes(5 * 80, 100, 5);
  const std::vector<float> scales = {1,    0.5F, 0.25F, 1,      0.5F, 0.25F, 2, 4,
                                     0.5F, 1,    0.25F, 0.125F, 1,    2,     4};
  Tensor<Half> left(ACL_FLOAT16, {1, 80}, halves(x));
  Tensor<std::int8_t> weight(ACL_INT8, {80, 5}, turned(w, 5, 80));
  Tensor<Half> scale(ACL_FLOAT16, {3, 5}, halves(turned(scales, 5, 3)));
  Tensor<Half> y(ACL_FLOAT16, {1, 5}, std::vector<Half>(5));
  ASSERT_EQ(RUN_OP(WeightQuantBatchMatmulV2, left.get(), weight.get(), scale.get(), nullptr,
                   nullptr, nullptr, nullptr, 32, y.get()),
            ACL_SUCCESS)
      << ascend_twin_last_message();
  EXPECT_EQ(floats(y.values()), expected(x, w, scales, 1, 80, 5, 32));
}

TEST_F(Quantised, TheOffsetIsAddedBeforeTheScaleAndTheBiasLast) {
  Tensor<Half> x(ACL_FLOAT16, {1, 2}, halves({1, 10}));
  Tensor<std::int8_t> weight(ACL_INT8, {2, 2}, {1, 2, 3, 4});
  Tensor<Half> scale(ACL_FLOAT16, {2}, halves({0.5F, 2}));
  Tensor<Half> offset(ACL_FLOAT16, {2}, halves({1, -1}));
  Tensor<Half> bias(ACL_FLOAT16, {2}, halves({100, 200}));
  Tensor<Half> y(ACL_FLOAT16, {1, 2}, std::vector<Half>(2));
  ASSERT_EQ(RUN_OP(WeightQuantBatchMatmulV2, x.get(), weight.get(), scale.get(), offset.get(),
                   nullptr, nullptr, bias.get(), 0, y.get()),
            ACL_SUCCESS)
      << ascend_twin_last_message();
  // Columns: 0.5 (2, 4) and 2 (1, 3).
  EXPECT_EQ(floats(y.values()), (std::vector<float>{1 + 20 + 100, 2 + 60 + 200}));
}

TEST_F(Quantised, WordsOfEightCodes) {
  const Bytes w = codes(16 * 8, 7, 6);  // [k = 16][n = 8]
  std::vector<std::int32_t> rows(16);
  std::vector<std::int32_t> columns(16);  // [n][k / 8]
  for (std::size_t i = 0; i < 16; ++i) {
    for (std::size_t j = 0; j < 8; ++j) {
      const auto code = static_cast<std::uint32_t>(w[i * 8 + j]) & 15U;
      rows[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(rows[i]) | code << 4 * j);
      std::int32_t& word = columns[j * 2 + i / 8];
      word = static_cast<std::int32_t>(static_cast<std::uint32_t>(word) | code << 4 * (i % 8));
    }
  }
  const std::vector<float> x = numbers(16, 4, 7);
  const std::vector<float> ones(8, 1);
  Tensor<Half> left(ACL_FLOAT16, {1, 16}, halves(x));
  Tensor<Half> scale(ACL_FLOAT16, {1}, halves({1}));
  Tensor<std::int32_t> by_rows(ACL_INT32, {16, 1}, rows);
  Buffer memory(64);
  memory.put(columns);
  const Described by_columns(memory.address(), ACL_INT32, {2, 8}, {1, 2}, 0, {16});
  for (aclTensor* const weight : {by_rows.get(), by_columns.get()}) {
    Tensor<Half> y(ACL_FLOAT16, {1, 8}, std::vector<Half>(8));
    ASSERT_EQ(RUN_OP(WeightQuantBatchMatmulV2, left.get(), weight, scale.get(), nullptr, nullptr,
                     nullptr, nullptr, 0, y.get()),
              ACL_SUCCESS)
        << ascend_twin_last_message();
    EXPECT_EQ(floats(y.values()), expected(x, turned(w, 16, 8), ones, 1, 16, 8, 16));
  }
}

TEST_F(Quantised, BfloatTakesABiasInF32) {
  const auto bfloat = [](float value) {
    return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
  };
  Tensor<std::uint16_t> x(ACL_BF16, {1, 2}, {bfloat(1), bfloat(2)});
  Tensor<std::int8_t> weight(ACL_INT8, {2, 1}, {3, 5});
  Tensor<std::uint16_t> scale(ACL_BF16, {1}, {bfloat(2)});
  Tensor<float> bias(ACL_FLOAT, {1}, {0.5F});
  Tensor<Half> wrong_bias(ACL_FLOAT16, {1}, halves({0.5F}));
  Tensor<std::uint16_t> y(ACL_BF16, {1, 1}, {0});
  ASSERT_EQ(RUN_OP(WeightQuantBatchMatmulV2, x.get(), weight.get(), scale.get(), nullptr, nullptr,
                   nullptr, bias.get(), 0, y.get()),
            ACL_SUCCESS);
  EXPECT_EQ(y.values()[0], bfloat(26.5F));
  EXPECT_EQ(RUN_OP(WeightQuantBatchMatmulV2, x.get(), weight.get(), scale.get(), nullptr, nullptr,
                   nullptr, wrong_bias.get(), 0, y.get()),
            ACLNN_ERR_PARAM_INVALID);
}

/// Shapes, strides and types of a use, which a test changes in one place.
struct Form {
  aclDataType type = ACL_FLOAT16, weight_type = ACL_INT8, scale_type = ACL_FLOAT16,
              y_type = ACL_FLOAT16;
  Sizes x = {2, 64}, x_strides = {}, weight = {64, 8}, weight_strides = {}, scale = {2, 8},
        scale_strides = {}, y = {2, 8};
  int group = 32;
  aclFormat format = ACL_FORMAT_ND;
  bool has_quant_scale = false, has_wide_bias = false, has_other_offset = false;
};

aclError code_of(const Form& form) {
  // The first phase needs no memory.
  const Sizes room{std::int64_t{1} << 40};
  const Described x(nullptr, form.type, form.x, form.x_strides, 0, room);
  const Described weight(nullptr, form.weight_type, form.weight, form.weight_strides, 0, room,
                         form.format);
  const Described scale(nullptr, form.scale_type, form.scale, form.scale_strides, 0, room);
  const Described other(nullptr, form.type, {3, 3}, {}, 0, room);
  const Described y(nullptr, form.y_type, form.y, {}, 0, room);
  std::uint64_t bytes = 0;
  return first_phase(aclnnWeightQuantBatchMatmulV2GetWorkspaceSize, &bytes, x.get(), weight.get(),
                     scale.get(), form.has_other_offset ? other.get() : nullptr,
                     form.has_quant_scale ? other.get() : nullptr, nullptr,
                     form.has_wide_bias ? other.get() : nullptr, form.group, y.get());
}

Form with(const std::function<void(Form&)>& change) {
  Form form;
  change(form);
  return form;
}

TEST_F(Quantised, LimitsOfA910B) {
  EXPECT_EQ(code_of({}), ACL_SUCCESS) << ascend_twin_last_message();
  const std::vector<std::pair<const char*, Form>> wrong = {
      {"group of 16", with([](Form& f) { f.group = 16; })},
      {"group of 48", with([](Form& f) { f.group = 48; })},
      {"group of all", with([](Form& f) {
         f.group = 64, f.scale = {1, 8};
       })},
      {"negative group", with([](Form& f) { f.group = -32; })},
      {"scales of another group", with([](Form& f) {
         f.scale = {3, 8};
       })},
      {"scales not transposed", with([](Form& f) {
         f.weight_strides = {1, 64};
       })},
      {"scales transposed", with([](Form& f) {
         f.scale_strides = {1, 2};
       })},
      {"scale in F32", with([](Form& f) { f.scale_type = ACL_FLOAT; })},
      {"weight in F16", with([](Form& f) { f.weight_type = ACL_FLOAT16; })},
      {"x in F32", with([](Form& f) { f.type = ACL_FLOAT; })},
      {"y in F32", with([](Form& f) { f.y_type = ACL_FLOAT; })},
      {"y in INT8", with([](Form& f) { f.y_type = ACL_INT8; })},
      {"scale of the result", with([](Form& f) { f.has_quant_scale = true; })},
      {"bias of another shape", with([](Form& f) { f.has_wide_bias = true; })},
      {"offset of another shape", with([](Form& f) { f.has_other_offset = true; })},
      {"strided weight", with([](Form& f) {
         f.weight_strides = {16, 1};
       })},
      {"strided x", with([](Form& f) {
         f.x_strides = {128, 1};
       })},
      {"other k", with([](Form& f) {
         f.weight = {96, 8}, f.scale = {3, 8};
       })},
      {"other y", with([](Form& f) {
         f.y = {2, 9};
       })},
      {"deep x", with([](Form& f) {
         f.x = {1, 2, 64};
       })},
      {"no rows", with([](Form& f) {
         f.x = {0, 64}, f.y = {0, 8};
       })},
      {"wide", with([](Form& f) {
         f.weight = {64, 65536}, f.scale = {2, 65536}, f.y = {2, 65536};
       })},
      {"deep", with([](Form& f) {
         f.x = {2, 65536}, f.weight = {65536, 8}, f.scale = {2048, 8};
       })},
      {"tall and transposed", with([](Form& f) {
         f.x = {65536, 64}, f.x_strides = {1, 65536}, f.y = {65536, 8};
       })},
      {"odd INT4 rows", with([](Form& f) {
         f.weight_type = ACL_INT4, f.weight = {64, 7}, f.scale = {2, 7}, f.y = {2, 7};
       })},
      {"INT4 in NZ",
       with([](Form& f) { f.weight_type = ACL_INT4, f.format = ACL_FORMAT_FRACTAL_NZ; })},
      {"groups in NZ", with([](Form& f) { f.format = ACL_FORMAT_FRACTAL_NZ; })},
  };
  for (const auto& [name, form] : wrong) EXPECT_EQ(code_of(form), ACLNN_ERR_PARAM_INVALID) << name;
  const std::vector<std::pair<const char*, Form>> right = {
      {"both transposed", with([](Form& f) {
         f.weight_strides = {1, 64}, f.scale_strides = {1, 2};
       })},
      {"x transposed", with([](Form& f) {
         f.x_strides = {1, 2};
       })},
      {"65535 columns", with([](Form& f) {
         f.weight = {64, 65535}, f.scale = {2, 65535}, f.y = {2, 65535};
       })},
      {"tall", with([](Form& f) {
         f.x = {65536, 64}, f.y = {65536, 8};
       })},
      {"odd INT4 columns of even rows", with([](Form& f) {
         f.weight_type = ACL_INT4, f.weight = {64, 7}, f.weight_strides = {1, 64};
         f.scale = {2, 7}, f.scale_strides = {1, 2}, f.y = {2, 7};
       })},
      {"one scale", with([](Form& f) { f.group = 0, f.scale = {1}; })},
      {"NZ of INT8",
       with([](Form& f) { f.group = 0, f.scale = {8}, f.format = ACL_FORMAT_FRACTAL_NZ; })},
  };
  for (const auto& [name, form] : right)
    EXPECT_EQ(code_of(form), ACL_SUCCESS) << name << ": " << ascend_twin_last_message();
}

TEST_F(Quantised, A310PHasInt8AndF16OnlyAndA310BNothing) {
  restart({{"PROFILE", "310p"}});
  EXPECT_EQ(code_of({}), ACL_SUCCESS) << ascend_twin_last_message();
  EXPECT_EQ(code_of(with([](Form& f) { f.weight_type = ACL_INT4; })), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code_of(with([](Form& f) {
              f.weight_type = ACL_INT32, f.weight = {64, 1};
            })),
            ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code_of(with([](Form& f) { f.type = f.scale_type = f.y_type = ACL_BF16; })),
            ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code_of(with([](Form& f) { f.group = 0, f.scale = {8, 1}; })), ACL_SUCCESS);
  EXPECT_EQ(code_of(with([](Form& f) { f.group = 0, f.scale = {1, 8}; })), ACLNN_ERR_PARAM_INVALID);
  const auto nz = [](const Sizes& weight, const Sizes& strides, const Sizes& scale) {
    return with([&](Form& f) {
      f.format = ACL_FORMAT_FRACTAL_NZ, f.weight = weight, f.weight_strides = strides;
      f.scale = scale;
    });
  };
  EXPECT_EQ(code_of(nz({8, 64}, {}, {8, 2})), ACL_SUCCESS) << ascend_twin_last_message();
  EXPECT_EQ(code_of(nz({64, 8}, {}, {2, 8})), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code_of(nz({8, 64}, {}, {2, 8})), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code_of(nz({8, 64}, {1, 8}, {8, 2})), ACLNN_ERR_PARAM_INVALID);
  restart({{"PROFILE", "310b"}});
  EXPECT_EQ(code_of({}), ACLNN_ERR_RUNTIME_ERROR);
}

TEST_F(Quantised, A910BMultipliesAConvertedWeightWithScalesOfColumns) {
  const Use use;
  const std::vector<float> scales(use.scales.begin(), use.scales.begin() + 10);
  Tensor<Half> x(ACL_FLOAT16, {3, 96}, halves(use.x));
  Buffer weights(16 * 96);
  weights.put(Bytes(16 * 96));
  weights.put(use.w);
  const Described stored(weights.address(), ACL_INT8, {10, 96}, {}, 0, {10, 96});
  ASSERT_EQ(RUN_OP(TransMatmulWeight, stored.get()), ACL_SUCCESS);
  const Described weight(weights.address(), ACL_INT8, {96, 10}, {1, 96}, 0, {16 * 96},
                         ACL_FORMAT_FRACTAL_NZ);
  Tensor<Half> scale(ACL_FLOAT16, {10}, halves(scales));
  Tensor<Half> y(ACL_FLOAT16, {3, 10}, std::vector<Half>(30));
  ASSERT_EQ(RUN_OP(WeightQuantBatchMatmulV2, x.get(), weight.get(), scale.get(), nullptr, nullptr,
                   nullptr, nullptr, 0, y.get()),
            ACL_SUCCESS)
      << ascend_twin_last_message();
  EXPECT_EQ(floats(y.values()), expected(use.x, use.w, scales, 3, 96, 10, 96));
}

TEST_F(Quantised, A310PMultipliesAConvertedWeight) {
  restart({{"PROFILE", "310p"}});
  const Use use;
  Tensor<Half> x(ACL_FLOAT16, {3, 96}, halves(use.x));
  Buffer weights(16 * 96);
  weights.put(Bytes(16 * 96));
  weights.put(use.w);
  const Described weight(weights.address(), ACL_INT8, {10, 96}, {}, 0, {10, 96});
  ASSERT_EQ(RUN_OP(TransMatmulWeight, weight.get()), ACL_SUCCESS);
  Tensor<Half> scale(ACL_FLOAT16, {10, 3}, halves(use.scales));
  Tensor<Half> y(ACL_FLOAT16, {3, 10}, std::vector<Half>(30));
  ASSERT_EQ(RUN_OP(WeightQuantBatchMatmulV2, x.get(), weight.get(), scale.get(), nullptr, nullptr,
                   nullptr, nullptr, 32, y.get()),
            ACL_SUCCESS)
      << ascend_twin_last_message();
  EXPECT_EQ(floats(y.values()), expected(use.x, use.w, use.scales, 3, 96, 10, 32));
}

}  // namespace
}  // namespace ascend_test::products_quantised
