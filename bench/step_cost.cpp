// The cost of a batcher's step that is neither a kernel, nor a copy, nor sampling: the time of a
// step, less those of its trace. Each request generates a token in each step. The target is 20 us,
// and 1 us for each sequence.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "shunt/batcher.h"
#include "shunt/registry.h"
#include "shunt/trace.h"

namespace shunt {
namespace {

constexpr std::int64_t kSteps = 200;  // measured together

double now_in_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Seconds in which some of these spans are under way. They may overlap.
double covered_seconds(std::vector<TraceSpan> spans, std::span<const TraceAction> actions) {
  std::erase_if(spans, [&](const TraceSpan& span) {
    const TraceAction& action = actions[span.action];
    return action.kind == TraceKind::kHost && action.name != "sample";
  });
  std::ranges::sort(spans, {}, [](const TraceSpan& span) { return span.times.begin; });
  double covered = 0;
  double end = 0;
  for (const TraceSpan& span : spans) {
    covered += std::max(0.0, span.times.end - std::max(end, span.times.begin));
    end = std::max(end, span.times.end);
  }
  return covered;
}

/// Requests that generate a fixed token in each step, which costs nothing to pick.
class Generating {
 public:
  explicit Generating(std::int64_t sequences) : sequences_(sequences) {}

  Status start() {
    Options options;
    options.threads = 1;
    SHUNT_ASSIGN(registry_, Registry::create(options));
    SHUNT_ASSIGN(const std::string path, default_model());
    SHUNT_ASSIGN(const auto model, Model::load(path, *registry_));
    SHUNT_ASSIGN(trace_, Trace::create());
    BatcherOptions how;
    how.session.sequences = sequences_;
    how.session.context = sequences_ * kContext;
    how.session.trace = trace_;
    how.token_interval = std::numeric_limits<double>::infinity();
    how.own_thread = false;
    SHUNT_ASSIGN(batcher_, Batcher::create(model, how));
    return submit();
  }

  Status submit() {
    streams_.clear();
    for (std::int64_t i = 0; i < sequences_; ++i) {
      BatchRequest request;
      request.tokens = {static_cast<std::int32_t>(1 + i)};
      request.pick = [](std::span<const std::int32_t>, std::span<const float>) { return 1; };
      request.ignore_end = true;
      SHUNT_ASSIGN(auto stream, batcher_->submit(std::move(request)));
      streams_.push_back(std::move(stream));
    }
    return batcher_->step() ? ok() : Status(Error(ErrorCode::kInternal, "there is no step"));
  }

  /// Seconds of some steps: all, and those that the trace has.
  Result<std::pair<double, double>> run() {
    const std::size_t before = trace_->spans().size();
    double all = 0;
    for (std::int64_t i = 0; i < kSteps; ++i) {
      const double begin = now_in_seconds();
      if (!batcher_->step()) return Error(ErrorCode::kInternal, "there is no step");
      all += now_in_seconds() - begin;
      for (const auto& stream : streams_) {
        while (stream->poll()) {
        }
      }
    }
    if (trace_->left_out() > 0) return Error(ErrorCode::kInternal, "the trace is full");
    std::vector<TraceSpan> spans = trace_->spans();
    spans.erase(spans.begin(), spans.begin() + static_cast<std::ptrdiff_t>(before));
    return std::pair(all, covered_seconds(std::move(spans), trace_->actions()));
  }

 private:
  static constexpr std::int64_t kContext = 2048;
  std::int64_t sequences_;
  std::unique_ptr<Registry> registry_;
  std::shared_ptr<Trace> trace_;
  std::unique_ptr<Batcher> batcher_;
  std::vector<std::unique_ptr<BatchStream>> streams_;
};

void own_cost(benchmark::State& state) {
  Generating generating(state.range(0));
  if (const Status started = generating.start(); !started)
    return state.SkipWithError(started.error().message().c_str());
  double least = std::numeric_limits<double>::infinity();
  double all = 0;
  for (auto _ : state) {
    const auto seconds = generating.run();
    if (!seconds) return state.SkipWithError(seconds.error().message().c_str());
    state.SetIterationTime(seconds->first);
    least = std::min(least, (seconds->first - seconds->second) / kSteps);
    all = seconds->first / kSteps;
  }
  state.counters["own_us"] = least * 1e6;
  state.counters["step_us"] = all * 1e6;
}

BENCHMARK(own_cost)
    ->Name("cost of a step/sequences")
    ->Arg(1)
    ->Arg(8)
    ->Arg(64)
    ->Iterations(5)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace shunt
