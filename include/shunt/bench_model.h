/// \file
/// Measuring a model: prefill and decode throughput, time to the first token and peak memory,
/// beside the rate that the device allows.
///
/// \code
/// const ModelBenchRequest request = {.prompts = {512}, .generated = {64}};
/// const double start = std::chrono::duration<double>(
///     std::chrono::steady_clock::now().time_since_epoch()).count();
/// SHUNT_ASSIGN(const SessionOptions session, bench_session(request));
/// SHUNT_ASSIGN(const auto model, Model::load("model.gguf", registry, {.session = session}));
/// SHUNT_ASSIGN(const ModelBenchReport report, bench_model(model, session, request, start));
/// \endcode
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shunt/bench.h"
#include "shunt/engine.h"
#include "shunt/peaks.h"

namespace shunt {

/// The tokens of the prompt that the first token is timed with.
inline constexpr std::int64_t kFirstPromptTokens = 5;

/// Each depth with each number of sequences, and of these each prompt and each generation. Numbers
/// of tokens are those of one sequence; 0 tokens are no test.
struct ModelBenchRequest {
  std::vector<std::int64_t> prompts = {512};
  std::vector<std::int64_t> generated = {64};
  std::vector<std::int64_t> depths = {0};     ///< tokens in the KV cache before
  std::vector<std::int64_t> sequences = {1};  ///< computed at once
  int runs = 5;                               ///< timed runs, after one warm-up
  /// Gets the reason if there is no limit to compare with; may be empty.
  std::function<void(std::string_view line)> log = {};
};

/// The options of a session that has room for all tests. A context of 0 becomes as large as the
/// tests and a first prompt of kFirstPromptTokens need. Invalid for less than one run, and for
/// numbers below 0 or above SessionOptions::kMaxContext. Invalid, with the numbers, if a test does
/// not fit into the context, or all of them need more than kMaxContext.
Result<SessionOptions> bench_session(const ModelBenchRequest& request, SessionOptions options = {});

struct ModelBenchReport {
  ModelInfo model;
  std::int64_t context = 0;
  double load_seconds = 0;           ///< from the start to a session
  double first_token_seconds = 0;    ///< from the start to the first token
  std::uint64_t peak_memory = 0;     ///< of the process, in bytes, after all tests were warmed up
  std::string device = {};           ///< that has all weights; empty if there are several
  std::optional<DevicePeaks> peaks;  ///< of that device
  std::vector<std::string> times;    ///< the origin of predicted times, a line a device
  std::vector<SpeedResult> results;  ///< one a test
};

/// Measures a model. `options` are those of bench_session(), which the model was loaded for.
/// `load_start`: seconds of std::chrono::steady_clock at which loading began. Nothing else should
/// run meanwhile. Unsupported for a model that computes embeddings; the errors of
/// Session::create(), of steps and of the peak meter.
Result<ModelBenchReport> bench_model(const std::shared_ptr<const Model>& model,
                                     const SessionOptions& options,
                                     const ModelBenchRequest& request, double load_start);

}  // namespace shunt
