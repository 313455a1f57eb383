// Instructions of a whole warp: shuffles, votes, matches, reductions, and their member masks.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "support.h"

namespace warp_test {

using twin_test::Buffer;
using twin_test::Dim;
using twin_test::Gpu;
using twin_test::lanes;
using twin_test::launch;
using twin_test::module;

using Words = std::vector<std::uint32_t>;

Words numbers() {
  Words values(32);
  std::iota(values.begin(), values.end(), 0u);
  return values;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// --- shfl. Expected values as CUDA documents __shfl_*_sync(mask, value, x, width).

/// The lane that `lane` reads, or itself if that is outside of its part of `width` lanes.
struct Source {
  unsigned lane = 0;
  bool inside = false;
};
Source source_of(const std::string& mode, unsigned lane, unsigned by, unsigned width) {
  const unsigned part = lane / width * width;
  int from = 0;
  if (mode == "up") from = static_cast<int>(lane) - static_cast<int>(by);
  if (mode == "down") from = static_cast<int>(lane + by);
  if (mode == "bfly") from = static_cast<int>(lane ^ by);
  if (mode == "idx") from = static_cast<int>(part + by % width);
  bool inside = from >= 0 && from < 32;
  if (mode == "up") inside = inside && from >= static_cast<int>(part);
  // bfly may read a part that comes earlier, not one that comes later.
  if (mode != "up") inside = inside && from < static_cast<int>(part + width);
  return {inside ? static_cast<unsigned>(from) : lane, inside};
}

TEST(Shuffle, AllModesOffsetsAndWidths) {
  Gpu gpu;
  Words values(32);
  for (unsigned i = 0; i < 32; ++i) values[i] = 1000 + i * i;
  for (const std::string mode : {"up", "down", "bfly", "idx"}) {
    for (unsigned width = 1; width <= 32; width *= 2) {
      const unsigned clamp = (32 - width) << 8 | (mode == "up" ? 0 : 31);
      for (const unsigned by : {0u, 1u, 2u, 3u, 7u, 8u, 16u, 31u}) {
        const auto d = lanes<std::uint32_t>(
            "shfl.sync." + mode + ".b32 %r0|%p0, %a, " + std::to_string(by) + ", " +
                std::to_string(clamp) +
                ", 0xffffffff;\nselp.u32 %r1, 100000, 0, %p0;\nadd.u32 %d, %r0, %r1;",
            values);
        for (unsigned i = 0; i < 32; ++i) {
          const Source source = source_of(mode, i, by, width);
          ASSERT_EQ(d[i], values[source.lane] + (source.inside ? 100000 : 0))
              << mode << " by " << by << " width " << width << " lane " << i;
        }
      }
    }
  }
}

/// The lane that a lane reads, by the formulas of the PTX document.
Source source_by_formula(const std::string& mode, unsigned lane, unsigned b, unsigned c) {
  const unsigned bval = b % 32, cval = c % 32, mask = c / 256 % 32;
  const int max_lane = static_cast<int>((lane & mask) | (cval & (31 - mask)));
  const unsigned min_lane = lane & mask;
  int from = static_cast<int>(min_lane | (bval & (31 - mask)));
  if (mode == "up") from = static_cast<int>(lane) - static_cast<int>(bval);
  if (mode == "down") from = static_cast<int>(lane + bval);
  if (mode == "bfly") from = static_cast<int>(lane ^ bval);
  const bool inside = mode == "up" ? from >= max_lane : from <= max_lane;
  return {inside ? static_cast<unsigned>(from) : lane, inside};
}

/// Clamps and segments that no width of CUDA gives, of each lane its own.
TEST(Shuffle, AnyClampsAndSegments) {
  Gpu gpu;
  Words values, by, clamps;
  std::uint32_t random = 1;
  for (unsigned i = 0; i < 32 * 64; ++i) {
    random = random * 1664525u + 1013904223u;
    values.push_back(i);
    by.push_back(random >> 7);
    clamps.push_back(random >> 16);
  }
  for (const std::string mode : {"up", "down", "bfly", "idx"}) {
    const auto d = lanes<std::uint32_t>("shfl.sync." + mode +
                                            ".b32 %r0|%p0, %a, %b, %c, -1;\n"
                                            "selp.u32 %r1, 100000, 0, %p0;\nadd.u32 %d, %r0, %r1;",
                                        values, by, clamps);
    for (unsigned i = 0; i < d.size(); ++i) {
      const Source source = source_by_formula(mode, i % 32, by[i], clamps[i]);
      ASSERT_EQ(d[i], i / 32 * 32 + source.lane + (source.inside ? 100000 : 0)) << mode << i;
    }
  }
}

TEST(Shuffle, EachLaneHasItsOwnOffset) {
  Gpu gpu;
  Words by(32);
  for (unsigned i = 0; i < 32; ++i) by[i] = i * 7 + 3;  // only 5 bits of it count
  const auto d =
      lanes<std::uint32_t>("shfl.sync.idx.b32 %d, %a, %b, 31, 0xffffffff;", numbers(), by);
  for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(d[i], by[i] % 32);
}

TEST(Shuffle, DestinationMayBeTheSource) {
  Gpu gpu;
  const auto d = lanes<std::uint32_t>(
      "shfl.sync.down.b32 %a, %a, 1, 31, -1;\nshfl.sync.up.b32 %a, %a, 1, 0, -1;\nmov.b32 %d, %a;",
      numbers());
  // Lane 31 keeps 31, and lane 0 keeps what came from lane 1.
  for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(d[i], i == 0 ? 1 : i) << i;
}

TEST(Shuffle, SumOverTheWarpByButterflies) {
  Gpu gpu;
  const auto d = lanes<std::uint32_t>(
      "mov.u32 %d, %a;\n"
      "shfl.sync.bfly.b32 %r0, %d, 16, 31, -1;\nadd.u32 %d, %d, %r0;\n"
      "shfl.sync.bfly.b32 %r0, %d, 8, 31, -1;\nadd.u32 %d, %d, %r0;\n"
      "shfl.sync.bfly.b32 %r0, %d, 4, 31, -1;\nadd.u32 %d, %d, %r0;\n"
      "shfl.sync.bfly.b32 %r0, %d, 2, 31, -1;\nadd.u32 %d, %d, %r0;\n"
      "shfl.sync.bfly.b32 %r0, %d, 1, 31, -1;\nadd.u32 %d, %d, %r0;",
      numbers());
  EXPECT_EQ(d, Words(32, 496));
}

TEST(Match, SinkKeepsThePredicate) {
  Gpu gpu;
  const std::string match = "match.all.sync.b32 _|%p0, %a, -1;\nselp.u32 %d, 1, 0, %p0;";
  EXPECT_EQ(lanes<std::uint32_t>(match, Words(32, 7)), Words(32, 1));
  EXPECT_EQ(lanes<std::uint32_t>(match, numbers()), Words(32, 0));
}

TEST(Shuffle, FormWithoutSyncIsForOldModules) {
  Gpu gpu;
  std::string log;
  EXPECT_EQ(twin_test::compile_error("shfl.down.b32 %d, %a, 1, 31;", &log), CUDA_ERROR_INVALID_PTX);
  EXPECT_TRUE(has(log, ".sync")) << log;
  EXPECT_EQ(twin_test::compile_error("vote.ballot.b32 %d, %p0;", &log), CUDA_ERROR_INVALID_PTX);
  const std::string old = twin_test::frame<std::uint32_t, std::uint32_t>(
      "shfl.down.b32 %r0, %a, 1, 31;\nsetp.eq.u32 %p0, %r0, 5;\nvote.ballot.b32 %d, %p0;", "6.0",
      "sm_60");
  Buffer<std::uint32_t> in(numbers());
  Buffer<std::uint32_t> out(32, 0);
  TWIN_OK(launch(old, "lanes", Dim(1), Dim(32), {&in.address, &out.address}));
  EXPECT_EQ(out.read(), Words(32, 1u << 4));
}

TEST(Shuffle, ModesWithoutSync) {
  Gpu gpu;
  for (const std::string mode : {"up", "down", "bfly", "idx"}) {
    const auto d = twin_test::lanes_of<std::uint32_t>(
        {"6.0", "sm_60"},
        "shfl." + mode + ".b32 %r0|%p0, %a, 3, " + (mode == "up" ? "0x1800" : "0x1807") +
            ";\nselp.u32 %r1, 100, 0, %p0;\nadd.u32 %d, %r0, %r1;",
        numbers());
    for (unsigned i = 0; i < 32; ++i) {
      const Source source = source_of(mode, i, 3, 8);
      EXPECT_EQ(d[i], source.lane + (source.inside ? 100 : 0)) << mode << i;
    }
  }
}

// --- vote, match, redux, elect

TEST(Vote, FormsWithoutSync) {
  Gpu gpu;
  const std::string code =
      "setp.ne.u32 %p0, %a, 0;\nvote.all.pred %p1, %p0;\nvote.any.pred %p2, %p0;\n"
      "vote.uni.pred %p3, %p0;\nvote.all.pred %p4, !%p0;\nselp.u32 %d, 1, 0, %p1;\n"
      "@%p2 or.b32 %d, %d, 2;\n@%p3 or.b32 %d, %d, 4;\n@%p4 or.b32 %d, %d, 8;";
  Words some(32, 0);
  some[17] = 1;
  const std::vector<Words> cases = {Words(32, 0), Words(32, 7), some};
  const Words flags = {4 | 8, 1 | 2 | 4, 2};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(twin_test::lanes_of<std::uint32_t>({"6.0", "sm_60"}, code, cases[i]),
              Words(32, flags[i]))
        << i;
  }
}

TEST(Vote, AllAnyUniBallot) {
  Gpu gpu;
  const std::string code =
      "setp.ne.u32 %p0, %a, 0;\nvote.sync.all.pred %p1, %p0, -1;\nvote.sync.any.pred %p2, %p0, "
      "-1;\n"
      "vote.sync.uni.pred %p3, %p0, -1;\nvote.sync.any.pred %p4, !%p0, -1;\n"
      "vote.sync.ballot.b32 %r0, %p0, -1;\nselp.u32 %r1, 1, 0, %p1;\nselp.u32 %r2, 2, 0, %p2;\n"
      "selp.u32 %r3, 4, 0, %p3;\nselp.u32 %r4, 8, 0, %p4;\nor.b32 %r1, %r1, %r2;\n"
      "or.b32 %r3, %r3, %r4;\nor.b32 %r1, %r1, %r3;\n";
  Words some(32, 0);
  some[3] = some[30] = 1;
  const std::vector<Words> cases = {Words(32, 0), Words(32, 7), some};
  const Words flags = {4 | 8, 1 | 2 | 4, 2 | 8};
  const Words ballots = {0, 0xFFFFFFFFu, 1u << 3 | 1u << 30};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(lanes<std::uint32_t>(code + "mov.u32 %d, %r1;", cases[i]), Words(32, flags[i])) << i;
    EXPECT_EQ(lanes<std::uint32_t>(code + "mov.u32 %d, %r0;", cases[i]), Words(32, ballots[i]))
        << i;
  }
}

TEST(Vote, LanesOutsideOfTheMaskDoNotCount) {
  Gpu gpu;
  const auto d = lanes<std::uint32_t>(
      "mov.u32 %d, 55;\nsetp.lt.u32 %p0, %a, 8;\nsetp.ge.u32 %p1, %a, 4;\n"
      "@%p0 vote.sync.ballot.b32 %d, %p1, 0xff;",
      numbers());
  for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(d[i], i < 8 ? 0xF0u : 55u) << i;
}

TEST(Match, AnyGivesTheLanesWithTheSameValue) {
  Gpu gpu;
  Words values(32);
  std::vector<std::uint64_t> wide(32);
  for (unsigned i = 0; i < 32; ++i) {
    values[i] = i * i % 7;
    wide[i] = std::uint64_t{values[i]} << 40 | 5;
  }
  const auto narrow_masks = lanes<std::uint32_t>("match.any.sync.b32 %d, %a, -1;", values);
  const auto wide_masks = lanes<std::uint32_t>("match.any.sync.b64 %d, %a, -1;", wide);
  for (unsigned i = 0; i < 32; ++i) {
    std::uint32_t expected = 0;
    for (unsigned j = 0; j < 32; ++j) expected |= (values[i] == values[j] ? 1u : 0u) << j;
    EXPECT_EQ(narrow_masks[i], expected) << i;
    EXPECT_EQ(wide_masks[i], expected) << i;
  }
}

TEST(Match, AllGivesTheMaskOrNothing) {
  Gpu gpu;
  const std::string code =
      "match.all.sync.b32 %r0|%p0, %a, -1;\nselp.u32 %r1, 1, 2, %p0;\nxor.b32 %d, %r0, %r1;";
  EXPECT_EQ(lanes<std::uint32_t>(code, Words(32, 9)), Words(32, 0xFFFFFFFFu ^ 1u));
  EXPECT_EQ(lanes<std::uint32_t>(code, numbers()), Words(32, 2));
  EXPECT_EQ(lanes<std::uint32_t>("match.all.sync.b64 %d, %a, -1;",
                                 std::vector<std::uint64_t>(32, std::uint64_t{1} << 63)),
            Words(32, 0xFFFFFFFFu));
}

TEST(Redux, IntegersAndBits) {
  Gpu gpu;
  Words values(32);
  for (unsigned i = 0; i < 32; ++i) values[i] = (i * 2654435761u) ^ 0x80001234u;
  std::uint32_t sum = 0, least = ~0u, most = 0, all = ~0u, any = 0, odd = 0;
  std::int32_t low = std::numeric_limits<std::int32_t>::max();
  std::int32_t high = std::numeric_limits<std::int32_t>::min();
  for (const std::uint32_t value : values) {
    sum += value;
    least = std::min(least, value);
    most = std::max(most, value);
    low = std::min(low, static_cast<std::int32_t>(value));
    high = std::max(high, static_cast<std::int32_t>(value));
    all &= value;
    any |= value;
    odd ^= value;
  }
  const std::vector<std::pair<std::string, std::uint32_t>> cases = {
      {"add.u32", sum},
      {"add.s32", sum},
      {"min.u32", least},
      {"max.u32", most},
      {"and.b32", all},
      {"or.b32", any},
      {"xor.b32", odd},
      {"min.s32", static_cast<std::uint32_t>(low)},
      {"max.s32", static_cast<std::uint32_t>(high)}};
  for (const auto& [form, expected] : cases) {
    EXPECT_EQ(lanes<std::uint32_t>("redux.sync." + form + " %d, %a, 0xffffffff;", values),
              Words(32, expected))
        << form;
  }
}

/// Lanes below 16 have one mask, those from 24 on another one; the others take no part.
TEST(Redux, PartsOfAWarp) {
  Gpu gpu;
  Words values(32);
  for (unsigned i = 0; i < 32; ++i) values[i] = (i * 2654435761u) ^ 0x80001234u;
  using F = std::uint32_t (*)(std::uint32_t, std::uint32_t);
  const auto lower = [](std::uint32_t a, std::uint32_t b) {
    return static_cast<std::int32_t>(a) < static_cast<std::int32_t>(b) ? a : b;
  };
  const auto higher = [](std::uint32_t a, std::uint32_t b) {
    return static_cast<std::int32_t>(a) < static_cast<std::int32_t>(b) ? b : a;
  };
  const std::vector<std::pair<std::string, F>> cases = {
      {"min.u32", [](std::uint32_t a, std::uint32_t b) { return std::min(a, b); }},
      {"max.u32", [](std::uint32_t a, std::uint32_t b) { return std::max(a, b); }},
      {"min.s32", lower},
      {"max.s32", higher},
      {"and.b32", [](std::uint32_t a, std::uint32_t b) { return a & b; }},
      {"or.b32", [](std::uint32_t a, std::uint32_t b) { return a | b; }},
      {"xor.b32", [](std::uint32_t a, std::uint32_t b) { return a ^ b; }}};
  for (const auto& [form, combine] : cases) {
    const auto d = lanes<std::uint32_t>(
        "mov.u32 %d, 55;\nsetp.lt.u32 %p0, %b, 16;\nsetp.ge.u32 %p1, %b, 24;\n"
        "selp.b32 %r0, 0xffff, 0xff000000, %p0;\nor.pred %p0, %p0, %p1;\n@%p0 redux.sync." +
            form + " %d, %a, %r0;",
        values, numbers());
    const std::uint32_t first =
        std::accumulate(values.begin() + 1, values.begin() + 16, values[0], combine);
    const std::uint32_t last =
        std::accumulate(values.begin() + 25, values.end(), values[24], combine);
    for (unsigned i = 0; i < 32; ++i) {
      EXPECT_EQ(d[i], i < 16 ? first : i < 24 ? 55 : last) << form << i;
    }
  }
}

TEST(Match, PartsOfAWarp) {
  Gpu gpu;
  Words values(32);
  for (unsigned i = 0; i < 32; ++i) values[i] = i < 16 ? i % 3 : 9;
  const std::string halves = "setp.lt.u32 %p0, %b, 16;\nselp.b32 %r0, 0xffff, 0xffff0000, %p0;\n";
  const auto any =
      lanes<std::uint32_t>(halves + "match.any.sync.b32 %d, %a, %r0;", values, numbers());
  const auto all = lanes<std::uint32_t>(
      halves +
          "cvt.u64.u32 %l0, %a;\nmatch.all.sync.b64 %d|%p1, %l0, %r0;\n@%p1 add.u32 %d, %d, 1;",
      values, numbers());
  for (unsigned i = 0; i < 32; ++i) {
    std::uint32_t expected = 0;
    for (unsigned j = 0; j < 32; ++j) {
      expected |= (i / 16 == j / 16 && values[i] == values[j] ? 1u : 0u) << j;
    }
    EXPECT_EQ(any[i], expected) << i;
    EXPECT_EQ(all[i], i < 16 ? 0 : 0xFFFF0001u) << i;
  }
}

TEST(Redux, FloatsNeedANewerTarget) {
  Gpu gpu;
  std::string log;
  EXPECT_EQ(twin_test::compile_error("redux.sync.min.f32 %f0, %f1, -1;\nmov.b32 %d, %f0;", &log),
            CUDA_ERROR_INVALID_PTX);
}

TEST(Redux, FloatsWithNanAndSignedZero) {
  Gpu gpu("b200");
  CUmodule loaded = nullptr;
  const std::string plain =
      twin_test::frame<float, float>("redux.sync.min.f32 %d, %a, -1;", "8.6", "sm_100");
  EXPECT_EQ(twin_test::load(plain, &loaded), CUDA_ERROR_INVALID_PTX) << "without the suffix a";
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> values(32, 3.0f);
  values[4] = nan;
  values[5] = -7.5f;
  values[6] = 0.0f;
  const auto run = [&](const std::string& form) {
    const std::string text =
        twin_test::frame<float, float>("redux.sync." + form + ".f32 %d, %a, -1;", "8.6", "sm_100a");
    Buffer<float> in(values);
    Buffer<float> out(32, 0.0f);
    TWIN_OK(launch(text, "lanes", Dim(1), Dim(32), {&in.address, &out.address}));
    return out.read()[31];
  };
  EXPECT_EQ(run("min"), -7.5f);
  EXPECT_EQ(run("max"), 3.0f);
  EXPECT_EQ(run("max.abs"), 7.5f);
  EXPECT_EQ(run("min.abs"), 0.0f);
  const std::vector<std::string> of_nan = {"min.NaN", "max.NaN", "min.abs.NaN", "max.abs.NaN"};
  for (const std::string& form : of_nan) {
    EXPECT_EQ(std::bit_cast<std::uint32_t>(run(form)), 0x7FFFFFFFu) << form;
  }
  values[4] = 3.0f;
  const std::vector<float> of_numbers = {-7.5f, 3.0f, 0.0f, 7.5f};
  for (std::size_t i = 0; i < of_nan.size(); ++i) EXPECT_EQ(run(of_nan[i]), of_numbers[i]);
}

TEST(Elect, OneLaneOfTheMaskIsTheLeader) {
  Gpu gpu;
  const auto d = lanes<std::uint32_t>(
      "elect.sync %r0|%p0, -1;\nselp.u32 %r1, 1, 0, %p0;\nvote.sync.ballot.b32 %r2, %p0, -1;\n"
      "popc.b32 %r2, %r2;\nmad.lo.u32 %d, %r2, 100, %r0;",
      numbers());
  // One leader, and all lanes know the same one.
  for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(d[i], d[0]);
  EXPECT_EQ(d[0] / 100, 1u);
  EXPECT_LT(d[0] % 100, 32u);
}

TEST(ActiveMask, HasTheLanesOfThePath) {
  Gpu gpu;
  const auto d = lanes<std::uint32_t>(
      "setp.lt.u32 %p0, %a, 12;\n@%p0 bra LOW;\nactivemask.b32 %d;\nbra JOIN;\n"
      "LOW: activemask.b32 %d;\nJOIN: mov.b32 %d, %d;",
      numbers());
  for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(d[i], i < 12 ? 0xFFFu : 0xFFFFF000u) << i;
}

// --- Lanes that come at different times

TEST(Together, LanesThatComeLaterAreWaitedFor) {
  Gpu gpu;
  // The lanes below 16 take a long way; all meet at one shuffle in the end.
  const auto d = lanes<std::uint32_t>(
      "mov.u32 %r0, %a;\nsetp.lt.u32 %p0, %a, 16;\n@!%p0 bra MEET;\nmov.u32 %r1, 0;\n"
      "LOOP: add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 30000;\n@%p1 bra LOOP;\n"
      "add.u32 %r0, %r0, %r1;\nMEET: shfl.sync.bfly.b32 %d, %r0, 16, 31, -1;",
      numbers());
  for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(d[i], i < 16 ? i + 16 : i - 16 + 30000) << i;
}

TEST(Together, TilesWithMasksOfTheirOwn) {
  Gpu gpu;
  // Tiles of 8 lanes; the lanes of tile 1 and 3 come by another path than tile 0 and 2.
  const auto d = lanes<std::uint32_t>(
      "shr.u32 %r0, %a, 3;\nshl.b32 %r1, %r0, 3;\nshl.b32 %r2, 0xff, %r1;\nand.b32 %r3, %r0, 1;\n"
      "setp.eq.u32 %p0, %r3, 0;\nmov.u32 %r4, %a;\n@%p0 bra MEET;\nadd.u32 %r4, %r4, 100;\n"
      "MEET: shfl.sync.idx.b32 %r5, %r4, 0, 0x181f, %r2;\nmov.u32 %d, %r5;",
      numbers());
  for (unsigned i = 0; i < 32; ++i) {
    const unsigned tile = i / 8;
    EXPECT_EQ(d[i], tile * 8 + (tile % 2 == 1 ? 100 : 0)) << i;
  }
}

TEST(Together, TilesInDivergentLoops) {
  Gpu gpu;
  // Each half sums over its own lanes, as often as the half says.
  const auto d = lanes<std::uint32_t>(
      "shr.u32 %r0, %a, 4;\nshl.b32 %r1, %r0, 4;\nshl.b32 %r2, 0xffff, %r1;\nmov.u32 %r3, 0;\n"
      "add.u32 %r4, %r0, 2;\nmov.u32 %d, 1;\n"
      "LOOP: redux.sync.add.u32 %d, %d, %r2;\nadd.u32 %r3, %r3, 1;\nsetp.lt.u32 %p0, %r3, %r4;\n"
      "@%p0 bra LOOP;",
      numbers());
  for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(d[i], i < 16 ? 16u * 16 : 16u * 16 * 16) << i;
}

TEST(Together, WarpBarrierInTwoPlacesWithOneMask) {
  Gpu gpu;
  const auto d = lanes<std::uint32_t>(
      "setp.lt.u32 %p0, %a, 16;\n@%p0 bra LOW;\nbar.warp.sync 0xffffffff;\nmov.u32 %d, 1;\n"
      "bra JOIN;\nLOW: bar.warp.sync 0xffffffff;\nmov.u32 %d, 2;\nJOIN: mov.b32 %d, %d;",
      numbers());
  for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(d[i], i < 16 ? 2u : 1u) << i;
}

TEST(Together, LanesWithMasksThatNeverMeetAreReported) {
  Gpu gpu;
  cuda_twin_set("CUDA_TWIN_INSTRUCTIONS", "1000000");
  // Lane 0 waits for lane 31 and lane 1 for lane 30, at one instruction. All others are at a
  // barrier of the block.
  const std::string text = twin_test::module(
      ".visible .entry k(.param .u64 p) {\n"
      "  .reg .u32 %t, %m; .reg .pred %q;\n  mov.u32 %t, %tid.x;\n  setp.gt.u32 %q, %t, 1;\n"
      "  @%q bra B;\n  mov.u32 %m, 0x80000001;\n  setp.eq.u32 %q, %t, 1;\n"
      "  @%q mov.u32 %m, 0x40000002;\n  bar.warp.sync %m;\n  ret;\nB: barrier.sync 0;\n  "
      "ret;\n}\n");
  Buffer<std::uint32_t> out(32, 0u);
  EXPECT_EQ(launch(text, "k", Dim(1), Dim(32), {&out.address}), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_NE(std::string(cuda_twin_last_fault()).find("absent-lanes"), std::string::npos)
      << cuda_twin_last_fault();
  cuda_twin_set("CUDA_TWIN_INSTRUCTIONS", "0");
}

TEST(Together, LanesThatEndedAreNotWaitedFor) {
  Gpu gpu;
  Buffer<std::uint32_t> out(32, 0);
  TWIN_OK(launch(module(".visible .entry k(.param .u64 p) {\n .reg .b64 %l0, %l1;\n"
                        " .reg .b32 %r<4>;\n .reg .pred %p0;\n ld.param.u64 %l0, [p];\n"
                        " mov.u32 %r0, %tid.x;\n mad.wide.u32 %l1, %r0, 4, %l0;\n"
                        " setp.ge.u32 %p0, %r0, 8;\n @%p0 exit;\n"
                        " redux.sync.add.u32 %r1, %r0, 0xffffffff;\n"
                        " st.global.u32 [%l1], %r1;\n ret;\n}\n"),
                 "k", Dim(1), Dim(32), {&out.address}));
  const auto d = out.read();
  for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(d[i], i < 8 ? 28u : 0u) << i;
}

// --- Errors

std::string failure(const std::string& code) {
  Gpu gpu;
  Buffer<std::uint32_t> in(numbers());
  Buffer<std::uint32_t> out(32, 0);
  std::string log;
  EXPECT_EQ(launch(twin_test::frame<std::uint32_t, std::uint32_t>(code), "lanes", Dim(1), Dim(32),
                   {&in.address, &out.address}, 0, &log),
            CUDA_ERROR_LAUNCH_FAILED)
      << log;
  return cuda_twin_last_fault();
}

TEST(Together, ShuffleFromALaneThatTakesNoPartIsReported) {
  const std::string reason = failure(
      "mov.u32 %d, 0;\nsetp.lt.u32 %p0, %a, 16;\n@%p0 shfl.sync.idx.b32 %d, %a, 20, 31, 0xffff;");
  EXPECT_TRUE(has(reason, "absent-lanes: kernel lanes")) << reason;
  EXPECT_TRUE(has(reason, "lane 0 reads lane 20")) << reason;
}

TEST(Together, CallerOutsideOfItsMaskIsReported) {
  const std::string reason = failure("shfl.sync.idx.b32 %d, %a, 0, 31, 0x7fffffff;");
  EXPECT_TRUE(has(reason, "mask-without-caller: kernel lanes")) << reason;
  EXPECT_TRUE(has(reason, "lane 31 is not in its member mask, lanes 0-30")) << reason;
}

TEST(Together, MembersThatWaitElsewhereAreReported) {
  const std::string reason = failure(
      "setp.lt.u32 %p0, %a, 16;\n@%p0 bra LOW;\nshfl.sync.idx.b32 %d, %a, 0, 31, -1;\nbra JOIN;\n"
      "LOW: vote.sync.ballot.b32 %d, %p0, -1;\nJOIN: mov.b32 %d, %d;");
  EXPECT_TRUE(has(reason, "absent-lanes: kernel lanes")) << reason;
  EXPECT_TRUE(has(reason, "never come")) << reason;
}

TEST(Together, MembersThatNeverComeDoNotHangWhereFindingsAreRecorded) {
  Gpu gpu;
  ASSERT_EQ(cuda_twin_set("CUDA_TWIN_FINDINGS", "record"), 1);
  const auto d = lanes<std::uint32_t>(
      "setp.lt.u32 %p0, %a, 16;\n@%p0 bra LOW;\nredux.sync.add.u32 %d, 1, -1;\nbra JOIN;\n"
      "LOW: vote.sync.ballot.b32 %d, %p0, -1;\nJOIN: mov.b32 %d, %d;",
      numbers());
  for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(d[i], i < 16 ? 0xFFFFu : 16u) << i;
  // The other half waits for lanes that then have ended.
  EXPECT_EQ(cuda_twin_findings(), 1u);
}

TEST(Together, ChecksOfWarpsCanBeTurnedOff) {
  Gpu gpu;
  ASSERT_EQ(cuda_twin_set("CUDA_TWIN_CHECK_WARP", "off"), 1);
  const auto d = lanes<std::uint32_t>("redux.sync.add.u32 %d, 1, 0x7fffffff;", numbers());
  EXPECT_EQ(d[0], 32u);
  EXPECT_EQ(cuda_twin_findings(), 0u);
}

}  // namespace warp_test
