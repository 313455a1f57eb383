// The types that a model can be quantized to: single types, and mixtures by role and layer.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "model/definition.h"

namespace shunt {

/// A type for each role. One name for people ("Q4_K_M") is one row of a table here.
struct Mixture {
  /// Some layers matter more than others: the first and the last eighth, and every third between.
  struct ByLayer {
    DType most = DType::kF32;
    DType important = DType::kF32;
  };

  std::string_view name;
  std::uint32_t file_type = 0;  ///< general.file_type of such a file
  DType base = DType::kF32;     ///< of queries, keys, gates, and weights without a role
  ByLayer value;                ///< of attention: few of them, and every head depends on them
  DType mix = DType::kF32;
  ByLayer down;              ///< of the feed-forward part
  DType ends = DType::kF32;  ///< of embedding and output

  DType type_for(WeightRole role, std::int64_t layer, std::int64_t layers) const;
};

/// All there are.
std::span<const Mixture> mixtures();
/// By name, case ignored; null if there is none of that name.
const Mixture* find_mixture(std::string_view name);

/// Whether a layer out of `layers` is one of those that matter more.
bool is_important_layer(std::int64_t layer, std::int64_t layers);

/// `wanted`, or the next finer type whose blocks a row of `columns` elements can be cut into: 32
/// instead of 256 elements, and F16 where that is too much, too.
DType fitting_type(DType wanted, std::int64_t columns);

}  // namespace shunt
