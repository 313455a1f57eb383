// Tokenizers of folders: any tokenizer.json and tokenizer.model is read or refused. The first byte
// says which it is.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>

#include "convert/sentencepiece_model.h"
#include "convert/tokenizer_json.h"

namespace {

using namespace shunt;

void require(bool condition) {
  if (!condition) std::abort();
}

void check(const Result<FolderVocabulary>& vocabulary) {
  if (vocabulary) {
    require(!vocabulary->kind.empty());
    return;
  }
  require(vocabulary.error().code() == ErrorCode::kBadFile ||
          vocabulary.error().code() == ErrorCode::kUnsupported);
  require(vocabulary.error().message().starts_with("fuzz"));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  if (count == 0) return 0;
  const std::span<const std::uint8_t> input(bytes + 1, count - 1);
  if (bytes[0] % 2 == 0) {
    check(parse_sentencepiece(std::as_bytes(input), "fuzz"));
    return 0;
  }
  const std::string_view text(reinterpret_cast<const char*>(input.data()), input.size());
  check(parse_tokenizer_json(text, "fuzz", bytes[0] % 4 == 1 ? "llama" : "gemma4", 1 << 16));
  return 0;
}
