#include <array>
#include <optional>

#include "base/enum_table.h"
#include "base/guarded.h"
#include "engine/batch/run_requests.h"
#include "shunt/engine.h"
#include "shunt/message.h"

namespace shunt {

std::string_view to_string(StopReason reason) {
  static constexpr std::array<std::string_view, 4> kNames = {"end of sequence", "length",
                                                             "context full", "cancelled"};
  return name_in(kNames, reason);
}

namespace {

/// The end of a request that did not fail, has no deadline, and no stop tokens.
StopReason stop_reason(BatchEnd end) {
  switch (end) {
    case BatchEnd::kEndOfSequence:
      return StopReason::kEndOfSequence;
    case BatchEnd::kContextFull:
      return StopReason::kContextFull;
    case BatchEnd::kCancelled:
      return StopReason::kCancelled;
    default:
      return StopReason::kLength;
  }
}

/// The text of a request, as its tokens come.
class GeneratedText {
 public:
  GeneratedText(const text::Tokenizer& tokenizer,
                const std::function<void(std::string_view)>& on_text)
      : tokenizer_(tokenizer),
        on_text_(on_text),
        decoder_(tokenizer, {.render_special = false, .continues = true}) {}

  Status take(const BatchEvent& event) {
    if (event.end) return finish(*event.end);
    result_.tokens.push_back(event.token);
    // Embeddings may be padded beyond the vocabulary.
    if (!tokenizer_.contains(event.token)) return ok();
    SHUNT_ASSIGN(const std::string text, decoder_.push(event.token));
    emit(text);
    return ok();
  }
  GenerateResult result() && { return std::move(result_); }

 private:
  Status finish(const BatchResult& end) {
    if (end.error) return Error(*end.error);
    emit(decoder_.finish());
    result_.stop = stop_reason(end.reason);
    result_.prompt_seconds = end.prompt_seconds;
    result_.generate_seconds = end.generate_seconds;
    return ok();
  }

  void emit(const std::string& text) const {
    if (on_text_ && !text.empty()) on_text_(text);
  }

  const text::Tokenizer& tokenizer_;
  const std::function<void(std::string_view)>& on_text_;
  text::StreamDecoder decoder_;
  GenerateResult result_;
};

}  // namespace

Result<GenerateResult> generate(Session& session, std::span<const std::int32_t> prompt,
                                const GenerateOptions& options,
                                const std::function<void(std::string_view)>& on_text) {
  return guarded([&]() -> Result<GenerateResult> {
    if (options.cached != 0 && (options.cached < 0 || options.cached >= std::ssize(prompt))) {
      return invalid("{} cached tokens of a prompt of {}", options.cached, prompt.size());
    }
    BatchRequest request;
    request.tokens.assign(prompt.begin(), prompt.end());
    request.max_tokens = options.max_tokens;
    request.sampling = options.sampling;
    request.ignore_end = options.ignore_end;
    BatchEngine engine(session, options_without_interval(), options.cancel);
    SHUNT_ASSIGN(const auto stream,
                 engine.submit(std::move(request), OwnSequence{.cached = options.cached}));
    GeneratedText text(session.model().tokenizer(), on_text);
    const auto take = [&](std::size_t, const BatchEvent& event) { return text.take(event); };
    SHUNT_TRY(run_requests(engine, {&stream, 1}, take));
    return std::move(text).result();
  });
}

}  // namespace shunt
