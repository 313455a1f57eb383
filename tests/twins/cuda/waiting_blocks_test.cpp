// Blocks that wait for each other without a cooperative launch. The device runs as many at once as
// it has room for, so that all of those go on. CUDA_TWIN_INSTRUCTIONS bounds the waiting: blocks
// that only take turns of thousands of instructions exceed it.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "support.h"

namespace waiting_blocks_test {

using twin_test::Buffer;
using twin_test::Dim;
using twin_test::Gpu;
using twin_test::launch;
using twin_test::module;

constexpr unsigned kBlocks = 100;
const char* const kMostInstructions = "2000000";

/// The last block sets the first word. The others repeat `poll`, which reads it into %v, until it
/// is 1, and store it from the third word on.
std::string wait_for_last(const std::string& poll, const std::string& set) {
  return module(
      ".visible .entry k(.param .u64 words) {\n"
      ".reg .b64 %a, %b; .reg .u32 %v, %block, %last; .reg .pred %is_last, %again;\n"
      "ld.param.u64 %a, [words];\nmov.u32 %block, %ctaid.x;\n"
      "mov.u32 %last, %nctaid.x;\nsub.u32 %last, %last, 1;\nsetp.eq.u32 %is_last, %block, %last;\n"
      "@%is_last bra last;\n"
      "wait:\n" +
      poll +
      "\nsetp.ne.u32 %again, %v, 1;\n@%again bra wait;\n"
      "mad.wide.u32 %b, %block, 4, %a;\nst.global.u32 [%b+8], %v;\nret;\n"
      "last:\n" +
      set + "\nret;\n}");
}

struct Poll {
  const char* read;
  const char* set;
};
constexpr Poll kPolls[] = {
    {"ld.acquire.gpu.global.u32 %v, [%a];", "st.release.gpu.global.u32 [%a], 1;"},
    {"ld.relaxed.gpu.u32 %v, [%a];\nnanosleep.u32 100;", "st.relaxed.gpu.u32 [%a], 1;"},
    {"ld.volatile.global.v2.u32 {%v, _}, [%a];", "st.volatile.global.u32 [%a], 1;"},
    {"atom.global.add.u32 %v, [%a], 0;", "atom.global.exch.b32 %v, [%a], 1;"},
    {"atom.acquire.gpu.global.cas.b32 %v, [%a], 7, 8;",
     "atom.release.gpu.global.exch.b32 %v, [%a], 1;"},
};

struct Place {
  const char* order;
  const char* threads;
};
constexpr Place kPlaces[] = {{"0", "1"}, {"0", "4"}, {"1", "1"}, {"2", "0"}};

TEST(WaitingBlocksThreads, AHundredBlocksWaitForTheLastOne) {
  for (const Place& place : kPlaces) {
    for (const Poll& poll : kPolls) {
      Gpu gpu;
      ASSERT_EQ(cuda_twin_set("CUDA_TWIN_ORDER", place.order), 1);
      ASSERT_EQ(cuda_twin_set("CUDA_TWIN_THREADS", place.threads), 1);
      ASSERT_EQ(cuda_twin_set("CUDA_TWIN_INSTRUCTIONS", kMostInstructions), 1);
      Buffer<std::uint32_t> words(kBlocks + 2, 0u);
      EXPECT_EQ(
          launch(wait_for_last(poll.read, poll.set), "k", Dim(kBlocks), Dim(64), {&words.address}),
          CUDA_SUCCESS)
          << poll.read << " order " << place.order << ": " << cuda_twin_last_fault();
      std::vector<std::uint32_t> expected(kBlocks + 2, 1u);
      expected[1] = expected[kBlocks + 1] = 0;
      EXPECT_EQ(words.read(), expected) << poll.read << " order " << place.order;
    }
  }
}

/// Block i adds 32 * i + lane over its lanes, waits for the sum of all blocks before it, and
/// publishes its own. A word is 0 until its sum is there, then the sum plus 1.
const char* const kScan =
    ".visible .entry k(.param .u64 sums) {\n"
    ".reg .b64 %a; .reg .u32 %v, %block, %sum; .reg .pred %first, %again, %leader;\n"
    "ld.param.u64 %a, [sums];\nmov.u32 %block, %ctaid.x;\nmov.u32 %v, %tid.x;\n"
    "mad.lo.u32 %v, %block, 32, %v;\nredux.sync.add.u32 %sum, %v, -1;\n"
    "mad.wide.u32 %a, %block, 4, %a;\nsetp.eq.u32 %first, %block, 0;\nmov.u32 %v, 1;\n"
    "@%first bra publish;\n"
    "wait:\nld.acquire.gpu.global.u32 %v, [%a+-4];\nsetp.eq.u32 %again, %v, 0;\n@%again bra wait;\n"
    "publish:\nadd.u32 %sum, %sum, %v;\nmov.u32 %v, %tid.x;\nsetp.eq.u32 %leader, %v, 0;\n"
    "@%leader st.release.gpu.global.u32 [%a], %sum;\nret;\n}";

TEST(WaitingBlocksThreads, AScanInOnePassLooksBackInEachOrder) {
  for (const Place& place : kPlaces) {
    Gpu gpu;
    ASSERT_EQ(cuda_twin_set("CUDA_TWIN_ORDER", place.order), 1);
    ASSERT_EQ(cuda_twin_set("CUDA_TWIN_THREADS", place.threads), 1);
    ASSERT_EQ(cuda_twin_set("CUDA_TWIN_INSTRUCTIONS", kMostInstructions), 1);
    Buffer<std::uint32_t> sums(kBlocks, 0u);
    EXPECT_EQ(launch(module(kScan), "k", Dim(kBlocks), Dim(32), {&sums.address}), CUDA_SUCCESS)
        << "order " << place.order << ": " << cuda_twin_last_fault();
    std::vector<std::uint32_t> expected;
    std::uint32_t sum = 1;
    for (std::uint32_t i = 0; i < 32 * kBlocks; ++i) {
      sum += i;
      if (i % 32 == 31) expected.push_back(sum);
    }
    EXPECT_EQ(sums.read(), expected) << "order " << place.order;
  }
}

TEST(WaitingBlocksThreads, TheErrorOfABlockEndsThoseThatWaitForIt) {
  for (const char* order : {"0", "1", "2"}) {
    Gpu gpu;
    ASSERT_EQ(cuda_twin_set("CUDA_TWIN_ORDER", order), 1);
    ASSERT_EQ(cuda_twin_set("CUDA_TWIN_THREADS", "1"), 1);
    ASSERT_EQ(cuda_twin_set("CUDA_TWIN_INSTRUCTIONS", kMostInstructions), 1);
    Buffer<std::uint32_t> words(kBlocks + 1, 0u);
    EXPECT_EQ(
        launch(wait_for_last(kPolls[0].read, "trap;"), "k", Dim(20), Dim(32), {&words.address}),
        CUDA_ERROR_LAUNCH_FAILED)
        << cuda_twin_last_fault();
  }
}

}  // namespace waiting_blocks_test
