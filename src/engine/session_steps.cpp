#include "engine/session_steps.h"

#include <algorithm>

namespace shunt {

std::vector<StepShape> session_steps(const ModelInfo& model, const SessionOptions& options) {
  constexpr std::int64_t kDefaultContext = 4096;
  StepShape prompt;
  prompt.context = options.context > 0 ? options.context : std::min(model.context, kDefaultContext);
  prompt.tokens = std::min(options.batch, prompt.context);
  prompt.outputs = 1;
  prompt.cache_type = options.cache_type;
  StepShape single = prompt;
  single.tokens = 1;
  if (prompt.tokens == 1) return {single};
  return {prompt, single};
}

}  // namespace shunt
