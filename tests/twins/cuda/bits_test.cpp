// Operations on bits, against loops over bits as the PTX document writes them.
#include "operands.h"

namespace bits_test {
namespace {

using namespace twin_test;
using std::int16_t;
using std::int32_t;
using std::int64_t;
using std::uint16_t;
using std::uint32_t;
using std::uint64_t;

constexpr uint32_t kNone = 0xFFFFFFFFu;

template <class T>
unsigned width_of() {
  return sizeof(T) * 8;
}
template <class T>
bool bit(T value, unsigned index) {
  return (static_cast<uint64_t>(value) >> index & 1) != 0;
}
template <class T>
std::string bits_name() {
  return "b" + std::to_string(sizeof(T) * 8);
}
/// A value made bit by bit.
template <class T, class F>
T made(F f) {
  uint64_t result = 0;
  for (unsigned i = 0; i < sizeof(T) * 8; ++i) result |= uint64_t{f(i) ? 1u : 0u} << i;
  return static_cast<T>(result);
}

/// Counts around all widths, and large ones.
std::vector<uint32_t> counts() {
  std::vector<uint32_t> result;
  for (uint32_t i = 0; i < 68; ++i) result.push_back(i);
  for (const uint32_t x :
       {127u, 128u, 129u, 254u, 255u, 256u, 257u, 0x10000u, 0x80000000u, kNone}) {
    result.push_back(x);
  }
  return result;
}

TEST(CudaBits, Logic) {
  Gpu gpu;
  for_types<uint16_t, uint32_t, uint64_t>([](auto value) {
    using T = decltype(value);
    const auto [a, b] = pairs<T>();
    const std::string type = bits_name<T>();
    expect_lanes<T>(
        "and." + type + " %d, %a, %b",
        [](T x, T y) { return made<T>([&](unsigned i) { return bit(x, i) && bit(y, i); }); }, a, b);
    expect_lanes<T>(
        "or." + type + " %d, %a, %b",
        [](T x, T y) { return made<T>([&](unsigned i) { return bit(x, i) || bit(y, i); }); }, a, b);
    expect_lanes<T>(
        "xor." + type + " %d, %a, %b",
        [](T x, T y) { return made<T>([&](unsigned i) { return bit(x, i) != bit(y, i); }); }, a, b);
    expect_lanes<T>(
        "not." + type + " %d, %a",
        [](T x) { return made<T>([&](unsigned i) { return !bit(x, i); }); }, a);
    expect_lanes<T>(
        "cnot." + type + " %d, %a", [](T x) { return x == 0 ? 1 : 0; }, a);
  });
}

TEST(CudaBits, LiteralsOfSixteenBitsDoNotSpill) {
  Gpu gpu;
  expect_lanes<uint32_t>(
      "cvt.u16.u32 %h0, %a; or.b16 %h1, %h0, -2; not.b16 %h2, %h1;"
      "mov.b32 %d, {%h1, %h2}",
      [](uint32_t x) {
        const uint32_t low = (x | 0xFFFEu) & 0xFFFFu;
        return low | (0xFFFFu - low) << 16;
      },
      edges<uint32_t>());
}

TEST(CudaBits, LogicOfPredicates) {
  Gpu gpu;
  const std::vector<uint32_t> values = {0, 1, 2, 3};
  const std::string load =
      "and.b32 %r0, %a, 1; setp.ne.u32 %p0, %r0, 0; and.b32 %r0, %a, 2; setp.ne.u32 %p1, %r0, 0;";
  const auto expect = [&](const std::string& code, auto f) {
    expect_lanes<uint32_t>(
        load + code + " selp.u32 %d, 1, 0, %p2",
        [f](uint32_t x) { return f((x & 1) != 0, (x & 2) != 0) ? 1u : 0u; }, values);
  };
  expect("and.pred %p2, %p0, %p1;", [](bool x, bool y) { return x && y; });
  expect("or.pred %p2, %p0, %p1;", [](bool x, bool y) { return x || y; });
  expect("xor.pred %p2, %p0, %p1;", [](bool x, bool y) { return x != y; });
  expect("not.pred %p2, %p1;", [](bool, bool y) { return !y; });
  expect("mov.pred %p2, %p1;", [](bool, bool y) { return y; });
  expect("mov.pred %p2, 1; @%p0 and.pred %p2, %p2, %p1;", [](bool x, bool y) { return !x || y; });
}

TEST(CudaBits, ShiftsClampTheirCounts) {
  Gpu gpu;
  for_types<uint16_t, uint32_t, uint64_t>([](auto value) {
    using T = decltype(value);
    auto [a, n] = crossed(edges<T>(), counts());
    if constexpr (sizeof(T) == 2) {
      a = all16<T>();
      n = repeated(counts(), a.size());
    }
    const auto left = [](T x, uint32_t count) {
      return made<T>([&](unsigned i) { return i >= count && bit(x, i - count); });
    };
    const auto right = [](T x, uint32_t count) {
      return made<T>(
          [&](unsigned i) { return uint64_t{i} + count < width_of<T>() && bit(x, i + count); });
    };
    const auto arithmetic = [](T x, uint32_t count) {
      return made<T>([&](unsigned i) {
        const uint64_t from = uint64_t{i} + count;
        const unsigned last = width_of<T>() - 1;
        return bit(x, from < last ? static_cast<unsigned>(from) : last);
      });
    };
    const std::string width = std::to_string(sizeof(T) * 8);
    expect_lanes<T>("shl.b" + width + " %d, %a, %b", left, a, n);
    expect_lanes<T>("shr.b" + width + " %d, %a, %b", right, a, n);
    expect_lanes<T>("shr.u" + width + " %d, %a, %b", right, a, n);
    expect_lanes<T>("shr.s" + width + " %d, %a, %b", arithmetic, a, n);
  });
}

TEST(CudaBits, FunnelShifts) {
  Gpu gpu;
  const auto [a, b] = pairs<uint32_t>();
  for (uint32_t k = 0; k < 4; ++k) {
    const auto n = repeated(counts(), a.size(), k * 7);
    const auto joined = [](uint32_t x, uint32_t y, unsigned i) {
      return i < 32 ? bit(x, i) : bit(y, i - 32);
    };
    const auto left = [=](uint32_t x, uint32_t y, uint32_t count) {
      return made<uint32_t>([&](unsigned i) { return joined(x, y, i + 32 - count); });
    };
    const auto right = [=](uint32_t x, uint32_t y, uint32_t count) {
      return made<uint32_t>([&](unsigned i) { return joined(x, y, i + count); });
    };
    const auto clamped = [](auto f) {
      return
          [f](uint32_t x, uint32_t y, uint32_t count) { return f(x, y, count > 32 ? 32 : count); };
    };
    const auto wrapped = [](auto f) {
      return [f](uint32_t x, uint32_t y, uint32_t count) { return f(x, y, count % 32); };
    };
    expect_lanes<uint32_t>("shf.l.clamp.b32 %d, %a, %b, %c", clamped(left), a, b, n);
    expect_lanes<uint32_t>("shf.r.clamp.b32 %d, %a, %b, %c", clamped(right), a, b, n);
    expect_lanes<uint32_t>("shf.l.wrap.b32 %d, %a, %b, %c", wrapped(left), a, b, n);
    expect_lanes<uint32_t>("shf.r.wrap.b32 %d, %a, %b, %c", wrapped(right), a, b, n);
  }
}

template <class T>
T field(T a, uint32_t b, uint32_t c) {
  const uint32_t last = width_of<T>() - 1;
  const uint32_t position = b & 0xFF;
  const uint32_t length = c & 0xFF;
  bool sign = false;
  if (std::is_signed_v<T> && length != 0) {
    const uint32_t end = position + length - 1;
    sign = bit(a, end < last ? end : last);
  }
  return made<T>(
      [&](unsigned i) { return i < length && position + i <= last ? bit(a, position + i) : sign; });
}
template <class T>
T inserted(T a, T b, uint32_t c, uint32_t d) {
  const uint32_t position = c & 0xFF;
  const uint32_t length = d & 0xFF;
  return made<T>([&](unsigned i) {
    return i >= position && i < position + length ? bit(a, i - position) : bit(b, i);
  });
}

TEST(CudaBits, Fields) {
  Gpu gpu;
  const auto [position, length] = crossed(counts(), counts());
  for_types<uint32_t, int32_t, uint64_t, int64_t>([&](auto value) {
    using T = decltype(value);
    const auto a = repeated(edges<T>(), position.size());
    expect_lanes<T>("bfe." + type_name<T>() + " %d, %a, %b, %c", field<T>, a, position, length);
  });
  for_types<uint32_t, uint64_t>([&](auto value) {
    using T = decltype(value);
    const auto a = repeated(edges<T>(), position.size());
    const auto b = repeated(edges<T>(), position.size(), 5);
    expect_lanes<T>("bfi." + bits_name<T>() + " %d, %a, %b, %c, %e", inserted<T>, a, b, position,
                    length);
  });
}

template <class T>
std::vector<T> single_bits() {
  std::vector<T> values = edges<T>();
  for (unsigned i = 0; i < sizeof(T) * 8; ++i) {
    values.push_back(static_cast<T>(uint64_t{1} << i));
    values.push_back(static_cast<T>(~(uint64_t{1} << i)));
    values.push_back(static_cast<T>(~uint64_t{0} << i));
  }
  return values;
}

template <class T>
uint32_t found(T a) {
  const int last = static_cast<int>(sizeof(T) * 8) - 1;
  const bool negative = std::is_signed_v<T> && bit(a, static_cast<unsigned>(last));
  for (int i = last; i >= 0; --i) {
    if (bit(a, static_cast<unsigned>(i)) != negative) return static_cast<uint32_t>(i);
  }
  return kNone;
}

TEST(CudaBits, HighestBit) {
  Gpu gpu;
  for_types<uint32_t, int32_t, uint64_t, int64_t>([](auto value) {
    using T = decltype(value);
    const auto a = single_bits<T>();
    expect_lanes<uint32_t>("bfind." + type_name<T>() + " %d, %a", found<T>, a);
    expect_lanes<uint32_t>(
        "bfind.shiftamt." + type_name<T>() + " %d, %a",
        [](T x) {
          const uint32_t at = found(x);
          return at == kNone ? at : static_cast<uint32_t>(sizeof(T) * 8) - 1 - at;
        },
        a);
  });
}

TEST(CudaBits, CountsAndReversal) {
  Gpu gpu;
  for_types<uint32_t, uint64_t>([](auto value) {
    using T = decltype(value);
    const auto a = single_bits<T>();
    const std::string type = bits_name<T>();
    expect_lanes<uint32_t>(
        "popc." + type + " %d, %a",
        [](T x) {
          uint32_t count = 0;
          for (; x != 0; x &= x - 1) ++count;
          return count;
        },
        a);
    expect_lanes<uint32_t>(
        "clz." + type + " %d, %a",
        [](T x) {
          uint32_t count = 0;
          while (count < width_of<T>() && !bit(x, width_of<T>() - 1 - count)) {
            ++count;
          }
          return count;
        },
        a);
    expect_lanes<T>(
        "brev." + type + " %d, %a",
        [](T x) { return made<T>([&](unsigned i) { return bit(x, width_of<T>() - 1 - i); }); }, a);
  });
}

TEST(CudaBits, NthSetBit) {
  Gpu gpu;
  std::vector<int32_t> offsets = {std::numeric_limits<int32_t>::min(),
                                  std::numeric_limits<int32_t>::max()};
  for (int32_t i = -34; i < 35; ++i) offsets.push_back(i);
  std::vector<uint32_t> bases;
  for (uint32_t i = 0; i < 32; ++i) bases.push_back(i);
  const auto [base, offset] = crossed(bases, offsets);
  const auto mask = repeated(single_bits<uint32_t>(), base.size());
  expect_lanes<uint32_t>(
      "fns.b32 %d, %a, %b, %c",
      [](uint32_t m, uint32_t from, int32_t n) {
        if (n == 0) return bit(m, from) ? from : kNone;
        Big count = n < 0 ? -Big{n} : Big{n};
        const int step = n < 0 ? -1 : 1;
        for (int at = static_cast<int>(from); at >= 0 && at < 32; at += step) {
          if (bit(m, static_cast<unsigned>(at)) && --count == 0) {
            return static_cast<uint32_t>(at);
          }
        }
        return kNone;
      },
      mask, base, offset);
  // A base outside the mask finds nothing.
  const auto [outside, few] =
      crossed(std::vector<uint32_t>{32, 33, 0x80000000u, kNone}, std::vector<int32_t>{-1, 0, 1});
  expect_lanes<uint32_t>(
      "fns.b32 %d, 0xFFFFFFFF, %a, %b", [](uint32_t, int32_t) { return kNone; }, outside, few);
}

/// Bytes of b and a as the document numbers them: 0 to 3 in a, 4 to 7 in b.
uint32_t byte_of(uint32_t a, uint32_t b, uint32_t index) {
  return (index < 4 ? a >> (8 * index) : b >> (8 * (index - 4))) & 0xFFu;
}
/// A result from the indexes of its bytes, lowest first.
uint32_t bytes_of(uint32_t a, uint32_t b, uint32_t b0, uint32_t b1, uint32_t b2, uint32_t b3) {
  return byte_of(a, b, b0) | byte_of(a, b, b1) << 8 | byte_of(a, b, b2) << 16 |
         byte_of(a, b, b3) << 24;
}

TEST(CudaBits, BytesInAnyOrder) {
  Gpu gpu;
  const auto selectors = all16<uint16_t>();
  std::vector<uint32_t> c(selectors.begin(), selectors.end());
  for (uint32_t& x : c) x |= x << 20;  // bits above 15 do not count
  const auto a = repeated(edges<uint32_t>(), c.size());
  const auto b = repeated(edges<uint32_t>(), c.size(), 9);
  expect_lanes<uint32_t>(
      "prmt.b32 %d, %a, %b, %c",
      [](uint32_t x, uint32_t y, uint32_t selector) {
        uint32_t result = 0;
        for (unsigned k = 0; k < 4; ++k) {
          const uint32_t nibble = selector >> (4 * k) & 15;
          uint32_t byte = byte_of(x, y, nibble & 7);
          if (nibble >= 8) byte = byte >= 128 ? 255 : 0;
          result |= byte << (8 * k);
        }
        return result;
      },
      a, b, c);
}

TEST(CudaBits, ModesOfPrmt) {
  Gpu gpu;
  const auto [a, b] = pairs<uint32_t>();
  const auto c = repeated(std::vector<uint32_t>{0, 1, 2, 3, 4, 0xFFFFFFFDu}, a.size());
  const auto expect = [&](const std::string& mode, auto f) {
    expect_lanes<uint32_t>(
        "prmt.b32." + mode + " %d, %a, %b, %c",
        [f](uint32_t x, uint32_t y, uint32_t z) { return f(x, y, z % 4); }, a, b, c);
  };
  expect("f4e",
         [](uint32_t x, uint32_t y, uint32_t s) { return bytes_of(x, y, s, s + 1, s + 2, s + 3); });
  expect("b4e", [](uint32_t x, uint32_t y, uint32_t s) {
    return bytes_of(x, y, s, (s + 7) % 8, (s + 6) % 8, (s + 5) % 8);
  });
  expect("rc8", [](uint32_t x, uint32_t y, uint32_t s) { return bytes_of(x, y, s, s, s, s); });
  expect("ecl", [](uint32_t x, uint32_t y, uint32_t s) {
    const auto at = [s](uint32_t k) { return k < s ? s : k; };
    return bytes_of(x, y, at(0), at(1), at(2), at(3));
  });
  expect("ecr", [](uint32_t x, uint32_t y, uint32_t s) {
    const auto at = [s](uint32_t k) { return k > s ? s : k; };
    return bytes_of(x, y, at(0), at(1), at(2), at(3));
  });
  expect("rc16", [](uint32_t x, uint32_t y, uint32_t s) {
    const uint32_t from = s % 2 * 2;
    return bytes_of(x, y, from, from + 1, from, from + 1);
  });
}

TEST(CudaBits, EveryTruthTableOfLop3) {
  Gpu gpu;
  const std::vector<uint32_t> a = {0xF0F0F0F0u, 0x12345678u, kNone};
  const std::vector<uint32_t> b = {0xCCCCCCCCu, 0x9ABCDEF0u, 0};
  const std::vector<uint32_t> c = {0xAAAAAAAAu, 0x0F1E2D3Cu, 0x80000001u};
  for (unsigned table = 0; table < 256; ++table) {
    expect_lanes<uint32_t>(
        "lop3.b32 %d, %a, %b, %c, " + std::to_string(table),
        [table](uint32_t x, uint32_t y, uint32_t z) {
          return made<uint32_t>([&](unsigned i) {
            const unsigned row =
                (bit(x, i) ? 4u : 0u) | (bit(y, i) ? 2u : 0u) | (bit(z, i) ? 1u : 0u);
            return (table >> row & 1) != 0;
          });
        },
        a, b, c);
  }
}

TEST(CudaBits, Lop3WithAPredicate) {
  Gpu gpu;
  const std::vector<uint32_t> a = {0, 0, 5, 5};
  const std::vector<uint32_t> q = {0, 1, 0, 1};
  const std::string load = "setp.ne.u32 %p0, %b, 0; ";
  const std::string store = "; selp.u32 %r1, 16, 0, %p1; or.b32 %d, %r0, %r1";
  expect_lanes<uint32_t>(
      load + "lop3.and.b32 %r0|%p1, %a, %a, %a, 0x80, %p0" + store,
      [](uint32_t x, uint32_t y) { return x | (x != 0 && y != 0 ? 16 : 0); }, a, q);
  expect_lanes<uint32_t>(
      load + "lop3.or.b32 %r0|%p1, %a, %a, %a, 0x80, %p0" + store,
      [](uint32_t x, uint32_t y) { return x | (x != 0 || y != 0 ? 16 : 0); }, a, q);
  expect_lanes<uint32_t>(
      load + "mov.u32 %r0, 1; lop3.or.b32 _|%p1, %a, %a, %a, 0x80, !%p0" + store,
      [](uint32_t x, uint32_t y) { return 1 | (x != 0 || y == 0 ? 16 : 0); }, a, q);
}

uint32_t extended(uint32_t a, uint32_t b, bool clamp, bool is_signed) {
  const uint32_t width = b & 31;
  const bool too_large = clamp && b >= 32;
  const uint32_t mask = too_large ? 0 : kNone << width;
  const bool sign = is_signed && width != 0 && !too_large && bit(a, (width - 1) & 31);
  return (a & ~mask) | (sign ? mask : 0);
}
uint32_t mask_of(uint32_t a, uint32_t b, bool clamp) {
  return made<uint32_t>([&](unsigned i) {
    const uint64_t first = clamp ? a : a & 31;
    const uint64_t count = clamp ? b : b & 31;
    return i >= first && i < first + count;
  });
}

TEST(CudaBits, ExtensionsAndMasks) {
  Gpu gpu;
  const auto [a, n] = crossed(edges<uint32_t>(), counts());
  for (const bool clamp : {true, false}) {
    const std::string mode = clamp ? ".clamp" : ".wrap";
    for (const bool is_signed : {true, false}) {
      expect_lanes<uint32_t>(
          "szext" + mode + (is_signed ? ".s32" : ".u32") + " %d, %a, %b",
          [=](uint32_t x, uint32_t y) { return extended(x, y, clamp, is_signed); }, a, n);
    }
    const auto [first, count] = crossed(counts(), counts());
    expect_lanes<uint32_t>(
        "bmsk" + mode + ".b32 %d, %a, %b",
        [=](uint32_t x, uint32_t y) { return mask_of(x, y, clamp); }, first, count);
  }
}

TEST(CudaBits, WrongFormsAreRefused) {
  Gpu gpu;
  expect_refused({"and.u32 %d, %a, %b",
                  "and.b8 %h0, %h1, %h2",
                  "and.b32 %d, %l0, %b",
                  "and.pred %p0, %a, %p1",
                  "not.s32 %d, %a",
                  "not.pred %p0, %p1, %p2",
                  "cnot.pred %p0, %p1",
                  "shl.s32 %d, %a, %b",
                  "shl.b32 %d, %a, %l0",
                  "shl.b64 %l0, %l1, %l2",
                  "shr.b32 %d, %a, %h0",
                  "shf.l.b32 %d, %a, %b, %c",
                  "shf.clamp.b32 %d, %a, %b, %c",
                  "shf.l.wrap.b64 %l0, %l1, %l2, %a",
                  "bfe.b32 %d, %a, %b, %c",
                  "bfe.u16 %h0, %h1, %b, %c",
                  "bfe.u64 %l0, %l1, %l2, %c",
                  "bfi.u32 %d, %a, %b, %c, %e",
                  "bfi.b32 %d, %a, %b, %c",
                  "bfind.b32 %d, %a",
                  "bfind.u64 %l0, %l1",
                  "brev.u32 %d, %a",
                  "clz.b64 %l0, %l1",
                  "clz.b16 %h0, %h1",
                  "popc.u32 %d, %a",
                  "fns.u32 %d, %a, %b, %c",
                  "prmt.b64 %l0, %l1, %l2, %a",
                  "prmt.b32.foo %d, %a, %b, %c",
                  "lop3.b32 %d, %a, %b, %c",
                  "lop3.b32 %d, %a, %b, %c, 256",
                  "lop3.b32 %d, %a, %b, %c, -1",
                  "lop3.b32 %d, %a, %b, %c, %e",
                  "lop3.b64 %l0, %l1, %l2, %l3, 1",
                  "lop3.xor.b32 %d|%p0, %a, %b, %c, 1, %p1",
                  "lop3.and.b32 %d, %a, %b, %c, 1, %p1",
                  "szext.s32 %d, %a, %b",
                  "szext.clamp.b32 %d, %a, %b",
                  "bmsk.b32 %d, %a, %b",
                  "bmsk.clamp.u32 %d, %a, %b"});
}

TEST(CudaBits, FormsNeedVersions) {
  Gpu gpu;
  expect_needs("4.2", "sm_50", {"lop3.b32 %d, %a, %b, %c, 0x80"});
  expect_needs("8.1", "sm_70", {"lop3.and.b32 %d|%p0, %a, %b, %c, 0x80, %p1"});
  expect_needs("7.5", "sm_70", {"szext.wrap.s32 %d, %a, %b", "bmsk.clamp.b32 %d, %a, %b"});
  expect_needs("7.6", "sm_61", {"szext.wrap.s32 %d, %a, %b", "bmsk.clamp.b32 %d, %a, %b"});
  expect_needs("5.0", "sm_61", {"fns.b32 %d, %a, %b, %c"});
}

}  // namespace
}  // namespace bits_test
