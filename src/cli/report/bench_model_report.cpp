#include <fmt/format.h>

#include <algorithm>

#include "cli/report/bench_reports.h"
#include "cli/report/rates.h"
#include "cli/report/sizes.h"
#include "cli/report/table.h"
#include "shunt/message.h"
#include "shunt/statistics.h"

namespace shunt::cli {
namespace {

double tokens_per_second(const SpeedTest& test, const SpeedRun& run) {
  return run.seconds > 0 ? static_cast<double>(test.all_tokens()) / run.seconds : 0;
}

Summary speed_of(const SpeedResult& result) {
  std::vector<double> speeds;
  speeds.reserve(result.runs.size());
  for (const SpeedRun& run : result.runs) speeds.push_back(tokens_per_second(result.test, run));
  return summarize(speeds);
}

Summary share_of(const SpeedResult& result) {
  std::vector<double> shares;
  shares.reserve(result.runs.size());
  for (const SpeedRun& run : result.runs) shares.push_back(run.share);
  return summarize(shares);
}

/// The number of timed parts: one prompt, or each token that is generated.
double times_of(const SpeedTest& test) {
  return test.generates ? static_cast<double>(test.tokens) : 1;
}

double median_seconds(const SpeedResult& result) {
  std::vector<double> seconds;
  seconds.reserve(result.runs.size());
  for (const SpeedRun& run : result.runs) seconds.push_back(run.seconds);
  return summarize(seconds).median;
}

/// Predicted time by measured time; nothing if one of them is missing.
std::optional<double> prediction_ratio(const SpeedResult& result) {
  const double measured = median_seconds(result);
  if (!result.predicted_seconds || measured <= 0) return std::nullopt;
  return *result.predicted_seconds / measured;
}

/// "0.98", or "-".
std::string text_or_dash(const std::optional<double>& value) {
  return value ? fmt::format("{:.2f}", *value) : "-";
}

Json number_or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}

/// Read bandwidth before and after each run: "61.2/60.9 61.0/61.3".
std::string probes_of(const SpeedResult& result) {
  std::string text;
  for (const SpeedRun& run : result.runs) {
    if (!run.probe) continue;
    text += fmt::format("{}{:.1f}/{:.1f}", text.empty() ? "" : " ", run.probe->before * 1e-9,
                        run.probe->after * 1e-9);
  }
  return text;
}

std::string name_of(const SpeedTest& test) {
  const std::string times = test.sequences == 1 ? "" : fmt::format("{} x ", test.sequences);
  return fmt::format("{}{} {}", times, test.generates ? "generate" : "prompt", test.tokens);
}

/// A few significant digits, as models differ by orders of magnitude.
std::string speed_text(double speed) {
  return fmt::format("{:.{}f}", speed, speed < 10 ? 3 : speed < 1000 ? 1 : 0);
}

Table table_of(const ModelBenchReport& report) {
  Table table({{"test", false},
               {"depth"},
               {"tokens/s"},
               {"lowest"},
               {"highest"},
               {"ms"},
               {"predicted ms"},
               {"ratio"},
               {"share"},
               {"of", false},
               {"read GB/s before/after each run", false}});
  for (const SpeedResult& result : report.results) {
    const Summary speed = speed_of(result);
    std::optional<double> predicted = result.predicted_seconds;
    if (predicted) *predicted *= 1e3 / times_of(result.test);
    table.add({name_of(result.test), fmt::format("{}", result.test.depth), speed_text(speed.median),
               speed_text(speed.low), speed_text(speed.high),
               fmt::format("{:.2f}", median_seconds(result) * 1e3 / times_of(result.test)),
               text_or_dash(predicted), text_or_dash(prediction_ratio(result)),
               format_share(share_of(result).median),
               result.bound ? std::string(to_string(*result.bound)) : "-", probes_of(result)});
  }
  return table;
}

/// A line for each test with repeated runs.
std::string repeats_of(const ModelBenchReport& report) {
  std::string text;
  for (const SpeedResult& result : report.results) {
    const auto more =
        std::ranges::count_if(result.runs, [](const SpeedRun& run) { return run.attempts > 1; });
    const auto never =
        std::ranges::count_if(result.runs, [](const SpeedRun& run) { return !run.agreed; });
    if (more == 0 && never == 0) continue;
    text += fmt::format(
        "{} at depth {}: {} repeated, because the memory bandwidth before and after differed",
        name_of(result.test), result.test.depth, counted(static_cast<std::uint64_t>(more), "run"));
    if (never > 0) {
      text += fmt::format(
          "; in {} it still differed after {} attempts, so these numbers are unreliable",
          counted(static_cast<std::uint64_t>(never), "run"), SpeedOptions{}.attempts);
    }
    text += "\n";
  }
  return text;
}

std::string table_text(const ModelBenchReport& report, const std::string& path, DType cache_type,
                       BenchFormat format) {
  const bool is_markdown = format == BenchFormat::kMarkdown;
  const std::string gap = is_markdown ? "\n" : "";
  const std::string_view item = is_markdown ? "- " : "";
  std::string text = fmt::format(
      "{0}{1} ({2}, {3} weights, {4}), context {5}, cache {6}\n"
      "{0}loaded in {7:.3f} s, first token of a prompt of {8} after {9:.3f} s, peak memory {10}\n",
      item, path, report.model.architecture, format_count(report.model.weights),
      format_bytes(report.model.weight_bytes), report.context, to_string(cache_type),
      report.load_seconds, kFirstPromptTokens, report.first_token_seconds,
      format_bytes(report.peak_memory));
  if (report.peaks) {
    text += fmt::format("{}limits of {} with {}: {}\n", item, report.device,
                        counted(static_cast<std::uint64_t>(report.peaks->threads), "thread"),
                        to_line(*report.peaks));
  }
  for (const std::string& line : report.times)
    text += fmt::format("{}predicted times of {}\n", item, line);
  if (report.results.empty()) return text;
  const Table table = table_of(report);
  return text + gap + (is_markdown ? table.markdown() : table.plain()) + gap + repeats_of(report);
}

Json to_json(const Summary& summary) {
  return {{"median", summary.median}, {"low", summary.low}, {"high", summary.high}};
}

Json to_json(const SpeedResult& result) {
  Json json = {{"test", result.test.generates ? "generate" : "prompt"},
               {"tokens", result.test.tokens},
               {"depth", result.test.depth},
               {"sequences", result.test.sequences},
               {"tokens_per_second", to_json(speed_of(result))}};
  json["seconds"] = median_seconds(result);
  json["predicted_seconds"] = number_or_null(result.predicted_seconds);
  json["predicted_ratio"] = number_or_null(prediction_ratio(result));
  json["bound"] = result.bound ? Json(to_string(*result.bound)) : Json();
  json["share"] = result.bound ? to_json(share_of(result)) : Json();
  json["runs"] = Json::array();
  for (const SpeedRun& run : result.runs) {
    Json each = {{"seconds", run.seconds},
                 {"tokens_per_second", tokens_per_second(result.test, run)}};
    if (result.bound) each["share"] = run.share;
    if (run.probe) {
      each["read_before"] = run.probe->before;
      each["read_after"] = run.probe->after;
      each["probes_agree"] = run.agreed;
      each["attempts"] = run.attempts;
    }
    json["runs"].push_back(std::move(each));
  }
  return json;
}

Json to_json(const ModelBenchReport& report, const std::string& path,
             const SessionOptions& session) {
  Json json;
  json["model"] = {{"path", path},
                   {"architecture", report.model.architecture},
                   {"name", report.model.name},
                   {"weights", report.model.weights},
                   {"weight_bytes", report.model.weight_bytes}};
  json["context"] = report.context;
  json["batch"] = session.batch;
  json["cache_type"] = to_string(session.cache_type);
  json["load_seconds"] = report.load_seconds;
  json["first_token_seconds"] = report.first_token_seconds;
  json["peak_memory"] = report.peak_memory;
  json["device"] = report.device.empty() ? Json() : Json(report.device);
  json["peaks"] = report.peaks ? peaks_json(*report.peaks) : Json();
  json["times"] = report.times;
  json["tests"] = Json::array();
  for (const SpeedResult& result : report.results) json["tests"].push_back(to_json(result));
  return json;
}

}  // namespace

std::string to_text(const ModelBenchReport& report, const std::string& path,
                    const SessionOptions& session, BenchFormat format) {
  if (format == BenchFormat::kJson) return to_text(to_json(report, path, session));
  return table_text(report, path, session.cache_type, format);
}

}  // namespace shunt::cli
