#include "cli/report/run_report.h"

#include <fmt/format.h>

#include "cli/report/json.h"
#include "cli/report/sizes.h"
#include "shunt/message.h"

namespace shunt::cli {
namespace {

double per_second(std::int64_t tokens, double seconds) {
  return seconds > 0 ? static_cast<double>(tokens) / seconds : 0;
}

Json speed_json(std::int64_t tokens, double seconds) {
  return {
      {"tokens", tokens}, {"seconds", seconds}, {"tokens_per_second", per_second(tokens, seconds)}};
}

std::int64_t generated(const RunReport& report) {
  return static_cast<std::int64_t>(report.result.tokens.size());
}

std::string cached_note(const RunReport& report) {
  if (report.cached_tokens == 0) return {};
  return fmt::format("; {} from the file",
                     counted(static_cast<std::uint64_t>(report.cached_tokens), "token"));
}

}  // namespace

std::string speed_line(std::int64_t tokens, double seconds) {
  return fmt::format("{:>6} {} in {:.3f} s, {:.1f} tokens/s", tokens,
                     noun_for(static_cast<std::uint64_t>(tokens), "token"), seconds,
                     per_second(tokens, seconds));
}

std::string note_lines(std::string_view heading, const std::vector<std::string>& notes) {
  if (notes.size() < 2) return {};
  std::string text;
  for (const std::string& note : notes) {
    text += fmt::format("{:<12}{}\n", text.empty() ? heading : "", note);
  }
  return text;
}

std::string memory_line(const ModelInfo& model, const SessionMemory& memory, std::uint64_t peak) {
  return fmt::format("memory      {} weights, {} cache, {} activations; peak of the process {}\n",
                     format_bytes(model.weight_bytes), format_bytes(memory.cache),
                     format_bytes(memory.activations), format_bytes(peak));
}

std::string summary(const RunReport& report) {
  const ModelInfo& model = report.model;
  return fmt::format(
      "\n"
      "model       {} ({}, {} weights), loaded in {:.3f} s\n"
      "prompt      {}{}\n"
      "generation  {}\n"
      "{}{}{}"
      "seed        {}\n"
      "stopped     {}\n",
      report.path, model.architecture, format_count(model.weights), report.load_seconds,
      speed_line(report.prompt_tokens, report.result.prompt_seconds), cached_note(report),
      speed_line(generated(report), report.result.generate_seconds),
      memory_line(model, report.memory, report.peak_memory),
      note_lines("loaded", report.model_notes), note_lines("session", report.session_notes),
      report.seed, to_string(report.result.stop));
}

std::string to_json(const RunReport& report) {
  const ModelInfo& model = report.model;
  const GenerateResult& result = report.result;
  Json json;
  json["prompt"] = report.prompt;
  json["text"] = report.text;
  json["tokens"] = result.tokens;
  json["stop"] = to_string(result.stop);
  json["timings"] = {{"load_seconds", report.load_seconds},
                     {"prompt", speed_json(report.prompt_tokens, result.prompt_seconds)},
                     {"generation", speed_json(generated(report), result.generate_seconds)}};
  json["timings"]["prompt"]["cached"] = report.cached_tokens;
  json["memory"] = {{"weights", model.weight_bytes},
                    {"cache", report.memory.cache},
                    {"activations", report.memory.activations},
                    {"peak_rss", report.peak_memory}};
  json["notes"] = {{"model", report.model_notes}, {"session", report.session_notes}};
  json["seed"] = report.seed;
  json["model"] = {
      {"path", report.path},      {"name", model.name},      {"architecture", model.architecture},
      {"layers", model.layers},   {"width", model.width},    {"vocabulary", model.vocabulary},
      {"context", model.context}, {"weights", model.weights}};
  return to_text(json);
}

}  // namespace shunt::cli
