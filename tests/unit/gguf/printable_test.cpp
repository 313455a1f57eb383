// How messages show a file's strings.
#include "shunt/gguf.h"

#include <gtest/gtest.h>

namespace shunt::gguf::gguf_printable_test {
namespace {

TEST(Printable, PlainTextIsQuoted) {
  EXPECT_EQ(printable(""), "''");
  EXPECT_EQ(printable("blk.0.attn_q.weight"), "'blk.0.attn_q.weight'");
  EXPECT_EQ(printable("\xc3\xa9\xe2\x96\x81\xf0\x9f\x98\x80"),
            "'\xc3\xa9\xe2\x96\x81\xf0\x9f\x98\x80'");
}

TEST(Printable, ControlCharactersAreEscaped) {
  EXPECT_EQ(printable(std::string_view("a\0b\n\x1b[31m\x7f", 10)), "'a\\x00b\\x0a\\x1b[31m\\x7f'");
  EXPECT_EQ(printable("\xc2\x9b"), "'\\xc2\\x9b'");           // C1: a terminal's escape in one
  EXPECT_EQ(printable("\xe2\x80\xae"), "'\\xe2\\x80\\xae'");  // turns the text around
  EXPECT_EQ(printable("\xef\xbb\xbf"), "'\\xef\\xbb\\xbf'");  // byte order mark
}

TEST(Printable, QuotesAndBackslashesAreEscaped) {
  EXPECT_EQ(printable("it's a \\"), "'it\\x27s a \\x5c'");
}

TEST(Printable, BrokenUtf8IsEscaped) {
  EXPECT_EQ(printable("\xff"), "'\\xff'");
  EXPECT_EQ(printable("\x80x"), "'\\x80x'");         // a continuation alone
  EXPECT_EQ(printable("\xe2\x96"), "'\\xe2\\x96'");  // cut off
  EXPECT_EQ(printable("\xe2xx"), "'\\xe2xx'");       // no continuation
  EXPECT_EQ(printable("\xc0\xaf"), "'\\xc0\\xaf'");  // longer than need be
  EXPECT_EQ(printable("\xe0\x80\xaf"), "'\\xe0\\x80\\xaf'");
  EXPECT_EQ(printable("\xed\xa0\x80"), "'\\xed\\xa0\\x80'");           // half of a surrogate pair
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "'\\xf4\\x90\\x80\\x80'");  // past the last code point
}

TEST(Printable, LongTextIsCutBetweenCharacters) {
  EXPECT_EQ(printable("abcdef", 4), "'abcd'...");
  EXPECT_EQ(printable("abcd", 4), "'abcd'");
  EXPECT_EQ(printable("abc\xe2\x96\x81", 4), "'abc'...");
  EXPECT_EQ(printable(std::string(1000, 'x')).size(), 100 + 5);
}

}  // namespace
}  // namespace shunt::gguf::gguf_printable_test
