// Blocks of every format, put together and taken apart by hand from the format's definition.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

#include "support/blocks.h"

namespace shunt::tensor_formats_by_hand_test {
namespace {

using test::decode;
using test::encode;

/// A block of zero bytes but for those given by offset, and its decoded values: `rest`, but for
/// those given by element.
struct ByHand {
  DType dtype;
  std::map<int, int> bytes;
  float rest;
  std::map<int, float> elements;
  std::map<int, float> stretches = {};  ///< from an element to that of the next entry, or the end

  std::vector<std::byte> block() const {
    std::vector<std::byte> result(trait(dtype).block_bytes, std::byte{0});
    for (const auto& [offset, byte] : bytes) {
      result.at(static_cast<std::size_t>(offset)) = static_cast<std::byte>(byte);
    }
    return result;
  }
  std::vector<float> values() const {
    std::vector<float> result(static_cast<std::size_t>(trait(dtype).block_elements), rest);
    for (const auto& [first, value] : stretches) {
      std::fill(result.begin() + first, result.end(), value);
    }
    for (const auto& [element, value] : elements) {
      result.at(static_cast<std::size_t>(element)) = value;
    }
    return result;
  }
};

// Scales as F16: 0.25 is 0x3400, 0.5 0x3800, 1 0x3c00, 2 0x4000, 4 0x4400, 8 0x4800; -1 is 0xbc00.

void expect_decodes(const ByHand& by_hand) {
  EXPECT_EQ(decode(by_hand.dtype, by_hand.block()), by_hand.values()) << to_string(by_hand.dtype);
}

TEST(Q4_1, DecodesByHand) {
  // d = 0.5, m = -1. Byte 4 holds elements 0 (low half: 3) and 16 (15).
  expect_decodes({.dtype = DType::kQ4_1,
                  .bytes = {{1, 0x38}, {3, 0xbc}, {4, 0xf3}},
                  .rest = -1.0f,
                  .elements = {{0, 3 * 0.5f - 1}, {16, 15 * 0.5f - 1}}});
}

TEST(Q4_1, EncodesByHand) {
  // m = -1 and d = (6.5 - -1) / 15 = 0.5; q = trunc((x + 1) * 2 + 0.5).
  std::vector<float> values(32, -1.0f);
  values[3] = 6.5f;    // 15
  values[19] = 0.2f;   // trunc(2.9) = 2
  values[31] = 0.25f;  // trunc(3.0) = 3
  const ByHand expected = {.dtype = DType::kQ4_1,
                           .bytes = {{1, 0x38}, {3, 0xbc}, {4 + 3, 0x2f}, {4 + 15, 0x30}},
                           .rest = 0,
                           .elements = {}};
  EXPECT_EQ(encode(DType::kQ4_1, values), expected.block());
}

TEST(Q5_0, DecodesByHand) {
  // d = 2. Highest bits of elements 1 and 20 (bytes 2 and 4); lower bits from byte 6 on.
  expect_decodes(
      {.dtype = DType::kQ5_0,
       .bytes = {{1, 0x40}, {2, 1 << 1}, {4, 1 << 4}, {6 + 1, 0x25}, {6 + 4, 0x70}},
       .rest = (0 - 16) * 2.0f,
       .elements = {{1, (16 + 5 - 16) * 2.0f}, {17, (2 - 16) * 2.0f}, {20, (16 + 7 - 16) * 2.0f}}});
}

TEST(Q5_0, EncodesByHand) {
  // The largest magnitude is +8, so that d = 8 / -16 = -0.5 (0xb800) and q = trunc(x * -2 + 16.5).
  std::vector<float> values(32, 0.0f);  // 16
  values[0] = 8.0f;                     // 0
  values[18] = -7.9f;                   // trunc(32.3) is held to 31
  values[31] = 1.0f;                    // trunc(14.5) = 14
  ByHand expected = {.dtype = DType::kQ5_0,
                     .bytes = {{1, 0xb8}, {2, 0xfe}, {3, 0xff}, {4, 0xff}, {5, 0x7f}},
                     .rest = 0,
                     .elements = {}};
  expected.bytes[6 + 2] = 0xf0;
  expected.bytes[6 + 15] = 0xe0;
  EXPECT_EQ(encode(DType::kQ5_0, values), expected.block());
}

TEST(Q5_1, DecodesByHand) {
  // d = 0.25, m = 1. Highest bit of element 31 (byte 7); lower bits from byte 8 on.
  expect_decodes({.dtype = DType::kQ5_1,
                  .bytes = {{1, 0x34}, {3, 0x3c}, {7, 0x80}, {8 + 15, 0xf9}},
                  .rest = 1.0f,
                  .elements = {{15, 9 * 0.25f + 1}, {31, 31 * 0.25f + 1}}});
}

TEST(Q5_1, EncodesByHand) {
  // m = 1, d = (8.75 - 1) / 31 = 0.25; q = trunc((x - 1) * 4 + 0.5).
  std::vector<float> values(32, 1.0f);
  values[2] = 8.75f;  // 31
  values[17] = 5.1f;  // trunc(16.9) = 16
  const ByHand expected = {.dtype = DType::kQ5_1,
                           .bytes = {{1, 0x34}, {3, 0x3c}, {4, 1 << 2}, {6, 1 << 1}, {8 + 2, 0x0f}},
                           .rest = 0,
                           .elements = {}};
  EXPECT_EQ(encode(DType::kQ5_1, values), expected.block());
}

TEST(Q8_1, DecodesByHand) {
  // d = 0.5; the sum (bytes 2 and 3) plays no part.
  expect_decodes({.dtype = DType::kQ8_1,
                  .bytes = {{1, 0x38}, {3, 0x77}, {4, 0x80}, {4 + 31, 3}},
                  .rest = 0,
                  .elements = {{0, -64.0f}, {31, 1.5f}}});
}

TEST(Q8_K, DecodesByHand) {
  // d = 0.25 as F32 (0x3e800000); the sums (from byte 260 on) play no part.
  expect_decodes({.dtype = DType::kQ8_K,
                  .bytes = {{2, 0x80}, {3, 0x3e}, {4 + 3, 0xfe}, {4 + 255, 100}, {270, 9}},
                  .rest = 0,
                  .elements = {{3, -0.5f}, {255, 25.0f}}});
}

TEST(MXFP4, DecodesByHand) {
  // Scale 2^(128 - 127). Numbers 2, 7, 1, 15: 1, 6, 0.5, -6.
  expect_decodes({.dtype = DType::kMXFP4,
                  .bytes = {{0, 128}, {1, 0x72}, {16, 0xf1}},
                  .rest = 0,
                  .elements = {{0, 2.0f}, {16, 12.0f}, {15, 1.0f}, {31, -12.0f}}});
}

TEST(MXFP4, DecodesTheSmallestAndTheLargestScale) {
  std::vector<std::byte> block(17, std::byte{0x11});  // 0.5 all over
  block[0] = std::byte{0};
  EXPECT_EQ(decode(DType::kMXFP4, block), std::vector<float>(32, 0x1p-128f));
  block[0] = std::byte{254};
  EXPECT_EQ(decode(DType::kMXFP4, block), std::vector<float>(32, 0x1p126f));
  block[0] = std::byte{255};
  for (float value : decode(DType::kMXFP4, block)) EXPECT_TRUE(std::isnan(value));
}

TEST(MXFP4, EncodesWhatItHoldsExactly) {
  std::vector<float> values(32, 0.0f);
  const float numbers[] = {0.5f, 1, 1.5f, 2, 3, 4, 6, -0.5f, -1, -1.5f, -2, -3, -4, -6};
  for (std::size_t i = 0; i < std::size(numbers); ++i) values[i] = numbers[i] * 0x1p-9f;
  const auto block = encode(DType::kMXFP4, values);
  EXPECT_EQ(block[0], std::byte{127 - 9});
  EXPECT_EQ(decode(DType::kMXFP4, block), values);
}

TEST(Q2_K, DecodesByHand) {
  // d = 0.5, dmin = 0.25. Part 3 (elements 48 to 63): scale 2, minimum 5. Element 50 is the second
  // 2 bits of byte 16 + 50 % 32. Part 15: scale 1, minimum 0; element 255 is the highest 2 bits of
  // the last byte.
  ByHand by_hand = {.dtype = DType::kQ2_K,
                    .bytes = {{3, 0x52}, {15, 0x01}, {81, 0x38}, {83, 0x34}},
                    .rest = 0,
                    .elements = {{50, 0.5f * 2 * 3 - 0.25f * 5}, {255, 0.5f * 1 * 2}},
                    .stretches = {{48, -0.25f * 5}, {64, 0}}};
  by_hand.bytes[16 + 18] = 3 << 2;
  by_hand.bytes[79] = 2 << 6;
  expect_decodes(by_hand);
}

TEST(Q3_K, DecodesByHand) {
  // d = 1/32 (0x2800), and scales of 0 - 32 where no other scale is given. Part 5 (elements 80 to
  // 95): scale 40 = 8 + 2 * 16, part 12 (192 to 207): scale 33 = 1 + 2 * 16.
  ByHand by_hand = {.dtype = DType::kQ3_K,
                    .bytes = {{109, 0x28}},
                    .rest = -1.0f * (0 - 4),
                    .elements = {{90, 0.25f * (4 + 3 - 4)}, {200, 0.03125f * (4 + 1 - 4)}},
                    .stretches = {{80, 0.25f * -4}, {96, 4.0f}, {192, -0.125f}, {208, 4.0f}}};
  by_hand.bytes[96 + 5] = 0x08;         // lower 4 bits of 5's scale
  by_hand.bytes[96 + 4] = 0x10;         // of 12's, in the upper half of byte 12 - 8
  by_hand.bytes[104 + 1] = 2 << 2;      // upper bits of 5's: byte 5 % 4, second pair
  by_hand.bytes[104 + 0] = 2 << 6;      // of 12's: byte 0, fourth pair
  by_hand.bytes[32 + 26] = 3 << 4;      // element 90 = 2 * 32 + 26: lower bits,
  by_hand.bytes[26] = 1 << 2;           // and the highest
  by_hand.bytes[32 + 32 + 8] = 1 << 4;  // element 200 = 128 + 2 * 32 + 8
  by_hand.bytes[8] = 1 << 6;            // = 6 * 32 + 8
  expect_decodes(by_hand);
}

TEST(Q4_K, DecodesByHand) {
  // d = 0.5, dmin = 0.25. Part 1 (elements 32 to 63): scale 3, minimum 2. Part 6 (192 to 223):
  // scale 50 = 2 + 3 * 16, minimum 17 = 1 + 1 * 16.
  ByHand by_hand = {.dtype = DType::kQ4_K,
                    .bytes = {{1, 0x38}, {3, 0x34}},
                    .rest = 0,
                    .elements = {{40, 0.5f * 3 * 10 - 0.5f}, {193, 0.5f * 50 * 4 - 4.25f}},
                    .stretches = {{32, -0.5f}, {64, 0}, {192, -4.25f}, {224, 0}}};
  by_hand.bytes[4 + 1] = 3;
  by_hand.bytes[4 + 5] = 2;
  by_hand.bytes[4 + 10] = 0x12;
  by_hand.bytes[4 + 2] = 3 << 6;
  by_hand.bytes[4 + 6] = 1 << 6;
  by_hand.bytes[16 + 8] = 10 << 4;  // element 40, the upper half of the first 32 bytes
  by_hand.bytes[16 + 3 * 32 + 1] = 4;
  expect_decodes(by_hand);
}

TEST(Q5_K, DecodesByHand) {
  // As Q4_K, and the highest bits: bit 1 of byte 8 is that of element 40, bit 7 of byte 31 that of
  // element 255. Part 7 has scale 1.
  ByHand by_hand = {.dtype = DType::kQ5_K,
                    .bytes = {{1, 0x38}, {3, 0x34}},
                    .rest = 0,
                    .elements = {{40, 0.5f * 3 * 26 - 0.5f}, {255, 0.5f * 1 * 16}},
                    .stretches = {{32, -0.5f}, {64, 0}}};
  by_hand.bytes[4 + 1] = 3;
  by_hand.bytes[4 + 5] = 2;
  by_hand.bytes[4 + 11] = 0x01;
  by_hand.bytes[16 + 8] = 1 << 1;
  by_hand.bytes[16 + 31] = 1 << 7;
  by_hand.bytes[48 + 8] = 10 << 4;
  expect_decodes(by_hand);
}

TEST(Q6_K, DecodesByHand) {
  // d = 0.5. Part 2 (elements 32 to 47): scale 3; element 35 is 11 + 2 * 16. Part 15 (240 to 255):
  // scale -1; element 250 is 5 + 1 * 16.
  ByHand by_hand = {.dtype = DType::kQ6_K,
                    .bytes = {{209, 0x38}, {192 + 2, 3}, {192 + 15, 0xff}},
                    .rest = 0,
                    .elements = {{35, 1.5f * (43 - 32)}, {250, -0.5f * (21 - 32)}},
                    .stretches = {{32, 1.5f * -32}, {48, 0}, {240, -0.5f * -32}}};
  by_hand.bytes[35] = 11;
  by_hand.bytes[128 + 3] = 2 << 2;
  by_hand.bytes[64 + 58] = 5 << 4;        // element 250 = 128 + 64 + 58
  by_hand.bytes[128 + 32 + 26] = 1 << 6;  // = 128 + 3 * 32 + 26
  expect_decodes(by_hand);
}

TEST(IQ4_NL, DecodesByHand) {
  // d = 1. Byte 5: element 3 has level 0 (-127), as all others, and element 19 level 15 (113).
  expect_decodes({.dtype = DType::kIQ4_NL,
                  .bytes = {{1, 0x3c}, {2 + 3, 0xf0}},
                  .rest = -127.0f,
                  .elements = {{19, 113.0f}}});
}

TEST(IQ4_XS, DecodesByHand) {
  // d = 0.5, and scales of 0 - 32 but for part 5 (elements 160 to 191): 33 = 1 + 2 * 16. Levels 8
  // and 9 are 1 and 13.
  ByHand by_hand = {.dtype = DType::kIQ4_XS,
                    .bytes = {{1, 0x38}, {2 + 1, 2 << 2}, {4 + 2, 1 << 4}},
                    .rest = -16.0f * -127,
                    .elements = {{161, 0.5f * 1}, {177, 0.5f * 13}},
                    .stretches = {{160, 0.5f * -127}, {192, -16.0f * -127}}};
  by_hand.bytes[8 + 5 * 16 + 1] = 0x98;
  expect_decodes(by_hand);
}

TEST(IQ2_XXS, DecodesByHand) {
  // d = 4; scales of 0.5 / 4, the first vector (8 all over) and no signs but in part 2. Part 2
  // (elements 64 to 95): scale 3.5 / 4, and its second vector is number 1 (43, then 8). That has
  // the sign of its first element and, to make that even, of its last.
  ByHand by_hand = {.dtype = DType::kIQ2_XXS,
                    .bytes = {{1, 0x44}},
                    .rest = 0.5f * 8,
                    .elements = {{72, 3.5f * -43}, {79, 3.5f * -8}},
                    .stretches = {{64, 3.5f * 8}, {96, 4.0f}}};
  by_hand.bytes[2 + 16 + 1] = 1;
  by_hand.bytes[2 + 16 + 4] = 1 << 7;
  by_hand.bytes[2 + 16 + 7] = 3 << 4;
  expect_decodes(by_hand);
}

TEST(IQ2_XS, DecodesByHand) {
  // d = 4. Vector 5 (elements 40 to 47): number 2 (25, 25, then 8) with the signs of the first two;
  // part 2 (32 to 47) has scale 1.5 / 4.
  ByHand by_hand = {.dtype = DType::kIQ2_XS,
                    .bytes = {{1, 0x44}, {66 + 1, 0x01}},
                    .rest = 0.5f * 8,
                    .elements = {{40, 1.5f * -25}, {41, 1.5f * -25}},
                    .stretches = {{32, 1.5f * 8}, {48, 4.0f}}};
  by_hand.bytes[2 + 10] = 2;
  by_hand.bytes[2 + 11] = 3 << 1;
  expect_decodes(by_hand);
}

TEST(IQ2_S, DecodesByHand) {
  // d = 4. The last vector is number 1023 (43 all over), its last sign negative; part 15 has scale
  // 2.5 / 4.
  expect_decodes(
      {.dtype = DType::kIQ2_S,
       .bytes = {{1, 0x44}, {2 + 31, 0xff}, {66 + 7, 3 << 6}, {34 + 31, 0x80}, {74 + 7, 2 << 4}},
       .rest = 0.5f * 8,
       .elements = {{255, 2.5f * -43}},
       .stretches = {{240, 2.5f * 8}, {248, 2.5f * 43}}});
}

TEST(IQ3_XXS, DecodesByHand) {
  // d = 2; scales of 0.5 / 2 but for part 1 (elements 32 to 63): 1.5 / 2. Its vector 3 (44 to 47)
  // is number 1 (20, then 4), and its signs 8 to 15 have bit 4, that of element 44, and, to make
  // that even, that of element 47.
  ByHand by_hand = {.dtype = DType::kIQ3_XXS,
                    .bytes = {{1, 0x40}},
                    .rest = 0.5f * 4,
                    .elements = {{44, 1.5f * -20}, {47, 1.5f * -4}},
                    .stretches = {{32, 1.5f * 4}, {64, 2.0f}}};
  by_hand.bytes[2 + 8 + 3] = 1;
  by_hand.bytes[66 + 4 + 1] = (1 << 4 << 7) >> 8;
  by_hand.bytes[66 + 4 + 3] = 1 << 4;
  expect_decodes(by_hand);
}

TEST(IQ3_S, DecodesByHand) {
  // d = 1. The last vector is number 511 (1, 1, 15, 15), with the sign of its first element; part 7
  // has scale 1 + 2 * 2.
  expect_decodes(
      {.dtype = DType::kIQ3_S,
       .bytes = {{1, 0x3c}, {2 + 63, 0xff}, {66 + 7, 0x80}, {74 + 31, 1 << 4}, {106 + 3, 2 << 4}},
       .rest = 1,
       .elements = {{252, -5.0f}, {253, 5.0f}, {254, 75.0f}, {255, 75.0f}},
       .stretches = {{224, 5.0f}}});
}

TEST(IQ1_S, DecodesByHand) {
  // d = 8; number 0 is -1 all over, number 1 has a 1 in front, number 2047 is 1 all over. Part 3
  // (elements 96 to 127): scale 1 + 2 * 1, shift -1/8, first vector 2047 = 255 + 7 * 256, third
  // vector 1.
  ByHand by_hand = {
      .dtype = DType::kIQ1_S,
      .bytes = {{1, 0x48}, {2 + 12, 0xff}, {2 + 14, 1}, {34 + 6, 7}, {34 + 7, 0x90}},
      .rest = 8 * (-1 + 0.125f),
      .elements = {{112, 24 * (1 - 0.125f)}},
      .stretches = {{96, 24 * (1 - 0.125f)}, {104, 24 * (-1 - 0.125f)}, {128, -7.0f}}};
  expect_decodes(by_hand);
}

TEST(IQ1_M, DecodesByHand) {
  // d = 8 (0x4800), 4 bits on top of each word of scales, the lowest first. Vector 9 (elements 72
  // to 79) is number 1 with shift -1/8; part 4 (64 to 79) has scale 1 + 2 * 2.
  ByHand by_hand = {.dtype = DType::kIQ1_M,
                    .bytes = {{53, 0x80}, {55, 0x40}, {9, 1}, {32 + 4, 0x80}, {50, 2}},
                    .rest = 8 * (-1 + 0.125f),
                    .elements = {{72, 40 * (1 - 0.125f)}},
                    .stretches = {{64, 40 * (-1 + 0.125f)}, {72, 40 * (-1 - 0.125f)}, {80, -7.0f}}};
  expect_decodes(by_hand);
}

TEST(TQ1_0, DecodesByHand) {
  // d = 2. Byte 0 is 20112 in base 3 = 176, and 176 * 256 / 243 = 185.4 is rounded up to 186:
  // elements 0, 32, 64, 96, 128. Byte 33 is 11111 (128): elements 161, 177, 193, 209, 225. Byte 51
  // is 21020 (206): elements 243, 247, 251, 255.
  expect_decodes({.dtype = DType::kTQ1_0,
                  .bytes = {{53, 0x40}, {0, 186}, {33, 128}, {51, 206}},
                  .rest = -2.0f,
                  .elements = {{0, 2.0f},
                               {32, -2.0f},
                               {64, 0},
                               {96, 0},
                               {128, 2.0f},
                               {161, 0},
                               {177, 0},
                               {193, 0},
                               {209, 0},
                               {225, 0},
                               {243, 2.0f},
                               {247, 0},
                               {251, -2.0f},
                               {255, 2.0f}}});
}

TEST(TQ1_0, EncodesByHand) {
  // The block above, from values that are nearest to -1, 0 and 1 times 2.
  std::vector<float> values(256, -2.0f);
  for (int i : {64, 96, 161, 177, 193, 209, 225, 247}) values[static_cast<std::size_t>(i)] = 0.9f;
  for (int i : {0, 128, 243, 255}) values[static_cast<std::size_t>(i)] = 1.1f;
  const ByHand expected = {.dtype = DType::kTQ1_0,
                           .bytes = {{53, 0x40}, {0, 186}, {33, 128}, {51, 206}},
                           .rest = 0,
                           .elements = {}};
  EXPECT_EQ(encode(DType::kTQ1_0, values), expected.block());
}

TEST(TQ2_0, DecodesByHand) {
  // d = 2. Byte 33 holds elements 129 (2), 161 (0), 193 (1), 225 (2).
  expect_decodes({.dtype = DType::kTQ2_0,
                  .bytes = {{65, 0x40}, {33, 2 | 0 << 2 | 1 << 4 | 2 << 6}},
                  .rest = -2.0f,
                  .elements = {{129, 2.0f}, {193, 0}, {225, 2.0f}}});
}

TEST(TQ2_0, EncodesByHand) {
  std::vector<float> values(256, -2.0f);
  values[129] = values[225] = 1.0f;  // half of 2 rounds away from 0
  values[193] = -0.99f;
  const ByHand expected = {.dtype = DType::kTQ2_0,
                           .bytes = {{65, 0x40}, {33, 2 | 0 << 2 | 1 << 4 | 2 << 6}},
                           .rest = 0,
                           .elements = {}};
  EXPECT_EQ(encode(DType::kTQ2_0, values), expected.block());
}

}  // namespace
}  // namespace shunt::tensor_formats_by_hand_test
