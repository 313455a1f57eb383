#include "backends/cuda/timed_events.h"

#include <utility>

namespace shunt::cuda {

namespace {

class CudaTimedEvents final : public TimedEvents {
 public:
  explicit CudaTimedEvents(std::shared_ptr<Context> context) : context_(std::move(context)) {}
  ~CudaTimedEvents() override {
    if (stream_ != nullptr) context_->release<&Symbols::stream_destroy>(stream_);
  }

  Result<Handle> create() override {
    EventHandle event = nullptr;
    SHUNT_TRY(context_->call<&Symbols::event_create>(&event, kEventBlockingSync));
    return static_cast<Handle>(event);
  }
  void destroy(Handle event) override {
    context_->release<&Symbols::event_destroy>(static_cast<EventHandle>(event));
  }
  Status record(Handle event) override {
    if (stream_ == nullptr)
      SHUNT_TRY(context_->call<&Symbols::stream_create>(&stream_, kStreamNonBlocking));
    SHUNT_TRY(context_->submit<&Symbols::event_record>(static_cast<EventHandle>(event), stream_));
    return context_->wait_until_idle(stream_);
  }
  std::optional<double> seconds_between(Handle begin, Handle end) const override {
    float milliseconds = 0;
    const Status status = context_->call<&Symbols::event_elapsed_time>(
        &milliseconds, static_cast<EventHandle>(begin), static_cast<EventHandle>(end));
    if (!status) return std::nullopt;
    return 1e-3 * static_cast<double>(milliseconds);
  }

 private:
  std::shared_ptr<Context> context_;
  StreamHandle stream_ = nullptr;
};

}  // namespace

std::unique_ptr<TimedEvents> timed_events(std::shared_ptr<Context> context) {
  return std::make_unique<CudaTimedEvents>(std::move(context));
}

}  // namespace shunt::cuda
