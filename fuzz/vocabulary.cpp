// Vocabularies: whatever a file says of its tokenizer, it is refused or it works. The input is the
// kind, then tokens, merges and a normaliser, then a text.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "shunt/text.h"

namespace {

using namespace shunt;

/// Takes parts off the input; all of them are empty at its end.
class Input {
 public:
  explicit Input(std::string_view bytes) : rest_(bytes) {}
  std::uint8_t byte() {
    if (rest_.empty()) return 0;
    const auto value = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return value;
  }
  std::string text() { return std::string(take(byte() % 32)); }
  std::string_view take(std::size_t size) {
    const std::string_view part = rest_.substr(0, std::min(size, rest_.size()));
    rest_.remove_prefix(part.size());
    return part;
  }
  bool empty() const { return rest_.empty(); }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

text::Vocabulary read_vocabulary(Input& input) {
  static constexpr const char* kModels[] = {"llama", "gpt2", "bert", "t5", "gemma4", "rwkv"};
  static constexpr const char* kPres[] = {"",           "gpt-2",  "llama-bpe", "qwen2",
                                          "tiny_aya",   "bloom",  "kimi-k2",   "superbpe",
                                          "exaone-moe", "jais-2", "afmoe",     "deepseek-v3"};
  text::Vocabulary vocabulary;
  vocabulary.model = kModels[input.byte() % std::size(kModels)];
  vocabulary.pre = kPres[input.byte() % std::size(kPres)];
  const std::uint8_t flags = input.byte();
  if ((flags & 1) != 0) vocabulary.unk = 0;
  if ((flags & 2) != 0) vocabulary.add_space_prefix = (flags & 4) != 0;
  if ((flags & 8) != 0) vocabulary.remove_extra_whitespaces = (flags & 16) != 0;
  if ((flags & 32) != 0) vocabulary.lower_case = (flags & 64) != 0;
  for (int count = input.byte(); count > 0 && !input.empty(); --count) {
    text::Token token;
    token.type = static_cast<text::TokenType>(input.byte() % 8);
    token.score = -static_cast<float>(input.byte());
    const std::uint8_t rules = input.byte();
    token.rules = {(rules & 1) != 0, (rules & 2) != 0, (rules & 4) != 0};
    token.text = input.text();
    vocabulary.tokens.push_back(std::move(token));
  }
  for (int count = input.byte(); count > 0 && !input.empty(); --count) {
    vocabulary.merges.push_back(input.text());
  }
  vocabulary.charsmap = input.take(std::size_t{input.byte()} * 16);
  return vocabulary;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(std::string_view(reinterpret_cast<const char*>(data), size));
  const auto tokenizer = text::Tokenizer::create(read_vocabulary(input));
  if (!tokenizer) return 0;
  for (const bool special : {false, true}) {
    const auto ids = tokenizer->encode(input.rest(), {special, special});
    if (!ids) continue;  // a character that the vocabulary lacks
    for (const std::int32_t id : *ids) {
      if (!tokenizer->contains(id)) std::abort();
    }
    const auto text = tokenizer->decode(*ids, {.render_special = special, .continues = false});
    if (!text || text::sanitize_utf8(*text).changed) std::abort();
  }
  // A prompt in front of a text: control tokens are read in the first half only.
  const auto prompted = tokenizer->encode(
      input.rest(), {.add_special = false, .trusted_bytes = input.rest().size() / 2});
  if (!prompted) return 0;
  for (const std::int32_t id : *prompted) {
    if (!tokenizer->contains(id)) std::abort();
  }
  return 0;
}
