// Tables by element type, made from a list of formats. A format says as kType whose it is.
#pragma once

#include <array>
#include <cstddef>

#include "shunt/tensor.h"

namespace shunt::cpu::simd {

template <class... Formats>
struct FormatList {};

/// The results of `make` for each format of a list, called as make.operator()<F>(); empty entries
/// for all other types.
template <class Entry, class Make, class... Formats>
constexpr std::array<Entry, 64> make_table(FormatList<Formats...>, Make make) {
  std::array<Entry, 64> table{};
  ((table[static_cast<std::size_t>(Formats::kType)] = make.template operator()<Formats>()), ...);
  return table;
}

}  // namespace shunt::cpu::simd
