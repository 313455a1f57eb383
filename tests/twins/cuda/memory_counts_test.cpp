// Counts per kernel: bytes, sectors, bank conflicts, sets of parameters, blocks that write nothing.
#include "memory_kernels.h"

namespace memory_test {
namespace {

TEST(CudaMemory, CountsOfBytesAndSectors) {
  Gpu gpu;
  Buffer<std::uint32_t> data(counting(1024));
  cuda_twin_reset_counts();
  ASSERT_EQ(run(R"(
  ld.global.u32 %r1, [%rd1];
  mad.wide.u32 %rd2, %r0, 128, %rd0;
  st.global.u32 [%rd2], %r1;
  .shared .align 4 .b32 s[1024];
  mov.u32 %r2, s;
  mad.lo.u32 %r2, %r0, 8, %r2;
  st.shared.u32 [%r2], %r1;
)",
                data),
            CUDA_SUCCESS)
      << cuda_twin_last_fault();
  cuda_twin_kernel_counts counts;
  ASSERT_EQ(cuda_twin_count_kernel("k", &counts), 1);
  EXPECT_EQ(counts.global_bytes_read, 128u);
  EXPECT_EQ(counts.global_bytes_written, 128u);
  EXPECT_EQ(counts.global_sectors, 4u + 32u);
  EXPECT_EQ(counts.bank_conflicts, 1u);  // a stride of two words: two lanes a bank
  EXPECT_EQ(counts.worst_bank_conflict, 1u);
  EXPECT_EQ(counts.blocks_without_write, 0u);
}

TEST(CudaMemory, BankConflictsOfVectorsAreThoseOfEachPhase) {
  // A phase is 8 lanes of 16 bytes, 16 lanes of 8 bytes or 32 lanes of up to 4 bytes.
  struct Case {
    const char* address;  // of lane %r0, in %r1
    const char* access;
    std::uint64_t conflicts;
  };
  const std::string v4 = "st.shared.v4.b32 [%r2], {%r0, %r0, %r0, %r0};";
  const std::string v2 = "st.shared.v2.b32 [%r2], {%r0, %r0};";
  const std::string b8 = "st.shared.b8 [%r2], %r0;";
  const Case cases[] = {
      // Neighbours swapped: the 8 lanes of a phase have all banks among them.
      {"xor.b32 %r1, %r0, 1; shl.b32 %r1, %r1, 4;", v4.c_str(), 0},
      // 32 bytes apart, lanes 0 and 4 of a phase share banks: 4 phases of a pass more.
      {"shl.b32 %r1, %r0, 5;", v4.c_str(), 4},
      // All 8 lanes of a phase in the same banks: 4 phases of 7 passes more.
      {"shl.b32 %r1, %r0, 7;", v4.c_str(), 28},
      // One place is one word of each bank.
      {"mov.u32 %r1, 512;", "ld.shared.v4.b32 {%r3, %r4, %r5, %r6}, [%r2];", 0},
      // Lanes 0, 8, 16 and 24 are each alone in their phases.
      {"shl.b32 %r1, %r0, 7; and.b32 %r3, %r0, 7; setp.eq.u32 %p0, %r3, 0;",
       "@%p0 st.shared.v4.b32 [%r2], {%r0, %r0, %r0, %r0};", 0},
      // Lanes 8 to 15 are one phase, and the inactive lanes have no part in it.
      {"shl.b32 %r1, %r0, 7; and.b32 %r3, %r0, 24; setp.eq.u32 %p0, %r3, 8;",
       "@%p0 st.shared.v4.b32 [%r2], {%r0, %r0, %r0, %r0};", 7},
      {"xor.b32 %r1, %r0, 1; shl.b32 %r1, %r1, 3;", v2.c_str(), 0},
      {"shl.b32 %r1, %r0, 4;", v2.c_str(), 2},
      {"shl.b32 %r1, %r0, 7;", v2.c_str(), 30},
      {"shl.b32 %r1, %r0, 7;", b8.c_str(), 31},
      // Bytes 2, 6, 10, ... and 128: word 32 shares the bank of word 0.
      {"mul.lo.u32 %r1, %r0, 4; add.u32 %r1, %r1, 2; setp.eq.u32 %p0, %r0, 31;"
       "@%p0 mov.u32 %r1, 128;",
       b8.c_str(), 1},
  };
  for (const Case& each : cases) {
    Gpu gpu;
    Buffer<std::uint32_t> data(counting(32));
    cuda_twin_reset_counts();
    ASSERT_EQ(cuda_twin_set("CUDA_TWIN_CHECK_INITIALISED", "off"), 1);
    EXPECT_EQ(run(std::string(each.address) +
                      "  .shared .align 16 .b8 s[4096];\n  mov.u32 %r2, s;\n"
                      "  add.u32 %r2, %r2, %r1;\n  " +
                      each.access,
                  data),
              CUDA_SUCCESS)
        << cuda_twin_last_fault();
    cuda_twin_kernel_counts counts;
    ASSERT_EQ(cuda_twin_count_kernel("k", &counts), 1);
    EXPECT_EQ(counts.bank_conflicts, each.conflicts) << each.address << each.access;
    EXPECT_EQ(counts.worst_bank_conflict, each.conflicts) << each.address << each.access;
  }
}

TEST(CudaMemory, CountsOfDifferentParameters) {
  const std::string text =
      ".version 7.0\n.target sm_80\n.address_size 64\n"
      ".entry k(.param .u64 out, .param .u32 value) {\n  ret;\n}\n"
      ".entry other(.param .u64 out, .param .u32 value) {\n  ret;\n}\n";
  Gpu gpu;
  const Buffer<std::uint32_t> data(counting(4));
  cuda_twin_reset_counts();
  std::uint64_t address = data.address;
  for (std::uint32_t value : {1u, 2u, 1u}) {
    ASSERT_EQ(twin_test::launch(text, "k", 1, 1, {&address, &value}), CUDA_SUCCESS);
    ASSERT_EQ(twin_test::launch(text, "other", 1, 1, {&address, &address}), CUDA_SUCCESS);
  }
  cuda_twin_kernel_counts counts;
  ASSERT_EQ(cuda_twin_count_kernel("k", &counts), 1);
  EXPECT_EQ(counts.launches, 3u);
  EXPECT_EQ(counts.parameter_sets, 2u);
  ASSERT_EQ(cuda_twin_count_kernel("other", &counts), 1);
  EXPECT_EQ(counts.parameter_sets, 1u);
  ASSERT_EQ(cuda_twin_count_kernel(nullptr, &counts), 1);
  EXPECT_EQ(counts.parameter_sets, 3u);
}

TEST(CudaMemory, CountsOfBlocksThatWriteNothing) {
  const std::string text =
      ".version 7.0\n.target sm_80\n.address_size 64\n.entry k(.param .u64 out) {\n"
      "  .reg .b64 %a;\n  .reg .b32 %i;\n  .reg .pred %p;\n"
      "  mov.u32 %i, %ctaid.x;\n  setp.ne.u32 %p, %i, 0;\n  @%p ret;\n"
      "  ld.param.u64 %a, [out];\n  st.global.u32 [%a], %i;\n  ret;\n}\n";
  for (const char* threads : {"1", "4"}) {
    Gpu gpu;
    ASSERT_EQ(cuda_twin_set("CUDA_TWIN_THREADS", threads), 1);
    Buffer<std::uint32_t> data(counting(4));
    cuda_twin_reset_counts();
    ASSERT_EQ(twin_test::launch(text, "k", 100, 1, {&data.address}), CUDA_SUCCESS);
    cuda_twin_kernel_counts counts;
    ASSERT_EQ(cuda_twin_count_kernel("k", &counts), 1);
    EXPECT_EQ(counts.blocks, 100u);
    EXPECT_EQ(counts.blocks_without_write, 99u) << threads;
  }
}

}  // namespace
}  // namespace memory_test
