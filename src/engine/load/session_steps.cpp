#include "engine/load/session_steps.h"

#include <algorithm>
#include <set>

#include "base/ceil_div.h"
#include "device/device_set.h"
#include "engine/load/cache_rows.h"
#include "graph/storage_users.h"
#include "ops/common/cache_types.h"
#include "ops/common/checks.h"
#include "shunt/message.h"

namespace shunt {

std::span<const DType> cache_types() {
  return kCacheTypes;
}

Result<SessionOptions> complete(const SessionOptions& options, const ModelInfo& model) {
  constexpr std::int64_t kDefaultContext = 4096;
  constexpr std::int64_t kMaxSequences = 4096;
  if (options.sequences < 1 || options.sequences > kMaxSequences) {
    return invalid("{} sequences; there may be from 1 to {}", options.sequences, kMaxSequences);
  }
  SessionOptions chosen = options;
  if (chosen.context == 0) {
    const std::int64_t full = std::min(chosen.sequences, SessionOptions::kFullContexts);
    chosen.context = std::min(model.context, kDefaultContext) * full;
  }
  if (chosen.context < 1 || chosen.context > SessionOptions::kMaxContext) {
    return invalid("a context of {} tokens; it may be from 1 to {}", options.context,
                   SessionOptions::kMaxContext);
  }
  if (chosen.batch < 1) {
    return invalid("batches of {} tokens; it must be at least 1", options.batch);
  }
  if (chosen.threads < 0) {
    return invalid("{} threads; it may be 1 or more, or 0 for all", options.threads);
  }
  if (std::ranges::find(kCacheTypes, chosen.cache_type) == kCacheTypes.end()) {
    return invalid("a cache of type {}; it may be {}", to_string(chosen.cache_type),
                   list_types(kCacheTypes));
  }
  if (chosen.host_cache_bytes > SessionOptions::kMaxHostCache) {
    return invalid("{} bytes of host memory for the cache; there may be up to {}",
                   chosen.host_cache_bytes, SessionOptions::kMaxHostCache);
  }
  if (chosen.host_cache_bytes > 0 && !chosen.reuse_prefixes) {
    return invalid(
        "host_cache_bytes is {}, but reuse_prefixes is false: no block of the cache is found again",
        chosen.host_cache_bytes);
  }
  if (model.is_encoder && chosen.reuse_prefixes) {
    return invalid(
        "reuse_prefixes is true, but tokens of an encoder depend on those after them; it computes "
        "embeddings: use `shunt embed`, or Embedder in a program");
  }
  chosen.batch = std::min(chosen.batch, chosen.context);
  if (options.checkpoints < -1) {
    return invalid("{} checkpoints; there may be 0 or more, or -1 for a number by their size",
                   options.checkpoints);
  }
  if (options.checkpoint_bytes < -1) {
    return invalid("checkpoint_bytes is {}; it may be 0 or more, or -1 for 256 MiB",
                   options.checkpoint_bytes);
  }
  const std::int64_t blocks = ceil_div(chosen.context, kCacheBlock);
  if (model.state_bytes == 0) {
    chosen.checkpoints = 0;
  } else if (chosen.checkpoints == -1) {
    constexpr std::int64_t kDefaultBytes = std::int64_t{256} << 20;
    const bool is_given = chosen.checkpoint_bytes >= 0;
    const std::int64_t bytes = is_given ? chosen.checkpoint_bytes : kDefaultBytes;
    chosen.checkpoints = std::max<std::int64_t>(bytes / model.state_bytes, is_given ? 0 : 1);
  }
  chosen.checkpoints = std::min(chosen.checkpoints, blocks);
  return chosen;
}

std::int64_t adapter_uses(const SessionOptions& options) {
  const auto has_effect = [](const AdapterUse& use) { return use.scale != 0; };
  return std::max<std::int64_t>(1, std::ranges::count_if(options.adapters, has_effect));
}

StepShape step_shape(const SessionOptions& options, std::int64_t tokens, std::int64_t outputs) {
  const std::int64_t least = cache_rows_needed(options.context, options.sequences);
  // A block that is found by its tokens may become any block of a sequence.
  const std::int64_t rows =
      options.reuse_prefixes ? ceil_div(least, kCacheBlock) * kCacheBlock : least;
  return {.tokens = tokens,
          .outputs = outputs,
          .context = rows,
          .cache_type = options.cache_type,
          .sequences = std::min(options.sequences, tokens),
          .state_slots = state_slots_for(options.sequences, options.checkpoints),
          .window_sequences = options.sequences,
          .window_batch = options.batch,
          .adapter_uses = adapter_uses(options)};
}

int steps_in_flight(const StepGraph& step, const Graph& graph, const Placement& placement) {
  constexpr std::ptrdiff_t kMost = 4;
  const std::int64_t tokens = step.token_count.max;
  if (tokens == 1 || tokens >= step.row_count.max) return 1;
  std::set<DeviceIndex> computing;
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (is_computed(graph.node(id))) computing.insert(placement.decisions[id].device);
  }
  const std::ptrdiff_t asynchronous = std::ranges::count_if(computing, [&](DeviceIndex device) {
    return device_at(placement.devices, device).info().asynchronous;
  });
  if (asynchronous == 0) return 1;  // each step has ended when start() returns
  const bool others = asynchronous < std::ssize(computing);
  return static_cast<int>(std::min<std::ptrdiff_t>(asynchronous + (others ? 1 : 0), kMost));
}

std::vector<StepShape> session_steps(const SessionOptions& options) {
  std::vector<StepShape> steps;
  const auto add = [&](std::int64_t tokens) {
    steps.push_back(step_shape(options, tokens, std::min(options.sequences, tokens)));
  };
  add(options.batch);
  for (const std::int64_t tokens : {64, 8}) {
    if (options.sequences > 1 && tokens < options.batch) add(tokens);
  }
  if (options.batch > 1) add(1);
  return steps;
}

StepShape session_step(const SessionOptions& options, std::int64_t tokens) {
  const std::vector<StepShape> steps = session_steps(options);
  const auto fits = [&](const StepShape& step) { return step.tokens >= tokens; };
  const auto smallest = std::ranges::find_if(steps.rbegin(), steps.rend(), fits);
  return smallest == steps.rend() ? steps.front() : *smallest;
}

}  // namespace shunt
