// The life of a tensor: states, checks in their order, and the state after each refusal.
#include "support.h"

namespace {

using namespace zdnn_test;

class ZdnnTwinTensors : public TwinTest {};

TEST_F(ZdnnTwinTensors, InitSetsEverythingButTheBuffer) {
  zdnn_tensor_desc pre{};
  zdnn_tensor_desc desc{};
  zdnn_ztensor t;
  std::memset(&t, 0x55, sizeof t);
  t.buffer = &t;
  t.buffer_size = 17;
  zdnn_init_ztensor(&pre, &desc, &t);
  EXPECT_EQ(t.pre_transformed_desc, &pre);
  EXPECT_EQ(t.transformed_desc, &desc);
  EXPECT_FALSE(t.is_transformed);
  EXPECT_FALSE(zdnn_is_quantized_ztensor(&t));
  EXPECT_EQ(t.offset, 0.0f);
  EXPECT_EQ(t.buffer, &t);
  EXPECT_EQ(t.buffer_size, 17u);
  for (const char c : t.reserved) EXPECT_EQ(c, 0);
  for (const char c : t.reserved2) EXPECT_EQ(c, 0);
  zdnn_init_quantized_ztensor(&pre, &desc, 4, 3, &t);
  EXPECT_TRUE(zdnn_is_quantized_ztensor(&t));
  EXPECT_EQ(t.rec_scale, 0.25f);
  EXPECT_EQ(t.offset, 3.0f);
  zdnn_init_quantized_ztensor(&pre, &desc, 0, 3, &t);
  EXPECT_FALSE(zdnn_is_quantized_ztensor(&t));
}

TEST_F(ZdnnTwinTensors, AllocatedMemoryIsAlignedAndPoisoned) {
  Tensor t(ZDNN_2D, {33, 65});
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(t.tensor.buffer) % 4096, 0u);
  EXPECT_EQ(t.tensor.buffer_size, 2u * 2 * 4096);
  for (std::uint64_t byte = 0; byte < t.tensor.buffer_size; byte += 2)
    ASSERT_EQ(t.cell(byte), kNinf);
}

TEST_F(ZdnnTwinTensors, FreeingANullBufferIsInvalid) {
  zdnn_ztensor t{};
  EXPECT_EQ(zdnn_free_ztensor_buffer(&t), ZDNN_INVALID_BUFFER);
  EXPECT_EQ(zdnn_free_ztensor_buffer(nullptr), ZDNN_INVALID_BUFFER);
}

TEST_F(ZdnnTwinTensors, AllocationChecksTheTransformedDescriptor) {
  const struct {
    zdnn_tensor_desc desc;
    zdnn_status status;
  } cases[] = {
      {{ZDNN_NHWC, ZDNN_FORMAT_4DFEATURE, ZDNN_DLFLOAT16, 1, 1, 1, 1}, ZDNN_OK},
      {{ZDNN_BIDIR_FICO, ZDNN_FORMAT_4DFEATURE, ZDNN_DLFLOAT16, 1, 1, 1, 1}, ZDNN_OK},
      {{ZDNN_NHWC, ZDNN_FORMAT_4DFEATURE, ZDNN_BINARY_INT32, 1, 1, 1, 1}, ZDNN_OK},
      {{ZDNN_NHWC, ZDNN_FORMAT_4DWEIGHTS, ZDNN_BINARY_INT8, 1, 1, 1, 1}, ZDNN_OK},
      {{ZDNN_HWCK, ZDNN_FORMAT_4DKERNEL, ZDNN_DLFLOAT16, 1, 1, 1, 1}, ZDNN_OK},
      {{ZDNN_NHWC, ZDNN_FORMAT_4DGENERIC, ZDNN_DLFLOAT16, 1, 1, 1, 1}, ZDNN_INVALID_FORMAT},
      {{ZDNN_NHWC, static_cast<zdnn_data_formats>(3), ZDNN_DLFLOAT16, 1, 1, 1, 1},
       ZDNN_INVALID_FORMAT},
      {{ZDNN_2D, ZDNN_FORMAT_4DFEATURE, ZDNN_DLFLOAT16, 1, 1, 1, 1}, ZDNN_INVALID_LAYOUT},
      {{ZDNN_NHWC, ZDNN_FORMAT_4DKERNEL, ZDNN_DLFLOAT16, 1, 1, 1, 1}, ZDNN_INVALID_LAYOUT},
      {{ZDNN_HWCK, ZDNN_FORMAT_4DFEATURE, ZDNN_DLFLOAT16, 1, 1, 1, 1}, ZDNN_INVALID_LAYOUT},
      {{ZDNN_FICO, ZDNN_FORMAT_4DWEIGHTS, ZDNN_BINARY_INT8, 1, 1, 1, 1}, ZDNN_INVALID_LAYOUT},
      {{ZDNN_NHWC, ZDNN_FORMAT_4DFEATURE, FP32, 1, 1, 1, 1}, ZDNN_INVALID_TYPE},
      {{ZDNN_NHWC, ZDNN_FORMAT_4DFEATURE, ZDNN_BINARY_FP32, 1, 1, 1, 1}, ZDNN_INVALID_TYPE},
      {{ZDNN_HWCK, ZDNN_FORMAT_4DKERNEL, ZDNN_BINARY_INT8, 1, 1, 1, 1}, ZDNN_INVALID_TYPE},
      {{ZDNN_NHWC, ZDNN_FORMAT_4DWEIGHTS, ZDNN_DLFLOAT16, 1, 1, 1, 1}, ZDNN_INVALID_TYPE},
      {{ZDNN_NHWC, ZDNN_FORMAT_4DFEATURE, ZDNN_DLFLOAT16, 0, 1, 1, 1}, ZDNN_INVALID_SHAPE},
      {{ZDNN_NHWC, ZDNN_FORMAT_4DFEATURE, ZDNN_DLFLOAT16, 1, 1, 1, 0}, ZDNN_INVALID_SHAPE},
      {{ZDNN_NHWC, ZDNN_FORMAT_4DFEATURE, ZDNN_DLFLOAT16, 32769, 1, 1, 1}, ZDNN_INVALID_SHAPE},
      {{ZDNN_NHWC, ZDNN_FORMAT_4DFEATURE, ZDNN_DLFLOAT16, 1, 32769, 1, 1}, ZDNN_INVALID_SHAPE},
      {{ZDNN_NHWC, ZDNN_FORMAT_4DFEATURE, ZDNN_DLFLOAT16, 1, 1, 1048577, 1}, ZDNN_INVALID_SHAPE},
      {{ZDNN_NHWC, ZDNN_FORMAT_4DFEATURE, ZDNN_DLFLOAT16, 1, 1, 1, 2097153}, ZDNN_INVALID_SHAPE},
      // One page more than 4 GiB.
      {{ZDNN_NHWC, ZDNN_FORMAT_4DFEATURE, ZDNN_DLFLOAT16, 17, 1, 1, 64 * 61681},
       ZDNN_INVALID_SHAPE},
      {{ZDNN_NHWC, ZDNN_FORMAT_4DFEATURE, ZDNN_DLFLOAT16, 32768, 32768, 1, 1}, ZDNN_INVALID_SHAPE},
  };
  for (const auto& c : cases) {
    zdnn_tensor_desc pre{};
    zdnn_tensor_desc desc = c.desc;
    zdnn_ztensor t{};
    EXPECT_EQ(zdnn_init_ztensor_with_malloc(&pre, &desc, &t), c.status) << zdnn_twin_last_message();
    EXPECT_EQ(t.buffer != nullptr, c.status == ZDNN_OK);
    if (c.status == ZDNN_OK) zdnn_free_ztensor_buffer(&t);
  }
}

TEST_F(ZdnnTwinTensors, EachMachineHasItsOwnLimits) {
  zdnn_tensor_desc pre{};
  zdnn_tensor_desc desc{ZDNN_NHWC, ZDNN_FORMAT_4DFEATURE, ZDNN_DLFLOAT16, 1, 1, 1, 32769};
  zdnn_ztensor t{};
  ASSERT_EQ(zdnn_init_ztensor_with_malloc(&pre, &desc, &t), ZDNN_OK);
  zdnn_free_ztensor_buffer(&t);
  set("ZDNN_TWIN_PROFILE", "z16");
  EXPECT_EQ(zdnn_init_ztensor_with_malloc(&pre, &desc, &t), ZDNN_INVALID_SHAPE);
  desc.dim1 = 32768;
  ASSERT_EQ(zdnn_init_ztensor_with_malloc(&pre, &desc, &t), ZDNN_OK);
  zdnn_free_ztensor_buffer(&t);
}

TEST_F(ZdnnTwinTensors, TransformChecksTheStateOfTheTensor) {
  const float values[] = {1, 2, 3};
  float out[3];
  Tensor t(ZDNN_1D, {3});
  EXPECT_EQ(zdnn_transform_origtensor(t, out), ZDNN_INVALID_STATE);
  EXPECT_EQ(zdnn_transform_ztensor(t, values), ZDNN_OK);
  EXPECT_TRUE(t.tensor.is_transformed);
  EXPECT_EQ(zdnn_transform_ztensor(t, values), ZDNN_INVALID_STATE);
  EXPECT_EQ(zdnn_transform_ztensor_with_saturation(t, values), ZDNN_INVALID_STATE);
  EXPECT_EQ(zdnn_transform_origtensor(t, out), ZDNN_OK);
  EXPECT_EQ(zdnn_transform_origtensor(t, out), ZDNN_OK);
  EXPECT_EQ(out[2], 3.0f);
  zdnn_reset_ztensor(t);
  EXPECT_EQ(zdnn_transform_origtensor(t, out), ZDNN_INVALID_STATE);
  EXPECT_EQ(zdnn_transform_ztensor(t, values), ZDNN_OK);
}

TEST_F(ZdnnTwinTensors, TransformChecksDescriptorsThenBufferThenState) {
  const float values[4] = {};
  const auto status = [&](zdnn_ztensor& t) {
    const zdnn_status in = zdnn_transform_ztensor(&t, values);
    EXPECT_EQ(zdnn_transform_ztensor_with_saturation(&t, values), in);
    return in;
  };
  Tensor t(ZDNN_1D, {4});
  const zdnn_ztensor good = t.tensor;
  const zdnn_tensor_desc pre = t.pre;
  const zdnn_tensor_desc desc = t.desc;
  // Everything wrong at once, then mended from the first check on.
  t.pre.layout = ZDNN_FICO;
  t.pre.type = ZDNN_DLFLOAT16;
  t.desc.dim1 = 0;
  t.tensor.buffer = nullptr;
  t.tensor.is_transformed = true;
  EXPECT_EQ(status(t.tensor), ZDNN_INVALID_LAYOUT);
  t.pre.layout = pre.layout;
  EXPECT_EQ(status(t.tensor), ZDNN_INVALID_TYPE);
  t.pre.type = pre.type;
  EXPECT_EQ(status(t.tensor), ZDNN_INVALID_SHAPE);
  t.desc.dim1 = 4000000;
  EXPECT_EQ(status(t.tensor), ZDNN_INVALID_SHAPE);
  t.desc.dim1 = 3;  // less than the host has
  EXPECT_EQ(status(t.tensor), ZDNN_INVALID_SHAPE);
  t.desc.dim1 = 4;
  EXPECT_EQ(status(t.tensor), ZDNN_INVALID_BUFFER);
  t.tensor.buffer = static_cast<char*>(good.buffer) + 8;
  EXPECT_EQ(status(t.tensor), ZDNN_INVALID_BUFFER);
  t.tensor.buffer = good.buffer;
  t.tensor.buffer_size = 4095;
  EXPECT_EQ(status(t.tensor), ZDNN_INVALID_BUFFER);
  t.tensor.buffer_size = 4096;
  EXPECT_EQ(status(t.tensor), ZDNN_INVALID_STATE);
  t.tensor.is_transformed = false;
  t.desc.format = ZDNN_FORMAT_4DGENERIC;
  EXPECT_EQ(status(t.tensor), ZDNN_INVALID_FORMAT);
  t.desc = desc;
  t.desc.layout = ZDNN_HWCK;
  EXPECT_EQ(status(t.tensor), ZDNN_INVALID_LAYOUT);
  t.desc = desc;
  t.desc.type = FP16;
  EXPECT_EQ(status(t.tensor), ZDNN_INVALID_TYPE);
  t.desc.type = ZDNN_BINARY_INT8;
  EXPECT_EQ(status(t.tensor), ZDNN_INVALID_TYPE);
  t.desc = desc;
  for (const auto type : {INT8, INT32}) {
    t.pre.type = type;
    EXPECT_EQ(status(t.tensor), ZDNN_INVALID_TYPE);
  }
  t.pre = pre;
  EXPECT_FALSE(t.tensor.is_transformed);
  EXPECT_EQ(zdnn_transform_ztensor(t, values), ZDNN_OK);
}

TEST_F(ZdnnTwinTensors, RejectsNullPointers) {
  const float values[4] = {};
  Tensor t(ZDNN_1D, {4});
  EXPECT_EQ(zdnn_transform_ztensor(nullptr, values), ZDNN_INVALID_BUFFER);
  EXPECT_EQ(zdnn_transform_ztensor(t, static_cast<const float*>(nullptr)), ZDNN_INVALID_BUFFER);
  EXPECT_EQ(zdnn_allochelper_ztensor(nullptr), ZDNN_INVALID_BUFFER);
  t.tensor.is_transformed = true;
  EXPECT_EQ(zdnn_transform_origtensor(t, nullptr), ZDNN_INVALID_BUFFER);
  zdnn_ztensor bare{};
  EXPECT_EQ(zdnn_allochelper_ztensor(&bare), ZDNN_INVALID_SHAPE);
  EXPECT_EQ(zdnn_transform_ztensor(&bare, values), ZDNN_INVALID_SHAPE);
  EXPECT_EQ(zdnn_add(nullptr, t, t), ZDNN_INVALID_BUFFER);
  EXPECT_EQ(zdnn_add(t, &bare, t), ZDNN_INVALID_SHAPE);
  EXPECT_EQ(zdnn_matmul_transpose_op(nullptr, nullptr, nullptr, false, false, MATMUL_OP_ADDITION,
                                     nullptr),
            ZDNN_INVALID_BUFFER);
  EXPECT_EQ(zdnn_meanreduce2d(nullptr, t), ZDNN_INVALID_BUFFER);
}

TEST_F(ZdnnTwinTensors, HugeHostDimensionsDoNotOverflow) {
  // 2^26 + 1 directions of 64 columns are 64 columns in 32 bits.
  zdnn_tensor_desc pre{};
  zdnn_tensor_desc desc{};
  zdnn_init_pre_transformed_desc(ZDNN_4DS, FP32, &pre, 1u, (1u << 26) + 1, 1u, 64u);
  ASSERT_EQ(zdnn_generate_transformed_desc(&pre, &desc), ZDNN_OK);
  zdnn_ztensor t{};
  EXPECT_EQ(zdnn_init_ztensor_with_malloc(&pre, &desc, &t), ZDNN_INVALID_SHAPE);
  desc.dim1 = 64;
  ASSERT_EQ(zdnn_init_ztensor_with_malloc(&pre, &desc, &t), ZDNN_OK);
  const float value = 0;
  EXPECT_EQ(zdnn_transform_ztensor(&t, &value), ZDNN_INVALID_SHAPE);
  zdnn_free_ztensor_buffer(&t);
}

TEST_F(ZdnnTwinTensors, HostNumbersOutOfRangeAreSilentOrConvertFailures) {
  const float too_large = 1e10f;
  Tensor t(ZDNN_1D, {1});
  EXPECT_EQ(zdnn_transform_ztensor(t, &too_large), ZDNN_OK);  // silent
  EXPECT_EQ(t.cell(0), 0x7FFF);
  zdnn_reset_ztensor(t);
  set("ZDNN_TWIN_TOO_LARGE", "convert_failure");
  EXPECT_EQ(zdnn_transform_ztensor(t, &too_large), ZDNN_CONVERT_FAILURE);
  EXPECT_FALSE(t.tensor.is_transformed);
  EXPECT_EQ(t.cell(0), 0x7FFF);
}

TEST_F(ZdnnTwinTensors, SaturationKeepsFiniteNumbersFinite) {
  const float numbers[] = {1e10f, -1e38f, 3, 8577351679.0f};
  Tensor t(ZDNN_1D, {4});
  EXPECT_EQ(zdnn_transform_ztensor_with_saturation(t, numbers), ZDNN_OK);
  EXPECT_EQ(t.get(4), (std::vector<float>{8573157376.0f, -8573157376.0f, 3, 8573157376.0f}));
  const float others[] = {INFINITY, 1, -INFINITY, NAN};
  zdnn_reset_ztensor(t);
  EXPECT_EQ(zdnn_transform_ztensor_with_saturation(t, others), ZDNN_ELEMENT_RANGE_VIOLATION);
  EXPECT_TRUE(t.tensor.is_transformed);
  EXPECT_EQ(t.cell(0), 0x7FFF);
  EXPECT_EQ(t.cell(4), 0xFFFF);
  const std::uint16_t half_infinity = 0x7C00;
  Tensor half(ZDNN_1D, FP16, {1});
  EXPECT_EQ(zdnn_transform_ztensor_with_saturation(half, &half_infinity), ZDNN_CONVERT_FAILURE);
  EXPECT_FALSE(half.tensor.is_transformed);
  const std::uint16_t brain[] = {0x7F7F, 0xFF7F};
  Tensor bfloat(ZDNN_1D, BFLOAT, {2});
  EXPECT_EQ(zdnn_transform_ztensor_with_saturation(bfloat, brain), ZDNN_OK);
  EXPECT_EQ(bfloat.cell(0), 0x7FFE);
  EXPECT_EQ(bfloat.cell(2), 0xFFFE);
}

// More than 2048 elements in a dim4 slice of FP32: the machine converts, on a z17.
TEST_F(ZdnnTwinTensors, HardwareConversionWarnsWhereSoftwareFails) {
  const auto status = [](zdnn_data_layouts layout, zdnn_data_types type, std::uint32_t rows,
                         std::uint32_t columns) {
    std::vector<float> values(std::size_t{rows} * columns, 1);
    values.back() = NAN;
    std::vector<std::uint16_t> halves(values.size(), 0x3C00);
    halves.back() = 0x7FFF;
    Tensor t(layout, type, {1, 1, rows, columns});
    const zdnn_status in = type == FP32 ? zdnn_transform_ztensor(t, values.data())
                                        : zdnn_transform_ztensor(t, halves.data());
    EXPECT_EQ(t.tensor.is_transformed, in == ZDNN_ELEMENT_RANGE_VIOLATION);
    t.tensor.is_transformed = true;
    const zdnn_status out = type == FP32 ? zdnn_transform_origtensor(t, values.data())
                                         : zdnn_transform_origtensor(t, halves.data());
    EXPECT_EQ(in, out);
    return in;
  };
  EXPECT_EQ(status(ZDNN_NHWC, FP32, 32, 64), ZDNN_CONVERT_FAILURE);
  EXPECT_EQ(status(ZDNN_NHWC, FP32, 33, 64), ZDNN_ELEMENT_RANGE_VIOLATION);
  EXPECT_EQ(status(ZDNN_NCHW, FP32, 33, 64), ZDNN_CONVERT_FAILURE);
  EXPECT_EQ(status(ZDNN_NHWC, FP16, 33, 64), ZDNN_CONVERT_FAILURE);
  EXPECT_EQ(status(ZDNN_NHWC, FP32, 1025, 2), ZDNN_CONVERT_FAILURE);
  set("ZDNN_TWIN_PROFILE", "z16");
  EXPECT_EQ(status(ZDNN_NHWC, FP32, 33, 64), ZDNN_CONVERT_FAILURE);
}

TEST_F(ZdnnTwinTensors, GetrangeReturnsMinimumAndMaximumIncludingZero) {
  Tensor t(ZDNN_2D, {2, 3}, {1, -7, 2, 0.5f, 300, -0.25f});
  float min = 1, max = -1;
  EXPECT_EQ(zdnn_getrange_ztensor(t, &min, &max), ZDNN_OK);
  EXPECT_EQ(min, -7.0f);
  EXPECT_EQ(max, 300.0f);
  Tensor positive(ZDNN_1D, {2}, {3, 4});
  EXPECT_EQ(zdnn_getrange_ztensor(positive, &min, &max), ZDNN_OK);
  EXPECT_EQ(min, 0.0f);  // the search begins at zeros
  EXPECT_TRUE(std::signbit(min));
  EXPECT_EQ(max, 4.0f);
  positive.set_cell(0, kNinf);
  EXPECT_EQ(zdnn_getrange_ztensor(positive, &min, &max), ZDNN_OK);
  EXPECT_TRUE(std::isnan(max));
  zdnn_reset_ztensor(positive);
  EXPECT_EQ(zdnn_getrange_ztensor(positive, &min, &max), ZDNN_INVALID_STATE);
  Tensor indices(ZDNN_1D, INT32, {2});
  indices.tensor.is_transformed = true;
  EXPECT_EQ(zdnn_getrange_ztensor(indices, &min, &max), ZDNN_INVALID_TYPE);
}

TEST_F(ZdnnTwinTensors, ReshapeKeepsTheOrderOfElements) {
  const auto values = some_numbers(4 * 6 * 70);
  Tensor from(ZDNN_3D, {4, 6, 70}, values);
  Tensor to(ZDNN_3DS, {35, 8, 6});
  EXPECT_EQ(zdnn_reshape_ztensor(from, to), ZDNN_OK);
  EXPECT_EQ(to.get(values.size()), values);
  EXPECT_EQ(zdnn_reshape_ztensor(from, to), ZDNN_INVALID_STATE);  // already transformed
  zdnn_reset_ztensor(to);
  Tensor smaller(ZDNN_2D, {4, 6});
  EXPECT_EQ(zdnn_reshape_ztensor(from, smaller), ZDNN_INVALID_SHAPE);
  Tensor kernel(ZDNN_HWCK, {4, 6, 7, 10});
  EXPECT_EQ(zdnn_reshape_ztensor(from, kernel), ZDNN_INVALID_LAYOUT);
  Tensor indices(ZDNN_2D, INT32, {24, 70});
  EXPECT_EQ(zdnn_reshape_ztensor(from, indices), ZDNN_INVALID_TYPE);
  zdnn_reset_ztensor(from);
  to.tensor.buffer_size -= 1;
  EXPECT_EQ(zdnn_reshape_ztensor(from, to), ZDNN_INVALID_STATE);  // before the buffer
  from.tensor.is_transformed = true;
  EXPECT_EQ(zdnn_reshape_ztensor(from, to), ZDNN_INVALID_BUFFER);
}

}  // namespace
