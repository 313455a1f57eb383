// Every integer operation of atom and red, in shared memory, through generic addresses and with the
// widest semantics, against plain sequences of operations on the host.
#include <algorithm>
#include <bit>

#include "atomics.h"

namespace atomics_spaces_test {
namespace {

using twin_test::expect_in_order;
using twin_test::Gpu;
using twin_test::run_atomic;
using U16 = std::uint16_t;
using U32 = std::uint32_t;
using U64 = std::uint64_t;
using S32 = std::int32_t;
using S64 = std::int64_t;

template <class T>
struct Operation {
  std::string name;
  T (*apply)(T memory, T operand);
};

/// The operations of one width; `Signed` is its signed type.
template <class T, class Signed>
std::vector<Operation<T>> operations() {
  const std::string bits = std::to_string(sizeof(T) * 8);
  std::vector<Operation<T>> result = {
      {"and.b" + bits, [](T m, T a) { return static_cast<T>(m & a); }},
      {"or.b" + bits, [](T m, T a) { return static_cast<T>(m | a); }},
      {"xor.b" + bits, [](T m, T a) { return static_cast<T>(m ^ a); }},
      {"add.u" + bits, [](T m, T a) { return static_cast<T>(m + a); }},
      {"min.u" + bits, [](T m, T a) { return std::min(m, a); }},
      {"max.u" + bits, [](T m, T a) { return std::max(m, a); }},
      {"min.s" + bits,
       [](T m, T a) {
         return static_cast<T>(std::min(static_cast<Signed>(m), static_cast<Signed>(a)));
       }},
      {"max.s" + bits, [](T m, T a) {
         return static_cast<T>(std::max(static_cast<Signed>(m), static_cast<Signed>(a)));
       }}};
  if (sizeof(T) == 4) {
    result.push_back({"add.s32", [](T m, T a) { return static_cast<T>(m + a); }});
    result.push_back({"inc.u32", [](T m, T a) { return static_cast<T>(m >= a ? 0 : m + 1); }});
    result.push_back(
        {"dec.u32", [](T m, T a) { return static_cast<T>(m == 0 || m > a ? a : m - 1); }});
  }
  return result;
}

/// Operands above and below the value in memory, of both signs.
template <class T>
std::vector<T> operands() {
  const T top = static_cast<T>(T(1) << (sizeof(T) * 8 - 1));
  return {5, 9, static_cast<T>(~T(0)), 7, top, static_cast<T>(top - 1), 0, 42, 6, 6, 3, 100};
}

/// `code` on [s], in shared memory that has the cell's value before, and that the cell has after.
std::string in_shared(const std::string& code, std::size_t bytes) {
  const std::string type = ".b" + std::to_string(bytes * 8);
  return ".shared .align 8 .b64 s; .reg " + type + " %v; .reg .pred %first;\n" +
         "setp.eq.u32 %first, %r0, 0; @%first ld.global" + type + " %v, [%rd0];\n" +
         "@%first st.shared" + type + " [s], %v; bar.sync 0;\n" + code + "\nbar.sync 0;\n" +
         "@%first ld.shared" + type + " %v, [s]; @%first st.global" + type + " [%rd0], %v;";
}

template <class T, class Signed>
void expect_operations() {
  for (const Operation<T>& operation : operations<T, Signed>()) {
    const std::string atom = operation.name + " %d, [", red = operation.name + " [";
    const auto values = operands<T>();
    expect_in_order<T>(in_shared("atom.shared." + atom + "s], %a;", sizeof(T)), 7, values,
                       operation.apply);
    expect_in_order<T>("atom.acq_rel.sys." + atom + "%rd0], %a;", 7, values, operation.apply);
    T after = 7;
    for (const T value : values) after = operation.apply(after, value);
    for (const std::string& code :
         {"red.global." + red + "%rd0], %a;", "red.release.sys." + red + "%rd0], %a;",
          "red.release.sys.global." + red + "%rd0], %a;",
          in_shared("red.release.sys.shared::cta." + red + "s], %a;", sizeof(T))}) {
      EXPECT_EQ(run_atomic<T>(code, 7, values).cell, after) << code;
    }
  }
}

TEST(CudaAtomicsSpaces, IntegersOf32Bits) {
  Gpu gpu;
  expect_operations<U32, S32>();
}

TEST(CudaAtomicsSpaces, IntegersOf64Bits) {
  Gpu gpu;
  expect_operations<U64, S64>();
}

/// Each lane swaps the value of the lane before it, or leaves it.
template <class T>
void expect_swaps() {
  const std::string bits = std::to_string(sizeof(T) * 8);
  const std::string next = "add.u" + bits + " %c, %a, 1; ";
  const std::vector<T> values = {5, 6, 9, 7, 8, 0};
  const auto swap = [](T m, T a) { return static_cast<T>(m == a ? a + 1 : m); };
  const auto exchange = [](T, T a) { return a; };
  const std::string cas = "atom.shared.cas.b" + bits + " %d, [s], %a, %c;";
  expect_in_order<T>(next + in_shared(cas, sizeof(T)), 5, values, swap);
  expect_in_order<T>(next + "atom.cas.b" + bits + " %d, [%rd0], %a, %c;", 5, values, swap);
  if (sizeof(T) == 2) return;
  const std::string exch = "atom.shared.exch.b" + bits + " %d, [s], %a;";
  expect_in_order<T>(in_shared(exch, sizeof(T)), 5, values, exchange);
  expect_in_order<T>("atom.acq_rel.sys.exch.b" + bits + " %d, [%rd0], %a;", 5, values, exchange);
}

TEST(CudaAtomicsSpaces, Swaps) {
  Gpu gpu;
  expect_swaps<U16>();
  expect_swaps<U32>();
  expect_swaps<U64>();
}

/// 1 + 3 * 1 is 4, and -1 + 3 * -0.5 is -2.5: exact in f16 and in bf16.
TEST(CudaAtomicsSpaces, HalvesAreReduced) {
  Gpu gpu;
  const struct {
    const char* type;
    U16 one, half, four, low;
  } forms[] = {{"f16", 0x3C00, 0xB800, 0x4400, 0xC100}, {"bf16", 0x3F80, 0xBF00, 0x4080, 0xC020}};
  for (const auto& form : forms) {
    const std::string add = std::string(".add.noftz.") + form.type;
    const std::vector<U16> ones(3, form.one);
    EXPECT_EQ(run_atomic<U16>("red.global" + add + " [%rd0], %a;", form.one, ones).cell, form.four);
    // 1, 2 and 3 are before each of the lanes; 2 is 0x4000 in both formats.
    const std::vector<U16> counts = {form.one, 0x4000,
                                     static_cast<U16>(form.one == 0x3C00 ? 0x4200 : 0x4040)};
    const auto shared =
        run_atomic<U16>(in_shared("atom.shared" + add + " %d, [s], %a;", 2), form.one, ones);
    EXPECT_EQ(shared.cell, form.four) << form.type;
    EXPECT_EQ(shared.before, counts) << form.type;
    const U32 both = form.one | U32{form.half} << 16;
    const U32 start = form.one | U32{form.one | 0x8000u} << 16;
    const U32 after = form.four | U32{form.low} << 16;
    for (const std::string& code :
         {"red.global" + add + "x2 [%rd0], %a;", "red.release.sys" + add + "x2 [%rd0], %a;",
          in_shared("red.shared" + add + "x2 [s], %a;", 4),
          in_shared("atom.shared" + add + "x2 %d, [s], %a;", 4)}) {
      EXPECT_EQ(run_atomic<U32>(code, start, std::vector<U32>(3, both)).cell, after) << code;
    }
  }
  // 0x40000000 is 2 and 0x41000000 is 8.
  EXPECT_EQ(run_atomic<U32>(in_shared("red.shared.add.f32 [s], %a;", 4), 0x40000000,
                            std::vector<U32>(3, 0x40000000))
                .cell,
            0x41000000u);
}

TEST(CudaAtomicsSpaces, DoublesAddInSharedMemory) {
  Gpu gpu;
  std::vector<U64> values;
  for (const double value : {1e16, 1.0, -1e16, 0.5, 3.0, -0.0}) {
    values.push_back(std::bit_cast<U64>(value));
  }
  const auto add = [](U64 m, U64 a) {
    return std::bit_cast<U64>(std::bit_cast<double>(m) + std::bit_cast<double>(a));
  };
  const U64 start = std::bit_cast<U64>(0.25);
  expect_in_order<U64>(in_shared("atom.shared.add.f64 %d, [s], %a;", 8), start, values, add);
  U64 sum = start;
  for (const U64 value : values) sum = add(sum, value);
  EXPECT_EQ(run_atomic<U64>(in_shared("red.shared.add.f64 [s], %a;", 8), start, values).cell, sum);
}

// --- 128 bits

/// Kernel k(cell, out): 16 bytes and 16 more for each thread. %v is {thread + 1, 100 - thread}.
std::string wide_kernel(const std::string& code) {
  return twin_test::module(
      ".visible .entry k(.param .u64 cell, .param .u64 out) {\n"
      "  .reg .b64 %cell, %out, %x, %y;\n  .reg .b32 %t;\n  .reg .b128 %v, %w, %d;\n"
      "  .reg .pred %p;\n  .shared .align 16 .b8 s[16];\n  ld.param.u64 %cell, [cell];\n"
      "  ld.param.u64 %out, [out];\n  mov.u32 %t, %tid.x;\n  mad.wide.u32 %out, %t, 16, %out;\n"
      "  cvt.u64.u32 %x, %t;\n  sub.u64 %y, 100, %x;\n  add.u64 %x, %x, 1;\n"
      "  mov.b128 %v, {%x, %y};\n" +
      code + "\n  ret;\n}\n");
}

struct WideResult {
  std::vector<U64> cell, before;
};
WideResult run_wide(const std::string& code, const std::vector<U64>& start, unsigned threads) {
  twin_test::Buffer<U64> cell(start), out(std::size_t{2} * threads, 0);
  EXPECT_EQ(twin_test::launch(wide_kernel(code), "k", 1, threads, {&cell.address, &out.address}),
            CUDA_SUCCESS)
      << code << cuda_twin_last_message() << cuda_twin_last_fault();
  return {cell.read(), out.read()};
}

TEST(CudaAtomicsSpaces, ExchangesOf128Bits) {
  Gpu gpu;
  const std::string fill =
      "setp.eq.u32 %p, %t, 0; @%p ld.global.b128 %d, [%cell]; @%p st.shared.b128 [s], %d;"
      " bar.sync 0;\n";
  const std::string copy =
      "\nbar.sync 0; @%p ld.shared.b128 %w, [s]; @%p st.global.b128 [%cell], %w;";
  const std::string keep = " st.global.b128 [%out], %d;";
  for (const std::string& code : {"atom.global.exch.b128 %d, [%cell], %v;" + keep,
                                  "atom.acq_rel.gpu.exch.b128 %d, [%cell], %v;" + keep,
                                  fill + "atom.shared.exch.b128 %d, [s], %v;" + keep + copy}) {
    const WideResult result = run_wide(code, {7, 8}, 4);
    EXPECT_EQ(result.before, (std::vector<U64>{7, 8, 1, 100, 2, 99, 3, 98})) << code;
    EXPECT_EQ(result.cell, (std::vector<U64>{4, 97})) << code;
  }
  EXPECT_EQ(run_wide("atom.exch.b128 _, [%cell], %v;", {7, 8}, 3).cell, (std::vector<U64>{3, 98}));
}

TEST(CudaAtomicsSpaces, SwapsOf128Bits) {
  Gpu gpu;
  // Each lane expects the value that the lane before it writes; the third one another high word.
  const std::string code =
      "sub.u64 %x, %x, 1; add.u64 %y, %y, 1; setp.eq.u32 %p, %t, 2; @%p add.u64 %y, %y, 1;\n"
      "mov.b128 %w, {%x, %y}; atom.global.cas.b128 %d, [%cell], %w, %v;"
      " st.global.b128 [%out], %d;";
  const WideResult result = run_wide(code, {0, 101}, 4);
  EXPECT_EQ(result.before, (std::vector<U64>{0, 101, 1, 100, 2, 99, 2, 99}));
  EXPECT_EQ(result.cell, (std::vector<U64>{2, 99}));
}

/// Enough instructions that the twin's host threads share them.
TEST(CudaAtomicsOnHostThreads, CountersOf128Bits) {
  constexpr unsigned kBlocks = 800;
  Gpu gpu;
  ASSERT_EQ(cuda_twin_set("CUDA_TWIN_THREADS", "4"), 1);
  twin_test::Buffer<U64> cell(std::vector<U64>{0, 0});
  // Both words count: a swap of one word alone would show.
  const std::string text = wide_kernel(
      "ld.relaxed.gpu.global.b128 %w, [%cell];\nagain:\n  mov.b128 {%x, %y}, %w;\n"
      "  add.u64 %x, %x, 1;\n  add.u64 %y, %y, 3;\n  mov.b128 %v, {%x, %y};\n"
      "  atom.relaxed.gpu.global.cas.b128 %d, [%cell], %w, %v;\n"
      "  mov.b128 {%x, %y}, %d;\n  .reg .b64 %m, %n;\n  mov.b128 {%m, %n}, %w;\n"
      "  mov.b128 %w, %d;\n  setp.ne.u64 %p, %x, %m;\n  @%p bra again;\n");
  ASSERT_EQ(twin_test::launch(text, "k", kBlocks, 32, {&cell.address, &cell.address}), CUDA_SUCCESS)
      << cuda_twin_last_message() << cuda_twin_last_fault();
  EXPECT_EQ(cell.read(), (std::vector<U64>{32 * kBlocks, 3 * 32 * kBlocks}));
  cuda_twin_kernel_counts counts;
  ASSERT_EQ(cuda_twin_count_kernel("k", &counts), 1);
  EXPECT_GT(counts.instructions, 200'000u);
}

TEST(CudaAtomicsSpaces, FormsOf128BitsThatDoNotExist) {
  Gpu gpu;
  CUmodule loaded = nullptr;
  for (const char* code :
       {"atom.global.add.b128 %d, [%cell], %v;", "red.global.exch.b128 [%cell], %v;",
        "atom.global.exch.b128 %x, [%cell], %v;"}) {
    EXPECT_EQ(twin_test::load(wide_kernel(code), &loaded), CUDA_ERROR_INVALID_PTX) << code;
  }
  // PTX has constants of 128 bits, the twin has not (README, "Missing").
  EXPECT_EQ(twin_test::load(wide_kernel("atom.global.exch.b128 %d, [%cell], 0;"), &loaded),
            CUDA_ERROR_INVALID_PTX);
  const std::string form = "{ .reg .b128 v, d; atom.sys.exch.b128 d, [%l0], v; }";
  const auto loads = [&](const char* version, const char* target) {
    const CUresult code = twin_test::load(twin_test::frame<U32>(form, version, target), &loaded);
    if (code == CUDA_SUCCESS) (void)cuModuleUnload(loaded);
    return code;
  };
  EXPECT_EQ(loads("8.4", "sm_90"), CUDA_SUCCESS);
  EXPECT_EQ(loads("8.3", "sm_90"), CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(loads("8.4", "sm_80"), CUDA_ERROR_INVALID_PTX);
}

}  // namespace
}  // namespace atomics_spaces_test
