// cp.async: groups, waits, sizes.
#include "memory_kernels.h"

namespace memory_test {
namespace {

std::string copying(const std::string& code) {
  return R"(
  .shared .align 16 .b8 tile[1024];
  mov.u32 %r1, tile;
  mad.lo.u32 %r1, %r0, 16, %r1;
  mad.wide.u32 %rd2, %r0, 16, %rd0;
)" + code +
         R"(
  ld.shared.u32 %r2, [%r1+4];
  add.u32 %r2, %r2, 1;
  st.global.u32 [%rd2], %r2;
)";
}

TEST(CudaMemory, AsyncCopiesArriveWhenWaitedFor) {
  for (const char* const code :
       {"cp.async.cg.shared.global [%r1], [%rd2], 16; cp.async.wait_all;",
        "cp.async.ca.shared.global.L2::128B [%r1], [%rd2], 16; cp.async.commit_group; "
        "cp.async.wait_group 0;",
        "cp.async.ca.shared.global [%r1], [%rd2], 8; cp.async.wait_all;",
        "cp.async.cg.shared.global [%r1], [%rd2], 16, 16; cp.async.commit_group; "
        "cp.async.commit_group; cp.async.wait_group 1;",
        "cp.async.ca.shared.global [%r1+4], [%rd2+4], 4; cp.async.wait_all;",
        "cp.async.cg.shared.global.L2::64B [%r1], [%rd2], 16; cp.async.wait_all;",
        "cp.async.ca.shared::cta.global.L2::256B [%r1], [%rd2], 8; cp.async.wait_all;",
        "createpolicy.fractional.L2::evict_first.b64 %rd5; "
        "cp.async.cg.shared.global.L2::cache_hint [%r1], [%rd2], 16, %rd5; cp.async.wait_all;",
        "createpolicy.fractional.L2::evict_first.b64 %rd5; "
        "cp.async.ca.shared.global.L2::cache_hint.L2::128B [%r1], [%rd2], 16, 16, %rd5; "
        "cp.async.wait_all;"}) {
    Gpu gpu;
    Buffer<std::uint32_t> data(counting(128));
    ASSERT_EQ(run(copying(code), data), CUDA_SUCCESS) << code << cuda_twin_last_fault();
    const auto result = data.read();
    for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(result[4 * i], 4 * i + 2) << code;
  }
}

TEST(CudaMemory, AsyncCopiesOfTheLastGroupsMayBeUnderWay) {
  // Of four groups the first two are complete, and the word of the third one is 0xFFFFFFFF.
  Gpu gpu;
  ASSERT_EQ(cuda_twin_set("CUDA_TWIN_CHECK_INITIALISED", "off"), 1);
  Buffer<std::uint32_t> data(counting(128));
  std::string code;
  for (const char* at : {"0", "4", "8", "12"}) {
    code += "cp.async.ca.shared.global [%r1+" + std::string(at) + "], [%rd2+" + at +
            "], 4; cp.async.commit_group; ";
  }
  ASSERT_EQ(run(copying(code + "cp.async.wait_group 2; ld.shared.u32 %r5, [%r1]; "
                               "ld.shared.u32 %r6, [%r1+8]; cp.async.wait_group 1; "
                               "ld.shared.u32 %r7, [%r1+8]; ld.shared.u32 %r8, [%r1+12]; "
                               "add.u32 %r6, %r6, %r5; add.u32 %r8, %r8, %r7; "
                               "st.global.v2.u32 [%rd2+8], {%r6, %r8};"),
                data),
            CUDA_SUCCESS)
      << cuda_twin_last_fault();
  const auto result = data.read();
  for (std::uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(result[4 * i], 4 * i + 2) << i;
    EXPECT_EQ(result[4 * i + 2], 4 * i - 1) << i;
    EXPECT_EQ(result[4 * i + 3], 4 * i + 1) << i;
  }
}

TEST(CudaMemory, AsyncCopiesPadWithZeros) {
  Gpu gpu;
  Buffer<std::uint32_t> data(counting(128, 50));
  // Lanes below 16 copy 4 bytes of 16, the others 8.
  ASSERT_EQ(run(copying("setp.lt.u32 %p0, %r0, 16; selp.u32 %r3, 4, 8, %p0;"
                        "cp.async.cg.shared.global [%r1], [%rd2], 16, %r3; cp.async.wait_all;"),
                data),
            CUDA_SUCCESS)
      << cuda_twin_last_fault();
  const auto result = data.read();
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(result[4 * i], i < 16 ? 1 : 50 + 4 * i + 2);
}

TEST(CudaMemory, AsyncCopiesPadReusedBuffersToo) {
  Gpu gpu;
  Buffer<std::uint32_t> data(counting(128, 50));
  // A full copy first: the second one reads nothing and must not show the first one's bytes.
  ASSERT_EQ(run(copying("cp.async.cg.shared.global [%r1], [%rd2], 16; cp.async.wait_all;"
                        "cp.async.cg.shared.global [%r1], [%rd2], 16, 0; cp.async.wait_all;"),
                data),
            CUDA_SUCCESS)
      << cuda_twin_last_fault();
  EXPECT_EQ(data.read()[0], 1u);
}

TEST(CudaMemory, AsyncCopiesThatAreIgnoredReadNothing) {
  Gpu gpu;
  Buffer<std::uint32_t> data(counting(128, 50));
  ASSERT_EQ(run(copying("setp.lt.u32 %p0, %r0, 16; @%p0 mov.u64 %rd2, 0;"
                        "cp.async.ca.shared.global [%r1], [%rd2], 16, %p0; cp.async.wait_all;"
                        "mad.wide.u32 %rd2, %r0, 16, %rd0;"),
                data),
            CUDA_SUCCESS)
      << cuda_twin_last_fault();
  const auto result = data.read();
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(result[4 * i], i < 16 ? 1 : 50 + 4 * i + 2);
}

TEST(CudaMemory, AsyncCopiesAreNotThereBeforeTheWait) {
  Gpu gpu;
  ASSERT_EQ(cuda_twin_set("CUDA_TWIN_CHECK_INITIALISED", "off"), 1);
  Buffer<std::uint32_t> data(counting(128));
  ASSERT_EQ(run(copying("cp.async.cg.shared.global [%r1], [%rd2], 16; cp.async.commit_group;"
                        "cp.async.wait_group 1;"),
                data),
            CUDA_SUCCESS);
  const auto result = data.read();
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(result[4 * i], 0u);  // 0xFFFFFFFF + 1
}

TEST(CudaMemory, AsyncCopiesOfLanesThatEndedHoldUpNoOtherLane) {
  Gpu gpu;
  // The last lane never waits for its copy, while the others make many.
  Buffer<std::uint32_t> data(counting(128));
  ASSERT_EQ(run(copying(R"(
  cp.async.ca.shared.global [%r1], [%rd2], 16;
  setp.eq.u32 %p0, %r0, 31;
  @%p0 ret;
  cp.async.wait_all;
  mov.u32 %r5, 0;
AGAIN:
  cp.async.ca.shared.global [%r1], [%rd2], 16;
  cp.async.wait_all;
  add.u32 %r5, %r5, 1;
  setp.lt.u32 %p0, %r5, 40000;
  @%p0 bra AGAIN;)"),
                data),
            CUDA_SUCCESS)
      << cuda_twin_last_fault();
  EXPECT_EQ(data.read()[120], 122u);
}

}  // namespace
}  // namespace memory_test
