// The forms of instructions, as patterns. Results are of memory, warps and matrices, too: each lane
// has 16 bytes of shared memory at %m, and the 24 bytes of its operands in global memory at %at.
#include "cuda/tools/instructions.h"

#include <sstream>

namespace cuda_twin_record {
namespace {

/// <x|y> in the code stands for each alternative, @ for each of the types, $name for a part.
struct Pattern {
  const char* code;
  const char* types;
  const char* operands;  ///< types of %d, %a, %b, %c
};
struct Family {
  const char* version;
  const char* target;
  std::vector<Pattern> patterns;
};

/// A name is no beginning of a later one.
struct Part {
  const char* name;
  const char* text;
};
const Part kParts[] = {
    {"$rnd", "<.rn|.rz|.rm|.rp>"},
    {"$cmp", "<eq|ne|lt|le|gt|ge>"},
    {"$fcmp", "<eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan>"},
    {"$ints", "u16 s16 u32 s32 u64 s64"},
    {"$bits", "b16 b32 b64"},
    {"$mma", "mma.sync.aligned."},
    {"$two", "{%a, %b}"},
    {"$four", "{%a, %b, %b, %a}"},
    {"$c2", "{%c, %c}"},
    {"$c4", "{%c, %c, %c, %c}"},
    {"$c8", "{%c, %c, %c, %c, %c, %c, %c, %c}"},
    {"$d2", "{%d, %r1}, "},
    {"$d4", "{%d, %r1, %r2, %r3}, "},
    {"$d8", "{%d, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, "},
    {"$layouts", "<row|col>.<row|col>"},
};

const Family kBaseline = {
    "7.1",
    "sm_80",
    {
        // Integers
        {"<add|sub|mul.lo|mul.hi|div|rem|min|max>.@ %d, %a, %b", "$ints", "@ @ @"},
        {"<add|sub>.sat.s32 %d, %a, %b", "s32", "@ @ @"},
        {"mad.<lo|hi>.@ %d, %a, %b, %c", "$ints", "@ @ @ @"},
        {"mad.hi.sat.s32 %d, %a, %b, %c", "s32", "@ @ @ @"},
        {"mul.wide.@ %d, %a, %b", "u16 s16", "u32 @ @"},
        {"mul.wide.@ %d, %a, %b", "u32 s32", "u64 @ @"},
        {"mad.wide.@ %d, %a, %b, %c", "u16 s16", "u32 @ @ u32"},
        {"mad.wide.@ %d, %a, %b, %c", "u32 s32", "u64 @ @ u64"},
        {"mul24.<lo|hi>.@ %d, %a, %b", "u32 s32", "@ @ @"},
        {"mad24.<lo|hi>.@ %d, %a, %b, %c", "u32 s32", "@ @ @ @"},
        {"mad24.hi.sat.s32 %d, %a, %b, %c", "s32", "@ @ @ @"},
        {"sad.@ %d, %a, %b, %c", "$ints", "@ @ @ @"},
        {"<abs|neg>.@ %d, %a", "s16 s32 s64", "@ @"},
        {"add.cc.@ %r0, %a, %b; addc.cc.@ %r1, %a, %c; addc.@ %d, %r0, %r1", "u32 s32", "@ @ @ @"},
        {"sub.cc.@ %r0, %a, %b; subc.cc.@ %r1, %a, %c; subc.@ %d, %r0, %r1", "u32 s32", "@ @ @ @"},
        {"<add.cc|sub.cc>.@ %l0, %a, %b; addc.@ %d, %l0, %c", "u64 s64", "@ @ @ @"},
        {"mad.<lo|hi>.cc.@ %r0, %a, %b, %c; madc.<lo|hi>.@ %d, %a, %b, %r0", "u32 s32", "@ @ @ @"},
        {"mad.<lo|hi>.cc.@ %l0, %a, %b, %c; madc.<lo|hi>.@ %d, %a, %b, %l0", "u64 s64", "@ @ @ @"},
        {"dp4a.<u32|s32>.@ %d, %a, %b, %c", "u32 s32", "u32 u32 u32 u32"},
        {"dp2a.<lo|hi>.<u32|s32>.@ %d, %a, %b, %c", "u32 s32", "u32 u32 u32 u32"},
        // Bits
        {"<and|or|xor>.@ %d, %a, %b", "$bits", "@ @ @"},
        {"<not|cnot>.@ %d, %a", "$bits", "@ @"},
        {"shl.@ %d, %a, %b", "$bits", "@ @ count"},
        {"shr.@ %d, %a, %b", "$bits $ints", "@ @ count"},
        {"shf.<l|r>.<clamp|wrap>.b32 %d, %a, %b, %c", "u32", "@ @ @ count"},
        {"bfe.@ %d, %a, %b, %c", "u32 s32 u64 s64", "@ @ count count"},
        {"bfi.@ %d, %a, %b, <0|7|40>, %c", "b32 b64", "@ @ @ count"},
        {"bfi.@ %d, %a, %b, %c, <0|5|70>", "b32 b64", "@ @ @ count"},
        {"bfind<|.shiftamt>.@ %d, %a", "u32 s32 u64 s64", "u32 @"},
        {"<clz|popc>.@ %d, %a", "b32 b64", "u32 @"},
        {"brev.@ %d, %a", "b32 b64", "@ @"},
        {"prmt.b32<|.f4e|.b4e|.rc8|.ecl|.ecr|.rc16> %d, %a, %b, %c", "u32", "@ @ @ @"},
        {"lop3.b32 %d, %a, %b, %c, <0x00|0x1d|0x96|0xe8|0xff>", "u32", "@ @ @ @"},
        {"fns.b32 %d, %a, %b, %c", "u32", "@ @ lane step"},
        // f32, f64
        {"<add|sub|mul>$rnd<|.ftz><|.sat>.f32 %d, %a, %b", "f32", "@ @ @"},
        {"<fma|mad>$rnd<|.ftz><|.sat>.f32 %d, %a, %b, %c", "f32", "@ @ @ @"},
        {"div$rnd<|.ftz>.f32 %d, %a, %b", "f32", "@ @ @"},
        {"<rcp|sqrt>$rnd<|.ftz>.f32 %d, %a", "f32", "@ @"},
        {"<add|sub|mul|div>$rnd.f64 %d, %a, %b", "f64", "@ @ @"},
        {"<fma|mad>$rnd.f64 %d, %a, %b, %c", "f64", "@ @ @ @"},
        {"<rcp|sqrt>$rnd.f64 %d, %a", "f64", "@ @"},
        {"<min|max><|.ftz><|.NaN>.f32 %d, %a, %b", "f32", "@ @ @"},
        {"<min|max>.f64 %d, %a, %b", "f64", "@ @ @"},
        {"<abs|neg><|.ftz>.f32 %d, %a", "f32", "@ @"},
        {"<abs|neg>.f64 %d, %a", "f64", "@ @"},
        {"copysign.@ %d, %a, %b", "f32 f64", "@ @ @"},
        {"testp.<finite|infinite|number|notanumber|normal|subnormal>.@ %p0, %a; selp.u32 %d, 1, 0, "
         "%p0",
         "f32 f64", "u32 @"},
        // f16, bf16
        {"<add|sub|mul><|.rn><|.ftz><|.sat>.@ %d, %a, %b", "f16 f16x2", "@ @ @"},
        {"fma.rn<|.ftz><|.sat|.relu>.@ %d, %a, %b, %c", "f16 f16x2", "@ @ @ @"},
        {"fma.rn<|.relu>.@ %d, %a, %b, %c", "bf16 bf16x2", "@ @ @ @"},
        {"<min|max><|.ftz><|.NaN>.@ %d, %a, %b", "f16 f16x2", "@ @ @"},
        {"<min|max><|.NaN>.@ %d, %a, %b", "bf16 bf16x2", "@ @ @"},
        {"<abs|neg><|.ftz>.@ %d, %a", "f16 f16x2", "@ @"},
        {"<abs|neg>.@ %d, %a", "bf16 bf16x2", "@ @"},
        // Approximate
        {"<ex2|lg2|sin|cos|rsqrt|rcp|sqrt>.approx<|.ftz>.f32 %d, %a", "f32", "@ @"},
        {"tanh.approx.f32 %d, %a", "f32", "@ @"},
        {"div.<approx|full><|.ftz>.f32 %d, %a, %b", "f32", "@ @ @"},
        {"<ex2|tanh>.approx.@ %d, %a", "f16 f16x2", "@ @"},
        {"<rcp.approx.ftz|rsqrt.approx>.f64 %d, %a", "f64", "@ @"},
        // Conversions
        {"cvt.<u8|s8|u16|s16|u32|s32>.@ %d, %a", "$ints", "u32 @"},
        {"cvt.<u64|s64>.@ %d, %a", "$ints", "u64 @"},
        {"cvt.sat.<u8|s8>.@ %d, %a", "$ints", "u32 @"},
        {"cvt.sat.<u16|s16>.@ %d, %a", "u32 s32 u64 s64", "u32 @"},
        {"cvt.sat.u32.@ %d, %a", "s16 s32 u64 s64", "u32 @"},
        {"cvt.sat.s32.@ %d, %a", "u32 u64 s64", "s32 @"},
        {"cvt.sat.u64.@ %d, %a", "s16 s32 s64", "u64 @"},
        {"cvt<.rni|.rzi|.rmi|.rpi>.<u8|s8|u16|s16|u32|s32>.@ %d, %a", "f16 f32 f64", "u32 @"},
        {"cvt<.rni|.rzi|.rmi|.rpi>.<u64|s64>.@ %d, %a", "f16 f32 f64", "u64 @"},
        {"cvt<.rni|.rzi>.ftz.<u32|s32>.f32 %d, %a", "f32", "u32 @"},
        {"cvt<.rni|.rzi|.rmi|.rpi><|.sat>.@.@ %d, %a", "f16 f32 f64", "@ @"},
        {"cvt$rnd.f16.@ %d, %a", "$ints", "f16 @"},
        {"cvt$rnd.f32.@ %d, %a", "$ints", "f32 @"},
        {"cvt$rnd.f64.@ %d, %a", "$ints", "f64 @"},
        {"cvt$rnd<|.ftz><|.sat>.f16.f32 %d, %a", "f32", "f16 @"},
        {"cvt$rnd<|.sat>.f16.f64 %d, %a", "f64", "f16 @"},
        {"cvt$rnd<|.ftz><|.sat>.f32.f64 %d, %a", "f64", "f32 @"},
        {"cvt<|.ftz><|.sat>.f32.@ %d, %a", "f16 f32", "f32 @"},
        {"cvt<|.sat>.f64.@ %d, %a", "f16 f32 f64", "f64 @"},
        {"cvt<.rn|.rz><|.relu>.<f16|bf16>.f32 %d, %a", "f32", "f16 @"},
        {"cvt<.rn|.rz><|.relu>.<f16x2|bf16x2>.f32 %d, %a, %b", "f32", "u32 @ @"},
        {"cvt.f32.bf16 %d, %a", "bf16", "f32 @"},
        {"cvt.rna.tf32.f32 %d, %a", "f32", "u32 @"},
        {"cvt.pack.sat.<u16|s16>.s32 %d, %a, %b", "s32", "u32 @ @"},
        {"cvt.pack.sat.<u8|s8|u4|s4|u2|s2>.s32.b32 %d, %a, %b, %c", "s32", "u32 @ @ u32"},
        // Moves and comparisons
        {"mov.@ %d, %a", "$bits $ints f32 f64", "@ @"},
        {"mov.b32 {%h0, %h1}, %a; mov.b32 %d, {%h1, %h0}", "b32", "@ @"},
        {"mov.b64 {%r0, %r1}, %a; mov.b64 %d, {%r1, %r0}", "b64", "@ @"},
        {"setp.ne.u32 %p0, %c, 0; selp.@ %d, %a, %b, %p0", "$bits $ints f32 f64", "@ @ @ u32"},
        {"slct.@.s32 %d, %a, %b, %c", "$bits $ints f32 f64", "@ @ @ s32"},
        {"slct<|.ftz>.@.f32 %d, %a, %b, %c", "$bits $ints f32 f64", "@ @ @ f32"},
        {"set.$cmp.<u32|s32|f32>.@ %d, %a, %b", "$ints", "u32 @ @"},
        {"set.<lo|ls|hi|hs>.u32.@ %d, %a, %b", "u16 u32 u64", "u32 @ @"},
        {"set.<eq|ne>.u32.@ %d, %a, %b", "$bits", "u32 @ @"},
        {"set.$fcmp<|.ftz>.u32.f32 %d, %a, %b", "f32", "u32 @ @"},
        {"set.$fcmp.<u32|f32>.f64 %d, %a, %b", "f64", "u32 @ @"},
        {"set.$fcmp<|.ftz>.f16.f16 %d, %a, %b", "f16", "f16 @ @"},
        {"set.$fcmp<|.ftz>.f16x2.f16x2 %d, %a, %b", "f16x2", "@ @ @"},
        {"setp.ne.u32 %p2, %c, 0; setp.$cmp.<and|or|xor>.@ %p0|%p1, %a, %b, %p2; "
         "selp.u32 %d, 1, 2, %p0; @%p1 add.u32 %d, %d, 4",
         "$ints f32 f64", "u32 @ @ u32"},
        {"setp.$fcmp.f16x2 %p0|%p1, %a, %b; selp.u32 %d, 1, 2, %p0; @%p1 "
         "add.u32 %d, %d, 4",
         "f16x2", "u32 @ @"},
        {"setp.lt.u32 %p0, %a, %b; setp.lt.s32 %p1, %a, %b; <and|or|xor>.pred %p2, %p0, %p1; "
         "not.pred %p3, %p2; selp.u32 %d, 1, 2, %p3",
         "u32", "@ @ @"},
        {"mov.u64 %l0, slots; cvta.shared.u64 %l1, %l0; isspacep.<shared|global|local> %p0, %l1; "
         "cvta.to.shared.u64 %l1, %l1; sub.u64 %l1, %l1, %l0; cvt.u32.u64 %d, %l1; @%p0 add.u32 "
         "%d, %d, %a",
         "u32", "@ @"},
        // Memory
        {"st.shared.b32 [%m], %a; ld.shared.<u8|s8|b8|u16|s16|b16|u32> %d, [%m]", "u32", "@ @"},
        {"st.global.b64 [%at], %a; ld.global.<u8|s8|b8|u16|s16|b16|u32|s32|f32|b64> %d, [%at]",
         "u64", "@ @"},
        {"st.local.b32 [own], %a; st.local.<u8|b16> [own+1-1], %b; ld.local.b32 %d, [own]", "u32",
         "@ @ @"},
        {"st.shared.v4.b32 [%m], {%a, %b, %c, %a}; ld.shared.v2.b64 {%l0, %l1}, [%m]; xor.b64 %d, "
         "%l0, %l1",
         "u32", "u64 @ @ @"},
        {"st<.volatile|.relaxed.gpu|.release.cta>.global.b32 [%at], %a; membar.<cta|gl|sys>; "
         "ld<.volatile|.relaxed.sys|.acquire.cta>.global.b32 %d, [%at]",
         "u32", "@ @"},
        {"prefetch.global.L1 [%at]; ldu.global.b32 %d, [%at]", "u32", "@ @"},
        {"st.shared.b32 [%m], %a; atom.shared.<and|or|xor|exch>.b32 %r0, [%m], %b; ld.shared.b32 "
         "%d, [%m]",
         "u32", "@ @ @"},
        {"st.shared.b32 [%m], %a; atom.shared.@ %r0, [%m], %b; ld.shared.b32 %d, [%m]",
         "add.u32 add.s32 min.u32 min.s32 max.u32 max.s32 inc.u32 dec.u32", "u32 u32 u32"},
        {"st.global.b64 [%at], %a; red.global.@ [%at], %b; ld.global.b64 %d, [%at]",
         "add.u64 and.b64 or.b64 xor.b64 min.u64 min.s64 max.u64 max.s64", "u64 u64 u64"},
        {"st.shared.@ [%m], %a; atom.shared.cas.@ %d, [%m], %a, %b; ld.shared.@ %d, [%m]", "$bits",
         "@ @ @"},
        {"st.shared.f32 [%m], %a; red.shared.add.f32 [%m], %b; ld.shared.f32 %d, [%m]", "f32",
         "@ @ @"},
        {"st.global.f32 [%at], %a; atom.global.add.f32 %r0, [%at], %b; ld.global.f32 %d, [%at]",
         "f32", "@ @ @"},
        {"st.global.f64 [%at], %a; red.global.add.f64 [%at], %b; ld.global.f64 %d, [%at]", "f64",
         "@ @ @"},
        {"st.global.b16 [%at], %a; atom.global.add.noftz.f16 %h0, [%at], %b; ld.global.b16 %d, "
         "[%at]",
         "f16", "@ @ @"},
        {"st.global.b32 [%at], %a; red.global.add.noftz.f16x2 [%at], %b; ld.global.b32 %d, [%at]",
         "f16x2", "@ @ @"},
        {"cp.async.ca.shared.global [%m], [%at], <4, 0|4|8, 5|8>; cp.async.<wait_all|commit_group; "
         "cp.async.wait_group 0>; ld.shared.b32 %d, [%m]",
         "u32", "@ @"},
        // Warps and barriers
        {"shfl.sync.<up.b32 %d, %a, 3, 0|down.b32 %d, %a, 5, 31|bfly.b32 %d, %a, 6, 31|idx.b32 %d, "
         "%a, 9, 0x181f|up.b32 %d, %a, 1, 0x1800>, -1",
         "u32", "@ @"},
        {"setp.lt.s32 %p0, %a, 0; vote.sync.<all|any|uni>.pred %p1, %p0, -1; selp.u32 %d, 1, 0, "
         "%p1",
         "u32", "@ @"},
        {"setp.lt.s32 %p0, %a, 0; vote.sync.ballot.b32 %d, %p0, -1", "u32", "@ @"},
        {"and.b32 %r0, %a, 3; match.any.sync.b32 %d, %r0, -1", "u32", "@ @"},
        {"and.b64 %l0, %a, 1; match.<any|all>.sync.b64 %d, %l0, -1", "u64", "u32 @"},
        {"activemask.b32 %d; and.b32 %d, %d, %a", "u32", "@ @"},
        {"redux.sync.@ %d, %a, -1", "add.u32 add.s32 min.u32 min.s32 max.u32 max.s32", "u32 u32"},
        {"redux.sync.<and|or|xor>.b32 %d, %a, -1", "u32", "@ @"},
        {"setp.lt.s32 %p0, %a, 0; bar.red.<and|or>.pred %p1, 0, %p0; selp.u32 %d, 1, 0, %p1", "u32",
         "@ @"},
        {"setp.lt.s32 %p0, %a, 0; barrier.red.popc.u32 %d, 1, %p0", "u32", "@ @"},
        {"st.shared.b32 [%m], %a; <bar.sync 0|barrier.sync 1|bar.warp.sync -1>; mov.u32 %r0, "
         "slots; ld.shared.b32 %d, [%r0+48]",
         "u32", "@ @"},
        // Control
        {"setp.lt.s32 %p0, %a, %b; mov.u32 %d, 1; @%p0 bra over; mov.u32 %d, 2; over:", "s32",
         "u32 @ @"},
        {"and.b32 %r0, %a, 1; mov.u32 %d, 3; to: .branchtargets even, odd; brx.idx %r0, to; even: "
         "mov.u32 %d, 4; odd:",
         "u32", "@ @"},
        {"call (%d), twice, (%a)", "u32", "@ @"},
        {"mov.u64 %l0, twice; to: .calltargets twice; call (%d), %l0, (%a), to", "u32", "@ @"},
        {"st.global.b32 [%at+8], %a; setp.eq.u32 %p0, %a, 0; mov.u32 %d, 5; @!%p0 nanosleep.u32 20",
         "u32", "@ @"},
        // Matrices
        {"st.shared.v4.b32 [%m], {%a, %b, %c, %a}; bar.warp.sync -1; "
         "ldmatrix.sync.aligned.m8n8.x4<|.trans>.shared.b16 {%r0, %r1, %r2, %r3}, [%m]; xor.b32 "
         "%d, %r0, %r3",
         "u32", "@ @ @ @"},
    }};

const Family kHopper = {
    "8.4",
    "sm_90",
    {
        {"<add|min|max>.@ %d, %a, %b", "u16x2 s16x2", "@ @ @"},
        {"<min|max>.relu.@ %d, %a, %b", "s32 s16x2", "@ @ @"},
        {"bmsk.<clamp|wrap>.b32 %d, %a, %b", "count", "u32 @ @"},
        {"szext.<clamp|wrap>.@ %d, %a, %b", "u32 s32", "@ @ count"},
        {"<min|max><|.ftz><|.NaN>.xorsign.abs.@ %d, %a, %b", "f32 f16 f16x2", "@ @ @"},
        {"<min|max><|.NaN>.xorsign.abs.@ %d, %a, %b", "bf16 bf16x2", "@ @ @"},
        {"<add|sub|mul>.rn.@ %d, %a, %b", "bf16 bf16x2", "@ @ @"},
        {"ex2.approx.ftz.@ %d, %a", "bf16 bf16x2", "@ @"},
        {"tanh.approx.@ %d, %a", "bf16 bf16x2", "@ @"},
        {"rsqrt.approx.ftz.f64 %d, %a", "f64", "@ @"},
        {"cvt<.rni|.rzi|.rmi|.rpi>.<u16|s16>.bf16 %d, %a", "bf16", "u16 @"},
        {"cvt<.rni|.rzi|.rmi|.rpi>.<u32|s32>.bf16 %d, %a", "bf16", "u32 @"},
        {"cvt$rnd.bf16.@ %d, %a", "$ints f16 f64", "bf16 @"},
        {"cvt$rnd.f16.bf16 %d, %a", "bf16", "f16 @"},
        {"cvt<.rm|.rp>.bf16.f32 %d, %a", "f32", "bf16 @"},
        {"cvt<.rn|.rz><|.relu>.tf32.f32 %d, %a", "f32", "u32 @"},
        {"cvt<.rn|.rz>.satfinite<|.relu>.<f16|bf16>.f32 %d, %a", "f32", "f16 @"},
        {"cvt.rn.satfinite<|.relu>.<e4m3x2|e5m2x2>.f32 %d, %a, %b", "f32", "b16 @ @"},
        {"cvt.rn.satfinite<|.relu>.<e4m3x2|e5m2x2>.f16x2 %d, %a", "f16x2", "b16 @"},
        {"cvt.rn<|.relu>.f16x2.<e4m3x2|e5m2x2> %d, %a", "b16", "f16x2 @"},
        {"set.$fcmp.bf16.bf16 %d, %a, %b", "bf16", "@ @ @"},
        {"setp.$fcmp.bf16x2 %p0|%p1, %a, %b; selp.u32 %d, 1, 2, %p0; @%p1 "
         "add.u32 %d, %d, 4",
         "bf16x2", "u32 @ @"},
        {"lop3.<and|or>.b32 %d|%p0, %a, %b, %c, 0x96, 1; @%p0 add.u32 %d, %d, 1", "u32", "@ @ @ @"},
        {"st.global.b16 [%at], %a; atom.global.add.noftz.bf16 %h0, [%at], %b; ld.global.b16 %d, "
         "[%at]",
         "bf16", "@ @ @"},
        {"st.global.b32 [%at], %a; red.global.add.noftz.bf16x2 [%at], %b; ld.global.b32 %d, [%at]",
         "bf16x2", "@ @ @"},
        {"st.global.v2.f32 [%at], {%a, %b}; red.global.add.v2.f32 [%at], {%b, %c}; ld.global.f32 "
         "%d, [%at+4]",
         "f32", "@ @ @ @"},
        {"fence.<sc|acq_rel>.<cta|cluster|gpu|sys>; mov.b32 %d, %a", "u32", "@ @"},
        {"elect.sync %r0|%p0, -1; selp.b32 %d, %a, %r0, %p0", "u32", "@ @"},
        {"mapa.shared::cluster.u32 %r0, %m, 0; sub.u32 %d, %r0, %m; add.u32 %d, %d, %a", "u32",
         "@ @"},
        {"createpolicy.fractional.L2::evict_last.b64 %l0, 0.5; ld.global.L2::cache_hint.b32 %d, "
         "[%at], %l0",
         "u32", "@ @"},
        {"stmatrix.sync.aligned.m8n8.x4<|.trans>.shared.b16 [%m], {%a, %b, %c, %a}; bar.warp.sync "
         "-1; ld.shared.b64 %d, [%m+8]",
         "u32", "u64 @ @ @"},
        {"movmatrix.sync.aligned.m8n8.trans.b16 %d, %a", "u32", "@ @"},
        {"griddepcontrol.wait; mov.b32 %d, %a; griddepcontrol.launch_dependents", "u32", "@ @"},
    }};

const Family kMma = {
    "8.4",
    "sm_90",
    {
        {"$mmam8n8k4.$layouts.f32.f16.f16.f32 $d8$two, $two, $c8", "finite_f16x2",
         "f32 @ @ finite_f32"},
        {"$mmam8n8k4.$layouts.f32.f16.f16.f16 $d8$two, $two, $c4", "finite_f16x2", "f32 @ @ @"},
        {"$mmam8n8k4.$layouts.f16.f16.f16.f16 $d4$two, $two, $c4", "finite_f16x2", "f16x2 @ @ @"},
        {"$mmam16n8k8.row.col.f32.f16.f16.f32 $d4"
         "$two, {%a}, $c4",
         "finite_f16x2", "f32 @ @ finite_f32"},
        {"$mmam16n8k16.row.col.f32.f16.f16.f32 $d4"
         "$four, $two, $c4",
         "finite_f16x2", "f32 @ @ finite_f32"},
        {"$mmam16n8k8.row.col.f16.f16.f16.f16 $d2"
         "$two, {%a}, $c2",
         "finite_f16x2", "f16x2 @ @ @"},
        {"$mmam16n8k16.row.col.f16.f16.f16.f16 $d2"
         "$four, $two, $c2",
         "finite_f16x2", "f16x2 @ @ @"},
        {"$mmam16n8k8.row.col.f32.bf16.bf16.f32 $d4"
         "$two, {%a}, $c4",
         "finite_bf16x2", "f32 @ @ finite_f32"},
        {"$mmam16n8k16.row.col.f32.bf16.bf16.f32 $d4"
         "$four, $two, $c4",
         "finite_bf16x2", "f32 @ @ finite_f32"},
        {"$mmam16n8k4.row.col.f32.tf32.tf32.f32 $d4"
         "$two, {%a}, $c4",
         "finite_f32", "f32 @ @ @"},
        {"$mmam16n8k8.row.col.f32.tf32.tf32.f32 $d4"
         "$four, $two, $c4",
         "finite_f32", "f32 @ @ @"},
        {"$mmam16n8k32.row.col.f32.<e4m3|e5m2>.<e4m3|e5m2>.f32 $d4"
         "$four, $two, $c4",
         "u32", "f32 @ @ finite_f32"},
        {"$mmam8n8k16.row.col<|.satfinite>.s32.<s8|u8>.<s8|u8>.s32 $d2{%a}, {%b}, $c2", "u32",
         "s32 @ @ s32"},
        {"$mmam16n8k16.row.col<|.satfinite>.s32.<s8|u8>.<s8|u8>.s32 $d4"
         "$two, {%a}, $c4",
         "u32", "s32 @ @ s32"},
        {"$mmam16n8k32.row.col<|.satfinite>.s32.<s8|u8>.<s8|u8>.s32 $d4"
         "$four, $two, $c4",
         "u32", "s32 @ @ s32"},
        {"$mmam8n8k32.row.col<|.satfinite>.s32.<s4|u4>.<s4|u4>.s32 $d2{%a}, {%b}, $c2", "u32",
         "s32 @ @ s32"},
        {"$mmam16n8k32.row.col<|.satfinite>.s32.<s4|u4>.<s4|u4>.s32 $d4"
         "$two, {%a}, $c4",
         "u32", "s32 @ @ s32"},
        {"$mmam16n8k64.row.col<|.satfinite>.s32.<s4|u4>.<s4|u4>.s32 $d4"
         "$four, $two, $c4",
         "u32", "s32 @ @ s32"},
        {"$mmam8n8k128.row.col.s32.b1.b1.s32.<xor|and>.popc $d2{%a}, {%b}, $c2", "u32",
         "s32 @ @ s32"},
        {"$mmam16n8k128.row.col.s32.b1.b1.s32.<xor|and>.popc $d4"
         "$two, {%a}, $c4",
         "u32", "s32 @ @ s32"},
        {"$mmam16n8k256.row.col.s32.b1.b1.s32.<xor|and>.popc $d4"
         "$four, $two, $c4",
         "u32", "s32 @ @ s32"},
        {"$mmam8n8k4.row.col.f64.f64.f64.f64 {%d, %l1}, {%a}, {%b}, $c2", "f64", "@ @ @ @"},
        {"$mmam16n8k4.row.col.f64.f64.f64.f64 {%d, %l1, %l2, %l3}, $two, {%a}, $c4", "f64",
         "@ @ @ @"},
        {"$mmam16n8k8.row.col.f64.f64.f64.f64 {%d, %l1, %l2, %l3}, $four, $two, $c4", "f64",
         "@ @ @ @"},
        {"$mmam16n8k16.row.col.f64.f64.f64.f64 {%d, %l1, %l2, %l3}, {%a, %b, %b, %a, %b, "
         "%a, %a, %b}, $four, $c4",
         "f64", "@ @ @ @"},
    }};

std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> found;
  for (std::string word; in >> word;) found.push_back(word);
  return found;
}

std::string with_parts(std::string text) {
  for (const Part& part : kParts) {
    const std::string name = part.name;
    for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos;) {
      text.replace(at, name.size(), part.text);
    }
  }
  return text;
}

std::string with_type(std::string text, const std::string& type) {
  for (std::size_t at = 0; (at = text.find('@', at)) != std::string::npos;) {
    const bool guard = at + 1 < text.size() && (text[at + 1] == '%' || text[at + 1] == '!');
    if (guard) {
      ++at;
    } else {
      text.replace(at, 1, type);
    }
  }
  return text;
}

/// All texts for <x|y>.
void expand(const std::string& text, std::vector<std::string>& to) {
  const std::size_t open = text.find('<');
  if (open == std::string::npos) {
    to.push_back(text);
    return;
  }
  const std::size_t close = text.find('>', open);
  std::istringstream choices(text.substr(open + 1, close - open - 1) + "|");
  for (std::string choice; std::getline(choices, choice, '|');) {
    expand(text.substr(0, open) + choice + text.substr(close + 1), to);
  }
}

void append(const Family& family, std::vector<Row>& rows) {
  for (const Pattern& pattern : family.patterns) {
    std::vector<std::string> texts;
    expand(with_parts(pattern.code), texts);
    for (const std::string& text : texts) {
      for (const std::string& type : words(with_parts(pattern.types))) {
        std::vector<std::string> operands = words(with_type(pattern.operands, type));
        const std::string out = operands.front();
        operands.erase(operands.begin());
        const std::string code = with_type(text, type);
        rows.push_back({code, out, operands, family.version, family.target, tolerance_of(code)});
      }
    }
  }
}

}  // namespace

std::vector<Row> rows() {
  std::vector<Row> all;
  for (const Family* family : {&kBaseline, &kHopper, &kMma}) append(*family, all);
  return all;
}

}  // namespace cuda_twin_record
