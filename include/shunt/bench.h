/// \file
/// The speed of a model, and its share of the device's limit. Include it to measure sessions in a
/// program of your own, instead of the command `shunt bench model`.
///
/// \code
/// const SpeedTest test = {.generates = true, .tokens = 64};
/// SHUNT_TRY(warm_up(session, {&test, 1}, options.batch));  // options: those of the session
/// SHUNT_ASSIGN(const SpeedResult result, measure_speed(session, options, test, {}, nullptr));
/// std::cout << 64 / result.runs[0].seconds << " tokens a second\n";
/// \endcode
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "shunt/engine.h"
#include "shunt/peaks.h"

namespace shunt {

/// Work of a session that is measured: prompts at once, or tokens one after the other, as requests
/// (batcher.h). Tokens are fixed; nothing is sampled.
struct SpeedTest {
  bool generates = false;
  std::int64_t tokens = 0;     ///< of each sequence
  std::int64_t depth = 0;      ///< tokens of each that are in the cache before that
  std::int64_t sequences = 1;  ///< computed together

  /// Tokens that are computed.
  std::int64_t all_tokens() const { return sequences * tokens; }
  /// Tokens that must fit into the context.
  std::int64_t context() const { return sequences * (depth + tokens); }
};

/// The speed of reading memory before and after a run, in bytes per second. Before a prompt there
/// is an untimed run between the probe and the run.
struct ReadProbe {
  double before = 0;
  double after = 0;
};

/// One timed run.
struct SpeedRun {
  double seconds = 0;
  std::optional<ReadProbe> probe = {};  ///< of runs that are bound by memory
  int attempts = 1;                     ///< runs until its probes agreed
  bool agreed = true;                   ///< false: they never did; this was the last attempt
  double share = 0;                     ///< of the limit; 0 if there is none
};

/// The result of measure_speed().
struct SpeedResult {
  SpeedTest test;
  std::vector<SpeedRun> runs;
  std::optional<Peak> bound = {};  ///< the limit
  /// Of a run, by the model's costs (PlacementPolicy::costs). Nothing where the session's own
  /// placement can't be predicted. That is so without costs of ops, for a model that is split by
  /// rows, where weights are streamed, or where the session has less memory than planned.
  std::optional<double> predicted_seconds = {};
};

/// The limits that results are compared with. Both must outlive the measurement.
struct SpeedLimits {
  PeakMeter& meter;
  const DevicePeaks& peaks;
};

/// Options of measure_speed() and run_probed().
struct SpeedOptions {
  int runs = 5;  ///< timed runs, after one warm-up
  double probe_seconds = 0.1;
  double tolerance = 0.1;  ///< probes agree if they differ by at most that part of the larger one
  int attempts = 10;       ///< runs, at most, until the probes of one agree
  const std::atomic<bool>* cancel = nullptr;
};

/// The one device that all weights are on; null if there are several.
Device* only_device(const Model& model);

/// Warm-up: computes each step that the tests need a plan for, without their depth, so that all
/// memory is allocated. Afterwards the session is empty. Invalid for tokens beyond the context.
Status warm_up(Session& session, std::span<const SpeedTest> tests, std::int64_t batch);

/// Measures one test. `options` are those of the session. Limits hold if only_device() is theirs;
/// null: there are none. Invalid for a test of no tokens, for one beyond the context or the
/// session's sequences, or for no runs.
Result<SpeedResult> measure_speed(Session& session, const SessionOptions& options,
                                  const SpeedTest& test, const SpeedOptions& how,
                                  const SpeedLimits* limits);

/// Repeats a run between two probes of reading until the probes agree. `run` gives its seconds. It
/// is called `untimed` times more after the first probe, to fill the caches.
Result<SpeedRun> run_probed(PeakMeter& meter, const SpeedOptions& how,
                            const std::function<Result<double>()>& run, int untimed = 0);

}  // namespace shunt
