// Races: for each kind a program with one, and its twin without.
#include <cstring>

#include "support.h"

namespace races_test {
namespace {

using namespace std::string_literals;

using twin_test::Buffer;
using twin_test::Dim;
using twin_test::Gpu;
using twin_test::launch;
using twin_test::module;

/// %r0 = tid, %r1 = lane, %r2 = warp, %r3 = block; %r7 = tile + 4 * tid; %rd0 = data.
std::string kernel(const std::string& body, const std::string& name = "k") {
  return module(".visible .entry " + name + R"((.param .u64 data, .param .u64 counter)
{
  .reg .b64 %rd<8>;
  .reg .b32 %r<16>;
  .reg .b16 %h<4>;
  .reg .pred %p<4>;
  .shared .align 16 .b8 tile[4096];
  ld.param.u64 %rd0, [data];
  ld.param.u64 %rd1, [counter];
  mov.u32 %r0, %tid.x;
  and.b32 %r1, %r0, 31;
  shr.u32 %r2, %r0, 5;
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r6, tile;
  mad.lo.u32 %r7, %r0, 4, %r6;
)" + body + "\n  ret;\n}\n");
}

struct Outcome {
  CUresult code = CUDA_SUCCESS;
  std::string fault;
  std::string check, text;  ///< of the first finding
};

Outcome run(const std::string& body, Dim grid, Dim block, const char* host_threads = "1") {
  Gpu gpu;
  EXPECT_EQ(cuda_twin_set("CUDA_TWIN_THREADS", host_threads), 1);
  Buffer<std::uint32_t> data(4096, 1);
  Buffer<std::uint32_t> counter(64, 0);
  Outcome result;
  std::string log;
  result.code = launch(kernel(body), "k", grid, block, {&data.address, &counter.address}, 0, &log);
  EXPECT_EQ(log, "");
  result.fault = cuda_twin_last_fault();
  const char* check = "";
  const char* text = "";
  cuda_twin_finding(0, &check, &text);
  result.check = check;
  result.text = text;
  return result;
}

void expect_race(const Outcome& result, const std::string& check, const std::string& text) {
  EXPECT_EQ(result.code, CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(result.check, check) << result.text;
  EXPECT_NE(result.text.find(text), std::string::npos) << result.text;
}
void expect_clean(const Outcome& result) {
  EXPECT_EQ(result.code, CUDA_SUCCESS) << result.fault;
  EXPECT_EQ(result.check, "");
}

// --- Shared memory, between warps.

/// Each thread writes its word, and reads that of the thread 32 further on.
std::string exchange(const std::string& between) {
  return "  st.shared.u32 [%r7], %r0;\n" + between +
         "  add.u32 %r4, %r0, 32;\n  and.b32 %r4, %r4, 63;\n  mad.lo.u32 %r4, %r4, 4, %r6;\n"
         "  ld.shared.u32 %r5, [%r4];\n";
}

TEST(CudaRaces, WarpsWithoutABarrier) {
  const Outcome result = run(exchange("  bar.warp.sync 0xFFFFFFFF;\n"), Dim(1), Dim(64));
  // The first warp reads before the second writes: the check of initialised memory sees it first.
  EXPECT_EQ(result.code, CUDA_ERROR_LAUNCH_FAILED);
  const std::string zeroed = "  mov.u32 %r8, 0;\n  st.shared.u32 [%r7], %r8;\n  bar.sync 0;\n";
  expect_race(run(zeroed + exchange(""), Dim(1), Dim(64)), "shared race", "no barrier between");
  expect_clean(run(zeroed + exchange("  bar.sync 0;\n"), Dim(1), Dim(64)));
  expect_clean(run(zeroed + exchange("  barrier.sync 1, 64;\n"), Dim(1), Dim(64)));
}

TEST(CudaRaces, BothAccessesAreNamed) {
  const Outcome result = run("  mov.u32 %r8, 0;\n  st.shared.u32 [tile], %r8;\n", Dim(1), Dim(64));
  expect_race(result, "shared race", "a write by warp 0, lane 31");
  EXPECT_NE(result.text.find("kernel k"), std::string::npos) << result.text;
  EXPECT_NE(result.text.find("thread (32,0,0)"), std::string::npos) << result.text;
  EXPECT_NE(result.text.find("st.shared.u32 [tile], %r8;"), std::string::npos) << result.text;
}

TEST(CudaRaces, AWriteAfterReadsOfOthers) {
  const std::string read =
      "  setp.eq.u32 %p0, %r0, 0;\n  mov.u32 %r8, 5;\n  @%p0 st.shared.u32 [tile], %r8;\n"
      "  bar.sync 0;\n  ld.shared.u32 %r9, [tile];\n";
  const std::string write = "  setp.eq.u32 %p1, %r0, 63;\n  @%p1 st.shared.u32 [tile], %r8;\n";
  expect_race(run(read + write, Dim(1), Dim(96)), "shared race", "a read by warp");
  expect_clean(run(read + "  bar.sync 0;\n" + write, Dim(1), Dim(96)));
}

TEST(CudaRaces, ABarrierOfOtherWarpsOrdersNothing) {
  const std::string zeroed = "  mov.u32 %r8, 0;\n  st.shared.u32 [%r7], %r8;\n  bar.sync 0;\n";
  // Warps 2 and 3 use barrier 1; the racing warps 0 and 1 do not.
  const std::string others = "  setp.ge.u32 %p0, %r0, 64;\n  @%p0 barrier.sync 1, 64;\n";
  expect_race(run(zeroed + exchange(others), Dim(1), Dim(128)), "shared race", "no barrier");
  const std::string both =
      "  setp.ge.u32 %p0, %r0, 64;\n  @%p0 barrier.sync 1, 64;\n  @!%p0 barrier.sync 2, 64;\n";
  const std::string own_half =
      "  st.shared.u32 [%r7], %r0;\n" + both +
      "  xor.b32 %r4, %r0, 32;\n  mad.lo.u32 %r4, %r4, 4, %r6;\n  ld.shared.u32 %r5, [%r4];\n";
  expect_clean(run(zeroed + own_half, Dim(1), Dim(128)));
}

TEST(CudaRaces, ArriveAndSyncOrderProducerAndConsumer) {
  const auto pair = [](const std::string& arrive, const std::string& sync) {
    return "  setp.lt.u32 %p0, %r0, 32;\n  @!%p0 bra CONSUMER;\n  st.shared.u32 [%r7], %r0;\n" +
           arrive + "  bra DONE;\nCONSUMER:\n" + sync + "  ld.shared.u32 %r5, [%r7+-128];\nDONE:\n";
  };
  expect_clean(run(pair("  bar.arrive 1, 64;\n", "  bar.sync 1, 64;\n"), Dim(1), Dim(64)));
  // The write comes after the arrival.
  const std::string late =
      "  mov.u32 %r8, 0;\n  st.shared.u32 [%r7], %r8;\n  bar.sync 0;\n"
      "  setp.lt.u32 %p0, %r0, 32;\n  @!%p0 bra CONSUMER;\n  bar.arrive 1, 64;\n"
      "  st.shared.u32 [%r7], %r0;\n  bra DONE;\nCONSUMER:\n  bar.sync 1, 64;\n"
      "  ld.shared.u32 %r5, [%r7+-128];\nDONE:\n";
  expect_race(run(late, Dim(1), Dim(64)), "shared race", "no barrier");
}

TEST(CudaRaces, BytesOfOneWordAreApart) {
  const std::string bytes = "  add.u32 %r8, %r6, %r0;\n  st.shared.u8 [%r8], %r0;\n";
  expect_clean(run(bytes, Dim(1), Dim(64)));
  const std::string overlapping =
      "  shr.u32 %r8, %r0, 5;\n  add.u32 %r8, %r6, %r8;\n  setp.eq.u32 %p0, %r1, 0;\n"
      "  @%p0 st.shared.u8 [%r8+1], %r0;\n  @%p0 ld.shared.u8 %r9, [%r8+1];\n"
      "  setp.eq.u32 %p1, %r0, 32;\n  @%p1 st.shared.u8 [tile+1], %r0;\n";
  expect_race(run(overlapping, Dim(1), Dim(64)), "shared race", "(1 bytes)");
}

TEST(CudaRaces, AtomicsInSharedMemoryDoNotRace) {
  const std::string zero = "  mov.u32 %r8, 0;\n  st.shared.u32 [%r7], %r8;\n  bar.sync 0;\n";
  expect_clean(run(zero + "  red.shared.add.u32 [tile], 1;\n", Dim(1), Dim(128)));
  expect_race(run(zero + "  red.shared.add.u32 [tile], 1;\n  ld.shared.u32 %r9, [tile];\n", Dim(1),
                  Dim(128)),
              "warp race", "a write");
  expect_clean(run(zero + "  red.shared.add.u32 [tile], 1;\n  bar.sync 0;\n"
                          "  ld.shared.u32 %r9, [tile];\n",
                   Dim(1), Dim(128)));
}

TEST(CudaRaces, AFlagInSharedMemoryNeedsFences) {
  // Warp 0 writes data and raises a flag; warp 1 waits for the flag and reads.
  const auto flag = [](const char* release, const char* acquire) {
    return std::string(
               "  mov.u32 %r8, 0;\n  st.shared.u32 [%r7], %r8;\n  st.shared.u32 [%r7+1024], %r8;\n"
               "  bar.sync 0;\n  setp.lt.u32 %p0, %r0, 32;\n  @!%p0 bra READER;\n"
               "  st.shared.u32 [%r7], %r0;\n  bar.warp.sync 0xFFFFFFFF;\n") +
           release +
           "  setp.eq.u32 %p1, %r1, 0;\n  @%p1 st.volatile.shared.u32 [tile+1024], 1;\n"
           "  bra DONE;\nREADER:\n  ld.volatile.shared.u32 %r9, [tile+1024];\n"
           "  setp.eq.u32 %p1, %r9, 0;\n  @%p1 bra READER;\n" +
           acquire + "  ld.shared.u32 %r5, [%r7+-128];\nDONE:\n";
  };
  expect_clean(run(flag("  membar.cta;\n", "  membar.cta;\n"), Dim(1), Dim(64)));
  expect_race(run(flag("", "  membar.cta;\n"), Dim(1), Dim(64)), "shared race", "write");
  expect_race(run(flag("  membar.cta;\n", ""), Dim(1), Dim(64)), "shared race", "write");
}

TEST(CudaRaces, ReleaseAndAcquireInSharedMemory) {
  const auto flag = [](const std::string& store, const std::string& load) {
    return "  mov.u32 %r8, 0;\n  st.shared.u32 [%r7], %r8;\n  st.shared.u32 [%r7+1024], %r8;\n"
           "  bar.sync 0;\n  setp.lt.u32 %p0, %r0, 32;\n  @!%p0 bra READER;\n"
           "  st.shared.u32 [%r7], %r0;\n  bar.warp.sync 0xFFFFFFFF;\n"
           "  setp.eq.u32 %p1, %r1, 0;\n  @%p1 " +
           store + "  bra DONE;\nREADER:\n" + load +
           "  setp.eq.u32 %p1, %r9, 0;\n  @%p1 bra READER;\n  ld.shared.u32 %r5, [%r7+-128];\n"
           "DONE:\n";
  };
  const std::string release = "st.release.cta.shared.u32 [tile+1024], 1;\n";
  const std::string relaxed = "st.relaxed.cta.shared.u32 [tile+1024], 1;\n";
  const std::string acquire = "  ld.acquire.cta.shared.u32 %r9, [tile+1024];\n";
  const std::string load = "  ld.relaxed.cta.shared.u32 %r9, [tile+1024];\n";
  expect_clean(run(flag(release, acquire), Dim(1), Dim(64)));
  expect_race(run(flag(relaxed, acquire), Dim(1), Dim(64)), "shared race", "write");
  expect_race(run(flag(release, load), Dim(1), Dim(64)), "shared race", "write");
}

TEST(CudaRaces, AWriteByTheFirstOfManyReaders) {
  // All warps read a word, and count that without fences. The warp that read first then writes it.
  const auto readers = [](const std::string& fence) {
    return "  mov.u32 %r8, 0;\n  st.shared.u32 [%r7], %r8;\n  bar.sync 0;\n"
           "  ld.shared.u32 %r9, [tile+64];\n" +
           fence +
           "  bar.warp.sync 0xFFFFFFFF;\n  setp.ne.u32 %p0, %r1, 0;\n  @%p0 bra END;\n"
           "  atom.shared.add.u32 %r10, [tile], 1;\n  setp.ne.u32 %p1, %r10, 0;\n"
           "  @%p1 bra END;\nWAIT:\n  ld.volatile.shared.u32 %r11, [tile];\n"
           "  setp.ne.u32 %p2, %r11, 3;\n  @%p2 bra WAIT;\n" +
           fence + "  st.shared.u32 [tile+64], %r8;\nEND:\n";
  };
  expect_race(run(readers(""), Dim(1), Dim(96)), "shared race", "a read by warp");
  expect_clean(run(readers("  membar.cta;\n"), Dim(1), Dim(96)));
}

TEST(CudaRaces, WordsOfWhichAByteIsReadKeepTheirAccesses) {
  const auto mixed = [](const std::string& between) {
    return "  st.shared.u32 [%r7], %r0;\n" + between +
           "  xor.b32 %r4, %r0, 32;\n  mad.lo.u32 %r4, %r4, 4, %r6;\n"
           "  setp.ge.u32 %p0, %r0, 32;\n  @%p0 ld.shared.u8 %r5, [%r4+2];\n";
  };
  expect_race(run(mixed(""), Dim(1), Dim(64)), "shared race", "a write by warp 0");
  expect_clean(run(mixed("  bar.sync 0;\n"), Dim(1), Dim(64)));
}

// --- Lanes of one warp.

std::string shifted(const std::string& between) {
  return "  mov.u32 %r8, 0;\n  st.shared.u32 [%r7], %r8;\n  bar.warp.sync 0xFFFFFFFF;\n"
         "  st.shared.u32 [%r7], %r0;\n" +
         between +
         "  xor.b32 %r4, %r0, 1;\n  mad.lo.u32 %r4, %r4, 4, %r6;\n"
         "  ld.shared.u32 %r5, [%r4];\n";
}

TEST(CudaRaces, LanesWithoutASync) {
  expect_race(run(shifted(""), Dim(1), Dim(32)), "warp race", "no .sync instruction");
  expect_clean(run(shifted("  bar.warp.sync 0xFFFFFFFF;\n"), Dim(1), Dim(32)));
  expect_clean(run(shifted("  bar.sync 0;\n"), Dim(1), Dim(32)));
  expect_clean(run(shifted("  shfl.sync.idx.b32 %r9, %r0, 0, 31, 0xFFFFFFFF;\n"), Dim(1), Dim(32)));
  expect_clean(run(shifted("  setp.eq.u32 %p0, %r0, 0;\n"
                           "  vote.sync.ballot.b32 %r9, %p0, 0xFFFFFFFF;\n"),
                   Dim(1), Dim(32)));
}

TEST(CudaRaces, ASyncOfSomeLanesOrdersThose) {
  // Lanes 0 to 15 synchronize; in the clean program only they read.
  const std::string half =
      "  setp.lt.u32 %p0, %r0, 16;\n  @!%p0 bra OTHERS;\n  bar.warp.sync 0xFFFF;\n"
      "  xor.b32 %r4, %r0, 1;\n  mad.lo.u32 %r4, %r4, 4, %r6;\n  ld.shared.u32 %r5, [%r4];\n"
      "OTHERS:\n";
  const std::string across =
      "  setp.lt.u32 %p0, %r0, 16;\n  @!%p0 bra OTHERS;\n  bar.warp.sync 0xFFFF;\n"
      "  ld.shared.u32 %r5, [%r7+64];\nOTHERS:\n";
  const std::string write = "  mov.u32 %r8, 0;\n  st.shared.u32 [%r7], %r8;\n";
  expect_clean(run(write + half, Dim(1), Dim(32)));
  expect_race(run(write + across, Dim(1), Dim(32)), "warp race", "a write by warp 0, lane 16");
}

TEST(CudaRaces, ALoopRacesWithItsOwnEarlierTurn) {
  // Each turn writes one word further on, which the next lane wrote in the turn before.
  const auto loop = [](const std::string& sync) {
    return "  mov.u32 %r8, 0;\n  mov.u32 %r9, %r7;\nLOOP:\n  st.shared.u32 [%r9], %r8;\n" + sync +
           "  add.u32 %r9, %r9, 4;\n  add.u32 %r8, %r8, 1;\n  setp.lt.u32 %p0, %r8, 3;\n"
           "  @%p0 bra LOOP;\n";
  };
  expect_race(run(loop(""), Dim(1), Dim(32)), "warp race", "a write");
  expect_clean(run(loop("  bar.warp.sync 0xFFFFFFFF;\n"), Dim(1), Dim(32)));
}

TEST(CudaRaces, LanesThatStoreDifferentValuesAtOnce) {
  // %r8 is one number for all lanes, or that of the lane.
  for (const std::string& store :
       {"  st.shared.u32 [tile], %r8;\n"s, "  st.shared.v4.u32 [tile], {%r6, %r6, %r6, %r8};\n"s,
        "  { .reg .b128 %q;  cvt.u64.u32 %rd3, %r8;  mov.b128 %q, {%rd0, %rd3};\n"
        "  st.shared.b128 [tile], %q; }\n"s,
        "  stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r6], {%r8, %r8, %r8, %r8};\n"s,
        "  mul.wide.u32 %rd2, %r0, 4;\n  add.u64 %rd2, %rd2, %rd0;\n  st.global.u32 [%rd2], %r8;\n"
        "  cp.async.ca.shared.global [tile], [%rd2], 4;\n"s}) {
    const Outcome different = run("  mov.u32 %r8, %r0;\n" + store, Dim(1), Dim(32));
    expect_race(different, "warp race", "store different values to one place of shared memory");
    expect_clean(run("  mov.u32 %r8, 5;\n" + store, Dim(1), Dim(32)));
  }
}

TEST(CudaRaces, AsyncCopiesNeedTheBarrierAfterTheWait) {
  const auto copy = [](const std::string& wait) {
    return "  mul.wide.u32 %rd2, %r0, 4;\n  add.u64 %rd2, %rd2, %rd0;\n"
           "  cp.async.ca.shared.global [%r7], [%rd2], 4;\n" +
           wait +
           "  xor.b32 %r4, %r0, 32;\n  mad.lo.u32 %r4, %r4, 4, %r6;\n"
           "  ld.shared.u32 %r5, [%r4];\n";
  };
  expect_clean(run(copy("  cp.async.wait_all;\n  bar.sync 0;\n"), Dim(1), Dim(64)));
  // Waiting after the barrier: other warps may read too early.
  const Outcome early = run(copy("  bar.sync 0;\n  cp.async.wait_all;\n"), Dim(1), Dim(64));
  EXPECT_EQ(early.code, CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_NE(early.check, "");
}

// --- Global memory, between blocks.

TEST(CudaRaces, BlocksThatWriteOneWord) {
  const std::string one = "  setp.eq.u32 %p0, %r0, 0;\n  @%p0 st.global.u32 [%rd0], %r3;\n";
  const std::string own =
      "  setp.eq.u32 %p0, %r0, 0;\n  mad.wide.u32 %rd2, %r3, 4, %rd0;\n"
      "  @%p0 st.global.u32 [%rd2], %r3;\n";
  for (const char* const host_threads : {"1", "4"}) {
    const Outcome result = run(one, Dim(8), Dim(64), host_threads);
    expect_race(result, "global race", "a write by kernel k, block (");
    EXPECT_NE(result.text.find("allocation"), std::string::npos) << result.text;
    EXPECT_NE(result.text.find("st.global.u32 [%rd0], %r3;"), std::string::npos) << result.text;
    expect_clean(run(own, Dim(8), Dim(64), host_threads));
  }
}

TEST(CudaRaces, BlocksThatWriteBytesOfOneWord) {
  const std::string bytes =
      "  setp.eq.u32 %p0, %r0, 0;\n  cvt.u64.u32 %rd2, %r3;\n  add.u64 %rd2, %rd2, %rd0;\n"
      "  @%p0 st.global.u8 [%rd2], %r3;\n";
  expect_clean(run(bytes, Dim(8), Dim(32)));
  expect_race(run(bytes + "  @%p0 ld.global.u16 %r9, [%rd0];\n", Dim(8), Dim(32)), "global race",
              "a read by kernel k, block (0,0,0), warp 0, lane 0 at line 23");
}

TEST(CudaRaces, ABlockThatReadsTheOthersWords) {
  // All lanes of a warp at once: the comparison in vector code.
  const std::string neighbour =
      "  mad.lo.u32 %r8, %r3, 32, %r0;\n  mad.wide.u32 %rd2, %r8, 4, %rd0;\n"
      "  st.global.u32 [%rd2], %r3;\n  ld.global.u32 %r9, [%rd2+OFFSET];\n";
  const auto with = [&](const char* offset) {
    std::string text = neighbour;
    return text.replace(text.find("OFFSET"), 6, offset);
  };
  expect_race(run(with("128"), Dim(4), Dim(32)), "global race",
              "a read by kernel k, block (0,0,0)");
  expect_clean(run(with("0"), Dim(4), Dim(32)));
}

TEST(CudaRaces, ReadsOfManyBlocksAreNoRace) {
  const std::string read = "  ld.global.u32 %r9, [%rd0];\n  ld.global.u32 %r9, [%rd0+64];\n";
  expect_clean(run(read, Dim(16), Dim(64)));
  // The first block of the order writes after its read: the others read then.
  const std::string write = "  setp.eq.u32 %p0, %r3, 0;\n  @%p0 st.global.u32 [%rd0+64], %r3;\n";
  expect_race(run(read + write, Dim(16), Dim(32)), "global race", "block (0,0,0)");
  const std::string last = "  setp.eq.u32 %p0, %r3, 15;\n  @%p0 st.global.u32 [%rd0+64], %r3;\n";
  expect_race(run(read + last, Dim(16), Dim(32)), "global race", "a read by kernel k, block (");
}

TEST(CudaRaces, AtomicsAndVolatileAccessesAreNoRaces) {
  expect_clean(
      run("  red.global.add.u32 [%rd0], 1;\n  atom.global.add.u32 %r9, [%rd0], 1;\n"
          "  ld.volatile.global.u32 %r9, [%rd0];\n"
          "  ld.relaxed.gpu.global.u32 %r9, [%rd0];\n  st.volatile.global.u32 [%rd0], %r9;\n",
          Dim(8), Dim(64)));
  expect_race(
      run("  red.global.add.u32 [%rd0], 1;\n  ld.global.u32 %r9, [%rd0];\n", Dim(8), Dim(32)),
      "global race", "a read");
}

/// Each block writes a part, and takes a number; the block with the last number sums all parts.
/// Code goes before the barrier that ends the writing, after taking the number (by one thread), and
/// after the barrier that tells the number.
std::string last_block(const std::string& release, const std::string& taken,
                       const std::string& acquire) {
  return "  mad.lo.u32 %r8, %r3, 64, %r0;\n  mad.wide.u32 %rd2, %r8, 4, %rd0;\n"
         "  st.global.u32 [%rd2], %r8;\n" +
         release +
         "  bar.sync 0;\n  setp.ne.u32 %p0, %r0, 0;\n  mov.u32 %r9, 0;\n  @%p0 bra TAKEN;\n"
         "  atom.global.add.u32 %r9, [%rd1], 1;\n  st.shared.u32 [tile], %r9;\n" +
         taken +
         "TAKEN:\n  bar.sync 0;\n  ld.shared.u32 %r9, [tile];\n  setp.ne.u32 %p1, %r9, 7;\n"
         "  @%p1 bra END;\n" +
         acquire +
         "  mov.u32 %r10, 0;\n  mov.u32 %r11, 0;\nSUM:\n  mad.lo.u32 %r8, %r10, 64, %r0;\n"
         "  mad.wide.u32 %rd2, %r8, 4, %rd0;\n  ld.global.u32 %r12, [%rd2];\n"
         "  add.u32 %r11, %r11, %r12;\n  add.u32 %r10, %r10, 1;\n  setp.lt.u32 %p2, %r10, 8;\n"
         "  @%p2 bra SUM;\n  mad.wide.u32 %rd2, %r0, 4, %rd0;\n"
         "  st.global.u32 [%rd2+8192], %r11;\nEND:\n";
}

TEST(CudaRaces, TheLastBlockSumsWithFences) {
  for (const char* const fence :
       {"  membar.gl;\n", "  fence.acq_rel.gpu;\n", "  fence.sc.sys;\n"}) {
    expect_clean(run(last_block(fence, "", fence), Dim(8), Dim(64)));
    expect_clean(run(last_block(fence, "", fence), Dim(8), Dim(64), "4"));
    // One thread's fence after the number, and the barrier, are as good for the others.
    expect_clean(run(last_block(fence, fence, ""), Dim(8), Dim(64)));
  }
  // Fences of a block, and of other proxies, order nothing for other blocks.
  for (const char* const weak :
       {"  membar.cta;\n", "  fence.acq_rel.cta;\n", "  fence.proxy.alias;\n"}) {
    expect_race(run(last_block(weak, "", weak), Dim(8), Dim(64)), "global race",
                "no release and acquire");
  }
  const std::string fence = "  membar.gl;\n";
  expect_race(run(last_block("", "", fence), Dim(8), Dim(64)), "global race",
              "no release and acquire");
  expect_race(run(last_block(fence, "", ""), Dim(8), Dim(64)), "global race",
              "no release and acquire");
}

TEST(CudaRaces, AReleaseCoversTheAccessesBeforeIt) {
  // Block 0 writes a word, raises the flag, and writes another word.
  const auto flag = [](const char* offset) {
    return std::string(
               "  setp.ne.u32 %p0, %r0, 0;\n  @%p0 bra END;\n  setp.ne.u32 %p1, %r3, 0;\n"
               "  @%p1 bra READER;\n  st.global.u32 [%rd0], %r3;\n  membar.gl;\n"
               "  st.volatile.global.u32 [%rd1], 1;\n  st.global.u32 [%rd0+4], %r3;\n  bra END;\n"
               "READER:\n  ld.volatile.global.u32 %r9, [%rd1];\n  setp.eq.u32 %p1, %r9, 0;\n"
               "  @%p1 bra READER;\n  membar.gl;\n  ld.global.u32 %r9, [%rd0+") +
           offset + "];\nEND:\n";
  };
  expect_clean(run(flag("0"), Dim(2), Dim(32)));
  expect_race(run(flag("4"), Dim(2), Dim(32)), "global race", "a write by kernel k, block (0,0,0)");
}

TEST(CudaRaces, ReleaseAndAcquireOnTheAccessItself) {
  // A chain of blocks: each waits for the flag of the one before, and reads its word and that of
  // the one before that. It knows of the second through the first only.
  const auto chain = [](const std::string& wait, const std::string& signal) {
    return "  setp.ne.u32 %p0, %r0, 0;\n  @%p0 bra END;\n  mad.wide.u32 %rd2, %r3, 4, %rd0;\n"
           "  mad.wide.u32 %rd3, %r3, 4, %rd1;\n  setp.eq.u32 %p3, %r3, 0;\n  @%p3 bra FIRST;\n"
           "WAIT:\n" +
           wait +
           "  setp.ne.u32 %p1, %r9, %r3;\n  @%p1 bra WAIT;\n  setp.lt.u32 %p2, %r3, 2;\n"
           "  ld.global.u32 %r10, [%rd2+-4];\n  @!%p2 ld.global.u32 %r10, [%rd2+-8];\nFIRST:\n"
           "  st.global.u32 [%rd2], %r3;\n  add.u32 %r9, %r3, 1;\n" +
           signal + "END:\n";
  };
  const std::string acquire = "  ld.acquire.gpu.global.u32 %r9, [%rd3+-4];\n";
  const std::string load = "  ld.relaxed.gpu.global.u32 %r9, [%rd3+-4];\n";
  const std::string release = "  st.release.gpu.global.u32 [%rd3], %r9;\n";
  const std::string store = "  st.relaxed.gpu.global.u32 [%rd3], %r9;\n";
  expect_clean(run(chain(acquire, release), Dim(6), Dim(32)));
  expect_race(run(chain(load, release), Dim(6), Dim(32)), "global race", "a write");
  expect_race(run(chain(acquire, store), Dim(6), Dim(32)), "global race", "a write");
}

// --- Pieces of work.

struct Streams {
  Gpu gpu;
  CUstream first = nullptr, second = nullptr;
  CUmodule loaded = nullptr;
  CUfunction write = nullptr;
  Buffer<std::uint32_t> data;

  Streams() : data(4096, 1) {
    TWIN_OK(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
    TWIN_OK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
    const std::string body =
        "  mad.lo.u32 %r8, %r3, 64, %r0;\n  mad.wide.u32 %rd2, %r8, 4, %rd0;\n"
        "  st.global.u32 [%rd2], %r8;\n";
    TWIN_OK(twin_test::load(kernel(body, "writer"), &loaded));
    TWIN_OK(cuModuleGetFunction(&write, loaded, "writer"));
  }
  ~Streams() {
    TWIN_OK(cuStreamDestroy(first));
    TWIN_OK(cuStreamDestroy(second));
    (void)cuModuleUnload(loaded);
  }
  void start(CUstream stream) {
    std::vector<void*> args = {&data.address, &data.address};
    TWIN_OK(cuLaunchKernel(write, 4, 1, 1, 64, 1, 1, 0, stream, args.data(), nullptr));
  }
  std::string first_finding() {
    const char* check = "";
    const char* text = "";
    cuda_twin_finding(0, &check, &text);
    return std::string(check) + ": " + text;
  }
};

TEST(CudaRaces, KernelsOfTwoStreams) {
  Streams streams;
  ASSERT_EQ(cuda_twin_set("CUDA_TWIN_FINDINGS", "record"), 1);
  streams.start(streams.first);
  streams.start(streams.second);
  TWIN_OK(cuCtxSynchronize());
  ASSERT_NE(cuda_twin_findings(), 0u);
  EXPECT_EQ(streams.first_finding().rfind("work race", 0), 0u) << streams.first_finding();
  EXPECT_NE(streams.first_finding().find("by kernel writer, block ("), std::string::npos)
      << streams.first_finding();
  EXPECT_NE(streams.first_finding().find("no stream, event or wait"), std::string::npos);
}

TEST(CudaRaces, AnEventOrdersTwoStreams) {
  Streams streams;
  CUevent event = nullptr;
  TWIN_OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  for (int i = 0; i < 4; ++i) {
    streams.start(streams.first);
    TWIN_OK(cuEventRecord(event, streams.first));
    TWIN_OK(cuStreamWaitEvent(streams.second, event, 0));
    streams.start(streams.second);
    TWIN_OK(cuEventRecord(event, streams.second));
    TWIN_OK(cuStreamWaitEvent(streams.first, event, 0));
  }
  TWIN_OK(cuCtxSynchronize());
  EXPECT_EQ(cuda_twin_findings(), 0u) << streams.first_finding();
  TWIN_OK(cuEventDestroy(event));
}

TEST(CudaRaces, AForkAndAJoin) {
  // The second and the third stream wait for the first. Both write the same bytes as the first.
  for (const bool joined : {true, false}) {
    Streams streams;
    ASSERT_EQ(cuda_twin_set("CUDA_TWIN_FINDINGS", "record"), 1);
    CUstream third = nullptr;
    CUevent event = nullptr, end = nullptr;
    TWIN_OK(cuStreamCreate(&third, CU_STREAM_NON_BLOCKING));
    TWIN_OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    TWIN_OK(cuEventCreate(&end, CU_EVENT_DISABLE_TIMING));
    streams.start(streams.first);
    TWIN_OK(cuEventRecord(event, streams.first));
    TWIN_OK(cuStreamWaitEvent(streams.second, event, 0));
    TWIN_OK(cuMemsetD32Async(streams.data.address + 8192, 1, 64, streams.second));
    TWIN_OK(cuStreamWaitEvent(third, event, 0));
    streams.start(third);
    TWIN_OK(cuEventRecord(end, third));
    if (joined) TWIN_OK(cuStreamWaitEvent(streams.second, end, 0));
    streams.start(streams.second);
    TWIN_OK(cuCtxSynchronize());
    EXPECT_EQ(cuda_twin_findings() == 0, joined) << streams.first_finding();
    TWIN_OK(cuEventDestroy(event));
    TWIN_OK(cuEventDestroy(end));
    TWIN_OK(cuStreamDestroy(third));
  }
}

TEST(CudaRaces, OrderGoesOnThroughAThirdStream) {
  Streams streams;
  CUstream third = nullptr;
  CUevent first_end = nullptr, second_end = nullptr;
  TWIN_OK(cuStreamCreate(&third, CU_STREAM_NON_BLOCKING));
  TWIN_OK(cuEventCreate(&first_end, CU_EVENT_DISABLE_TIMING));
  TWIN_OK(cuEventCreate(&second_end, CU_EVENT_DISABLE_TIMING));
  // Each stream has work of its own first, so that none goes on where another ended.
  TWIN_OK(cuMemsetD32Async(streams.data.address + 8192, 1, 8, streams.second));
  TWIN_OK(cuMemsetD32Async(streams.data.address + 8224, 1, 8, third));
  streams.start(streams.first);
  TWIN_OK(cuEventRecord(first_end, streams.first));
  TWIN_OK(cuStreamWaitEvent(streams.second, first_end, 0));
  TWIN_OK(cuEventRecord(second_end, streams.second));
  TWIN_OK(cuStreamWaitEvent(third, second_end, 0));
  streams.start(third);
  TWIN_OK(cuCtxSynchronize());
  EXPECT_EQ(cuda_twin_findings(), 0u) << streams.first_finding();
  TWIN_OK(cuEventDestroy(first_end));
  TWIN_OK(cuEventDestroy(second_end));
  TWIN_OK(cuStreamDestroy(third));
}

TEST(CudaRaces, CopiesOfTwoStreams) {
  // 8 KiB and more are noted as one range, shorter ones in cells.
  for (const std::size_t bytes : {std::size_t{64}, std::size_t{16384}}) {
    for (const bool ordered : {true, false}) {
      Streams streams;
      ASSERT_EQ(cuda_twin_set("CUDA_TWIN_FINDINGS", "record"), 1);
      TWIN_OK(cuMemsetD8Async(streams.data.address, 1, bytes, streams.first));
      TWIN_OK(cuMemsetD8Async(streams.data.address + bytes - 1, 2, 1,
                              ordered ? streams.first : streams.second));
      TWIN_OK(cuCtxSynchronize());
      EXPECT_EQ(cuda_twin_findings() == 0, ordered) << bytes << streams.first_finding();
    }
  }
}

TEST(CudaRaces, AnEventThatWasRecordedTooEarlyOrdersNothing) {
  Streams streams;
  ASSERT_EQ(cuda_twin_set("CUDA_TWIN_FINDINGS", "record"), 1);
  CUevent event = nullptr;
  TWIN_OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  TWIN_OK(cuEventRecord(event, streams.first));
  streams.start(streams.first);
  TWIN_OK(cuStreamWaitEvent(streams.second, event, 0));
  streams.start(streams.second);
  TWIN_OK(cuCtxSynchronize());
  EXPECT_NE(cuda_twin_findings(), 0u);
  TWIN_OK(cuEventDestroy(event));
}

TEST(CudaRaces, AWaitOfTheHostOrdersTwoStreams) {
  Streams streams;
  for (int i = 0; i < 4; ++i) {
    streams.start(streams.first);
    TWIN_OK(cuStreamSynchronize(streams.first));
    streams.start(streams.second);
    TWIN_OK(cuStreamSynchronize(streams.second));
  }
  EXPECT_EQ(cuda_twin_findings(), 0u) << streams.first_finding();
}

TEST(CudaRaces, CopiesAndFillsRaceWithKernels) {
  for (const bool copies : {true, false}) {
    for (const bool ordered : {true, false}) {
      Streams streams;
      ASSERT_EQ(cuda_twin_set("CUDA_TWIN_FINDINGS", "record"), 1);
      std::vector<std::uint32_t> host(4096, 3);
      const CUstream stream = ordered ? streams.first : streams.second;
      if (copies) {
        TWIN_OK(cuMemcpyHtoDAsync(streams.data.address, host.data(), 16384, streams.first));
      } else {
        TWIN_OK(cuMemsetD32Async(streams.data.address + 128, 7, 8, streams.first));
      }
      streams.start(stream);
      TWIN_OK(cuCtxSynchronize());
      EXPECT_EQ(cuda_twin_findings() == 0, ordered) << copies << streams.first_finding();
    }
  }
}

TEST(CudaRaces, AReadBackOnAnotherStream) {
  for (const bool ordered : {true, false}) {
    Streams streams;
    ASSERT_EQ(cuda_twin_set("CUDA_TWIN_FINDINGS", "record"), 1);
    std::vector<std::uint32_t> host(256);
    streams.start(streams.first);
    TWIN_OK(cuMemcpyDtoHAsync(host.data(), streams.data.address, 1024,
                              ordered ? streams.first : streams.second));
    TWIN_OK(cuCtxSynchronize());
    EXPECT_EQ(cuda_twin_findings() == 0, ordered) << streams.first_finding();
  }
}

TEST(CudaRaces, ReadsOfAKernelStayWhenALargeCopyReads) {
  for (const bool ordered : {true, false}) {
    Streams streams;
    ASSERT_EQ(cuda_twin_set("CUDA_TWIN_FINDINGS", "record"), 1);
    CUmodule loaded = nullptr;
    CUfunction read = nullptr;
    TWIN_OK(twin_test::load(kernel("  ld.global.u32 %r8, [%rd0];\n", "reader"), &loaded));
    TWIN_OK(cuModuleGetFunction(&read, loaded, "reader"));
    std::vector<void*> args = {&streams.data.address, &streams.data.address};
    std::vector<std::uint32_t> host(4096);
    TWIN_OK(cuLaunchKernel(read, 1, 1, 1, 1, 1, 1, 0, ordered ? streams.second : streams.first,
                           args.data(), nullptr));
    TWIN_OK(cuMemcpyDtoHAsync(host.data(), streams.data.address, 16384, streams.second));
    streams.start(streams.second);
    TWIN_OK(cuCtxSynchronize());
    EXPECT_EQ(cuda_twin_findings() == 0, ordered) << streams.first_finding();
    TWIN_OK(cuModuleUnload(loaded));
  }
}

TEST(CudaRaces, AnOldLargeCopyIsNotForgotten) {
  constexpr std::size_t kHalf = 8192;
  for (const bool ordered : {true, false}) {
    Streams streams;
    ASSERT_EQ(cuda_twin_set("CUDA_TWIN_FINDINGS", "record"), 1);
    const CUstream last = ordered ? streams.first : streams.second;
    TWIN_OK(cuMemsetD8Async(streams.data.address, 1, kHalf, streams.first));
    for (int i = 0; i < 5000; ++i) {
      TWIN_OK(cuMemsetD8Async(streams.data.address + kHalf, 1, kHalf, streams.second));
    }
    TWIN_OK(cuMemsetD8Async(streams.data.address, 1, kHalf, last));
    TWIN_OK(cuCtxSynchronize());
    EXPECT_EQ(cuda_twin_findings() == 0, ordered) << streams.first_finding();
  }
}

TEST(CudaRaces, ManyLargeCopiesOfDifferentRanges) {
  constexpr std::size_t kHalf = 8192;
  for (const bool ordered : {true, false}) {
    Streams streams;
    ASSERT_EQ(cuda_twin_set("CUDA_TWIN_FINDINGS", "record"), 1);
    Buffer<std::uint8_t> data(kHalf + 8192 + 1000, 0);
    TWIN_OK(cuCtxSynchronize());
    TWIN_OK(cuMemsetD8Async(data.address, 1, kHalf, streams.first));
    for (int i = 0; i < 1000; ++i) {
      TWIN_OK(cuMemsetD8Async(data.address + kHalf + i, 1, 8192, streams.second));
    }
    TWIN_OK(cuMemsetD8Async(data.address, 1, kHalf, ordered ? streams.first : streams.second));
    TWIN_OK(cuCtxSynchronize());
    EXPECT_EQ(cuda_twin_findings() == 0, ordered) << streams.first_finding();
  }
}

TEST(CudaRaces, NothingIsCheckedWhereTheSettingIsOff) {
  Streams streams;
  ASSERT_EQ(cuda_twin_set("CUDA_TWIN_CHECK_RACES", "off"), 1);
  streams.start(streams.first);
  streams.start(streams.second);
  TWIN_OK(cuCtxSynchronize());
  EXPECT_EQ(cuda_twin_findings(), 0u);
}

}  // namespace
}  // namespace races_test
