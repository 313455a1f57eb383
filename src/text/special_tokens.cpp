#include "text/special_tokens.h"

namespace shunt::text {

SpecialTokens::SpecialTokens(const std::vector<Token>& tokens) : nodes_(1) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const Token& token = tokens[i];
    const bool always = token.type == TokenType::kUserDefined;
    if (token.text.empty() ||
        (!always && token.type != TokenType::kControl && token.type != TokenType::kUnknown)) {
      continue;
    }
    std::size_t node = 0;
    for (const char byte : token.text) {
      const auto [next, is_new] = edges_.try_emplace(edge(node, byte), nodes_.size());
      if (is_new) nodes_.emplace_back();
      node = next->second;
    }
    if (nodes_[node].id < 0) nodes_[node] = {static_cast<std::int32_t>(i), always};
    first_bytes_[static_cast<unsigned char>(token.text.front())] = true;
  }
}

std::optional<SpecialTokens::Found> SpecialTokens::find_at(std::string_view text, std::size_t begin,
                                                           bool parse_special) const {
  std::optional<Found> longest;
  std::size_t node = 0;
  for (std::size_t i = begin; i < text.size(); ++i) {
    const auto next = edges_.find(edge(node, text[i]));
    if (next == edges_.end()) break;
    node = next->second;
    const Node& reached = nodes_[node];
    if (reached.id >= 0 && (reached.always || parse_special)) {
      longest = Found{begin, i + 1 - begin, reached.id};
    }
  }
  return longest;
}

std::optional<SpecialTokens::Found> SpecialTokens::find(std::string_view text, std::size_t from,
                                                        bool parse_special) const {
  for (std::size_t begin = from; begin < text.size(); ++begin) {
    if (!first_bytes_[static_cast<unsigned char>(text[begin])]) continue;
    if (const auto found = find_at(text, begin, parse_special)) return found;
  }
  return std::nullopt;
}

}  // namespace shunt::text
