// The facts of slots: usual names in a GGUF file, sizes, roles.
#pragma once

#include <string>
#include <string_view>

#include "model/definition.h"
#include "model/description.h"

namespace shunt {

/// The numbers of a weight before training.
enum class Start : std::uint8_t {
  kByRole,  ///< noise if it has a role, else ones
  kZeros,
  kMinusOnes,
  kNoise,
};

/// The facts of a slot.
struct SlotFacts {
  WeightSlot slot;
  std::string_view name;  ///< the usual one; "{}": the layer
  /// Whether a layer has the weight; null: it belongs to no layer.
  bool (*is_in)(const Layer& layer);
  /// Innermost first; the others are 1. Without layers, the layer is the first one.
  Sizes (*sizes)(const Description& model, const Layer& layer);
  WeightRole role = WeightRole::kOther;
  Role leaf = Role::kWeight;
  Start start = Start::kByRole;
};

const SlotFacts& facts_of(WeightSlot slot);

/// Whether a weight is random before training; else all its numbers are start_of().
bool starts_with_noise(const SlotFacts& facts);
float start_of(const SlotFacts& facts);

/// The name of a row in a file.
std::string name_of(const WeightRow& row, std::int64_t layer);

}  // namespace shunt
