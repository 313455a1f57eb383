// Addresses and values of variables, constants, parameters and special registers.
#include "support.h"

namespace ptx_layout_test {
namespace {

using twin_test::Buffer;
using twin_test::Dim;
using twin_test::Gpu;
using twin_test::module;

struct Module {
  CUmodule handle = nullptr;
  explicit Module(const std::string& body) {
    std::string log;
    EXPECT_EQ(twin_test::load(module(body), &handle, &log), CUDA_SUCCESS) << log;
  }
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  ~Module() {
    if (handle != nullptr) TWIN_OK(cuModuleUnload(handle));
  }
  CUdeviceptr address(const char* name, std::size_t* bytes = nullptr) const {
    CUdeviceptr at = 0;
    std::size_t ignored = 0;
    TWIN_OK(cuModuleGetGlobal(&at, bytes != nullptr ? bytes : &ignored, handle, name));
    return at;
  }
  template <class T>
  std::vector<T> values(const char* name) const {
    std::size_t bytes = 0;
    const CUdeviceptr at = address(name, &bytes);
    std::vector<T> result(bytes / sizeof(T));
    TWIN_OK(cuMemcpyDtoH(result.data(), at, bytes));
    return result;
  }
  int attribute(const char* kernel, CUfunction_attribute which) const {
    CUfunction function = nullptr;
    TWIN_OK(cuModuleGetFunction(&function, handle, kernel));
    int value = -1;
    TWIN_OK(cuFuncGetAttribute(&value, which, function));
    return value;
  }
};

// The rules of C for operators, and those of the PTX document for literals and types.
TEST(PtxLayout, ConstantExpressions) {
  const Gpu gpu;
  const Module loaded(R"(
.visible .global .u64 numbers[] = {10, 0x1F, 0X1f, 017, 0b101, 12U, WARP_SZ, 0};
.visible .global .s64 sums[] = {1 + 2 * 3, (1 + 2) * 3, 7 - 2 - 1, -7 / 2, -7 % 3, 1 << 4 + 1, -16 >> 2};
.visible .global .s64 logic[] = {5 & 6 | 8, 5 ^ 1, ~0, !3, !0, 1 < 2, 2 <= 1, 3 == 3, 3 != 3, 2 && 0, 0 || 7};
.visible .global .s64 choices[] = {1 ? 10 : 20, 0 ? 10 : 1 ? 30 : 40, (.s64)0xFFFFFFFFFFFFFFFF < 0, (.u64)-1 > 0};
.visible .global .u64 wide[] = {0xFFFFFFFFFFFFFFFF / 2, -1 / 2U, 0x8000000000000000 >> 63};
)");
  using U = std::vector<std::uint64_t>;
  using S = std::vector<std::int64_t>;
  EXPECT_EQ(loaded.values<std::uint64_t>("numbers"), (U{10, 31, 31, 15, 5, 12, 32, 0}));
  EXPECT_EQ(loaded.values<std::int64_t>("sums"), (S{7, 9, 4, -3, -1, 32, -4}));
  EXPECT_EQ(loaded.values<std::int64_t>("logic"), (S{12, 4, -1, 0, 1, 1, 0, 1, 0, 0, 1}));
  EXPECT_EQ(loaded.values<std::int64_t>("choices"), (S{10, 30, 1, 1}));
  EXPECT_EQ(loaded.values<std::uint64_t>("wide"), (U{0x7FFFFFFFFFFFFFFF, 0x7FFFFFFFFFFFFFFF, 1}));
}

TEST(PtxLayout, InitialValues) {
  const Gpu gpu;
  const Module loaded(R"(
.visible .global .f32 singles[5] = {1.0, -2.5, 0f3F800000, -0f40000000, 3};
.visible .global .f64 doubles[3] = {0d3FF8000000000000, 1e3, -.5};
.visible .global .s16 shorts[2][3] = {{1, -2}, {0xFFFF}};
.visible .global .v2 .u32 pairs[2] = {{1, 2}, {3, 4}};
.visible .global .u8 tail[4] = {9};
.visible .global .align 8 .b32 target = 77;
.visible .const .u64 pointers[3] = {target, target+4, generic(target)};
.visible .global .align 8 .b8 bytes[16] = {0xFF(target), 0xFF00(target), 0xFF0000(target), 0xFF000000(target),
  0xFF00000000(target), 0xFF0000000000(target), 0xFF000000000000(target), 0xFF00000000000000(target), 5};
)");
  EXPECT_EQ(loaded.values<float>("singles"), (std::vector<float>{1, -2.5f, 1, -2, 3}));
  EXPECT_EQ(loaded.values<double>("doubles"), (std::vector<double>{1.5, 1000, -0.5}));
  EXPECT_EQ(loaded.values<std::int16_t>("shorts"), (std::vector<std::int16_t>{1, -2, 0, -1, 0, 0}));
  EXPECT_EQ(loaded.values<std::uint32_t>("pairs"), (std::vector<std::uint32_t>{1, 2, 3, 4}));
  EXPECT_EQ(loaded.values<std::uint8_t>("tail"), (std::vector<std::uint8_t>{9, 0, 0, 0}));
  const CUdeviceptr target = loaded.address("target");
  EXPECT_EQ(loaded.values<CUdeviceptr>("pointers"),
            (std::vector<CUdeviceptr>{target, target + 4, target}));
  EXPECT_EQ(loaded.values<std::uint64_t>("bytes"), (std::vector<std::uint64_t>{target, 5}));
}

/// Runs kernel k, which stores `count` words of 32 bits per thread.
std::vector<std::uint32_t> run(const std::string& text, Dim grid, Dim block, std::size_t count,
                               unsigned shared = 0) {
  Buffer<std::uint32_t> out(count, 0xDEADu);
  std::string log;
  EXPECT_EQ(twin_test::launch(module(text), "k", grid, block, {&out.address}, shared, &log),
            CUDA_SUCCESS)
      << log << cuda_twin_last_fault();
  return out.read();
}

/// Each thread stores the values of `registers`, at its linear place in the grid.
std::vector<std::uint32_t> specials(const std::vector<std::string>& registers, Dim grid,
                                    Dim block) {
  std::string text = R"(.visible .entry k(.param .u64 out) {
  .reg .b64 %at, %w; .reg .b32 %i, %j, %n, %c<3>, %g<2>, %t<3>, %s<3>;
  mov.u32 %c0, %ctaid.x; mov.u32 %c1, %ctaid.y; mov.u32 %c2, %ctaid.z;
  mov.u32 %g0, %nctaid.x; mov.u32 %g1, %nctaid.y;
  mov.u32 %t0, %tid.x; mov.u32 %t1, %tid.y; mov.u32 %t2, %tid.z;
  mov.u32 %s0, %ntid.x; mov.u32 %s1, %ntid.y; mov.u32 %s2, %ntid.z;
  mad.lo.u32 %i, %c2, %g1, %c1;
  mad.lo.u32 %i, %i, %g0, %c0;
  mad.lo.u32 %j, %t2, %s1, %t1;
  mad.lo.u32 %j, %j, %s0, %t0;
  mul.lo.u32 %n, %s0, %s1;
  mul.lo.u32 %n, %n, %s2;
  mad.lo.u32 %i, %i, %n, %j;
  ld.param.u64 %at, [out];
  mad.wide.u32 %at, %i, )" +
                     std::to_string(4 * registers.size()) + ", %at;\n";
  for (std::size_t i = 0; i < registers.size(); ++i) {
    text += "mov.u32 %j, " + registers[i] + ";\nst.global.u32 [%at+" + std::to_string(4 * i) +
            "], %j;\n";
  }
  const std::size_t threads = std::size_t{grid.x} * grid.y * grid.z * block.x * block.y * block.z;
  return run(text + "ret;\n}\n", grid, block, threads * registers.size());
}

TEST(PtxSpecialRegisters, PlacesInBlockAndGrid) {
  const Gpu gpu;
  const Dim grid(2, 3, 2);
  const Dim block(5, 3, 4);  // 60 threads: a warp and a part of one
  const auto values = specials(
      {"%tid.x", "%tid.y", "%tid.z", "%tid.w", "%ctaid.x", "%ctaid.y", "%ctaid.z", "%ntid.x",
       "%ntid.y", "%ntid.z", "%nctaid.x", "%nctaid.y", "%nctaid.z", "%laneid", "%warpid"},
      grid, block);
  std::size_t at = 0;
  for (unsigned b = 0; b < 12; ++b) {
    for (unsigned t = 0; t < 60; ++t) {
      const std::vector<std::uint32_t> expected{
          t % 5, t / 5 % 3, t / 15, 0, b % 2, b / 2 % 3, b / 6, 5, 3, 4, 2, 3, 2, t % 32, t / 32};
      for (const std::uint32_t value : expected) ASSERT_EQ(values[at++], value) << at - 1;
    }
  }
}

TEST(PtxSpecialRegisters, MasksOfLanes) {
  const Gpu gpu;
  const auto values = specials(
      {"%lanemask_eq", "%lanemask_lt", "%lanemask_le", "%lanemask_gt", "%lanemask_ge"}, 1, 32);
  for (std::uint64_t lane = 0; lane < 32; ++lane) {
    const std::uint64_t bit = std::uint64_t{1} << lane;
    const std::vector<std::uint64_t> expected{bit, bit - 1, 2 * bit - 1, 0xFFFFFFFF - (2 * bit - 1),
                                              0xFFFFFFFF - (bit - 1)};
    for (std::size_t i = 0; i < 5; ++i) ASSERT_EQ(values[5 * lane + i], expected[i]) << lane;
  }
}

TEST(PtxSpecialRegisters, ValuesThatHaveARange) {
  const Gpu gpu;
  const auto values =
      specials({"%smid", "%nsmid", "%nwarpid", "%pm0", "%envreg31", "%dynamic_smem_size",
                "%cluster_ctarank", "%cluster_nctarank", "%cluster_nctaid.x", "%nclusterid.x"},
               4, 32);
  for (std::size_t thread = 0; thread < 128; ++thread) {
    const std::uint32_t* v = &values[10 * thread];
    EXPECT_LT(v[0], v[1]);
    EXPECT_EQ(v[1], 132u);  // an H200's multiprocessors
    EXPECT_GE(v[2], 32u);
    for (const int i : {3, 4, 5, 6}) EXPECT_EQ(v[i], 0u) << i;
    EXPECT_EQ(v[7], 1u);
    EXPECT_EQ(v[8], 1u);
    EXPECT_EQ(v[9], 4u);
  }
}

TEST(PtxSpecialRegisters, ClocksAdvance) {
  const Gpu gpu;
  const auto values = run(R"(.visible .entry k(.param .u64 out) {
  .reg .b64 %at, %a, %b; .reg .b32 %r; .reg .pred %p;
  ld.param.u64 %at, [out];
  mov.u64 %a, %clock64;
  add.u64 %b, %a, 1;
  mov.u64 %b, %clock64;
  setp.gt.u64 %p, %b, %a;
  selp.u32 %r, 1, 0, %p;
  st.global.u32 [%at], %r;
  mov.u64 %a, %globaltimer;
  mov.u64 %b, %globaltimer;
  setp.ge.u64 %p, %b, %a;
  selp.u32 %r, 1, 0, %p;
  st.global.u32 [%at+4], %r;
  ret;
})",
                          1, 1, 2);
  EXPECT_EQ(values, (std::vector<std::uint32_t>{1, 1}));
}

const char* const kShared = R"(
.extern .shared .align 16 .b8 dynamic[];
.shared .align 4 .b32 both[3];
.shared .align 4 .b32 only_k[2];
.shared .align 4 .b32 only_other[100];
.func touch(.param .b32 value) {
  .reg .b32 %v, %a;
  .shared .b32 inner;
  ld.param.b32 %v, [value];
  st.shared.u32 [both+8], %v;
  add.u32 %v, %v, 1;
  st.shared.u32 [inner], %v;
  add.u32 %v, %v, 1;
  mov.u32 %a, dynamic;
  st.shared.u32 [%a+4], %v;
  ret;
}
.visible .entry other() {
  .reg .b32 %v;
  st.shared.u32 [only_other], %v;
  { .param .b32 p; st.param.b32 [p], %v; call touch, (p); }
  ret;
}
.visible .entry alone() { ret; }
.visible .entry k(.param .u64 out) {
  .reg .b64 %at; .reg .b32 %v;
  ld.param.u64 %at, [out];
  mov.u32 %v, 1;
  st.shared.u32 [both], %v;
  st.shared.u32 [both+4], 2;
  st.shared.u32 [only_k], 3;
  st.shared.u32 [only_k+4], 4;
  st.shared.u32 [dynamic], 5;
  { .param .b32 p; st.param.b32 [p], 6; call touch, (p); }
  ld.shared.u32 %v, [both]; st.global.u32 [%at], %v;
  ld.shared.u32 %v, [both+4]; st.global.u32 [%at+4], %v;
  ld.shared.u32 %v, [both+8]; st.global.u32 [%at+8], %v;
  ld.shared.u32 %v, [only_k]; st.global.u32 [%at+12], %v;
  ld.shared.u32 %v, [only_k+4]; st.global.u32 [%at+16], %v;
  ld.shared.u32 %v, [dynamic]; st.global.u32 [%at+20], %v;
  ld.shared.u32 %v, [dynamic+4]; st.global.u32 [%at+24], %v;
  mov.u32 %v, %dynamic_smem_size; st.global.u32 [%at+28], %v;
  mov.u32 %v, %total_smem_size; st.global.u32 [%at+32], %v;
  ret;
})";

TEST(PtxLayout, SharedVariablesDoNotOverlap) {
  const Gpu gpu;
  const auto values = run(kShared, 1, 1, 9, 16);
  // 12 + 4 + 8 static bytes, aligned to 16, and 16 dynamic ones.
  EXPECT_EQ(values, (std::vector<std::uint32_t>{1, 2, 6, 3, 4, 5, 8, 16, 48}));
}

TEST(PtxLayout, SharedBytesAreThoseThatAKernelReaches) {
  const Gpu gpu;
  const Module loaded(kShared);
  EXPECT_EQ(loaded.attribute("k", CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES), 24);
  EXPECT_EQ(loaded.attribute("other", CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES), 416);
  EXPECT_EQ(loaded.attribute("alone", CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES), 0);
}

TEST(PtxLayout, LocalVariablesOfAFunctionAreThoseOfItsCall) {
  const Gpu gpu;
  // fib with its intermediate values in local memory, by address and by name.
  const auto values = run(R"(
.func (.param .b32 result) fib (.param .b32 n) {
  .local .align 4 .b32 parts[2];
  .reg .b32 %n, %a, %b; .reg .b64 %p; .reg .pred %small;
  ld.param.u32 %n, [n];
  setp.lt.u32 %small, %n, 2;
  @%small bra DONE;
  mov.u64 %p, parts;
  sub.u32 %a, %n, 1;
  { .param .b32 in; .param .b32 out; st.param.b32 [in], %a; call (out), fib, (in); ld.param.b32 %a, [out]; }
  st.local.u32 [%p], %a;
  sub.u32 %b, %n, 2;
  { .param .b32 in; .param .b32 out; st.param.b32 [in], %b; call (out), fib, (in); ld.param.b32 %b, [out]; }
  st.local.u32 [parts+4], %b;
  ld.local.u32 %a, [parts];
  ld.local.u32 %b, [%p+4];
  add.u32 %n, %a, %b;
DONE:
  st.param.b32 [result], %n;
}
.visible .entry k(.param .u64 out) {
  .local .b32 mine;
  .reg .b64 %at; .reg .b32 %v, %t;
  mov.u32 %t, %tid.x;
  st.local.u32 [mine], %t;
  { .param .b32 in; .param .b32 r; st.param.b32 [in], %t; call (r), fib, (in); ld.param.b32 %v, [r]; }
  ld.param.u64 %at, [out];
  mad.wide.u32 %at, %t, 8, %at;
  st.global.u32 [%at], %v;
  ld.local.u32 %v, [mine];
  st.global.u32 [%at+4], %v;
  ret;
})",
                          1, 12, 24);
  const std::uint32_t fib[12] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89};
  for (std::uint32_t i = 0; i < 12; ++i) {
    EXPECT_EQ(values[2 * i], fib[i]) << i;
    EXPECT_EQ(values[2 * i + 1], i);
  }
}

TEST(PtxLayout, ParametersHaveTheirNaturalPlaces) {
  const Gpu gpu;
  const std::string text = module(R"(
.visible .entry k(.param .u8 a, .param .u64 out, .param .u16 b, .param .align 16 .b8 s[20], .param .f32 c) {
  .reg .b64 %at, %p; .reg .b32 %v;
  ld.param.u64 %at, [out];
  ld.param.u8 %v, [a]; st.global.u32 [%at], %v;
  ld.param.u16 %v, [b]; st.global.u32 [%at+4], %v;
  ld.param.u32 %v, [s+16]; st.global.u32 [%at+8], %v;
  mov.b64 %p, s;
  ld.param.u32 %v, [%p+4]; st.global.u32 [%at+12], %v;
  ld.param.b32 %v, [c]; st.global.u32 [%at+16], %v;
  ret;
})");
  Buffer<std::uint32_t> out(5, 0u);
  std::uint8_t a = 200;
  std::uint16_t b = 60000;
  std::uint32_t s[5] = {1, 22, 333, 4444, 55555};
  float c = 1.0f;
  TWIN_OK(twin_test::launch(text, "k", 1, 1, {&a, &out.address, &b, s, &c}));
  EXPECT_EQ(out.read(), (std::vector<std::uint32_t>{200, 60000, 55555, 22, 0x3F800000}));
}

TEST(PtxLayout, InlineAssemblyHasItsOwnNames) {
  const Gpu gpu;
  const auto values = run(R"(.visible .entry k(.param .u64 out) {
  .reg .b64 %at; .reg .b32 %r<4>;
  ld.param.u64 %at, [out];
  mov.u32 %r1, 10;
  { .reg .pred p; .reg .b32 %r1; mov.u32 %r1, 7; setp.eq.u32 p, %r1, 7; @p bra DONE; mov.u32 %r1, 0;
    DONE: st.global.u32 [%at], %r1; }
  { .reg .pred p; setp.eq.u32 p, %r1, 7; @p bra DONE; mov.u32 %r1, 11;
    DONE: st.global.u32 [%at+4], %r1; }
  ret;
})",
                          1, 1, 2);
  EXPECT_EQ(values, (std::vector<std::uint32_t>{7, 11}));
}

TEST(PtxLayout, VectorsOfRegisters) {
  const Gpu gpu;
  const auto values = run(R"(.visible .entry k(.param .u64 out) {
  .reg .b64 %at; .reg .v4 .u32 %v; .reg .v2 .u32 %w<2>;
  ld.param.u64 %at, [out];
  mov.u32 %v.x, 1; mov.u32 %v.y, 2; mov.u32 %v.b, 3; mov.u32 %v.w, 4;
  st.global.v4.u32 [%at], %v;
  ld.global.v2.u32 %w1, [%at+8];
  st.global.u32 [%at+16], %w1.y;
  ret;
})",
                          1, 1, 5);
  EXPECT_EQ(values, (std::vector<std::uint32_t>{1, 2, 3, 4, 4}));
}

}  // namespace
}  // namespace ptx_layout_test
