#include "engine/load/copied_weights.h"

#include <array>
#include <set>

#include "base/available_memory.h"
#include "base/enum_table.h"
#include "device/weight_choice.h"
#include "engine/load/tied_output.h"
#include "engine/load/weights_in_memory.h"
#include "shunt/message.h"

namespace shunt {

namespace {

/// The system's figure; else the device's.
std::optional<std::uint64_t> memory_left(const Device& cpu) {
  if (const auto available = available_memory()) return available;
  const std::uint64_t free = cpu.memory_free();
  return free == 0 ? std::nullopt : std::optional(free);
}

}  // namespace

std::string_view to_string(WeightMode mode) {
  static constexpr std::array<std::string_view, 3> kNames = {"auto", "mapped", "copied"};
  return name_in(kNames, mode);
}

bool copies_unasked(std::size_t devices, std::uint64_t bytes,
                    std::optional<std::uint64_t> available) {
  return devices == 1 && available && bytes <= *available / 2;
}

namespace {

/// By memory: the weights that do not get that form, and the reason of the first.
struct DroppedForms {
  std::set<const gguf::TensorInfo*> weights = {};
  std::string first = {};
};

/// The weights for which a device prefers the same memory type in each of these steps, with that
/// type.
Result<std::map<const gguf::TensorInfo*, BufferType*>> wanted_memory(
    ModelState& model, Device& device, std::span<const StepShape> steps) {
  const bool lossy = model.placement.transcode == Transcode::kLossy;
  std::map<const gguf::TensorInfo*, BufferType*> wanted;  // null: nowhere else
  std::map<std::string_view, DroppedForms> dropped;
  for (const StepShape& shape : steps) {
    SHUNT_ASSIGN(const auto built, model.build(shape));
    const StepGraph& step = *built;
    for (const WeightLeaf& weight : step.weights) {
      SHUNT_ASSIGN(const WeightChoice choice,
                   choose_weight_form(device, step.graph, weight.leaf, lossy));
      for (const DroppedForm& form : choice.dropped) {
        DroppedForms& known = dropped[form.memory->name()];
        if (known.weights.empty()) known.first = form.reason;
        known.weights.insert(weight.info);
      }
      const auto [entry, is_new] = wanted.emplace(weight.info, choice.memory);
      if (entry->second != choice.memory) entry->second = nullptr;
    }
  }
  std::erase_if(wanted, [](const auto& entry) { return entry.second == nullptr; });
  for (const auto& [memory, forms] : dropped) {
    std::string line = fmt::format("{}: {}", device.name(), forms.first);
    const std::size_t more = forms.weights.size() - 1;
    if (more > 0)
      line += fmt::format("; {} lack it for similar reasons", counted(more, "more weight"));
    model.dropped_forms.push_back(std::move(line));
  }
  return wanted;
}

}  // namespace

Status choose_weight_memory(ModelState& model, std::span<const StepShape> steps) {
  for (auto& [info, record] : model.weights.records) {
    record.copy = nullptr;
    record.layouts.clear();
  }
  model.dropped_forms.clear();
  SHUNT_TRY(part_tied_output(model, steps));
  for (const DeviceIndex index : model.devices.accelerators()) {
    Device* const device = model.devices[index];
    SHUNT_ASSIGN(const auto wanted, wanted_memory(model, *device, steps));
    for (const auto& [info, memory] : wanted) model.weights.records[info].layouts[device] = memory;
  }
  const bool unasked = model.weight_mode == WeightMode::kAuto;
  if (model.weight_mode == WeightMode::kMapped || (unasked && model.devices.size() > 1))
    return ok();
  Device& cpu = model.devices.cpu_device();
  SHUNT_ASSIGN(auto wanted, wanted_memory(model, cpu, steps));
  std::uint64_t bytes = 0;
  for (const auto& [info, memory] : wanted) {
    SHUNT_ASSIGN(const Tensor tensor, compact_tensor(*info));
    bytes += memory->size_of(tensor);
  }
  if (unasked && !copies_unasked(model.devices.size(), bytes, memory_left(cpu))) return ok();
  for (const auto& [info, memory] : wanted) model.weights.records[info].copy = memory;
  return ok();
}

}  // namespace shunt
