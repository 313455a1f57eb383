// SentencePiece's compiled normalisers: what they say, and blobs that are wrong. The tries are made
// by hand from the layout of darts-clone's units.
#include "text/charsmap.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace shunt::text::text_charsmap_test {
namespace {

using Units = std::vector<std::uint32_t>;

std::uint32_t unit(std::uint32_t offset, std::uint32_t label, bool has_value = false) {
  return offset << 10 | (has_value ? 1u << 8 : 0) | label;
}
std::uint32_t value(std::uint32_t offset_of_text) {
  return 1u << 31 | offset_of_text;
}

/// "a" becomes the text at `text`. The root's children are at 1 ^ their byte.
Units trie_of_a(std::uint32_t text) {
  Units units(256);
  units[0] = unit(1, 0);
  units[1 ^ 'a'] = unit(2, 'a', true);  // at 96; its value is at 96 ^ 2
  units[1 ^ 'a' ^ 2] = value(text);
  return units;
}

std::string blob(const Units& units, const std::string& texts) {
  std::string bytes;
  const auto add = [&](std::uint32_t number) {
    for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(number >> shift);
  };
  add(static_cast<std::uint32_t>(4 * units.size()));
  for (const std::uint32_t each : units) add(each);
  return bytes + texts;
}

const std::string kTexts("xyz\0w\0", 6);

void expect_error(const std::string& bytes, const char* message) {
  const auto map = Charsmap::parse(bytes);
  ASSERT_FALSE(map) << message;
  EXPECT_EQ(map.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_NE(map.error().message().find(message), std::string::npos) << map.error().message();
}

TEST(TextCharsmap, ReplacesWhatTheTrieHas) {
  const auto map = Charsmap::parse(blob(trie_of_a(4), kTexts));
  ASSERT_TRUE(map) << map.error().message();
  EXPECT_EQ(map->find("abc").text, "w");
  EXPECT_EQ(map->find("abc").consumed, 1u);
  EXPECT_EQ(map->find("bc").consumed, 0u);
  EXPECT_EQ(map->find("").consumed, 0u);
  EXPECT_EQ(Charsmap::parse(blob(trie_of_a(0), kTexts))->find("a").text, "xyz");
}

TEST(TextCharsmap, NoBytesAreNoRules) {
  const auto map = Charsmap::parse("");
  ASSERT_TRUE(map);
  EXPECT_EQ(map->find("a").consumed, 0u);
}

TEST(TextCharsmap, BadSizesAreErrors) {
  expect_error("abc", "has no size");
  expect_error(std::string("\xFF\xFF\xFF\x7F", 4) + "rest", "its trie has 2147483647");
  expect_error(std::string("\x03\0\0\0", 4) + "rest", "its trie has 3");
  expect_error(std::string(8, '\0'), "its trie has 0");
  expect_error(blob(trie_of_a(0), ""), "does not end");
  expect_error(blob(trie_of_a(0), "xyz"), "does not end");
}

TEST(TextCharsmap, ValuesOutOfRangeAreErrors) {
  expect_error(blob(trie_of_a(6), kTexts), "refers to byte 6 of 6");
  Units far = trie_of_a(0);
  far[1 ^ 'a'] = unit(1 << 20, 'a', true);
  expect_error(blob(far, kTexts), "has no value at");
  Units none = trie_of_a(0);
  none[1 ^ 'a' ^ 2] = 0;
  expect_error(blob(none, kTexts), "has no value at");
}

TEST(TextCharsmap, CirclesAreErrors) {
  Units units = trie_of_a(0);
  units[1 ^ 'a'] = unit(0x61, 'a');  // its children are at 1 ^ their byte as well: "aaa..."
  expect_error(blob(units, kTexts), "goes in a circle at unit 96");
}

TEST(TextCharsmap, LongRulesAndTextsAreErrors) {
  // "\x01\x01\x01...": each node is alone in its block of 256 units.
  Units units(256 * 260);
  std::uint32_t node = 0;
  for (std::uint32_t block = 256; block < units.size(); block += 256) {
    units[node] |= unit(node ^ block, 0);
    node = block ^ 1;
    units[node] = 1;
  }
  expect_error(blob(units, kTexts), "for more than 256 bytes");
  expect_error(blob(trie_of_a(0), std::string(300, 'x') + '\0'), "has more than 256 bytes");
}

}  // namespace
}  // namespace shunt::text::text_charsmap_test
