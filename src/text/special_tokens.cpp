#include "text/special_tokens.h"

#include "text/character_class.h"
#include "text/sentencepiece_text.h"
#include "text/utf8.h"

namespace shunt::text {
namespace {

bool is_spelled_out(const Token& token) {
  return token.type == TokenType::kUserDefined || token.type == TokenType::kControl ||
         token.type == TokenType::kUnknown;
}

/// The start of the character that ends at `end`.
std::size_t start_of_last(std::string_view text, std::size_t end) {
  do {
    --end;
  } while ((static_cast<unsigned char>(text[end]) & 0xC0) == 0x80);
  return end;
}

bool is_next_to_a_word(std::string_view text, std::size_t begin, std::size_t end) {
  return (begin > 0 &&
          is_word_character(utf8_code_point(text.substr(start_of_last(text, begin))))) ||
         (end < text.size() && is_word_character(utf8_code_point(text.substr(end))));
}

}  // namespace

SpecialTokens::SpecialTokens(const Vocabulary& vocabulary) : tokens_(vocabulary.tokens) {
  std::vector<ByteTrie::Entry> entries;
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    std::string_view text = tokens_[i].text;
    // Parts of characters would cut others in two.
    if (!is_spelled_out(tokens_[i]) || text.empty() || !is_valid_utf8(text)) continue;
    if (has_space_symbols(vocabulary) && text.find(kSpaceSymbol) != std::string_view::npos) {
      text = texts_.emplace_back(with_spaces(text));
    }
    entries.emplace_back(text, static_cast<std::int32_t>(i));
    first_bytes_[static_cast<unsigned char>(text.front())] = true;
  }
  trie_ = ByteTrie(std::move(entries));
}

std::optional<SpecialTokens::Found> SpecialTokens::find_at(std::string_view text, std::size_t begin,
                                                           bool parse_special,
                                                           std::size_t own_end) const {
  std::optional<Found> longest;
  std::uint32_t node = ByteTrie::kRoot;
  for (std::size_t end = begin; end < text.size();) {
    node = trie_.step(node, text[end++]);
    if (node == ByteTrie::kNoNode) break;
    const std::int32_t id = trie_.id(node);
    if (id == ByteTrie::kNoId) continue;
    const Token& reached = token(id);
    const bool is_control = reached.type != TokenType::kUserDefined;
    if (is_control && !parse_special) continue;
    const bool goes_before =
        longest && token(longest->id).type != TokenType::kUserDefined;  // what ends in own text
    if (end > own_end && (is_control || goes_before)) continue;
    if (reached.rules.single_word && is_next_to_a_word(text, begin, end)) continue;
    longest = Found{begin, end - begin, id, begin, end};
  }
  return longest;
}

void SpecialTokens::take_white_space(std::string_view text, std::size_t free, Found& found) const {
  const AddedTokenRules& rules = token(found.id).rules;
  std::size_t end = found.begin + found.size;
  while (rules.strip_right && end < text.size() &&
         is_white_space(utf8_code_point(text.substr(end)))) {
    end += utf8_size(text.substr(end));
  }
  while (rules.strip_left && found.begin > free) {
    const std::size_t before = start_of_last(text, found.begin);
    if (!is_white_space(utf8_code_point(text.substr(before)))) break;
    found.begin = before;
  }
  found.size = end - found.begin;
}

std::optional<SpecialTokens::Found> SpecialTokens::find(std::string_view text, std::size_t from,
                                                        bool parse_special, std::size_t free,
                                                        std::size_t own_end) const {
  for (std::size_t begin = from; begin < text.size(); ++begin) {
    if (!first_bytes_[static_cast<unsigned char>(text[begin])]) continue;
    auto found = find_at(text, begin, parse_special, own_end);
    if (!found) continue;
    take_white_space(text, free, *found);
    return found;
  }
  return std::nullopt;
}

}  // namespace shunt::text
