#include "text/check_vocabulary.h"

#include <cmath>
#include <limits>

#include "shunt/message.h"
#include "text/special_ids.h"

namespace shunt::text {
namespace {

// Room for symbols that are no tokens behind the ids (bpe.cpp): 256 bytes and three a merge.
constexpr std::size_t kMostTokens = std::numeric_limits<std::int32_t>::max() / 4;

// Finding the longest token reads so far ahead at each place of a text.
constexpr std::size_t kMostTokenBytes = 4096;

struct SpecialId {
  std::string_view name;
  std::optional<std::int32_t> Vocabulary::*id;
};
constexpr SpecialId kSpecialIds[] = {
    {"BOS", &Vocabulary::bos},     {"EOS", &Vocabulary::eos},       {"unknown", &Vocabulary::unk},
    {"padding", &Vocabulary::pad}, {"separator", &Vocabulary::sep}, {"EOT", &Vocabulary::eot},
    {"EOM", &Vocabulary::eom},     {"CLS", &Vocabulary::cls},       {"mask", &Vocabulary::mask},
};

bool is_type(TokenType type) {
  return type >= TokenType::kNormal && type <= TokenType::kByte;
}

}  // namespace

Status check_vocabulary(const Vocabulary& vocabulary) {
  const std::size_t count = vocabulary.tokens.size();
  if (count == 0) return invalid("the vocabulary has no tokens");
  if (count > kMostTokens || vocabulary.merges.size() > kMostTokens / 3) {
    return invalid("{} tokens and {} merges are too many", count, vocabulary.merges.size());
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Token& token = vocabulary.tokens[i];
    if (token.text.size() > kMostTokenBytes) {
      return invalid("token {} has {} bytes; the limit is {}", i, token.text.size(),
                     kMostTokenBytes);
    }
    if (!is_type(token.type)) {
      return invalid("token {} has type {}; types are 1 to 6", i, static_cast<int>(token.type));
    }
    if (!std::isfinite(token.score)) return invalid("token {} has score {}", i, token.score);
  }
  for (const SpecialId& special : kSpecialIds) {
    const auto id = vocabulary.*special.id;
    if (id && (*id < 0 || static_cast<std::size_t>(*id) >= count)) {
      return invalid("the {} token's id is {}, but there are {} tokens", special.name, *id, count);
    }
  }
  if (vocabulary.add_bos.value_or(false) && !opening_token(vocabulary)) {
    return invalid("a BOS token is to be added, but the vocabulary names none");
  }
  if (adds_closing_token(vocabulary).value_or(false) && !closing_token(vocabulary)) {
    return invalid("an EOS token is to be added, but the vocabulary names none");
  }
  return ok();
}

}  // namespace shunt::text
