#include "engine/session_steps.h"

#include <algorithm>

#include "base/fail.h"
#include "engine/cache_rows.h"
#include "ops/common/cache_types.h"
#include "ops/common/checks.h"

namespace shunt {

Result<SessionOptions> complete(const SessionOptions& options, const ModelInfo& model) {
  constexpr std::int64_t kDefaultContext = 4096;
  constexpr std::int64_t kMaxContext = std::int64_t{1} << 24;
  constexpr std::int64_t kMaxSequences = 4096;
  if (options.sequences < 1 || options.sequences > kMaxSequences) {
    return invalid("{} sequences; there may be from 1 to {}", options.sequences, kMaxSequences);
  }
  SessionOptions chosen = options;
  if (chosen.context == 0) {
    chosen.context = std::min(model.context, kDefaultContext) * chosen.sequences;
  }
  if (chosen.context < 1 || chosen.context > kMaxContext) {
    return invalid("a context of {} tokens; it may be from 1 to {}", options.context, kMaxContext);
  }
  if (chosen.batch < 1) {
    return invalid("batches of {} tokens; it must be at least 1", options.batch);
  }
  if (std::ranges::find(kCacheTypes, chosen.cache_type) == kCacheTypes.end()) {
    return invalid("a cache of type {}; it may be {}", to_string(chosen.cache_type),
                   list_types(kCacheTypes));
  }
  chosen.batch = std::min(chosen.batch, chosen.context);
  return chosen;
}

StepShape step_shape(const SessionOptions& options, std::int64_t tokens, std::int64_t outputs) {
  return {tokens, outputs, CacheRows::needed(options.context, options.sequences),
          options.cache_type};
}

std::vector<StepShape> session_steps(const SessionOptions& options) {
  const StepShape single = step_shape(options, 1, 1);
  if (options.batch == 1) return {single};
  return {step_shape(options, options.batch, std::min(options.sequences, options.batch)), single};
}

}  // namespace shunt
