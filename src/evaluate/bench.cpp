#include "shunt/bench.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/ceil_div.h"
#include "base/clock.h"
#include "base/enum_table.h"
#include "base/guarded.h"
#include "base/to_size.h"
#include "device/device_set.h"
#include "engine/batch/run_requests.h"
#include "engine/load/promised_memory.h"
#include "engine/load/session_steps.h"
#include "engine/step_work.h"
#include "graph/storage_users.h"
#include "schedule/place/facts.h"
#include "shunt/message.h"
#include "shunt/statistics.h"
#include "tensor/bytes_of.h"

namespace shunt {

namespace {

/// Varied tokens, the same in every run.
std::int32_t some_token(std::int64_t number, std::int64_t vocabulary) {
  constexpr std::int64_t kStep = 7919;  // a prime
  return static_cast<std::int32_t>((number + 1) * kStep % vocabulary);
}

std::vector<std::int32_t> some_tokens(std::int64_t first, std::int64_t count,
                                      std::int64_t vocabulary) {
  std::vector<std::int32_t> tokens;
  tokens.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) tokens.push_back(some_token(first + i, vocabulary));
  return tokens;
}

/// Appends `count` tokens to each of the first sequences, all at once.
Status append_some(Session& session, std::int64_t sequences, std::int64_t count,
                   const std::atomic<bool>* cancel) {
  std::vector<std::vector<std::int32_t>> tokens;
  std::vector<SequenceTokens> more;
  for (std::int64_t i = 0; i < sequences; ++i) {
    tokens.push_back(some_tokens(session.length(i) + i, count, session.model().info().vocabulary));
    more.push_back({i, tokens.back()});
  }
  SHUNT_TRY(session.append_each(more, cancel));
  return ok();
}

Status clear(Session& session) {
  for (std::int64_t i = 0; i < session.sequences(); ++i) SHUNT_TRY(session.truncate(0, i));
  return ok();
}

/// Brings the sequences of a test to its depth. They all have the same length, others are empty.
Status go_to_depth(Session& session, const SpeedTest& test, const std::atomic<bool>* cancel) {
  std::int64_t length = test.depth;
  for (std::int64_t i = 0; i < test.sequences; ++i) length = std::min(length, session.length(i));
  for (std::int64_t i = 0; i < session.sequences(); ++i)
    SHUNT_TRY(session.truncate(i < test.sequences ? length : 0, i));
  if (length == test.depth) return ok();
  return append_some(session, test.sequences, test.depth - length, cancel);
}

/// A request of a test for one of its sequences. Its tokens are fixed. The logits of the last one
/// are made, and then a token is picked that is never computed.
BatchRequest request_of(const SpeedTest& test, std::int64_t sequence, std::int64_t vocabulary) {
  const std::int64_t first = test.depth + sequence;
  BatchRequest request;
  request.tokens = some_tokens(first, test.generates ? 1 : test.tokens, vocabulary);
  request.max_tokens = test.generates ? test.tokens : 1;
  request.ignore_end = true;
  request.pick = [first, vocabulary](std::span<const std::int32_t> picked, std::span<const float>) {
    return some_token(first + 1 + std::ssize(picked), vocabulary);
  };
  return request;
}

/// Seconds of one run. Leaves the session at the test's depth and its tokens.
Result<double> run_once(Session& session, const SpeedTest& test, const std::atomic<bool>* cancel) {
  SHUNT_TRY(go_to_depth(session, test, cancel));
  BatcherOptions how = options_without_interval();
  how.session.threads = 1;  // tokens are fixed, so picking them takes no time
  BatchEngine engine(session, std::move(how), cancel);
  std::vector<std::unique_ptr<BatchStream>> streams;
  const double start = steady_seconds();
  for (std::int64_t i = 0; i < test.sequences; ++i) {
    SHUNT_ASSIGN(auto stream, engine.submit(request_of(test, i, session.model().info().vocabulary),
                                            OwnSequence{.number = i}));
    streams.push_back(std::move(stream));
  }
  SHUNT_TRY(run_requests(engine, streams, [](std::size_t, const BatchEvent& event) {
    return event.end ? status_of(*event.end) : ok();
  }));
  return steady_seconds() - start;
}

/// The work of one step of a test.
struct TestStep {
  std::int64_t tokens = 0;
  std::int64_t outputs = 0;     ///< tokens whose logits are made
  std::int64_t cache_rows = 0;  ///< of all sequences that take part
  std::vector<std::pair<std::int64_t, std::int64_t>> parts = {};  ///< their new tokens, and all

  /// Rows of a cache that are read in layers with a window.
  std::int64_t rows_in(std::int64_t window) const {
    std::int64_t rows = 0;
    for (const auto& [count, length] : parts) rows += std::min(length, count + window - 1);
    return rows;
  }
};

/// The steps of sequences that get `tokens` tokens each, after `length` others.
std::vector<TestStep> steps_of(std::int64_t sequences, std::int64_t tokens, std::int64_t length,
                               std::int64_t batch) {
  std::vector<TestStep> steps;
  std::int64_t room = 0;
  for (std::int64_t i = 0; i < sequences; ++i) {
    for (std::int64_t done = 0; done < tokens;) {
      if (room == 0) {
        steps.emplace_back();
        room = batch;
      }
      const std::int64_t count = std::min(room, tokens - done);
      room -= count;
      done += count;
      TestStep& step = steps.back();
      step.tokens += count;
      step.outputs += done == tokens ? 1 : 0;
      step.cache_rows += length + done;
      step.parts.emplace_back(count, length + done);
    }
  }
  return steps;
}

/// All steps of a test, in order.
std::vector<TestStep> steps_of_test(const SpeedTest& test, std::int64_t batch) {
  std::vector<TestStep> steps;
  const std::int64_t at_once = test.generates ? 1 : test.tokens;
  for (std::int64_t done = 0; done < test.tokens; done += at_once) {
    const auto more = steps_of(test.sequences, at_once, test.depth + done, batch);
    steps.insert(steps.end(), more.begin(), more.end());
  }
  return steps;
}

/// Whether a node uses a weight that its device can't read where it is.
bool sends_weights(const Graph& graph, std::span<const LeafMemory> memory,
                   const Placement& placement) {
  const std::vector<const BufferType*> types = memory_of_leaves(graph, memory);
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (!is_computed(graph.node(id))) continue;
    Device& device = device_at(placement.devices, placement.decisions[id].device);
    if (bytes_to_send(graph, id, device, types) > 0) return true;
  }
  return false;
}

/// Whether a session's weights and caches are on the devices that loading chose.
bool is_as_loaded(const Session& session) {
  const auto state = session.model().state();
  const Ledger ledger = session.ledger();
  // Weights that were brought to the CPU for a plan.
  if (ledger.total(Purpose::kWeights) > 0) return false;
  for (const DeviceIndex i : state->residency.used.indices()) {
    const bool expected =
        std::ranges::find(state->residency.caches, i) != state->residency.caches.end();
    const bool found = ledger.bytes(state->devices[i]->name(), Purpose::kCache) > 0;
    if (expected != found) return false;
  }
  return true;
}

/// Seconds that a step is predicted to take, with the cache as full as it is then. The placement is
/// that of a session's plan: with weights and caches at their homes.
Result<std::optional<double>> predict_step(const ModelState& model, const TestStep& test,
                                           DType cache_type, std::int64_t sequences) {
  StepShape shape = {test.tokens, std::max<std::int64_t>(test.outputs, 1),
                     std::max(test.cache_rows, test.tokens), cache_type,
                     std::min(sequences, test.tokens)};
  // No sequence shares blocks.
  shape.table_entries = ceil_div(shape.context, kCacheBlock);
  SHUNT_ASSIGN(const auto step, model.build(shape, model.weights.transcoded()));
  PromisedMemory promised;
  const auto memory =
      promised.promise(model, *step, {model.weights.homes(), model.residency.caches});
  std::vector<Device*> devices;
  std::vector<std::uint64_t> stream_bytes;
  for (const DeviceIndex i : model.residency.used.indices()) {
    if (!model.residency.used[i]) continue;
    devices.push_back(model.devices[i]);
    stream_bytes.push_back(model.residency.most_streamed[i]);
  }
  SHUNT_ASSIGN(const Placement placement, model.place_step(step, memory, devices, stream_bytes));
  if (placement.predicted_seconds <= 0 || sends_weights(step->graph, memory, placement))
    return std::optional<double>();
  return std::optional(placement.predicted_seconds);
}

/// The predicted seconds of all steps of a test. The time of steps with the same number of tokens
/// is linear in the filled rows of the cache, so the first and the last step give the mean.
Result<std::optional<double>> predict_test(const Session& session, const SessionOptions& options,
                                           const SpeedTest& test) {
  const auto state = session.model().state();
  if (!state->part_devices.empty() || !is_as_loaded(session)) return std::optional<double>();
  SHUNT_ASSIGN(const SessionOptions chosen, complete(options, session.model().info()));
  const std::vector<TestStep> steps = steps_of_test(test, chosen.batch);
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<TestStep>> alike;
  for (const TestStep& step : steps) alike[{step.tokens, step.outputs}].push_back(step);
  double all = 0;
  for (const auto& [key, same] : alike) {
    SHUNT_ASSIGN(const auto first,
                 predict_step(*state, same.front(), chosen.cache_type, test.sequences));
    SHUNT_ASSIGN(const auto last,
                 predict_step(*state, same.back(), chosen.cache_type, test.sequences));
    if (!first || !last) return std::optional<double>();
    all += (*first + *last) / 2 * static_cast<double>(same.size());
  }
  return std::optional(all);
}

/// Bytes of a token's rows in all caches.
struct CacheRow {
  double whole = 0;
  std::map<std::int64_t, double> in_windows = {};
};

CacheRow bytes_of_rows(const StepGraph& step) {
  CacheRow row;
  const auto bytes_of_one = [&](NodeId cache) {
    const Tensor& tensor = step.graph.node(cache).result;
    return static_cast<double>(bytes_of(tensor)) / static_cast<double>(tensor.size(1));
  };
  for (const NodeId cache : step.caches) {
    if (std::ranges::count(step.states, cache) == 0) row.whole += bytes_of_one(cache);
  }
  for (const WindowCaches& window : step.windows) {
    for (const NodeId cache : window.caches) {
      row.whole -= bytes_of_one(cache);
      row.in_windows[window.window] += bytes_of_one(cache);
    }
  }
  return row;
}

/// The minimum work of a test: bytes to read, and operations.
Result<Amounts> work_of_test(const Session& session, const SessionOptions& options,
                             const SpeedTest& test) {
  const auto state = session.model().state();
  SHUNT_ASSIGN(const SessionOptions chosen, complete(options, session.model().info()));
  const StepShape single = step_shape(chosen, 1, 1);
  SHUNT_ASSIGN(const auto graph, state->build(single));
  const CacheRow cache_row = bytes_of_rows(*graph);
  const std::vector<TestStep> steps = steps_of_test(test, chosen.batch);
  Amounts all = {};
  // Steps with as many tokens and outputs differ only in the content of the cache.
  std::map<std::pair<std::int64_t, std::int64_t>, Amounts> known;
  for (const TestStep& step : steps) {
    const auto [at, is_new] = known.try_emplace({step.tokens, step.outputs});
    if (is_new) {
      StepShape shape = single;
      shape.tokens = step.tokens;
      shape.outputs = step.outputs;
      SHUNT_ASSIGN(at->second, step_work(*state, shape));
    }
    for (std::size_t peak = 0; peak < all.size(); ++peak) all[peak] += at->second[peak];
    double& read = all[to_index(Peak::kRead)];
    read += cache_row.whole * static_cast<double>(step.cache_rows);
    for (const auto& [window, bytes] : cache_row.in_windows)
      read += bytes * static_cast<double>(step.rows_in(window));
  }
  return all;
}

Status check(const Session& session, const SpeedTest& test) {
  if (test.tokens < 1 || test.depth < 0) {
    return invalid("{} tokens after {}: there must be at least 1, after 0 or more", test.tokens,
                   test.depth);
  }
  if (test.sequences < 1 || test.sequences > session.sequences()) {
    return invalid("{} sequences: there must be from 1 to the session's {}", test.sequences,
                   session.sequences());
  }
  const std::int64_t room = session.context() / test.sequences;
  if (test.depth <= room && test.tokens <= room - test.depth) return ok();
  return invalid("{} after {}{} do not fit into a context of {}",
                 counted(static_cast<std::uint64_t>(test.tokens), "token"), test.depth,
                 test.sequences == 1 ? "" : fmt::format(", in {} sequences,", test.sequences),
                 session.context());
}

}  // namespace

Device* only_device(const Model& model) {
  const auto state = model.state();
  std::set<DeviceIndex> homes;
  for (const auto& [info, home] : state->weights.homes()) homes.insert(home);
  if (homes.size() != 1) return nullptr;
  return state->devices[*homes.begin()];
}

Status warm_up(Session& session, std::span<const SpeedTest> tests, std::int64_t batch) {
  return guarded([&]() -> Status {
    std::set<std::pair<std::int64_t, std::int64_t>> counts;  // sequences, tokens of each
    for (const SpeedTest& test : tests) {
      SHUNT_TRY(check(session, test));
      counts.emplace(test.sequences, test.generates ? 1 : test.tokens);
      if (test.depth > 0) counts.emplace(test.sequences, std::min(test.depth, batch));
    }
    for (const auto& [sequences, count] : counts) {
      SHUNT_TRY(clear(session));
      SHUNT_TRY(append_some(session, sequences, count, nullptr));
    }
    return clear(session);
  });
}

Result<SpeedRun> run_probed(PeakMeter& meter, const SpeedOptions& how,
                            const std::function<Result<double>()>& run, int untimed) {
  SpeedRun result;
  for (result.attempts = 1;; ++result.attempts) {
    SHUNT_ASSIGN(const PeakRate before, meter.measure(Peak::kRead, how.probe_seconds));
    for (int i = 0; i < untimed; ++i) SHUNT_TRY(run());
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
    // A test can do without a prediction.
    const auto predicted = guarded([&] { return predict_test(session, options, test); });
    if (predicted) result.predicted_seconds = *predicted;
    Amounts work = {};
    if (limits != nullptr) {
      SHUNT_ASSIGN(work, work_of_test(session, options, test));
      result.bound = bound_of(work, limits->peaks).peak;
    }
    const auto run = [&] { return run_once(session, test, how.cancel); };
    SHUNT_TRY(run());
    // A probe evicts weights and results from the processor caches. That matters little in many
    // steps, but a prompt may be a single one.
    const int untimed = test.generates ? 0 : 1;
    const bool is_probed = limits != nullptr && (test.generates || result.bound == Peak::kRead);
    for (int i = 0; i < how.runs; ++i) {
      // Before the probe, so that little time passes between it and the run.
      SHUNT_TRY(go_to_depth(session, test, how.cancel));
      SpeedRun done;
      if (is_probed) {
        SHUNT_ASSIGN(done, run_probed(limits->meter, how, run, untimed));
      } else {
        SHUNT_ASSIGN(done.seconds, run());
      }
      if (limits != nullptr && done.seconds > 0) {
        DevicePeaks peaks = limits->peaks;
        if (done.probe) {
          peaks.rates[to_index(Peak::kRead)].per_second =
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
