// FRACTAL_NZ: the layout, the conversion in place, products with its results.
#include "products_support.h"

namespace ascend_test::products_nz {
namespace {

using Nz = TwinTest;
using Sizes = std::vector<std::int64_t>;

/// The vendor's formula for a matrix, written a second time: where (row, column) is.
std::size_t place(std::size_t rows, std::size_t row, std::size_t column, std::size_t width) {
  const std::size_t tall = (rows + 15) / 16;
  return ((column / width) * tall + row / 16) * 16 * width + (row % 16) * width + column % width;
}

template <class Value>
std::vector<Value> in_nz(const std::vector<Value>& values, std::size_t rows, std::size_t columns,
                         std::size_t width) {
  std::vector<Value> result((rows + 15) / 16 * 16 * ((columns + width - 1) / width * width));
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j)
      result[place(rows, i, j, width)] = values[i * columns + j];
  }
  return result;
}

std::uint64_t size_of(const Sizes& shape, aclDataType type) {
  const Integers array(shape);
  std::uint64_t elements = 0;
  EXPECT_EQ(aclnnCalculateMatmulWeightSizeV2(array.get(), type, &elements), ACL_SUCCESS);
  return elements;
}

TEST_F(Nz, TheSizeIsInElementsOfWholeFractals) {
  EXPECT_EQ(size_of({16, 16}, ACL_FLOAT16), 256U);
  EXPECT_EQ(size_of({17, 16}, ACL_FLOAT16), 512U);
  EXPECT_EQ(size_of({17, 17}, ACL_BF16), 1024U);
  EXPECT_EQ(size_of({16, 33}, ACL_INT8), 1024U);
  EXPECT_EQ(size_of({3, 16, 17}, ACL_FLOAT16), 3 * 512U);
  EXPECT_EQ(size_of({16, 9}, ACL_FLOAT), 256U);
  const Integers shape({5, 40});
  std::uint64_t elements = 0;
  EXPECT_EQ(aclnnCalculateMatmulWeightSize(shape.get(), &elements), ACL_SUCCESS);
  EXPECT_EQ(elements, 16U * 48U);
}

TEST_F(Nz, TheSizeIsRefusedForBadInputAndOnA310B) {
  const Integers shape({16, 16});
  const Integers flat({16});
  const Integers negative({16, -1});
  std::uint64_t elements = 7;
  EXPECT_EQ(aclnnCalculateMatmulWeightSizeV2(nullptr, ACL_FLOAT16, &elements),
            ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(aclnnCalculateMatmulWeightSizeV2(shape.get(), ACL_FLOAT16, nullptr),
            ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(aclnnCalculateMatmulWeightSizeV2(flat.get(), ACL_FLOAT16, &elements),
            ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(aclnnCalculateMatmulWeightSizeV2(negative.get(), ACL_FLOAT16, &elements),
            ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(aclnnCalculateMatmulWeightSizeV2(shape.get(), ACL_STRING, &elements),
            ACLNN_ERR_PARAM_INVALID);
  restart({{"PROFILE", "310b"}});
  const Integers again({16, 16});
  EXPECT_EQ(aclnnCalculateMatmulWeightSizeV2(again.get(), ACL_FLOAT16, &elements),
            ACLNN_ERR_RUNTIME_ERROR);
  EXPECT_EQ(aclnnCalculateMatmulWeightSize(again.get(), &elements), ACLNN_ERR_RUNTIME_ERROR);
  EXPECT_EQ(elements, 7U);
}

TEST_F(Nz, ConversionMovesBitsAndFillsWithZeros) {
  // Patterns that a conversion of numbers would change: NaN with a payload, minus zero.
  std::vector<Half> values;
  for (unsigned i = 0; i < 18 * 20; ++i) values.push_back(static_cast<Half>(i * 181 + 0x7C01));
  for (const char* const chip : {"910b", "310p"}) {
    restart({{"PROFILE", chip}});
    Buffer memory(32 * 32 * 2);
    memory.put(std::vector<Half>(32 * 32, 0xAAAA));
    memory.put(values);
    const Described weight(memory.address(), ACL_FLOAT16, {18, 20}, {}, 0, {18, 20});
    ASSERT_EQ(RUN_OP(TransMatmulWeight, weight.get()), ACL_SUCCESS) << ascend_twin_last_message();
    EXPECT_EQ(memory.get<Half>(), in_nz(values, 18, 20, 16)) << chip;
    // The descriptor is in NZ now: it is not converted twice.
    EXPECT_EQ(RUN_OP(TransMatmulWeight, weight.get()), ACLNN_ERR_PARAM_INVALID);
  }
}

TEST_F(Nz, ConversionOfInt8AndOfBatches) {
  std::vector<std::int8_t> values(2 * 5 * 40);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int8_t>(i * 37);
  Buffer memory(2 * 16 * 64);
  memory.put(values);
  const Described weight(memory.address(), ACL_INT8, {2, 5, 40}, {}, 0, {2, 5, 40});
  ASSERT_EQ(RUN_OP(TransMatmulWeight, weight.get()), ACL_SUCCESS);
  std::vector<std::int8_t> expected =
      in_nz<std::int8_t>({values.begin(), values.begin() + 200}, 5, 40, 32);
  const auto second = in_nz<std::int8_t>({values.begin() + 200, values.end()}, 5, 40, 32);
  expected.insert(expected.end(), second.begin(), second.end());
  EXPECT_EQ(memory.get<std::int8_t>(), expected);
}

TEST_F(Nz, ConversionRefusesWhatTheChipDoesNotHave) {
  Buffer memory(4096);
  memory.put(std::vector<std::uint8_t>(4096));
  const auto code_of = [&](aclDataType type, const Sizes& shape, const Sizes& strides) {
    const Described weight(memory.address(), type, shape, strides, 0, {1024});
    return RUN_OP(TransMatmulWeight, weight.get());
  };
  EXPECT_EQ(code_of(ACL_FLOAT, {16, 16}, {}), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code_of(ACL_FLOAT16, {16}, {}), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code_of(ACL_FLOAT16, {16, 16}, {1, 16}), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code_of(ACL_FLOAT16, {64, 32}, {}), ACLNN_ERR_INNER_NULLPTR);
  EXPECT_EQ(RUN_OP(TransMatmulWeight, nullptr), ACLNN_ERR_PARAM_NULLPTR);
  restart({{"PROFILE", "310p"}});
  Buffer other(4096);
  const Described deep(other.address(), ACL_FLOAT16, {2, 16, 16}, {}, 0, {512});
  EXPECT_EQ(RUN_OP(TransMatmulWeight, deep.get()), ACLNN_ERR_PARAM_INVALID);
  const Described bfloat(other.address(), ACL_BF16, {16, 16}, {}, 0, {512});
  EXPECT_EQ(RUN_OP(TransMatmulWeight, bfloat.get()), ACLNN_ERR_PARAM_INVALID);
  restart({{"PROFILE", "310b"}});
  Buffer third(4096);
  const Described weight(third.address(), ACL_FLOAT16, {16, 16}, {}, 0, {256});
  EXPECT_EQ(RUN_OP(TransMatmulWeight, weight.get()), ACLNN_ERR_RUNTIME_ERROR);
}

TEST_F(Nz, AConversionWithoutRoomIsADeviceExceptionAndStrictModeObjectsEarlier) {
  const auto code_of = [] {
    Buffer memory(17 * 16 * 2);  // 32 rows in NZ
    memory.put(std::vector<Half>(17 * 16));
    const Described weight(memory.address(), ACL_FLOAT16, {17, 16}, {}, 0, {17, 16});
    return RUN_OP(TransMatmulWeight, weight.get());
  };
  EXPECT_EQ(code_of(), ACL_ERROR_RT_AICORE_EXCEPTION);
  restart({{"STRICT", "status"}});
  EXPECT_EQ(code_of(), ACLNN_ERR_PARAM_INVALID);
  EXPECT_NE(std::string(ascend_twin_last_objection()).find("no room"), std::string::npos);
}

TEST_F(Nz, ARefusedConversionLeavesTheDescriptorAsItIs) {
  restart({{"STRICT", "status"}});
  Buffer memory(2048);
  memory.put(std::vector<Half>(1024));
  // A base off 32 bytes, which strict mode finds after the operator's own checks.
  const Described weight(static_cast<Half*>(memory.address()) + 1, ACL_FLOAT16, {16, 16}, {}, 0,
                         {16, 16});
  EXPECT_EQ(RUN_OP(TransMatmulWeight, weight.get()), ACLNN_ERR_PARAM_INVALID);
  aclFormat format = ACL_FORMAT_UNDEFINED;
  ASSERT_EQ(aclGetFormat(weight.get(), &format), ACL_SUCCESS);
  EXPECT_EQ(format, ACL_FORMAT_ND);
}

TEST_F(Nz, StrictModeWatchesThePaddingOfAConversion) {
  // The second stream writes behind the 17 rows of ND, inside of the 32 rows of NZ.
  restart({{"STRICT", "status"}, {"ORDER", "lazy"}});
  Buffer memory(32 * 16 * 2 + 64);
  memory.put(std::vector<Half>(17 * 16));
  const Described weight(memory.address(), ACL_FLOAT16, {17, 16}, {}, 0, {17, 16});
  std::uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  ASSERT_EQ(aclnnTransMatmulWeightGetWorkspaceSize(weight.get(), &bytes, &executor), ACL_SUCCESS);
  const Buffer workspace(bytes);
  aclrtStream streams[2] = {};
  for (aclrtStream& stream : streams) ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  ASSERT_EQ(aclnnTransMatmulWeight(workspace.address(), bytes, executor, streams[0]), ACL_SUCCESS);
  auto* const padding = static_cast<Half*>(memory.address()) + 30 * 16;
  EXPECT_NE(aclrtMemsetAsync(padding, 32, 0, 32, streams[1]), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(streams[0]), ACL_SUCCESS) << ascend_twin_last_message();
  for (aclrtStream stream : streams) aclrtDestroyStream(stream);
}

TEST_F(Nz, SizesBeyondAllMemoryAreRefused) {
  std::uint64_t elements = 7;
  const Integers huge({UINT32_MAX, UINT32_MAX});
  EXPECT_EQ(aclnnCalculateMatmulWeightSizeV2(huge.get(), ACL_FLOAT16, &elements),
            ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(elements, 7U);
}

TEST_F(Nz, TheConversionCannotBeRepeated) {
  Buffer memory(512);
  memory.put(std::vector<Half>(256));
  const Described weight(memory.address(), ACL_FLOAT16, {16, 16}, {}, 0, {256});
  std::uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  ASSERT_EQ(aclnnTransMatmulWeightGetWorkspaceSize(weight.get(), &bytes, &executor), ACL_SUCCESS);
  EXPECT_GE(bytes, 512U);
  EXPECT_EQ(aclSetAclOpExecutorRepeatable(executor), ACLNN_ERR_INNER);
  aclDestroyAclOpExecutor(executor);
}

/// A product with a weight [N][K] in NZ, described as (K, N) with strides (1, K).
struct Case {
  std::size_t m = 3, k = 20, n = 18;
  std::vector<float> a = numbers(m * k, 7, 1);
  std::vector<float> w = numbers(n * k, 7, 2);
  std::vector<float> expected() const { return product(a, turned(w, n, k), m, k, n); }
};

TEST_F(Nz, ProductsReadATransposedViewByTheFormula) {
  const Case numbers_of;
  Tensor<Half> self(ACL_FLOAT16, {3, 20}, halves(numbers_of.a));
  const std::vector<Half> stored = in_nz(halves(numbers_of.w), 18, 20, 16);
  Buffer memory(stored.size() * 2);
  memory.put(stored);
  const Described weight(memory.address(), ACL_FLOAT16, {20, 18}, {1, 20}, 0,
                         {static_cast<std::int64_t>(stored.size())}, ACL_FORMAT_FRACTAL_NZ);
  Tensor<float> out(ACL_FLOAT, {3, 18}, std::vector<float>(54));
  ASSERT_EQ(RUN_OP(Mm, self.get(), weight.get(), out.get(), std::int8_t{0}), ACL_SUCCESS)
      << ascend_twin_last_message();
  EXPECT_EQ(out.values(), numbers_of.expected());
  Tensor<float> again(ACL_FLOAT, {3, 18}, std::vector<float>(54));
  ASSERT_EQ(RUN_NEWER("libopapi_nn.so", MatmulWeightNz, self.get(), weight.get(), again.get(),
                      std::int8_t{0}),
            ACL_SUCCESS);
  EXPECT_EQ(again.values(), numbers_of.expected());
}

TEST_F(Nz, ProductsReadAWeightThatIsNotTransposed) {
  const Case numbers_of;
  Tensor<Half> self(ACL_FLOAT16, {3, 20}, halves(numbers_of.a));
  const std::vector<Half> stored = in_nz(halves(turned(numbers_of.w, 18, 20)), 20, 18, 16);
  Buffer memory(stored.size() * 2);
  memory.put(stored);
  const Described weight(memory.address(), ACL_FLOAT16, {20, 18}, {}, 0, {2, 2, 16, 16},
                         ACL_FORMAT_FRACTAL_NZ);
  Tensor<float> out(ACL_FLOAT, {3, 18}, std::vector<float>(54));
  ASSERT_EQ(RUN_OP(Matmul, self.get(), weight.get(), out.get(), std::int8_t{0}), ACL_SUCCESS);
  EXPECT_EQ(out.values(), numbers_of.expected());
}

TEST_F(Nz, BatchesOfWeightsBroadcastAsOthersDo) {
  const std::vector<float> a = numbers(3 * 2 * 4, 5, 1);
  const std::vector<float> w = numbers(2 * 4 * 5, 5, 2);
  std::vector<Half> stored;
  for (std::ptrdiff_t i = 0; i < 2; ++i) {
    const auto part = in_nz(halves({w.begin() + i * 20, w.begin() + i * 20 + 20}), 4, 5, 16);
    stored.insert(stored.end(), part.begin(), part.end());
  }
  Buffer memory(stored.size() * 2);
  memory.put(stored);
  const Described weight(memory.address(), ACL_FLOAT16, {2, 4, 5}, {}, 0,
                         {static_cast<std::int64_t>(stored.size())}, ACL_FORMAT_FRACTAL_NZ);
  Tensor<Half> self(ACL_FLOAT16, {3, 1, 2, 4}, halves(a));
  Tensor<float> out(ACL_FLOAT, {3, 2, 2, 5}, std::vector<float>(60));
  ASSERT_EQ(RUN_OP(Matmul, self.get(), weight.get(), out.get(), std::int8_t{0}), ACL_SUCCESS);
  std::vector<float> expected;
  for (std::ptrdiff_t i = 0; i < 3; ++i) {
    for (std::ptrdiff_t j = 0; j < 2; ++j) {
      const auto part = product({a.begin() + i * 8, a.begin() + i * 8 + 8},
                                {w.begin() + j * 20, w.begin() + j * 20 + 20}, 2, 4, 5);
      expected.insert(expected.end(), part.begin(), part.end());
    }
  }
  EXPECT_EQ(out.values(), expected);
}

TEST_F(Nz, MemoryTooSmallForThePaddingIsADeviceException) {
  Tensor<Half> self(ACL_FLOAT16, {3, 20}, std::vector<Half>(60));
  Buffer memory(20 * 18 * 2);
  const Described weight(memory.address(), ACL_FLOAT16, {20, 18}, {1, 20}, 0, {360},
                         ACL_FORMAT_FRACTAL_NZ);
  Tensor<float> out(ACL_FLOAT, {3, 18}, std::vector<float>(54));
  EXPECT_EQ(RUN_OP(Mm, self.get(), weight.get(), out.get(), std::int8_t{0}),
            ACL_ERROR_RT_AICORE_EXCEPTION);
}

TEST_F(Nz, OtherOperandsAreNotInNz) {
  Buffer memory(2048);
  memory.put(std::vector<Half>(1024));
  const Described nz(memory.address(), ACL_FLOAT16, {16, 16}, {}, 0, {256}, ACL_FORMAT_FRACTAL_NZ);
  Tensor<Half> nd(ACL_FLOAT16, {16, 16}, std::vector<Half>(256));
  EXPECT_EQ(RUN_OP(Mm, nz.get(), nd.get(), nd.get(), std::int8_t{0}), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(Mm, nd.get(), nd.get(), nz.get(), std::int8_t{0}), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(
      RUN_NEWER("libopapi_nn.so", MatmulWeightNz, nd.get(), nd.get(), nd.get(), std::int8_t{0}),
      ACLNN_ERR_PARAM_INVALID);
  Tensor<Half> row(ACL_FLOAT16, {16}, std::vector<Half>(16));
  const Described vector(memory.address(), ACL_FLOAT16, {16}, {}, 0, {256}, ACL_FORMAT_FRACTAL_NZ);
  EXPECT_EQ(RUN_OP(Matmul, nd.get(), vector.get(), row.get(), std::int8_t{0}),
            ACLNN_ERR_PARAM_INVALID);
}

TEST_F(Nz, StrictModeObjectsToPartsOfATensorInNz) {
  struct Row {
    Sizes shape, strides;
    std::int64_t offset;
    Sizes storage;
    const char* why;
  };
  const Row rows[] = {
      {{16, 16}, {}, 256, {512}, "begins inside"},
      {{16, 16}, {32, 1}, 0, {512}, "no strides"},
      {{16, 16}, {}, 0, {2, 1, 16, 16}, "a part of"},
      {{17, 16}, {}, 0, {17 * 16}, "takes 512 elements"},
  };
  for (const char* const strict : {"off", "status"}) {
    restart({{"STRICT", strict}});
    Buffer memory(2048);
    memory.put(std::vector<Half>(1024));
    for (const Row& row : rows) {
      const std::int64_t k = row.shape[0];
      Tensor<Half> self(ACL_FLOAT16, {1, k}, std::vector<Half>(static_cast<std::size_t>(k)));
      Tensor<Half> out(ACL_FLOAT16, {1, 16}, std::vector<Half>(16));
      const Described weight(memory.address(), ACL_FLOAT16, row.shape, row.strides, row.offset,
                             row.storage, ACL_FORMAT_FRACTAL_NZ);
      const auto code = RUN_OP(Mm, self.get(), weight.get(), out.get(), std::int8_t{0});
      if (std::string(strict) == "off") {
        EXPECT_EQ(code, ACL_SUCCESS) << row.why;
      } else {
        EXPECT_EQ(code, ACLNN_ERR_PARAM_INVALID) << row.why;
        EXPECT_NE(std::string(ascend_twin_last_objection()).find(row.why), std::string::npos)
            << ascend_twin_last_objection();
      }
    }
  }
}

}  // namespace
}  // namespace ascend_test::products_nz
