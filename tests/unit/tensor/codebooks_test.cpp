// The codebooks of the IQ formats are facts that nothing here could derive again: held to checksums
// of the published numbers. A checksum is FNV-1a (64 bits) of all elements as bytes (two's
// complement), vector after vector in the order of their indices.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "support/blocks.h"
#include "tensor/formats/iq_codebooks.h"

namespace shunt::formats::tensor_codebooks_test {
namespace {

template <std::size_t Count, std::size_t Size>
std::uint64_t checksum(const Codebook<Count, Size>& vectors) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const auto& vector : vectors) {
    for (const std::int8_t element : vector) {
      hash = (hash ^ static_cast<std::uint8_t>(element)) * 0x100000001b3;
    }
  }
  return hash;
}

TEST(IqCodebooks, AreThePublishedNumbers) {
  EXPECT_EQ(checksum(kIq2XxsVectors), 0xbb4ee025b5ac6e8e);
  EXPECT_EQ(checksum(kIq2XsVectors), 0xc9b1ee61e79909bd);
  EXPECT_EQ(checksum(kIq2SVectors), 0x123edd38a3b62b90);
  EXPECT_EQ(checksum(kIq3XxsVectors), 0xdfa5dc83d6a155d5);
  EXPECT_EQ(checksum(kIq3SVectors), 0xfa37020c25b44829);
  EXPECT_EQ(checksum(kIq1Vectors), 0x6703ed863501ae2e);
}

TEST(IqCodebooks, AChangedNumberIsNoticed) {
  auto vectors = kIq3SVectors;
  std::swap(vectors[100], vectors[101]);
  EXPECT_NE(checksum(vectors), checksum(kIq3SVectors));
  vectors = kIq3SVectors;
  vectors[511][3] = static_cast<std::int8_t>(vectors[511][3] ^ 2);
  EXPECT_NE(checksum(vectors), checksum(kIq3SVectors));
}

TEST(IqCodebooks, SevenSignsMakeAnEvenEighth) {
  for (unsigned bits = 0; bits < 128; ++bits) {
    EXPECT_EQ(even_signs(bits) & 127, bits);
    EXPECT_EQ(std::popcount(even_signs(bits)) % 2, 0);
    EXPECT_LT(even_signs(bits), 256u);
  }
}

/// As a file's blocks meet them: the levels of IQ4_NL, with d = 1, elements 0 to 15.
TEST(IqCodebooks, IQ4_NLHasItsLevels) {
  std::vector<std::byte> block(18);
  block[1] = std::byte{0x3c};
  for (std::size_t i = 0; i < 16; ++i) block[2 + i] = static_cast<std::byte>(i | (15 - i) << 4);
  std::vector<float> expected = {-127, -104, -83, -65, -49, -35, -22, -10,
                                 1,    13,   25,  38,  53,  69,  89,  113};
  for (int i = 15; i >= 0; --i) expected.push_back(expected[static_cast<std::size_t>(i)]);
  EXPECT_EQ(test::decode(DType::kIQ4_NL, block), expected);
}

}  // namespace
}  // namespace shunt::formats::tensor_codebooks_test
