#include "shunt/bench.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/clock.h"
#include "base/counted.h"
#include "base/fail.h"
#include "base/guarded.h"
#include "base/statistics.h"
#include "engine/step_work.h"

namespace shunt {

namespace {

/// So many tokens, the same each time, that are not all alike.
std::vector<std::int32_t> some_tokens(std::int64_t first, std::int64_t count,
                                      std::int64_t vocabulary) {
  constexpr std::int64_t kStep = 7919;  // a prime
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    tokens[static_cast<std::size_t>(i)] =
        static_cast<std::int32_t>((first + i + 1) * kStep % vocabulary);
  }
  return tokens;
}

Status append_some(Session& session, std::int64_t count, const std::atomic<bool>* cancel) {
  const auto tokens = some_tokens(session.length(), count, session.model().info().vocabulary);
  SHUNT_TRY(session.append(tokens, cancel));
  return ok();
}

/// Brings the session to so many tokens.
Status go_to(Session& session, std::int64_t depth, const std::atomic<bool>* cancel) {
  SHUNT_TRY(session.truncate(std::min(depth, session.length())));
  if (session.length() == depth) return ok();
  return append_some(session, depth - session.length(), cancel);
}

/// Seconds of one run. Leaves the session at the test's depth and its tokens.
Result<double> run_once(Session& session, const SpeedTest& test, const std::atomic<bool>* cancel) {
  SHUNT_TRY(go_to(session, test.depth, cancel));
  const double start = steady_seconds();
  if (test.generates) {
    for (std::int64_t i = 0; i < test.tokens; ++i) SHUNT_TRY(append_some(session, 1, cancel));
  } else {
    SHUNT_TRY(append_some(session, test.tokens, cancel));
  }
  return steady_seconds() - start;
}

/// All that a test has to do at least.
Result<Amounts> work_of_test(const Session& session, const SessionOptions& options,
                             const SpeedTest& test) {
  const auto state = session.model().state();
  const double cache_row =
      static_cast<double>(session.memory().cache) / static_cast<double>(session.context());
  const std::int64_t batch = test.generates ? 1 : std::min(options.batch, session.context());
  Amounts all = {};
  // Steps with as many tokens and outputs differ in what the cache holds only.
  std::map<std::pair<std::int64_t, bool>, Amounts> known;
  for (std::int64_t done = 0; done < test.tokens;) {
    const std::int64_t count = std::min(batch, test.tokens - done);
    done += count;
    const bool has_output = test.generates || done == test.tokens;
    const auto [at, is_new] = known.try_emplace({count, has_output});
    if (is_new) {
      const StepShape shape{.tokens = count,
                            .outputs = 1,
                            .context = session.context(),
                            .cache_type = options.cache_type};
      SHUNT_ASSIGN(at->second, step_work(*state, shape, has_output));
    }
    for (std::size_t peak = 0; peak < all.size(); ++peak) all[peak] += at->second[peak];
    all[static_cast<std::size_t>(Peak::kRead)] +=
        cache_row * static_cast<double>(test.depth + done);
  }
  return all;
}

Status check(const Session& session, const SpeedTest& test) {
  if (test.tokens < 1 || test.depth < 0) {
    return invalid("{} tokens after {}: there must be at least 1, after 0 or more", test.tokens,
                   test.depth);
  }
  if (test.tokens <= session.context() - test.depth) return ok();
  return invalid("{} after {} do not fit into a context of {}",
                 counted(static_cast<std::uint64_t>(test.tokens), "token"), test.depth,
                 session.context());
}

}  // namespace

Device* only_device(const Model& model) {
  const auto state = model.state();
  std::set<int> homes;
  for (const auto& [info, home] : state->homes) homes.insert(home);
  if (homes.size() != 1) return nullptr;
  return state->devices[static_cast<std::size_t>(*homes.begin())];
}

Status warm_up(Session& session, std::span<const SpeedTest> tests, std::int64_t batch) {
  return guarded([&]() -> Status {
    std::set<std::int64_t> counts;
    for (const SpeedTest& test : tests) {
      SHUNT_TRY(check(session, test));
      counts.insert(test.generates ? 1 : test.tokens);
      if (test.depth > 0) counts.insert(std::min(test.depth, batch));
    }
    for (const std::int64_t count : counts) {
      SHUNT_TRY(session.truncate(0));
      SHUNT_TRY(append_some(session, count, nullptr));
    }
    return session.truncate(0);
  });
}

Result<SpeedRun> run_probed(PeakMeter& meter, const SpeedOptions& how,
                            const std::function<Result<double>()>& run) {
  SpeedRun result;
  for (result.attempts = 1;; ++result.attempts) {
    SHUNT_ASSIGN(const PeakRate before, meter.measure(Peak::kRead, how.probe_seconds));
    SHUNT_ASSIGN(result.seconds, run());
    SHUNT_ASSIGN(const PeakRate after, meter.measure(Peak::kRead, how.probe_seconds));
    result.probe = ReadProbe{before.per_second, after.per_second};
    result.agreed = agree(before.per_second, after.per_second, how.tolerance);
    if (result.agreed || result.attempts >= how.attempts) return result;
  }
}

Result<SpeedResult> measure_speed(Session& session, const SessionOptions& options,
                                  const SpeedTest& test, const SpeedOptions& how,
                                  const SpeedLimits* limits) {
  return guarded([&]() -> Result<SpeedResult> {
    SHUNT_TRY(check(session, test));
    if (how.runs < 1) return invalid("{} runs; there must be at least 1", how.runs);
    SpeedResult result;
    result.test = test;
    Amounts work = {};
    if (limits != nullptr) {
      SHUNT_ASSIGN(work, work_of_test(session, options, test));
      result.bound = bound_of(work, limits->peaks).peak;
    }
    const auto run = [&] { return run_once(session, test, how.cancel); };
    SHUNT_TRY(run());
    const bool is_probed = limits != nullptr && (test.generates || result.bound == Peak::kRead);
    for (int i = 0; i < how.runs; ++i) {
      // Before the probe, which is to be right before the run.
      SHUNT_TRY(go_to(session, test.depth, how.cancel));
      SpeedRun done;
      if (is_probed) {
        SHUNT_ASSIGN(done, run_probed(limits->meter, how, run));
      } else {
        SHUNT_ASSIGN(done.seconds, run());
      }
      if (limits != nullptr && done.seconds > 0) {
        DevicePeaks peaks = limits->peaks;
        if (done.probe) {
          peaks.rates[static_cast<std::size_t>(Peak::kRead)].per_second =
              (done.probe->before + done.probe->after) / 2;
        }
        done.share = bound_of(work, peaks).seconds / done.seconds;
      }
      result.runs.push_back(done);
    }
    return result;
  });
}

}  // namespace shunt
