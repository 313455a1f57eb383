// The "t5" kind: SentencePiece's unigram model. Of all ways to cut a text into tokens the likeliest
// is taken: scores are log probabilities, and the best way to each place is found from those to the
// places before it (Viterbi). Kudo, "Subword Regularization" (2018).
#include <algorithm>
#include <limits>

#include "shunt/message.h"
#include "text/byte_trie.h"
#include "text/model.h"
#include "text/neighbours.h"
#include "text/sentencepiece_text.h"
#include "text/unigram_normalizer.h"
#include "text/utf8.h"

namespace shunt::text {
namespace {

constexpr float kUnknownPenalty = 10;

class UnigramModel final : public Model {
 public:
  explicit UnigramModel(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {}

  Status index() {
    SHUNT_ASSIGN(byte_tokens_, ByteTokens::create(vocabulary_));
    SHUNT_ASSIGN(normalizer_.charsmap, Charsmap::parse(vocabulary_.charsmap));
    normalizer_.add_space_prefix = vocabulary_.add_space_prefix.value_or(true);
    normalizer_.remove_extra_whitespaces = vocabulary_.remove_extra_whitespaces.value_or(true);
    float lowest = std::numeric_limits<float>::max();
    std::vector<ByteTrie::Entry> entries;
    for (std::size_t i = 0; i < vocabulary_.tokens.size(); ++i) {
      const Token& token = vocabulary_.tokens[i];
      if (token.type != TokenType::kNormal || token.text.empty()) continue;
      if (!is_valid_utf8(token.text)) continue;
      entries.emplace_back(token.text, static_cast<std::int32_t>(i));
      neighbours_.add(token.text);
      lowest = std::min(lowest, token.score);
    }
    trie_ = ByteTrie(std::move(entries));
    unknown_score_ = lowest - kUnknownPenalty;
    return ok();
  }

  Status encode(std::string_view text, bool /*after_special*/,
                std::vector<std::int32_t>& ids) const override {
    const std::string normalised = normalizer_.normalise(text);
    std::string_view rest = normalised;
    std::vector<Arrival> arrivals;
    float score = 0;
    bool after_unknown = false;
    while (!rest.empty()) {
      const std::string_view segment = take_segment(rest);
      arrivals.assign(segment.size() + 1, Arrival());
      arrivals.front().score = score;
      find_best(segment, arrivals);
      score = arrivals.back().score;
      SHUNT_TRY(append_best(segment, arrivals, after_unknown, ids));
    }
    return ok();
  }

  std::string bytes(std::int32_t id) const override {
    return ByteTokens::bytes(vocabulary_.tokens[static_cast<std::size_t>(id)]);
  }
  bool inserts_space() const override { return normalizer_.add_space_prefix; }
  bool adds_bos() const override { return false; }
  bool adds_eos() const override { return true; }

 private:
  /// The best way to a place. Scores are single precision, added up in double, as SentencePiece
  /// does: the choice between nearly equal ways depends on it.
  struct Arrival {
    float score = 0;
    std::uint32_t size = 0;  ///< of the last token; 0 if no way is known
    std::int32_t id = ByteTrie::kNoId;
  };

  /// The rest up to a place where no token reaches across; the best way leads through it.
  std::string_view take_segment(std::string_view& rest) const {
    constexpr std::size_t kLong = 1024;
    std::size_t end = 0;
    for (char32_t before = 0; end < rest.size();) {
      const char32_t character = utf8_code_point(rest.substr(end));
      if (end >= kLong && neighbours_.may_cut(before, character)) break;
      before = character;
      end += utf8_size(rest.substr(end));
    }
    const std::string_view segment = rest.substr(0, end);
    rest.remove_prefix(end);
    return segment;
  }

  static void consider(Arrival& arrival, double score, std::size_t size, std::int32_t id) {
    if (arrival.size != 0 && score <= double{arrival.score}) return;
    arrival = {static_cast<float>(score), static_cast<std::uint32_t>(size), id};
  }

  void find_best(std::string_view text, std::vector<Arrival>& arrivals) const {
    for (std::size_t begin = 0; begin < text.size();) {
      const float so_far = arrivals[begin].score;
      const std::size_t character = utf8_size(text.substr(begin));
      bool has_token_of_one = false;
      std::uint32_t node = ByteTrie::kRoot;
      for (std::size_t end = begin; end < text.size();) {
        node = trie_.step(node, text[end++]);
        if (node == ByteTrie::kNoNode) break;
        const std::int32_t id = trie_.id(node);
        if (id == ByteTrie::kNoId) continue;
        const double score = vocabulary_.tokens[static_cast<std::size_t>(id)].score;
        consider(arrivals[end], score + so_far, end - begin, id);
        has_token_of_one = has_token_of_one || end - begin == character;
      }
      if (!has_token_of_one) {
        consider(arrivals[begin + character], unknown_score_ + so_far, character, ByteTrie::kNoId);
      }
      begin += character;
    }
  }

  Status append_best(std::string_view text, std::vector<Arrival>& arrivals, bool& after_unknown,
                     std::vector<std::int32_t>& ids) const {
    // From the end to the start, each token is noted at its own start.
    Arrival token = arrivals[text.size()];
    for (std::size_t begin = text.size(); begin > 0;) {
      begin -= token.size;
      std::swap(token, arrivals[begin]);
    }
    for (std::size_t begin = 0; begin < text.size(); begin += arrivals[begin].size) {
      const Arrival& best = arrivals[begin];
      if (best.id != ByteTrie::kNoId) {
        ids.push_back(best.id);
        after_unknown = false;
      } else {
        SHUNT_TRY(byte_tokens_.append(text.substr(begin, best.size), after_unknown, ids));
      }
    }
    return ok();
  }

  const Vocabulary& vocabulary_;
  UnigramNormalizer normalizer_;
  ByteTokens byte_tokens_;
  ByteTrie trie_;
  Neighbours neighbours_;
  float unknown_score_ = 0;
};

}  // namespace

Result<std::unique_ptr<const Model>> make_unigram_model(const Vocabulary& vocabulary) {
  auto model = std::make_unique<UnigramModel>(vocabulary);
  SHUNT_TRY(model->index());
  return std::unique_ptr<const Model>(std::move(model));
}

}  // namespace shunt::text
