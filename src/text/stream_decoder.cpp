#include "base/guarded.h"
#include "text/tokenizer_state.h"
#include "text/utf8.h"

namespace shunt::text {

StreamDecoder::StreamDecoder(Tokenizer tokenizer, const DecodeOptions& options)
    : tokenizer_(std::move(tokenizer)),
      options_(options),
      strip_space_(!options.continues && tokenizer_.state_->model->inserts_space()) {}

Result<std::string> StreamDecoder::push(std::int32_t id) {
  return guarded([&]() -> Result<std::string> {
    SHUNT_ASSIGN(std::string piece, tokenizer_.piece(id, options_.render_special));
    const TokenType type = tokenizer_.token_type(id);
    const bool is_text =
        type == TokenType::kNormal || type == TokenType::kByte || type == TokenType::kUserDefined;
    if (is_text && strip_space_) {
      // The space is in front of text only, not of a user-defined token.
      if (type == TokenType::kNormal && piece.starts_with(' ')) piece.erase(0, 1);
      strip_space_ = false;
    }
    std::string text;
    pending_ += piece;
    take_complete_utf8(pending_, text);
    return text;
  });
}

std::string StreamDecoder::finish() {
  const bool cut = !pending_.empty();
  pending_.clear();
  strip_space_ = !options_.continues && tokenizer_.state_->model->inserts_space();
  return std::string(cut ? kReplacementCharacter : std::string_view());
}

}  // namespace shunt::text
