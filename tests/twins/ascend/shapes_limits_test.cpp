// Descriptors whose sizes are negative, or whose counts of elements or places overflow.
#include "indexing_support.h"

namespace ascend_test::shapes_limits {
namespace {

using ShapesLimits = TwinTest;
using Sizes = std::vector<std::int64_t>;

struct Descriptor {
  const char* what;
  Sizes shape, strides;
  std::int64_t offset = 0;
  Sizes storage;
  aclError code;
};

constexpr std::int64_t kHuge = std::int64_t{1} << 60;
constexpr std::int64_t kRoot = std::int64_t{1} << 32;
constexpr auto kNegative = ACLNN_ERR_PARAM_INVALID;
constexpr auto kOverflow = ACLNN_ERR_INNER_NULLPTR;

const Descriptor kDescriptors[] = {
    {"2^60 times one element", {kHuge}, {0}, 0, {1}, kOverflow},
    {"eight strides of 2^61", {9}, {std::int64_t{1} << 61}, 0, {1}, kOverflow},
    {"eight strides of -2^61", {9}, {-(std::int64_t{1} << 61)}, 0, {1}, kOverflow},
    {"2^64 elements", {kRoot, kRoot}, {}, 0, {1}, kOverflow},
    {"2^64 elements, none of them", {0, kRoot, kRoot}, {}, 0, {1}, kOverflow},
    {"a storage of 2^64", {2}, {}, 0, {kRoot, kRoot}, kOverflow},
    {"an offset of 2^63 - 1", {2}, {1}, INT64_MAX, {1}, kOverflow},
    {"an offset of -2^63", {2}, {-1}, INT64_MIN, {1}, kOverflow},
    {"strides that meet again", {2, 2}, {INT64_MAX, INT64_MAX}, 0, {1}, kOverflow},
    {"a negative size", {-2}, {1}, 0, {2}, kNegative},
    {"two negative sizes", {-2, -2}, {2, 1}, 0, {4}, kNegative},
    {"the least size", {INT64_MIN}, {1}, 0, {1}, kNegative},
    {"a negative storage", {2}, {1}, 0, {-2}, kNegative},
};

TEST_F(ShapesLimits, AreCheckedBeforeTheOperator) {
  Buffer memory(64);
  for (const Descriptor& row : kDescriptors) {
    for (const aclFormat format : {ACL_FORMAT_ND, ACL_FORMAT_FRACTAL_NZ}) {
      SCOPED_TRACE(std::string(row.what) + (format == ACL_FORMAT_ND ? "" : " in NZ"));
      aclTensor* const tensor =
          aclCreateTensor(row.shape.data(), row.shape.size(), ACL_FLOAT,
                          row.strides.empty() ? nullptr : row.strides.data(), row.offset, format,
                          row.storage.data(), row.storage.size(), memory.address());
      ASSERT_NE(tensor, nullptr);
      EXPECT_EQ(RUN_OP(Exp, tensor, tensor), row.code);
      EXPECT_EQ(RUN_OP(InplaceCopy, tensor, tensor), row.code);
      EXPECT_EQ(RUN_OP(InplaceZero, tensor), row.code);
      EXPECT_EQ(RUN_OP(Mm, tensor, tensor, tensor, std::int8_t{KEEP_DTYPE}), row.code);
      EXPECT_EQ(RUN_OP(Cumsum, tensor, 0, ACL_FLOAT, tensor), row.code);
      EXPECT_EQ(RUN_OP(ReduceSum, tensor, Integers({}).get(), false, ACL_FLOAT, tensor), row.code);
      aclDestroyTensor(tensor);
    }
  }
}

TEST_F(ShapesLimits, OfSequencesAndRepeats) {
  const std::int64_t most = INT64_MAX;  // 2^63 as a double, as many as the sequence has
  const Scalar start(ACL_DOUBLE, 0.0);
  const Scalar end(ACL_DOUBLE, 0x1p63);
  const Scalar step(ACL_DOUBLE, 1.0);
  aclTensor* const out =
      aclCreateTensor(&most, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, &most, 1, nullptr);
  EXPECT_EQ(RUN_OP(Arange, start.get(), end.get(), step.get(), out), kOverflow);
  aclDestroyTensor(out);
  Tensor<float> pair(ACL_FLOAT, {1, 2, 1}, {1, 2});
  EXPECT_EQ(
      RUN_OP(Repeat, pair.get(), Integers({INT32_MAX, INT32_MAX, INT32_MAX}).get(), pair.get()),
      ACLNN_ERR_PARAM_INVALID);
  const std::int64_t shape[] = {std::int64_t{1} << 40};
  const std::int64_t stride = 0;
  const std::int64_t one = 1;
  aclTensor* const wide =
      aclCreateTensor(shape, 1, ACL_FLOAT, &stride, 0, ACL_FORMAT_ND, &one, 1, nullptr);
  EXPECT_EQ(RUN_OP(Repeat, wide, Integers({INT32_MAX}).get(), pair.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(RepeatInterleaveIntWithDim, wide, INT32_MAX, 0, 1, pair.get()),
            ACLNN_ERR_PARAM_INVALID);
  aclDestroyTensor(wide);
}

TEST_F(ShapesLimits, ARepeatKeepsTheType) {
  Tensor<float> self(ACL_FLOAT, {1}, {1.5F});
  Tensor<std::int32_t> whole(ACL_INT32, {2}, {0, 0});
  Tensor<std::uint16_t> half(ACL_FLOAT16, {2}, {0, 0});
  EXPECT_EQ(RUN_OP(Repeat, self.get(), Integers({2}).get(), whole.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(Repeat, self.get(), Integers({2}).get(), half.get()), ACLNN_ERR_PARAM_INVALID);
}

TEST_F(ShapesLimits, OfSingleOperators) {
  Tensor<float> tensor(ACL_FLOAT, {1}, {1});
  aclDataBuffer* buffer = aclCreateDataBuffer(tensor.address(), sizeof(float));
  for (const Sizes& shape : {Sizes{kRoot, kRoot}, Sizes{kHuge}, Sizes{-1}}) {
    aclTensorDesc* description =
        aclCreateTensorDesc(ACL_FLOAT, static_cast<int>(shape.size()), shape.data(), ACL_FORMAT_ND);
    if (description == nullptr) continue;  // refused earlier
    EXPECT_EQ(aclopCompileAndExecuteV2("Exp", 1, &description, &buffer, 1, &description, &buffer,
                                       nullptr, ACL_ENGINE_SYS, ACL_COMPILE_SYS, nullptr, nullptr),
              ACL_ERROR_INVALID_PARAM)
        << shape[0];
    aclDestroyTensorDesc(description);
  }
  aclDestroyDataBuffer(buffer);
}

TEST_F(ShapesLimits, OfFormatsAndTypesOfAChip) {
  // Operators of rows and angles take neither NZ nor, on a 310P, BF16.
  Buffer memory(2048);
  const auto made = [&](aclDataType type, const Sizes& shape, aclFormat format) {
    return aclCreateTensor(shape.data(), shape.size(), type, nullptr, 0, format, shape.data(),
                           shape.size(), memory.address());
  };
  for (const aclFormat format : {ACL_FORMAT_ND, ACL_FORMAT_FRACTAL_NZ}) {
    const aclError wanted = format == ACL_FORMAT_ND ? ACL_SUCCESS : ACLNN_ERR_PARAM_INVALID;
    aclTensor* const rows = made(ACL_FLOAT16, {1, 1, 2, 2}, format);
    aclTensor* const angles = made(ACL_FLOAT16, {1, 1, 1, 2}, ACL_FORMAT_ND);
    aclTensor* const vector = made(ACL_FLOAT16, {2}, ACL_FORMAT_ND);
    aclTensor* const matrix = made(ACL_FLOAT16, {2, 2}, format);
    EXPECT_EQ(RUN_OP(RotaryPositionEmbedding, rows, angles, angles, 0, rows), wanted);
    EXPECT_EQ(RUN_OP(ApplyRotaryPosEmb, rows, rows, angles, angles, 1), wanted);
    EXPECT_EQ(RUN_OP(Ger, vector, vector, matrix), wanted);
    for (aclTensor* const tensor : {rows, angles, vector, matrix}) aclDestroyTensor(tensor);
  }
  restart({{"PROFILE", "310p"}});
  const Sizes shape{2};
  const Sizes square{2, 2};
  aclTensor* const vector = aclCreateTensor(shape.data(), 1, ACL_FLOAT16, nullptr, 0, ACL_FORMAT_ND,
                                            shape.data(), 1, nullptr);
  aclTensor* const matrix = aclCreateTensor(square.data(), 2, ACL_BF16, nullptr, 0, ACL_FORMAT_ND,
                                            square.data(), 2, nullptr);
  EXPECT_EQ(RUN_OP(Ger, vector, vector, matrix), ACLNN_ERR_PARAM_INVALID);
  aclDestroyTensor(vector);
  aclDestroyTensor(matrix);
}

}  // namespace
}  // namespace ascend_test::shapes_limits
