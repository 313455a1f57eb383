#include "schedule/place/pins.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/regex.h"
#include "graph/storage_users.h"
#include "shunt/message.h"

namespace shunt {

namespace {

class Pinner {
 public:
  Pinner(const PlaceFacts& facts, std::span<const Pin> pins)
      : facts_(facts), graph_(facts.graph()), pins_(pins) {
    pinned_.device.assign(graph_.size(), kNotPinned);
    pin_.assign(graph_.size(), nullptr);
    pinned_.reason.resize(graph_.size());
    pinned_.rule.assign(graph_.size(), Rule::kPinned);
  }

  Result<PinnedNodes> run() {
    SHUNT_TRY(find_devices());
    SHUNT_TRY(match());
    SHUNT_TRY(pin_shared_memory());
    pin_transcoded_weights();
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (pin_[id] == nullptr) continue;
      SHUNT_TRY(check(id));
      pinned_.reason[id] = fmt::format("set by {}", describe(*pin_[id]));
    }
    return std::move(pinned_);
  }

 private:
  Error refuse(NodeId id, std::string_view why) const {
    return invalid("{} can't be applied: {} {}", describe(*pin_[id]), graph_.describe(id), why);
  }

  Status find_devices() {
    std::vector<std::string_view> names;
    for (const DeviceIndex index : facts_.devices().indices()) names.push_back(facts_.name(index));
    for (const Pin& pin : pins_) {
      const auto found = std::find(names.begin(), names.end(), pin.device);
      if (found == names.end()) {
        return invalid("{} can't be applied: there is no device {}, but {}", describe(pin),
                       pin.device, fmt::join(names, ", "));
      }
      devices_.push_back(static_cast<DeviceIndex>(found - names.begin()));
    }
    return ok();
  }

  Status match() {
    for (std::size_t i = 0; i < pins_.size(); ++i) {
      auto pattern = Regex::compile(pins_[i].pattern);
      if (!pattern) return std::move(pattern.error()).with_context(describe(pins_[i]));
      bool any = false;
      bool only_followers = false;
      for (NodeId id = 0; id < graph_.size(); ++id) {
        const Node& node = graph_.node(id);
        auto matches = pattern->matches(node.name);
        if (!matches) return std::move(matches.error()).with_context(describe(pins_[i]));
        const auto is_part = [&] { return std::ranges::count(pins_[i].parts, node.name) > 0; };
        if (!*matches && !(node.is_leaf() && is_part())) continue;
        if (node.is_leaf() ? node.role == Role::kInput : !is_computed(node)) {
          only_followers = true;
          continue;
        }
        any = true;
        if (pin_[id] != nullptr) continue;
        pin_[id] = &pins_[i];
        pinned_.device[id] = devices_[i];
      }
      if (any) continue;
      pinned_.notes.push_back(fmt::format(
          "{} matches {}", describe(pins_[i]),
          only_followers ? "only inputs and views, which follow others" : "no node of this graph"));
    }
    return ok();
  }

  /// A node that writes into memory runs on the device of that memory: one pin applies to the owner
  /// and all its writers.
  Status pin_shared_memory() {
    for (NodeId owner = 0; owner < graph_.size(); ++owner) {
      const bool input = graph_.node(owner).is_leaf() && graph_.node(owner).role == Role::kInput;
      for (NodeId writer : facts_.writers(owner)) {
        if (pin_[writer] == nullptr) continue;
        const int device = pinned_.device[writer];
        if (input && device != facts_.cpu())
          return refuse(writer, fmt::format("writes into {}, an input, which is on the host",
                                            graph_.describe(owner)));
        if (pin_[owner] == nullptr && !input) {
          pin_[owner] = pin_[writer];
          pinned_.device[owner] = device;
        }
        if (!input && pinned_.device[owner] != device) {
          return refuse(writer, fmt::format("writes into {}, which {} puts elsewhere",
                                            graph_.describe(owner), describe(*pin_[owner])));
        }
      }
      if (pin_[owner] == nullptr) continue;
      for (NodeId writer : facts_.writers(owner)) {
        pin_[writer] = pin_[owner];
        pinned_.device[writer] = pinned_.device[owner];
      }
    }
    return ok();
  }

  /// An op that needs a weight in another type on its device takes the weight along.
  void pin_transcoded_weights() {
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (pin_[id] == nullptr || !is_computed(graph_.node(id))) continue;
      for (NodeId weight : facts_.weights_of(id)) {
        const int device = pinned_.device[id];
        if (pin_[weight] != nullptr || facts_.answers().conversion(weight, device) == nullptr)
          continue;
        pin_[weight] = pin_[id];
        pinned_.device[weight] = device;
      }
    }
  }

  Status check_weights(NodeId id) const {
    const int device = pinned_.device[id];
    for (NodeId weight : facts_.weights_of(id)) {
      const int home = pinned_.device[weight];
      if (home == kNotPinned || facts_.answers().same_type(weight, device, home)) continue;
      const auto type_on = [&](DeviceIndex at) {
        return to_string(facts_.answers().graph_on(at).node(weight).result.dtype);
      };
      return refuse(id, fmt::format("needs {} as {} on {}, but {} puts it on {}, where it is {}",
                                    graph_.describe(weight), type_on(device), facts_.name(device),
                                    describe(*pin_[weight]), facts_.name(home), type_on(home)));
    }
    return ok();
  }

  Status check(NodeId id) const {
    const int device = pinned_.device[id];
    if (is_computed(graph_.node(id))) {
      const Support& answer = facts_.answer(id, device);
      if (answer) return check_weights(id);
      const std::string_view remedy = facts_.answers().remedy(id, device);
      return refuse(id, fmt::format("can't run on {}: {}{}", facts_.name(device), answer.facts(),
                                    remedy.empty() ? "" : fmt::format(" (see {})", remedy)));
    }
    const BufferType* memory = facts_.memory_of(id);
    if (memory == nullptr || facts_.device(device).can_read(*memory)) return ok();
    return refuse(id, fmt::format("is in {} memory already, which {} can't read", memory->name(),
                                  facts_.name(device)));
  }

  const PlaceFacts& facts_;
  const Graph& graph_;
  std::span<const Pin> pins_;
  std::vector<DeviceIndex> devices_;  // by pin
  PerNode<const Pin*> pin_;           // null: there is none
  PinnedNodes pinned_;
};

}  // namespace

std::string describe(const Pin& pin) {
  return fmt::format("the pin {}={}", pin.pattern, pin.device);
}

Result<PinnedNodes> pin_nodes(const PlaceFacts& facts, std::span<const Pin> pins) {
  return Pinner(facts, pins).run();
}

void keep_parts(const PlaceFacts& facts, std::span<const PartHome> parts, PinnedNodes& pinned) {
  for (const PartHome& part : parts) {
    const DeviceIndex index = facts.devices().find(part.device);
    if (index == kNoDevice || facts.memory_of(part.leaf) != nullptr) continue;
    const auto suits = [&](NodeId user) {
      return pinned.device[user] == kNotPinned && facts.can(index, user);
    };
    if (pinned.device[part.leaf] != kNotPinned) continue;
    if (!std::ranges::all_of(facts.users(part.leaf), suits)) continue;
    pinned.device[part.leaf] = index;
    pinned.rule[part.leaf] = Rule::kSplit;
    pinned.reason[part.leaf] = fmt::format("it is the part of {}", facts.name(index));
  }
}

std::vector<std::string> devices_of(std::span<const Pin> pins) {
  std::vector<std::string> names;
  for (const Pin& pin : pins) names.push_back(pin.device);
  return names;
}

void keep_to_pins(std::span<const Pin> pins, const PinnedNodes& pinned, PlaceFacts& facts) {
  for (const DeviceIndex index : facts.accelerators()) {
    const DeviceInfo& info = facts.info(index);
    const auto names_it = [&](const Pin& pin) { return pin.device == info.name; };
    if (info.priority >= 0 || std::ranges::none_of(pins, names_it)) continue;
    for (NodeId id = 0; id < facts.graph().size(); ++id) {
      if (is_computed(facts.graph().node(id)) && pinned.device[id] != index) {
        facts.refuse(id, index, Refusal::kCost, "it gets only pinned nodes");
      }
    }
  }
}

Status check_pattern(std::string_view pattern) {
  SHUNT_TRY(Regex::compile(pattern));
  return ok();
}

}  // namespace shunt
