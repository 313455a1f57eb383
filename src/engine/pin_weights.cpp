#include "engine/pin_weights.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/aligned_bytes.h"
#include "base/fail.h"
#include "engine/fit.h"
#include "graph/picked.h"
#include "graph/storage_users.h"

namespace shunt {

namespace {

using Bytes = std::span<const std::byte>;
using RangesByDevice = std::map<Device*, std::vector<Bytes>>;

/// The ranges of weights that a step's placement sends from host memory as a whole. Of a picked
/// weight only slices are sent.
Status find_streamed(const ModelState& model, const StepShape& shape, RangesByDevice& ranges) {
  SHUNT_ASSIGN(const StepGraph step, model.build(shape, model.transcoded));
  const std::vector<LeafMemory> memory = model.memory_of(step);
  SHUNT_ASSIGN(const Placement placement,
               model.place_step(step.graph, memory, model.devices, model.most_streamed));
  std::map<NodeId, Address> weights;
  const StorageUsers users(step.graph);
  for (const LeafMemory& leaf : memory) {
    if (!picked_of(step.graph, leaf.leaf, users)) weights.emplace(leaf.leaf, leaf.address);
  }
  for (NodeId id = 0; id < step.graph.size(); ++id) {
    const Node& node = step.graph.node(id);
    const int number = placement.decisions[id].device;
    if (node.is_leaf() || number < 0) continue;
    Device& device = device_at(placement.devices, number);
    for (const NodeId source : node.sources) {
      if (source == kNoNode) continue;
      const auto weight = weights.find(step.graph.node(source).storage);
      if (weight == weights.end()) continue;
      const auto& [leaf, at] = *weight;
      const std::byte* const start = at.buffer->host_data();
      if (start == nullptr || device.can_read(at.buffer->type())) continue;
      const Tensor& tensor = step.graph.node(leaf).result;
      ranges[&device].push_back({start + at.offset, at.buffer->type().size_of(tensor)});
    }
  }
  return ok();
}

/// In order; those that share a page are one.
std::vector<Bytes> merged(std::vector<Bytes> ranges) {
  std::ranges::sort(ranges, std::less<>(), [](Bytes range) { return range.data(); });
  const auto page_of = [](const std::byte* byte) {
    return reinterpret_cast<std::uintptr_t>(byte) / page_size();
  };
  std::vector<Bytes> result;
  for (const Bytes range : ranges) {
    if (range.empty()) continue;
    if (!result.empty() && page_of(range.data()) <= page_of(&result.back().back())) {
      const std::byte* const end = std::max(&result.back().back(), &range.back()) + 1;
      result.back() = {result.back().data(), end};
    } else {
      result.push_back(range);
    }
  }
  return result;
}

/// The ranges that are pinned for a device.
class DevicePins {
 public:
  /// Ranges that `before` has are not pinned again.
  DevicePins(Device& device, std::span<const Bytes> ranges, const PinnedRanges& before)
      : device_(device) {
    for (const Bytes range : ranges) {
      const auto known = before.find({&device, range.data(), range.size()});
      bytes_ += range.size();
      if (known != before.end()) {
        pinned_.insert(*known);
      } else {
        fresh_.push_back(range);
        fresh_bytes_ += range.size();
      }
    }
  }
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t fresh_bytes() const { return fresh_bytes_; }

  /// All ranges, or none. OutOfMemory if the new ones are more than `most` bytes.
  Result<PinnedRanges> pin(std::uint64_t most) && {
    if (fresh_bytes_ > most) {
      // A device that pins nothing at all says so.
      SHUNT_ASSIGN(const auto probe, device_.pin_host(fresh_.front().first(1)));
      return fail(ErrorCode::kOutOfMemory, "at most {} may be pinned, half of the available memory",
                  size_text(most));
    }
    for (const Bytes range : fresh_) {
      SHUNT_ASSIGN(auto handle, device_.pin_host(range));
      pinned_.insert_or_assign({&device_, range.data(), range.size()}, std::move(handle));
    }
    return std::move(pinned_);
  }

 private:
  Device& device_;
  PinnedRanges pinned_;
  std::vector<Bytes> fresh_;
  std::uint64_t bytes_ = 0;
  std::uint64_t fresh_bytes_ = 0;
};

}  // namespace

void pin_streamed_weights(ModelState& model, std::span<const StepShape> steps,
                          std::optional<std::uint64_t> available) {
  const PinnedRanges before = std::exchange(model.pinned_weights, {});
  if (model.devices.size() == 1) return;
  RangesByDevice streamed;
  for (const StepShape& shape : steps) {
    // A step that can't be placed has told so already, where room was sought for it.
    if (!find_streamed(model, shape, streamed)) return;
  }
  std::uint64_t most = available ? *available / 2 : std::numeric_limits<std::uint64_t>::max();
  for (Device* const device : model.devices) {
    const auto found = streamed.find(device);
    if (found == streamed.end()) continue;
    DevicePins pins(*device, merged(found->second), before);
    const std::uint64_t bytes = pins.bytes();
    const std::uint64_t fresh_bytes = pins.fresh_bytes();
    auto pinned = std::move(pins).pin(most);
    if (pinned) {
      most -= fresh_bytes;
      model.pinned_weights.merge(*pinned);
      if (fresh_bytes == 0) continue;  // noted before
      model.notes.push_back(
          fmt::format("{}: {} of weights in host memory are pinned, as steps send "
                      "them to it",
                      device->name(), size_text(bytes)));
    } else if (pinned.error().code() != ErrorCode::kUnsupported) {
      model.notes.push_back(
          fmt::format("{}: {} of weights in host memory are not pinned, so that sending them takes "
                      "longer: {}",
                      device->name(), size_text(bytes), to_text(pinned.error())));
    }
  }
}

}  // namespace shunt
