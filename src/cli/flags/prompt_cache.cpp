#include "cli/flags/prompt_cache.h"

#include <algorithm>

namespace shunt::cli {

void PromptCache::declare(Arguments& arguments) {
  arguments.output("--prompt-cache",
                   "Read the cache rows of the prompt's first tokens from FILE if it exists, and "
                   "write those of the whole prompt to it",
                   OutputFormat::kSequence, path_);
}

Result<std::int64_t> PromptCache::restore(Session& session, std::span<const std::int32_t> prompt) {
  if (!path_) return 0;
  const Status restored = session.restore(0, *path_);
  if (!restored && restored.error().code() == ErrorCode::kNotFound) return 0;
  SHUNT_TRY(restored);
  const std::span<const std::int32_t> kept = session.tokens();
  is_in_file_ = std::ranges::equal(kept, prompt);
  const auto usable = prompt.first(prompt.size() - 1);  // logits need the last one
  const std::int64_t common = std::ranges::mismatch(kept, usable).in2 - usable.begin();
  SHUNT_TRY(session.truncate(common));
  return common;
}

Status PromptCache::save(Session& session, std::span<const std::int32_t> prompt) const {
  const auto length = static_cast<std::int64_t>(prompt.size());
  if (!path_ || is_in_file_ || session.length() < length) return ok();  // it was interrupted
  SHUNT_TRY(session.truncate(length));
  return session.save(0, *path_);
}

}  // namespace shunt::cli
