// Chains of the carry flag, against addition and multiplication digit by digit.
#include "operands.h"

namespace carry_test {
namespace {

using namespace twin_test;
using std::int32_t;
using std::uint32_t;
using std::uint64_t;

/// A number of four words, lowest first.
template <class Word>
using Words = std::array<Word, 4>;

/// a + b or a - b, a bit at a time.
template <class Word>
Words<Word> by_bits(const Words<Word>& a, const Words<Word>& b, bool subtract) {
  Words<Word> result{};
  int carry = 0;
  for (unsigned bit = 0; bit < sizeof(Word) * 8 * 4; ++bit) {
    const unsigned word = bit / (sizeof(Word) * 8);
    const unsigned at = bit % (sizeof(Word) * 8);
    const int x = static_cast<int>(a[word] >> at & 1);
    const int y = static_cast<int>(b[word] >> at & 1);
    const int total = subtract ? x - y - carry : x + y + carry;
    carry = subtract ? (total < 0 ? 1 : 0) : total / 2;
    if ((total & 1) != 0) result[word] |= Word{1} << at;
  }
  return result;
}

/// Numbers whose carries run through all words, and others.
template <class Word>
std::vector<Words<Word>> numbers_of(std::uint64_t seed) {
  RandomNumbers numbers(seed);
  std::vector<Words<Word>> result;
  for (int i = 0; i < 256; ++i) {
    Words<Word> words{};
    for (Word& word : words) {
      const std::uint64_t kind = numbers.next() % 4;
      word = kind == 0 ? Word{0} : kind == 1 ? ~Word{0} : static_cast<Word>(numbers.next());
      if (kind == 2) word &= 1;
    }
    result.push_back(words);
  }
  return result;
}

template <class Word>
void expect_chain(bool subtract, const std::string& type) {
  const auto a = numbers_of<Word>(3);
  const auto b = numbers_of<Word>(subtract ? 5 : 4);
  std::array<std::vector<Word>, 8> columns;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (unsigned k = 0; k < 4; ++k) {
      columns[k].push_back(a[i][k]);
      columns[k + 4].push_back(b[i][k]);
    }
  }
  const std::string name = subtract ? "sub" : "add";
  const std::string r = sizeof(Word) == 8 ? "%l" : "%r";
  const std::string code = name + ".cc." + type + " " + r + "0, %a, %f; " + name + "c.cc." + type +
                           " " + r + "1, %b, %g; " + name + "c.cc." + type + " " + r +
                           "2, %c, %h; " + name + "c." + type + " " + r + "3, %e, %i; mov.b" +
                           std::to_string(sizeof(Word) * 8) + " %d, " + r;
  for (unsigned k = 0; k < 4; ++k) {
    const auto got = lanes<Word>(code + std::to_string(k), columns[0], columns[1], columns[2],
                                 columns[3], columns[4], columns[5], columns[6], columns[7]);
    for (std::size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(got[i], by_bits(a[i], b[i], subtract)[k])
          << name << "." << type << " word " << k << " of lane " << i;
    }
  }
}

TEST(CudaCarry, SumsOfFourWords) {
  Gpu gpu;
  expect_chain<uint32_t>(false, "u32");
  expect_chain<uint32_t>(false, "s32");
  expect_chain<uint64_t>(false, "u64");
  expect_chain<uint64_t>(false, "s64");
}

TEST(CudaCarry, DifferencesOfFourWords) {
  Gpu gpu;
  expect_chain<uint32_t>(true, "u32");
  expect_chain<uint32_t>(true, "s32");
  expect_chain<uint64_t>(true, "u64");
  expect_chain<uint64_t>(true, "s64");
}

/// The example of the PTX document: a product of two numbers of two words has four.
TEST(CudaCarry, ProductOfTwoWordsByTwo) {
  Gpu gpu;
  const auto [x, y] = pairs<uint64_t>();
  const std::string product =
      "mov.b64 {%r4, %r5}, %a; mov.b64 {%r6, %r7}, %b;"
      "mul.lo.u32 %r0, %r4, %r6; mul.hi.u32 %r1, %r4, %r6;"
      "mad.lo.cc.u32 %r1, %r5, %r6, %r1; madc.hi.u32 %r2, %r5, %r6, 0;"
      "mad.lo.cc.u32 %r1, %r4, %r7, %r1; madc.hi.cc.u32 %r2, %r4, %r7, %r2; addc.u32 %r3, 0, 0;"
      "mad.lo.cc.u32 %r2, %r5, %r7, %r2; madc.hi.u32 %r3, %r5, %r7, %r3;";
  const auto upper = [](uint64_t a, uint64_t b) {
    return static_cast<uint64_t>((UnsignedBig{a} * b) >> 64);
  };
  expect_lanes<uint64_t>(
      product + "mov.b64 %d, {%r0, %r1}", [](uint64_t a, uint64_t b) { return a * b; }, x, y);
  expect_lanes<uint64_t>(product + "mov.b64 %d, {%r2, %r3}", upper, x, y);
}

/// (a * b).[127:64] + c, and the carry of that, for signed and unsigned products.
TEST(CudaCarry, MadOf64Bits) {
  Gpu gpu;
  const auto [x, y] = pairs<uint64_t>();
  const auto z = repeated(edges<uint64_t>(), x.size(), 3);
  const auto carry = [](UnsignedBig sum) { return static_cast<uint64_t>(sum >> 64); };
  const auto low = [](uint64_t a, uint64_t b) { return static_cast<uint64_t>(UnsignedBig{a} * b); };
  const auto high = [](uint64_t a, uint64_t b) {
    return static_cast<uint64_t>((UnsignedBig{a} * b) >> 64);
  };
  const auto signed_high = [](uint64_t a, uint64_t b) {
    const Big product = Big{static_cast<std::int64_t>(a)} * static_cast<std::int64_t>(b);
    return static_cast<uint64_t>(product >> 64);
  };
  const auto expect = [&](const std::string& form, auto part) {
    const std::string code = "mad." + form + " %l0, %a, %b, %c; addc.u64 %l1, 0, 0; mov.b64 %d, ";
    expect_lanes<uint64_t>(
        code + "%l0", [=](uint64_t a, uint64_t b, uint64_t c) { return part(a, b) + c; }, x, y, z);
    expect_lanes<uint64_t>(
        code + "%l1",
        [=](uint64_t a, uint64_t b, uint64_t c) { return carry(UnsignedBig{part(a, b)} + c); }, x,
        y, z);
  };
  expect("lo.cc.u64", low);
  expect("lo.cc.s64", low);
  expect("hi.cc.u64", high);
  expect("hi.cc.s64", signed_high);
}

/// The carry of (a * b).[63:32] + c and of (a * b).[31:0] + c, above the sum.
TEST(CudaCarry, MadOf32Bits) {
  Gpu gpu;
  const auto [x, y] = pairs<uint32_t>();
  const auto z = repeated(edges<uint32_t>(), x.size(), 3);
  for (const bool is_signed : {false, true}) {
    for (const bool high : {false, true}) {
      expect_lanes<uint64_t>(
          std::string("mad.") + (high ? "hi" : "lo") + ".cc." + (is_signed ? "s32" : "u32") +
              " %r0, %a, %b, %c; addc.u32 %r1, 0, 0; mov.b64 %d, {%r0, %r1}",
          [=](uint32_t a, uint32_t b, uint32_t c) {
            const Big product = is_signed
                                    ? Big{static_cast<int32_t>(a)} * Big{static_cast<int32_t>(b)}
                                    : Big{a} * Big{b};
            return uint64_t{static_cast<uint32_t>(product >> (high ? 32 : 0))} + c;
          },
          x, y, z);
    }
  }
}

/// madc adds the carry of the sum before it, and its own carry goes on.
template <class Word, class Signed>
void expect_carry_into_products(const std::string& type) {
  const auto [x, y] = pairs<Word>();
  const auto z = repeated(edges<Word>(), x.size(), 3);
  constexpr unsigned kBits = sizeof(Word) * 8;
  for (const bool high : {false, true}) {
    const auto sum = [high](Word a, Word b, Word c) {
      const UnsignedBig product = static_cast<UnsignedBig>(Big{static_cast<Signed>(a)}) *
                                  static_cast<UnsignedBig>(Big{static_cast<Signed>(b)});
      const Word part = static_cast<Word>(high ? product >> kBits : product);
      const unsigned carry = a > static_cast<Word>(~c) ? 1 : 0;  // of a + c
      return UnsignedBig{part} + b + carry;
    };
    const std::string r = kBits == 64 ? "%l" : "%r";
    const std::string set = "add.cc." + type + " " + r + "0, %a, %c; madc." + (high ? "hi" : "lo");
    const std::string product = "." + type + " " + r + "1, %a, %b, %b; ";
    const std::string code = set + ".cc" + product + "addc." + type + " " + r + "2, 0, 0; mov.b" +
                             std::to_string(kBits) + " %d, " + r;
    const auto low = [&](Word a, Word b, Word c) { return static_cast<Word>(sum(a, b, c)); };
    expect_lanes<Word>(code + "1", low, x, y, z);
    expect_lanes<Word>(
        code + "2",
        [&](Word a, Word b, Word c) { return static_cast<Word>(sum(a, b, c) >> kBits); }, x, y, z);
    expect_lanes<Word>(set + product + "mov.b" + std::to_string(kBits) + " %d, " + r + "1", low, x,
                       y, z);
  }
}

TEST(CudaCarry, ProductsTakeAndSetTheCarry) {
  Gpu gpu;
  expect_carry_into_products<uint32_t, uint32_t>("u32");
  expect_carry_into_products<uint32_t, int32_t>("s32");
  expect_carry_into_products<uint64_t, uint64_t>("u64");
  expect_carry_into_products<uint64_t, std::int64_t>("s64");
}

/// Devices compute a - b as a + ~b + 1 and keep that sum's carry, which shows where a difference
/// and a sum are mixed. These values come from a device.
TEST(CudaCarry, AllInstructionsSetOneFlag) {
  Gpu gpu;
  const auto value = [](const std::string& code) { return lanes<uint32_t>(code)[0]; };
  const auto added = [&](const std::string& code) { return value(code + " addc.u32 %d, 0, 0;"); };
  const auto subtracted = [&](const std::string& code) {
    return value(code + " subc.u32 %d, 0, 0;");
  };
  EXPECT_EQ(added("sub.cc.u32 %r0, 0, 0;"), 1u);
  EXPECT_EQ(added("sub.cc.u32 %r0, 0, 1;"), 0u);
  EXPECT_EQ(added("add.cc.u32 %r0, 0, 0;"), 0u);
  EXPECT_EQ(added("add.cc.u32 %r0, 4294967295, 4294967295;"), 1u);
  EXPECT_EQ(added("mad.lo.cc.u32 %r0, 0, 0, 0;"), 0u);
  EXPECT_EQ(added("mad.lo.cc.u32 %r0, 1, 4294967295, 4294967295;"), 1u);
  EXPECT_EQ(subtracted("sub.cc.u32 %r0, 0, 0;"), 0u);
  EXPECT_EQ(subtracted("sub.cc.u32 %r0, 0, 1;"), 0xFFFFFFFFu);
  EXPECT_EQ(subtracted("add.cc.u32 %r0, 0, 0;"), 0xFFFFFFFFu);
  EXPECT_EQ(subtracted("add.cc.u32 %r0, 4294967295, 4294967295;"), 0u);
  EXPECT_EQ(subtracted("mad.lo.cc.u32 %r0, 0, 0, 0;"), 0xFFFFFFFFu);
  EXPECT_EQ(subtracted("mad.lo.cc.u32 %r0, 1, 4294967295, 4294967295;"), 0u);
  EXPECT_EQ(added("add.cc.u32 %r0, 0, 0; subc.cc.u32 %r0, 0, 0;"), 0u);
  EXPECT_EQ(added("add.cc.u32 %r0, 0, 0; subc.cc.u32 %r0, 0, 1;"), 0u);
}

TEST(CudaCarry, FlagStaysUntilTheNextCc) {
  Gpu gpu;
  const auto values = edges<uint32_t>();
  // Neither a plain sum nor addc without .cc changes it.
  expect_lanes<uint32_t>(
      "add.cc.u32 %r0, %a, 1; add.u32 %r1, %a, %a; addc.u32 %r2, 0xFFFFFFFF, 0xFFFFFFFF;"
      "addc.u32 %d, 0, 0",
      [](uint32_t x) { return x == 0xFFFFFFFFu ? 1u : 0u; }, values);
}

TEST(CudaCarry, FlagIsOfTheLane) {
  Gpu gpu;
  const auto values = edges<uint32_t>();
  // Lanes that skip the second addition keep the flag of the first.
  expect_lanes<uint32_t>(
      "add.cc.u32 %r0, %a, 1; setp.eq.u32 %p0, %a, 7; @%p0 add.cc.u32 %r0, 0xFFFFFFFF, %a;"
      "addc.u32 %d, 0, 0",
      [](uint32_t x) { return x == 0xFFFFFFFFu || x == 7 ? 1u : 0u; }, values);
}

TEST(CudaCarry, FlagSurvivesALoop) {
  Gpu gpu;
  const auto values = edges<uint32_t>();
  expect_lanes<uint32_t>(
      "mov.u32 %r1, 3; mov.u32 %r0, 0; sub.cc.u32 %r2, %a, 100;\n"
      "more: addc.u32 %r0, %r0, 0; sub.u32 %r1, %r1, 1; setp.ne.u32 %p0, %r1, 0; @%p0 bra more;\n"
      "mov.u32 %d, %r0",
      [](uint32_t x) { return x >= 100 ? 3u : 0u; }, values);
}

TEST(CudaCarry, WrongFormsAreRefused) {
  Gpu gpu;
  expect_refused({"add.cc.u16 %h0, %h1, %h2", "add.cc.sat.s32 %d, %a, %b",
                  "addc.sat.s32 %d, %a, %b", "addc.u16 %h0, %h1, %h2", "add.cc.b32 %d, %a, %b",
                  "subc.f32 %f0, %f1, %f2", "mad.cc.lo.u32 %d, %a, %b, %c",
                  "mad.wide.cc.u32 %l0, %a, %b, %l1", "madc.u32 %d, %a, %b, %c",
                  "madc.lo.u32 %d, %a, %b", "mad.cc.lo.u32 %d, %a, %b, %c",
                  "addc.cc.u32 %l0, %a, %b"});
}

TEST(CudaCarry, FormsNeedVersions) {
  Gpu gpu;
  expect_needs("4.2", "sm_30", {"add.cc.u64 %l0, %l1, %l2", "madc.hi.s64 %l0, %l1, %l2, %l3"});
}

}  // namespace
}  // namespace carry_test
