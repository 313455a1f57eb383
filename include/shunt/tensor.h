/// \file
/// The description of a tensor: element type, shape, strides. Its memory is separate (device.h).
/// Include it to describe tensors, to look up element types and to encode rows.
///
/// \code
/// SHUNT_ASSIGN(const Tensor weights, make_tensor(DType::kQ4_0, {4096, 32000}));  // 32000 rows
/// const std::int64_t bytes = byte_span(weights);  // 32000 * 4096 / 32 * 18
/// \endcode
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "shunt/error.h"

namespace shunt {

/// Element types; the numbers are GGUF's own.
enum class DType : std::uint8_t {
  kF32 = 0,
  kF16 = 1,
  kQ4_0 = 2,
  kQ4_1 = 3,
  kQ5_0 = 6,
  kQ5_1 = 7,
  kQ8_0 = 8,
  kQ8_1 = 9,
  kQ2_K = 10,
  kQ3_K = 11,
  kQ4_K = 12,
  kQ5_K = 13,
  kQ6_K = 14,
  kQ8_K = 15,
  kIQ2_XXS = 16,
  kIQ2_XS = 17,
  kIQ3_XXS = 18,
  kIQ1_S = 19,
  kIQ4_NL = 20,
  kIQ3_S = 21,
  kIQ2_S = 22,
  kIQ4_XS = 23,
  kI8 = 24,
  kI16 = 25,
  kI32 = 26,
  kI64 = 27,
  kF64 = 28,
  kIQ1_M = 29,
  kBF16 = 30,
  kTQ1_0 = 34,
  kTQ2_0 = 35,
  kMXFP4 = 39,
};

/// Numbers of a block that are wider than a byte, so that they have a byte order: `count` of them,
/// of `bytes` each, the first at `offset`, the next `stride` further.
struct WideNumbers {
  std::uint16_t offset = 0;
  std::uint8_t bytes = 2;
  std::uint16_t count = 1;
  std::uint16_t stride = bytes;
};

/// The properties of an element type. Elements come in blocks of `block_elements`, each of
/// `block_bytes` bytes; plain types have one element a block. In memory, plain types are in the
/// host's byte order, so that they can be computed with; blocks are little-endian on every host.
struct DTypeTrait {
  DType dtype = DType::kF32;
  std::string_view name;  ///< as printed and parsed: "F32", "Q4_0"
  std::int64_t block_elements = 1;
  std::size_t block_bytes = 4;
  std::span<const WideNumbers> wide = {};  ///< none: byte order makes no difference
  bool quantized = false;
  bool integer = false;
  /// Decodes n elements (a multiple of block_elements) to `to`. Integers beyond 2^24 and F64 round
  /// to nearest.
  void (*decode)(const std::byte* from, float* to, std::int64_t n) = nullptr;
  /// Encodes n elements, rounding to nearest even where the format does not say otherwise.
  /// Integers are rounded and saturated. Not-a-number becomes 0 in them and in block types, and
  /// numbers that are too large for a block type become its largest one. Null for types that need
  /// weights, and for those that are not for storage (Q8_1, Q8_K).
  void (*encode)(const float* from, std::byte* to, std::int64_t n) = nullptr;
  /// The precision of its values: rounding to it costs at most 2^-precision of the value itself,
  /// or, in a block format, of the largest value of the block. 0: not stated, or the type is of
  /// whole numbers.
  int precision = 0;
  /// The range of its values: bits of their exponent, or of the exponent of a block's scale.
  int exponent = 0;
  /// In a block type that can be encoded: the magnitude up to which it holds values of either sign.
  float largest = 0;
  /// Encodes n elements so that the sum of weight * error^2 is small; `weights` has one for each
  /// element, taken relative to those of the same block. Null where weights make no difference.
  void (*encode_weighted)(const float* from, const float* weights, std::byte* to,
                          std::int64_t n) = nullptr;

  /// Whether it can be encoded only with weights.
  bool needs_weights() const { return encode == nullptr && encode_weighted != nullptr; }
};

/// The trait of a type; every DType has one.
const DTypeTrait& trait(DType dtype);
/// All types, in the order of their numbers.
std::span<const DTypeTrait> dtypes();
/// The type with a GGUF number. Unsupported (with the format's name where it is known) or invalid.
Result<DType> dtype_from_gguf(std::uint32_t number);
/// The type with a name, case ignored: "f16", "Q4_0".
Result<DType> dtype_from_name(std::string_view name);
/// The name of a type: "F32", "Q4_0".
std::string_view to_string(DType dtype);
/// Whether turning values of `from` into `to` costs no more than rounding them to `from` did: `to`
/// is as fine and has as large a range. It is no block format where `from` is none, since small
/// values in a block with large ones lose most precision. False for whole numbers. (Blocks whose
/// values are beyond the range of their own scale are not checked: the conversion finds them.)
bool at_least_as_precise(DType to, DType from);
/// Whether weights can be stored in the type: F32, F16, BF16, and block types that can be encoded.
bool is_weight_type(DType dtype);
/// Encodes one row: `values` are whole blocks, `bytes` exactly as many as they take. `importance`
/// says how much each column matters, relative to the others (an importance matrix has the mean
/// square of the activation that a column meets); empty: all alike. Types without a choice to make
/// ignore it. From any thread. Unsupported if the type can't be encoded, or not without importance.
/// Invalid if sizes don't match, or if importance is negative or not finite. Invalid if a value for
/// a block type is not finite or beyond the type's largest.
Status encode_row(DType dtype, std::span<const float> values, std::span<const float> importance,
                  std::span<std::byte> bytes);
/// The byte order that data of a type have in memory, as DTypeTrait says.
std::endian order_in_memory(DType dtype);
/// Whether data in this byte order, a file's, are as they would be in memory.
bool is_as_in_memory(DType dtype, std::endian order);
/// Turns data from this byte order, a file's, into that of memory, or back, in place. Bytes past
/// the last whole block are not changed.
void convert_byte_order(DType dtype, std::endian order, std::span<std::byte> bytes);

/// A dynamic dimension is a size that is set when a plan runs: tokens of a step, rows of the cache
/// in use. A graph names its dynamic dimensions and states their maximum; 0 is "none".
using DynamicDimId = std::uint8_t;
inline constexpr DynamicDimId kNoDynamicDim = 0;
inline constexpr int kMaxDims = 4;
inline constexpr int kMaxDynamicDims = 16;

/// One dimension: a fixed size, or `factor` times a dynamic dimension whose maximum gives `max`
/// (2^63 - 1 if the product is larger).
struct Dim {
  std::int64_t max = 1;     ///< the size, or its maximum
  std::int64_t factor = 0;  ///< of a dynamic dimension; 0 of a fixed one
  DynamicDimId dynamic_dim = kNoDynamicDim;

  constexpr Dim() = default;
  /// A fixed size.
  constexpr Dim(std::int64_t fixed) : max(fixed) {}  // NOLINT: a number is a dimension
  /// `times` times a dynamic dimension whose own maximum is `maximum`.
  constexpr Dim(DynamicDimId id, std::int64_t maximum, std::int64_t times = 1)
      : max(product(maximum, times)), factor(times), dynamic_dim(id) {}
  /// Whether it is the same in all runs.
  constexpr bool is_fixed() const { return dynamic_dim == kNoDynamicDim; }
  friend constexpr bool operator==(const Dim&, const Dim&) = default;

 private:
  static constexpr std::int64_t product(std::int64_t a, std::int64_t b) {
    std::int64_t result = 0;
    return __builtin_mul_overflow(a, b, &result) ? std::numeric_limits<std::int64_t>::max()
                                                 : result;
  }
};

/// Up to four dimensions, innermost first as in GGUF; missing ones are 1.
using Shape = std::array<Dim, kMaxDims>;
/// The maximum of each dimension, or the actual sizes of a step.
using Sizes = std::array<std::int64_t, kMaxDims>;

/// Each dimension at its maximum.
Sizes max_sizes(const Shape& shape);
/// Number of elements at the dynamic dimensions' maximum: 0 if a dimension is 0 or negative, 2^63 -
/// 1 if there are more.
std::int64_t element_count(const Shape& shape);
/// "[64, 512]", trailing ones left out. A dynamic dimension's name is known to its graph only; here
/// it is
/// "[64, 512*]".
std::string to_string(const Shape& shape);

/// A description: element type, shape, strides in bytes (for the dynamic dimensions' maximum).
/// Stride 0 is that of one block; a row (dimension 0) of a block type is always contiguous.
struct Tensor {
  DType dtype = DType::kF32;
  Shape shape;
  std::array<std::int64_t, kMaxDims> strides = {};

  /// Elements along a dimension from 0 to 3, at its maximum.
  std::int64_t size(int dim) const { return shape[static_cast<std::size_t>(dim)].max; }
  /// Bytes from an element to the next one along a dimension from 0 to 3.
  std::int64_t stride(int dim) const { return strides[static_cast<std::size_t>(dim)]; }
};

/// A contiguous tensor. Invalid if a dimension is negative, if rows are not whole blocks (with any
/// value of the dynamic dimension), or if its bytes or a stride overflow 63 bits. A dimension may
/// be 0.
Result<Tensor> make_tensor(DType dtype, const Shape& shape);
/// Bytes from the first to past the last element at the dynamic dimensions' maximum; 0 if it has no
/// elements, 2^63 - 1 if there are more. Strides must not be negative.
std::int64_t byte_span(const Tensor& tensor);
/// Whether elements follow each other without gaps in the order of the dimensions, at the dynamic
/// dimensions' maximum. Strides of dimensions of size 1 don't matter.
bool is_contiguous(const Tensor& tensor);
/// "F32 [64, 512]".
std::string to_string(const Tensor& tensor);

}  // namespace shunt
