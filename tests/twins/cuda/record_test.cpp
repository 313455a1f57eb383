// The recorder, on the twin itself.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "cuda_twin/control.h"
#include "recorded.h"

namespace record_test {

using namespace twin_test;

class Recorder : public ::testing::Test {
 protected:
  ~Recorder() override { (void)std::remove(file_.c_str()); }
  void write(const std::string& text) const { std::ofstream(file_) << text; }

  const std::string file_ = ::testing::TempDir() + "cuda_twin_record_" + std::to_string(getpid());
};

TEST_F(Recorder, WritesEveryInstructionAndItsResults) {
  const Ended& ended = recorded();
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.text.rfind("# NVIDIA H200, driver 13000\n", 0), 0u) << ended.text.substr(0, 100);
  EXPECT_EQ(ended.text.find("fails"), std::string::npos)
      << ended.text.substr(ended.text.find("fails") - 100, 120);
  EXPECT_NE(ended.text.find("\nadd.sat.s32 %d, %a, %b  #4 80000000 80000000 -> 80000000\n"),
            std::string::npos);
}

/// recorded() has the best level. Others are those that the build and the processor have.
TEST_F(Recorder, HasTheSameResultsOnEachVectorLevel) {
  const std::string best = cuda_twin_level();
  for (const std::string level : {"baseline", "v3", "v4"}) {
    EXPECT_EQ(cuda_twin_set("CUDA_TWIN_LEVEL", level.c_str()), 1);
    const bool is_another = cuda_twin_level() == level && level != best;
    cuda_twin_reset_settings();
    if (!is_another) continue;
    const Ended ended = record(kRecordedLibrary, "CUDA_TWIN_LEVEL=" + level + " ");
    EXPECT_EQ(ended.code, 0);
    EXPECT_TRUE(ended.text == recorded().text) << level;
  }
}

/// The names of the instructions in code: the first words of its statements.
std::set<std::string> names_in(const std::string& code) {
  std::set<std::string> names;
  std::istringstream statements(code);
  for (std::string statement; std::getline(statements, statement, ';');) {
    std::istringstream words(statement);
    std::string word;
    while (words >> word && (word[0] == '@' || word.back() == ':')) {
    }
    names.insert(word.substr(0, word.find('.')));
  }
  return names;
}

/// The README lists families of instructions in a table: the words in backticks.
std::set<std::string> listed_names() {
  std::ifstream readme(std::string(TWIN_TEST_FOLDER) + "/../../../twins/cuda/README.md");
  std::set<std::string> names;
  bool inside = false;
  for (std::string line; std::getline(readme, line);) {
    inside = line.rfind("| family |", 0) == 0 || (inside && line.rfind("| ", 0) == 0);
    if (inside && line.rfind("| matrices |", 0) == 0) line.resize(line.find(';'));
    for (std::size_t at = 0; inside && (at = line.find('`', at)) != std::string::npos;) {
      const std::size_t end = line.find('`', at + 1);
      const std::string name = line.substr(at + 1, end - at - 1);
      if (name[0] != '.') names.insert(name.substr(0, name.find('.')));
      at = end + 1;
    }
  }
  return names;
}

TEST_F(Recorder, HasEveryListedInstructionWithAResult) {
  std::set<std::string> recorded_names;
  for (const auto& [code, lanes] : recorded_lanes()) recorded_names.merge(names_in(code));
  const std::set<std::string> without_result = {"ret",       "exit",    "trap",         "brkpt",
                                                "prefetchu", "discard", "applypriority"};
  const std::set<std::string> listed = listed_names();
  EXPECT_GT(listed.size(), 80u);
  for (const std::string& name : listed) {
    EXPECT_NE(recorded_names.contains(name), without_result.contains(name)) << name;
  }
}

// --- Results that the host computes from the operands of the lines

using Bits = std::uint64_t;

template <class T>
Bits bits_of(T value) {
  if constexpr (sizeof(T) == 2) return std::bit_cast<std::uint16_t>(value);
  if constexpr (sizeof(T) == 4) return std::bit_cast<std::uint32_t>(value);
  if constexpr (sizeof(T) == 8) return std::bit_cast<std::uint64_t>(value);
}
template <class T>
T from_bits(Bits bits) {
  if constexpr (sizeof(T) == 4) return std::bit_cast<T>(static_cast<std::uint32_t>(bits));
  if constexpr (sizeof(T) == 8) return std::bit_cast<T>(bits);
}
/// The f32 that PTX gives for a NaN is always the same.
Bits single(float value) {
  return std::isnan(value) ? Bits{0x7FFFFFFF} : bits_of(value);
}
float f(Bits bits) {
  return from_bits<float>(bits);
}
std::int32_t s(Bits bits) {
  return static_cast<std::int32_t>(bits);
}
Bits word(std::int64_t value) {
  return static_cast<std::uint32_t>(value);
}
std::int64_t clamped(std::int64_t value) {
  return std::clamp<std::int64_t>(value, INT32_MIN, INT32_MAX);
}

struct Expected {
  const char* code;
  Bits (*result)(Bits a, Bits b, Bits c);
};
const Expected kExpected[] = {
    {"add.u16 %d, %a, %b", [](Bits a, Bits b, Bits) { return (a + b) & 0xFFFF; }},
    {"sub.s64 %d, %a, %b", [](Bits a, Bits b, Bits) { return a - b; }},
    {"add.sat.s32 %d, %a, %b",
     [](Bits a, Bits b, Bits) { return word(clamped(std::int64_t{s(a)} + s(b))); }},
    {"mul.hi.u32 %d, %a, %b", [](Bits a, Bits b, Bits) { return a * b >> 32; }},
    {"mul.wide.s32 %d, %a, %b",
     [](Bits a, Bits b, Bits) { return static_cast<Bits>(std::int64_t{s(a)} * s(b)); }},
    {"mad.hi.sat.s32 %d, %a, %b, %c",
     [](Bits a, Bits b, Bits c) {
       return word(clamped((std::int64_t{s(a)} * s(b) >> 32) + s(c)));
     }},
    {"sad.s32 %d, %a, %b, %c",
     [](Bits a, Bits b, Bits c) { return word(std::abs(std::int64_t{s(a)} - s(b)) + s(c)); }},
    {"add.cc.u32 %r0, %a, %b; addc.cc.u32 %r1, %a, %c; addc.u32 %d, %r0, %r1",
     [](Bits a, Bits b, Bits c) {
       const Bits low = a + b;
       const Bits high = a + c + (low >> 32);
       return ((low & 0xFFFFFFFF) + (high & 0xFFFFFFFF) + (high >> 32)) & 0xFFFFFFFF;
     }},
    {"shl.b32 %d, %a, %b", [](Bits a, Bits b, Bits) { return b > 31 ? 0 : word(a << b); }},
    {"shr.s32 %d, %a, %b",
     [](Bits a, Bits b, Bits) { return word(s(a) >> std::min<Bits>(b, 31)); }},
    {"shf.l.clamp.b32 %d, %a, %b, %c",
     [](Bits a, Bits b, Bits c) { return (b << 32 | a) << std::min<Bits>(c, 32) >> 32; }},
    {"shf.r.wrap.b32 %d, %a, %b, %c",
     [](Bits a, Bits b, Bits c) { return (b << 32 | a) >> c % 32 & 0xFFFFFFFF; }},
    {"popc.b64 %d, %a", [](Bits a, Bits, Bits) { return Bits(std::popcount(a)); }},
    {"clz.b64 %d, %a", [](Bits a, Bits, Bits) { return Bits(std::countl_zero(a)); }},
    {"lop3.b32 %d, %a, %b, %c, 0x96", [](Bits a, Bits b, Bits c) { return a ^ b ^ c; }},
    {"add.rn.f32 %d, %a, %b", [](Bits a, Bits b, Bits) { return single(f(a) + f(b)); }},
    {"mul.rn.f32 %d, %a, %b", [](Bits a, Bits b, Bits) { return single(f(a) * f(b)); }},
    {"fma.rn.f32 %d, %a, %b, %c",
     [](Bits a, Bits b, Bits c) { return single(std::fma(f(a), f(b), f(c))); }},
    {"div.rn.f32 %d, %a, %b", [](Bits a, Bits b, Bits) { return single(f(a) / f(b)); }},
    {"sqrt.rn.f32 %d, %a", [](Bits a, Bits, Bits) { return single(std::sqrt(f(a))); }},
    {"add.rn.sat.f32 %d, %a, %b",
     [](Bits a, Bits b, Bits) {
       const float sum = f(a) + f(b);
       return std::isnan(sum) || sum <= 0 ? Bits{0} : single(std::min(sum, 1.0f));
     }},
    {"max.f32 %d, %a, %b",
     [](Bits a, Bits b, Bits) {
       const bool zeros = f(a) == 0 && f(b) == 0;
       if (std::isnan(f(a))) return single(f(b));
       const bool first = std::isnan(f(b)) || f(a) >= f(b);
       return zeros ? a & b : single(first ? f(a) : f(b));
     }},
    {"cvt.rzi.s32.f32 %d, %a",
     [](Bits a, Bits, Bits) {
       return std::isnan(f(a))
                  ? 0
                  : word(clamped(static_cast<std::int64_t>(std::clamp(f(a), -0x1p40f, 0x1p40f))));
     }},
    {"cvt.rn.f32.u64 %d, %a", [](Bits a, Bits, Bits) { return single(static_cast<float>(a)); }},
    {"cvt.sat.s8.s32 %d, %a", [](Bits a, Bits, Bits) { return word(std::clamp(s(a), -128, 127)); }},
    {"set.ltu.u32.f32 %d, %a, %b",
     [](Bits a, Bits b, Bits) { return f(a) >= f(b) ? Bits{0} : Bits{0xFFFFFFFF}; }},
    {"st.shared.b32 [%m], %a; atom.shared.inc.u32 %r0, [%m], %b; ld.shared.b32 %d, [%m]",
     [](Bits a, Bits b, Bits) { return a >= b ? 0 : a + 1; }},
    {"st.shared.b32 [%m], %a; ld.shared.s16 %d, [%m]",
     [](Bits a, Bits, Bits) { return word(static_cast<std::int16_t>(a)); }},
    {"call (%d), twice, (%a)", [](Bits a, Bits, Bits) { return word(2 * a); }},
};

TEST_F(Recorder, ResultsAreThoseOfTheHost) {
  for (const Expected& row : kExpected) {
    const auto lanes = recorded_lanes().find(row.code);
    ASSERT_NE(lanes, recorded_lanes().end()) << row.code;
    EXPECT_EQ(lanes->second.size(), 256u);
    for (const Lane& lane : lanes->second) {
      const Bits expected = row.result(lane.operands[0], lane.operands[1], lane.operands[2]);
      ASSERT_EQ(lane.result, expected) << lane.line;
    }
  }
}

TEST_F(Recorder, ComparesWithAFile) {
  std::string text = recorded().text;
  const std::string arguments = kRecordedLibrary + " --compare " + file_;
  const std::string line = "add.s32 %d, %a, %b  #1 00000001 00000001 -> 0000000";
  const std::size_t at = text.find(line);
  ASSERT_NE(at, std::string::npos);
  text[at + line.size()] = '3';
  write(text);
  const Ended ended = record(arguments);
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(ended.text.rfind(line + "2\n1 of ", 0), 0u) << ended.text;
}

/// Another last bit of a result is within the tolerance of approximate instructions and of sums of
/// matrices, not of exact ones. Another sign is not.
TEST_F(Recorder, ComparesWithinTheToleranceOfTheInstruction) {
  std::string text = recorded().text;
  const auto change = [&](const std::string& code, Bits finite, unsigned bit) {
    for (const Lane& lane : recorded_lanes().at(code)) {
      if ((lane.result & finite) == 0 || (lane.result & finite) == finite) continue;
      const std::size_t end = text.find('\n', text.find(lane.line.substr(0, lane.line.find("->"))));
      const std::size_t digit = end - 1 - bit / 4;
      const Bits value = std::stoull(text.substr(digit, 1), nullptr, 16) ^ Bits { 1 } << bit % 4;
      text[digit] = "0123456789abcdef"[value];
      return;
    }
    ADD_FAILURE() << code << " has no finite result";
  };
  change("ex2.approx.f32 %d, %a", 0x7F800000, 0);
  change("div.full.f32 %d, %a, %b", 0x7F800000, 0);
  change("tanh.approx.f16x2 %d, %a", 0x7C007C00, 16);
  change("rsqrt.approx.ftz.f64 %d, %a", 0x7FF0000000000000, 32);
  change(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%d, %r1, %r2, %r3}, {%a, %b, %b, %a}, "
      "{%a, %b}, {%c, %c, %c, %c}",
      0x7F800000, 0);
  write(text);
  Ended ended = record(kRecordedLibrary + " --compare " + file_);
  EXPECT_EQ(ended.code, 0) << ended.text;
  EXPECT_NE(ended.text.find("; 5 are equal within a tolerance only"), std::string::npos)
      << ended.text;
  change("ex2.approx.f32 %d, %a", 0x7F800000, 31);
  change("tanh.approx.f16x2 %d, %a", 0x7C007C00, 31);
  change("sqrt.rn.f32 %d, %a", 0x7F800000, 0);
  write(text);
  ended = record(kRecordedLibrary + " --compare " + file_);
  EXPECT_EQ(ended.code, 1);
  EXPECT_NE(ended.text.find("\n3 of "), std::string::npos) << ended.text;
}

/// Results of devices, if there are any: recorded/NAME.txt, written by the recorder.
TEST_F(Recorder, TheTwinComputesAsRecordedDevices) {
  const std::filesystem::path folder = std::string(TWIN_TEST_FOLDER) + "/recorded";
  if (!std::filesystem::exists(folder)) return;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() != ".txt") continue;
    std::ifstream in(file.path());
    std::string title;
    std::getline(in, title);
    EXPECT_NE(title.find(", driver "), std::string::npos) << file.path() << ": " << title;
    const Ended ended = record(kRecordedLibrary + " --compare " + file.path().string());
    EXPECT_EQ(ended.code, 0) << file.path() << ": " << title << "\n" << ended.text.substr(0, 2000);
  }
}

TEST_F(Recorder, RefusesFilesThatAreNotThere) {
  EXPECT_EQ(record("/nonexistent/libcuda.so.1").code, 2);
  EXPECT_EQ(record(kRecordedLibrary + " --compare /nonexistent/file").code, 1);
  EXPECT_EQ(record("").code, 2);
}

}  // namespace record_test
