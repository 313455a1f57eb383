#include "cli/report/tokenizer_facts.h"

#include <fmt/format.h>

#include <utility>

#include "shunt/message.h"
#include "shunt/vocabulary.h"

namespace shunt::cli {
namespace {

Result<text::Tokenizer> tokenizer_of(const gguf::File& file) {
  SHUNT_ASSIGN(text::Vocabulary vocabulary, vocabulary_from_gguf(file));
  return text::Tokenizer::create(std::move(vocabulary));
}

bool is_missing(const Result<text::Tokenizer>& tokenizer) {
  return !tokenizer && tokenizer.error().code() == ErrorCode::kNotFound;
}

std::string reason_of(const Result<text::Tokenizer>& tokenizer) {
  const std::string message(tokenizer.error().message());
  return gguf::printable(message, message.size());
}

}  // namespace

std::string tokenizer_text(const gguf::File& file) {
  const Result<text::Tokenizer> tokenizer = tokenizer_of(file);
  if (is_missing(tokenizer)) return {};
  std::string text = "tokenizer\n";
  if (!tokenizer) return text + fmt::format("  can't be used: {}\n", reason_of(tokenizer));
  text += fmt::format("  {}, {} tokens\n", tokenizer->vocabulary().model, tokenizer->size());
  std::string ends;
  for (const std::int32_t id : tokenizer->ends_of_generation()) {
    const std::string token(tokenizer->token_text(id));
    ends +=
        fmt::format("{}{} {}", ends.empty() ? "" : ", ", id, gguf::printable(token, token.size()));
  }
  return text + fmt::format("  ends a generation: {}\n", ends.empty() ? "no token" : ends);
}

Json tokenizer_json(const gguf::File& file) {
  const Result<text::Tokenizer> tokenizer = tokenizer_of(file);
  if (is_missing(tokenizer)) return nullptr;
  if (!tokenizer) return {{"error", std::string(tokenizer.error().message())}};
  Json ends = Json::array();
  for (const std::int32_t id : tokenizer->ends_of_generation()) {
    ends.push_back({{"id", id}, {"text", std::string(tokenizer->token_text(id))}});
  }
  return {{"kind", tokenizer->vocabulary().model},
          {"tokens", tokenizer->size()},
          {"ends_of_generation", std::move(ends)}};
}

}  // namespace shunt::cli
