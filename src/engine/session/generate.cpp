#include <array>
#include <chrono>
#include <optional>

#include "base/enum_table.h"
#include "base/guarded.h"
#include "base/to_size.h"
#include "shunt/engine.h"
#include "shunt/message.h"

namespace shunt {

std::string_view to_string(StopReason reason) {
  static constexpr std::array<std::string_view, 4> kNames = {"end of sequence", "length",
                                                             "context full", "cancelled"};
  return name_in(kNames, reason);
}

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

bool is_cancelled(const Result<std::span<const float>>& logits) {
  return !logits && logits.error().code() == ErrorCode::kCancelled;
}

/// Adds a token after the other to a session until there is a reason to stop.
class Generation {
 public:
  Generation(Session& session, Sampler sampler, const GenerateOptions& options,
             const std::function<void(std::string_view)>& on_text)
      : session_(session),
        sampler_(std::move(sampler)),
        options_(options),
        on_text_(on_text),
        tokenizer_(session.model().tokenizer()),
        decoder_(tokenizer_, {.render_special = false, .continues = true}),
        trace_(session.trace()),
        sampling_(trace_ != nullptr ? trace_->declare_host("sample") : 0) {}

  Result<GenerateResult> run(std::span<const std::int32_t> prompt) && {
    auto start = std::chrono::steady_clock::now();
    const auto logits = session_.append(prompt.subspan(to_size(options_.cached)), options_.cancel);
    result_.prompt_seconds = seconds_since(start);
    if (is_cancelled(logits)) {
      result_.stop = StopReason::kCancelled;
      return std::move(result_);
    }
    if (!logits) return Error(logits.error());
    for (std::int32_t token : prompt) sampler_.accept(token);

    start = std::chrono::steady_clock::now();
    SHUNT_ASSIGN(result_.stop, add_tokens(*logits));
    emit(decoder_.finish());
    result_.generate_seconds = seconds_since(start);
    return std::move(result_);
  }

 private:
  Result<StopReason> add_tokens(std::span<const float> logits) {
    while (true) {
      if (const auto reason = reason_before_token()) return *reason;
      SHUNT_ASSIGN(const std::int32_t token, pick(logits));
      sampler_.accept(token);
      if (is_end(token)) return StopReason::kEndOfSequence;
      SHUNT_TRY(add(token));
      if (const auto reason = reason_after_token()) return *reason;
      const auto next = session_.append({&token, 1}, options_.cancel);
      if (is_cancelled(next)) return StopReason::kCancelled;
      if (!next) return Error(next.error());
      logits = *next;
    }
  }

  std::int64_t generated() const { return static_cast<std::int64_t>(result_.tokens.size()); }

  std::optional<StopReason> reason_before_token() const {
    if (options_.max_tokens >= 0 && generated() >= options_.max_tokens) return StopReason::kLength;
    if (options_.cancel != nullptr && options_.cancel->load()) return StopReason::kCancelled;
    return std::nullopt;
  }

  std::optional<StopReason> reason_after_token() const {
    if (generated() == options_.max_tokens) return StopReason::kLength;
    if (session_.taken() == session_.context()) return StopReason::kContextFull;
    return std::nullopt;
  }

  Result<std::int32_t> pick(std::span<const float> logits) {
    const TraceScope scope(trace_, sampling_);
    return sampler_.pick(logits);
  }

  bool is_end(std::int32_t token) const {
    return !options_.ignore_end && tokenizer_.contains(token) &&
           tokenizer_.is_end_of_generation(token);
  }

  Status add(std::int32_t token) {
    result_.tokens.push_back(token);
    if (!tokenizer_.contains(token)) return ok();  // embeddings may be padded beyond the vocabulary
    SHUNT_ASSIGN(const std::string text, decoder_.push(token));
    emit(text);
    return ok();
  }

  void emit(const std::string& text) const {
    if (on_text_ && !text.empty()) on_text_(text);
  }

  Session& session_;
  Sampler sampler_;
  const GenerateOptions& options_;
  const std::function<void(std::string_view)>& on_text_;
  const text::Tokenizer& tokenizer_;
  text::StreamDecoder decoder_;
  Trace* trace_;
  std::uint32_t sampling_;
  GenerateResult result_;
};

}  // namespace

Result<GenerateResult> generate(Session& session, std::span<const std::int32_t> prompt,
                                const GenerateOptions& options,
                                const std::function<void(std::string_view)>& on_text) {
  return guarded([&]() -> Result<GenerateResult> {
    SHUNT_ASSIGN(Sampler sampler, Sampler::create(options.sampling));
    if (options.cached != 0 && (options.cached < 0 || options.cached >= std::ssize(prompt))) {
      return invalid("{} cached tokens of a prompt of {}", options.cached, prompt.size());
    }
    return Generation(session, std::move(sampler), options, on_text).run(prompt);
  });
}

}  // namespace shunt
