#include <algorithm>
#include <array>
#include <string>

#include "base/guarded.h"
#include "shunt/message.h"
#include "shunt/text.h"
#include "text/check_vocabulary.h"
#include "text/end_tokens.h"
#include "text/known_token_rules.h"
#include "text/sentencepiece_text.h"
#include "text/special_ids.h"
#include "text/tokenizer_state.h"
#include "text/usual_tokens.h"
#include "text/utf8.h"

namespace shunt::text {
namespace {

// Offsets within a text are 32 bits wide, and a text grows up to threefold on the way: a space to
// U+2581, an ill-formed byte to U+FFFD.
constexpr std::size_t kMostBytes = std::size_t{1} << 30;

/// The kinds of tokenizers: the value of tokenizer.ggml.model, the usual name, the function that
/// makes it.
struct Kind {
  std::string_view name;
  std::string_view title;
  Result<std::unique_ptr<const Model>> (*make)(const Vocabulary&);  ///< null: not in this build
};
constexpr std::array<Kind, 9> kKinds = {{
    {"llama", "SentencePiece", make_spm_model},
    {"gpt2", "byte-level BPE", make_bpe_model},
    {"bert", "WordPiece", make_wordpiece_model},
    {"t5", "Unigram", make_unigram_model},
    {"gemma4", "BPE with a list of merges, spaces as U+2581", make_gemma4_model},
    {"rwkv", "RWKV", make_rwkv_model},
    {"plamo2", "PLaMo-2", nullptr},
    {"replit", "Unigram", nullptr},
    {"no_vocab", "none", nullptr},
}};

Error unsupported_kind(std::string_view name) {
  std::string supported;
  for (const Kind& kind : kKinds) {
    if (kind.make == nullptr) continue;
    supported += fmt::format("{}\"{}\" ({})", supported.empty() ? "" : ", ", kind.name, kind.title);
  }
  const auto kind = std::ranges::find(kKinds, name, &Kind::name);
  const std::string title = kind == kKinds.end() ? "" : fmt::format(" ({})", kind->title);
  return fail(
      ErrorCode::kUnsupported,
      "tokenizer.ggml.model is \"{}\"{}, a kind of tokenizer that this build lacks; it has {}",
      name, title, supported);
}

}  // namespace

std::string_view to_string(TokenType type) {
  constexpr std::array<std::string_view, 6> kNames = {"normal",       "unknown", "control",
                                                      "user-defined", "unused",  "byte"};
  const auto index = static_cast<std::size_t>(type) - 1;
  return index < kNames.size() ? kNames[index] : "undefined";
}

Result<Tokenizer> Tokenizer::create(Vocabulary vocabulary) {
  return guarded([&]() -> Result<Tokenizer> {
    const auto kind = std::ranges::find(kKinds, vocabulary.model, &Kind::name);
    if (kind == kKinds.end() || kind->make == nullptr) return unsupported_kind(vocabulary.model);
    fill_in_usual_tokens(vocabulary);
    SHUNT_TRY(check_vocabulary(vocabulary));
    add_known_token_rules(vocabulary);
    auto state = std::make_shared<State>(std::move(vocabulary));
    SHUNT_ASSIGN(state->model, kind->make(state->vocabulary));
    const Vocabulary& kept = state->vocabulary;
    const bool adds_bos = kept.add_bos.value_or(state->model->adds_bos());
    const bool adds_eos = adds_closing_token(kept).value_or(state->model->adds_eos());
    state->ends = find_end_tokens(kept);
    if (adds_bos) state->opening = opening_token(kept);
    if (adds_eos) state->closing = closing_token(kept);
    return Tokenizer(std::move(state));
  });
}

Result<std::vector<std::int32_t>> Tokenizer::encode(std::string_view text,
                                                    const EncodeOptions& options) const {
  if (text.size() > kMostBytes) {
    return invalid("a text of {} bytes is longer than {} bytes", text.size(), kMostBytes);
  }
  return guarded([&]() -> Result<std::vector<std::int32_t>> {
    std::size_t trusted = std::min(options.trusted_bytes, text.size());
    std::string sanitized;
    if (!is_valid_utf8(text)) {
      sanitized = sanitize_utf8(text.substr(0, trusted)).text;
      const std::size_t end = sanitized.size();
      sanitized += sanitize_utf8(text.substr(trusted)).text;
      text = sanitized;
      trusted = end;
    }
    if (options.parse_special) trusted = text.size();

    std::vector<std::int32_t> ids;
    if (options.add_special && state_->opening) ids.push_back(*state_->opening);
    bool after_special = true;
    for (std::size_t done = 0; done < text.size();) {
      const auto special = state_->specials.find(text, done, trusted > 0, done, trusted);
      const std::size_t end = special ? special->begin : text.size();
      if (end > done) {
        SHUNT_TRY(state_->model->encode(text.substr(done, end - done), after_special, ids));
        after_special = false;
      }
      if (special) {
        ids.push_back(special->id);
        after_special = true;
      }
      done = special ? special->begin + special->size : end;
    }
    if (options.add_special && state_->closing) ids.push_back(*state_->closing);
    return ids;
  });
}

Result<std::string> Tokenizer::decode(std::span<const std::int32_t> ids,
                                      const DecodeOptions& options) const {
  return guarded([&]() -> Result<std::string> {
    StreamDecoder decoder(*this, options);
    std::string text;
    for (const std::int32_t id : ids) {
      SHUNT_ASSIGN(const std::string complete, decoder.push(id));
      text += complete;
    }
    text += decoder.finish();
    return text;
  });
}

Result<std::string> Tokenizer::piece(std::int32_t id, bool render_special) const {
  return guarded([&]() -> Result<std::string> {
    if (!contains(id)) return invalid("token id {} is not in 0 to {}", id, size() - 1);
    switch (token_type(id)) {
      case TokenType::kNormal:
      case TokenType::kByte:
        return state_->model->bytes(id);
      case TokenType::kUserDefined:
        return has_space_symbols(vocabulary()) ? with_spaces(token_text(id))
                                               : std::string(token_text(id));
      case TokenType::kUnknown:
      case TokenType::kControl:
      case TokenType::kUnused:
        break;
    }
    return render_special ? std::string(token_text(id)) : std::string();
  });
}

std::int32_t Tokenizer::size() const {
  return static_cast<std::int32_t>(state_->vocabulary.tokens.size());
}

std::string_view Tokenizer::token_text(std::int32_t id) const {
  if (!contains(id)) return {};
  return state_->vocabulary.tokens[static_cast<std::size_t>(id)].text;
}

TokenType Tokenizer::token_type(std::int32_t id) const {
  if (!contains(id)) return TokenType::kUnused;
  return state_->vocabulary.tokens[static_cast<std::size_t>(id)].type;
}

bool Tokenizer::is_end_of_generation(std::int32_t id) const {
  return std::ranges::binary_search(state_->ends, id);
}
std::span<const std::int32_t> Tokenizer::ends_of_generation() const {
  return state_->ends;
}

bool Tokenizer::adds_bos() const {
  return state_->opening.has_value();
}
bool Tokenizer::adds_eos() const {
  return state_->closing.has_value();
}
const Vocabulary& Tokenizer::vocabulary() const {
  return state_->vocabulary;
}

}  // namespace shunt::text
