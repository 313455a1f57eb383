#include <array>
#include <chrono>

#include "base/enum_table.h"
#include "base/guarded.h"
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

/// The number of the sequence does not matter.
bool is_full(const Session& session) {
  std::int64_t taken = 0;
  for (std::int64_t i = 0; i < session.sequences(); ++i) taken += session.length(i);
  return taken == session.context();
}

}  // namespace

Result<GenerateResult> generate(Session& session, std::span<const std::int32_t> prompt,
                                const GenerateOptions& options,
                                const std::function<void(std::string_view)>& on_text) {
  return guarded([&]() -> Result<GenerateResult> {
    SHUNT_ASSIGN(Sampler sampler, Sampler::create(options.sampling));
    const text::Tokenizer& tokenizer = session.model().tokenizer();
    text::StreamDecoder decoder(tokenizer, {.render_special = false, .continues = true});
    GenerateResult result;
    Trace* const trace = session.trace();
    const std::uint32_t sampling = trace != nullptr ? trace->declare_host("sample") : 0;
    const auto pick = [&](std::span<const float> logits) {
      const TraceScope scope(trace, sampling);
      return sampler.pick(logits);
    };
    const auto cancelled = [&] { return options.cancel != nullptr && options.cancel->load(); };
    const auto emit = [&](const std::string& text) {
      if (on_text && !text.empty()) on_text(text);
    };

    auto start = std::chrono::steady_clock::now();
    auto logits = session.append(prompt, options.cancel);
    result.prompt_seconds = seconds_since(start);
    if (!logits && logits.error().code() == ErrorCode::kCancelled) {
      result.stop = StopReason::kCancelled;
      return result;
    }
    if (!logits) return Error(logits.error());
    for (std::int32_t token : prompt) sampler.accept(token);

    start = std::chrono::steady_clock::now();
    while (true) {
      if (options.max_tokens >= 0 &&
          static_cast<std::int64_t>(result.tokens.size()) >= options.max_tokens) {
        result.stop = StopReason::kLength;
        break;
      }
      if (cancelled()) {
        result.stop = StopReason::kCancelled;
        break;
      }
      SHUNT_ASSIGN(const std::int32_t token, pick(*logits));
      sampler.accept(token);
      if (!options.ignore_end && tokenizer.contains(token) &&
          tokenizer.is_end_of_generation(token)) {
        result.stop = StopReason::kEndOfSequence;
        break;
      }
      result.tokens.push_back(token);
      if (tokenizer.contains(token)) {  // embeddings may be padded beyond the vocabulary
        SHUNT_ASSIGN(const std::string text, decoder.push(token));
        emit(text);
      }
      if (static_cast<std::int64_t>(result.tokens.size()) == options.max_tokens) {
        result.stop = StopReason::kLength;
        break;
      }
      if (is_full(session)) {
        result.stop = StopReason::kContextFull;
        break;
      }
      logits = session.append({&token, 1}, options.cancel);
      if (!logits && logits.error().code() == ErrorCode::kCancelled) continue;  // seen above
      if (!logits) return Error(logits.error());
    }
    emit(decoder.finish());
    result.generate_seconds = seconds_since(start);
    return result;
  });
}

}  // namespace shunt
