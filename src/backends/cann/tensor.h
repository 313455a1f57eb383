// An operand of a vendor's operator: a view into memory of the device, before a descriptor is made
// of it.
#pragma once

#include <array>
#include <initializer_list>
#include <span>
#include <vector>

#include "backends/cann/acl.h"
#include "shunt/tensor.h"

namespace shunt::cann {

/// Elements at `sizes` and `strides`, which are in elements, the innermost dimension first as in
/// the rest of Shunt. Descriptors have them the other way round: vendor_dim() turns a dimension.
class View {
 public:
  static constexpr std::size_t kMostDims = 8;
  using Dims = std::vector<std::int64_t>;

  View() = default;
  /// Contiguous.
  View(DataType type, Dims sizes, DevicePointer data);
  View(DataType type, Dims sizes, Dims strides, DevicePointer data)
      : type_(type), sizes_(std::move(sizes)), strides_(std::move(strides)), data_(data) {}

  DataType type() const { return type_; }
  std::size_t rank() const { return sizes_.size(); }
  const Dims& sizes() const { return sizes_; }
  const Dims& strides() const { return strides_; }
  std::int64_t size(std::size_t dim) const { return dim < rank() ? sizes_[dim] : 1; }
  std::int64_t stride(std::size_t dim) const { return strides_[dim]; }
  /// The address of the first element; null while a program is made ready. Of Int4 that of the byte
  /// in which it is.
  DevicePointer data() const { return data_; }
  Format format() const { return format_; }
  std::int64_t elements() const;
  bool is_empty() const { return elements() == 0; }
  bool is_contiguous() const;
  /// The number that the vendor gives a dimension: the outermost is 0.
  std::int64_t vendor_dim(std::size_t dim) const {
    return static_cast<std::int64_t>(rank() - 1 - dim);
  }

  // Other views of the same memory.
  /// The elements in order with other sizes. The view must be contiguous.
  View reshaped(Dims sizes) const;
  /// The same bytes as elements of another type of the same width.
  View as(DataType type) const;
  /// Dimension i of the result is dimension order[i] of this.
  View permuted(std::initializer_list<std::size_t> order) const;
  /// The first two dimensions swapped.
  View transposed() const;
  /// Elements [start, start + size) along a dimension, or every step-th of them.
  View sliced(std::size_t dim, std::int64_t start, std::int64_t size, std::int64_t step = 1) const;
  /// Dimension `dim` as two: the inner of `inner` elements, the outer after it.
  View split(std::size_t dim, std::int64_t inner) const;
  /// Dimensions `dim` and `dim + 1` as one, which their strides must allow.
  View merged(std::size_t dim) const;
  bool can_merge(std::size_t dim) const;
  /// Without a dimension of size 1.
  View without(std::size_t dim) const;
  /// With one more dimension of size 1.
  View with_dim(std::size_t dim) const;
  /// With the meaning of its dimensions, for convolutions; of a matrix in whole fractals,
  /// FRACTAL_NZ.
  View in_format(Format format) const;

 private:
  DataType type_ = DataType::kFloat;
  Dims sizes_;
  Dims strides_;
  DevicePointer data_ = nullptr;
  Format format_ = Format::kPlain;
};

/// Bits of an element.
std::int64_t bits_of(DataType type);
bool is_float(DataType type);
/// The vendor's type of a plain one of ours, if it has it.
bool has_data_type(DType type);
DataType data_type(DType type);
/// "F32", "INT8".
const char* to_text(DataType type);

/// The sum of products of sizes and strides of the last element: elements from the first to past
/// the last one.
std::int64_t extent_of(const View& view);

}  // namespace shunt::cann
