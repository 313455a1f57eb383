#include "support/big_endian.h"

#include <algorithm>
#include <bit>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>

#include "support/gguf_bytes.h"
#include "support/shared.h"

namespace shunt::test {
namespace {

/// `times` numbers of `width` bytes, one after the other; width 1 stands for bytes that stay.
struct Field {
  std::size_t width;
  std::size_t times;
};
struct Layout {
  std::size_t elements;
  std::vector<Field> fields;  ///< of a block, from its first byte to its last
};

/// Blocks by the GGUF number of their type, as the formats' descriptions (the comments at the top
/// of src/tensor/formats/*.cpp) list their parts. A scale d and a minimum are F16 unless the
/// descriptions say otherwise.
// clang-format off
const std::map<std::uint32_t, Layout>& layouts() {
  static const std::map<std::uint32_t, Layout> kLayouts = {
      {0, {1, {{4, 1}}}},                                // F32
      {1, {1, {{2, 1}}}},                                // F16
      {2, {32, {{2, 1}, {1, 16}}}},                      // Q4_0: d, 32 x 4 bits
      {3, {32, {{2, 1}, {2, 1}, {1, 16}}}},              // Q4_1: d, m, 32 x 4 bits
      {6, {32, {{2, 1}, {4, 1}, {1, 16}}}},              // Q5_0: d, 32 highest bits, 32 x 4 bits
      {7, {32, {{2, 1}, {2, 1}, {4, 1}, {1, 16}}}},      // Q5_1: d, m, 32 highest bits, 32 x 4 bits
      {8, {32, {{2, 1}, {1, 32}}}},                      // Q8_0: d, 32 x 8 bits
      {9, {32, {{2, 1}, {2, 1}, {1, 32}}}},              // Q8_1: d, s, 32 x 8 bits
      {10, {256, {{1, 16}, {1, 64}, {2, 1}, {2, 1}}}},   // Q2_K: scales, 256 x 2 bits, d, dmin
      {11, {256, {{1, 32}, {1, 64}, {1, 12}, {2, 1}}}},  // Q3_K: high bits, 2 bits, scales, d
      {12, {256, {{2, 1}, {2, 1}, {1, 12}, {1, 128}}}},  // Q4_K: d, dmin, scales, 256 x 4 bits
      {13, {256, {{2, 1}, {2, 1}, {1, 12}, {1, 32}, {1, 128}}}},  // Q5_K: the same with high bits
      {14, {256, {{1, 128}, {1, 64}, {1, 16}, {2, 1}}}},  // Q6_K: 4 bits, 2 bits, scales, d
      {15, {256, {{4, 1}, {1, 256}, {2, 16}}}},           // Q8_K: d (F32), 256 x 8 bits, 16 sums
      // IQ2_XXS: d, then 8 times 4 indices of 8 bits and a word of 32 bits
      {16,
       {256,
        {{2, 1},
         {1, 4}, {4, 1}, {1, 4}, {4, 1}, {1, 4}, {4, 1}, {1, 4}, {4, 1},
         {1, 4}, {4, 1}, {1, 4}, {4, 1}, {1, 4}, {4, 1}, {1, 4}, {4, 1}}}},
      {17, {256, {{2, 1}, {2, 32}, {1, 8}}}},                 // IQ2_XS: d, 32 words of 16 bits, scales
      {18, {256, {{2, 1}, {1, 64}, {4, 8}}}},                 // IQ3_XXS: d, indices, 8 words of 32 bits
      {19, {256, {{2, 1}, {1, 32}, {2, 8}}}},                 // IQ1_S: d, indices, 8 words of 16 bits
      {20, {32, {{2, 1}, {1, 16}}}},                          // IQ4_NL: d, 32 x 4 bits
      {21, {256, {{2, 1}, {1, 64}, {1, 8}, {1, 32}, {1, 4}}}},  // IQ3_S: d, all else bytes
      {22, {256, {{2, 1}, {1, 32}, {1, 32}, {1, 8}, {1, 8}}}},  // IQ2_S: d, all else bytes
      {23, {256, {{2, 1}, {2, 1}, {1, 4}, {1, 128}}}},  // IQ4_XS: d, a word of 8 x 2 bits, 8 x 4 bits
      {24, {1, {{1, 1}}}},                              // I8
      {25, {1, {{2, 1}}}},                              // I16
      {26, {1, {{4, 1}}}},                              // I32
      {27, {1, {{8, 1}}}},                              // I64
      {28, {1, {{8, 1}}}},                              // F64
      {29, {256, {{1, 32}, {1, 16}, {2, 4}}}},          // IQ1_M: indices, 4 bits, 4 words of 16 bits
      {30, {1, {{2, 1}}}},                              // BF16
      {34, {256, {{1, 48}, {1, 4}, {2, 1}}}},           // TQ1_0: digits, d
      {35, {256, {{1, 64}, {2, 1}}}},                   // TQ2_0: 256 x 2 bits, d
      {39, {32, {{1, 1}, {1, 16}}}},                    // MXFP4: e (E8M0), 32 x 4 bits
  };
  return kLayouts;
}
// clang-format on

const Layout& layout_of(std::uint64_t type) {
  const auto found = layouts().find(static_cast<std::uint32_t>(type));
  if (found == layouts().end()) throw std::runtime_error("no type " + std::to_string(type));
  return found->second;
}

std::size_t bytes_of(const Layout& layout) {
  std::size_t bytes = 0;
  for (const Field& field : layout.fields) bytes += field.width * field.times;
  return bytes;
}

/// Walks through an image and swaps the numbers that it passes.
class Walk {
 public:
  explicit Walk(std::span<const std::byte> image) : bytes_(image.begin(), image.end()) {}

  std::vector<std::byte> all(std::string_view magic) {
    std::ranges::transform(magic, bytes_.begin(), [](char c) { return static_cast<std::byte>(c); });
    at_ = magic.size();
    number(4);
    const std::uint64_t tensors = number(8);
    const std::uint64_t entries = number(8);
    for (std::uint64_t i = 0; i < entries; ++i) entry();
    struct Data {
      std::uint64_t type, elements, offset;
    };
    std::vector<Data> data;
    for (std::uint64_t i = 0; i < tensors; ++i) {
      skip(number(8));
      std::uint64_t elements = 1;
      for (std::uint64_t dims = number(4); dims > 0; --dims) elements *= number(8);
      const std::uint64_t type = number(4);
      data.push_back({type, elements, number(8)});
    }
    const std::size_t start = (at_ + alignment_ - 1) / alignment_ * alignment_;
    for (const auto& [type, elements, offset] : data) {
      const std::size_t bytes = elements / layout_of(type).elements * bytes_of(layout_of(type));
      at_ = start + offset;
      skip(bytes);
      swap_blocks(static_cast<std::uint32_t>(type), std::span(bytes_).subspan(at_ - bytes, bytes));
    }
    return std::move(bytes_);
  }

 private:
  void skip(std::uint64_t bytes) {
    if (bytes > bytes_.size() - at_) throw std::runtime_error("the image ends too early");
    at_ += bytes;
  }

  /// Swaps a number and returns its value before.
  std::uint64_t number(std::size_t width) {
    skip(width);
    const auto bytes = std::span(bytes_).subspan(at_ - width, width);
    std::ranges::reverse(bytes);
    std::uint64_t value = 0;
    for (const std::byte byte : bytes) value = value << 8 | std::to_integer<std::uint64_t>(byte);
    return value;
  }

  void entry() {
    const std::size_t length = number(8);
    skip(length);
    const std::string_view key(reinterpret_cast<const char*>(&bytes_[at_ - length]), length);
    const std::uint64_t last = value(number(4));
    if (key == "general.alignment") alignment_ = last;
  }

  std::uint64_t value(std::uint64_t type) {
    if (type == kGgufArray) {
      const std::uint64_t element = number(4);
      for (std::uint64_t count = number(8); count > 0; --count) value(element);
      return 0;
    }
    if (type == kGgufString) {
      skip(number(8));
      return 0;
    }
    static const std::map<std::uint64_t, std::size_t> kWidths = {
        {kGgufU8, 1},  {kGgufI8, 1},   {kGgufU16, 2}, {kGgufI16, 2}, {kGgufU32, 4}, {kGgufI32, 4},
        {kGgufF32, 4}, {kGgufBool, 1}, {kGgufU64, 8}, {kGgufI64, 8}, {kGgufF64, 8}};
    return number(kWidths.at(type));
  }

  std::vector<std::byte> bytes_;
  std::size_t at_ = 0;
  std::uint64_t alignment_ = 32;
};

}  // namespace

void swap_blocks(std::uint32_t type, std::span<std::byte> data) {
  const Layout& layout = layout_of(type);
  for (std::size_t at = 0; at < data.size();) {
    for (const Field& field : layout.fields) {
      for (std::size_t i = 0; i < field.times; ++i, at += field.width) {
        std::ranges::reverse(data.subspan(at, field.width));
      }
    }
  }
}

std::vector<std::byte> to_big_endian(std::span<const std::byte> image, std::string_view magic) {
  return Walk(image).all(magic);
}

void to_native_order(const std::string& path) {
  if (std::endian::native == std::endian::little) return;
  const std::string little = read_file(path);
  const std::vector<std::byte> big = to_big_endian(std::as_bytes(std::span(little)));
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(big.data()), static_cast<std::streamsize>(big.size()));
  if (!out.flush()) throw std::runtime_error("cannot write " + path);
}

}  // namespace shunt::test
