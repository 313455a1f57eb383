// Examples of the PTX document for floats, conversions, memory, atomics, synchronization, control
// flow, matrices and directives. The twin loads them, or refuses them as the document's own grammar
// does, or for a form that its README counts as missing.
#include "operands.h"

namespace examples_test {
namespace {

using namespace twin_test;
using std::uint32_t;

CUresult load_text(const std::string& text, std::string* log) {
  CUmodule loaded = nullptr;
  const CUresult code = load(text, &loaded, log);
  if (loaded != nullptr) (void)cuModuleUnload(loaded);
  return code;
}

/// Declarations that the examples of instructions share.
const char kDeclared[] = R"(
.global .align 32 .b8 gbl[512];
.const .align 32 .b8 cns[64];
.func init() { ret; }
.func g(.reg .u32 a) { ret; }
.func (.reg .u32 rv) h(.reg .u32 a, .reg .u32 b) { add.u32 rv, a, b; ret; }
)";
const char kRegisters[] = R"(
.shared .align 32 .b8 sh[512];
.local .align 16 .b8 lcl[512];
.reg .pred p, q, r, u, v, isnan;
.reg .f32 f0, f1, f2, f3, f4, f5, f6, f7, x, y, z, w, a, b, c, d, k;
.reg .f64 xd, yd, zd, A, B, C, D;
.reg .s32 i, j, n, s0, s1;
.reg .u32 t0, t1, t2, r0, r1, r2, r3;
.reg .b16 h0, h1, h2, h3, hd0, hd1, hd2, hd3, hd4, hd5, hd6, hd7;
.reg .b32 p1, p2, p3, p4, p5, p6, e0, e1, e2, e3, mask;
.reg .u64 ptr, gptr, sptr, lptr, pptr, addr, policy;
.reg .b64 l0, l1, l2, l3;
.reg .b128 wide, wide1;
)";

std::string kernel_of(const std::string& code, const char* version = "9.0",
                      const char* target = "sm_90") {
  return module(std::string(kDeclared) + ".visible .entry k(.param .u32 kparam1) {\n" + kRegisters +
                    code + "\nret;\n}\n",
                version, target);
}

/// All instructions of a family in one kernel.
struct Family {
  const char* name;
  const char* code;
};

const Family kFamilies[] = {
    {"floats", R"(
testp.notanumber.f32 isnan, f0; testp.infinite.f64 p, A;
copysign.f32 x, y, z; copysign.f64 A, B, C;
@p add.rz.ftz.f32 f1, f2, f3;
sub.f32 c, a, b; sub.rn.ftz.f32 f1, f2, f3;
mul.ftz.f32 x, y, z;
fma.rn.ftz.f32 w, x, y, z; @p fma.rn.f64 D, A, B, C;
@p mad.rn.f32 d, a, b, c;
div.approx.ftz.f32 x, y, 3.14159; div.full.ftz.f32 x, y, z; div.rn.f64 xd, yd, zd;
abs.ftz.f32 x, f0; neg.ftz.f32 x, f0;
@p min.ftz.f32 z, z, x; min.f64 A, B, C; min.NaN.f32 f0, f1, f2; min.xorsign.abs.f32 x, y, z;
max.ftz.f32 f0, f1, f2; max.f64 A, B, C; max.NaN.f32 f0, f1, f2; max.xorsign.abs.f32 x, y, z;
rcp.approx.ftz.f32 x, y; rcp.rn.ftz.f32 x, y; rcp.rn.f64 xd, yd; rcp.approx.ftz.f64 xd, yd;
sqrt.approx.ftz.f32 x, y; sqrt.rn.ftz.f32 x, y; sqrt.rn.f64 xd, yd;
rsqrt.approx.ftz.f32 x, y; rsqrt.approx.f64 xd, yd; rsqrt.approx.ftz.f64 xd, yd;
sin.approx.ftz.f32 x, a; cos.approx.ftz.f32 x, a; lg2.approx.ftz.f32 x, a; ex2.approx.ftz.f32 x, a;
tanh.approx.f32 x, a;
{ setp.eq.f32 p, y, 0f00000000; @!p div.rn.f32 z, x, y; }
)"},
    {"halves", R"(
add.f16 h0, h1, h2; add.rn.f16 h0, h1, h2; add.bf16 h0, h1, h2; add.rn.bf16 h0, h1, h2;
cvt.rn.f16.f32 h0, f0; cvt.rn.f16.f32 h1, f1;
mov.b32 p1, {h0, h1}; mov.b32 p2, {h2, h3};
add.f16x2 p3, p1, p2; cvt.rn.bf16x2.f32 p4, f4, f5; add.bf16x2 p6, p4, p5;
ld.global.b32 p1, [gbl]; ld.global.b32 p2, [gbl + 4]; add.f16x2 p3, p1, p2;
sub.f16 h0, h1, h2; sub.rn.bf16 h0, h1, h2; sub.f16x2 p3, p1, p2; sub.bf16x2 p6, p4, p5;
mul.f16 h0, h1, h2; mul.rn.bf16 h0, h1, h2; mul.f16x2 p3, p1, p2; mul.bf16x2 p6, p4, p5;
fma.rn.f16 h0, h1, h2, h3; fma.rn.relu.f16 h0, h1, h2, h3;
fma.rn.bf16 h0, h1, h2, h3; fma.rn.relu.bf16 h0, h1, h2, h3;
fma.rn.f16x2 p3, p1, p2, p2; fma.rn.relu.f16x2 p3, p1, p2, p2;
fma.rn.bf16x2 p3, p1, p2, p2; fma.rn.relu.bf16x2 p3, p1, p2, p2;
neg.ftz.f16 h0, h1; neg.bf16 h0, h1; neg.bf16x2 p1, p2;
abs.ftz.f16 h0, h1; abs.bf16 h0, h1; abs.bf16x2 p1, p2;
min.ftz.f16 h0, h1, h2; min.f16x2 p1, p2, p3; min.NaN.f16x2 p1, p2, p3; min.bf16 h0, h1, h2;
min.NaN.bf16x2 p1, p2, p3; min.xorsign.abs.bf16 h0, h1, h2;
max.ftz.f16 h0, h1, h2; max.f16x2 p1, p2, p3; max.NaN.f16x2 p1, p2, p3; max.bf16 h0, h1, h2;
max.xorsign.abs.f16 h0, h1, h2; max.NaN.bf16x2 p1, p2, p3; max.xorsign.abs.bf16x2 p1, p2, p3;
tanh.approx.f16 h1, h0; tanh.approx.f16x2 p1, p2; tanh.approx.bf16 h1, h0; tanh.approx.bf16x2 p1, p2;
ex2.approx.f16 h1, h0; ex2.approx.f16x2 p1, p2; ex2.approx.ftz.bf16 h1, h2;
ex2.approx.ftz.bf16x2 p1, p2;
set.lt.and.f16.f16 h0, h1, h2, r; set.eq.f16x2.f16x2 p1, p2, p3; set.eq.u32.f16x2 r0, p2, p3;
set.lt.and.u16.f16 h0, h1, h2, r; set.ltu.or.bf16.f16 h0, h1, h2, r; set.equ.bf16x2.bf16x2 p1, p2, p3;
set.geu.s32.bf16x2 i, p2, p3; set.num.xor.s32.bf16 i, h1, h2, r;
setp.lt.and.f16x2 p|q, p1, p2, r; @q setp.eq.f16 p, h1, h2;
setp.gt.or.bf16x2 u|v, p1, p2, r; @q setp.eq.bf16 u, h1, h2;
)"},
    {"conversions", R"(
cvt.rn.f32.s32 f0, i; cvt.rzi.s32.f64 j, xd; cvt.rni.f32.f32 x, y; cvt.f32.f32 x, y;
cvt.rn.relu.f16.f32 h0, f0; cvt.rz.f16x2.f32 p1, f0, f1; cvt.rn.relu.satfinite.f16x2.f32 p1, f0, f1;
cvt.rn.bf16.f32 h0, f0; cvt.rz.relu.satfinite.bf16.f32 h0, f0; cvt.rz.satfinite.bf16x2.f32 p1, f0, f1;
cvt.rn.relu.bf16x2.f32 p1, f0, f1; cvt.rna.satfinite.tf32.f32 p1, f0; cvt.rn.relu.tf32.f32 p1, a;
cvt.f64.bf16.rp A, h0; cvt.bf16.f16.rz h0, h1; cvt.bf16.u64.rz h0, ptr;
{ .reg .s8 s; cvt.s8.bf16.rpi s, h0; }
cvt.bf16.bf16.rpi h0, h1;
cvt.rn.satfinite.e4m3x2.f32 h0, a, b; cvt.rn.relu.satfinite.e5m2x2.f16x2 h0, p1;
cvt.rn.f16x2.e4m3x2 p1, h0;
cvt.pack.sat.s16.s32 p1, i, j; cvt.pack.sat.u8.s32.b32 p2, i, j, 0; cvt.pack.sat.u8.s32.b32 p3, i, j, p2;
cvt.pack.sat.u4.s32.b32 p4, i, j, p1; cvt.pack.sat.s2.s32.b32 p5, i, j, p1;
cvt.f32.f16 f0, h0; cvt.rn.f16.f32 e0, f0; cvt.f32.f16 e0, e0; cvt.u32.u16 r2, %tid.z;
)"},
    {"moves", R"(
mov.f32 d, a; mov.u16 h0, h1; mov.f32 k, 0.1; mov.u64 ptr, gbl+20; mov.u64 ptr, g;
{ .reg .f64 lohi; mov.b64 {r0, r1}, lohi; }
mov.b64 {p1, _}, l0; mov.b128 {l0, l1}, wide; mov.b128 wide, {l0, l1};
{ .reg .b8 o<4>; mov.b32 p1, {o0, o1, o2, o3}; mov.b32 {o0, o1, o2, o3}, p1; }
shfl.sync.up.b32 r0|p, r1, 0x1, 0x0, 0xffffffff;
@p add.f32 x, y, x;
prmt.b32 r1, r2, r3, r0; prmt.b32.f4e r1, r2, r3, r0;
mov.u32 r0, %laneid; mov.u32 r0, %warpid; mov.u32 r0, %nwarpid; mov.u16 h0, %ctaid.y; mov.u16 h0, %ntid.x;
mov.u32 r0, %smid; mov.u32 r0, %nsmid; mov.u64 ptr, %gridid; mov.u32 r0, %gridid;
mov.pred p, %is_explicit_cluster; mov.u32 r0, %clusterid.x; mov.u32 r1, %nclusterid.z;
mov.u32 r0, %cluster_ctaid.x; mov.u32 r1, %cluster_nctaid.z; mov.u32 r0, %cluster_ctarank;
mov.u32 r0, %cluster_nctarank; mov.u32 r0, %lanemask_eq; mov.u32 r0, %lanemask_le;
mov.u32 r0, %lanemask_lt; mov.u32 r0, %lanemask_ge; mov.u32 r0, %lanemask_gt;
mov.u32 r1, %clock; mov.u32 r2, %clock_hi; mov.u64 l1, %clock64; mov.b32 r1, %envreg0;
mov.u64 l1, %globaltimer; mov.u32 r0, %total_smem_size; mov.u32 r0, %dynamic_smem_size;
)"},
    {"loads and stores", R"(
mov.u64 ptr, gbl; mov.u64 sptr, sh; mov.u64 lptr, lcl;
ld.global.f32 d, [ptr]; ld.shared.v4.b32 {e0, e1, e2, e3}, [sptr]; ld.const.s32 i, [cns+4];
ld.local.b32 e0, [lptr+-8]; ld.local.b64 l0, [240];
ld.global.b16 e0, [gbl]; cvt.f32.f16 e0, e0;
ld.global.relaxed.gpu.u32 r0, [gbl]; ld.shared.acquire.gpu.u32 r1, [sh];
ld.global.relaxed.cluster.u32 r2, [gbl]; ld.shared::cta.acquire.gpu.u32 r2, [sh + 4];
ld.shared::cluster.u32 r3, [sh + 8]; ld.global.mmio.relaxed.sys.u32 r3, [gbl];
ld.global.L1::evict_last.u32 r0, [ptr];
ld.global.L2::64B.b32 r0, [gbl]; ld.L2::128B.f64 xd, [ptr]; ld.global.L2::256B.f64 xd, [gbl];
createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 policy, 1.0;
ld.global.L2::cache_hint.b64 l0, [ptr], policy; ld.param::entry.b32 e0, [kparam1];
ld.global.b128 wide, [gbl];
ld.global.nc.f32 d, [ptr]; ld.global.nc.L1::evict_last.u32 r0, [ptr];
createpolicy.fractional.L2::evict_last.b64 policy, 0.5;
ld.global.nc.L2::cache_hint.f32 d, [ptr], policy; ld.global.nc.L2::64B.b32 e0, [ptr];
ld.global.nc.L2::256B.f64 xd, [ptr]; ld.global.nc.b128 wide, [ptr];
ldu.global.f32 d, [ptr]; ldu.global.b32 e0, [ptr+4]; ldu.global.v4.f32 {x, y, z, w}, [ptr];
ldu.global.b128 wide, [ptr];
st.global.f32 [ptr], b; st.local.b32 [lptr+4], e0; st.global.v4.s32 [ptr], {i, j, n, s0};
st.local.b32 [lptr+-8], e0; st.local.s32 [100], i; st.b16 [ptr], e0;
st.global.relaxed.sys.u32 [gbl], r0; st.shared.release.cta.u32 [sh], r1;
st.global.relaxed.cluster.u32 [gbl], r2; st.shared::cta.release.cta.u32 [sh + 4], r1;
st.shared::cluster.u32 [sh + 8], r1; st.global.mmio.relaxed.sys.u32 [gbl], r1;
st.global.L1::no_allocate.f32 [ptr], a; st.global.L2::cache_hint.b32 [ptr], e0, policy;
st.global.b128 [ptr], wide;
)"},
    {"addresses and caches", R"(
prefetch.global.L1 [ptr]; prefetch.global.L2::evict_last [ptr]; prefetchu.L1 [addr];
applypriority.global.L2::evict_normal [ptr], 128; discard.global.L2 [ptr], 128;
ld.weak.u32 r0, [ptr];
createpolicy.fractional.L2::evict_last.b64 policy, 1.0;
createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 policy, 0.5;
createpolicy.fractional.L2::evict_last.b64 policy, f0;
createpolicy.range.L2::evict_last.L2::evict_first.b64 policy, [ptr], 0x100000, 0x200000;
createpolicy.cvt.L2.b64 policy, l0;
isspacep.const p, ptr; isspacep.global p, gptr; isspacep.local p, lptr; isspacep.shared p, sptr;
isspacep.param::entry p, pptr; isspacep.shared::cta p, sptr; isspacep.shared::cluster p, sptr;
isspacep.global p, r0;
cvta.const.u64 ptr, cns; cvta.local.u64 ptr, lptr; cvta.shared::cta.u64 ptr, sh+4;
cvta.shared::cluster.u64 ptr, sh; cvta.to.global.u64 ptr, gptr; cvta.param.u64 ptr, kparam1;
cvta.to.param::entry.u64 pptr, ptr;
mapa.shared::cluster.u64 l1, sptr, r0; mapa.shared::cluster.u32 r2, sh, 3; mapa.u64 l3, ptr, r0;
)"},
    {"atomics", R"(
atom.global.add.s32 i, [ptr], 1; atom.shared::cta.max.u32 r0, [sh+4], 0;
@p atom.global.cas.b32 e0, [ptr], e1, e2; atom.global.sys.add.u32 r0, [ptr], 1;
atom.global.acquire.sys.inc.u32 r0, [gbl], r1;
atom.add.noftz.f16x2 p1, [ptr], p2; atom.add.noftz.f16 hd0, [ptr], h0; atom.global.cas.b16 hd0, [ptr], h0, h1;
atom.add.noftz.bf16 hd0, [ptr], h0; atom.add.noftz.bf16x2 p1, [ptr], p2;
atom.add.shared::cluster.noftz.f16 hd0, [sptr], h0;
atom.global.cluster.relaxed.add.u32 r0, [ptr], 1;
atom.global.add.L2::cache_hint.s32 i, [ptr], 1, policy;
atom.global.v8.bf16.add.noftz {hd0, hd1, hd2, hd3, hd4, hd5, hd6, hd7}, [gbl],
                              {h0, h1, h2, h3, h0, h1, h2, h3};
atom.global.v2.f16.add.noftz {hd0, hd1}, [gbl], {h0, h1};
atom.global.v2.bf16.add.noftz {hd0, hd1}, [gbl], {h0, h1};
atom.global.v4.f32.add {f0, f1, f2, f3}, [gbl], {f0, f1, f2, f3};
atom.global.v2.f32.add {f0, f1}, [gbl], {f0, f1};
atom.global.v2.f16x2.min.noftz {p1, p2}, [gbl], {p3, p4};
atom.add.noftz.v2.f16x2 {p1, p2}, [ptr], {p3, p4};
red.global.add.s32 [ptr], 1; red.shared::cluster.max.u32 [sh+4], 0; @p red.global.and.b32 [ptr], e0;
red.global.sys.add.u32 [ptr], 1; red.add.noftz.f16x2 [ptr], p1; red.add.noftz.bf16 [ptr], h0;
red.add.noftz.bf16x2 [ptr], p1; red.global.cluster.relaxed.add.u32 [ptr], 1;
red.shared::cta.min.u32 [sh+4], 0; red.global.and.L2::cache_hint.b32 [ptr], 1, policy;
red.global.v8.f16.add.noftz [gbl], {h0, h1, h2, h3, h0, h1, h2, h3};
red.global.v2.f16.add.noftz [gbl], {h0, h1}; red.global.v2.bf16.add.noftz [gbl], {h0, h1};
red.global.v4.f16x2.max.noftz [gbl], {p1, p2, p3, p4};
red.global.v4.f32.add [gbl], {f0, f1, f2, f3};
)"},
    {"synchronization", R"(
st.shared.u32 [sh], r1; bar.cta.sync 1; ld.shared.u32 r2, [sh]; bar.cta.sync 1, 96;
setp.eq.u32 p, r1, r2; bar.cta.red.and.pred q, 1, p; bar.cta.red.popc.u32 r3, 1, p;
barrier.cta.sync 0; bar.arrive 0, 64; bar.sync 1, 64; bar.sync 0, 64; bar.arrive 1, 64;
bar.warp.sync 0xffffffff;
barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; fence.acq_rel.cluster;
barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;
membar.gl; membar.cta; membar.sys; fence.sc.cta; fence.sc.cluster; fence.proxy.alias;
membar.proxy.alias; fence.mbarrier_init.release.cluster; fence.proxy.async;
fence.proxy.async.shared::cta; fence.proxy.async.shared::cluster; fence.proxy.async.global;
fence.proxy.tensormap::generic.release.gpu; fence.proxy.tensormap::generic.acquire.gpu [ptr], 128;
vote.sync.all.pred p, q, 0xffffffff; vote.sync.ballot.b32 r1, p, 0xffffffff;
match.any.sync.b32 r0, r1, 0xffffffff; match.all.sync.b64 r0|p, l0, mask;
match.all.sync.b32 _|p, r1, 0xffffffff;
activemask.b32 r1; redux.sync.add.s32 i, j, 0xff; redux.sync.xor.b32 e0, e1, mask;
elect.sync r0|p, 0xffffffff;
griddepcontrol.launch_dependents; griddepcontrol.wait;
)"},
    {"control", R"(
{ add.s32 i, j, n; mov.s32 s0, i; }
@q bra L23; bra.uni L_exit;
L23: call init; call.uni g, (r0); @p call (r2), h, (r0, r1);
nanosleep.u32 r0; nanosleep.u32 42; @p nanosleep.u32 r0;
L1: L2: L3:
ts: .branchtargets L1, L2, L3;
@p brx.idx r0, ts;
.pragma "nounroll";
@p ret; @p exit; @p trap; @p brkpt;
L_exit: exit;
)"},
    {"asynchronous copies", R"(
mov.u64 ptr, gbl; mov.u32 r0, sh;
cp.async.ca.shared.global [sh], [gbl + 4], 4; cp.async.ca.shared::cta.global [r0 + 8], [ptr], 8;
cp.async.cg.shared.global [r0], [ptr], 16; cp.async.cg.shared.global.L2::64B [r0], [ptr], 16;
cp.async.cg.shared.global.L2::128B [r0 + 16], [ptr], 16;
cp.async.cg.shared.global.L2::256B [r0 + 32], [ptr], 16;
cp.async.ca.shared.global.L2::cache_hint [r0], [ptr], 4, policy;
cp.async.ca.shared.global [sh], [gbl], 4, p; cp.async.cg.shared.global.L2::cache_hint [r0], [ptr], 16, q, policy;
cp.async.commit_group; cp.async.wait_all; cp.async.wait_group 1;
)"},
    {"matrices", R"(
.reg .u64 at; .reg .b32 d<8>, m<4>;
mov.u64 at, sh;
ldmatrix.sync.aligned.m8n8.x4.b16 {d0, d1, d2, d3}, [at];
ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {d0}, [at];
ldmatrix.sync.aligned.m8n8.x2.b16 {d0, d1}, [at];
stmatrix.sync.aligned.m8n8.x4.b16 [at], {d0, d1, d2, d3};
stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [at], {d0};
movmatrix.sync.aligned.m8n8.trans.b16 d0, d1;
mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {f0, f1, f2, f3}, {d0, d1}, {d2}, {f4, f5, f6, f7};
mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {d0, d1}, {d0, d1, d2, d3}, {d4, d5}, {d6, d7};
mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {f0, f1, f2, f3}, {d0, d1, d2, d3}, {d4, d5}, {f4, f5, f6, f7};
mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {f0, f1, f2, f3}, {d0, d1}, {d2}, {f4, f5, f6, f7};
mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {f0, f1, f2, f3}, {d0, d1}, {d2}, {f4, f5, f6, f7};
mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {f0, f1, f2, f3}, {d0, d1, d2, d3}, {d4, d5}, {f4, f5, f6, f7};
mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {f0, f1, f2, f3}, {d0, d1, d2, d3}, {d4, d5}, {f4, f5, f6, f7};
mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {f0, f1, f2, f3}, {d0, d1, d2, d3}, {d4, d5}, {f4, f5, f6, f7};
mma.sync.aligned.m8n8k16.row.col.satfinite.s32.s8.u8.s32 {i, j}, {d0}, {d1}, {n, s0};
mma.sync.aligned.m8n8k32.row.col.satfinite.s32.u4.u4.s32 {i, j}, {d0}, {d1}, {n, s0};
mma.sync.aligned.m16n8k16.row.col.satfinite.s32.s8.u8.s32 {i, j, n, s0}, {d0, d1}, {d2}, {i, j, n, s0};
mma.sync.aligned.m16n8k32.row.col.satfinite.s32.u4.s4.s32 {i, j, n, s0}, {d0, d1}, {d2}, {i, j, n, s0};
mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32 {i, j, n, s0}, {d0, d1, d2, d3}, {d4, d5}, {i, j, n, s0};
mma.sync.aligned.m16n8k64.row.col.satfinite.s32.u4.u4.s32 {i, j, n, s0}, {d0, d1, d2, d3}, {d4, d5}, {i, j, n, s0};
mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.and.popc {i, j}, {d0}, {d1}, {n, s0};
mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc {i, j, n, s0}, {d0, d1, d2, d3}, {d4, d5}, {i, j, n, s0};
mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.and.popc {i, j, n, s0}, {d0, d1}, {d2}, {i, j, n, s0};
mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {A, B}, {C}, {D}, {A, B};
mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {A, B, C, D}, {xd, yd}, {zd}, {A, B, C, D};
)"},
};

TEST(CudaExamplesOfFamilies, Load) {
  Gpu gpu;
  for (const Family& family : kFamilies) {
    std::string log;
    EXPECT_EQ(load_text(kernel_of(family.code), &log), CUDA_SUCCESS) << family.name << ": " << log;
  }
}

/// Examples with modules of their own: functions, directives, variables.
const char* const kModules[] = {
    // .entry, .param, .maxntid and others
    R"(
.entry filter(.param .b32 x, .param .b32 y, .param .b32 z) {
  .reg .b32 %r<99>;
  ld.param.b32 %r1, [x]; ld.param.b32 %r2, [y]; ld.param.b32 %r3, [z]; ret;
}
.entry prefix_sum(.param .align 4 .s32 pitch[800]) {
  .reg .s32 %t;
  ld.param::entry.s32 %t, [pitch]; ret;
}
.entry foo(.param .b32 N, .param .align 8 .b8 buffer[64]) {
  .reg .u32 %n; .reg .f64 %d;
  ld.param.u32 %n, [N]; ld.param.f64 %d, [buffer]; ret;
}
.entry bar(.param .b32 len) {
  .reg .u32 %n; .reg .u64 %ptr;
  mov.u64 %ptr, len; ld.param.u32 %n, [%ptr]; ret;
}
.entry pointers(.param .u64 param1, .param .u64 .ptr.global.align 16 param2,
                .param .u64 .ptr.const.align 8 param3, .param .u64 .ptr.align 16 param4) { ret; }
.entry e1 .maxnreg 16 { ret; }
.entry e2 .maxntid 256 { ret; }
.entry e3 .maxntid 16,16,4 { ret; }
.entry e4 .reqntid 256 { ret; }
.entry e5 .reqntid 16,16,4 { ret; }
.entry e6 .maxntid 256 .minnctapersm 4 { ret; }
.entry e8 .pragma "nounroll"; { ret; }
.pragma "nounroll";
)",
    // .func, .noreturn, .alias, arrays of parameters
    R"(
.func (.reg .b32 rval) foo(.reg .b32 N, .reg .f64 dbl) {
  .reg .b32 localVar;
  mov.b32 localVar, N; mov.b32 rval, localVar; ret;
}
.func end(.reg .b32 N, .reg .f64 dbl) .noreturn { exit; }
.func (.param .u32 rval) bar(.param .u32 N, .param .align 4 .b8 numbers[8]) {
  .reg .b32 input0, input1;
  ld.param.b32 input0, [numbers + 0]; ld.param.b32 input1, [numbers + 4];
  st.param.b32 [rval], input0; ret;
}
.func structure(.reg .b32 N, .param .align 8 .b8 buffer[12]) {
  .reg .f64 %d; .reg .s32 %y;
  ld.param.f64 %d, [buffer]; ld.param.s32 %y, [buffer+8]; ret;
}
.func array(.param .b32 N, .param .align 4 .b8 buffer[128]) {
  .reg .u32 %n, %r; .reg .u64 %at; .reg .f32 %f; .reg .pred %p;
  ld.param.u32 %n, [N]; mov.u64 %at, buffer;
Loop:
  setp.eq.u32 %p, %n, 0;
  @%p bra Done;
  ld.local.f32 %f, [%at]; add.u64 %at, %at, 4; sub.u32 %n, %n, 1; bra Loop;
Done:
  ret;
}
.visible .func original(.param .u32 p) { ret; }
.visible .func other(.param .u32 p);
.alias other, original;
.entry test() {
  .reg .b32 fooval, val0; .reg .f64 val1; .reg .f64 dbl; .reg .s32 x;
  call (fooval), foo, (val0, val1);
  { .param .u32 rval; .param .u32 N; .param .align 4 .b8 numbers[8];
    st.param.u32 [N], 2; st.param.b32 [numbers + 0], 5; st.param.b32 [numbers + 4], 10;
    call (rval), bar, (N, numbers); }
  { .param .align 8 .b8 mystruct[12];
    st.param.f64 [mystruct+0], dbl; st.param.s32 [mystruct+8], x;
    call structure, (4, mystruct); }
  { .param .u32 p; st.param.u32 [p], 1; call original, (p); call other, (p); }
  call end, (val0, val1);
  ret;
}
)",
    // Calls by address
    R"(
.func (.reg .u32 rv) foo(.reg .u32 a, .reg .u32 b) { mov.u32 rv, a; ret; }
.func (.reg .u32 rv) bar(.reg .u32 a, .reg .u32 b) { mov.u32 rv, b; ret; }
.func (.reg .u32 rv) baz(.reg .u32 a, .reg .u32 b) { add.u32 rv, a, b; ret; }
.func sink(.param .u32 a, .param .u32 b) { ret; }
.global .u64 jmptbl[5] = { foo, bar, baz };
.entry k() {
  .reg .u64 %r0, %fptr; .reg .u32 retval, x, y; .reg .pred p, q;
  @p ld.global.u64 %r0, [jmptbl+8];
  @q ld.global.u64 %r0, [jmptbl+16];
  call (retval), %r0, (x, y), jmptbl;
  @p mov.u64 %r0, foo;
  @q mov.u64 %r0, baz;
Ftgt: .calltargets foo, bar, baz;
  call (retval), %r0, (x, y), Ftgt;
  mov.u64 %fptr, sink;
Fproto: .callprototype _ (.param .u32 _, .param .u32 _);
  call %fptr, (x, y), Fproto;
Fproto1: .callprototype _ ;
Fproto2: .callprototype _ (.param .f32 _);
Fproto3: .callprototype (.param .u32 _) _ ;
Fproto4: .callprototype (.param .u32 _) _ (.param .f32 _);
Fproto5: .callprototype _ (.param .b8 _[12]);
Fproto6: .callprototype _ (.param .f32 _) .noreturn;
  ret;
}
)",
    // Lists of labels with a common prefix
    R"(
.entry bar() {
  .reg .u32 %r0; .reg .pred p;
N0: N1: N2: N3: N4:
ts: .branchtargets N<5>;
  @p brx.idx %r0, ts;
  ret;
}
)",
    // Variables, initializers, alignment, attributes, linking
    R"(
.global .u32 loc;
.const .f32 bias[] = {-1.0, 1.0};
.global .u8 bg[4] = {0, 0, 0, 0};
.global .v4 .f32 V;
.shared .v2 .u16 uv;
.global .v4 .b8 v;
.shared .u8 mailbox[128];
.global .u32 index[] = { 0, 1, 2, 3, 4, 5, 6, 7 };
.global .s32 offset[][2] = { {-1, 0}, {0, -1}, {1, 0}, {0, 1} };
.const .f32 vals[8] = { 0.33, 0.25, 0.125 };
.global .s32 x[3][2] = { {1,2}, {3} };
.const .u32 foo = 42;
.global .u32 bar[] = { 2, 3, 5 };
.global .u64 p1 = foo;
.global .u64 p2 = generic(foo);
.global .u64 parr[] = { generic(bar), generic(bar)+4, generic(bar)+8 };
.global .u8 addr[] = {0xff(foo), 0xff00(foo), 0xff0000(foo)};
.global .u8 addr2[] = {0xff(foo+4), 0xff00(foo+4), 0xff0000(foo+4)};
.global .u8 addr3[] = {0xff(generic(foo)), 0xff00(generic(foo))};
.global .u8 addr4[] = {0xff(generic(foo)+4), 0xff00(generic(foo)+4)};
.global .u8 addr5[] = { 0xFF(1000 + 546), 0xFF00(131187) };
.global .f32 blur_kernel[][3] = {{.05,.1,.05},{.1,.4,.1},{.05,.1,.05}};
.const .align 4 .b8 aligned[8] = {0,0,0,0,2,0,0,0};
.global .attribute(.managed) .s32 g;
.visible .global .b32 seen;
.entry k() { .local .u16 kernel[19][19]; .reg .v4 .f32 accel; .reg .pred p, q, r; ret; }
)",
    // Debug information
    R"(
.file 1 "example.cu"
.file 2 "kernel.cu"
.global .u32 gg;
.entry k() {
  .reg .u32 %r<4>; .reg .pred %p<3>;
.loc 2 4237 0
L1:
  mov.u32 %r1, %r2;
  add.u32 %r2, %r1, %r3;
L2:
.loc 2 4239 5
  sub.u32 %r2, %r1, %r3;
.loc 1 21 3
.loc 1 9 3, function_name info_string0, inlined_at 1 21 3
  ld.global.u32 %r1, [gg];
.loc 1 27 3
.loc 1 10 5, function_name info_string1, inlined_at 1 27 3
.loc 1 15 3, function_name .debug_str+16, inlined_at 1 10 5
  setp.ne.s32 %p2, %r1, 18;
  @%p2 bra L1;
  ret;
}
.section .debug_str {
info_string0:
  .b8 95
  .b8 90
info_string1:
  .b8 51
  .b8 0
}
.section .debug_pubnames {
  .b32 LpubNames_end0-LpubNames_begin0
LpubNames_begin0:
  .b8 0x2b, 0x00, 0x00, 0x00, 0x02, 0x00
  .b32 .debug_info
info_label1:
  .b32 0x000006b5, 0x00000364, 0x61395a5f, 0x5f736f63
  .b8 0x00, 0x00, 0x00, 0x00, 0x00
LpubNames_end0:
}
.section .debug_info {
  .b32 11430
  .b8 2, 0
  .b32 .debug_abbrev
  .b32 info_label1
  .b32 .debug_loc+0x4
  .b8 -11, 11, 112, 97
  .b32 info_label1+12
  .b64 -1
  .b16 -5, -655
}
)"};

TEST(CudaExamplesOfModules, Load) {
  Gpu gpu;
  for (const char* text : kModules) {
    std::string log;
    EXPECT_EQ(load_text(module(text, "9.0"), &log), CUDA_SUCCESS) << text << ": " << log;
  }
}

TEST(CudaExamplesOfFamilies, LoadForANewerTarget) {
  Gpu gpu("b200");
  std::string log;
  for (const char* code :
       {"redux.sync.min.abs.NaN.f32 x, y, mask;", "add.rp.ftz.f32x2 l0, l1, l2;",
        "fma.rp.ftz.f32x2 l0, l1, l2, l3;", "atom.shared.b128.cas wide, [sh], wide, wide1;",
        "atom.global.b128.exch wide, [gbl], wide1;",
        "{ .reg .b8 small; cvt.rn.relu.f16x2.e2m1x2 p1, small; }",
        "cvt.rn.satfinite.e2m3x2.f32 h0, f0, f1;", "cvt.rn.relu.f16x2.e3m2x2 p1, h0;",
        "ld.f32 d, [ptr].unified;", "cvt.rs.f16x2.f32 p1, f0, f1, p2;",
        "cvt.rs.satfinite.e2m1x4.f32 h0, {f0, f1, f2, f3}, p2;",
        "ld.global.L2::evict_last.v8.f32 {f0, _, f2, f3, f4, f5, f6, f7}, [addr];"}) {
    EXPECT_EQ(load_text(kernel_of(code, "9.0", "sm_100a"), &log), CUDA_SUCCESS)
        << code << ": " << log;
  }
}

/// Examples that the document's grammar does not have: a rounding or a type is absent, a state
/// space cannot have the access, or two operands do not fit.
TEST(CudaExamplesOfFamilies, RefusesThoseWithoutAGrammar) {
  Gpu gpu;
  for (const char* code :
       {"cvt.f32.s32 f0, i;", "cvt.s32.f64 j, xd;", "cvt.f16.f32 e0, e0;", "mad.f32 d, a, b, c;",
        "st.shared [r0], r1;", "red.global.acquire.sys.add.u32 [gbl], 1;",
        "red.global.v2.f32.add {f0, f1}, [gbl], {f0, f1};", "ld.local.volatile.u32 r0, [lcl];",
        "st.local.volatile.u32 [lcl], r0;", "ld.gloal.nc.L1::evict_last.u32 r0, [ptr];",
        "createpolicy.fractional.L2::evict_last.b64 policy, 1;",
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {f0, f1, f2, f3}, {e0, e1}, {e0}, {f0, "
        "f1, f2, f3};"}) {
    std::string log;
    EXPECT_EQ(load_text(kernel_of(code), &log), CUDA_ERROR_INVALID_PTX) << code;
    EXPECT_NE(log, "") << code;
  }
}

/// Examples for newer targets, or with forms that the twin's README counts as missing.
TEST(CudaExamplesOfFamilies, RefusesThoseThatAreMissing) {
  Gpu gpu("b200");
  for (const char* code :
       {"fma.rn.oob.f16 h0, h1, h2, h3;", "fma.rn.oob.relu.bf16x2 p1, p2, p3, p4;",
        "prefetch.const.tensormap [ptr];",
        "mma.sync.aligned.m16n8k32.row.col.f16.e4m3.e5m2.f16 {p1, p2}, {p1, p2, p3, p4}, {p5, p6}, "
        "{p1, p2};",
        "st.async.sys.release.global.u32 [gbl], r0;"}) {
    std::string log;
    EXPECT_EQ(load_text(kernel_of(code, "9.0", "sm_100a"), &log), CUDA_ERROR_INVALID_PTX) << code;
    EXPECT_NE(log, "") << code;
  }
}

/// The document's scan and its reduction, with the sums of a host loop.
TEST(CudaExamplesOfFamilies, ScanAndReduceByShuffles) {
  Gpu gpu;
  std::string scan = "mov.b32 %d, %a;";
  std::string sum = "mov.b32 %d, %a;";
  for (const char* step : {"1", "2", "4", "8", "16"}) {
    scan +=
        "shfl.sync.up.b32 %r0|%p0, %d, " + std::string(step) + ", 0, -1; @%p0 add.u32 %d, %r0, %d;";
    sum += "shfl.sync.bfly.b32 %r0, %d, " + std::string(step) + ", 31, -1; add.u32 %d, %r0, %d;";
  }
  std::vector<uint32_t> values, partial;
  uint32_t total = 0;
  for (uint32_t i = 0; i < 32; ++i) {
    values.push_back(i * i + 3);
    partial.push_back(total += values.back());
  }
  EXPECT_EQ(lanes<uint32_t>(scan, values), partial);
  EXPECT_EQ(lanes<uint32_t>(sum, values), std::vector<uint32_t>(32, total));
}

/// Its examples write them so. Parts of a name come first all the same.
TEST(CudaExamplesOfFamilies, ModifiersMayBeInAnyOrder) {
  Gpu gpu;
  const std::vector<uint32_t> huge = {0x7F000000u}, tiny = {1u};
  EXPECT_EQ(lanes<uint32_t>("add.f32.sat.rn %d, %a, %a", huge)[0], 0x3F800000u);
  EXPECT_EQ(lanes<uint32_t>("mul.f32.ftz %d, %a, 0f3F800000", tiny)[0], 0u);
  EXPECT_EQ(lanes<uint32_t>("min.NaN.ftz.f32 %d, %a, 0f7FC00000", tiny)[0], 0x7FFFFFFFu);
  EXPECT_EQ(lanes<uint32_t>("cvt.u32.f32.rpi %d, %a", tiny)[0], 1u);
  EXPECT_EQ(lanes<uint32_t>("setp.u32.lt %p0, %a, 2; selp.u32 %d, 5, 6, %p0", tiny)[0], 5u);
  EXPECT_EQ(lanes<uint32_t>("prmt.f4e.b32 %d, %a, %a, 1", std::vector<uint32_t>{0x04030201u})[0],
            0x01040302u);
  expect_refused(
      {"mul.u32.lo %d, %a, %b", "shf.clamp.l.b32 %d, %a, %b, %c", "brx.uni.idx %d, ts",
       "bar.popc.red.u32 %d, 0, %p0", "cvta.global.to.u64 %l0, %l1",
       "createpolicy.L2::evict_last.fractional.b64 %l0", "div.f32.full %d, %a, %b",
       "cp.async.ca.global.shared [%r0], [%l0], 4", "dp2a.u32.lo.u32 %d, %a, %b, %c",
       "mma.sync.aligned.m8n8k16.col.row.s32.s8.s8.s32 {%r0, %r1}, {%a}, {%b}, {%r0, %r1}"});
}

/// Each of these once was accepted, or refused, against the grammar of the document.
TEST(CudaExamplesOfFamilies, RefusesModifiersThatExcludeEachOther) {
  Gpu gpu;
  expect_refused(
      {"ld.shared.L1::evict_last.u32 %d, [%r0]",
       "ld.local.L2::cache_hint.u32 %d, [%r0], %l0",
       "ld.param.L2::128B.u32 %d, [in0]",
       "ld.global.ca.L1::evict_last.u32 %d, [%l0]",
       "ld.volatile.global.cg.u32 %d, [%l0]",
       "ld.weak.global.nc.u32 %d, [%l0]",
       "ld.relaxed.gpu.local.u32 %d, [%r0]",
       "ld.mmio.relaxed.sys.shared.u32 %d, [%r0]",
       "ld.mmio.relaxed.sys.global.v2.u32 {%r0, %r1}, [%l0]",
       "ld.volatile.L1::evict_last.u32 %d, [%l0]",
       "st.global.L2::128B.u32 [%l0], %a",
       "st.release.gpu.local.u32 [%r0], %a",
       "st.global.v2.b16 [%l0], {%h0, %r0}",
       "prefetch.local.L2::evict_last [%l0]",
       "atom.shared.add.L2::cache_hint.u32 %d, [%r0], 1, %l0",
       "atom.global.cas.L2::cache_hint.b32 %d, [%l0], %a, %b, %l1",
       "cp.async.ca.shared.global [%r0], [%l0], 16, 17",
       "cp.async.ca.shared.global.L1::evict_last [%r0], [%l0], 16",
       "createpolicy.range.L2::evict_last.b64 %l0, [%l1], 8192, 4096",
       "bar.arrive 0, 0",
       "shfl.sync.up.b32 _|%p0, %a, 1, 0, -1",
       "setp.lt.f16 %p0|%p1, %h0, %h1",
       "ldmatrix.sync.aligned.m8n8.x1.shared.b16 %d, [%r0]",
       "add.u32 %d, %a, %tid.x",
       "mov.b32 %d, %clock64",
       "add.f16x2 %d, %a, 1.0",
       "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r0, %r1}, {%f0}, {%b}, {%r0, %r1}"});
}

/// cvt.pack: d = {c, a, b} from the upper bits on, saturated, as its examples comment.
TEST(CudaExamplesOfFamilies, PackFourBytes) {
  Gpu gpu;
  const std::vector<uint32_t> packed = lanes<uint32_t>(
      "cvt.pack.sat.u8.s32.b32 %r0, 300, -5, 0; cvt.pack.sat.u8.s32.b32 %d, 7, 9, %r0");
  EXPECT_EQ(packed[0], 0xFF000709u);
}

}  // namespace
}  // namespace examples_test
