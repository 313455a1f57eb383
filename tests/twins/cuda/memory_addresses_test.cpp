// Addresses that are wrong. The launch's error is as the driver's, and sticks.
#include <cstdlib>

#include "memory_kernels.h"

namespace memory_test {
namespace {

struct Wrong {
  CUresult code = CUDA_SUCCESS;
  std::string text;
};

Wrong run_wrong(const std::string& body, std::size_t words, unsigned threads = 32) {
  Gpu gpu;
  Buffer<std::uint32_t> data(words, 0);
  Wrong result;
  result.code = launch(kernel(body), "k", Dim(1), Dim(threads), {&data.address});
  result.text = cuda_twin_last_fault();
  return result;
}

TEST(CudaMemory, OneByteBeyondTheEndIsAnError) {
  const Wrong wrong = run_wrong("  st.global.u8 [%rd0+128], %r0;\n", 32, 1);
  EXPECT_EQ(wrong.code, CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_NE(wrong.text.find("0 bytes past the end of allocation"), std::string::npos) << wrong.text;
  EXPECT_NE(wrong.text.find("(128 bytes)"), std::string::npos) << wrong.text;
  EXPECT_NE(wrong.text.find("st.global.u8"), std::string::npos) << wrong.text;
  EXPECT_EQ(run_wrong("  st.global.u8 [%rd0+127], %r0;\n", 32, 1).code, CUDA_SUCCESS);
}

TEST(CudaMemory, ARunOfLanesOneByteTooFarIsAnError) {
  const std::string bytes = "  cvt.u64.u32 %rd2, %r0;\n  add.u64 %rd2, %rd2, %rd0;\n";
  EXPECT_EQ(run_wrong(bytes + "  st.global.u8 [%rd2+96], %r0;\n", 32).code, CUDA_SUCCESS);
  const Wrong wrong = run_wrong(bytes + "  st.global.u8 [%rd2+97], %r0;\n", 32);
  EXPECT_EQ(wrong.code, CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_NE(wrong.text.find("thread (31,0,0)"), std::string::npos) << wrong.text;
}

TEST(CudaMemory, TheLaneThatIsOutsideIsNamed) {
  const Wrong wrong = run_wrong("  ld.global.u32 %r1, [%rd1];\n", 31);
  EXPECT_EQ(wrong.code, CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_NE(wrong.text.find("thread (31,0,0)"), std::string::npos) << wrong.text;
}

TEST(CudaMemory, AnAccessAcrossTheEndIsAnError) {
  const Wrong wrong = run_wrong("  ld.global.v2.u32 {%r1, %r2}, [%rd0+120];\n", 31, 1);
  EXPECT_EQ(wrong.code, CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_NE(wrong.text.find("crosses the end"), std::string::npos) << wrong.text;
}

TEST(CudaMemory, AddressesThatWrapAroundAreErrors) {
  for (const char* const code : {"  mov.u64 %rd2, -4; ld.global.u32 %r1, [%rd2];\n",
                                 "  mov.u64 %rd2, 0; ld.global.u32 %r1, [%rd2];\n",
                                 "  setp.eq.u32 %p0, %r0, 3; mov.u64 %rd2, -4; selp.b64 %rd2, "
                                 "%rd2, %rd0, %p0; st.global.u32 [%rd2], %r0;\n",
                                 "  mov.u64 %rd2, 0x100000000000000; st.global.u32 [%rd2], %r0;\n",
                                 "  mov.u64 %rd2, 0x0200000000000000; ld.u32 %r1, [%rd2];\n"}) {
    EXPECT_EQ(run_wrong(code, 32).code, CUDA_ERROR_ILLEGAL_ADDRESS) << code;
  }
}

TEST(CudaMemory, MisalignedAccessesAreErrors) {
  const Wrong wrong = run_wrong(
      "  setp.eq.u32 %p0, %r0, 5;\n  mov.u64 %rd2, 2;\n  @!%p0 mov.u64 %rd2, 0;\n"
      "  add.u64 %rd2, %rd1, %rd2;\n  ld.global.u32 %r1, [%rd2];\n",
      64);
  EXPECT_EQ(wrong.code, CUDA_ERROR_MISALIGNED_ADDRESS);
  EXPECT_NE(wrong.text.find("thread (5,0,0)"), std::string::npos) << wrong.text;
  EXPECT_EQ(run_wrong("  ld.global.v2.u32 {%r1, %r2}, [%rd0+4];\n", 32, 1).code,
            CUDA_ERROR_MISALIGNED_ADDRESS);
  EXPECT_EQ(run_wrong("  .shared .b32 s[4]; st.shared.u32 [s+2], %r0;\n", 32, 1).code,
            CUDA_ERROR_MISALIGNED_ADDRESS);
}

TEST(CudaMemory, SharedAndLocalMemoryHaveEnds) {
  const Wrong shared = run_wrong(
      "  .shared .align 4 .b32 s[4];\n  st.shared.u32 [s+12], %r0;\n  st.shared.u32 [s+16], %r0;\n",
      32, 1);
  EXPECT_EQ(shared.code, CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_NE(shared.text.find("the block has 16 bytes"), std::string::npos) << shared.text;
  const Wrong local = run_wrong(
      "  .local .align 4 .b32 s[4];\n  st.local.u32 [s+12], %r0;\n  mov.u64 %rd2, s;\n"
      "  st.local.u32 [%rd2+4096], %r0;\n",
      32, 1);
  EXPECT_EQ(local.code, CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST(CudaMemory, SharedAndLocalMemoryEndAtABytesPrecision) {
  for (const char* const space : {"shared", "local"}) {
    const auto code = [&](const char* offset) {
      return std::string("  .") + space + " .align 16 .b8 s[16];\n  st." + space + ".u8 [s+" +
             offset + "], %r0;\n";
    };
    EXPECT_EQ(run_wrong(code("15"), 32, 1).code, CUDA_SUCCESS) << space;
    EXPECT_EQ(run_wrong(code("16"), 32, 1).code, CUDA_ERROR_ILLEGAL_ADDRESS) << space;
  }
}

TEST(CudaMemory, ConstantsAreNotWritten) {
  Gpu gpu;
  Buffer<std::uint32_t> data(1, 0);
  const std::string text =
      kernel("  mov.u64 %rd2, table;\n  cvta.const.u64 %rd2, %rd2;\n  st.u32 [%rd2], %r0;\n",
             ".const .align 4 .u32 table[4] = {7, 11, 13, 17};\n");
  EXPECT_EQ(launch(text, "k", Dim(1), Dim(1), {&data.address}), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_NE(std::string(cuda_twin_last_fault()).find("variable table"), std::string::npos)
      << cuda_twin_last_fault();
}

TEST(CudaMemory, FreedMemoryIsAnError) {
  Gpu gpu;
  CUdeviceptr freed = 0;
  {
    Buffer<std::uint32_t> data(32, 0);
    freed = data.address;
  }
  EXPECT_EQ(launch(kernel("  ld.global.u32 %r1, [%rd1];\n"), "k", Dim(1), Dim(32), {&freed}),
            CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_NE(std::string(cuda_twin_last_fault()).find("was freed"), std::string::npos)
      << cuda_twin_last_fault();
}

TEST(CudaMemoryDeathTest, TheHostCannotTouchDeviceMemory) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto touch = [] {
    Gpu gpu;
    Buffer<std::uint32_t> data(32, 1);
    volatile std::uint32_t* const pointer = reinterpret_cast<std::uint32_t*>(data.address);
    std::exit(*pointer == 1 ? 0 : 1);
  };
  EXPECT_DEATH(touch(), "");
}

}  // namespace
}  // namespace memory_test
