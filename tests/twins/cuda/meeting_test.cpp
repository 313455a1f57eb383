// Lanes that execute an instruction with a member mask at different places: PTX asks for the same
// qualifiers and the same mask, not for the same instruction.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "support.h"

namespace meeting_test {

using twin_test::Buffer;
using twin_test::Dim;
using twin_test::Gpu;
using twin_test::lanes;
using twin_test::launch;
using twin_test::module;

using Words = std::vector<std::uint32_t>;

template <class F>
Words each(F value) {
  Words words(32);
  for (unsigned i = 0; i < 32; ++i) words[i] = value(i);
  return words;
}

Words numbers() {
  return each([](unsigned i) { return i; });
}

/// Lanes for which %p0 holds execute `then`, the others `otherwise`.
std::string branch(const std::string& then, const std::string& otherwise) {
  return "@!%p0 bra otherwise;\n" + then + "\nbra.uni both;\notherwise:\n" + otherwise +
         "\nboth:\n";
}
const char* const kOdd = "and.b32 %r0, %a, 1;\nsetp.eq.u32 %p0, %r0, 1;\n";
const char* const kLow = "setp.lt.u32 %p0, %a, 16;\n";

bool last_fault_has(const std::string& part) {
  return std::string(cuda_twin_last_fault()).find(part) != std::string::npos;
}

struct Case {
  std::string name;
  std::string then, otherwise;
  Words expected;
};

/// Lane i has 10 * i in %r1 in the first leg, and in %r2 in the second.
TEST(Meeting, BothLegsOfABranchExecuteTheInstructionTogether) {
  Gpu gpu;
  const std::uint32_t odd = 0xAAAAAAAAu;
  const std::vector<Case> cases = {
      {"shfl.idx", "shfl.sync.idx.b32 %d, %r1, 3, 31, -1;",
       "shfl.sync.idx.b32 %r2, %r2, 3, 31, -1;\nmov.u32 %d, %r2;", Words(32, 30)},
      {"shfl.bfly", "shfl.sync.bfly.b32 %r1, %r1, 1, 31, -1;\nmov.u32 %d, %r1;",
       "shfl.sync.bfly.b32 %d, %r2, 1, 31, -1;", each([](unsigned i) { return 10 * (i ^ 1); })},
      {"shfl.down with other offsets",
       "shfl.sync.down.b32 %d|%p3, %r1, 1, 31, -1;\n@!%p3 mov.u32 %d, 7;",
       "shfl.sync.down.b32 %d, %r2, 2, 31, -1;", each([](unsigned i) {
         return i == 31 ? 7 : i == 30 ? 300 : 10 * (i + (i % 2 == 1 ? 1 : 2));
       })},
      {"vote.ballot", "vote.sync.ballot.b32 %d, %p0, -1;", "vote.sync.ballot.b32 %d, !%p1, -1;",
       Words(32, odd | 1u << 4)},
      {"vote.all", "vote.sync.all.pred %p2, %p0, -1;\nselp.u32 %d, 1, 2, %p2;",
       "vote.sync.all.pred %p1, !%p1, -1;\nselp.u32 %d, 1, 2, %p1;", Words(32, 2)},
      {"vote.any", "vote.sync.any.pred %p0, %p0, -1;\nselp.u32 %d, 1, 2, %p0;",
       "vote.sync.any.pred %p2, %p0, -1;\nselp.u32 %d, 1, 2, %p2;", Words(32, 1)},
      {"redux.add", "redux.sync.add.u32 %r1, %r1, -1;\nmov.u32 %d, %r1;",
       "redux.sync.add.u32 %d, %r2, -1;", Words(32, 4960)},
      {"redux.max.s32", "redux.sync.max.s32 %d, %r1, -1;", "redux.sync.max.s32 %d, -5, -1;",
       Words(32, 310)},
      {"match.any", "match.any.sync.b32 %d, 5, -1;",
       "selp.u32 %r2, 6, 5, %p1;\nmatch.any.sync.b32 %d, %r2, -1;", each([&](unsigned i) {
         const bool five = i % 2 == 1 || i == 4;
         return five ? odd | 1u << 4 : ~(odd | 1u << 4);
       })},
      {"match.all", "match.all.sync.b64 %d|%p2, 77, -1;\n@!%p2 mov.u32 %d, 1;",
       "match.all.sync.b64 %d, 77, -1;", Words(32, 0xFFFFFFFFu)},
      {"elect", "elect.sync %d|%p2, -1;\n@%p2 mov.u32 %d, 50;",
       "elect.sync %d|%p2, -1;\n@%p2 mov.u32 %d, 50;",
       each([](unsigned i) { return i == 0 ? 50 : 0; })},
      {"bar.warp.sync", "bar.warp.sync -1;\nmov.u32 %d, 3;", "bar.warp.sync -1;\nmov.u32 %d, 3;",
       Words(32, 3)},
  };
  const std::string prepare = std::string(kOdd) +
                              "mul.lo.u32 %r3, %a, 10;\nsetp.ne.u32 %p1, %a, 4;\n"
                              "@%p0 mov.u32 %r1, %r3;\n@!%p0 mov.u32 %r2, %r3;\n";
  for (const Case& it : cases) {
    EXPECT_EQ(lanes<std::uint32_t>(prepare + branch(it.then, it.otherwise), numbers()), it.expected)
        << it.name;
  }
}

/// The registers of lanes that do not take part stay.
TEST(Meeting, EachMaskMeetsForItself) {
  Gpu gpu;
  const std::string code = std::string(kOdd) +
                           "setp.lt.u32 %p1, %a, 16;\nselp.u32 %r1, 0xffff, 0xffff0000, %p1;\n" +
                           branch("redux.sync.add.u32 %d, %a, %r1;",
                                  "mov.u32 %d, 9;\n@%p1 redux.sync.add.u32 %d, 1000, %r1;\n"
                                  "@!%p1 redux.sync.add.u32 %d, 2000, %r1;");
  // 1 + 3 + ... + 15 = 64, 17 + 19 + ... + 31 = 192, and 8 lanes of the second leg in each half.
  EXPECT_EQ(lanes<std::uint32_t>(code, numbers()),
            each([](unsigned i) { return i < 16 ? 8064u : 16192u; }));
}

TEST(Meeting, ThreePlacesAndLanesThatEnded) {
  Gpu gpu;
  const std::string text = module(
      ".visible .entry k(.param .u64 out) {\n"
      ".reg .b64 %at; .reg .b32 %t, %r; .reg .pred %a, %b, %c;\n"
      "mov.u32 %t, %tid.x;\nld.param.u64 %at, [out];\nmad.wide.u32 %at, %t, 4, %at;\n"
      "setp.lt.u32 %a, %t, 4;\nsetp.lt.u32 %b, %t, 8;\nsetp.ge.u32 %c, %t, 24;\n"
      "@%a bra first;\n@%b bra second;\n@%c exit;\n"
      "redux.sync.or.b32 %r, 4, -1;\nbra store;\n"
      "first: redux.sync.or.b32 %r, 1, -1;\nbra store;\n"
      "second: redux.sync.or.b32 %r, 2, -1;\n"
      "store: st.global.u32 [%at], %r;\nret;\n}");
  Buffer<std::uint32_t> out(32, 0u);
  ASSERT_EQ(launch(text, "k", Dim(1), Dim(32), {&out.address}), CUDA_SUCCESS)
      << cuda_twin_last_fault();
  EXPECT_EQ(out.read(), each([](unsigned i) { return i < 24 ? 7u : 0u; }));
}

const char* const kWarpSum =
    ".func (.reg .u32 sum) warp_sum(.reg .u32 value) {\n.reg .u32 %r;\nmov.u32 sum, value;\n"
    "shfl.sync.bfly.b32 %r, sum, 16, 31, -1;\nadd.u32 sum, sum, %r;\n"
    "shfl.sync.bfly.b32 %r, sum, 8, 31, -1;\nadd.u32 sum, sum, %r;\n"
    "shfl.sync.bfly.b32 %r, sum, 4, 31, -1;\nadd.u32 sum, sum, %r;\n"
    "shfl.sync.bfly.b32 %r, sum, 2, 31, -1;\nadd.u32 sum, sum, %r;\n"
    "shfl.sync.bfly.b32 %r, sum, 1, 31, -1;\nadd.u32 sum, sum, %r;\nret;\n}\n";

std::string sums_in_both_legs(const char* target) {
  return module(std::string(kWarpSum) +
                    ".visible .entry k(.param .u64 out) {\n"
                    ".reg .b64 %at; .reg .u32 %t, %r, %odd; .reg .pred %p;\n"
                    "mov.u32 %t, %tid.x;\nld.param.u64 %at, [out];\nmad.wide.u32 %at, %t, 4, %at;\n"
                    "and.b32 %odd, %t, 1;\nsetp.eq.u32 %p, %odd, 1;\n@%p bra second;\n"
                    "call (%r), warp_sum, (%t);\nadd.u32 %r, %r, 1000;\nbra store;\n"
                    "second: call (%r), warp_sum, (%t);\nadd.u32 %r, %r, 2000;\n"
                    "store: st.global.u32 [%at], %r;\nret;\n}",
                "7.0", target);
}

TEST(Meeting, AFunctionThatBothLegsCallSumsTheWholeWarp) {
  Gpu gpu;
  for (const char* findings : {"stop", "record"}) {
    ASSERT_EQ(cuda_twin_set("CUDA_TWIN_FINDINGS", findings), 1);
    Buffer<std::uint32_t> out(32, 0u);
    ASSERT_EQ(launch(sums_in_both_legs("sm_80"), "k", Dim(1), Dim(32), {&out.address}),
              CUDA_SUCCESS)
        << cuda_twin_last_fault();
    EXPECT_EQ(out.read(), each([](unsigned i) { return 496 + (i % 2 == 1 ? 2000u : 1000u); }));
    EXPECT_EQ(cuda_twin_findings(), 0u);
  }
}

/// "For .target sm_6x or below, all threads in membermask must execute the same instruction in
/// convergence."
TEST(Meeting, TargetsBeforeSm70NeedTheSameInstruction) {
  Gpu gpu;
  Buffer<std::uint32_t> out(32, 0u);
  EXPECT_EQ(launch(sums_in_both_legs("sm_60"), "k", Dim(1), Dim(32), {&out.address}),
            CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_TRUE(last_fault_has("absent-lanes")) << cuda_twin_last_fault();
}

TEST(Meeting, OtherQualifiersOrMasksDoNotMeet) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"shfl.sync.up.b32 %d, %a, 1, 0, -1;", "shfl.sync.down.b32 %d, %a, 1, 31, -1;"},
      {"vote.sync.all.pred %p1, %p0, -1;", "vote.sync.any.pred %p1, %p0, -1;"},
      {"redux.sync.min.u32 %d, %a, -1;", "redux.sync.max.u32 %d, %a, -1;"},
      {"redux.sync.or.b32 %d, %a, -1;", "bar.warp.sync -1;"},
      {"match.any.sync.b32 %d, %a, -1;", "match.any.sync.b64 %d, 5, -1;"},
      {"redux.sync.or.b32 %d, %a, -1;", "redux.sync.or.b32 %d, %a, 0xffff00ff;"},
  };
  for (const auto& [then, otherwise] : cases) {
    Gpu gpu;
    Buffer<std::uint32_t> in(numbers());
    Buffer<std::uint32_t> out(32, 0u);
    const std::string text = twin_test::frame<std::uint32_t, std::uint32_t>(
        "mov.u32 %d, 0;\n" + (kLow + branch(then, otherwise)));
    EXPECT_EQ(launch(text, "lanes", Dim(1), Dim(32), {&in.address, &out.address}),
              CUDA_ERROR_LAUNCH_FAILED)
        << then;
    EXPECT_TRUE(last_fault_has("absent-lanes")) << then << cuda_twin_last_fault();
    EXPECT_TRUE(last_fault_has("never come")) << then << cuda_twin_last_fault();
  }
}

/// Lanes 0 to 7 and 8 to 15 vote at two places, and lanes 16 to 31 never do.
TEST(Meeting, LanesThatNeverComeAreLeftOutTogether) {
  Gpu gpu;
  ASSERT_EQ(cuda_twin_set("CUDA_TWIN_FINDINGS", "record"), 1);
  const std::string vote = "vote.sync.ballot.b32 %d, %p2, -1;\n";
  const std::string code =
      "mov.u32 %d, 0;\nsetp.lt.u32 %p0, %a, 8;\nsetp.lt.u32 %p1, %a, 16;\nsetp.ne.u32 %p2, %a, 3;\n"
      "@%p0 bra first;\n@%p1 bra second;\nbarrier.sync 0;\nbra.uni both;\n"
      "first: " +
      vote +
      "barrier.sync 0;\nbra.uni both;\n"
      "second: " +
      vote + "barrier.sync 0;\nboth:\n";
  EXPECT_EQ(lanes<std::uint32_t>(code, numbers()),
            each([](unsigned i) { return i < 16 ? 0xFFF7u : 0u; }));
  ASSERT_EQ(cuda_twin_findings(), 1u);
  const char* check = nullptr;
  const char* finding = nullptr;
  ASSERT_EQ(cuda_twin_finding(0, &check, &finding), 1);
  EXPECT_STREQ(check, "absent-lanes");
  EXPECT_NE(std::string(finding).find("lanes 0-15 wait here, and lanes 16-31 never come"),
            std::string::npos)
      << finding;
}

/// Lanes 16 to 31 read what lanes 0 to 15 stored: the shuffle of both legs orders them.
TEST(Meeting, OrdersTheAccessesOfBothLegs) {
  Gpu gpu;
  const auto text = [](const std::string& meet) {
    return twin_test::frame<std::uint32_t, std::uint32_t>(
        "{\n.shared .b32 values[32];\n.reg .b32 %s;\nmov.u32 %s, values;\nmad.lo.u32 %s, %a, 4, "
        "%s;\n"
        "mov.u32 %d, 0;\n" +
        (kLow + branch("st.shared.u32 [%s], %a;\n" + meet, meet + "ld.shared.u32 %d, [%s+-64];")) +
        "}\n");
  };
  Buffer<std::uint32_t> in(numbers());
  Buffer<std::uint32_t> out(32, 0u);
  ASSERT_EQ(launch(text("shfl.sync.idx.b32 %r1, %a, 0, 31, -1;\n"), "lanes", Dim(1), Dim(32),
                   {&in.address, &out.address}),
            CUDA_SUCCESS)
      << cuda_twin_last_fault();
  EXPECT_EQ(out.read(), each([](unsigned i) { return i < 16 ? 0 : i - 16; }));
}

}  // namespace meeting_test
