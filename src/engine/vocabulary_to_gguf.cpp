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
  if (vocabulary.model == "llama") writer.add_array(std::string(kScores), std::move(scores));
  writer.add_array(std::string(kTypes), std::move(types));
  if (vocabulary.model == "gpt2") {
    gguf::Array merges = array_of(gguf::ValueType::kString);
    merges.strings = vocabulary.merges;
    writer.add_array(std::string(kMerges), std::move(merges));
  }
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
