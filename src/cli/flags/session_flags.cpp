#include "cli/flags/session_flags.h"

#include <algorithm>

#include "shunt/message.h"

namespace shunt::cli {
namespace {

constexpr std::int64_t kMaxSessionTokens = std::int64_t{1} << 30;

/// "f32, f16, bf16, q8_0 or q4_0".
std::string cache_type_names() {
  std::string list;
  for (const DType type : cache_types()) {
    const bool is_last = type == cache_types().back();
    list += fmt::format("{}{}", list.empty() ? "" : is_last ? " or " : ", ", to_string(type));
  }
  std::ranges::transform(list, list.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return list;
}

Status read_cache_type(const std::string& text, DType& type) {
  const auto named = dtype_from_name(text);
  if (!named || std::ranges::count(cache_types(), *named) == 0) {
    return invalid("\"{}\" is not {}", text, cache_type_names());
  }
  type = *named;
  return ok();
}

}  // namespace

void declare_session(Arguments& arguments, SessionOptions& session) {
  arguments.number<std::int64_t>("-b,--batch",
                                 "Compute at most N prompt tokens per step (batch size)",
                                 session.batch, 1, kMaxSessionTokens);
  arguments.value(
      "--cache-type", "TYPE",
      "Set the element type of the KV cache: " + cache_type_names() + " (default f16)",
      [&](const std::string& text) { return read_cache_type(text, session.cache_type); });
}

}  // namespace shunt::cli
