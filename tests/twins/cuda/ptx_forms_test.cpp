// Vectors of registers, predicates that functions take and give, variables of the module inside
// functions, and operands with a constant.
#include "support.h"

namespace ptx_forms_test {
namespace {

using twin_test::Buffer;
using twin_test::Gpu;
using twin_test::lanes;
using twin_test::module;
using Words = std::vector<std::uint32_t>;

/// One thread executes `code`, which stores to [%at]; registers %r %h %d %f %p.
std::string kernel(const std::string& functions, const std::string& code) {
  return module(functions + ".visible .entry k(.param .u64 out) {\n" +
                ".reg .b32 %r<9>; .reg .b16 %h<9>; .reg .b64 %d<9>; .reg .f32 %f<9>; "
                ".reg .pred %p<9>; .reg .b64 %at; ld.param.u64 %at, [out];\n" +
                code + "\nret;\n}");
}

Words run(const std::string& functions, const std::string& code, std::size_t count) {
  Buffer<std::uint32_t> out(count, 0xDEADu);
  std::string log;
  const std::string text = kernel(functions, code);
  EXPECT_EQ(twin_test::launch(text, "k", 1, 1, {&out.address}, 0, &log), CUDA_SUCCESS)
      << log << cuda_twin_last_fault() << "\n"
      << text;
  return out.read();
}

void expect_refused(const std::string& text, unsigned line, const std::string& reason) {
  CUmodule loaded = nullptr;
  std::string log;
  EXPECT_EQ(twin_test::load(text, &loaded, &log), CUDA_ERROR_INVALID_PTX) << text;
  EXPECT_NE(log.find("line " + std::to_string(line) + ":"), std::string::npos) << text << log;
  EXPECT_NE(log.find(reason), std::string::npos) << text << "\n" << log;
  if (loaded != nullptr) (void)cuModuleUnload(loaded);
}

/// `code` is line 6.
void expect_refused_code(const std::string& code, const std::string& reason) {
  expect_refused(kernel("", code), 6, reason);
}

// --- Vectors of registers

TEST(PtxVectors, MovesReadAllPartsFirst) {
  const Gpu gpu;
  EXPECT_EQ(run("", R"(
    .reg .v4 .u32 v, w;
    mov.v4.u32 v, {1, 2, 3, 4};
    mov.v4.u32 v, {v.w, v.z, v.y, v.x};
    mov.v4.u32 w, v;
    mov.v2.u32 {w.x, w.y}, {w.y, w.x};
    mov.v2.u32 {_, w.z}, {%tid.x, v.y};
    st.global.v4.u32 [%at], v;
    st.global.v4.u32 [%at+16], w;)",
                8),
            (Words{4, 3, 2, 1, 3, 4, 3, 1}));
}

TEST(PtxVectors, MovesOfEachWidth) {
  const Gpu gpu;
  EXPECT_EQ(run("", R"(
    .reg .v4 .u16 v; .reg .v2 .f64 w; .reg .v2 .b64 b;
    mov.v4.u16 v, {1, 2, 3, 0xFFFF};
    st.global.v4.u16 [%at], v;
    mov.v2.f64 w, {1.0, -1.0};
    mov.v2.b64 b, w;
    st.global.v2.b64 [%at+16], {b.y, b.x};)",
                8),
            (Words{0x00020001, 0xFFFF0003, 0xDEAD, 0xDEAD, 0, 0xBFF00000, 0, 0x3FF00000}));
}

TEST(PtxVectors, AGuardedMoveKeepsTheRest) {
  const Gpu gpu;
  EXPECT_EQ(lanes<std::uint32_t>(R"(
    setp.lt.u32 %p1, %index, 2;
    mov.v2.u32 {%r1, %r2}, {10, 20};
    @%p1 mov.v2.u32 {%r1, %r2}, {%r2, 7};
    add.u32 %d, %r1, %r2;)"),
            [] {
              Words sums(32, 30);
              sums[0] = sums[1] = 27;
              return sums;
            }());
}

TEST(PtxVectors, FunctionsTakeAndGiveThem) {
  const Gpu gpu;
  EXPECT_EQ(run(R"(
.func (.reg .v2 .u32 o, .reg .u32 count) twist(.reg .u32 a, .reg .v4 .u16 i, .reg .u32 z) {
  .reg .u32 t;
  cvt.u32.u16 t, i.w;
  add.u32 o.x, a, t;
  cvt.u32.u16 t, i.x;
  add.u32 o.y, z, t;
  mov.u32 count, 6;
  ret;
}
)",
                R"(
    .reg .v2 .u32 v; .reg .v4 .u16 h;
    mov.v4.u16 h, {1, 2, 3, 4};
    call (v, %r1), twist, (100, h, 1000);
    st.global.v2.u32 [%at], v;
    st.global.u32 [%at+8], %r1;
    mov.u32 %r1, 0;
    call (_, %r1), twist, (100, h, 1000);
    st.global.u32 [%at+12], %r1;
    call (v, _), twist, (1, h, 2);
    st.global.v2.u32 [%at+16], v;)",
                6),
            (Words{104, 1001, 6, 6, 5, 3}));
}

TEST(PtxVectors, ThroughAnIndirectCall) {
  const Gpu gpu;
  EXPECT_EQ(
      run(".func (.reg .v2 .u32 o) swap(.reg .v2 .u32 i) { mov.v2.u32 o, {i.y, i.x}; ret; }\n",
          R"(
    .reg .v2 .u32 v;
    mov.v2.u32 v, {3, 4};
    mov.u64 %d1, swap;
    proto: .callprototype (.reg .v2 .u32 _) _ (.reg .v2 .u32 _);
    call (v), %d1, (v), proto;
    st.global.v2.u32 [%at], v;)",
          2),
      (Words{4, 3}));
}

TEST(PtxVectors, Refusals) {
  const Gpu gpu;
  const std::string v = ".reg .v2 .u32 v; .reg .v4 .u32 q; .reg .v2 .u16 s; ";
  expect_refused_code(v + "mov.u32 %r1, v.z;", "no part .z");
  expect_refused_code(v + "mov.u32 %r1, v.xy;", "no part .xy");
  expect_refused_code(v + "mov.v2.u32 v, q;", "a vector of 2, not of 4");
  expect_refused_code(v + "mov.v4.u32 {%r1, %r2, %r3}, q;", "a vector of 4, not of 3");
  expect_refused_code(v + "mov.v2.u32 v, %d1;", "a vector of 2, not of 1");
  expect_refused_code(v + "mov.v2.u32 v, {%r1, _};", "no register");
  expect_refused_code(v + "mov.v2.u32 v, {%r1, %d1};", "%d1 is .b64 where .u32 is needed");
  expect_refused_code(v + "mov.v2.u32 v, s;", "s.x is .u16 where .u32 is needed");
  expect_refused_code(v + "mov.v2.u32 v, {%f1, %f2};", "%f1 is .f32 where .u32 is needed");
  expect_refused_code(v + "mov.u32 v, v;", "mov.u32: ");
  expect_refused_code(v + "mov.v8.u16 {%h1, %h2}, {%h1, %h2};", "mov.v8.u16: ");
  expect_refused_code(v + "mov.v4.u64 {%d1, %d2, %d3, %d4}, {%d1, %d2, %d3, %d4};", "128 bits");
  expect_refused_code(v + "mov.v2.pred {%p1, %p2}, {%p1, %p2};", "has no type .pred");
  expect_refused_code(v + "add.u32 v, v, v;", "add.u32: ");
  expect_refused_code(".reg .v4 .u64 w;", "at most 128 bits");
  expect_refused_code(".reg .v2 .pred w;", "a predicate is no vector");
  expect_refused_code(".reg .v8 .u16 w;", "2 or 4 parts");
}

TEST(PtxVectors, RefusalsOfCalls) {
  const Gpu gpu;
  const std::string f = ".func (.reg .v2 .u32 o) f(.reg .v2 .u32 i) { ret; }\n";
  const auto refused = [&](const std::string& call, const std::string& reason) {
    expect_refused(kernel(f, ".reg .v2 .u32 v; .reg .v4 .u32 q; .reg .v2 .u16 s; " + call), 7,
                   reason);
  };
  refused("call (v), f, (q);", "4 registers for a parameter of 2");
  refused("call (q), f, (v);", "4 registers for a parameter of 2");
  refused("call (v), f, (%d1);", "1 registers for a parameter of 2");
  refused("call (%r1), f, (v);", "1 registers for a parameter of 2");
  refused("call (v), f, (s);", "s.x is .u16 where .u32 is needed");
  refused("call (v), f, ({%r1, %r2});", "expected an operand");
  refused("call (%r1, %r2), f, (v);", "2 results, expected 1");
  refused("call f, (v);", "0 results, expected 1");
  refused(".param .b64 p; call (v), f, (p);", "8 bytes");
  expect_refused(module(".func f(.reg .v4 .u64 a) { ret; }"), 4, "at most 128 bits");
  expect_refused(module(".func f(.reg .u32 a[2]) { ret; }"), 4, "a register is no array");
  expect_refused(module(".func f(.reg .v2 .u32 a);\n.func f(.reg .b64 a) { ret; }"), 5, "differs");
}

// --- Predicates

const char* const kCompare = R"(
.func (.reg .u32 sum, .reg .pred odd) add_odd(.reg .u32 a, .reg .pred more, .reg .u32 b) {
  .reg .u32 t;
  add.u32 sum, a, b;
  @more add.u32 sum, sum, 1;
  and.b32 t, sum, 1;
  setp.ne.u32 odd, t, 0;
  ret;
}
)";

TEST(PtxPredicates, FunctionsTakeAndGiveThem) {
  const Gpu gpu;
  // Lanes differ in the predicate that they pass, and half of them don't call.
  Buffer<std::uint32_t> out(32, 0xDEADu);
  const std::string text = kernel(kCompare, R"(
    mov.u32 %r1, %tid.x;
    setp.gt.u32 %p1, %r1, 20;
    setp.lt.u32 %p2, %r1, 24;
    setp.eq.u32 %p3, %r1, 30;
    mov.u32 %r2, 0;
    @%p2 call (%r2, %p3), add_odd, (%r1, %p1, 10);
    @%p3 add.u32 %r2, %r2, 1000;
    mad.wide.u32 %at, %r1, 4, %at;
    st.global.u32 [%at], %r2;)");
  std::string log;
  ASSERT_EQ(twin_test::launch(text, "k", 1, 32, {&out.address}, 0, &log), CUDA_SUCCESS) << log;
  Words expected;
  for (std::uint32_t i = 0; i < 32; ++i) {
    const std::uint32_t sum = i + 10 + (i > 20 ? 1 : 0);
    expected.push_back(i < 24 ? sum + (sum % 2) * 1000 : i == 30 ? 1000 : 0);
  }
  EXPECT_EQ(out.read(), expected);
}

TEST(PtxPredicates, ThroughAnIndirectCall) {
  const Gpu gpu;
  const std::string invert =
      ".func (.reg .pred o) invert(.reg .pred i, .reg .u32 a) { not.pred o, i; ret; }\n";
  const std::string prototype =
      "proto: .callprototype (.reg .pred _) _ (.reg .pred _, .reg .u32 _);\n"
      "mov.u64 %d1, invert;\nsetp.eq.u32 %p1, 1, 0;\n";
  EXPECT_EQ(run(invert, prototype + R"(
    call (%p2), %d1, (%p1, %r1), proto;
    call (%p3), %d1, (%p2, %r1), proto;
    selp.u32 %r1, 1, 0, %p2;
    selp.u32 %r2, 1, 0, %p3;
    st.global.v2.u32 [%at], {%r1, %r2};)",
                2),
            (Words{1, 0}));
  // A register where the function has a predicate.
  Buffer<std::uint32_t> out(1, 0u);
  const std::string text = kernel(invert, prototype + "call (%p2), %d1, (%r1, %r1), proto;");
  EXPECT_EQ(twin_test::launch(text, "k", 1, 1, {&out.address}), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_NE(std::string(cuda_twin_last_fault()).find("with other parameters"), std::string::npos);
}

TEST(PtxPredicates, Refusals) {
  const Gpu gpu;
  const auto refused = [&](const std::string& call, const std::string& reason) {
    expect_refused(kernel(kCompare, call), 15, reason);
  };
  refused("call (%r1, %p1), add_odd, (%r2, %r3, %r4);", "%r3 is .b32 where .pred is needed");
  refused("call (%r1, %r2), add_odd, (%r2, %p3, %r4);", "%r2 is .b32 where .pred is needed");
  refused("call (%r1, %p1), add_odd, (%p2, %p3, %r4);", "%p2 is .pred where .u32 is needed");
  refused("call (%r1, %p1), add_odd, (%r2, 1, %r4);", "no predicate");
  refused("call (%r1, %p1), add_odd, (%r2, !%p3, %r4);", "cannot be negated");
  expect_refused(module(".func f(.param .pred a) { ret; }"), 4, "predicates are registers");
  expect_refused(module(".func f(.reg .pred a);\n.func f(.reg .u32 a) { ret; }"), 5, "differs");
}

// --- Variables of the module inside functions

TEST(PtxStatics, EachFunctionHasItsOwn) {
  const Gpu gpu;
  EXPECT_EQ(run(R"(
.global .u32 count = 100;
.func (.reg .u32 value) next() {
  .global .u32 count = 10;
  ld.global.u32 value, [count];
  add.u32 value, value, 1;
  st.global.u32 [count], value;
  ret;
}
)",
                R"(
    .global .u32 mine[2][2] = {{1, 2}, {3}};
    .const .b32 fixed = 5;
    call (%r1), next, ();
    call (%r2), next, ();
    ld.global.u32 %r3, [count];
    st.global.v2.u32 [%at], {%r1, %r2};
    st.global.u32 [%at+8], %r3;
    ld.global.u32 %r1, [mine+8];
    ld.const.u32 %r2, [fixed];
    st.global.v2.u32 [%at+16], {%r1, %r2};
    { .global .u32 count = 7; ld.global.u32 %r1, [count]; }
    st.global.u32 [%at+12], %r1;)",
                6),
            (Words{11, 12, 100, 7, 3, 5}));
}

TEST(PtxStatics, InitialValuesNameThem) {
  const Gpu gpu;
  EXPECT_EQ(run(".global .u32 cell = 1;\n.global .u32 outer = 2;\n", R"(
    .global .u32 cell[2] = {30, 40};
    .global .u64 pointers[2] = {cell + 4, outer};
    ld.global.v2.u64 {%d1, %d2}, [pointers];
    ld.global.u32 %r1, [%d1];
    ld.global.u32 %r2, [%d2];
    st.global.v2.u32 [%at], {%r1, %r2};)",
                2),
            (Words{40, 2}));
}

TEST(PtxStatics, KeepTheirValueBetweenLaunches) {
  const Gpu gpu;
  CUmodule loaded = nullptr;
  TWIN_OK(twin_test::load(kernel("", R"(
    .global .u32 launches;
    atom.global.add.u32 %r1, [launches], 1;
    st.global.u32 [%at], %r1;)"),
                          &loaded));
  CUfunction function = nullptr;
  TWIN_OK(cuModuleGetFunction(&function, loaded, "k"));
  Buffer<std::uint32_t> out(1, 0u);
  void* args[] = {&out.address};
  for (std::uint32_t i = 0; i < 3; ++i) {
    TWIN_OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, args, nullptr));
    EXPECT_EQ(out.read()[0], i);
  }
  CUdeviceptr address = 0;
  EXPECT_EQ(cuModuleGetGlobal(&address, nullptr, loaded, "launches"), CUDA_ERROR_NOT_FOUND);
  TWIN_OK(cuModuleUnload(loaded));
}

TEST(PtxStatics, Refusals) {
  const Gpu gpu;
  expect_refused_code(".global .u32 a; .global .u32 a;", "a is declared twice");
  expect_refused_code(".global .u32 a; .reg .u32 a;", "a is declared twice");
  expect_refused_code(".global .u32 a[];", "a needs an array size");
  expect_refused_code(".extern .global .u32 a;", "no place in a function");
  expect_refused_code(".visible .global .u32 a;", "no place in a function");
  expect_refused_code(".global .u64 a = b;", "b is not declared");
  expect_refused_code(".shared .u32 s; .global .u64 a = s;", "s is not declared");
  expect_refused_code("ld.global.u32 %r1, [late]; .global .u32 late;",
                      "late is not defined in function k");
  expect_refused_code("{ .global .u32 a; } ld.global.u32 %r1, [a];", "a is not defined");
  expect_refused_code(".const .u8 a[70000];", "too much constant memory");
  expect_refused(module(".entry f() { .global .u32 a; ret; }\n"
                        ".entry g() { .reg .u32 r; ld.global.u32 r, [a]; ret; }"),
                 5, "a is not defined in function g");
}

// --- Operands with a constant

TEST(PtxSums, AConstantIsAddedToARegister) {
  const Gpu gpu;
  EXPECT_EQ(run("", R"(
    mov.u32 %r1, 10;
    add.u32 %r2, %r1 + 5, %r1+-1;
    st.global.u32 [%at], %r2 + 1;
    mov.u64 %d1, 0xFFFFFFFF;
    st.global.u64 [%at+8], %d1 + 1;
    mov.u16 %h1, 0xFFFF;
    cvt.u32.u16 %r3, %h1 + 3;
    st.global.u32 [%at+4], %r3;
    st.global.u32 [%at+16], %r1+(2+3)*4;)",
                5),
            (Words{25, 2, 0, 1, 30}));
}

TEST(PtxSums, Refusals) {
  const Gpu gpu;
  expect_refused_code("add.u32 %r1+1, %r2, %r3;", "the destination must be a register");
  expect_refused_code("add.f32 %f1, %f2+1, %f3;", "%f2 is .f32");
  expect_refused_code("add.u32 %r1, %r2+1.5, %r3;", "an integer is needed");
  expect_refused_code("mov.u32 %r1, %r2-1;", "expected \";\"");
  expect_refused_code("mov.u32 %r1, 1+%r2;", "expected ");
  expect_refused_code("add.u32 %r1, %r2+%r3, %r3;", "expected ");
  expect_refused_code("mov.u32 %r1, %tid.x+1;", "expected \";\"");
  expect_refused_code("mov.v2.u32 {%r1, %r2}, {%r3+1, %r4};", "expected \",\"");
  expect_refused_code("selp.u32 %r1, %r2, %r3, %p1+1;", "no predicate");
}

}  // namespace
}  // namespace ptx_forms_test
