/// \file
/// Rendered conversations as tokens. Include it to give a conversation to a model.
///
/// \code
/// SHUNT_ASSIGN(const auto chat, text::ChatTemplate::create(source));
/// text::name_special_tokens(tokenizer.vocabulary(), inputs);
/// SHUNT_ASSIGN(const text::RenderedChat rendered, chat.render(inputs));
/// SHUNT_ASSIGN(const auto ids, text::ChatEncoder(tokenizer).encode(rendered));
/// \endcode
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "shunt/chat_template.h"
#include "shunt/text.h"

namespace shunt::text {

/// Sets the texts of the special tokens that the vocabulary has: ChatInputs::bos_token, eos_token
/// and tokens, which get the names of the transformers package. Where the vocabulary does not name
/// them, the usual ones of its kind are taken, as Tokenizer::create() does.
void name_special_tokens(const Vocabulary& vocabulary, ChatInputs& inputs);

/// Const after it is made; a copy is a pointer. May be used from many threads.
class ChatEncoder {
 public:
  explicit ChatEncoder(const Tokenizer& tokenizer);

  /// The ids of a conversation. Control tokens are read where the template wrote all of their text,
  /// and nowhere else; so are user-defined tokens that begin with `<|` or end with `|>`. Other
  /// user-defined tokens are always read, as in Tokenizer::encode(). All other text is cut as a
  /// whole: the ends of pieces do not divide words. BOS comes first if the vocabulary requires it
  /// and the template does not write it in front of the first text of people. So a template that
  /// has BOS gives the ids of apply_chat_template() of the transformers package, which adds none.
  /// No EOS is added. Errors are those of Tokenizer::encode().
  Result<std::vector<std::int32_t>> encode(const RenderedChat& chat) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
  std::optional<Error> error_;  ///< of making it, which encode() returns
};

}  // namespace shunt::text
