// Strict mode knows which bytes are in FRACTAL_NZ.
#include "capture_support.h"

namespace ascend_test::strict_nz_tests {
namespace {

constexpr std::uint16_t kOne = 0x3C00;  // of F16
using Halves = std::vector<std::uint16_t>;

class StrictNzTest : public TwinTest {
 protected:
  static std::uint64_t objections() { return ascend_twin_count(ASCEND_TWIN_OBJECTIONS); }
};

aclTensor* matrix_of(void* address, std::int64_t rows, std::int64_t columns,
                     aclFormat format = ACL_FORMAT_ND) {
  const std::int64_t shape[] = {rows, columns};
  const std::int64_t storage[] = {rows * columns};
  return aclCreateTensor(shape, 2, ACL_FLOAT16, nullptr, 0, format, storage, 1, address);
}

/// 16 rows of 32 ones, converted.
struct Weight {
  Weight() : memory(16 * 32 * 2) {
    memory.put(Halves(16 * 32, kOne));
    aclTensor* const weight = matrix_of(memory.address(), 16, 32);
    EXPECT_EQ(RUN_OP(TransMatmulWeight, weight), ACL_SUCCESS) << ascend_twin_last_message();
    aclDestroyTensor(weight);
  }
  Buffer memory;
};

aclError multiply(aclTensor* weight, std::int64_t columns) {
  Tensor<std::uint16_t> self(ACL_FLOAT16, {1, 16}, Halves(16, kOne));
  Tensor<std::uint16_t> out(ACL_FLOAT16, {1, columns},
                            Halves(static_cast<std::size_t>(columns), 0));
  const aclError code = RUN_OP(Matmul, self.get(), weight, out.get(), std::int8_t{0});
  if (code == ACL_SUCCESS) {
    EXPECT_EQ(out.values(), Halves(static_cast<std::size_t>(columns), 0x4C00));  // 16
  }
  return code;
}

TEST_F(StrictNzTest, BytesReadAsNd) {
  for (const char* strict : {"status", "off"}) {
    restart({{"STRICT", strict}});
    const bool objects = std::string(strict) == "status";
    const Weight weight;
    aclTensor* const plain = matrix_of(weight.memory.address(), 16, 32);
    EXPECT_EQ(multiply(plain, 32), objects ? ACL_ERROR_RT_AICORE_EXCEPTION : ACL_SUCCESS);
    EXPECT_EQ(objections(), objects ? 1U : 0U);
    if (objects) {
      EXPECT_TRUE(objected_to("bytes in FRACTAL_NZ, read as ND"));
    }
    aclDestroyTensor(plain);
  }
}

TEST_F(StrictNzTest, BytesReadAsTheyAre) {
  restart({{"STRICT", "status"}});
  const Weight weight;
  aclTensor* const same = matrix_of(weight.memory.address(), 16, 32, ACL_FORMAT_FRACTAL_NZ);
  EXPECT_EQ(multiply(same, 32), ACL_SUCCESS) << ascend_twin_last_message();
  EXPECT_EQ(objections(), 0U) << ascend_twin_last_objection();
  aclDestroyTensor(same);
}

TEST_F(StrictNzTest, ViewIntoThem) {
  restart({{"STRICT", "status"}});
  const Weight weight;
  void* const second = static_cast<char*>(weight.memory.address()) + 16 * 16 * 2;
  aclTensor* const part = matrix_of(second, 16, 16, ACL_FORMAT_FRACTAL_NZ);
  EXPECT_NE(multiply(part, 16), ACL_SUCCESS);
  EXPECT_TRUE(objected_to("a view into bytes in FRACTAL_NZ"));
  aclDestroyTensor(part);
}

TEST_F(StrictNzTest, OverwrittenBytesAreNdAgain) {
  restart({{"STRICT", "status"}});
  Weight weight;
  weight.memory.put(Halves(16 * 32, kOne));
  aclTensor* const plain = matrix_of(weight.memory.address(), 16, 32);
  EXPECT_EQ(multiply(plain, 32), ACL_SUCCESS) << ascend_twin_last_message();
  EXPECT_EQ(objections(), 0U) << ascend_twin_last_objection();
  aclDestroyTensor(plain);
}

}  // namespace
}  // namespace ascend_test::strict_nz_tests
