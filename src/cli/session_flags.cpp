#include "cli/session_flags.h"

#include <algorithm>

#include "base/fail.h"
#include "ops/common/cache_types.h"
#include "ops/common/checks.h"

namespace shunt::cli {
namespace {

constexpr std::int64_t kMaxSessionTokens = std::int64_t{1} << 30;

/// "f32, f16, bf16, q8_0 or q4_0".
std::string cache_types() {
  std::string list = list_types(kCacheTypes);
  std::ranges::transform(list, list.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return list;
}

Status read_cache_type(const std::string& text, DType& type) {
  const auto named = dtype_from_name(text);
  if (!named || std::ranges::find(kCacheTypes, *named) == kCacheTypes.end()) {
    return invalid("\"{}\" is not {}", text, cache_types());
  }
  type = *named;
  return ok();
}

}  // namespace

void declare_session(Arguments& arguments, SessionOptions& session) {
  arguments.number<std::int64_t>("-b,--batch",
                                 "Compute at most N tokens of a prompt in one step (batch size)",
                                 session.batch, 1, kMaxSessionTokens);
  arguments.value(
      "--cache-type", "TYPE", "Set the type of the KV cache: " + cache_types() + " (default f16)",
      [&](const std::string& text) { return read_cache_type(text, session.cache_type); });
}

}  // namespace shunt::cli
