#include "engine/recover.h"

#include <algorithm>
#include <set>

#include "engine/fit_by_file.h"
#include "engine/load_weights.h"
#include "shunt/message.h"

namespace shunt {

namespace {

/// A line about a device that failed, for the user.
void note(ModelState& model, std::string line) {
  if (model.on_device_error.say) model.on_device_error.say(line);
  model.left_out.push_back(std::move(line));
}

/// Drops the user's pins to the device: they can't be applied any more.
void drop_wishes(ModelState& model, const std::string& device) {
  const auto names = [&](const auto& wish) { return wish.device == device; };
  for (const Pin& pin : model.pins) {
    if (names(pin)) note(model, fmt::format("the pin {}={} is dropped", pin.pattern, device));
  }
  std::erase_if(model.pins, names);
  if (!model.placement || !names_device(*model.placement, device)) return;
  note(model, fmt::format("the placement {} is no longer followed", model.placement->path));
  model.placement.reset();
}

/// The same model without a device, and without the weights it held.
std::unique_ptr<ModelState> without(const ModelState& model, DeviceIndex device,
                                    const Error& error) {
  auto rest = std::make_unique<ModelState>(model);
  const std::string name(model.devices[device]->name());
  rest->devices.erase(rest->devices.begin() + device);
  rest->buffers.resize(model.devices.size());
  rest->buffers.erase(rest->buffers.begin() + device);
  std::uint64_t lost = 0;
  for (const auto& [info, home] : model.homes) {
    if (home == device) {
      lost += info->bytes;
      rest->homes.erase(info);
      rest->weights.erase(info);
    } else if (home > device) {
      --rest->homes[info];
    }
  }
  for (Transcoded* const weights : {&rest->transcoded, &rest->lossy}) {
    std::erase_if(*weights,
                  [&](const auto& weight) { return !rest->homes.contains(weight.first); });
  }
  std::string line = fmt::format("{} failed and is left out: {}", name, to_text(error));
  if (lost > 0) line += fmt::format("; {} of weights are read again", size_text(lost));
  note(*rest, std::move(line));
  drop_wishes(*rest, name);
  return rest;
}

}  // namespace

std::optional<DeviceIndex> device_to_leave_out(const ModelState& model, const Error& error) {
  if (model.on_device_error.mode != DeviceErrorMode::kFallback) return {};
  if (error.code() == ErrorCode::kCancelled || error.code() == ErrorCode::kInvalidArgument) {
    return {};
  }
  for (const DeviceIndex i : model.devices.accelerators()) {
    if (model.devices[i]->name() == error.device()) return i;
  }
  return {};
}

Result<std::shared_ptr<const ModelState>> load_state(std::unique_ptr<ModelState> model,
                                                     LoadOptions options) {
  while (true) {
    const Status loaded = load_weights(*model, options);
    if (loaded) return std::shared_ptr<const ModelState>(std::move(model));
    const auto device = device_to_leave_out(*model, loaded.error());
    if (!device) return Error(loaded.error());
    model = without(*model, *device, loaded.error());
  }
}

std::shared_ptr<const ModelState> CurrentState::get() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

Status CurrentState::leave_out(const ModelState& seen, const Error& error) {
  if (!device_to_leave_out(seen, error)) return error;
  const std::lock_guard replacing(replacing_);
  const auto now = get();
  const auto device = device_to_leave_out(*now, error);
  if (!device) return ok();
  LoadOptions options;  // as it was loaded
  options.session = now->session;
  options.memory_margin = now->memory_margin;
  options.fallback = now->fallback;
  auto made = load_state(without(*now, *device, error), std::move(options));
  if (!made) {
    return std::move(made.error())
        .with_context(fmt::format("{}; without {}", to_text(error), error.device()));
  }
  const std::lock_guard lock(mutex_);
  state_ = std::move(*made);
  return ok();
}

}  // namespace shunt
