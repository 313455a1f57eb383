#include "model/quantize_types.h"

#include <algorithm>

namespace shunt {

namespace {

using enum DType;

constexpr Mixture all(std::string_view name, std::uint32_t file_type, DType type) {
  return {name, file_type, type, {type, type}, type, {type, type}, type};
}

/// Coarse types are not used for the two matrices at the start and the end of the model.
constexpr Mixture all_between(std::string_view name, std::uint32_t file_type, DType type) {
  Mixture mixture = all(name, file_type, type);
  mixture.ends = kQ6_K;
  return mixture;
}

// file_type is GGUF's number for the name.
// clang-format off
constexpr Mixture kMixtures[] = {
    //                    base      value              mix     down               ends
    all("F32", 0, kF32),
    all("F16", 1, kF16),
    all("BF16", 32, kBF16),
    all("Q8_0", 7, kQ8_0),
    all("Q6_K", 18, kQ6_K),
    {"Q5_K_M",   17,      kQ5_K,    {kQ5_K, kQ6_K},    kQ5_K,  {kQ5_K, kQ6_K},    kQ6_K},
    {"Q5_K_S",   16,      kQ5_K,    {kQ5_K, kQ5_K},    kQ5_K,  {kQ5_K, kQ5_K},    kQ6_K},
    all_between("Q5_K", 16, kQ5_K),
    all_between("Q5_1", 9, kQ5_1),
    all_between("Q5_0", 8, kQ5_0),
    {"Q4_K_M",   15,      kQ4_K,    {kQ4_K, kQ6_K},    kQ4_K,  {kQ4_K, kQ6_K},    kQ6_K},
    {"Q4_K_S",   14,      kQ4_K,    {kQ4_K, kQ5_K},    kQ4_K,  {kQ4_K, kQ5_K},    kQ6_K},
    all_between("Q4_K", 14, kQ4_K),
    all_between("Q4_1", 3, kQ4_1),
    all_between("Q4_0", 2, kQ4_0),
    all_between("IQ4_NL", 25, kIQ4_NL),
    all_between("IQ4_XS", 30, kIQ4_XS),
    all_between("MXFP4", 38, kMXFP4),
    {"Q3_K_L",   13,      kQ3_K,    {kQ5_K, kQ6_K},    kQ5_K,  {kQ5_K, kQ5_K},    kQ6_K},
    {"Q3_K_M",   12,      kQ3_K,    {kQ4_K, kQ5_K},    kQ4_K,  {kQ4_K, kQ5_K},    kQ6_K},
    {"Q3_K_S",   11,      kQ3_K,    {kQ3_K, kQ4_K},    kQ3_K,  {kQ3_K, kQ3_K},    kQ6_K},
    all_between("Q3_K", 11, kQ3_K),
    all_between("IQ3_S", 26, kIQ3_S),
    all_between("IQ3_XXS", 23, kIQ3_XXS),
    {"Q2_K",     10,      kQ2_K,    {kQ4_K, kQ4_K},    kQ3_K,  {kQ3_K, kQ4_K},    kQ6_K},
    {"Q2_K_S",   21,      kQ2_K,    {kQ2_K, kQ4_K},    kQ2_K,  {kQ2_K, kQ3_K},    kQ6_K},
    all_between("IQ2_S", 28, kIQ2_S),
    all_between("IQ2_XS", 20, kIQ2_XS),
    all_between("IQ2_XXS", 19, kIQ2_XXS),
    all_between("IQ1_M", 31, kIQ1_M),
    all_between("IQ1_S", 24, kIQ1_S),
    all_between("TQ2_0", 37, kTQ2_0),
    all_between("TQ1_0", 36, kTQ1_0),
};
// clang-format on

/// Where rows are not whole blocks of the first, the second is tried.
constexpr std::pair<DType, DType> kNextFiner[] = {
    {kQ6_K, kQ8_0},    {kQ5_K, kQ5_1},     {kQ4_K, kQ5_0},      {kIQ4_XS, kIQ4_NL},
    {kQ3_K, kIQ4_NL},  {kQ2_K, kIQ4_NL},   {kIQ3_S, kIQ4_NL},   {kIQ3_XXS, kIQ4_NL},
    {kIQ2_S, kIQ4_NL}, {kIQ2_XS, kIQ4_NL}, {kIQ2_XXS, kIQ4_NL}, {kIQ1_M, kIQ4_NL},
    {kIQ1_S, kIQ4_NL}, {kTQ2_0, kIQ4_NL},  {kTQ1_0, kIQ4_NL},
};

constexpr char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

bool is_important_layer(std::int64_t layer, std::int64_t layers) {
  constexpr std::int64_t kPart = 8;
  const std::int64_t edge = (layers + kPart - 1) / kPart;
  return layer < edge || layer >= layers - edge || (layer - edge) % 3 == 2;
}

DType Mixture::type_for(WeightRole role, std::int64_t layer, std::int64_t layers) const {
  const auto by_layer = [&](const ByLayer& types) {
    return is_important_layer(layer, layers) ? types.important : types.most;
  };
  switch (role) {
    case WeightRole::kEmbedding:
    case WeightRole::kOutput:
      return ends;
    case WeightRole::kValue:
      return by_layer(value);
    case WeightRole::kDown:
      return by_layer(down);
    case WeightRole::kMix:
      return mix;
    case WeightRole::kOther:
    case WeightRole::kQuery:
    case WeightRole::kKey:
    case WeightRole::kGate:
    case WeightRole::kUp:
      return base;
  }
  return base;
}

std::span<const Mixture> mixtures() {
  return kMixtures;
}

const Mixture* find_mixture(std::string_view name) {
  const auto same = [&](const Mixture& row) {
    return std::ranges::equal(row.name, name, {}, lower, lower);
  };
  const auto* found = std::ranges::find_if(kMixtures, same);
  return found == std::end(kMixtures) ? nullptr : found;
}

DType fitting_type(DType wanted, std::int64_t columns) {
  while (columns % trait(wanted).block_elements != 0) {
    const auto* next = std::ranges::find(kNextFiner, wanted, &std::pair<DType, DType>::first);
    wanted = next == std::end(kNextFiner) ? kF16 : next->second;
  }
  return wanted;
}

}  // namespace shunt
