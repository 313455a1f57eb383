// The abilities of each chip, by the name that the library gives it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace shunt::cann {

/// A family of chips with the same operators.
enum class Family : std::uint8_t { k910B, k310P, k310B };

/// Operators for all of attention in F16.
enum class FusedAttention : std::uint8_t {
  kNone,
  kGrouped,    ///< aclnnFusedInferAttentionScoreV2
  kUngrouped,  ///< aclnnIncreFlashAttentionV4, aclnnPromptFlashAttentionV3: as many heads of k as
               ///< of q
};

struct Chip {
  std::string_view prefix;  ///< of aclrtGetSocName
  Family family;
  std::string_view name;  ///< for users
  bool bf16;              ///< has BF16
  bool f32_products;      ///< multiplies F32 by F32
  bool f32_results;       ///< products of F16 may have results of F32
  bool rotary;            ///< aclnnRotaryPositionEmbedding
  FusedAttention fused_attention;
  bool saturates;         ///< F16: the largest number instead of infinity, 0 instead of NaN
  bool quantized;         ///< aclnnWeightQuantBatchMatmulV2 with INT8
  bool int4;              ///< the same with INT4
  bool fractal_weights;   ///< products of F16 convert weights that are not in FRACTAL_NZ
  bool graphs;            ///< captured graphs
  bool dedicated_memory;  ///< else it may share the host's
  /// Of a data sheet: F16 products a second, bytes a second.
  double operations_per_second;
  double bytes_per_second;
};

/// The row of a chip; null for one that is not supported.
const Chip* find_chip(std::string_view soc_name);
std::span<const Chip> chips();

/// An operator with a type that ends the process on a chip: it is never called.
bool is_fatal(const Chip& chip, std::string_view op, bool has_int64);

}  // namespace shunt::cann
