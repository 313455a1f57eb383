// `shunt bench model`: tokens a second, beside the rate that the device allows.
#include "shunt/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "base/counted.h"
#include "base/fail.h"
#include "base/statistics.h"
#include "cli/bench_modes.h"
#include "cli/rates.h"
#include "cli/sizes.h"
#include "cli/table.h"
#include "engine/model_state.h"

namespace shunt::cli {
namespace {

constexpr std::int64_t kFirstPrompt = 5;  // tokens, to measure how long the first token takes

/// The measurements of a model.
struct Report {
  std::string path;
  ModelInfo model;
  SessionOptions session;
  std::int64_t context = 0;
  double load_seconds = 0;
  double first_token_seconds = 0;
  std::uint64_t peak_memory = 0;
  std::string device;                ///< that has all weights; empty if there are several
  std::optional<DevicePeaks> peaks;  ///< of that device
  std::vector<std::string> times;    ///< a line a device: where its predicted times come from
  std::vector<SpeedResult> results;
};

std::vector<SpeedTest> list_tests(const ModelBenchRequest& request) {
  std::vector<SpeedTest> tests;
  for (const std::int64_t depth : request.depths) {
    for (const std::int64_t sequences : request.sequences) {
      for (const std::int64_t tokens : request.prompts) {
        if (tokens > 0) tests.push_back({false, tokens, depth, sequences});
      }
      for (const std::int64_t tokens : request.generated) {
        if (tokens > 0) tests.push_back({true, tokens, depth, sequences});
      }
    }
  }
  return tests;
}

/// A context that has room for each test, or an error that names the one it has no room for.
Result<std::int64_t> context_for(std::span<const SpeedTest> tests, std::int64_t asked) {
  std::int64_t most = kFirstPrompt;
  for (const SpeedTest& test : tests) {
    most = std::max(most, test.context());
    if (asked != 0 && test.context() > asked) {
      return invalid("{} of {} after {}{} does not fit into a context of {}; see --ctx",
                     test.generates ? "a generation" : "a prompt",
                     counted(static_cast<std::uint64_t>(test.tokens), "token"), test.depth,
                     test.sequences == 1 ? "" : fmt::format(", {} times,", test.sequences), asked);
    }
  }
  if (asked != 0 && asked < most) {
    return invalid("a context of {} has no room for the {} that the first is timed with", asked,
                   counted(static_cast<std::uint64_t>(kFirstPrompt), "token"));
  }
  if (most > SessionOptions::kMaxContext) {
    return invalid("the tests need a context of {} tokens; it may be at most {}", most,
                   SessionOptions::kMaxContext);
  }
  return asked != 0 ? asked : most;
}

/// Appends the first tokens and picks the next one.
Status compute_first_token(Session& session) {
  const std::int64_t vocabulary = session.model().info().vocabulary;
  std::vector<std::int32_t> tokens;
  for (std::int64_t i = 0; i < kFirstPrompt; ++i) {
    tokens.push_back(static_cast<std::int32_t>((i + 1) % vocabulary));
  }
  SHUNT_ASSIGN(const auto logits, session.append(tokens));
  SamplingOptions greedy;
  greedy.temperature = 0;
  SHUNT_ASSIGN(Sampler sampler, Sampler::create(greedy));
  SHUNT_TRY(sampler.pick(logits));
  return session.truncate(0);
}

/// The meter of the device that has all weights; null, said why, if there is none.
Result<std::unique_ptr<PeakMeter>> open_meter(const Model& model, Report& report) {
  Device* device = only_device(model);
  if (device == nullptr) {
    say("weights are on several devices: there is no limit to compare with");
    return std::unique_ptr<PeakMeter>();
  }
  report.device = device->name();
  auto meter = device->open_peak_meter(0);
  if (meter || meter.error().code() != ErrorCode::kUnsupported) return meter;
  say(meter.error().message());
  return std::unique_ptr<PeakMeter>();
}

/// None, said why, where a large model leaves no memory to measure with.
Result<std::optional<DevicePeaks>> peaks_of(PeakMeter& meter) {
  auto peaks = measure_peaks(meter, kPeakSeconds);
  if (peaks) return std::optional(std::move(*peaks));
  if (peaks.error().code() != ErrorCode::kOutOfMemory) return peaks.error();
  say(fmt::format("{}: there is no limit to compare with", peaks.error().message()));
  return std::optional<DevicePeaks>();
}

Result<Report> measure(const ModelFlags& flags, const ModelBenchRequest& request) {
  const std::vector<SpeedTest> tests = list_tests(request);
  ModelFlags sized = flags;
  SHUNT_ASSIGN(sized.session().context, context_for(tests, flags.session().context));
  for (const SpeedTest& test : tests)
    sized.session().sequences = std::max(sized.session().sequences, test.sequences);
  Report report;
  report.path = flags.path();
  report.session = sized.session();

  const double begin = steady_seconds();
  SHUNT_ASSIGN(const OpenModel open, sized.open(Predict::kAlways));
  const double start = begin + open.calibration_seconds;  // as if costs had been there
  SHUNT_ASSIGN(const auto session, Session::create(open.model, sized.session()));
  report.load_seconds = steady_seconds() - start;
  SHUNT_TRY(compute_first_token(*session));
  report.first_token_seconds = steady_seconds() - start;
  report.model = open.model->info();
  const auto state = open.model->state();
  for (const Device* device : state->devices) {
    report.times.push_back(
        fmt::format("{}: {}", device->name(), state->costs->origin(device->info())));
  }
  report.context = session->context();
  SHUNT_TRY(warm_up(*session, tests, sized.session().batch));
  report.peak_memory = peak_memory();  // before there is memory to be read

  SHUNT_ASSIGN(const auto meter, open_meter(*open.model, report));
  std::optional<SpeedLimits> limits;
  if (meter) {
    SHUNT_ASSIGN(report.peaks, peaks_of(*meter));
  }
  if (report.peaks) limits.emplace(SpeedLimits{*meter, *report.peaks});
  SpeedOptions how;
  how.runs = request.runs;
  for (const SpeedTest& test : tests) {
    SHUNT_ASSIGN(SpeedResult result,
                 measure_speed(*session, sized.session(), test, how, limits ? &*limits : nullptr));
    report.results.push_back(std::move(result));
  }
  return report;
}

double tokens_per_second(const SpeedTest& test, const SpeedRun& run) {
  return run.seconds > 0 ? static_cast<double>(test.all_tokens()) / run.seconds : 0;
}

Summary speed_of(const SpeedResult& result) {
  std::vector<double> speeds;
  for (const SpeedRun& run : result.runs) speeds.push_back(tokens_per_second(result.test, run));
  return summarize(speeds);
}

Summary share_of(const SpeedResult& result) {
  std::vector<double> shares;
  for (const SpeedRun& run : result.runs) shares.push_back(run.share);
  return summarize(shares);
}

/// The number of timed parts: one prompt, or each token that is generated.
double times_of(const SpeedTest& test) {
  return test.generates ? static_cast<double>(test.tokens) : 1;
}

double median_seconds(const SpeedResult& result) {
  std::vector<double> seconds;
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

/// How fast memory was read beside each run: "61.2/60.9 61.0/61.3".
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

Table table_of(const Report& report) {
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

/// A line for each test some of whose runs were made again.
std::string repeats_of(const Report& report) {
  std::string text;
  for (const SpeedResult& result : report.results) {
    const auto more =
        std::ranges::count_if(result.runs, [](const SpeedRun& run) { return run.attempts > 1; });
    const auto never =
        std::ranges::count_if(result.runs, [](const SpeedRun& run) { return !run.agreed; });
    if (more == 0 && never == 0) continue;
    text += fmt::format(
        "{} at depth {}: {} made again, as memory was not read as fast after as before",
        name_of(result.test), result.test.depth, counted(static_cast<std::uint64_t>(more), "run"));
    if (never > 0) {
      text +=
          fmt::format("; {} it still was not after {} attempts: do not count on these numbers",
                      never == 1 ? "in one" : fmt::format("in {}", never), SpeedOptions{}.attempts);
    }
    text += "\n";
  }
  return text;
}

std::string text_of(const Report& report, BenchFormat format) {
  const bool is_markdown = format == BenchFormat::kMarkdown;
  const std::string gap = is_markdown ? "\n" : "";
  const std::string_view item = is_markdown ? "- " : "";
  std::string text = fmt::format(
      "{0}{1} ({2}, {3} weights, {4}), context {5}, cache {6}\n"
      "{0}loaded in {7:.3f} s, first token of a prompt of {8} after {9:.3f} s, peak memory {10}\n",
      item, report.path, report.model.architecture, format_count(report.model.weights),
      format_bytes(report.model.weight_bytes), report.context, to_string(report.session.cache_type),
      report.load_seconds, kFirstPrompt, report.first_token_seconds,
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

Json to_json(const Report& report) {
  Json json;
  json["model"] = {{"path", report.path},
                   {"architecture", report.model.architecture},
                   {"name", report.model.name},
                   {"weights", report.model.weights},
                   {"weight_bytes", report.model.weight_bytes}};
  json["context"] = report.context;
  json["batch"] = report.session.batch;
  json["cache_type"] = to_string(report.session.cache_type);
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

Status check_model_bench(const ModelBenchRequest& request, std::int64_t context) {
  SHUNT_TRY(context_for(list_tests(request), context));
  return ok();
}

Status bench_model(const ModelFlags& flags, const ModelBenchRequest& request, BenchFormat format,
                   Output& output) {
  SHUNT_ASSIGN(const Report report, measure(flags, request));
  output.write(format == BenchFormat::kJson ? to_text(to_json(report)) : text_of(report, format));
  return ok();
}

}  // namespace shunt::cli
