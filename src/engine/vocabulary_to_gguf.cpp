#include "shunt/vocabulary.h"

#include <string>
#include <utility>

#include "engine/vocabulary_keys.h"

namespace shunt {
namespace {

using namespace vocabulary_keys;

gguf::Array array_of(gguf::ValueType type) {
  return {.type = type, .strings = {}, .floats = {}, .integers = {}};
}

/// Only where a token has rules: other programs don't know the key.
void add_rules(gguf::Writer& writer, const text::Vocabulary& vocabulary) {
  gguf::Array rules = array_of(gguf::ValueType::kU8);
  bool any = false;
  for (const text::Token& token : vocabulary.tokens) {
    const text::AddedTokenRules& each = token.rules;
    rules.integers.push_back((each.strip_left ? 1 : 0) | (each.strip_right ? 2 : 0) |
                             (each.single_word ? 4 : 0));
    any = any || rules.integers.back() != 0;
  }
  if (any) writer.add_array(std::string(kRules), std::move(rules));
}

}  // namespace

void add_vocabulary(gguf::Writer& writer, const text::Vocabulary& vocabulary) {
  gguf::Array texts = array_of(gguf::ValueType::kString);
  gguf::Array scores = array_of(gguf::ValueType::kF32);
  gguf::Array types = array_of(gguf::ValueType::kI32);
  for (const text::Token& token : vocabulary.tokens) {
    texts.strings.push_back(token.text);
    scores.floats.push_back(token.score);
    types.integers.push_back(static_cast<std::int64_t>(token.type));
  }
  writer.add_string(std::string(kModel), vocabulary.model);
  if (!vocabulary.pre.empty()) writer.add_string(std::string(kPre), vocabulary.pre);
  writer.add_array(std::string(kTokens), std::move(texts));
  const bool has_scores = vocabulary.model == "llama" || vocabulary.model == "t5";
  const bool has_merges = vocabulary.model == "gpt2" || vocabulary.model == "gemma4";
  if (has_scores) writer.add_array(std::string(kScores), std::move(scores));
  writer.add_array(std::string(kTypes), std::move(types));
  if (has_merges) {
    gguf::Array merges = array_of(gguf::ValueType::kString);
    merges.strings = vocabulary.merges;
    writer.add_array(std::string(kMerges), std::move(merges));
  }
  if (!vocabulary.charsmap.empty()) {
    gguf::Array charsmap = array_of(gguf::ValueType::kU8);
    for (const char byte : vocabulary.charsmap) {
      charsmap.integers.push_back(static_cast<unsigned char>(byte));
    }
    writer.add_array(std::string(kCharsmap), std::move(charsmap));
  }
  add_rules(writer, vocabulary);
  for (const IdKey& id : kIdKeys) {
    const auto value = vocabulary.*id.field;
    if (value && !id.only_read) {
      writer.add_u32(std::string(id.key), static_cast<std::uint32_t>(*value));
    }
  }
  for (const FlagKey& flag : kFlagKeys) {
    const auto value = vocabulary.*flag.field;
    if (value) writer.add_bool(std::string(flag.key), *value);
  }
}

}  // namespace shunt
