#include "backends/cann/chip.h"

#include <algorithm>
#include <array>

namespace shunt::cann {

namespace {

// Prefixes are those of the vendor's documentation. Speeds are of data sheets, not measured.
constexpr Chip k910B = {.prefix = "Ascend910B",
                        .family = Family::k910B,
                        .name = "910B",
                        .bf16 = true,
                        .f32_products = true,
                        .f32_results = true,
                        .rotary = true,
                        .fused_attention = FusedAttention::kGrouped,
                        .saturates = false,
                        .quantized = true,
                        .int4 = true,
                        .fractal_weights = false,
                        .graphs = true,
                        .dedicated_memory = true,
                        .operations_per_second = 313e12,
                        .bytes_per_second = 1.6e12};

/// A chip with the abilities of another one.
constexpr Chip named(Chip chip, std::string_view prefix, std::string_view name) {
  chip.prefix = prefix;
  chip.name = name;
  return chip;
}

constexpr std::array kChips = {
    k910B,
    named(k910B, "Ascend910_93", "A3"),
    Chip{.prefix = "Ascend310P",
         .family = Family::k310P,
         .name = "310P",
         .bf16 = false,
         .f32_products = false,
         .f32_results = true,
         .rotary = false,
         .fused_attention = FusedAttention::kUngrouped,
         .saturates = true,
         .quantized = true,
         .int4 = false,
         .fractal_weights = true,
         .graphs = true,
         .dedicated_memory = true,
         .operations_per_second = 70e12,
         .bytes_per_second = 204e9},
    Chip{.prefix = "Ascend310B",
         .family = Family::k310B,
         .name = "310B",
         .bf16 = false,
         .f32_products = false,
         .f32_results = false,
         .rotary = false,
         .fused_attention = FusedAttention::kNone,
         .saturates = true,
         .quantized = false,
         .int4 = false,
         .fractal_weights = false,
         .graphs = false,
         .dedicated_memory = false,
         .operations_per_second = 4e12,
         .bytes_per_second = 25e9},
};

struct FatalRow {
  Family family;
  std::string_view op;
  bool only_int64;
};
constexpr std::array kFatal = {
    FatalRow{Family::k310B, "GtTensor", true},
    FatalRow{Family::k310B, "LtTensor", true},
    FatalRow{Family::k910B, "Subs", false},
};

}  // namespace

std::span<const Chip> chips() {
  return kChips;
}

const Chip* find_chip(std::string_view soc_name) {
  const auto* const found = std::ranges::find_if(
      kChips, [&](const Chip& chip) { return soc_name.starts_with(chip.prefix); });
  return found == kChips.end() ? nullptr : found;
}

bool is_fatal(const Chip& chip, std::string_view op, bool has_int64) {
  return std::ranges::any_of(kFatal, [&](const FatalRow& row) {
    return row.family == chip.family && row.op == op && (has_int64 || !row.only_int64);
  });
}

}  // namespace shunt::cann
