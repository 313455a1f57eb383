// The places of cells: against a walk through pages and sticks, and the numbers of zDNN's
// documentation.
#include <map>
#include <set>

#include "support.h"

namespace {

using namespace zdnn_test;

class ZdnnTwinLayouts : public TwinTest {};

struct Dims {
  std::uint32_t d4, d3, d2, d1;
};

using Index = std::array<std::uint32_t, 4>;  // e4, e3, e2, e1

// 4DFEATURE by walking: for each dim4, for each stick of dim1, for each dim3, pages of 32 sticks of
// dim2.
std::map<Index, std::uint64_t> walk_feature(Dims d, std::uint32_t cells, std::uint32_t cell_bytes) {
  std::map<Index, std::uint64_t> where;
  std::uint64_t byte = 0;
  for (std::uint32_t e4 = 0; e4 < d.d4; ++e4)
    for (std::uint32_t first = 0; first < d.d1; first += cells)
      for (std::uint32_t e3 = 0; e3 < d.d3; ++e3)
        for (std::uint32_t e2 = 0; e2 < (d.d2 + 31) / 32 * 32; ++e2)
          for (std::uint32_t i = 0; i < cells; ++i, byte += cell_bytes)
            if (e2 < d.d2 && first + i < d.d1) where[{e4, e3, e2, first + i}] = byte;
  return where;
}

// 4DKERNEL: for each stick of dim1, dim4, dim3, pages of dim2.
std::map<Index, std::uint64_t> walk_kernel(Dims d) {
  std::map<Index, std::uint64_t> where;
  std::uint64_t byte = 0;
  for (std::uint32_t first = 0; first < d.d1; first += 64)
    for (std::uint32_t e4 = 0; e4 < d.d4; ++e4)
      for (std::uint32_t e3 = 0; e3 < d.d3; ++e3)
        for (std::uint32_t e2 = 0; e2 < (d.d2 + 31) / 32 * 32; ++e2)
          for (std::uint32_t i = 0; i < 64; ++i, byte += 2)
            if (e2 < d.d2 && first + i < d.d1) where[{e4, e3, e2, first + i}] = byte;
  return where;
}

// 4DWEIGHTS of bytes: two rows of dim2 in one stick of 64 columns, byte by byte.
std::map<Index, std::uint64_t> walk_weights(Dims d) {
  std::map<Index, std::uint64_t> where;
  std::uint64_t byte = 0;
  for (std::uint32_t e4 = 0; e4 < d.d4; ++e4)
    for (std::uint32_t first = 0; first < d.d1; first += 64)
      for (std::uint32_t e3 = 0; e3 < d.d3; ++e3)
        for (std::uint32_t pair = 0; pair < (d.d2 + 63) / 64 * 64; pair += 2)
          for (std::uint32_t i = 0; i < 64; ++i)
            for (std::uint32_t e2 = pair; e2 < pair + 2; ++e2, ++byte)
              if (e2 < d.d2 && first + i < d.d1) where[{e4, e3, e2, first + i}] = byte;
  return where;
}

constexpr Dims kShapes[] = {{1, 1, 1, 1},   {1, 1, 1, 64},   {1, 1, 32, 65}, {2, 3, 33, 65},
                            {3, 1, 31, 63}, {1, 4, 64, 130}, {2, 3, 33, 129}};

// Dense host numbers, different from each other as far as 16 bits allow.
std::vector<float> numbered(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = value_of(static_cast<std::uint16_t>(1 + i % 30000));
  return values;
}

TEST_F(ZdnnTwinLayouts, FeatureCellsMatchTheWalkAndPaddingIsPoisoned) {
  for (const Dims d : kShapes) {
    const auto values = numbered(std::size_t{d.d4} * d.d3 * d.d2 * d.d1);
    Tensor t(ZDNN_NHWC, {d.d4, d.d3, d.d2, d.d1});
    std::memset(t.tensor.buffer, 0, t.tensor.buffer_size);
    t.put(values);
    const auto where = walk_feature(d, 64, 2);
    std::set<std::uint64_t> used;
    std::size_t i = 0;
    for (const auto& [index, byte] : where) {  // a map's order is the host's
      EXPECT_EQ(t.cell(byte), 1 + i % 30000);
      used.insert(byte);
      ++i;
    }
    EXPECT_EQ(i, values.size());
    for (std::uint64_t byte = 0; byte < t.tensor.buffer_size; byte += 2)
      ASSERT_TRUE(used.count(byte) != 0 || t.cell(byte) == kNinf) << byte;
    EXPECT_EQ(t.get(values.size()), values);
  }
}

TEST_F(ZdnnTwinLayouts, KernelCellsMatchTheWalk) {
  for (const Dims d : kShapes) {
    const auto values = numbered(std::size_t{d.d4} * d.d3 * d.d2 * d.d1);
    Tensor t(ZDNN_HWCK, {d.d4, d.d3, d.d2, d.d1}, values);
    EXPECT_EQ(t.desc.format, ZDNN_FORMAT_4DKERNEL);
    std::size_t i = 0;
    for (const auto& [index, byte] : walk_kernel(d)) EXPECT_EQ(t.cell(byte), 1 + i++ % 30000);
    std::vector<float> out(values.size());
    EXPECT_EQ(zdnn_transform_origtensor(t, out.data()), ZDNN_INVALID_FORMAT);
  }
}

TEST_F(ZdnnTwinLayouts, Int8CellsMatchTheWalk) {
  for (const Dims d : kShapes) {
    const std::size_t count = std::size_t{d.d4} * d.d3 * d.d2 * d.d1;
    std::vector<std::int8_t> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<std::int8_t>(i % 251);
    for (const bool weights : {false, true}) {
      Tensor t = Tensor::quantized(ZDNN_4D, INT8, {d.d4, d.d3, d.d2, d.d1},
                                   weights ? QUANTIZED_WEIGHTS_INT8 : QUANTIZED_INT8, 1, 0);
      std::memset(t.tensor.buffer, 0, t.tensor.buffer_size);
      ASSERT_EQ(zdnn_transform_quantized_ztensor(t, false, -128, 127, values.data()), ZDNN_OK);
      const auto* bytes = static_cast<const std::int8_t*>(t.tensor.buffer);
      std::set<std::uint64_t> used;
      std::size_t i = 0;
      for (const auto& [index, byte] : weights ? walk_weights(d) : walk_feature(d, 128, 1)) {
        EXPECT_EQ(bytes[byte], values[i++]);
        used.insert(byte);
      }
      for (std::uint64_t byte = 0; byte < t.tensor.buffer_size; ++byte)
        ASSERT_TRUE(used.count(byte) != 0 || bytes[byte] == 0x7F) << byte;
    }
  }
}

TEST_F(ZdnnTwinLayouts, OffsetsAndSizesAreTheDocumentedOnes) {
  EXPECT_EQ((walk_feature({2, 3, 33, 65}, 64, 2)[{1, 2, 32, 64}]), 94208u);  // the walk itself
  const auto size = [](zdnn_data_formats format, zdnn_data_types type, Dims d) {
    const zdnn_tensor_desc desc{ZDNN_NHWC, format, type, d.d4, d.d3, d.d2, d.d1};
    return zdnn_getsize_ztensor(&desc);
  };
  constexpr auto kFeature = ZDNN_FORMAT_4DFEATURE;
  EXPECT_EQ(size(kFeature, ZDNN_DLFLOAT16, {2, 3, 33, 65}), 98304u);
  EXPECT_EQ(size(ZDNN_FORMAT_4DKERNEL, ZDNN_DLFLOAT16, {2, 3, 33, 129}), 147456u);
  EXPECT_EQ(size(kFeature, ZDNN_BINARY_INT8, {1, 1, 33, 129}), 16384u);
  EXPECT_EQ(size(ZDNN_FORMAT_4DWEIGHTS, ZDNN_BINARY_INT8, {1, 1, 65, 65}), 16384u);
  EXPECT_EQ(size(kFeature, ZDNN_BINARY_INT32, {1, 1, 33, 33}), 16384u);
  EXPECT_EQ(size(kFeature, ZDNN_DLFLOAT16, {1, 1, 1, 2048}), 131072u);
  EXPECT_EQ(size(kFeature, ZDNN_DLFLOAT16, {1, 1, 512, 2048}), std::uint64_t{2} << 20);
  EXPECT_EQ(size(kFeature, ZDNN_DLFLOAT16, {1, 1, 2048, 2048}), std::uint64_t{8} << 20);
  EXPECT_EQ(size(kFeature, ZDNN_DLFLOAT16, {1, 1, 49155, 2048}), 201457664u);
  EXPECT_EQ(size(kFeature, ZDNN_DLFLOAT16, {1, 1, 1, 49155}), 3149824u);
  EXPECT_EQ(size(ZDNN_FORMAT_4DWEIGHTS, ZDNN_BINARY_INT8, {1, 1, 2048, 8192}),
            std::uint64_t{16} << 20);
  const std::uint32_t most = 0xFFFFFFFF;  // doesn't fit 64 bits
  EXPECT_EQ(size(kFeature, ZDNN_DLFLOAT16, {most, most, most, most}),
            std::numeric_limits<std::uint64_t>::max());
}

struct DescCase {
  zdnn_data_layouts layout;
  std::vector<std::uint32_t> dims;
  Dims expected;
};

TEST_F(ZdnnTwinLayouts, TransformedDimensionsFollowTheHostLayout) {
  const DescCase cases[] = {
      {ZDNN_1D, {5}, {1, 1, 1, 5}},
      {ZDNN_2D, {4, 5}, {1, 1, 4, 5}},
      {ZDNN_2DS, {4, 5}, {4, 1, 1, 5}},
      {ZDNN_3D, {3, 4, 5}, {1, 3, 4, 5}},
      {ZDNN_3DS, {3, 4, 5}, {3, 1, 4, 5}},
      {ZDNN_4D, {2, 3, 4, 5}, {2, 3, 4, 5}},
      {ZDNN_NHWC, {2, 3, 4, 5}, {2, 3, 4, 5}},
      {ZDNN_NCHW, {2, 3, 4, 5}, {2, 4, 5, 3}},
      {ZDNN_4DS, {2, 1, 4, 5}, {2, 1, 4, 5}},
      {ZDNN_4DS, {2, 2, 4, 65}, {2, 1, 4, 256}},
      {ZDNN_HWCK, {2, 3, 4, 5}, {2, 3, 4, 5}},
  };
  for (const DescCase& c : cases) {
    zdnn_tensor_desc pre{};
    std::vector<std::uint32_t> d = c.dims;
    d.resize(4);
    zdnn_init_pre_transformed_desc(c.layout, FP16, &pre, d[0], d[1], d[2], d[3]);
    zdnn_tensor_desc desc{};
    ASSERT_EQ(zdnn_generate_transformed_desc(&pre, &desc), ZDNN_OK);
    EXPECT_EQ(desc.dim4, c.expected.d4);
    EXPECT_EQ(desc.dim3, c.expected.d3);
    EXPECT_EQ(desc.dim2, c.expected.d2);
    EXPECT_EQ(desc.dim1, c.expected.d1);
    EXPECT_EQ(desc.type, ZDNN_DLFLOAT16);
    const bool kernel = c.layout == ZDNN_HWCK;
    EXPECT_EQ(desc.layout, kernel ? ZDNN_HWCK : ZDNN_NHWC);
    EXPECT_EQ(desc.format, kernel ? ZDNN_FORMAT_4DKERNEL : ZDNN_FORMAT_4DFEATURE);
  }
}

TEST_F(ZdnnTwinLayouts, UnusedDimensionsOfAHostDescriptorAreUnchanged) {
  zdnn_tensor_desc pre{};
  pre.dim4 = 77;
  pre.dim3 = 78;
  pre.format = ZDNN_FORMAT_4DGENERIC;
  zdnn_init_pre_transformed_desc(ZDNN_2D, FP32, &pre, 6u, 7u);
  EXPECT_EQ(pre.dim4, 77u);
  EXPECT_EQ(pre.dim3, 78u);
  EXPECT_EQ(pre.dim2, 6u);
  EXPECT_EQ(pre.dim1, 7u);
  EXPECT_EQ(pre.format, ZDNN_FORMAT_4DGENERIC);
}

TEST_F(ZdnnTwinLayouts, RejectsInvalidTypesAndLayouts) {
  zdnn_tensor_desc pre{};
  zdnn_tensor_desc desc{};
  zdnn_init_pre_transformed_desc(ZDNN_2D, INT32, &pre, 4u, 5u);
  EXPECT_EQ(zdnn_generate_transformed_desc(&pre, &desc), ZDNN_OK);
  EXPECT_EQ(desc.type, ZDNN_BINARY_INT32);
  zdnn_init_pre_transformed_desc(ZDNN_2D, INT8, &pre, 4u, 5u);
  desc = {};
  EXPECT_EQ(zdnn_generate_transformed_desc(&pre, &desc), ZDNN_INVALID_TYPE);
  EXPECT_EQ(desc.dim2, 4u);  // the vendor's tests use the rest nevertheless
  EXPECT_EQ(desc.layout, ZDNN_NHWC);
  zdnn_init_pre_transformed_desc(ZDNN_2D, ZDNN_DLFLOAT16, &pre, 4u, 5u);
  EXPECT_EQ(zdnn_generate_transformed_desc(&pre, &desc), ZDNN_INVALID_TYPE);
  pre = {ZDNN_FICO, ZDNN_FORMAT_4DFEATURE, FP32, 1, 1, 1, 1};
  EXPECT_EQ(zdnn_generate_transformed_desc(&pre, &desc), ZDNN_INVALID_LAYOUT);
  pre.layout = static_cast<zdnn_data_layouts>(99);
  EXPECT_EQ(zdnn_generate_transformed_desc(&pre, &desc), ZDNN_INVALID_LAYOUT);
}

TEST_F(ZdnnTwinLayouts, QuantizedDescriptorsHaveTheirFormatAndType) {
  zdnn_tensor_desc pre{};
  zdnn_tensor_desc desc{};
  zdnn_init_pre_transformed_desc(ZDNN_3DS, FP32, &pre, 3u, 4u, 5u);
  const struct {
    zdnn_quantized_transform_types kind;
    zdnn_data_formats format;
    zdnn_data_types type;
  } kinds[] = {{QUANTIZED_DLFLOAT16, ZDNN_FORMAT_4DFEATURE, ZDNN_DLFLOAT16},
               {QUANTIZED_INT8, ZDNN_FORMAT_4DFEATURE, ZDNN_BINARY_INT8},
               {QUANTIZED_WEIGHTS_INT8, ZDNN_FORMAT_4DWEIGHTS, ZDNN_BINARY_INT8}};
  for (const auto& k : kinds) {
    EXPECT_EQ(zdnn_generate_quantized_transformed_desc(&pre, k.kind, &desc), ZDNN_OK);
    EXPECT_EQ(desc.format, k.format);
    EXPECT_EQ(desc.type, k.type);
    EXPECT_EQ(desc.dim4, 3u);
    EXPECT_EQ(desc.dim3, 1u);
  }
  EXPECT_EQ(zdnn_generate_quantized_transformed_desc(
                &pre, static_cast<zdnn_quantized_transform_types>(3), &desc),
            ZDNN_INVALID_TRANSFORM_TYPE);
  pre.type = INT32;
  EXPECT_EQ(zdnn_generate_quantized_transformed_desc(&pre, QUANTIZED_INT8, &desc),
            ZDNN_INVALID_TYPE);
  pre.type = FP32;
  for (const auto layout : {ZDNN_4DS, ZDNN_NCHW, ZDNN_HWCK, ZDNN_ZRH}) {
    pre.layout = layout;
    EXPECT_EQ(zdnn_generate_quantized_transformed_desc(&pre, QUANTIZED_INT8, &desc),
              ZDNN_INVALID_LAYOUT);
  }
}

TEST_F(ZdnnTwinLayouts, EveryHostLayoutRoundTrips) {
  for (const auto layout : {ZDNN_4D, ZDNN_NHWC, ZDNN_NCHW}) {
    const auto values = numbered(2 * 3 * 34 * 67);
    Tensor t(layout, {2, 3, 34, 67}, values);
    EXPECT_EQ(t.get(values.size()), values);
  }
  const auto values = numbered(3 * 2 * 5 * 65);
  Tensor two_directions(ZDNN_4DS, {3, 2, 5, 65}, values);
  EXPECT_EQ(two_directions.get(values.size()), values);
  // Element (t, direction, batch, h) is in column direction * 128 + h of row (t, batch).
  const auto where = walk_feature({3, 1, 5, 256}, 64, 2);
  EXPECT_EQ(value_of(two_directions.cell(where.at({1, 0, 2, 128 + 64}))),
            static_cast<double>(values[((1 * 2 + 1) * 5 + 2) * 65 + 64]));
  Tensor channels(ZDNN_NCHW, {1, 2, 1, 3}, {1, 2, 3, 4, 5, 6});
  const auto cells = walk_feature({1, 1, 3, 2}, 64, 2);
  EXPECT_EQ(value_of(channels.cell(cells.at({0, 0, 2, 0}))), 3);
  EXPECT_EQ(value_of(channels.cell(cells.at({0, 0, 0, 1}))), 4);
}

TEST_F(ZdnnTwinLayouts, ConcatenatedGatesStartAtMultiplesOf64) {
  zdnn_tensor_desc pre{};
  zdnn_tensor_desc desc{};
  zdnn_init_pre_transformed_desc(ZDNN_3DS, FP32, &pre, 2u, 6u, 65u);
  ASSERT_EQ(zdnn_generate_transformed_desc_concatenated(
                &pre, RNN_TYPE_GRU | PREV_LAYER_BIDIR | USAGE_WEIGHTS, &desc),
            ZDNN_OK);
  EXPECT_EQ(desc.layout, ZDNN_BIDIR_ZRH);
  EXPECT_EQ(desc.dim4, 2u);
  EXPECT_EQ(desc.dim2, 128u);
  EXPECT_EQ(desc.dim1, 384u);
  zdnn_ztensor t{};
  ASSERT_EQ(zdnn_init_ztensor_with_malloc(&pre, &desc, &t), ZDNN_OK);
  const auto z = numbered(2 * 6 * 65);
  auto r = z;
  auto h = z;
  for (float& x : r) x *= 2;
  for (float& x : h) x *= 4;
  ASSERT_EQ(zdnn_transform_ztensor(&t, z.data(), r.data(), h.data()), ZDNN_OK);
  const auto where = walk_feature({2, 1, 128, 384}, 64, 2);
  const auto at = [&](Index index) {
    std::uint16_t pattern = 0;
    std::memcpy(&pattern, static_cast<char*>(t.buffer) + where.at(index), sizeof pattern);
    return value_of(pattern);
  };
  // Row 4 of 6 is the second one of the second direction; that begins at 64.
  const double expected = static_cast<double>(z[(1 * 6 + 4) * 65 + 64]);
  EXPECT_EQ(at({1, 0, 65, 64}), expected);
  EXPECT_EQ(at({1, 0, 65, 128 + 64}), 2 * expected);
  EXPECT_EQ(at({1, 0, 65, 256 + 64}), 4 * expected);
  EXPECT_EQ(at({1, 0, 10, 5}), 0);  // between the directions: zeros, which an LSTM computes with
  std::vector<float> out(z.size());
  EXPECT_EQ(zdnn_transform_origtensor(&t, out.data()), ZDNN_INVALID_LAYOUT);
  zdnn_free_ztensor_buffer(&t);

  zdnn_init_pre_transformed_desc(ZDNN_2DS, FP32, &pre, 2u, 5u);
  ASSERT_EQ(zdnn_generate_transformed_desc_concatenated(&pre, RNN_TYPE_LSTM | USAGE_BIASES, &desc),
            ZDNN_OK);
  EXPECT_EQ(desc.layout, ZDNN_FICO);
  EXPECT_EQ(desc.dim4, 2u);
  EXPECT_EQ(desc.dim1, 256u);
}

TEST_F(ZdnnTwinLayouts, RejectsInvalidConcatenations) {
  zdnn_tensor_desc pre{};
  zdnn_tensor_desc desc{};
  const auto status = [&](zdnn_concat_info info) {
    return zdnn_generate_transformed_desc_concatenated(&pre, info, &desc);
  };
  zdnn_init_pre_transformed_desc(ZDNN_3DS, FP32, &pre, 2u, 5u, 6u);
  EXPECT_EQ(status(RNN_TYPE_LSTM | USAGE_HIDDEN_WEIGHTS), ZDNN_OK);
  EXPECT_EQ(status(RNN_TYPE_LSTM | USAGE_BIASES), ZDNN_INVALID_LAYOUT);
  EXPECT_EQ(status(RNN_TYPE_LSTM | PREV_LAYER_BIDIR | USAGE_WEIGHTS), ZDNN_INVALID_SHAPE);
  EXPECT_EQ(status(2u << 24), ZDNN_INVALID_CONCAT_INFO);
  EXPECT_EQ(status(2u << 16), ZDNN_INVALID_CONCAT_INFO);
  EXPECT_EQ(status(4u << 8), ZDNN_INVALID_CONCAT_INFO);
  pre.type = INT8;
  EXPECT_EQ(status(RNN_TYPE_LSTM), ZDNN_INVALID_TYPE);
}

}  // namespace
