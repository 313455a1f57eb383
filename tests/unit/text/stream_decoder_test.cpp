// Text from ids as they come.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "shunt/text.h"
#include "unit/text/vocabularies.h"

namespace shunt::text::text_stream_decoder_test {
namespace {

using testing::Ids;
using Texts = std::vector<std::string>;

Tokenizer make() {
  return Tokenizer::create(testing::spm_vocabulary()).value();
}

/// The text that each push returns, and that of finish() last.
Texts stream(StreamDecoder& decoder, const Ids& ids) {
  Texts texts;
  for (const std::int32_t id : ids) texts.push_back(decoder.push(id).value());
  texts.push_back(decoder.finish());
  return texts;
}
Texts stream(const Ids& ids, const DecodeOptions& options = {}) {
  StreamDecoder decoder(make(), options);
  return stream(decoder, ids);
}

TEST(StreamDecoder, WaitsForTheWholeCharacter) {
  EXPECT_EQ(stream({4, 12, 13, 5}), (Texts{"a", "", "\u00E9", "b", ""}));
}

TEST(StreamDecoder, ReplacesInvalidUtf8) {
  EXPECT_EQ(stream({12, 4}), (Texts{"",
                                    "\uFFFD"
                                    "a",
                                    ""}));                 // C3 and then a letter
  EXPECT_EQ(stream({13, 4}), (Texts{"\uFFFD", "a", ""}));  // A9 begins nothing
  EXPECT_EQ(stream({12, 12, 13}), (Texts{"", "\uFFFD", "\u00E9", ""}));
  EXPECT_EQ(stream({4, 12}), (Texts{"a", "", "\uFFFD"}));  // the end
}

TEST(StreamDecoder, RemovesTheSpaceThatEncodingAdded) {
  EXPECT_EQ(stream({9, 9}), (Texts{"a", " a", ""}));
  EXPECT_EQ(stream({20, 9}), (Texts{" ", " a", ""}));  // one of two
  EXPECT_EQ(stream({3, 4}), (Texts{"", "a", ""}));
  EXPECT_EQ(stream({1, 9}), (Texts{"", "a", ""}));  // behind BOS
  EXPECT_EQ(stream({14, 9}), (Texts{"[X]", " a", ""}));
  EXPECT_EQ(stream({4, 9}), (Texts{"a", " a", ""}));
}

TEST(StreamDecoder, KeepsTheSpaceOfAContinuedText) {
  EXPECT_EQ(stream({9, 9}, {.continues = true}), (Texts{" a", " a", ""}));
}

TEST(StreamDecoder, KeepsTheSpaceIfEncodingAddsNone) {
  Vocabulary vocabulary = testing::spm_vocabulary();
  vocabulary.add_space_prefix = false;
  EXPECT_EQ(Tokenizer::create(vocabulary)->decode(Ids{9}).value(), " a");
  EXPECT_EQ(Tokenizer::create(testing::bpe_vocabulary("gpt-2"))->decode(Ids{6}).value(), " a");
}

TEST(StreamDecoder, RendersControlTokensOnlyWhenAsked) {
  EXPECT_EQ(stream({1, 9, 0, 15, 2}), (Texts{"", "a", "", "", "", ""}));
  EXPECT_EQ(stream({1, 9, 0, 15, 2}, {.render_special = true}),
            (Texts{"<s>", "a", "<unk>", "<pad>", "</s>", ""}));
}

TEST(StreamDecoder, RejectsAnIdOutOfRangeAndContinues) {
  StreamDecoder decoder(make());
  EXPECT_EQ(decoder.push(12).value(), "");
  const auto refused = decoder.push(99);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(decoder.push(13).value(), "\u00E9");
  EXPECT_FALSE(make().decode(Ids{4, -1}));
}

TEST(StreamDecoder, ResetsAfterTheEnd) {
  StreamDecoder decoder(make());
  EXPECT_EQ(stream(decoder, {9, 12}), (Texts{"a", "", "\uFFFD"}));
  EXPECT_EQ(stream(decoder, {9, 4}), (Texts{"a", "a", ""}));
}

}  // namespace
}  // namespace shunt::text::text_stream_decoder_test
