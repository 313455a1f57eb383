// Limits of a launch, the order of blocks, host threads, and the texts of errors.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "support.h"

namespace limits_test {

using twin_test::Buffer;
using twin_test::Dim;
using twin_test::Gpu;
using twin_test::launch;
using twin_test::module;

using Words = std::vector<std::uint32_t>;

/// %i is the number of the thread in the launch.
std::string kernel(const std::string& code) {
  return module(
      ".visible .entry k(.param .u64 p) {\n"
      "  .reg .pred %p<8>;\n  .reg .b32 %r<32>, %t, %i, %b, %n;\n  .reg .b64 %l<16>, %out, %mine;\n"
      "  .shared .align 4 .b8 area[4096];\n"
      "  ld.param.u64 %out, [p];\n  mov.u32 %t, %tid.x;\n  mov.u32 %b, %ctaid.x;\n"
      "  mov.u32 %n, %ntid.x;\n  mad.lo.u32 %i, %b, %n, %t;\n  mad.wide.u32 %mine, %i, 4, %out;\n" +
      code + "\n}\n");
}

void set(const char* name, const char* value) {
  ASSERT_EQ(cuda_twin_set(name, value), 1) << name;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Limits, ALoopWithoutEndReachesTheLimitOfInstructions) {
  Gpu gpu;
  set("CUDA_TWIN_INSTRUCTIONS", "100000");
  Buffer<std::uint32_t> out(64, 0);
  EXPECT_EQ(
      launch(kernel("LOOP: add.u32 %r0, %r0, 1;\nbra LOOP;"), "k", Dim(1), Dim(32), {&out.address}),
      CUDA_ERROR_LAUNCH_TIMEOUT);
  EXPECT_TRUE(has(cuda_twin_last_fault(), "more instructions than")) << cuda_twin_last_fault();
}

TEST(Limits, TheLimitIsOfAllWarpsTogether) {
  const std::string text = kernel(
      "mov.u32 %r0, 0;\nLOOP: add.u32 %r0, %r0, 1;\nsetp.lt.u32 %p0, %r0, 1000;\n@%p0 bra LOOP;\n"
      "st.global.u32 [%mine], %r0;\nret;");
  // A warp executes about 3,010 instructions.
  const auto code = [&](unsigned blocks, unsigned threads) {
    Gpu gpu;
    set("CUDA_TWIN_INSTRUCTIONS", "10000");
    Buffer<std::uint32_t> out(1024, 0);
    return launch(text, "k", Dim(blocks), Dim(threads), {&out.address});
  };
  EXPECT_EQ(code(1, 32), CUDA_SUCCESS);
  EXPECT_EQ(code(3, 32), CUDA_SUCCESS);
  EXPECT_EQ(code(4, 32), CUDA_ERROR_LAUNCH_TIMEOUT);
  EXPECT_EQ(code(1, 128), CUDA_ERROR_LAUNCH_TIMEOUT);
}

TEST(Limits, BlocksThatWaitForNothingReachTheLimit) {
  Gpu gpu;
  set("CUDA_TWIN_INSTRUCTIONS", "100000");
  Buffer<std::uint32_t> out(64, 0);
  EXPECT_EQ(launch(kernel("SPIN: ld.acquire.gpu.global.u32 %r0, [%out];\nsetp.eq.u32 %p0, %r0, 0;\n"
                          "@%p0 bra SPIN;\nret;"),
                   "k", Dim(3), Dim(32), {&out.address}),
            CUDA_ERROR_LAUNCH_TIMEOUT);
}

TEST(Limits, InstructionsAreCountedByKind) {
  Gpu gpu;
  Buffer<std::uint32_t> out(64, 0);
  const std::string text = module(
      ".visible .entry k(.param .u64 p) {\n  .reg .b32 %r<4>;\n  .reg .f32 %f<4>;\n"
      "  .reg .b64 %l0;\n  ld.param.u64 %l0, [p];\n  mov.f32 %f0, 0f3F800000;\n"
      "  add.f32 %f1, %f0, %f0;\n  mul.f32 %f1, %f1, %f0;\n  add.u32 %r1, 1, 2;\n"
      "  st.global.u32 [%l0], %r1;\n  bar.sync 0;\n  ret;\n}\n");
  TWIN_OK(launch(text, "k", Dim(1), Dim(1), {&out.address}));
  cuda_twin_kernel_counts counts = {};
  ASSERT_EQ(cuda_twin_count_kernel("k", &counts), 1);
  EXPECT_EQ(counts.launches, 1u);
  EXPECT_EQ(counts.blocks, 1u);
  EXPECT_EQ(counts.kinds[0], 1u);   // integer
  EXPECT_EQ(counts.kinds[1], 2u);   // float
  EXPECT_EQ(counts.kinds[6], 2u);   // memory: the parameter too
  EXPECT_EQ(counts.kinds[9], 1u);   // barrier
  EXPECT_EQ(counts.kinds[10], 1u);  // control
  const std::uint64_t sum = std::accumulate(std::begin(counts.kinds), std::end(counts.kinds), 0ull);
  EXPECT_EQ(counts.instructions, sum);
}

TEST(Limits, TheClockCountsInstructions) {
  Gpu gpu;
  const auto d = twin_test::lanes<std::uint32_t>(
      "mov.u32 %r0, %clock;\nadd.u32 %r2, 1, 1;\nadd.u32 %r2, 1, 1;\nadd.u32 %r2, 1, 1;\n"
      "mov.u32 %r1, %clock;\nsub.u32 %d, %r1, %r0;");
  EXPECT_GE(d[0], 4u);
  EXPECT_LE(d[0], 8u);
}

TEST(Limits, FullDevicesNeedFewMappingsOfTheHost) {
  Gpu gpu;
  cuda_twin_reset();
  set("CUDA_TWIN_DEVICES", "8");
  TWIN_OK(cuInit(0));
  for (int i = 0; i < 8; ++i) {
    CUdevice device = 0;
    CUcontext context = nullptr;
    TWIN_OK(cuDeviceGet(&device, i));
    TWIN_OK(cuDevicePrimaryCtxRetain(&context, device));
    TWIN_OK(cuCtxSetCurrent(context));
    CUdeviceptr memory = 0;
    while (cuMemAlloc(&memory, std::size_t{1} << 30) == CUDA_SUCCESS) {
    }
    std::size_t left = 0, all = 0;
    TWIN_OK(cuMemGetInfo(&left, &all));
    EXPECT_LT(left, std::size_t{1} << 30) << i;
  }
  std::ifstream maps("/proc/self/maps");
  const auto count = std::count(std::istreambuf_iterator<char>(maps), {}, '\n');
  EXPECT_LT(count, 45000);  // Linux allows 65,530
  for (int i = 0; i < 8; ++i) TWIN_OK(cuDevicePrimaryCtxReset(i));
}

// --- Order

/// Each block takes a ticket.
Words tickets(const char* seed, unsigned blocks) {
  Gpu gpu;
  set("CUDA_TWIN_ORDER", seed);
  set("CUDA_TWIN_THREADS", "1");
  Buffer<std::uint32_t> out(blocks + 1, 0);
  TWIN_OK(launch(kernel("atom.relaxed.gpu.global.add.u32 %r0, [%out], 1;\n"
                        "st.global.u32 [%mine+4], %r0;\nret;"),
                 "k", Dim(blocks), Dim(1), {&out.address}));
  Words order = out.read();
  order.erase(order.begin());
  return order;
}

TEST(Order, BlocksRunInOrderWithoutASeed) {
  Words expected(20);
  std::iota(expected.begin(), expected.end(), 0u);
  EXPECT_EQ(tickets("0", 20), expected);
}

TEST(Order, ASeedPicksAnotherOrderAndKeepsIt) {
  const Words one = tickets("1", 20), two = tickets("2", 20);
  EXPECT_NE(one, two);
  EXPECT_EQ(one, tickets("1", 20));
  Words sorted = one;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(sorted, tickets("0", 20));
}

TEST(Order, ASeedChangesTheOrderOfWarps) {
  std::set<Words> orders;
  for (const char* seed : {"0", "1", "2", "3", "4"}) {
    Gpu gpu;
    set("CUDA_TWIN_ORDER", seed);
    Buffer<std::uint32_t> out(300, 0);
    TWIN_OK(launch(kernel("and.b32 %r1, %t, 31;\nsetp.ne.u32 %p0, %r1, 0;\n@%p0 ret;\n"
                          "atom.relaxed.cta.global.add.u32 %r0, [%out], 1;\n"
                          "st.global.u32 [%mine+4], %r0;\nret;"),
                   "k", Dim(1), Dim(256), {&out.address}));
    orders.insert(out.read());
  }
  EXPECT_GE(orders.size(), 3u);
}

// --- Host threads

const char* const kHeavy =
    "mov.u32 %r0, 0;\nmov.u32 %r1, %i;\n"
    "LOOP: mad.lo.u32 %r1, %r1, 1664525, 1013904223;\nadd.u32 %r0, %r0, 1;\n"
    "setp.lt.u32 %p0, %r0, 2000;\n@%p0 bra LOOP;\nst.global.u32 [%mine], %r1;\nret;";

TEST(HostThreads, GiveTheSameResults) {
  const unsigned blocks = 150, threads = 64;
  Words expected(blocks * threads);
  for (std::uint32_t i = 0; i < expected.size(); ++i) {
    std::uint32_t x = i;
    for (int k = 0; k < 2000; ++k) x = x * 1664525u + 1013904223u;
    expected[i] = x;
  }
  for (const char* count : {"1", "2", "5"}) {
    Gpu gpu;
    set("CUDA_TWIN_THREADS", count);
    Buffer<std::uint32_t> out(blocks * threads, 0);
    TWIN_OK(launch(kernel(kHeavy), "k", Dim(blocks), Dim(threads), {&out.address}));
    EXPECT_EQ(out.read(), expected) << count;
    cuda_twin_kernel_counts counts = {};
    ASSERT_EQ(cuda_twin_count_kernel("k", &counts), 1);
    EXPECT_EQ(counts.blocks, blocks);
  }
}

TEST(HostThreads, TheErrorOfTheFirstBlockCounts) {
  // From block 97 on each block fails; the later ones fail sooner.
  const std::string text = kernel(
      "mov.u32 %r0, 0;\nmov.u32 %r2, 200;\nsub.u32 %r2, %r2, %b;\nmul.lo.u32 %r2, %r2, 20;\n"
      "LOOP: add.u32 %r0, %r0, 1;\nsetp.lt.u32 %p0, %r0, %r2;\n@%p0 bra LOOP;\n"
      "setp.ge.u32 %p1, %b, 97;\n@%p1 trap;\nret;");
  for (const char* count : {"1", "2", "7"}) {
    Gpu gpu;
    set("CUDA_TWIN_THREADS", count);
    Buffer<std::uint32_t> out(64, 0);
    EXPECT_EQ(launch(text, "k", Dim(200), Dim(32), {&out.address}), CUDA_ERROR_LAUNCH_FAILED);
    EXPECT_TRUE(has(cuda_twin_last_fault(), "block (97,0,0)")) << cuda_twin_last_fault();
  }
}

TEST(HostThreads, FindingsDoNotDependOnThem) {
  // Every block has the same two findings: each is kept once, of the first block.
  std::set<std::string> texts;
  for (const char* count : {"1", "2", "5"}) {
    Gpu gpu;
    set("CUDA_TWIN_THREADS", count);
    set("CUDA_TWIN_FINDINGS", "record");
    Buffer<std::uint32_t> out(64, 0);
    TWIN_OK(launch(kernel("mov.u32 %r0, 0;\nLOOP: add.u32 %r0, %r0, 1;\n"
                          "setp.lt.u32 %p0, %r0, 1000;\n@%p0 bra LOOP;\n"
                          "vote.sync.ballot.b32 %r1, %p0, 0x7fffffff;\n"
                          "vote.sync.ballot.b32 %r1, %p0, 0xfffffffe;\nret;"),
                   "k", Dim(100), Dim(32), {&out.address}));
    std::string all;
    EXPECT_EQ(cuda_twin_findings(), 2u);
    for (std::size_t i = 0; i < cuda_twin_findings(); ++i) {
      const char *check = nullptr, *text = nullptr;
      ASSERT_EQ(cuda_twin_finding(i, &check, &text), 1);
      all += std::string(check) + ": " + text + "\n";
    }
    EXPECT_TRUE(has(all, "block (0,0,0), thread (31,0,0)")) << all;
    EXPECT_TRUE(has(all, "block (0,0,0), thread (0,0,0)")) << all;
    texts.insert(all);
  }
  EXPECT_EQ(texts.size(), 1u);
}

TEST(HostThreads, AnEarlierBlockThatIsSlowMayStillFail) {
  for (const char* count : {"1", "2"}) {
    Gpu gpu;
    set("CUDA_TWIN_THREADS", count);
    Buffer<std::uint32_t> out(64, 0);
    EXPECT_EQ(launch(kernel("setp.ne.u32 %p1, %b, 0;\n@%p1 trap;\nmov.u32 %r0, 0;\n"
                            "LOOP: add.u32 %r0, %r0, 1;\nsetp.lt.u32 %p0, %r0, 150000;\n"
                            "@%p0 bra LOOP;\ntrap;"),
                     "k", Dim(2), Dim(32), {&out.address}),
              CUDA_ERROR_LAUNCH_FAILED);
    EXPECT_TRUE(has(cuda_twin_last_fault(), "block (0,0,0)")) << cuda_twin_last_fault();
  }
}

TEST(HostThreads, BlocksThatWaitForOneThatFailedEnd) {
  for (const char* count : {"2"}) {
    Gpu gpu;
    set("CUDA_TWIN_THREADS", count);
    Buffer<std::uint32_t> out(64, 0);
    EXPECT_EQ(launch(kernel("setp.ne.u32 %p1, %b, 0;\n@%p1 trap;\n"
                            "LOOP: ld.acquire.gpu.global.u32 %r0, [%out];\n"
                            "setp.eq.u32 %p0, %r0, 0;\n@%p0 bra LOOP;\nret;"),
                     "k", Dim(2), Dim(32), {&out.address}),
              CUDA_ERROR_LAUNCH_FAILED);
    EXPECT_TRUE(has(cuda_twin_last_fault(), "block (1,0,0)")) << cuda_twin_last_fault();
  }
}

TEST(Findings, TextsStayWhileOthersComeAndGo) {
  Gpu gpu;
  set("CUDA_TWIN_FINDINGS", "record");
  Buffer<std::uint32_t> out(64, 0);
  const std::string text = kernel("vote.sync.ballot.b32 %r1, %p0, 0x7fffffff;\nret;");
  TWIN_OK(launch(text, "k", Dim(1), Dim(32), {&out.address}));
  const char *check = nullptr, *shown = nullptr;
  ASSERT_EQ(cuda_twin_finding(0, &check, &shown), 1);
  const std::string kept_check = check, kept = shown;
  cuda_twin_drop_findings();
  for (int i = 0; i < 8; ++i) TWIN_OK(launch(text, "k", Dim(1), Dim(32), {&out.address}));
  EXPECT_EQ(check, kept_check);
  EXPECT_EQ(shown, kept);
}

// --- Cooperative launches

TEST(Cooperative, AllBlocksMeetInEachRound) {
  Gpu gpu;
  // Word 0 counts arrivals. Each block adds its neighbour's value of the round before.
  const unsigned blocks = 12, rounds = 6;
  const std::string text = kernel(
      "add.u32 %r9, %b, 1;\nsetp.eq.u32 %p2, %r9, 12;\n@%p2 mov.u32 %r9, 0;\n"
      "mad.wide.u32 %l0, %r9, 4, %out;\nmov.u32 %r0, 0;\nmov.u32 %r1, %b;\n"
      "ROUND: st.relaxed.gpu.global.u32 [%mine+64], %r1;\n"
      "mad.lo.u32 %r3, %r0, 2, 1;\nmul.lo.u32 %r3, %r3, 12;\n"
      "atom.acq_rel.gpu.global.add.u32 %r2, [%out], 1;\n"
      "SPIN1: ld.acquire.gpu.global.u32 %r2, [%out];\nsetp.lt.u32 %p0, %r2, %r3;\n@%p0 bra SPIN1;\n"
      "ld.relaxed.gpu.global.u32 %r4, [%l0+64];\nadd.u32 %r1, %r1, %r4;\nadd.u32 %r3, %r3, 12;\n"
      "atom.acq_rel.gpu.global.add.u32 %r2, [%out], 1;\n"
      "SPIN2: ld.acquire.gpu.global.u32 %r2, [%out];\nsetp.lt.u32 %p0, %r2, %r3;\n@%p0 bra SPIN2;\n"
      "add.u32 %r0, %r0, 1;\nsetp.lt.u32 %p1, %r0, 6;\n@%p1 bra ROUND;\n"
      "st.global.u32 [%mine+128], %r1;\nret;");
  CUmodule loaded = nullptr;
  CUfunction function = nullptr;
  std::string log;
  ASSERT_EQ(twin_test::load(text, &loaded, &log), CUDA_SUCCESS) << log;
  TWIN_OK(cuModuleGetFunction(&function, loaded, "k"));
  {
    Buffer<std::uint32_t> out(128, 0);
    void* args[] = {&out.address};
    TWIN_OK(cuLaunchCooperativeKernel(function, blocks, 1, 1, 1, 1, 1, 0, nullptr, args));
    TWIN_OK(cuCtxSynchronize());
    Words expected(blocks);
    std::iota(expected.begin(), expected.end(), 0u);
    for (unsigned round = 0; round < rounds; ++round) {
      Words next(blocks);
      for (unsigned i = 0; i < blocks; ++i) next[i] = expected[i] + expected[(i + 1) % blocks];
      expected = next;
    }
    const Words all = out.read();
    EXPECT_EQ(Words(all.begin() + 32, all.begin() + 32 + blocks), expected);
  }
  TWIN_OK(cuModuleUnload(loaded));
}

// --- Memory of a block

TEST(BlockMemory, SharedMemoryIsUnwrittenInEveryBlock) {
  // Block 0 writes, and block 1 reads the same place.
  Gpu gpu;
  set("CUDA_TWIN_THREADS", "1");
  Buffer<std::uint32_t> out(64, 0);
  EXPECT_NE(launch(kernel("mov.u32 %r0, area;\nsetp.eq.u32 %p0, %b, 0;\n"
                          "@%p0 st.shared.u32 [%r0], 5;\n@!%p0 ld.shared.u32 %r1, [%r0];\n"
                          "@!%p0 st.global.u32 [%out], %r1;\nret;"),
                   "k", Dim(2), Dim(1), {&out.address}),
            CUDA_SUCCESS);
  EXPECT_TRUE(has(cuda_twin_last_fault(), "block (1,0,0)")) << cuda_twin_last_fault();
}

TEST(BlockMemory, LanesOfABlockOfThreeDimensions) {
  Gpu gpu;
  const std::string text = module(
      ".visible .entry k(.param .u64 p) {\n  .reg .b32 %r<16>;\n  .reg .b64 %l<4>;\n"
      "  ld.param.u64 %l0, [p];\n  mov.u32 %r0, %tid.x;\n  mov.u32 %r1, %tid.y;\n"
      "  mov.u32 %r2, %tid.z;\n  mov.u32 %r3, %ctaid.x;\n  mov.u32 %r4, %ctaid.y;\n"
      "  mov.u32 %r5, %ctaid.z;\n  mad.lo.u32 %r6, %r2, 3, %r1;\n  mad.lo.u32 %r6, %r6, 5, %r0;\n"
      "  mad.lo.u32 %r7, %r5, 3, %r4;\n  mad.lo.u32 %r7, %r7, 2, %r3;\n"
      "  mad.lo.u32 %r8, %r7, 60, %r6;\n  mad.wide.u32 %l1, %r8, 4, %l0;\n"
      "  atom.relaxed.gpu.global.add.u32 %r9, [%l1], %r8;\n  ret;\n}\n");
  // 2 x 3 x 2 blocks of 5 x 3 x 4 threads: each number once.
  Buffer<std::uint32_t> out(12 * 60, 0);
  TWIN_OK(launch(text, "k", Dim(2, 3, 2), Dim(5, 3, 4), {&out.address}));
  Words expected(12 * 60);
  std::iota(expected.begin(), expected.end(), 0u);
  EXPECT_EQ(out.read(), expected);
}

}  // namespace limits_test
