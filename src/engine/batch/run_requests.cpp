#include "engine/batch/run_requests.h"

#include <limits>

#include "shunt/message.h"

namespace shunt {

Status run_requests(
    BatchEngine& engine, std::span<const std::unique_ptr<BatchStream>> streams,
    const std::function<Status(std::size_t stream, const BatchEvent& event)>& take) {
  std::size_t left = streams.size();
  while (left > 0) {
    const bool worked = engine.step();
    bool any = false;
    for (std::size_t i = 0; i < streams.size(); ++i) {
      while (const auto event = streams[i]->poll()) {
        any = true;
        if (event->end) --left;
        SHUNT_TRY(take(i, *event));
      }
    }
    if (!worked && !any)
      return fail(ErrorCode::kInternal, "{} have not ended, but there is no step to make",
                  counted(left, "request"));
  }
  return ok();
}

BatcherOptions options_without_interval(int threads) {
  BatcherOptions options;
  options.session.threads = threads;
  options.token_interval = std::numeric_limits<double>::infinity();
  options.own_thread = false;
  return options;
}

Status status_of(const BatchResult& result) {
  if (result.error) return Error(*result.error);
  if (result.reason == BatchEnd::kCancelled) return shunt::fail(ErrorCode::kCancelled, "cancelled");
  return ok();
}

}  // namespace shunt
