// Examples of the PTX document for integers, bits, moves and comparisons. All of them
// load, but for bfe.b32, which the document's own grammar does not have. Results
// that the document states are checked.
#include "operands.h"

namespace examples_integer_test {
namespace {

using namespace twin_test;
using std::int32_t;
using std::uint32_t;

/// Loads one example with the registers that it names.
void expect_loads(const std::string& registers, const std::string& code) {
  const std::string text = module(
      ".global .u32 gvar;\n.shared .u32 svar[4];\n.const .u32 cvar;\n.global .u16 buffer[16];\n"
      ".visible .entry k(.param .u32 pvar) {\n" +
      registers + "\n" + code + "\nret;\n}\n");
  std::string log;
  CUmodule loaded = nullptr;
  EXPECT_EQ(load(text, &loaded, &log), CUDA_SUCCESS) << code << ": " << log;
  if (loaded != nullptr) (void)cuModuleUnload(loaded);
}

TEST(CudaExamples, IntegerArithmetic) {
  Gpu gpu;
  const std::string words =
      ".reg .pred p; .reg .s32 a, b, c, d, x, y, z, n, i, q, r, r0; .reg .b32 t, u, v, w;"
      ".reg .u32 x1, x2, x3, x4, y1, y2, y3, y4, z1, z2, z3, z4; .reg .s16 fxs, fys, h, j, k;";
  for (const char* code :
       {"@p add.u32 x, y, z; add.sat.s32 c, c, 1; add.u16x2 u, v, w;",
        "sub.s32 c, a, b;",
        "@p add.cc.u32 x1, y1, z1; @p addc.cc.u32 x2, y2, z2; @p addc.cc.u32 x3, y3, z3;"
        "@p addc.u32 x4, y4, z4;",
        "@p sub.cc.u32 x1, y1, z1; @p subc.cc.u32 x2, y2, z2; @p subc.cc.u32 x3, y3, z3;"
        "@p subc.u32 x4, y4, z4;",
        "mul.wide.s16 a, fxs, fys; mul.lo.s16 h, fxs, fys;",
        "@p mad.lo.s32 d, a, b, c;",
        "mad.lo.s32 r, q, r, r;",
        "mul24.lo.s32 d, a, b;",
        "mad24.lo.s32 d, a, b, c;",
        "sad.s32 d, a, b, c; sad.u32 d, a, b, d;",
        "div.s32 b, n, i;",
        "rem.s32 x, x, 8;",
        "abs.s32 r0, a;",
        "neg.s32 r0, a;",
        "min.s32 r0, a, b; @p min.u16 h, j, k;",
        "min.s16x2.relu u, v, w;",
        "max.u32 d, a, b; max.s32 q, q, 0;",
        "max.relu.s16x2 t, t, u;",
        "dp4a.u32.u32 d, a, b, c;",
        "dp2a.lo.u32.u32 d, a, b, c;"}) {
    expect_loads(words, code);
  }
  expect_loads(".reg .s64 z; .reg .s32 x, y;", "mul.wide.s32 z, x, y;");
}

TEST(CudaExamples, Bits) {
  Gpu gpu;
  const std::string words =
      ".reg .pred p, q, r, s; .reg .b32 a, b, c, d, e, start, len, X, Y, sign, fpvalue, mask, x, m;"
      ".reg .u32 cnt, base; .reg .s32 i, j; .reg .s16 h; .reg .u16 u; .reg .b16 h0;"
      ".reg .b64 l; .reg .b32 r0, r1, r2, r3, r4, r5, r6, r7, selector;";
  for (const char* code : {"popc.b32 cnt, a; popc.b64 cnt, l;",
                           "clz.b32 cnt, X; clz.b64 cnt, l;",
                           "bfind.u32 d, a; bfind.shiftamt.s64 cnt, l;",
                           "fns.b32 d, 0xaaaaaaaa, 3, 1;",
                           "fns.b32 d, 0xaaaaaaaa, 3, -1;",
                           "fns.b32 d, 0xaaaaaaaa, 2, 1;",
                           "fns.b32 d, 0xaaaaaaaa, 2, -1;",
                           "brev.b32 d, a;",
                           "bfe.u32 d, a, start, len;",
                           "bfi.b32 d, a, b, start, len;",
                           "szext.clamp.s32 r0, r1, r2; szext.wrap.u32 r0, 0xffffffff, 0;",
                           "bmsk.clamp.b32 r0, r1, r2; bmsk.wrap.b32 r0, 1, 2;",
                           "and.b32 x, a, r1;",
                           "and.b32 sign, fpvalue, 0x80000000;",
                           "or.b32 mask, mask, 0x00010001; or.pred p, q, r;",
                           "xor.b32 d, a, r1; xor.b32 a, r1, 0x0001;",
                           "not.b32 mask, mask; not.pred p, q;",
                           "cnot.b32 d, a;",
                           "lop3.b32 d, a, b, c, 0x40; lop3.or.b32 d|p, a, b, c, 0x3f, q;"
                           "lop3.and.b32 _|p, a, b, c, 0x3f, q;",
                           "shf.l.clamp.b32 r1, r0, r1, 16; shf.r.clamp.b32 r0, r0, r1, 4;"
                           "shf.r.clamp.b32 r4, r0, r1, r2; shf.r.wrap.b32 r5, r0, r1, 3;",
                           "shl.b32 X, a, 2;",
                           "shr.u16 u, u, 2; shr.s32 i, i, 1; shr.b16 h0, h0, r1;",
                           "prmt.b32 r1, r2, r3, r4; prmt.b32.f4e r1, r2, r3, r4;"}) {
    expect_loads(words, code);
  }
  const auto value = [](const std::string& code) { return lanes<uint32_t>(code)[0]; };
  EXPECT_EQ(value("fns.b32 %d, 0xaaaaaaaa, 3, 1"), 3u);
  EXPECT_EQ(value("fns.b32 %d, 0xaaaaaaaa, 3, -1"), 3u);
  EXPECT_EQ(value("fns.b32 %d, 0xaaaaaaaa, 2, 1"), 3u);
  EXPECT_EQ(value("fns.b32 %d, 0xaaaaaaaa, 2, -1"), 1u);
  EXPECT_EQ(value("szext.wrap.u32 %d, 0xffffffff, 0"), 0u);
  EXPECT_EQ(value("bmsk.wrap.b32 %d, 1, 2"), 0x6u);
}

TEST(CudaExamples, MovesAndComparisons) {
  Gpu gpu;
  const std::string words =
      ".reg .pred p, q, r, s; .reg .f32 d, a, f, x, y, z, fv; .reg .u32 u, k, rr, i, n, t, sa;"
      ".reg .u16 h0, h1; .reg .b16 hx, hy; .reg .b32 j, w, v, v0, v1; .reg .b64 b; .reg .s32 g;"
      ".reg .u64 ptr, gptr, sptr, addr, ptr2; .reg .b128 wide; .reg .b64 e0, e1; .reg .f16 ha, hb, "
      "hp;"
      ".reg .b32 fa, fb, fd; .reg .pred c, c1;";
  for (const char* code :
       {"mov.f32 d, a; mov.u16 h0, h1; mov.f32 d, 0f3F800000;",
        "mov.u64 ptr, gvar; mov.u64 ptr, gvar+4;", "mov.u32 k, svar;", "mov.u32 sa, %tid.x;",
        "mov.u64 addr, buffer+8;", "mov.b32 j, {hx, hy}; mov.b64 {v0, v1}, b; mov.b64 {_, v1}, b;",
        "mov.b128 wide, {e0, e1}; mov.b128 {e0, e1}, wide;",
        "selp.s32 g, i, n, p; @q selp.f32 fv, x, y, p;",
        "slct.u32.s32 u, i, n, g; slct.ftz.u32.f32 u, i, n, fv; slct.f32.s32 x, y, z, g;",
        "setp.lt.and.s32 p|q, i, n, r; @q setp.eq.u32 p, i, n;",
        "@p set.lt.and.f32.s32 d, i, n, r; set.eq.u32.u32 u, i, n;", "set.lt.f16.f16 ha, hb, hp;",
        "set.eq.bf16.f32 hx, x, y;", "setp.lt.and.f16x2 c|c1, fa, fb, r; @q setp.eq.f16 p, ha, hb;",
        "cvta.const.u64 ptr, cvar; cvta.global.u64 ptr, gptr; cvta.shared::cta.u64 ptr, svar+4;"
        "cvta.to.global.u64 gptr, ptr; cvta.param.u64 ptr, pvar;",
        "isspacep.const p, ptr; isspacep.global p, gptr; isspacep.local p, addr;"
        "isspacep.param p, ptr; isspacep.shared p, sptr; isspacep.shared::cta p, sptr;",
        "mapa.shared::cluster.u64 ptr, sptr, 0; mapa.u64 ptr2, addr, k;"}) {
    expect_loads(words, code);
  }
}

}  // namespace
}  // namespace examples_integer_test
