// XXH64 against the values of the reference implementation (xxHash 0.8).
#include "engine/session/xxh64.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace shunt::test::engine_xxh64_test {
namespace {

struct Expected {
  std::size_t bytes;
  std::uint64_t hash;
};

/// Around the sizes that the algorithm treats differently: 4, 8 and 32 bytes.
constexpr Expected kExpected[] = {
    {0, 0xef46db3751d8e999},   {1, 0xf592c0c7639c4cb6},   {3, 0x22c08528601d4f27},
    {4, 0xfb1e5cf2f1ae4d95},   {7, 0x5613ac510496c04e},   {8, 0x57cb2b7521f3e21a},
    {14, 0x393648aa0a97d46f},  {31, 0xe4a0e629e519a4ae},  {32, 0xcc6b8aaada790b2d},
    {33, 0x35ec49850475a832},  {63, 0xbf9f0ba3cf95b28a},  {64, 0x155ccce4bf32befc},
    {100, 0x4826e367566ea023}, {222, 0xf9ce30e0eafd7013},
};

/// Byte i is 37 i + 11.
std::vector<std::byte> some_bytes(std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(37 * i + 11);
  return bytes;
}

TEST(Xxh64, MatchesTheReference) {
  for (const auto& [count, hash] : kExpected) EXPECT_EQ(xxh64(some_bytes(count)), hash) << count;
  const std::string_view text = "abc";
  EXPECT_EQ(xxh64(std::as_bytes(std::span(text))), 0x44bc2cf5ad770999U);
}

TEST(Xxh64, DoesNotDependOnPieces) {
  for (const auto& [count, hash] : kExpected) {
    const std::vector<std::byte> bytes = some_bytes(count);
    for (std::size_t piece = 1; piece <= count; ++piece) {
      Xxh64 pieces;
      for (std::size_t at = 0; at < count; at += piece)
        pieces.add(std::span(bytes).subspan(at, std::min(piece, count - at)));
      ASSERT_EQ(pieces.value(), hash) << count << " in pieces of " << piece;
    }
  }
}

}  // namespace
}  // namespace shunt::test::engine_xxh64_test
