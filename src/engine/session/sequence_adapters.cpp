#include "engine/session/sequence_adapters.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/to_size.h"
#include "shunt/message.h"

namespace shunt {

std::map<std::size_t, float> adapter_sums(std::span<const AdapterUse> uses) {
  std::map<std::size_t, float> sums;
  for (const AdapterUse& use : uses) sums[use.index] += use.scale;
  std::erase_if(sums, [](const auto& each) { return each.second == 0; });
  return sums;
}

Status check_adapters(std::span<const AdapterUse> uses, std::size_t adapters) {
  for (const AdapterUse& use : uses) {
    if (use.index >= adapters) {
      return invalid("there is no adapter {}: the model was loaded with {}", use.index,
                     counted(adapters, "adapter"));
    }
  }
  for (const auto& [index, scale] : adapter_sums(uses)) {
    if (!std::isfinite(scale))
      return invalid("the scale of adapter {} is {}; it must be a finite number", index, scale);
  }
  return ok();
}

std::string adapters_key(std::span<const AdapterUse> uses) {
  std::string key;
  for (const auto& [index, scale] : adapter_sums(uses))
    key += fmt::format("{}*{:08x},", index, std::bit_cast<std::uint32_t>(scale));
  return key;
}

std::vector<float> row_scales(const AdapterStacks* stacks, std::span<const AdapterUse> uses) {
  const std::map<std::size_t, float> sums = adapter_sums(uses);
  if (sums.empty()) return {};
  std::vector<float> scales(to_size(stacks->ranks()));
  for (const auto& [index, scale] : sums) {
    const auto first = scales.begin() + stacks->first_row(index);
    std::fill(first, scales.begin() + stacks->first_row(index + 1), scale);
  }
  return scales;
}

SequenceAdapters::Sequence SequenceAdapters::make(std::span<const AdapterUse> uses) const {
  return {.uses = {uses.begin(), uses.end()},
          .key = adapters_key(uses),
          .scales = row_scales(stacks_, uses)};
}

}  // namespace shunt
