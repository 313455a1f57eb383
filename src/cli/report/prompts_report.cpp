#include "cli/report/prompts_report.h"

#include <fmt/format.h>

#include <iterator>

#include "cli/report/json.h"
#include "cli/report/run_report.h"
#include "cli/report/sizes.h"
#include "shunt/message.h"

namespace shunt::cli {
namespace {

/// "3 end of sequence, 1 length, 2 cancelled".
std::string list_ends(const PromptsReport& report) {
  std::string text;
  const auto add = [&](std::int64_t count, std::string_view name) {
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name);
  };
  std::int64_t left = report.prompts;
  for (std::size_t i = 0; i < report.ended.size(); ++i) {
    add(report.ended[i], to_string(static_cast<BatchEnd>(i)));
    left -= report.ended[i];
  }
  add(left, to_string(BatchEnd::kCancelled));
  return text;
}

/// "host cache  12 of 64 blocks used, 40 saved, 30 restored"; empty if there are none.
std::string host_cache_line(const HostCacheUse& use) {
  if (use.blocks == 0) return {};
  return fmt::format("host cache  {} of {} used, {} saved, {} restored\n", use.used,
                     counted(static_cast<std::uint64_t>(use.blocks), "block"), use.saved,
                     use.restored);
}

}  // namespace

std::string to_plain(const PromptResult& result, const std::string& file) {
  return fmt::format("==> {}:{} <==\n{}{}\n", file, result.prompt.line, result.prompt.text,
                     result.text);
}

std::string to_json_line(const PromptResult& result) {
  const BatchResult& batch = result.result;
  Json json;
  json["index"] = result.index;
  json["line"] = result.prompt.line;
  json["prompt"] = result.prompt.text;
  json["text"] = result.text;
  json["tokens"] = result.tokens;
  json["stop"] = to_string(batch.reason);
  if (batch.error) json["error"] = to_text(*batch.error);
  json["seed"] = result.seed;
  if (result.prompt.adapters) json["adapters"] = *result.prompt.adapters;
  json["prompt_tokens"] = result.prompt_tokens;
  json["cached_tokens"] = batch.cached_tokens;
  json["computed_tokens"] = batch.computed_tokens;
  json["generated_tokens"] = result.tokens.size();
  json["timings"] = {{"wait_seconds", batch.wait_seconds},
                     {"prompt_seconds", batch.prompt_seconds},
                     {"generation_seconds", batch.generate_seconds}};
  return to_text_line(json);
}

void PromptsReport::add(const PromptResult& result) {
  ++ended.at(static_cast<std::size_t>(result.result.reason));
  if (result.failed()) return;
  prompt_tokens += result.prompt_tokens;
  cached_tokens += result.result.cached_tokens;
  generated_tokens += std::ssize(result.tokens);
}

std::string summary(const PromptsReport& report) {
  const ModelInfo& model = report.model;
  return fmt::format(
      "\n"
      "model       {} ({}, {} weights), loaded in {:.3f} s\n"
      "prompts     {:>6} {}, at most {} at once\n"
      "prefill     {}, {} cached\n"
      "generation  {}\n"
      "{}{}{}{}"
      "seed        {}, plus the index of the prompt\n"
      "stopped     {}\n",
      report.path, model.architecture, format_count(model.weights), report.load_seconds,
      report.prompts, noun_for(static_cast<std::uint64_t>(report.prompts), "prompt"),
      report.sequences, speed_line(report.prompt_tokens, report.seconds), report.cached_tokens,
      speed_line(report.generated_tokens, report.seconds),
      memory_line(model, report.memory, report.peak_memory), host_cache_line(report.host_cache),
      note_lines("loaded", report.model_notes), note_lines("session", report.session_notes),
      report.seed, list_ends(report));
}

}  // namespace shunt::cli
