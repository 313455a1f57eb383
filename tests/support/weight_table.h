// The weights of an architecture of tests, listed in a table with their shapes.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/find_weight.h"

namespace shunt::test {

/// One row of an architecture's table. `Numbers` is its struct of sizes.
template <class Numbers>
struct WeightRow {
  std::string_view name;  ///< in the file; "{}": the layer, with a weight for each
  std::array<std::int64_t Numbers::*, 2> sizes =
      {};  ///< innermost first; null: there is no such dimension
  bool optional = false;
  WeightRole role = WeightRole::kOther;

  bool in_layers() const { return name.find("{}") != std::string_view::npos; }
  std::string name_in(std::int64_t layer) const {
    std::string full(name);
    if (in_layers()) full.replace(name.find("{}"), 2, std::to_string(layer));
    return full;
  }
};

/// The weights of a file by row of the table, then by layer.
using FoundWeights = std::vector<std::vector<const gguf::TensorInfo*>>;

template <class Numbers>
Result<FoundWeights> find_weights(const gguf::File& file, std::span<const WeightRow<Numbers>> table,
                                  const Numbers& numbers, std::int64_t layers) {
  FoundWeights found(table.size());
  for (std::size_t row = 0; row < table.size(); ++row) {
    std::vector<std::int64_t> sizes;
    for (const auto member : table[row].sizes) {
      if (member != nullptr) sizes.push_back(numbers.*member);
    }
    for (std::int64_t layer = 0; layer < (table[row].in_layers() ? layers : 1); ++layer) {
      SHUNT_ASSIGN(const gguf::TensorInfo* info,
                   find_weight(file, table[row].name_in(layer), sizes, table[row].optional));
      found[row].push_back(info);
    }
  }
  return found;
}

/// The weights found, with the table's facts about them.
template <class Numbers>
std::vector<ModelWeight> list_weights(const FoundWeights& found,
                                      std::span<const WeightRow<Numbers>> table) {
  std::vector<ModelWeight> weights;
  for (std::size_t row = 0; row < table.size(); ++row) {
    for (std::size_t layer = 0; layer < found[row].size(); ++layer) {
      if (found[row][layer] == nullptr) continue;
      weights.push_back({found[row][layer], table[row].role,
                         table[row].in_layers() ? static_cast<std::int64_t>(layer) : -1});
    }
  }
  return weights;
}

}  // namespace shunt::test
