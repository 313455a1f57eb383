// A tensor in the machine's layout, "stickified": DLFLOAT16 in sticks of 64 along the innermost
// dimension, 32 sticks to a page.
//
// There, a tensor [n0, n1, n2, n3] of Shunt is (dim4 = n2 * n3, 1, dim2 = n1, dim1 = n0). So slices
// of dim4, and of a single matrix columns by multiples of 64, are in one piece, and tensors of
// their own.
#pragma once

#include <cstdint>

#include "backends/zdnn/target.h"
#include "shunt/tensor.h"

namespace shunt::zdnn {

inline constexpr std::size_t kPage = 4096;
/// Elements of a stick, and sticks of a page.
inline constexpr std::int64_t kStickElements = 64;
inline constexpr std::int64_t kPageSticks = 32;

/// A relative error of DLFLOAT16 when it rounds: half of 2^-9.
inline constexpr double kUnitRoundoff = 0x1p-10;

/// The largest number that DLFLOAT16 has.
inline constexpr float kLargest = 8573157376.0F;
/// The smallest that is not 0: exponents go down to -31, and have no subnormal numbers.
inline constexpr float kSmallest = 0x1.008p-31F;

/// Types whose numbers the library transforms itself, if they follow each other.
inline bool is_host_type(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

struct Dims {
  std::int64_t dim4 = 1;
  std::int64_t dim2 = 1;
  std::int64_t dim1 = 1;
  bool operator==(const Dims&) const = default;
  bool empty() const { return dim4 <= 0 || dim2 <= 0 || dim1 <= 0; }
};
Dims dims_of(const Sizes& sizes);

/// Bytes in the machine's layout, a multiple of kPage; 0 if it is empty.
std::uint64_t stick_bytes(const Dims& dims);
/// Why the machine does not take such a tensor; empty if it does.
std::string too_large(const Machine& machine, const Dims& dims);

/// Bytes of a (k, n) matrix of 8-bit weights: sticks of 64 columns, of two rows each.
std::uint64_t int8_bytes(const Dims& dims);
/// The offset of element (k, n) of one: the machine's layout 4DWEIGHTS.
inline std::size_t int8_offset(const Dims& dims, std::int64_t k, std::int64_t n) {
  constexpr std::int64_t kRows = 2 * kPageSticks;
  const std::int64_t rows = (dims.dim2 + kRows - 1) / kRows * kRows;
  return static_cast<std::size_t>((n / kStickElements * rows + k / 2 * 2) * kStickElements +
                                  n % kStickElements * 2 + k % 2);
}

/// Over memory that it does not own. Stays where it is, as the library is given pointers into it.
class Stick {
 public:
  Stick() = default;
  Stick(const Stick&) = delete;
  Stick& operator=(const Stick&) = delete;

  /// `buffer` at a multiple of kPage, with stick_bytes(dims). `filled`: whether the library has
  /// written it already.
  void set(const Symbols& zdnn, std::byte* buffer, const Dims& dims, bool filled = false);
  /// The same for 8-bit weights, with int8_bytes(dims); set_scale() sets their scale.
  void set_int8(const Symbols& zdnn, std::byte* buffer, const Dims& dims);
  /// Numbers of 8 bits are these, times `scale`; or become these by `rec_scale`, its inverse.
  void set_scale(float scale) { ztensor_.rec_scale = 1 / scale; }
  void set_rec_scale(float rec_scale) { ztensor_.rec_scale = rec_scale; }
  double scale() const { return 1 / static_cast<double>(ztensor_.rec_scale); }
  /// The library's tensor.
  Ztensor* get() { return &ztensor_; }
  const Ztensor* get() const { return &ztensor_; }
  const Dims& dims() const { return dims_; }
  std::byte* buffer() const { return static_cast<std::byte*>(ztensor_.buffer); }
  /// The type of the host's numbers that are transformed into it, contiguous: F32, F16 or BF16.
  void set_host_type(DType dtype);
  /// Sets another one to slice `index` of dim4.
  void slice(const Symbols& zdnn, std::int64_t index, Stick& to) const;
  /// Of a single matrix, sets another one to `count` columns from `begin`, a multiple of 64.
  void columns(const Symbols& zdnn, std::int64_t begin, std::int64_t count, Stick& to) const;

 private:
  Dims dims_;
  TensorDesc host_;
  TensorDesc machine_;
  Ztensor ztensor_;
};

}  // namespace shunt::zdnn
