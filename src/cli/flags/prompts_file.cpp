#include "cli/flags/prompts_file.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "cli/flags/text_files.h"
#include "cli/report/json.h"
#include "cli/terminal/output.h"
#include "shunt/engine.h"
#include "shunt/message.h"
#include "shunt/text.h"

namespace shunt::cli {
namespace {

constexpr std::size_t kMostPromptBytes = std::size_t{1} << 30;

bool set_text(const Json& value, Prompt& prompt) {
  if (!value.is_string()) return false;
  prompt.text = value.get<std::string>();
  return true;
}

bool set_max_tokens(const Json& value, Prompt& prompt) {
  constexpr auto kMost = std::uint64_t{std::numeric_limits<std::int64_t>::max()};
  if (!value.is_number_integer()) return false;
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > kMost) return false;
  prompt.max_tokens = value.get<std::int64_t>();
  return *prompt.max_tokens >= -1;
}

bool set_temperature(const Json& value, Prompt& prompt) {
  if (!value.is_number()) return false;
  const auto number = value.get<double>();
  if (!(number >= 0 && number <= std::numeric_limits<float>::max())) return false;
  prompt.temperature = static_cast<float>(number);
  return Sampler::create({.temperature = *prompt.temperature}).has_value();
}

bool set_seed(const Json& value, Prompt& prompt) {
  if (!value.is_number_unsigned()) return false;
  prompt.seed = value.get<std::uint64_t>();
  return true;
}

bool set_adapters(const Json& value, Prompt& prompt) {
  if (!value.is_array()) return false;
  const auto is_text = [](const Json& each) { return each.is_string(); };
  if (!std::ranges::all_of(value, is_text)) return false;
  prompt.adapters = value.get<std::vector<std::string>>();
  return true;
}

struct Field {
  std::string_view name;
  std::string_view expected;
  bool (*set)(const Json& value, Prompt& prompt);
};
constexpr Field kFields[] = {
    {"prompt", "a text", set_text},
    {"max_tokens", "a whole number from -1 on", set_max_tokens},
    {"temperature", "a number from 0 to 1000000", set_temperature},
    {"seed", "a whole number from 0 to 18446744073709551615", set_seed},
    {"adapters", "an array of texts NAME or NAME:SCALE", set_adapters},
};

Result<Prompt> parse_json(std::string_view line) {
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return invalid("the line is no JSON object");
  Prompt prompt;
  for (const auto& [key, value] : json.items()) {
    const auto* const field = std::ranges::find(kFields, key, &Field::name);
    if (field == std::end(kFields)) {
      return invalid("\"{}\" is not prompt, max_tokens, temperature, seed or adapters", key);
    }
    if (!field->set(value, prompt)) return invalid("{} must be {}", key, field->expected);
  }
  if (!json.contains("prompt")) return invalid("there is no prompt");
  return prompt;
}

}  // namespace

Result<std::vector<Prompt>> parse_prompts(const std::string& name, std::string_view text,
                                          bool json) {
  std::vector<Prompt> prompts;
  std::int64_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    Result<Prompt> prompt = json ? parse_json(line) : Prompt{.text = std::string(line)};
    if (!prompt) {
      return fail(ErrorCode::kBadFile, "{}:{}: {}", name, number, prompt.error().message());
    }
    prompt->line = number;
    prompts.push_back(std::move(*prompt));
  }
  if (prompts.empty()) return fail(ErrorCode::kBadFile, "{}: there is no prompt", name);
  return prompts;
}

void PromptsFile::declare(Arguments& arguments) {
  arguments.stream_input(
      "--prompts",
      "Compute the prompts of this file together, one in each line; in FILE.jsonl "
      "each is JSON with options and adapters of its own; -: standard input",
      path_);
}

std::string PromptsFile::name() const {
  return path_ == kStandardStream ? "standard input" : path_.value_or("");
}

Result<std::vector<Prompt>> PromptsFile::read() const {
  const auto bytes =
      path_ == kStandardStream
          ? read_standard_input(kMostPromptBytes, "waiting for the prompts on standard input")
          : read_whole_file(path_.value_or(""), kMostPromptBytes);
  if (!bytes) return Error(bytes.error());
  const text::SanitizedText sanitized = text::sanitize_utf8(*bytes);
  if (sanitized.changed) {
    print_message(
        fmt::format("warning: {} is not valid UTF-8; invalid bytes are read as U+FFFD", name()));
  }
  return parse_prompts(name(), sanitized.text, name().ends_with(".jsonl"));
}

}  // namespace shunt::cli
