// Every integer operation of atom and red, in shared memory, through generic addresses and with the
// widest semantics, against plain sequences of operations on the host.
#include <algorithm>

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
    const U32 both = form.one | U32{form.half} << 16;
    const U32 start = form.one | U32{form.one | 0x8000u} << 16;
    const U32 after = form.four | U32{form.low} << 16;
    for (const std::string& code :
         {"red.global" + add + "x2 [%rd0], %a;", "red.release.sys" + add + "x2 [%rd0], %a;",
          in_shared("red.shared" + add + "x2 [s], %a;", 4)}) {
      EXPECT_EQ(run_atomic<U32>(code, start, std::vector<U32>(3, both)).cell, after) << code;
    }
  }
  // 0x40000000 is 2 and 0x41000000 is 8.
  EXPECT_EQ(run_atomic<U32>(in_shared("red.shared.add.f32 [s], %a;", 4), 0x40000000,
                            std::vector<U32>(3, 0x40000000))
                .cell,
            0x41000000u);
}

}  // namespace
}  // namespace atomics_spaces_test
