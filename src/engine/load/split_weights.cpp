#include "engine/load/split_weights.h"

#include <algorithm>
#include <array>

#include "base/enum_table.h"
#include "base/regex.h"
#include "model/split.h"
#include "schedule/place/pins.h"
#include "shunt/message.h"

namespace shunt {

std::string_view to_string(SplitMode mode) {
  static constexpr std::array<std::string_view, 2> kNames = {"layers", "rows"};
  return name_in(kNames, mode);
}

namespace {

std::string names_of(const DeviceSet& devices) {
  std::string names;
  for (const Device* device : devices) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", device->name());
  }
  return names;
}

/// A CPU that is named before other devices would get the share of one of them.
Status check_order(const DeviceSet& devices, std::span<const std::string> names) {
  const std::string_view cpu = devices.cpu_device().name();
  const auto found = std::ranges::find(names, cpu);
  if (std::all_of(found, names.end(), [&](const std::string& name) { return name == cpu; })) {
    return ok();
  }
  return invalid("{} is always the last device: name it last, as shares are in this order", cpu);
}

/// Pins by the name of a whole weight or cache apply to its parts.
Status pin_parts(ModelState& model) {
  if (model.placement.pins.empty()) return ok();
  StepShape shape;
  shape.cache_type = DType::kF32;  // whose caches are cut wherever those of any type are
  SHUNT_ASSIGN(const auto built, model.build(shape));
  const StepGraph& step = *built;
  for (Pin& pin : model.placement.pins) {
    auto pattern = Regex::compile(pin.pattern);
    if (!pattern) return std::move(pattern.error()).with_context(describe(pin));
    for (const PartLeaf& part : step.parts) {
      auto matches = pattern->matches(part.whole);
      if (!matches) return std::move(matches.error()).with_context(describe(pin));
      if (*matches) pin.parts.push_back(step.graph.node(part.leaf).name);
    }
  }
  return ok();
}

}  // namespace

Status split_weights(ModelState& model, const SplitOptions& split,
                     std::span<const std::string> names) {
  if (split.mode == SplitMode::kLayers) {
    if (split.shares.empty()) return ok();
    return invalid("shares are for a model that is split by rows");
  }
  std::vector<std::int64_t> shares = split.shares;
  if (shares.empty()) shares.assign(model.devices.accelerators().size(), 1);
  if (shares.size() > model.devices.size()) {
    return invalid("there are {} shares, but {} devices: {}", shares.size(), model.devices.size(),
                   names_of(model.devices));
  }
  for (const std::int64_t share : shares) {
    if (share >= 1 && share <= SplitOptions::kMostShare) continue;
    return invalid("a share is {}; it must be from 1 to {}", share, SplitOptions::kMostShare);
  }
  if (split.shares.size() == 1) {
    return invalid("one share splits nothing; give one for each device");
  }
  if (!split.shares.empty()) SHUNT_TRY(check_order(model.devices, names));
  if (shares.size() < 2) return ok();
  SHUNT_ASSIGN(model.definition, split_model(model.definition, shares));
  model.part_devices.assign(model.devices.begin(),
                            model.devices.begin() + static_cast<std::ptrdiff_t>(shares.size()));
  return pin_parts(model);
}

}  // namespace shunt
