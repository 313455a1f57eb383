#include "shunt/vocabulary.h"

#include <memory>
#include <string>
#include <utility>

#include "engine/vocabulary_keys.h"
#include "shunt/message.h"

namespace shunt {
namespace {

using text::Vocabulary;

using namespace vocabulary_keys;

/// The array of `key`; null if the file lacks it. BadFile if it is no array, or if its size is not
/// `size` (where that is given).
Result<std::shared_ptr<const gguf::Array>> find_array(const gguf::File& file, std::string_view key,
                                                      std::optional<std::size_t> size) {
  const gguf::Value* value = file.find(key);
  if (value == nullptr) return std::shared_ptr<const gguf::Array>();
  const auto* array = std::get_if<std::shared_ptr<const gguf::Array>>(&value->data);
  if (array == nullptr || *array == nullptr) {
    return fail(ErrorCode::kBadFile, "{}: {} is of type {}, not an array", file.path(), key,
                gguf::to_string(value->type));
  }
  if (size && (*array)->size() != *size) {
    return fail(ErrorCode::kBadFile, "{}: {} has {} elements, but {} has {}", file.path(), key,
                (*array)->size(), kTokens, *size);
  }
  return *array;
}

Error wrong_elements(const gguf::File& file, std::string_view key, const gguf::Array& array,
                     std::string_view expected) {
  return fail(ErrorCode::kBadFile, "{}: the elements of {} are of type {}, not {}", file.path(),
              key, gguf::to_string(array.type), expected);
}

bool has_floats(const gguf::Array& array) {
  return array.type == gguf::ValueType::kF32 || array.type == gguf::ValueType::kF64;
}

/// The strings of `key`; none if the file lacks it.
Result<std::vector<std::string>> read_strings(const gguf::File& file, std::string_view key) {
  SHUNT_ASSIGN(const auto array, find_array(file, key, std::nullopt));
  if (!array) return std::vector<std::string>();
  if (array->type != gguf::ValueType::kString) return wrong_elements(file, key, *array, "string");
  return array->strings;
}

Status read_scores(const gguf::File& file, std::vector<text::Token>& tokens) {
  SHUNT_ASSIGN(const auto array, find_array(file, kScores, tokens.size()));
  if (!array) return ok();
  if (!has_floats(*array)) return wrong_elements(file, kScores, *array, "f32");
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    tokens[i].score = static_cast<float>(array->floats[i]);
  }
  return ok();
}

Status read_types(const gguf::File& file, std::vector<text::Token>& tokens) {
  SHUNT_ASSIGN(const auto array, find_array(file, kTypes, tokens.size()));
  if (!array) return ok();
  if (array->type == gguf::ValueType::kString || has_floats(*array)) {
    return wrong_elements(file, kTypes, *array, "i32");
  }
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::int64_t type = array->integers[i];
    if (type < static_cast<int>(text::TokenType::kNormal) ||
        type > static_cast<int>(text::TokenType::kByte)) {
      return fail(ErrorCode::kBadFile, "{}: {} of token {} is {}; types are 1 to 6", file.path(),
                  kTypes, i, type);
    }
    tokens[i].type = static_cast<text::TokenType>(type);
  }
  return ok();
}

Status read_rules(const gguf::File& file, std::vector<text::Token>& tokens) {
  SHUNT_ASSIGN(const auto array, find_array(file, kRules, tokens.size()));
  if (!array) return ok();
  if (array->type != gguf::ValueType::kU8) return wrong_elements(file, kRules, *array, "u8");
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::int64_t bits = array->integers[i];
    if (bits > 7) {
      return fail(ErrorCode::kBadFile, "{}: {} of token {} is {}; there are 3 bits", file.path(),
                  kRules, i, bits);
    }
    tokens[i].rules = {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0};
  }
  return ok();
}

/// An array of bytes, signed ones in some files, as a string.
Result<std::string> read_bytes(const gguf::File& file, std::string_view key) {
  SHUNT_ASSIGN(const auto array, find_array(file, key, std::nullopt));
  std::string bytes;
  if (!array) return bytes;
  if (array->type != gguf::ValueType::kU8 && array->type != gguf::ValueType::kI8) {
    return wrong_elements(file, key, *array, "u8");
  }
  bytes.reserve(array->size());
  for (const std::int64_t byte : array->integers) bytes += static_cast<char>(byte);
  return bytes;
}

Result<std::vector<text::Token>> read_tokens(const gguf::File& file) {
  SHUNT_ASSIGN(const std::vector<std::string> texts, read_strings(file, kTokens));
  if (texts.empty()) {
    return fail(ErrorCode::kBadFile, "{}: {} is missing or empty", file.path(), kTokens);
  }
  std::vector<text::Token> tokens(texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) tokens[i].text = texts[i];
  SHUNT_TRY(read_scores(file, tokens));
  SHUNT_TRY(read_types(file, tokens));
  SHUNT_TRY(read_rules(file, tokens));
  return tokens;
}

Status read_ids(const gguf::File& file, Vocabulary& vocabulary) {
  constexpr std::int64_t kAbsent = 4294967295;  // converters write this for "none": -1 as 32 bits
  for (const IdKey& id_key : kIdKeys) {
    if (file.find(id_key.key) == nullptr) continue;
    SHUNT_ASSIGN(const std::int64_t id, file.get_integer(id_key.key));
    if (id == kAbsent || id == -1) continue;
    // Some files name a padding token that was added for training, and is not in the vocabulary.
    const bool is_padding = id_key.field == &Vocabulary::pad;
    if (is_padding && id >= std::ssize(vocabulary.tokens)) continue;
    if (id < 0 || static_cast<std::uint64_t>(id) >= vocabulary.tokens.size()) {
      return fail(ErrorCode::kBadFile, "{}: {} is {}, but there are {} tokens", file.path(),
                  id_key.key, id, vocabulary.tokens.size());
    }
    vocabulary.*id_key.field = static_cast<std::int32_t>(id);
  }
  return ok();
}

Status read_flags(const gguf::File& file, Vocabulary& vocabulary) {
  for (const FlagKey& flag_key : kFlagKeys) {
    if (file.find(flag_key.key) == nullptr) continue;
    SHUNT_ASSIGN(vocabulary.*flag_key.field, file.get_bool(flag_key.key));
  }
  return ok();
}

}  // namespace

Result<Vocabulary> vocabulary_from_gguf(const gguf::File& file) {
  Vocabulary vocabulary;
  SHUNT_ASSIGN(vocabulary.model, file.get_string(kModel));
  SHUNT_ASSIGN(vocabulary.pre, file.get_string_or(kPre, ""));
  SHUNT_ASSIGN(vocabulary.tokens, read_tokens(file));
  SHUNT_ASSIGN(vocabulary.merges, read_strings(file, kMerges));
  SHUNT_ASSIGN(vocabulary.charsmap, read_bytes(file, kCharsmap));
  // Without merges these kinds would still encode every text, as one wrong token for each byte.
  const bool needs_merges = vocabulary.model == "gpt2" || vocabulary.model == "gemma4";
  if (needs_merges && file.find(kMerges) == nullptr) {
    return fail(ErrorCode::kBadFile, "{}: {} is missing, which a \"{}\" tokenizer needs",
                file.path(), kMerges, vocabulary.model);
  }
  SHUNT_TRY(read_ids(file, vocabulary));
  SHUNT_TRY(read_flags(file, vocabulary));
  return vocabulary;
}

}  // namespace shunt
