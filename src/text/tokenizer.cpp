#include <algorithm>
#include <array>
#include <string>

#include "base/guarded.h"
#include "shunt/message.h"
#include "shunt/text.h"
#include "text/check_vocabulary.h"
#include "text/tokenizer_state.h"
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
constexpr std::array<Kind, 8> kKinds = {{
    {"llama", "SentencePiece", make_spm_model},
    {"gpt2", "byte-level BPE", make_bpe_model},
    {"bert", "WordPiece", nullptr},
    {"t5", "Unigram", nullptr},
    {"rwkv", "RWKV", nullptr},
    {"plamo2", "PLaMo-2", nullptr},
    {"replit", "Unigram", nullptr},
    {"no_vocab", "none", nullptr},
}};

Error unsupported_kind(std::string_view name) {
  std::string supported;
  for (const Kind& kind : kKinds) {
    if (kind.make == nullptr) continue;
    supported +=
        fmt::format("{}\"{}\" ({})", supported.empty() ? "" : " and ", kind.name, kind.title);
  }
  const auto kind = std::ranges::find(kKinds, name, &Kind::name);
  const std::string title = kind == kKinds.end() ? "" : fmt::format(" ({})", kind->title);
  return fail(
      ErrorCode::kUnsupported,
      "tokenizer.ggml.model is \"{}\"{}, a kind of tokenizer that this build lacks; it has {}",
      name, title, supported);
}

void fill_in_unknown(Vocabulary& vocabulary) {
  if (vocabulary.unk) return;
  const auto unknown = std::ranges::find(vocabulary.tokens, TokenType::kUnknown, &Token::type);
  if (unknown == vocabulary.tokens.end()) return;
  vocabulary.unk = static_cast<std::int32_t>(unknown - vocabulary.tokens.begin());
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
    SHUNT_TRY(check_vocabulary(vocabulary));
    fill_in_unknown(vocabulary);
    auto state = std::make_shared<State>(std::move(vocabulary));
    SHUNT_ASSIGN(state->model, kind->make(state->vocabulary));
    const Vocabulary& kept = state->vocabulary;
    state->add_bos = kept.add_bos.value_or(state->model->adds_bos()) && kept.bos.has_value();
    state->add_eos = kept.add_eos.value_or(false);
    return Tokenizer(std::move(state));
  });
}

Result<std::vector<std::int32_t>> Tokenizer::encode(std::string_view text,
                                                    const EncodeOptions& options) const {
  if (text.size() > kMostBytes) {
    return invalid("a text of {} bytes is longer than {} bytes", text.size(), kMostBytes);
  }
  return guarded([&]() -> Result<std::vector<std::int32_t>> {
    std::string sanitized;
    if (!is_valid_utf8(text)) text = sanitized = sanitize_utf8(text).text;

    std::vector<std::int32_t> ids;
    if (options.add_special && state_->add_bos) ids.push_back(*state_->vocabulary.bos);
    bool after_special = true;
    for (std::size_t done = 0; done < text.size();) {
      const auto special = state_->specials.find(text, done, options.parse_special);
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
    if (options.add_special && state_->add_eos) ids.push_back(*state_->vocabulary.eos);
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
        return std::string(token_text(id));
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
  const Vocabulary& vocabulary = state_->vocabulary;
  return vocabulary.eos == id || vocabulary.eot == id || vocabulary.eom == id;
}

bool Tokenizer::adds_bos() const {
  return state_->add_bos;
}
bool Tokenizer::adds_eos() const {
  return state_->add_eos;
}
const Vocabulary& Tokenizer::vocabulary() const {
  return state_->vocabulary;
}

}  // namespace shunt::text
