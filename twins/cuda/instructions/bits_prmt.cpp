// prmt: bytes of two registers in any order.
#include "cuda/instructions/apply.h"
#include "cuda/instructions/bits.h"
#include "cuda/instructions/forms.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {
namespace {

using enum ptx::Type;

/// Byte k of the result is the one that nibble k of `selector` names: 0 to 3 in a, 4 to 7 in b. The
/// nibble's top bit asks for the sign of that byte, in all 8 bits.
std::uint32_t permuted(std::uint32_t a, std::uint32_t b, std::uint32_t selector) {
  const std::uint64_t bytes = std::uint64_t{b} << 32 | a;
  std::uint32_t result = 0;
  for (unsigned k = 0; k < 4; ++k) {
    const std::uint32_t nibble = selector >> (4 * k);
    const auto byte = static_cast<std::uint32_t>(bytes >> (8 * (nibble & 7u))) & 0xFFu;
    const std::uint32_t sign = (byte >> 7) * 0xFFu;
    result |= ((nibble & 8u) != 0 ? sign : byte) << (8 * k);
  }
  return result;
}

/// Selectors of the other modes, by the low two bits of the third operand.
constexpr std::uint32_t kModeSelectors[6][4] = {
    {0x3210, 0x4321, 0x5432, 0x6543},  // f4e: four bytes forward from there on
    {0x5670, 0x6701, 0x7012, 0x0123},  // b4e: backward
    {0x0000, 0x1111, 0x2222, 0x3333},  // rc8: that byte four times
    {0x3210, 0x3211, 0x3222, 0x3333},  // ecl: no byte from below it
    {0x0000, 0x1110, 0x2210, 0x3210},  // ecr: no byte from above it
    {0x1010, 0x3232, 0x1010, 0x3232},  // rc16: that half twice
};
template <std::size_t mode>
std::uint32_t permuted_by_mode(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  return permuted(a, b, kModeSelectors[mode][c & 3u]);
}

}  // namespace

bool bind_prmt(Binder& binder) {
  constexpr Handler kModes[] = {apply<permuted_by_mode<0>>, apply<permuted_by_mode<1>>,
                                apply<permuted_by_mode<2>>, apply<permuted_by_mode<3>>,
                                apply<permuted_by_mode<4>>, apply<permuted_by_mode<5>>};
  binder.take_type({kB32});
  const auto mode = binder.take_one_of({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"});
  return emit_form(binder, mode ? kModes[*mode] : apply<permuted>, OpKind::kInteger, kB32,
                   {kB32, kB32, kB32});
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
