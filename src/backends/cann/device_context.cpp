#include "backends/cann/device_context.h"

#include "shunt/message.h"

namespace shunt::cann {

namespace {
/// Answers that are kept: far more than the calls of a model. Then all are forgotten.
constexpr std::size_t kMostAnswers = 1 << 16;
}  // namespace

Result<std::shared_ptr<DeviceContext>> DeviceContext::create(std::shared_ptr<Runtime> runtime,
                                                             std::int32_t device,
                                                             std::shared_ptr<DeviceHealth> health) {
  std::shared_ptr<DeviceContext> made(
      new DeviceContext(std::move(runtime), device, std::move(health)));
  const Symbols& symbols = made->symbols();
  ContextHandle before = nullptr;
  if (symbols.get_context(&before) != kSuccess) before = nullptr;
  SHUNT_TRY(made->check(symbols.set_device(device), name_of<&Symbols::set_device>()));
  made->is_set_ = true;
  const Status32 status = symbols.get_context(&made->handle_);
  if (before != nullptr) (void)symbols.set_context(before);
  SHUNT_TRY(made->check(status, name_of<&Symbols::get_context>()));
  return made;
}

DeviceContext::~DeviceContext() {
  if (!is_set_ || health_->is_hung()) return;  // calls for a hung device may block
  const Current current(*this);
  (void)symbols().reset_device(device_);
}

DeviceContext::Current::Current(const DeviceContext& context) : symbols_(context.symbols()) {
  if (symbols_.get_context(&before_) != kSuccess) before_ = nullptr;
  if (before_ == context.handle_) {
    before_ = nullptr;
    return;
  }
  if (context.handle_ != nullptr) (void)symbols_.set_context(context.handle_);
}

DeviceContext::Current::~Current() {
  if (before_ != nullptr) (void)symbols_.set_context(before_);
}

Status DeviceContext::check(Status32 status, std::string_view function) const {
  if (status == kSuccess) return ok();
  Error error = runtime_->error(status, function);
  if (ends_device(status)) health_->lose(error);
  return error;
}

std::optional<PhaseAnswer> DeviceContext::find_answer(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = answers_.find(key);
  return found == answers_.end() ? std::nullopt : std::optional(found->second);
}

void DeviceContext::keep_answer(const std::string& key, const PhaseAnswer& answer) const {
  const std::lock_guard lock(mutex_);
  if (answers_.size() >= kMostAnswers) answers_.clear();
  answers_.emplace(key, answer);
}

}  // namespace shunt::cann
