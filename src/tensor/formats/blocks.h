// The block formats. Each is defined, layout, decoding and encoding, in the file of its name.
// Layout holds the byte offsets and counts of a block; only that file knows it.
//
// decode() takes one block to its values. encode() makes the block that comes closest to finite
// values, as the format's file says; where it takes weights, it keeps the sum of weight * error^2
// small. Weights are from 0 to 1, not all 0. Where there are both, a block without weights is made
// by the plain rule that other programs follow, too. A format without encode() is not for storage.
// `kLargest` is the magnitude up to which a format holds values of either sign: that of its largest
// scale and its farthest number, or of its largest minimum. `kWide` are the numbers that a
// big-endian file has the other way around: those that the format's formula takes as one number of
// 16 or 32 bits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "shunt/tensor.h"
#include "tensor/formats/half.h"

namespace shunt::formats {

/// A block of `Elements` elements in `Bytes` bytes. A format "needs weights" if it is so coarse
/// that without knowing which values matter the result is of little use.
template <std::int64_t Elements, std::size_t Bytes, bool NeedsWeights = false>
struct BlockFormat {
  static constexpr std::int64_t kElements = Elements;
  static constexpr std::size_t kBytes = Bytes;
  static constexpr bool kNeedsWeights = NeedsWeights;
};

struct Q4_0 : BlockFormat<32, 18> {
  static constexpr std::array kWide = {WideNumbers{0, 2}};
  static constexpr float kLargest = 8 * kLargestF16;
  static void decode(const std::byte* block, float* values);
  static void encode(const float* values, std::byte* block);
  static void encode(const float* values, const float* weights, std::byte* block);
};
struct Q4_1 : BlockFormat<32, 20> {
  static constexpr std::array kWide = {WideNumbers{0, 2, 2}};
  static constexpr float kLargest = kLargestF16;
  static void decode(const std::byte* block, float* values);
  static void encode(const float* values, std::byte* block);
  static void encode(const float* values, const float* weights, std::byte* block);
};
struct Q5_0 : BlockFormat<32, 22> {
  static constexpr std::array kWide = {WideNumbers{0, 2}, WideNumbers{2, 4}};
  static constexpr float kLargest = 16 * kLargestF16;
  static void decode(const std::byte* block, float* values);
  static void encode(const float* values, std::byte* block);
  static void encode(const float* values, const float* weights, std::byte* block);
};
struct Q5_1 : BlockFormat<32, 24> {
  static constexpr std::array kWide = {WideNumbers{0, 2, 2}, WideNumbers{4, 4}};
  static constexpr float kLargest = kLargestF16;
  static void decode(const std::byte* block, float* values);
  static void encode(const float* values, std::byte* block);
  static void encode(const float* values, const float* weights, std::byte* block);
};
struct Q8_0 : BlockFormat<32, 34> {
  static constexpr std::array kWide = {WideNumbers{0, 2}};
  static constexpr float kLargest = 127 * kLargestF16;
  static void decode(const std::byte* block, float* values);
  static void encode(const float* values, std::byte* block);
};
struct Q8_1 : BlockFormat<32, 36> {
  static constexpr std::array kWide = {WideNumbers{0, 2, 2}};
  static void decode(const std::byte* block, float* values);
};
struct MXFP4 : BlockFormat<32, 17> {
  static constexpr std::array<WideNumbers, 0> kWide = {};
  /// 6 * 2^127 is beyond F32, and so are 4, 3 and 2 * 2^127.
  static constexpr float kLargest = 0x1.8p127f;
  static void decode(const std::byte* block, float* values);
  static void encode(const float* values, const float* weights, std::byte* block);
};

struct Q2_K : BlockFormat<256, 84> {
  struct Layout;
  static constexpr std::array kWide = {WideNumbers{80, 2, 2}};
  static constexpr float kLargest = 15 * kLargestF16;
  static void decode(const std::byte* block, float* values);
  static void encode(const float* values, const float* weights, std::byte* block);
};
struct Q3_K : BlockFormat<256, 110> {
  struct Layout;
  static constexpr std::array kWide = {WideNumbers{108, 2}};
  static constexpr float kLargest = 32 * 4 * kLargestF16;
  static void decode(const std::byte* block, float* values);
  static void encode(const float* values, const float* weights, std::byte* block);
};
struct Q4_K : BlockFormat<256, 144> {
  struct Layout;
  static constexpr std::array kWide = {WideNumbers{0, 2, 2}};
  static constexpr float kLargest = 63 * kLargestF16;
  static void decode(const std::byte* block, float* values);
  static void encode(const float* values, const float* weights, std::byte* block);
};
struct Q5_K : BlockFormat<256, 176> {
  struct Layout;
  static constexpr std::array kWide = {WideNumbers{0, 2, 2}};
  static constexpr float kLargest = 63 * kLargestF16;
  static void decode(const std::byte* block, float* values);
  static void encode(const float* values, const float* weights, std::byte* block);
};
struct Q6_K : BlockFormat<256, 210> {
  struct Layout;
  static constexpr std::array kWide = {WideNumbers{208, 2}};
  static constexpr float kLargest = 128 * 32 * kLargestF16;
  static void decode(const std::byte* block, float* values);
  static void encode(const float* values, const float* weights, std::byte* block);
};
struct Q8_K : BlockFormat<256, 292> {
  static constexpr std::array kWide = {WideNumbers{0, 4}, WideNumbers{260, 2, 16}};
  static void decode(const std::byte* block, float* values);
};

struct IQ1_S : BlockFormat<256, 50, true> {
  struct Layout;
  static constexpr std::array kWide = {WideNumbers{0, 2}, WideNumbers{34, 2, 8}};
  static constexpr float kLargest = 15 * 1.125f * kLargestF16;
  static void decode(const std::byte* block, float* values);
  static void encode(const float* values, const float* weights, std::byte* block);
};
struct IQ1_M : BlockFormat<256, 56, true> {
  struct Layout;
  static constexpr std::array kWide = {WideNumbers{48, 2, 4}};
  static constexpr float kLargest = 15 * 1.125f * kLargestF16;
  static void decode(const std::byte* block, float* values);
  static void encode(const float* values, const float* weights, std::byte* block);
};
struct IQ2_XXS : BlockFormat<256, 66, true> {
  struct Layout;
  static constexpr std::array kWide = {WideNumbers{0, 2}, WideNumbers{6, 4, 8, 8}};
  static constexpr float kLargest = 15.5f / 4 * 43 * kLargestF16;
  static void decode(const std::byte* block, float* values);
  static void encode(const float* values, const float* weights, std::byte* block);
};
struct IQ2_XS : BlockFormat<256, 74, true> {
  struct Layout;
  static constexpr std::array kWide = {WideNumbers{0, 2, 33}};
  static constexpr float kLargest = 15.5f / 4 * 43 * kLargestF16;
  static void decode(const std::byte* block, float* values);
  static void encode(const float* values, const float* weights, std::byte* block);
};
struct IQ2_S : BlockFormat<256, 82, true> {
  struct Layout;
  static constexpr std::array kWide = {WideNumbers{0, 2}};
  static constexpr float kLargest = 15.5f / 4 * 43 * kLargestF16;
  static void decode(const std::byte* block, float* values);
  static void encode(const float* values, const float* weights, std::byte* block);
};
struct IQ3_XXS : BlockFormat<256, 98> {
  struct Layout;
  static constexpr std::array kWide = {WideNumbers{0, 2}, WideNumbers{66, 4, 8}};
  static constexpr float kLargest = 15.5f / 2 * 62 * kLargestF16;
  static void decode(const std::byte* block, float* values);
  static void encode(const float* values, const float* weights, std::byte* block);
};
struct IQ3_S : BlockFormat<256, 110> {
  struct Layout;
  static constexpr std::array kWide = {WideNumbers{0, 2}};
  static constexpr float kLargest = 31 * 15 * kLargestF16;
  static void decode(const std::byte* block, float* values);
  static void encode(const float* values, const float* weights, std::byte* block);
};
struct IQ4_NL : BlockFormat<32, 18> {
  static constexpr std::array kWide = {WideNumbers{0, 2}};
  static constexpr float kLargest = 127 * kLargestF16;
  static void decode(const std::byte* block, float* values);
  static void encode(const float* values, const float* weights, std::byte* block);
};
struct IQ4_XS : BlockFormat<256, 136> {
  struct Layout;
  static constexpr std::array kWide = {WideNumbers{0, 2, 2}};
  static constexpr float kLargest = 32 * 127 * kLargestF16;
  static void decode(const std::byte* block, float* values);
  static void encode(const float* values, const float* weights, std::byte* block);
};

struct TQ1_0 : BlockFormat<256, 54> {
  struct Layout;
  static constexpr std::array kWide = {WideNumbers{52, 2}};
  static constexpr float kLargest = kLargestF16;
  static void decode(const std::byte* block, float* values);
  static void encode(const float* values, std::byte* block);
};
struct TQ2_0 : BlockFormat<256, 66> {
  struct Layout;
  static constexpr std::array kWide = {WideNumbers{64, 2}};
  static constexpr float kLargest = kLargestF16;
  static void decode(const std::byte* block, float* values);
  static void encode(const float* values, std::byte* block);
};

}  // namespace shunt::formats
