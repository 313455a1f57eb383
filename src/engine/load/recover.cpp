#include "engine/load/recover.h"

#include "engine/load/loader.h"
#include "shunt/message.h"

namespace shunt {

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
  options.placement.fallback = now->placement.fallback;
  auto made = load_state(without(*now, *device, error), options);
  if (!made) {
    return std::move(made.error())
        .with_context(fmt::format("{}; without {}", to_text(error), error.device()));
  }
  const std::lock_guard lock(mutex_);
  state_ = std::move(*made);
  return ok();
}

}  // namespace shunt
