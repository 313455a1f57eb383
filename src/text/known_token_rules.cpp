#include "text/known_token_rules.h"

#include <algorithm>

namespace shunt::text {
namespace {

constexpr AddedTokenRules kStripLeft = {.strip_left = true};
constexpr AddedTokenRules kStripRight = {.strip_right = true};

/// The rules of one token of the models with a pre-tokenizer.
struct KnownRule {
  std::string_view pre;
  std::string_view token;
  AddedTokenRules rules;
};
constexpr KnownRule kKnownRules[] = {
    {"roberta-bpe", "<mask>", kStripLeft}, {"jina-v2-code", "<mask>", kStripLeft},
    {"jina-v2-de", "<mask>", kStripLeft},  {"jina-v2-es", "<mask>", kStripLeft},
    {"jina-v1-en", "<mask>", kStripLeft},  {"modern-bert", "[MASK]", kStripLeft},
};

// Phi-3 has the kind "llama" and no pre-tokenizer; no other model has these placeholders.
constexpr std::string_view kPhi3Sign = "<|placeholder1|>";
constexpr std::string_view kPhi3Plain[] = {"<unk>", "<s>", "<|endoftext|>"};

bool has_rules(const Token& token) {
  return token.rules.strip_left || token.rules.strip_right || token.rules.single_word;
}

void add_rules_of_phi3(Vocabulary& vocabulary) {
  if (vocabulary.model != "llama") return;
  if (std::ranges::find(vocabulary.tokens, kPhi3Sign, &Token::text) == vocabulary.tokens.end()) {
    return;
  }
  for (Token& token : vocabulary.tokens) {
    const bool plain = std::ranges::find(kPhi3Plain, token.text) != std::end(kPhi3Plain);
    if (token.type == TokenType::kControl && !plain) token.rules = kStripRight;
  }
}

}  // namespace

void add_known_token_rules(Vocabulary& vocabulary) {
  if (std::ranges::any_of(vocabulary.tokens, has_rules)) return;
  for (const KnownRule& known : kKnownRules) {
    if (known.pre != vocabulary.pre) continue;
    const auto token = std::ranges::find(vocabulary.tokens, known.token, &Token::text);
    if (token != vocabulary.tokens.end()) token->rules = known.rules;
  }
  add_rules_of_phi3(vocabulary);
}

}  // namespace shunt::text
