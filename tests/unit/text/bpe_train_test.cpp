// Vocabularies learned from text: which pairs merge, in which order, and that nothing gets lost.
#include "text/bpe_train.h"
#include "shunt/train_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "text/byte_alphabet.h"

namespace shunt::text::text_bpe_train_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Merges = std::vector<LearnedMerge>;

// Sennrich et al. (2016), Algorithm 1: the words of its dictionary, "$" for its end of word.
const std::vector<WordCount> kSennrich = {
    {"low$", 5}, {"lower$", 2}, {"newest$", 6}, {"widest$", 3}};

TEST(LearnMerges, MatchSennrichEtAl) {
  EXPECT_EQ(learn_merges(kSennrich, 5),
            (Merges{{"e", "s"}, {"es", "t"}, {"est", "$"}, {"l", "o"}, {"lo", "w"}}));
}

TEST(LearnMerges, BreakTiesByByteOrder) {
  // After those above n e, e w and w est$ come 6 times; then the pairs of low$ 5, of widest$ 3,
  // of lower$ 2 times.
  const Merges merges = learn_merges(kSennrich, 100);
  ASSERT_EQ(merges.size(), 15u);
  EXPECT_THAT(
      Merges(merges.begin() + 5, merges.end()),
      ElementsAre(LearnedMerge{"e", "w"}, LearnedMerge{"ew", "est$"}, LearnedMerge{"n", "ewest$"},
                  LearnedMerge{"low", "$"}, LearnedMerge{"d", "est$"}, LearnedMerge{"i", "dest$"},
                  LearnedMerge{"w", "idest$"}, LearnedMerge{"e", "r"}, LearnedMerge{"er", "$"},
                  LearnedMerge{"low", "er$"}));
  EXPECT_EQ(learn_merges(std::vector<WordCount>{{"ba", 2}, {"ca", 2}, {"bb", 2}}, 2),
            (Merges{{"b", "a"}, {"b", "b"}}));
  EXPECT_EQ(learn_merges(std::vector<WordCount>{{"\xFF"
                                                 "a",
                                                 2},
                                                {"aa", 2}},
                         1),
            (Merges{{"a", "a"}}))
      << "bytes have no sign";
}

TEST(LearnMerges, DoNotDependOnTheOrderOfWords) {
  std::vector<WordCount> words = kSennrich;
  const Merges merges = learn_merges(words, 100);
  const auto less = [](const WordCount& a, const WordCount& b) { return a.bytes < b.bytes; };
  std::sort(words.begin(), words.end(), less);
  do {
    EXPECT_EQ(learn_merges(words, 100), merges);
  } while (std::next_permutation(words.begin(), words.end(), less));
}

TEST(LearnMerges, SkipPairsThatOccurOnce) {
  EXPECT_EQ(learn_merges(std::vector<WordCount>{{"abc", 1}}, 10), Merges{});
  EXPECT_EQ(learn_merges(std::vector<WordCount>{{"abab", 1}}, 10), (Merges{{"a", "b"}}));
  EXPECT_EQ(learn_merges(std::vector<WordCount>{{"a", 9}, {"", 9}}, 10), Merges{});
  EXPECT_EQ(learn_merges({}, 10), Merges{});
}

TEST(LearnMerges, MergeRunsFromTheLeft) {
  // a a is there 4 times in "aaaaa", which becomes aa aa a; then aa aa is there once a word.
  EXPECT_EQ(learn_merges(std::vector<WordCount>{{"aaaaa", 2}}, 10),
            (Merges{{"a", "a"}, {"aa", "a"}, {"aa", "aaa"}}));
}

/// The definition, word for word: all pairs counted anew for each merge.
Merges plainly(const std::vector<WordCount>& words, std::size_t tokens) {
  std::vector<std::vector<std::string>> pieces;
  for (const WordCount& word : words) {
    auto& piece = pieces.emplace_back();
    for (const char byte : word.bytes) piece.emplace_back(1, byte);
  }
  Merges merges;
  std::map<std::string, bool> made;
  while (made.size() < tokens) {
    std::map<LearnedMerge, std::uint64_t> counts;  // in the order that decides ties
    for (std::size_t w = 0; w < words.size(); ++w) {
      for (std::size_t i = 1; i < pieces[w].size(); ++i) {
        counts[{pieces[w][i - 1], pieces[w][i]}] += words[w].count;
      }
    }
    const auto best = std::max_element(counts.begin(), counts.end(),
                                       [](auto& a, auto& b) { return a.second < b.second; });
    if (best == counts.end() || best->second < 2) break;
    const auto [left, right] = best->first;
    merges.push_back(best->first);
    made[left + right] = true;
    for (auto& piece : pieces) {
      std::vector<std::string> next;
      for (std::size_t i = 0; i < piece.size(); ++i) {
        const bool found = i + 1 < piece.size() && piece[i] == left && piece[i + 1] == right;
        next.push_back(found ? left + right : piece[i]);
        if (found) ++i;
      }
      piece = std::move(next);
    }
  }
  return merges;
}

TEST(LearnMerges, EqualRecountingAfterEveryMerge) {
  std::uint32_t state = 1;
  const auto below = [&](std::uint32_t n) {
    return (state = state * 1664525 + 1013904223) / 65536 % n;
  };
  for (int round = 0; round < 200; ++round) {
    std::vector<WordCount> words(1 + below(12));
    for (WordCount& word : words) {
      word.count = 1 + below(4);
      const std::uint32_t size = below(14);
      for (std::uint32_t i = 0; i < size; ++i) word.bytes += static_cast<char>('a' + below(3));
    }
    EXPECT_EQ(learn_merges(words, 30), plainly(words, 30)) << "round " << round;
  }
}

constexpr std::string_view kText =
    "low low low low low lower lower newest newest newest newest "
    "newest newest widest widest widest";

Vocabulary train(std::string_view text, BpeTrainOptions options) {
  auto vocabulary = train_bpe(text, options);
  EXPECT_TRUE(vocabulary) << vocabulary.error().message();
  return vocabulary ? *std::move(vocabulary) : Vocabulary{};
}

TEST(TrainBpe, OrdersTokensAsSpecialBytesMerges) {
  const Vocabulary v = train(kText, {.vocabulary = 260, .special = {"<|end|>", "<|user|>"}});
  ASSERT_EQ(v.tokens.size(), 260u);
  EXPECT_EQ(v.model, "gpt2");
  EXPECT_EQ(v.pre, "gpt-2");
  EXPECT_EQ(v.tokens[0].text, "<|end|>");
  EXPECT_EQ(v.tokens[0].type, TokenType::kControl);
  EXPECT_EQ(v.tokens[1].text, "<|user|>");
  EXPECT_EQ(v.tokens[2 + 'A'].text, "A");
  EXPECT_EQ(v.tokens[2 + ' '].text, "\u0120");
  EXPECT_EQ(v.tokens[2 + 0x00].text, "\u0100");
  EXPECT_EQ(v.tokens[2 + 0xAD].text, "\u0143");
  EXPECT_EQ(v.tokens[2 + 0xFF].text, "\u00FF");
  EXPECT_EQ(v.tokens[258].text, "es");
  EXPECT_EQ(v.tokens[259].text, "est");
  EXPECT_THAT(v.merges, ElementsAre("e s", "es t"));
  EXPECT_EQ(v.bos, 0);
  EXPECT_EQ(v.eos, 0);
  EXPECT_EQ(v.add_bos, true);
  EXPECT_EQ(v.add_eos, false);
}

TEST(TrainBpe, WithoutSpecialTokensHasNoBosOrEos) {
  const Vocabulary v = train(kText, {.vocabulary = 256});
  EXPECT_EQ(v.tokens.size(), 256u);
  EXPECT_FALSE(v.bos.has_value());
  EXPECT_FALSE(v.eos.has_value());
  EXPECT_EQ(v.add_bos, false);
}

TEST(TrainBpe, SpaceBelongsToTheFollowingWord) {
  const Vocabulary v = train(" ab ab ab", {.vocabulary = 300});
  EXPECT_THAT(v.merges, ElementsAre("\u0120 a", "\u0120a b"));
}

TEST(TrainBpe, NeverMergesAcrossOrWithinASpecialToken) {
  const Vocabulary v =
      train("a<|end|>b<|end|>a<|end|>b<|end|>", {.vocabulary = 300, .special = {"<|end|>"}});
  EXPECT_EQ(v.tokens.size(), 257u);
  EXPECT_THAT(v.merges, ElementsAre());
}

TEST(TrainBpe, NoTokenHasTwoIds) {
  const Vocabulary v = train(" aaaaa aaaaaaa aaaaaaa abab aba baab baab", {.vocabulary = 300});
  std::map<std::string, int> times;
  for (const Token& token : v.tokens) ++times[token.text];
  for (const auto& [token, count] : times) EXPECT_EQ(count, 1) << token;
}

TEST(TrainBpe, EncodingRoundTripsEveryText) {
  const Vocabulary v = train(kText, {.vocabulary = 280, .special = {"<|end|>"}});
  const auto tokenizer = Tokenizer::create(v);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message();
  std::string ascii(128, '\0');
  std::iota(ascii.begin(), ascii.end(), '\0');
  for (const std::string& text :
       {std::string(kText), ascii, std::string("  two  spaces\r\n\ttab\n\n"),
        std::string("\u00E9\u4E2D\U0001F600"), std::string("it's 1234<|end|>")}) {
    const auto ids = tokenizer->encode(text, {.add_special = false});
    ASSERT_TRUE(ids) << ids.error().message();
    EXPECT_EQ(tokenizer->decode(*ids).value(), text);
  }
  // Each byte, valid UTF-8 or not, has a token of its own.
  for (int byte = 0; byte < 256; ++byte) {
    EXPECT_EQ(tokenizer->piece(1 + byte).value(), std::string(1, static_cast<char>(byte)));
  }
  const auto ids = tokenizer->encode("newest<|end|>", {.parse_special = true});
  ASSERT_TRUE(ids);
  EXPECT_EQ(ids->front(), 0);
  EXPECT_EQ(ids->back(), 0);
}

TEST(TrainBpe, InvalidUtf8CountsAsTheReplacementCharacter) {
  const Vocabulary bad = train("\xFF\xFF\xFF\xFF", {.vocabulary = 300});
  const Vocabulary good = train("\uFFFD\uFFFD\uFFFD\uFFFD", {.vocabulary = 300});
  EXPECT_EQ(bad.merges, good.merges);
  EXPECT_FALSE(bad.merges.empty());
}

std::string refusal(std::string_view text, const BpeTrainOptions& options) {
  const auto vocabulary = train_bpe(text, options);
  return vocabulary ? "none" : vocabulary.error().message();
}

TEST(TrainBpe, RejectsInvalidArguments) {
  EXPECT_THAT(refusal("", {.vocabulary = 300}), HasSubstr("no words"));
  EXPECT_THAT(refusal("<|end|>", {.vocabulary = 300, .special = {"<|end|>"}}),
              HasSubstr("no words"));
  EXPECT_THAT(refusal("a", {.vocabulary = 256, .special = {"<|end|>"}}), HasSubstr("at least 257"));
  EXPECT_THAT(refusal("a", {.vocabulary = 300, .pre = "gpt-9"}), HasSubstr("gpt-9"));
  EXPECT_THAT(refusal("a", {.vocabulary = 300, .special = {""}}), HasSubstr("empty"));
  EXPECT_THAT(refusal("a", {.vocabulary = 300, .special = {"x", "x"}}), HasSubstr("twice"));
  EXPECT_THAT(refusal("a", {.vocabulary = 300, .special = {"\xFF"}}), HasSubstr("UTF-8"));
}

TEST(ByteAlphabet, RoundTripsAllBytes) {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
  EXPECT_EQ(bytes_from_alphabet(alphabet_from_bytes(bytes)), bytes);
  EXPECT_EQ(alphabet_from_bytes("a b\n"), "a\u0120b\u010A");
}

TEST(TrainBpe, WordOfAMillionLettersTakesLinearTime) {
  // a a, then aa aa, ...: 2^n letters, as long as two of these are neighbours in 10^6.
  const auto vocabulary = train_bpe(std::string(1'000'000, 'a'), {.vocabulary = 256 + 40});
  ASSERT_TRUE(vocabulary) << vocabulary.error().message();
  for (std::size_t i = 0; i < 18; ++i) {
    const std::string half(std::size_t{1} << i, 'a');
    EXPECT_EQ(vocabulary->merges[i], half + " " + half);
  }
}

}  // namespace
}  // namespace shunt::text::text_bpe_train_test
