// mov, selections and addresses of state spaces.
#include <bit>

#include "operands.h"

namespace moves_test {
namespace {

using namespace twin_test;
using std::int32_t;
using std::uint16_t;
using std::uint32_t;
using std::uint64_t;
using std::uint8_t;

/// Index, sizes and position of the thread as vectors; the fourth component is 0.
TEST(CudaMoves, VectorsOfSpecialRegisters) {
  Gpu gpu;
  const std::string text = module(
      ".visible .entry k(.param .u64 out) {\n  .reg .b64 %a;\n  .reg .b32 %r<20>;\n"
      "  .reg .pred %p, %q;\n  ld.param.u64 %a, [out];\n"
      "  mov.v4.u32 {%r0, %r1, %r2, %r3}, %tid;\n  mov.v4.b32 {%r4, %r5, %r6, %r7}, %ntid;\n"
      "  mov.v4.s32 {%r8, %r9, %r10, _}, %ctaid;\n"
      "  mov.v4.u32 {%r12, %r13, %r14, %r15}, %nctaid;\n"
      "  mad.lo.u32 %r16, %r2, 3, %r1;\n  mad.lo.u32 %r16, %r16, 2, %r0;\n"
      "  setp.eq.u32 %p, %r16, 17;\n  mad.lo.u32 %r17, %r10, 4, %r9;\n"
      "  setp.eq.and.u32 %p, %r17, 7, %p;\n  @!%p ret;\n"
      "  st.global.v4.u32 [%a], {%r0, %r1, %r2, %r3};\n"
      "  st.global.v4.u32 [%a+16], {%r4, %r5, %r6, %r7};\n"
      "  st.global.v4.u32 [%a+32], {%r8, %r9, %r10, %r3};\n"
      "  st.global.v4.u32 [%a+48], {%r12, %r13, %r14, %r15};\n  ret;\n}\n");
  const Buffer<uint32_t> out(16, 9);
  CUdeviceptr at = out.address;
  ASSERT_EQ(launch(text, "k", Dim(1, 4, 2), Dim(2, 3, 3), {&at}), CUDA_SUCCESS)
      << cuda_twin_last_message();
  EXPECT_EQ(out.read(), (std::vector<uint32_t>{1, 2, 2, 0, 2, 3, 3, 0, 0, 3, 1, 0, 1, 4, 2, 0}));
  expect_refused({"mov.v2.u32 {%r0, %r1}, %tid", "mov.v4.u32 {%r0, %r1, %r2, %r3}, %laneid",
                  "mov.v4.u32 {%r0, %r1, %r2, %r3}, %tid.x"});
}

TEST(CudaMoves, RegistersOfAllTypes) {
  Gpu gpu;
  for (const char* type : {"b16", "u16", "s16"}) {
    expect_lanes<uint16_t>(
        std::string("mov.") + type + " %d, %a", [](uint16_t x) { return x; }, all16<uint16_t>());
  }
  for (const char* type : {"b32", "u32", "s32", "f32"}) {
    expect_lanes<uint32_t>(
        std::string("mov.") + type + " %d, %a", [](uint32_t x) { return x; }, edges<uint32_t>());
  }
  for (const char* type : {"b64", "u64", "s64", "f64"}) {
    expect_lanes<uint64_t>(
        std::string("mov.") + type + " %d, %a", [](uint64_t x) { return x; }, edges<uint64_t>());
  }
}

TEST(CudaMoves, ConstantsHaveTheBitsOfTheirType) {
  Gpu gpu;
  EXPECT_EQ(lanes<uint32_t>("mov.s32 %d, -2")[31], 0xFFFFFFFEu);
  EXPECT_EQ(lanes<uint32_t>("mov.f32 %d, 0f40490FDB")[0], 0x40490FDBu);
  EXPECT_EQ(lanes<uint32_t>("mov.f32 %f0, 1.5; mov.b32 %d, %f0")[0], 0x3FC00000u);
  EXPECT_EQ(lanes<uint64_t>("mov.f64 %d, 0d400921FB54442D18")[0], 0x400921FB54442D18u);
  EXPECT_EQ(lanes<uint64_t>("mov.u64 %d, 0xFEDCBA9876543210")[5], 0xFEDCBA9876543210u);
  EXPECT_EQ(lanes<uint16_t>("mov.u16 %d, -1")[5], 0xFFFFu);
  EXPECT_EQ(lanes<uint32_t>("mov.u16 %h0, -1; mov.b32 %d, {%h0, 0}")[5], 0xFFFFu);
}

TEST(CudaMoves, PackingPutsTheFirstItemLowest) {
  Gpu gpu;
  const auto [a, b] = crossed(edges<uint16_t>(), edges<uint16_t>());
  expect_lanes<uint32_t>(
      "mov.b32 %d, {%a, %b}", [](uint32_t x, uint32_t y) { return x + y * 65536; }, a, b);
  const auto [c, e] = crossed(edges<uint32_t>(), edges<uint32_t>());
  expect_lanes<uint64_t>(
      "mov.b64 %d, {%a, %b}", [](UnsignedBig x, UnsignedBig y) { return x + (y << 32); }, c, e);
  const auto f = repeated(edges<uint16_t>(), a.size(), 3);
  const auto g = repeated(edges<uint16_t>(), a.size(), 8);
  expect_lanes<uint64_t>(
      "mov.b64 %d, {%a, %b, %c, %e}",
      [](uint64_t x, uint64_t y, uint64_t z, uint64_t w) {
        return ((w * 65536 + z) * 65536 + y) * 65536 + x;
      },
      a, b, f, g);
}

TEST(CudaMoves, UnpackingGivesTheLowestItemFirst) {
  Gpu gpu;
  const auto words = edges<uint32_t>();
  expect_lanes<uint16_t>(
      "mov.b32 {%d, %h0}, %a", [](uint32_t x) { return x % 65536; }, words);
  expect_lanes<uint16_t>(
      "mov.b32 {%h0, %d}, %a", [](uint32_t x) { return x / 65536; }, words);
  expect_lanes<uint16_t>(
      "mov.b32 {_, %d}, %a", [](uint32_t x) { return x / 65536; }, words);
  const auto doubles = edges<uint64_t>();
  expect_lanes<uint32_t>(
      "mov.b64 {%d, _}, %a", [](uint64_t x) { return x % (1ull << 32); }, doubles);
  expect_lanes<uint32_t>(
      "mov.b64 {%r0, %d}, %a", [](uint64_t x) { return x >> 32; }, doubles);
  for (int k = 0; k < 4; ++k) {
    const std::string items = std::string(k == 0 ? "%d" : "%h0") + (k == 1 ? ", %d" : ", %h1") +
                              (k == 2 ? ", %d" : ", _") + (k == 3 ? ", %d" : ", %h3");
    expect_lanes<uint16_t>(
        "mov.b64 {" + items + "}, %a", [k](uint64_t x) { return x >> (16 * k) & 0xFFFF; }, doubles);
  }
}

TEST(CudaMoves, BytesInRegisters) {
  Gpu gpu;
  const std::string declare = ".reg .b8 %y<4>; ";
  expect_lanes<uint32_t>(
      "{ " + declare +
          "mov.b32 {%y0, %y1, %y2, %y3}, %a; "
          "mov.b32 %d, {%y3, %y2, %y1, %y0}; }",
      [](uint32_t x) { return __builtin_bswap32(x); }, edges<uint32_t>());
  expect_lanes<uint16_t>(
      "{ " + declare + "mov.b16 {%y0, %y1}, %a; mov.b16 %d, {%y1, %y0}; }",
      [](uint16_t x) { return x % 256 * 256 + x / 256; }, all16<uint16_t>());
}

TEST(CudaMoves, RegistersOf128Bits) {
  Gpu gpu;
  const auto [a, b] = crossed(edges<uint64_t>(), edges<uint64_t>());
  const std::string code =
      "{ .reg .b128 %q<2>; .reg .pred %o; mov.b128 %q0, {%a, %b}; mov.b128 %q1, %q0; "
      "setp.eq.u64 %o, %a, 7; mov.b128 %q0, {%b, %a}; @%o mov.b128 %q1, %q0; mov.b128 {%l0, %l1}, "
      "%q1; "
      "mov.b64 %d, ";
  expect_lanes<uint64_t>(
      code + "%l0; }", [](uint64_t x, uint64_t y) { return x == 7 ? y : x; }, a, b);
  expect_lanes<uint64_t>(
      code + "%l1; }", [](uint64_t x, uint64_t y) { return x == 7 ? x : y; }, a, b);
}

TEST(CudaMoves, PartsMayBeSwappedInPlace) {
  Gpu gpu;
  expect_lanes<uint32_t>(
      "mov.b32 {%h0, %h1}, %a; mov.b32 %a, {%h1, %h0}; mov.b32 {%h1, %h0}, %a;"
      "mov.b32 %d, {%h0, %h1}",
      [](uint32_t x) { return x; }, edges<uint32_t>());
  expect_lanes<uint64_t>(
      "mov.b64 {%r0, %r1}, %a; mov.b64 %a, {%r1, %r0}; add.u64 %d, %a, 0",
      [](uint64_t x) { return x << 32 | x >> 32; }, edges<uint64_t>());
}

TEST(CudaMoves, SpecialRegisters) {
  Gpu gpu;
  const auto lane = lanes<uint32_t>("mov.u32 %d, %laneid");
  const auto thread = lanes<uint32_t>("mov.u32 %d, %tid.x");
  const auto width = lanes<uint32_t>("mov.u32 %d, %ntid.x");
  for (uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(lane[i], i);
    EXPECT_EQ(thread[i], i);
    EXPECT_EQ(width[i], 32u);
  }
}

TEST(CudaMoves, SelectionByAPredicate) {
  Gpu gpu;
  for_types<uint16_t, uint32_t, uint64_t>([](auto value) {
    using T = decltype(value);
    const auto [a, b] = pairs<T>();
    std::vector<uint32_t> c;
    for (std::size_t i = 0; i < a.size(); ++i) c.push_back(static_cast<uint32_t>(i * 7 / 3 % 2));
    const std::string width = std::to_string(sizeof(T) * 8);
    std::vector<std::string> types = {"b" + width, "u" + width, "s" + width};
    if (sizeof(T) > 2) types.push_back("f" + width);
    for (const std::string& type : types) {
      expect_lanes<T>(
          "setp.ne.u32 %p0, %c, 0; selp." + type + " %d, %a, %b, %p0",
          [](T x, T y, uint32_t z) { return z != 0 ? x : y; }, a, b, c);
      expect_lanes<T>(
          "setp.ne.u32 %p0, %c, 0; selp." + type + " %d, %a, %b, !%p0",
          [](T x, T y, uint32_t z) { return z == 0 ? x : y; }, a, b, c);
    }
  });
}

TEST(CudaMoves, SelectionByASign) {
  Gpu gpu;
  const auto a = repeated(edges<uint64_t>(), 32);
  const auto b = repeated(edges<uint64_t>(), 32, 11);
  const auto c = edges<int32_t>();
  expect_lanes<uint64_t>(
      "slct.b64.s32 %d, %a, %b, %c",
      [](uint64_t x, uint64_t y, int32_t z) { return z < 0 ? y : x; }, repeated(a, c.size()),
      repeated(b, c.size()), c);
  expect_lanes<uint32_t>(
      "slct.f32.s32 %d, %b, %c, %a",
      [](int32_t z, uint32_t x, uint32_t y) { return z < 0 ? y : x; }, c,
      repeated(edges<uint32_t>(), c.size()), repeated(edges<uint32_t>(), c.size(), 3));
}

TEST(CudaMoves, SelectionByAFloat) {
  Gpu gpu;
  // Values, and which of them are at least zero: plain, with subnormals flushed.
  struct Row {
    uint32_t bits;
    bool plain, flushed;
  };
  const Row rows[] = {
      {0x00000000u, true, true},   {0x80000000u, true, true},   {0x00000001u, true, true},
      {0x80000001u, false, true},  {0x807FFFFFu, false, true},  {0x80800000u, false, false},
      {0x3F800000u, true, true},   {0xBF800000u, false, false}, {0x7F800000u, true, true},
      {0xFF800000u, false, false}, {0x7FC00000u, false, false}, {0xFFC00000u, false, false}};
  std::vector<uint32_t> c;
  for (const Row& row : rows) c.push_back(row.bits);
  for (const char* type : {"u16", "b32", "f64"}) {
    for (const bool ftz : {false, true}) {
      const std::string number = type[1] == '6' ? "%l" : type[1] == '1' ? "%h" : "%r";
      const std::string of = type[1] == '6' ? "64" : type[1] == '1' ? "16" : "32";
      const std::string code = "mov.b" + of + " " + number + "0, 5; mov.b" + of + " " + number +
                               "1, 9; slct." + (ftz ? "ftz." : "") + type + ".f32 " + number +
                               "2, " + number + "0, " + number + "1, %a; cvt.u32.u" + of + " %d, " +
                               number + "2";
      const auto got = lanes<uint32_t>(code, c);
      for (std::size_t i = 0; i < c.size(); ++i) {
        const bool first = ftz ? rows[i].flushed : rows[i].plain;
        EXPECT_EQ(got[i], first ? 5u : 9u) << code << " of " << std::hex << c[i];
      }
    }
  }
}

/// A module with variables of each space, whose kernel stores one value a test.
std::string addresses(const std::string& code) {
  return module(
      ".global .align 4 .u32 there[4] = {1, 2, 3, 4};\n"
      ".const .align 4 .u32 fixed[2] = {7, 8};\n"
      ".shared .align 4 .u32 before[8];\n.shared .align 4 .u32 mine[8];\n"
      ".visible .entry k(.param .u64 out, .param .u32 extra) {\n"
      "  .reg .b64 %o, %l<8>;\n  .reg .b32 %r<8>;\n  .reg .pred %p<8>;\n"
      "  .local .align 4 .u32 own[4];\n  ld.param.u64 %o, [out];\n" +
      code + "\n  st.global.u64 [%o], %l0;\n  ret;\n}\n");
}
uint64_t value_of(const std::string& code, uint32_t extra = 0) {
  Buffer<uint64_t> out(1, 0);
  std::string log;
  std::vector<void*> args = {&out.address, &extra};
  EXPECT_EQ(launch(addresses(code), "k", 1, 1, args, 0, &log), CUDA_SUCCESS)
      << code << ": " << log << cuda_twin_last_fault();
  return out.read()[0];
}

TEST(CudaMoves, VariablesAddressesReachTheirBytes) {
  Gpu gpu;
  EXPECT_EQ(value_of("mov.u64 %l1, there; ld.global.u32 %r0, [%l1+8]; cvt.u64.u32 %l0, %r0;"), 3u);
  EXPECT_EQ(value_of("mov.u64 %l1, there+4; ld.global.u32 %r0, [%l1]; cvt.u64.u32 %l0, %r0;"), 2u);
  EXPECT_EQ(value_of("mov.u64 %l1, fixed; ld.const.u32 %r0, [%l1+4]; cvt.u64.u32 %l0, %r0;"), 8u);
  EXPECT_EQ(value_of("mov.u64 %l1, mine; mov.u32 %r1, 77; st.shared.u32 [mine+12], %r1;"
                     "ld.shared.u32 %r0, [%l1+12]; cvt.u64.u32 %l0, %r0;"),
            77u);
  EXPECT_EQ(value_of("mov.u32 %r2, mine; mov.u32 %r1, 78; st.shared.u32 [mine+12], %r1;"
                     "ld.shared.u32 %r0, [%r2+12]; cvt.u64.u32 %l0, %r0;"),
            78u);
  EXPECT_EQ(value_of("mov.u64 %l1, own; mov.u32 %r1, 79; st.local.u32 [own+8], %r1;"
                     "ld.local.u32 %r0, [%l1+8]; cvt.u64.u32 %l0, %r0;"),
            79u);
}

TEST(CudaMoves, OffsetsOfAddressesWrapAround) {
  Gpu gpu;
  for (const std::string variable : {"there", "fixed", "mine", "own"}) {
    const std::string base = "mov.u64 %l1, " + variable + "; mov.u64 %l0, " + variable;
    EXPECT_EQ(value_of(base + "+9223372036854775807; sub.u64 %l0, %l0, %l1;"), ~uint64_t{0} >> 1)
        << variable;
    EXPECT_EQ(value_of(base + "-9223372036854775808; sub.u64 %l0, %l0, %l1;"), uint64_t{1} << 63)
        << variable;
  }
}

TEST(CudaMoves, GenericAddressesReachEachSpace) {
  Gpu gpu;
  const std::string read = " ld.u32 %r0, [%l2+4]; cvt.u64.u32 %l0, %r0;";
  EXPECT_EQ(value_of("cvta.global.u64 %l2, there;" + read), 2u);
  EXPECT_EQ(value_of("mov.u64 %l1, there; cvta.global.u64 %l2, %l1;" + read), 2u);
  EXPECT_EQ(value_of("cvta.global.u64 %l2, there+8;" + read), 4u);
  EXPECT_EQ(value_of("cvta.const.u64 %l2, fixed;" + read), 8u);
  const std::string set =
      "mov.u32 %r1, 55; st.shared.u32 [mine+4], %r1; st.local.u32 [own+4], %r1;";
  EXPECT_EQ(value_of(set + "cvta.shared.u64 %l2, mine;" + read), 55u);
  EXPECT_EQ(value_of(set + "mov.u64 %l1, mine; cvta.shared.u64 %l2, %l1;" + read), 55u);
  EXPECT_EQ(value_of(set + "cvta.shared::cta.u64 %l2, mine;" + read), 55u);
  EXPECT_EQ(value_of(set + "cvta.local.u64 %l2, own;" + read), 55u);
  EXPECT_EQ(value_of("cvta.param.u64 %l2, extra; ld.u32 %r0, [%l2]; cvt.u64.u32 %l0, %r0;", 99),
            99u);
}

TEST(CudaMoves, ConversionThereAndBackGivesTheAddress) {
  Gpu gpu;
  for (const std::string space : {"global", "shared", "local", "const"}) {
    const std::string variable = space == "global"   ? "there"
                                 : space == "shared" ? "mine"
                                 : space == "local"  ? "own"
                                                     : "fixed";
    EXPECT_EQ(value_of("mov.u64 %l1, " + variable + "+4; cvta." + space +
                       ".u64 %l2, %l1; cvta.to." + space + ".u64 %l3, %l2; sub.u64 %l0, %l3, %l1;"),
              0u)
        << space;
  }
}

TEST(CudaMoves, IsspacepKnowsTheWindow) {
  Gpu gpu;
  const std::string variables[] = {"there", "mine", "own", "fixed", "extra"};
  const std::string spaces[] = {"global", "shared", "local", "const", "param"};
  for (unsigned v = 0; v < 5; ++v) {
    for (unsigned s = 0; s < 5; ++s) {
      const std::string code = "cvta." + spaces[v] + ".u64 %l1, " + variables[v] + "; isspacep." +
                               spaces[s] + " %p0, %l1; selp.u64 %l0, 1, 0, %p0;";
      // Parameters of a kernel are within the global window.
      const bool inside = v == s || (v == 4 && s == 0);
      EXPECT_EQ(value_of(code), inside ? 1u : 0u) << code;
    }
  }
  // An address of 32 bits is extended with zeros, and all windows but the global one are above.
  for (const std::string space : {"global", "shared", "local", "const", "param", "shared::cta"}) {
    EXPECT_EQ(value_of("mov.u32 %r0, 0x80001000; isspacep." + space +
                       " %p0, %r0; selp.u64 %l0, 1, 0, %p0;"),
              space == "global" ? 1u : 0u)
        << space;
  }
  EXPECT_EQ(value_of("cvta.shared.u64 %l1, mine; isspacep.shared::cta %p0, %l1;"
                     "isspacep.shared::cluster %p1, %l1; and.pred %p0, %p0, %p1;"
                     "selp.u64 %l0, 1, 0, %p0;"),
            1u);
}

TEST(CudaMoves, MapaOfTheOnlyBlockIsTheAddress) {
  Gpu gpu;
  EXPECT_EQ(
      value_of("mov.u32 %r0, mine; mapa.shared::cluster.u32 %r1, %r0, 0; sub.u32 %r2, %r1, %r0;"
               "cvt.u64.u32 %l0, %r2;"),
      0u);
  EXPECT_EQ(value_of("cvta.shared.u64 %l1, mine; mapa.u64 %l2, %l1, 0; sub.u64 %l0, %l2, %l1;"),
            0u);
}

TEST(CudaMoves, MapaOfAnotherBlockFails) {
  Gpu gpu;
  Buffer<uint64_t> out(1, 0);
  uint32_t extra = 0;
  std::vector<void*> args = {&out.address, &extra};
  EXPECT_NE(launch(addresses("mov.u64 %l1, mine; mapa.u64 %l0, %l1, 1;"), "k", 1, 1, args),
            CUDA_SUCCESS);
}

TEST(CudaMoves, WrongFormsAreRefused) {
  Gpu gpu;
  expect_refused({"mov.u32 %d, %l0",
                  "mov.u32 %l0, %a",
                  "mov.f16 %h0, %h1",
                  "mov.u8 %h0, %h1",
                  "mov.u32 %f0, %a",
                  "mov.b32 %d, {%a, %b}",
                  "mov.b32 %d, {%h0, %h1, %h2}",
                  "mov.u32 %d, {%h0, %h1}",
                  "mov.b64 {%a, %b, %c}, %l0",
                  "mov.b64 {%h0, %h1}, %l0",
                  "mov.b64 {%a, %b}, {%c, %e}",
                  "mov.pred %p0, %a",
                  "mov.pred %d, %p0",
                  "mov.u32 %d, nothing",
                  "mov.u16 %h0, %laneid",
                  "mov.u16 %h0, %gridid",
                  "mov.v4.u16 {%h0, %h1, %h2, %h3}, %clusterid",
                  "mov.v4.u32 {_, _, _, _}, %tid",
                  "mov.b64 {_, _}, %l0",
                  "mov.b128 %l0, %l1",
                  "mov.u32 %d, %a, %b",
                  "mov.u32 %d",
                  "selp.b32 %d, %a, %b, %c",
                  "selp.b32 %d, %a, %b",
                  "selp.f16 %h0, %h1, %h2, %p0",
                  "selp.pred %p0, %p1, %p2, %p3",
                  "slct.b32.u32 %d, %a, %b, %c",
                  "slct.b32.f64 %d, %a, %b, %g0",
                  "slct.ftz.b32.s32 %d, %a, %b, %c",
                  "slct.b32 %d, %a, %b, %c",
                  "cvta.u64 %l0, %l1",
                  "cvta.global.u32 %d, %a",
                  "cvta.reg.u64 %l0, %l1",
                  "cvta.to.global.u64 %l0, %a",
                  "isspacep.global %d, %l0",
                  "isspacep %p0, %l0",
                  "mapa.u64 %l0, %l1, %l2"});
  std::string log;
  CUmodule loaded = nullptr;
  for (const char* code : {"cvta.shared.u64 %l0, there;", "cvta.to.global.u64 %l0, there;",
                           "mov.u32 %r0, there;", "mov.f64 %l0, there;"}) {
    EXPECT_EQ(load(addresses(code), &loaded, &log), CUDA_ERROR_INVALID_PTX) << code;
  }
}

TEST(CudaMoves, FormsNeedVersions) {
  Gpu gpu;
  expect_needs("7.6", "sm_70", {"cvta.param.u64 %l0, %l1", "isspacep.param %p0, %l1"});
  expect_needs("7.7", "sm_70", {"cvta.shared::cta.u64 %l0, %l1"});
  expect_needs("8.2", "sm_70", {"{ .reg .b128 %q<2>; mov.b128 %q0, %q1; }"});
  expect_needs("8.3", "sm_61", {"{ .reg .b128 %q<2>; mov.b128 %q0, %q1; }"});
  expect_needs("7.8", "sm_80", {"mapa.u64 %l0, %l1, %a", "isspacep.shared::cluster %p0, %l0"});
}

}  // namespace
}  // namespace moves_test
