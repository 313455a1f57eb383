// UTF-8: ill-formed text becomes U+FFFD, one for each maximal subpart.
#include "text/utf8.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "shunt/text.h"

namespace shunt::text::text_utf8_test {
namespace {

/// Stands for U+FFFD in expected texts.
constexpr char kReplaced = '?';

std::string expected_text(std::string_view written) {
  std::string text;
  for (const char c : written) {
    if (c == kReplaced) {
      text += "\xEF\xBF\xBD";
    } else {
      text += c;
    }
  }
  return text;
}

struct Case {
  const char* what;
  std::string bytes;
  std::string_view text;
};

TEST(Utf8, ReplacesAsTheUnicodeStandardRecommends) {
  const Case cases[] = {
      // Tables 3-8 to 3-11 of the Unicode standard.
      {"3-8, non-shortest forms", "\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41", "????????A"},
      {"3-9, surrogates", "\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41", "????????A"},
      {"3-10, other", "\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42", "?????A??B"},
      {"3-11, truncated", "\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41", "????A"},
      // The example of the text before them.
      {"subparts", "\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64", "a???b?c??d"},
      {"lone continuation", "\x80", "?"},
      {"cut at the end", "a\xF0\x9F\xA6", "a?"},
      {"beyond U+10FFFF", "\xF4\x90\x80\x80", "????"},
      {"first bytes that never are", "\xF5\xF8\xFE", "???"},
  };
  for (const Case& c : cases) {
    const SanitizedText result = sanitize_utf8(c.bytes);
    EXPECT_EQ(result.text, expected_text(c.text)) << c.what;
    EXPECT_TRUE(result.changed) << c.what;
    EXPECT_FALSE(is_valid_utf8(c.bytes)) << c.what;
    EXPECT_TRUE(is_valid_utf8(result.text)) << c.what;
  }
}

TEST(Utf8, LeavesWellFormedTextAlone) {
  using namespace std::string_literals;
  // The first and last characters of each length, and of the gap that surrogates leave.
  for (const std::string& text : {""s, "\0"s, "\x7F"s, "\xC2\x80"s, "\xDF\xBF"s, "\xE0\xA0\x80"s,
                                  "\xED\x9F\xBF"s, "\xEE\x80\x80"s, "\xEF\xBF\xBF"s,
                                  "\xF0\x90\x80\x80"s, "\xF4\x8F\xBF\xBF"s, "\xEF\xBF\xBD"s}) {
    const SanitizedText result = sanitize_utf8(text);
    EXPECT_EQ(result.text, text);
    EXPECT_FALSE(result.changed);
  }
}

TEST(Utf8, ReadsCodePoints) {
  EXPECT_EQ(utf8_code_point("A"), U'A');
  EXPECT_EQ(utf8_code_point("\xC3\xA9"), U'\u00E9');
  EXPECT_EQ(utf8_code_point("\xE2\x96\x81"), U'\u2581');
  EXPECT_EQ(utf8_code_point("\xF0\x9F\xA6\x99"), U'\U0001F999');
}

TEST(Utf8, TakesCompleteCharactersAndKeepsAPartialOne) {
  std::string pending = "ab\xFF\xE2\x96";
  std::string text;
  take_complete_utf8(pending, text);
  EXPECT_EQ(text, "ab\xEF\xBF\xBD");
  EXPECT_EQ(pending, "\xE2\x96");
  pending += "\x81z";
  take_complete_utf8(pending, text);
  EXPECT_EQ(text, "ab\xEF\xBF\xBD\xE2\x96\x81z");
  EXPECT_EQ(pending, "");
}

}  // namespace
}  // namespace shunt::text::text_utf8_test
