#include "engine/copied_weights.h"

#include <array>

#include "base/available_memory.h"
#include "base/fail.h"
#include "engine/tied_output.h"
#include "shunt/lossy_weights.h"

namespace shunt {

namespace {

/// What the system says; else what the device does.
std::optional<std::uint64_t> memory_left(const Device& cpu) {
  if (const auto available = available_memory()) return available;
  const std::uint64_t free = cpu.info().memory_free;
  return free == 0 ? std::nullopt : std::optional(free);
}

}  // namespace

std::string_view to_string(WeightMode mode) {
  static constexpr std::array<std::string_view, 3> kNames = {"auto", "mapped", "copied"};
  const auto index = static_cast<std::size_t>(mode);
  return index < kNames.size() ? kNames[index] : "unknown";
}

bool copies_unasked(std::size_t devices, std::uint64_t bytes,
                    std::optional<std::uint64_t> available) {
  return devices == 1 && available && bytes <= *available / 2;
}

namespace {

/// Where a device wants a weight; where that may be lossy, first of all where it is.
BufferType* wanted_memory(const ModelState& model, Device& device, const Graph& graph,
                          NodeId leaf) {
  LossyWeights* const lossy =
      model.transcode == Transcode::kLossy ? lossy_weights(device) : nullptr;
  BufferType* const memory = lossy == nullptr ? nullptr : lossy->lossy_weight_memory(graph, leaf);
  return memory == nullptr ? device.weight_memory(graph, leaf) : memory;
}

/// The weights that a device wants in the same memory in each of these steps, and which that is.
Result<std::map<const gguf::TensorInfo*, BufferType*>> wanted_memory(
    const ModelState& model, Device& device, std::span<const StepShape> steps) {
  std::map<const gguf::TensorInfo*, BufferType*> wanted;  // null: nowhere else
  for (const StepShape& shape : steps) {
    SHUNT_ASSIGN(const StepGraph step, model.definition->build(shape));
    for (const WeightLeaf& weight : step.weights) {
      BufferType* const memory = wanted_memory(model, device, step.graph, weight.leaf);
      const auto [entry, is_new] = wanted.emplace(weight.info, memory);
      if (entry->second != memory) entry->second = nullptr;
    }
  }
  std::erase_if(wanted, [](const auto& entry) { return entry.second == nullptr; });
  return wanted;
}

}  // namespace

Status choose_weight_memory(ModelState& model, std::span<const StepShape> steps) {
  model.copied.clear();
  model.in_layouts.clear();
  SHUNT_TRY(part_tied_output(model, steps));
  for (Device* device : std::span(model.devices).first(model.devices.size() - 1)) {
    SHUNT_ASSIGN(model.in_layouts[device], wanted_memory(model, *device, steps));
  }
  const bool unasked = model.weight_mode == WeightMode::kAuto;
  if (model.weight_mode == WeightMode::kMapped || (unasked && model.devices.size() > 1))
    return ok();
  Device& cpu = *model.devices.back();
  SHUNT_ASSIGN(auto wanted, wanted_memory(model, cpu, steps));
  std::uint64_t bytes = 0;
  for (const auto& [info, memory] : wanted) bytes += memory->size_of(info->tensor);
  if (unasked && !copies_unasked(model.devices.size(), bytes, memory_left(cpu))) return ok();
  model.copied = std::move(wanted);
  return ok();
}

}  // namespace shunt
