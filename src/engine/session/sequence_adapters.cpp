#include "engine/session/sequence_adapters.h"

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

std::vector<AdapterUse> uses_with_effect(std::span<const AdapterUse> uses) {
  std::vector<AdapterUse> all;
  for (const auto& [index, scale] : adapter_sums(uses))
    all.push_back({.index = index, .scale = scale});
  return all;
}

SequenceAdapters::Sequence SequenceAdapters::make(std::span<const AdapterUse> uses) {
  return {.uses = {uses.begin(), uses.end()},
          .key = adapters_key(uses),
          .with_effect = uses_with_effect(uses)};
}

}  // namespace shunt
