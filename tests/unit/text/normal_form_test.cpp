// Normal forms. Expected values are from the Unicode standard (Annex 15, and
// NormalizationTest.txt).
#include "text/normal_form.h"

#include <gtest/gtest.h>

#include <string>

namespace shunt::text::text_normal_form_test {
namespace {

std::u32string nfd(char32_t code_point) {
  std::u32string text;
  append_decomposed(code_point, text);
  order_marks(text);
  return text;
}

TEST(TextNormalForm, Composes) {
  EXPECT_EQ(to_nfc("plain"), "plain");
  EXPECT_EQ(to_nfc("e\u0301"), "\u00E9");
  EXPECT_EQ(to_nfc("a\u0323\u0307 a\u0307\u0323"), "\u1EA1\u0307 \u1EA1\u0307");
  EXPECT_EQ(to_nfc("\u1E0B\u0323"), "\u1E0D\u0307");                  // Annex 15, figure 6
  EXPECT_EQ(to_nfc("\u212B \u2126 \uF900"), "\u00C5 \u03A9 \u8C48");  // singletons
  EXPECT_EQ(to_nfc("\u1112\u1161\u11AB"), "\uD55C");                  // Hangul
  EXPECT_EQ(to_nfc("\u0958"), "\u0915\u093C");                        // excluded from composition
}

TEST(TextNormalForm, Decomposes) {
  EXPECT_EQ(nfd(U'\u1E69'), U"s\u0323\u0307");
  EXPECT_EQ(nfd(U'\uD55C'), U"\u1112\u1161\u11AB");
  EXPECT_EQ(nfd(U'\U0001D15E'), U"\U0001D157\U0001D165");
  EXPECT_EQ(nfd(U'a'), U"a");
}

TEST(TextNormalForm, MarksOfOneClassStayInOrder) {
  std::u32string text = U"a\u0301\u0327\u0300\u0328";  // classes 230, 202, 230, 202
  order_marks(text);
  EXPECT_EQ(text, U"a\u0327\u0328\u0301\u0300");
}

/// Quadratic work would take hours, as in other tests of long texts.
TEST(TextNormalForm, LongRunsOfMarksAreOrdered) {
  std::string marks = "a";
  while (marks.size() < 1'000'000) marks += "\u0301\u0327";
  EXPECT_GT(to_nfc(marks).size(), 900'000u);
}

}  // namespace
}  // namespace shunt::text::text_normal_form_test
