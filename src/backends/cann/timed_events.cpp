#include "backends/cann/timed_events.h"

#include <utility>

namespace shunt::cann {

namespace {

constexpr std::int32_t kMostWait = 1000;  // milliseconds

class CannTimedEvents final : public TimedEvents {
 public:
  explicit CannTimedEvents(std::shared_ptr<const DeviceContext> context)
      : context_(std::move(context)) {}
  ~CannTimedEvents() override {
    if (stream_ != nullptr) context_->release<&Symbols::destroy_stream>(stream_);
  }

  Result<Handle> create() override {
    EventHandle event = nullptr;
    SHUNT_TRY(
        context_->call<&Symbols::create_event>(&event, std::uint32_t{kEventSync | kEventTimeLine}));
    return event;
  }
  void destroy(Handle event) override { context_->release<&Symbols::destroy_event>(event); }
  Status record(Handle event) override {
    if (stream_ == nullptr) SHUNT_TRY(context_->call<&Symbols::create_stream>(&stream_));
    SHUNT_TRY(context_->call<&Symbols::record_event>(event, stream_));
    // Its stream has no other work.
    return context_->call<&Symbols::synchronize_stream>(stream_, kMostWait);
  }
  std::optional<double> seconds_between(Handle begin, Handle end) const override {
    // The library refuses an end that came before the begin.
    float milliseconds = 0;
    if (context_->call<&Symbols::elapsed_time>(&milliseconds, begin, end))
      return 1e-3 * static_cast<double>(milliseconds);
    if (context_->call<&Symbols::elapsed_time>(&milliseconds, end, begin))
      return -1e-3 * static_cast<double>(milliseconds);
    return std::nullopt;
  }

 private:
  std::shared_ptr<const DeviceContext> context_;
  StreamHandle stream_ = nullptr;
};

}  // namespace

std::unique_ptr<TimedEvents> timed_events(std::shared_ptr<const DeviceContext> context) {
  if (context->symbols().elapsed_time == nullptr) return nullptr;
  return std::make_unique<CannTimedEvents>(std::move(context));
}

}  // namespace shunt::cann
