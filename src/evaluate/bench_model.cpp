#include "shunt/bench_model.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/guarded.h"
#include "engine/model_state.h"
#include "shunt/message.h"
#include "shunt/peak_memory.h"

namespace shunt {
namespace {

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
  std::int64_t most = kFirstPromptTokens;
  for (const SpeedTest& test : tests) {
    most = std::max(most, test.context());
    if (asked != 0 && test.context() > asked) {
      return invalid("{} of {} after {}{} does not fit into a context of {}",
                     test.generates ? "a generation" : "a prompt",
                     counted(static_cast<std::uint64_t>(test.tokens), "token"), test.depth,
                     test.sequences == 1 ? "" : fmt::format(", {} times,", test.sequences), asked);
    }
  }
  if (asked != 0 && asked < most) {
    return invalid("a context of {} is too small: the first token is timed with a prompt of {}",
                   asked, counted(static_cast<std::uint64_t>(kFirstPromptTokens), "token"));
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
  tokens.reserve(static_cast<std::size_t>(kFirstPromptTokens));
  for (std::int64_t i = 0; i < kFirstPromptTokens; ++i) {
    tokens.push_back(static_cast<std::int32_t>((i + 1) % vocabulary));
  }
  const GenerateOptions one = {.max_tokens = 1, .sampling = {.temperature = 0}};
  SHUNT_TRY(generate(session, tokens, one, {}));
  return session.truncate(0);
}

void log_line(const ModelBenchRequest& request, const std::string& line) {
  if (request.log) request.log(line);
}

/// The meter of the device that has all weights; null, with a note, if there is none.
Result<std::unique_ptr<PeakMeter>> open_meter(const Model& model, const ModelBenchRequest& request,
                                              ModelBenchReport& report) {
  Device* device = only_device(model);
  if (device == nullptr) {
    log_line(request, "weights are on several devices: there is no limit to compare with");
    return std::unique_ptr<PeakMeter>();
  }
  report.device = device->name();
  if (device->info().twin) {
    log_line(request, fmt::format("{} is a twin, and the times of an emulator mean nothing: there "
                                  "is no limit to compare with",
                                  report.device));
    return std::unique_ptr<PeakMeter>();
  }
  auto meter = device->open_peak_meter(0);
  if (meter || meter.error().code() != ErrorCode::kUnsupported) return meter;
  log_line(request, meter.error().message());
  return std::unique_ptr<PeakMeter>();
}

/// None, with a note, where a large model leaves no memory to measure with.
Result<std::optional<DevicePeaks>> peaks_of(PeakMeter& meter, const ModelBenchRequest& request) {
  auto peaks = measure_peaks(meter, kPeakSeconds);
  if (peaks) return std::optional(std::move(*peaks));
  if (peaks.error().code() != ErrorCode::kOutOfMemory) return peaks.error();
  log_line(request, fmt::format("{}: there is no limit to compare with", peaks.error().message()));
  return std::optional<DevicePeaks>();
}

Result<ModelBenchReport> measure(const std::shared_ptr<const Model>& model,
                                 const SessionOptions& options, const ModelBenchRequest& request,
                                 double load_start) {
  const std::vector<SpeedTest> tests = list_tests(request);
  ModelBenchReport report;
  SHUNT_ASSIGN(const auto session, Session::create(model, options));
  report.load_seconds = steady_seconds() - load_start;
  SHUNT_TRY(compute_first_token(*session));
  report.first_token_seconds = steady_seconds() - load_start;
  report.model = model->info();
  const auto state = model->state();
  for (const Device* device : state->devices) {
    report.times.push_back(
        fmt::format("{}: {}", device->name(), state->placement.costs->origin(device->info())));
  }
  report.context = session->context();
  SHUNT_TRY(warm_up(*session, tests, options.batch));
  report.peak_memory = peak_memory();  // before the probes allocate memory

  SHUNT_ASSIGN(const auto meter, open_meter(*model, request, report));
  std::optional<SpeedLimits> limits;
  if (meter) {
    SHUNT_ASSIGN(report.peaks, peaks_of(*meter, request));
  }
  if (report.peaks) limits.emplace(SpeedLimits{*meter, *report.peaks});
  SpeedOptions how;
  how.runs = request.runs;
  for (const SpeedTest& test : tests) {
    SHUNT_ASSIGN(SpeedResult result,
                 measure_speed(*session, options, test, how, limits ? &*limits : nullptr));
    report.results.push_back(std::move(result));
  }
  return report;
}

}  // namespace

Result<SessionOptions> bench_session(const ModelBenchRequest& request, SessionOptions options) {
  if (request.runs < 1) return invalid("{} runs; at least one is timed", request.runs);
  const auto check = [](std::span<const std::int64_t> numbers, std::int64_t low,
                        std::string_view of) {
    for (const std::int64_t number : numbers) {
      if (number >= low && number <= SessionOptions::kMaxContext) continue;
      return Status(
          invalid("{} {}: expected {} to {}", number, of, low, SessionOptions::kMaxContext));
    }
    return ok();
  };
  SHUNT_TRY(check(request.prompts, 0, "tokens of a prompt"));
  SHUNT_TRY(check(request.generated, 0, "tokens to generate"));
  SHUNT_TRY(check(request.depths, 0, "tokens in the KV cache"));
  SHUNT_TRY(check(request.sequences, 1, "sequences"));
  const std::vector<SpeedTest> tests = list_tests(request);
  SHUNT_ASSIGN(options.context, context_for(tests, options.context));
  for (const SpeedTest& test : tests)
    options.sequences = std::max(options.sequences, test.sequences);
  return options;
}

Result<ModelBenchReport> bench_model(const std::shared_ptr<const Model>& model,
                                     const SessionOptions& options,
                                     const ModelBenchRequest& request, double load_start) {
  if (model == nullptr) return invalid("no model is given to measure");
  SHUNT_TRY(expect_logits(model->info()));
  SHUNT_TRY(bench_session(request, options));
  return guarded([&] { return measure(model, options, request, load_start); });
}

}  // namespace shunt
