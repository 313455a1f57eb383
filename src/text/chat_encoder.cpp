#include "shunt/chat_encoder.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/guarded.h"
#include "shunt/message.h"
#include "text/character_class.h"
#include "text/end_tokens.h"
#include "text/special_ids.h"
#include "text/special_tokens.h"
#include "text/usual_tokens.h"
#include "text/utf8.h"

namespace shunt::text {
namespace {

struct TokenName {
  std::string_view name;
  std::optional<std::int32_t> Vocabulary::*id;
};
/// The names of the transformers package. BOS and EOS have members of their own.
constexpr std::array<TokenName, 5> kTokenNames = {{
    {"unk_token", &Vocabulary::unk},
    {"pad_token", &Vocabulary::pad},
    {"sep_token", &Vocabulary::sep},
    {"cls_token", &Vocabulary::cls},
    {"mask_token", &Vocabulary::mask},
}};

std::string text_of(const Vocabulary& vocabulary, std::optional<std::int32_t> id) {
  const bool is_there = id && *id >= 0 && static_cast<std::size_t>(*id) < vocabulary.tokens.size();
  return is_there ? vocabulary.tokens[static_cast<std::size_t>(*id)].text : std::string();
}

/// A part of the text that the template wrote.
struct OwnRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

std::vector<OwnRange> own_ranges(const RenderedChat& chat) {
  std::vector<OwnRange> ranges;
  std::size_t at = 0;
  for (const ChatPiece& piece : chat.pieces) {
    const bool goes_on = !ranges.empty() && ranges.back().end == at;
    if (piece.from_template && goes_on) ranges.back().end += piece.text.size();
    if (piece.from_template && !goes_on) ranges.push_back({at, at + piece.text.size()});
    at += piece.text.size();
  }
  return ranges;
}

/// The template's own text in front of the first text of people.
std::size_t size_of_own_beginning(const RenderedChat& chat) {
  std::size_t size = 0;
  for (const ChatPiece& piece : chat.pieces) {
    if (!piece.from_template && !piece.text.empty()) break;
    size += piece.text.size();
  }
  return size;
}

/// Behind the white space and the character that follow `at`, which tokens look at.
std::size_t end_of_surroundings(std::string_view text, std::size_t at) {
  while (at < text.size() && is_white_space(utf8_code_point(text.substr(at)))) {
    at += utf8_size(text.substr(at));
  }
  return at < text.size() ? at + utf8_size(text.substr(at)) : at;
}

/// With control tokens in place of user-defined ones that mark turns, so that messages can't spell
/// them.
Result<Tokenizer> for_messages(const Tokenizer& tokenizer) {
  const auto marks_turns = [](const Token& token) {
    return token.type == TokenType::kUserDefined && is_turn_marker(token.text);
  };
  if (std::ranges::none_of(tokenizer.vocabulary().tokens, marks_turns)) return tokenizer;
  Vocabulary vocabulary = tokenizer.vocabulary();
  for (Token& token : vocabulary.tokens)
    if (marks_turns(token)) token.type = TokenType::kControl;
  return Tokenizer::create(std::move(vocabulary));
}

}  // namespace

struct ChatEncoder::State {
  explicit State(Tokenizer own) : tokenizer(std::move(own)), specials(tokenizer.vocabulary()) {}

  using Found = SpecialTokens::Found;
  std::vector<Found> control_tokens(std::string_view text,
                                    const std::vector<OwnRange>& ranges) const;

  Tokenizer tokenizer;
  SpecialTokens specials;  ///< refers to the tokenizer's vocabulary
};

/// Those in ranges of the text that the template wrote.
std::vector<SpecialTokens::Found> ChatEncoder::State::control_tokens(
    std::string_view text, const std::vector<OwnRange>& ranges) const {
  std::vector<Found> tokens;
  std::size_t done = 0;
  for (const OwnRange& range : ranges) {
    const std::string_view here = text.substr(0, end_of_surroundings(text, range.end));
    std::size_t from = std::max(range.begin, done);
    while (const auto found = specials.find(here, from, true, done, range.end)) {
      if (found->text_begin >= range.end) break;
      from = found->begin + found->size;
      if (tokenizer.token_type(found->id) == TokenType::kUserDefined) continue;
      tokens.push_back(*found);
      done = from;
    }
  }
  return tokens;
}

void name_special_tokens(const Vocabulary& stated, ChatInputs& inputs) {
  Vocabulary vocabulary = stated;
  fill_in_usual_tokens(vocabulary);
  inputs.bos_token = text_of(vocabulary, vocabulary.bos);
  inputs.eos_token = text_of(vocabulary, vocabulary.eos);
  inputs.tokens.clear();
  for (const auto& [name, id] : kTokenNames) {
    std::string text = text_of(vocabulary, vocabulary.*id);
    if (!text.empty()) inputs.tokens.emplace_back(name, std::move(text));
  }
}

ChatEncoder::ChatEncoder(const Tokenizer& tokenizer) {
  auto made = for_messages(tokenizer);
  if (made) {
    state_ = std::make_shared<const State>(std::move(*made));
  } else {
    error_ = std::move(made.error());
  }
}

Result<std::vector<std::int32_t>> ChatEncoder::encode(const RenderedChat& chat) const {
  if (error_) return Error(*error_);
  return guarded([&]() -> Result<std::vector<std::int32_t>> {
    const Tokenizer& tokenizer = state_->tokenizer;
    const std::string text = chat.text();
    const auto opening = opening_token(tokenizer.vocabulary());
    std::vector<std::int32_t> ids;
    std::size_t done = 0;
    const auto append_up_to = [&](std::size_t end) -> Status {
      if (done == end) return ok();
      const std::string_view part = std::string_view(text).substr(done, end - done);
      SHUNT_ASSIGN(const auto more, tokenizer.encode(part, {.add_special = false}));
      ids.insert(ids.end(), more.begin(), more.end());
      return ok();
    };
    const std::size_t own_beginning = size_of_own_beginning(chat);
    bool has_opening = false;
    for (const auto& found : state_->control_tokens(text, own_ranges(chat))) {
      SHUNT_TRY(append_up_to(found.begin));
      ids.push_back(found.id);
      has_opening = has_opening || (found.id == opening && found.text_end <= own_beginning);
      done = found.begin + found.size;
    }
    SHUNT_TRY(append_up_to(text.size()));
    const bool lacks_opening =
        tokenizer.adds_bos() && opening && !has_opening && (ids.empty() || ids.front() != *opening);
    if (lacks_opening) ids.insert(ids.begin(), *opening);
    return ids;
  });
}

}  // namespace shunt::text
