// Branches, divergence, calls and the ends of threads.
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "support.h"

namespace control_test {

using twin_test::Buffer;
using twin_test::Dim;
using twin_test::Gpu;
using twin_test::lanes;
using twin_test::launch;
using twin_test::module;

using Words = std::vector<std::uint32_t>;

Words numbers(std::uint32_t count = 32) {
  Words values(count);
  std::iota(values.begin(), values.end(), 0u);
  return values;
}

/// One kernel that has the address of a buffer of words in %out, and %tid.x in %t.
std::string kernel(const std::string& code, const std::string& before = "") {
  return module(before +
                "\n.visible .entry k(.param .u64 p) {\n"
                "  .reg .pred %p<8>;\n  .reg .b32 %r<32>, %t;\n  .reg .b64 %l<16>, %out, %mine;\n"
                "  ld.param.u64 %out, [p];\n  mov.u32 %t, %tid.x;\n"
                "  mad.wide.u32 %mine, %t, 4, %out;\n" +
                code + "\n}\n");
}

CUresult run(const std::string& ptx, Buffer<std::uint32_t>& out, Dim grid = Dim(1),
             Dim block = Dim(32), std::string* log = nullptr) {
  const CUresult code = launch(ptx, "k", grid, block, {&out.address}, 0, log);
  return code;
}

/// The reason of a launch that must fail with `code`.
std::string failure(const std::string& ptx, CUresult code, Dim block = Dim(32)) {
  Gpu gpu;
  Buffer<std::uint32_t> out(64, 0);
  std::string log;
  EXPECT_EQ(run(ptx, out, Dim(1), block, &log), code) << log << cuda_twin_last_message();
  return cuda_twin_last_fault();
}

TEST(Control, BothSidesOfABranchRunForTheirLanes) {
  Gpu gpu;
  const auto d = lanes<std::uint32_t>(
      "setp.lt.u32 %p0, %a, 10;\n@%p0 bra LESS;\nadd.u32 %d, %a, 100;\nbra JOIN;\n"
      "LESS: add.u32 %d, %a, 200;\nJOIN: add.u32 %d, %d, 1000;",
      numbers());
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(d[i], i + 1000 + (i < 10 ? 200 : 100)) << i;
}

TEST(Control, LoopsOfDifferentLengthsJoinAgain) {
  Gpu gpu;
  // Lane i adds 1 + 2 + ... + i, and then all lanes are active.
  const auto d = lanes<std::uint32_t>(
      "mov.u32 %r0, 0;\nmov.u32 %r1, %a;\n"
      "LOOP: setp.eq.u32 %p0, %r1, 0;\n@%p0 bra DONE;\nadd.u32 %r0, %r0, %r1;\n"
      "sub.u32 %r1, %r1, 1;\nbra LOOP;\nDONE: activemask.b32 %r2;\n"
      "setp.eq.u32 %p1, %r2, 0xffffffff;\nselp.u32 %r3, 1000, 0, %p1;\nadd.u32 %d, %r0, %r3;",
      numbers());
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(d[i], 1000 + i * (i + 1) / 2) << i;
}

TEST(Control, NestedLoopsCountEachLane) {
  Gpu gpu;
  const auto d = lanes<std::uint32_t>(
      "mov.u32 %d, 0;\nmov.u32 %r0, 0;\n"
      "OUTER: setp.ge.u32 %p0, %r0, %a;\n@%p0 bra DONE;\nmov.u32 %r1, 0;\n"
      "INNER: setp.ge.u32 %p1, %r1, %r0;\n@%p1 bra NEXT;\nadd.u32 %d, %d, 1;\n"
      "add.u32 %r1, %r1, 1;\nbra INNER;\nNEXT: add.u32 %r0, %r0, 1;\nbra OUTER;\nDONE:",
      numbers());
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(d[i], i == 0 ? 0 : i * (i - 1) / 2) << i;
}

TEST(Control, IndexedBranchSendsEachLaneToItsTarget) {
  Gpu gpu;
  const auto d = lanes<std::uint32_t>(
      "rem.u32 %r0, %a, 3;\nTS: .branchtargets ZERO, ONE, TWO;\n"
      "brx.idx %r0, TS;\nZERO: mov.u32 %d, 7;\nbra JOIN;\nONE: mov.u32 %d, 17;\nbra JOIN;\n"
      "TWO: mov.u32 %d, 27;\nJOIN: add.u32 %d, %d, %a;",
      numbers());
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(d[i], 7 + 10 * (i % 3) + i) << i;
}

TEST(Control, GuardedIndexedBranchLeavesTheOtherLanes) {
  Gpu gpu;
  const auto d = lanes<std::uint32_t>(
      "TS: .branchtargets ZERO, ONE;\nand.b32 %r0, %a, 1;\nsetp.lt.u32 %p0, %a, 8;\n"
      "@%p0 brx.idx %r0, TS;\nmov.u32 %d, 5;\nbra JOIN;\nZERO: mov.u32 %d, 6;\nbra JOIN;\n"
      "ONE: mov.u32 %d, 7;\nJOIN: add.u32 %d, %d, 0;",
      numbers());
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(d[i], i < 8 ? 6 + i % 2 : 5) << i;
}

TEST(Control, IndexedBranchOutOfItsTargetsIsAnError) {
  const std::string reason =
      failure(kernel("TS: .branchtargets A, B;\nbrx.idx %t, TS;\nA: ret;\nB: ret;"),
              CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_NE(reason.find("brx.idx 2 of 2 targets"), std::string::npos) << reason;
  EXPECT_NE(reason.find("thread (2,0,0)"), std::string::npos) << reason;
}

TEST(Control, UniformBranchThatDivergesIsReported) {
  const std::string reason = failure(
      kernel("setp.lt.u32 %p0, %t, 4;\n@%p0 bra.uni L;\nst.global.u32 [%mine], %t;\nL: ret;"),
      CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_NE(reason.find("uniform"), std::string::npos) << reason;
}

// --- Calls

const char* const kAddThree =
    ".func (.param .b32 result) add3(.param .b32 x, .param .b32 y) {\n"
    "  .reg .b32 %r<4>;\n  ld.param.b32 %r0, [x];\n  ld.param.b32 %r1, [y];\n"
    "  add.u32 %r2, %r0, %r1;\n  add.u32 %r2, %r2, 3;\n  st.param.b32 [result], %r2;\n  ret;\n}\n";

TEST(Control, CallPassesParametersAndResult) {
  Gpu gpu;
  Buffer<std::uint32_t> out(32, 0);
  TWIN_OK(run(kernel("{\n.param .b32 a;\n.param .b32 b;\n.param .b32 c;\nst.param.b32 [a], %t;\n"
                     "st.param.b32 [b], 1000;\ncall.uni (c), add3, (a, b);\n"
                     "ld.param.b32 %r0, [c];\n}\nst.global.u32 [%mine], %r0;\nret;",
                     kAddThree),
              out));
  const auto d = out.read();
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(d[i], i + 1003) << i;
}

TEST(Control, CallPassesVectors) {
  Gpu gpu;
  Buffer<std::uint32_t> out(32, 0);
  TWIN_OK(run(
      kernel("mul.lo.u32 %r0, %t, 3;\n{\n.param .align 16 .b8 a[16];\n.param .align 8 .b8 b[8];\n"
             "st.param.v4.b32 [a], {%t, %r0, 7, %t};\ncall.uni (b), weigh, (a);\n"
             "ld.param.v2.b32 {%r1, %r2}, [b];\n}\nmad.lo.u32 %r1, %r2, 10000, %r1;\n"
             "st.global.u32 [%mine], %r1;\nret.uni;",
             ".func (.param .align 8 .b8 result[8]) weigh(.param .align 16 .b8 x[16]) {\n"
             "  .reg .b32 %r<6>;\n  .reg .b64 %l<2>;\n"
             "  ld.param.v4.u32 {%r0, %r1, %r2, %r3}, [x];\n"
             "  mad.lo.u32 %r4, %r1, 100, %r0;\n  ld.param.v2.b64 {_, %l0}, [x];\n"
             "  mov.b64 {%r2, %r3}, %l0;\n  mad.lo.u32 %r5, %r3, 10, %r2;\n"
             "  st.param.v2.b32 [result], {%r4, %r5};\n  ret.uni;\n}\n"),
      out));
  const auto d = out.read();
  for (std::uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(d[i], (i * 10 + 7) * 10000 + i * 3 * 100 + i) << i;
  }
}

TEST(Control, VectorsOfAKernelsParametersAndOfConstants) {
  Gpu gpu;
  struct alignas(16) Numbers {
    std::uint32_t values[4];
    std::uint16_t halves[4];
  } numbers = {{1, 20, 300, 4000}, {50000, 6, 7, 8}};
  const std::string text = module(
      ".const .align 16 .u32 table[4] = {5, 60, 700, 8000};\n"
      ".visible .entry k(.param .u64 p, .param .align 16 .b8 v[32]) {\n"
      "  .reg .b32 %r<12>;\n  .reg .b16 %h<4>;\n  .reg .b64 %l<4>;\n"
      "  ld.param.v4.u32 {%r0, %r1, %r2, %r3}, [v];\n"
      "  ld.param.v4.u16 {%h0, %h1, %h2, %h3}, [v+16];\n  ld.param.v2.b64 {%l1, _}, [v];\n"
      "  ld.const.v4.u32 {%r4, %r5, %r6, %r7}, [table];\n"
      "  ld.const.v2.b32 {%r8, %r9}, [table+8];\n  ld.param.u64 %l0, [p];\n"
      "  st.global.v4.u32 [%l0], {%r3, %r2, %r1, %r0};\n"
      "  st.global.v4.u16 [%l0+16], {%h3, %h2, %h1, %h0};\n  st.global.u64 [%l0+24], %l1;\n"
      "  st.global.v4.u32 [%l0+32], {%r7, %r6, %r5, %r4};\n"
      "  st.global.v2.u32 [%l0+48], {%r9, %r8};\n  ret;\n}\n");
  Buffer<std::uint32_t> out(14, 0);
  std::string log;
  ASSERT_EQ(launch(text, "k", Dim(1), Dim(1), {&out.address, &numbers}, 0, &log), CUDA_SUCCESS)
      << log << cuda_twin_last_fault();
  EXPECT_EQ(out.read(), (Words{4000, 300, 20, 1, 8 | 7 << 16, 6 | 50000u << 16, 1, 20, 8000, 700,
                               60, 5, 8000, 700}));
}

TEST(Control, CallWithRegistersOfTheAbi1) {
  Gpu gpu;
  Buffer<std::uint32_t> out(32, 0);
  TWIN_OK(
      run(kernel("call (%r0), twice, (%t);\nst.global.u32 [%mine], %r0;\nret;",
                 ".func (.reg .b32 %o) twice(.reg .b32 %i) {\n  add.u32 %o, %i, %i;\n  ret;\n}\n"),
          out));
  const auto d = out.read();
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(d[i], 2 * i) << i;
}

TEST(Control, CallOfSomeLanesKeepsTheRegistersOfTheOthers) {
  Gpu gpu;
  Buffer<std::uint32_t> out(32, 0);
  TWIN_OK(run(kernel("mov.u32 %r0, 77;\nsetp.lt.u32 %p0, %t, 5;\n@!%p0 bra L;\n"
                     "{\n.param .b32 a;\n.param .b32 b;\n.param .b32 c;\nst.param.b32 [a], %t;\n"
                     "st.param.b32 [b], %t;\ncall (c), add3, (a, b);\nld.param.b32 %r0, [c];\n}\n"
                     "L: activemask.b32 %r1;\nsetp.ne.u32 %p1, %r1, 0xffffffff;\n"
                     "@%p1 mov.u32 %r0, 1;\nst.global.u32 [%mine], %r0;\nret;",
                     kAddThree),
              out));
  const auto d = out.read();
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(d[i], i < 5 ? 2 * i + 3 : 77) << i;
}

/// Writes its parameter's place and its own variable, which may lie `beyond` the latter.
std::string stores(const std::string& beyond) {
  return ".func touch(.param .b64 at) {\n  .local .align 16 .b8 own[16];\n  .reg .b64 %l<2>;\n"
         "  ld.param.b64 %l0, [at];\n  st.local.u32 [%l0], 7;\n  st.local.u32 [own+" +
         beyond + "], 8;\n  ret;\n}\n";
}

TEST(Control, StackOfACallHasTheFramesOfItsCallersOnly) {
  const std::string call =
      ".local .align 16 .b8 mine[16];\nmov.u64 %l0, mine;\n{\n.param .b64 a;\n"
      "st.param.b64 [a], %l0;\ncall.uni touch, (a);\n}\nld.local.u32 %r0, [mine];\n"
      "st.global.u32 [%mine], %r0;\nret;";
  {
    Gpu gpu;
    Buffer<std::uint32_t> out(32, 0);
    TWIN_OK(run(kernel(call, stores("0")), out));
    EXPECT_EQ(out.read(), Words(32, 7));
  }
  // The frame: a pointer of 8 bytes, then 16 bytes at the next multiple of 16.
  const std::string callee = failure(kernel(call, stores("16")), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_NE(callee.find("st.local.u32 [own+16], 8;"), std::string::npos) << callee;
  EXPECT_NE(callee.find("out-of-bounds write of 4 bytes: local address"), std::string::npos);
  // A function that the kernel does not call changes nothing.
  const std::string alone = failure(
      kernel(".local .align 16 .b8 mine[16];\nst.local.u32 [mine+16], %t;\nret;", stores("0")),
      CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_NE(alone.find("local address 0x10, and a thread has 16 bytes"), std::string::npos)
      << alone;
}

/// factorial(n), by recursion.
const char* const kFactorial =
    ".func (.param .b32 result) factorial(.param .b32 n) {\n"
    "  .reg .b32 %r<8>;\n  .reg .pred %p<2>;\n  ld.param.b32 %r0, [n];\n"
    "  setp.le.u32 %p0, %r0, 1;\n  mov.u32 %r1, 1;\n  @%p0 bra DONE;\n  sub.u32 %r2, %r0, 1;\n"
    "  {\n  .param .b32 a;\n  .param .b32 b;\n  st.param.b32 [a], %r2;\n"
    "  call.uni (b), factorial, (a);\n  ld.param.b32 %r3, [b];\n  }\n  mul.lo.u32 %r1, %r0, %r3;\n"
    "  DONE: st.param.b32 [result], %r1;\n  ret;\n}\n";

std::string call_factorial(const std::string& argument) {
  return kernel(argument +
                    "\n{\n.param .b32 a;\n.param .b32 b;\nst.param.b32 [a], %r0;\n"
                    "call.uni (b), factorial, (a);\nld.param.b32 %r1, [b];\n}\n"
                    "st.global.u32 [%mine], %r1;\nret;",
                kFactorial);
}

TEST(Control, RecursionOfDifferentDepths) {
  Gpu gpu;
  Buffer<std::uint32_t> out(32, 0);
  TWIN_OK(run(call_factorial("and.b32 %r0, %t, 7;\nadd.u32 %r0, %r0, 1;"), out));
  const Words expected = {1, 2, 6, 24, 120, 720, 5040, 40320};
  const auto d = out.read();
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(d[i], expected[i % 8]) << i;
}

TEST(Control, RecursionWithoutEndIsAStackOverflow) {
  const std::string reason =
      failure(call_factorial("mov.u32 %r0, 1000000;"), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_NE(reason.find("stack overflow"), std::string::npos) << reason;
}

/// 1 + 2 + ... + n, by recursion; `bottom` is what the last call does. A frame has 16 bytes.
std::string triangle(const std::string& bottom) {
  return ".func (.param .b32 result) triangle(.param .b32 n) {\n"
         "  .reg .b32 %r<8>;\n  .reg .pred %p<2>;\n  ld.param.b32 %r0, [n];\n"
         "  mov.u32 %r1, 0;\n  setp.eq.u32 %p0, %r0, 0;\n  @!%p0 bra MORE;\n  " +
         bottom +
         "\n  bra DONE;\n  MORE: sub.u32 %r2, %r0, 1;\n"
         "  {\n  .param .b32 a;\n  .param .b32 b;\n  st.param.b32 [a], %r2;\n"
         "  call.uni (b), triangle, (a);\n  ld.param.b32 %r3, [b];\n  }\n"
         "  add.u32 %r1, %r0, %r3;\n  DONE: st.param.b32 [result], %r1;\n  ret;\n}\n";
}
const char* const kCallTriangle =
    "{\n.param .b32 a;\n.param .b32 b;\nst.param.b32 [a], %r0;\n"
    "call.uni (b), triangle, (a);\nld.param.b32 %r1, [b];\n}\n";

std::string deep_recursion(const std::string& depth) {
  return kernel(
      "add.u32 %r0, %t, " + depth + ";\n" + kCallTriangle + "st.global.u32 [%mine], %r1;\nret;",
      triangle(""));
}

TEST(Control, TheLimitOfTheStackAllowsDeeperRecursion) {
  const std::string reason = failure(deep_recursion("200"), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_NE(reason.find("stack overflow: local memory has"), std::string::npos) << reason;
  Gpu gpu;
  TWIN_OK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 65536));
  for (const std::uint32_t depth : {200u, 3000u}) {
    Buffer<std::uint32_t> out(32, 0);
    TWIN_OK(run(deep_recursion(std::to_string(depth)), out));
    const auto d = out.read();
    for (std::uint32_t i = 0; i < 32; ++i) {
      EXPECT_EQ(d[i], (depth + i) * (depth + i + 1) / 2) << i;
    }
  }
}

TEST(Control, RecursionOverTwoFunctions) {
  Gpu gpu;
  const auto function = [](const std::string& name, const std::string& other,
                           const std::string& at_zero) {
    return ".func (.param .b32 r) " + name +
           "(.param .b32 n) {\n  .reg .b32 %r<4>;\n  .reg .pred %p;\n  ld.param.b32 %r0, [n];\n"
           "  mov.u32 %r1, " +
           at_zero +
           ";\n  setp.eq.u32 %p, %r0, 0;\n  @%p bra DONE;\n  sub.u32 %r0, %r0, 1;\n"
           "  {\n  .param .b32 a;\n  .param .b32 b;\n  st.param.b32 [a], %r0;\n  call (b), " +
           other +
           ", (a);\n  ld.param.b32 %r1, [b];\n  }\n  DONE: st.param.b32 [r], %r1;\n  ret;\n}\n";
  };
  Buffer<std::uint32_t> out(32, 0);
  TWIN_OK(run(kernel("{\n.param .b32 a;\n.param .b32 b;\nadd.u32 %r0, %t, 60;\n"
                     "st.param.b32 [a], %r0;\ncall (b), even, (a);\nld.param.b32 %r0, [b];\n}\n"
                     "st.global.u32 [%mine], %r0;\nret;",
                     ".func (.param .b32 r) odd(.param .b32 n);\n" + function("even", "odd", "1") +
                         function("odd", "even", "0")),
              out));
  const auto d = out.read();
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(d[i], i % 2 == 0 ? 1 : 0) << i;
}

TEST(Control, RecursionThroughAnAddress) {
  Gpu gpu;
  // count(n, f) is 0, or 1 + f(n - 1, f).
  Buffer<std::uint32_t> out(32, 0);
  TWIN_OK(run(kernel("mov.u64 %l0, count;\ncall (%r0), count, (%t, %l0);\n"
                     "st.global.u32 [%mine], %r0;\nret;",
                     ".func (.reg .b32 %o) count(.reg .b32 %n, .reg .b64 %f) {\n"
                     "  .local .b32 own;\n  .reg .pred %p;\n  mov.u32 %o, 0;\n"
                     "  setp.eq.u32 %p, %n, 0;\n  @%p ret;\n  sub.u32 %n, %n, 1;\n"
                     "  st.local.u32 [own], %n;\n"
                     "  P: .callprototype (.reg .b32 _) _ (.reg .b32 _, .reg .b64 _);\n"
                     "  call (%o), %f, (%n, %f), P;\n  ld.local.u32 %n, [own];\n"
                     "  add.u32 %o, %o, 1;\n  ret;\n}\n"),
              out));
  EXPECT_EQ(out.read(), numbers());
}

TEST(Control, EachLaneOfAWarpHasADeepRecursionOfItsOwn) {
  Gpu gpu;
  // One after the other the lanes go to the bottom, where they wait for the last one.
  TWIN_OK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 65536));
  Buffer<std::uint32_t> out(32, 0);
  TWIN_OK(run(kernel("mov.u32 %r4, 0;\nLOOP: setp.ne.u32 %p0, %r4, %t;\n@%p0 bra NEXT;\n"
                     "add.u32 %r0, %t, 200;\n" +
                         std::string(kCallTriangle) +
                         "st.global.u32 [%mine], %r1;\nret;\nNEXT: add.u32 %r4, %r4, 1;\nbra LOOP;",
                     triangle("bar.warp.sync -1;")),
              out));
  const auto d = out.read();
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(d[i], (200 + i) * (201 + i) / 2) << i;
}

const char* const kTwoFunctions =
    ".func (.param .b32 r) plus(.param .b32 x) {\n  .reg .b32 %r<2>;\n  ld.param.b32 %r0, [x];\n"
    "  add.u32 %r0, %r0, 50;\n  st.param.b32 [r], %r0;\n  ret;\n}\n"
    ".func (.param .b32 r) times(.param .b32 x) {\n  .reg .b32 %r<2>;\n  ld.param.b32 %r0, [x];\n"
    "  mul.lo.u32 %r0, %r0, 50;\n  st.param.b32 [r], %r0;\n  ret;\n}\n";

TEST(Control, IndirectCallGoesToTheFunctionOfEachLane) {
  Gpu gpu;
  Buffer<std::uint32_t> out(32, 0);
  TWIN_OK(run(kernel("mov.u64 %l0, plus;\nmov.u64 %l1, times;\nand.b32 %r0, %t, 1;\n"
                     "setp.eq.u32 %p0, %r0, 0;\nselp.b64 %l2, %l0, %l1, %p0;\n"
                     "{\n.param .b32 a;\n.param .b32 b;\nst.param.b32 [a], %t;\n"
                     "P: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
                     "call (b), %l2, (a), P;\nld.param.b32 %r1, [b];\n}\n"
                     "st.global.u32 [%mine], %r1;\nret;",
                     kTwoFunctions),
              out));
  const auto d = out.read();
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(d[i], i % 2 == 0 ? i + 50 : i * 50) << i;
}

TEST(Control, IndirectCallOfNoFunctionIsAnError) {
  const std::string reason = failure(
      kernel("mov.u64 %l2, 4096;\n{\n.param .b32 a;\n.param .b32 b;\nst.param.b32 [a], %t;\n"
             "P: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
             "call (b), %l2, (a), P;\nld.param.b32 %r1, [b];\n}\nret;",
             kTwoFunctions),
      CUDA_ERROR_INVALID_PC);
  EXPECT_NE(reason.find("no function"), std::string::npos) << reason;
}

TEST(Control, CallWithTheWrongNumberOfArgumentsDoesNotLoad) {
  Gpu gpu;
  Buffer<std::uint32_t> out(32, 0);
  std::string log;
  EXPECT_EQ(run(kernel("{\n.param .b32 a;\n.param .b32 c;\nst.param.b32 [a], %t;\n"
                       "call.uni (c), add3, (a);\n}\nret;",
                       kAddThree),
                out, Dim(1), Dim(32), &log),
            CUDA_ERROR_INVALID_PTX);
  EXPECT_NE(log.find("arguments"), std::string::npos) << log;
}

// --- Ends

TEST(Control, LanesThatExitLeaveTheOthersRunning) {
  Gpu gpu;
  Buffer<std::uint32_t> out(32, 9);
  TWIN_OK(
      run(kernel("setp.ge.u32 %p0, %t, 20;\n@%p0 exit;\nst.global.u32 [%mine], %t;\nret;"), out));
  const auto d = out.read();
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(d[i], i < 20 ? i : 9u) << i;
}

TEST(Control, ExitInAFunctionEndsTheLane) {
  Gpu gpu;
  Buffer<std::uint32_t> out(32, 9);
  TWIN_OK(
      run(kernel("call leave;\nst.global.u32 [%mine], %t;\nret;",
                 ".func leave() {\n  .reg .b32 %r0;\n  .reg .pred %p0;\n  mov.u32 %r0, %tid.x;\n"
                 "  setp.lt.u32 %p0, %r0, 4;\n  @%p0 exit;\n  ret;\n}\n"),
          out));
  const auto d = out.read();
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(d[i], i < 4 ? 9u : i) << i;
}

TEST(Control, AKernelMayEndWithoutRet) {
  Gpu gpu;
  Buffer<std::uint32_t> out(32, 0);
  TWIN_OK(run(kernel("st.global.u32 [%mine], %t;"), out));
  EXPECT_EQ(out.read(), numbers());
}

TEST(Control, TrapNamesKernelLineBlockAndLane) {
  const std::string reason =
      failure(kernel("setp.eq.u32 %p0, %t, 3;\n@%p0 trap;\nret;"), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_NE(reason.find("kernel k, line 13 \"@%p0 trap;\""), std::string::npos) << reason;
  EXPECT_NE(reason.find("block (0,0,0), thread (3,0,0): trap"), std::string::npos) << reason;
}

TEST(Control, BreakpointWithoutADebuggerIsAnError) {
  EXPECT_NE(failure(kernel("brkpt;\nret;"), CUDA_ERROR_LAUNCH_FAILED).find("brkpt"),
            std::string::npos);
}

// --- Progress

TEST(Control, LanesThatSpinOnALockOfTheirWarpMakeProgress) {
  Gpu gpu;
  Buffer<std::uint32_t> out(2, 0);
  // Word 0 is the lock, word 1 the count: read and written without an atomic.
  TWIN_OK(run(kernel("SPIN: atom.acquire.gpu.global.cas.b32 %r0, [%out], 0, 1;\n"
                     "setp.ne.u32 %p0, %r0, 0;\n@%p0 bra SPIN;\n"
                     "ld.relaxed.gpu.global.u32 %r1, [%out+4];\nadd.u32 %r1, %r1, 1;\n"
                     "st.relaxed.gpu.global.u32 [%out+4], %r1;\n"
                     "atom.release.gpu.global.exch.b32 %r2, [%out], 0;\nret;"),
              out));
  EXPECT_EQ(out.read(), (Words{0, 32}));
}

TEST(Control, AWarpThatWaitsForALaterWarpMakesProgress) {
  Gpu gpu;
  Buffer<std::uint32_t> out(2, 0);
  TWIN_OK(run(kernel("setp.lt.u32 %p0, %t, 32;\n@!%p0 bra SET;\n"
                     "SPIN: ld.acquire.gpu.global.u32 %r0, [%out];\nsetp.eq.u32 %p1, %r0, 0;\n"
                     "@%p1 bra SPIN;\nst.relaxed.gpu.global.u32 [%out+4], %r0;\nret;\n"
                     "SET: st.release.gpu.global.u32 [%out], 5;\nret;"),
              out, Dim(1), Dim(64)));
  EXPECT_EQ(out.read(), (Words{5, 5}));
}

TEST(Control, ABlockThatWaitsForALaterBlockMakesProgress) {
  Gpu gpu;
  Buffer<std::uint32_t> out(2, 0);
  TWIN_OK(run(kernel("mov.u32 %r3, %ctaid.x;\nsetp.eq.u32 %p0, %r3, 0;\n@!%p0 bra SET;\n"
                     "SPIN: ld.acquire.gpu.global.u32 %r0, [%out];\nsetp.eq.u32 %p1, %r0, 0;\n"
                     "@%p1 bra SPIN;\nst.relaxed.gpu.global.u32 [%out+4], %r0;\nret;\n"
                     "SET: st.release.gpu.global.u32 [%out], 6;\nret;"),
              out, Dim(2), Dim(32)));
  EXPECT_EQ(out.read(), (Words{6, 6}));
}

TEST(Control, NanosleepLetsOtherLanesGoFirst) {
  Gpu gpu;
  Buffer<std::uint32_t> out(2, 0);
  TWIN_OK(run(kernel("setp.eq.u32 %p0, %t, 31;\n@%p0 bra SET;\n"
                     "SPIN: nanosleep.u32 20;\nld.acquire.gpu.global.u32 %r0, [%out];\n"
                     "setp.eq.u32 %p1, %r0, 0;\n@%p1 bra SPIN;\nret;\n"
                     "SET: st.release.gpu.global.u32 [%out], 1;\nret;"),
              out));
  EXPECT_EQ(out.read()[0], 1u);
}

TEST(Control, GridDependenciesAreAccepted) {
  Gpu gpu;
  Buffer<std::uint32_t> out(32, 0);
  TWIN_OK(run(kernel("griddepcontrol.wait;\nst.global.u32 [%mine], %t;\n"
                     "griddepcontrol.launch_dependents;\nret;"),
              out));
  EXPECT_EQ(out.read(), numbers());
}

}  // namespace control_test
