#include "model/synth_vocabulary.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "model/synth_noise.h"

namespace shunt {
namespace {

constexpr std::string_view kSpace = "\xE2\x96\x81";                  // U+2581
constexpr std::string_view kLetters = "etaoinshrdlucmfwypvbgkjqxz";  // in the order of English
constexpr std::size_t kLongest = 16;                                 // bytes of a piece

/// The format's numbers for types of tokens.
enum TokenKind : std::int64_t { kNormal = 1, kUnknown = 2, kControl = 3, kByte = 6 };

class Pieces {
 public:
  explicit Pieces(std::size_t count) : count_(count) {
    add(std::string(kSpace));
    for (const char letter : kLetters) add(std::string(1, letter));
    pairable_ = pieces_.size();
    for (char c = '!'; c <= '~'; ++c) add(std::string(1, c));
    while (pieces_.size() < count_) add_pair();
  }
  std::vector<std::string> take() { return std::move(pieces_); }

 private:
  void add(std::string piece) {
    if (pieces_.size() >= count_ || !known_.insert(piece).second) return;
    pieces_.push_back(std::move(piece));
  }

  /// Two earlier pieces of letters in one, the space only in front.
  void add_pair() {
    const std::string& left = any();
    const std::string& right = any();
    if (right.starts_with(kSpace) || left.size() + right.size() > kLongest) return;
    add(left + right);
  }

  /// One of the pieces, earlier ones more often.
  const std::string& any() {
    const std::size_t others =
        pieces_.size() - kSingles < pieces_.size() ? pieces_.size() - kSingles : 0;
    const std::uint64_t range = pairable_ + others;
    const std::uint64_t uniform = random_bits(0, draws_++) >> 33;  // 31 bits
    const std::uint64_t skewed = uniform * uniform >> 31;          // 31 bits
    const auto index = static_cast<std::size_t>(skewed * range >> 31);
    return index < pairable_ ? pieces_[index] : pieces_[kSingles + index - pairable_];
  }

  static constexpr std::size_t kSingles = 1 + ('~' - '!' + 1);  // the space and all of ASCII
  std::size_t count_;
  std::size_t pairable_ = 0;
  std::uint64_t draws_ = 0;
  std::vector<std::string> pieces_;
  std::unordered_set<std::string> known_;
};

}  // namespace

void add_synth_vocabulary(gguf::Writer& writer, std::int64_t size) {
  gguf::Array tokens = {
      .type = gguf::ValueType::kString, .strings = {}, .floats = {}, .integers = {}};
  gguf::Array scores = {.type = gguf::ValueType::kF32, .strings = {}, .floats = {}, .integers = {}};
  gguf::Array types = {.type = gguf::ValueType::kI32, .strings = {}, .floats = {}, .integers = {}};
  const auto add = [&](std::string text, double score, TokenKind kind) {
    tokens.strings.push_back(std::move(text));
    scores.floats.push_back(score);
    types.integers.push_back(kind);
  };
  add("<unk>", 0, kUnknown);
  add("<s>", 0, kControl);
  add("</s>", 0, kControl);
  for (int byte = 0; byte < 256; ++byte) add(fmt::format("<0x{:02X}>", byte), 0, kByte);
  double score = 0;
  const auto pieces = static_cast<std::size_t>(size) - tokens.strings.size();
  for (std::string& piece : Pieces(pieces).take()) add(std::move(piece), --score, kNormal);

  writer.add_string("tokenizer.ggml.model", "llama");
  writer.add_array("tokenizer.ggml.tokens", std::move(tokens));
  writer.add_array("tokenizer.ggml.scores", std::move(scores));
  writer.add_array("tokenizer.ggml.token_type", std::move(types));
  writer.add_u32("tokenizer.ggml.unknown_token_id", 0);
  writer.add_u32("tokenizer.ggml.bos_token_id", 1);
  writer.add_u32("tokenizer.ggml.eos_token_id", 2);
  writer.add_bool("tokenizer.ggml.add_bos_token", true);
  writer.add_bool("tokenizer.ggml.add_eos_token", false);
}

}  // namespace shunt
