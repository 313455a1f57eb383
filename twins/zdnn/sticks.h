// The places of the cells of a transformed tensor.
//
// A page of 4 KiB holds 32 sticks of 128 bytes. Dimension dim1 is cut into sticks. The sticks of
// consecutive dim2 fill pages, the last one padded. The order further out is, inwards: 4DFEATURE
// dim4, stick of dim1, dim3; 4DKERNEL stick of dim1, dim4, dim3. The format 4DWEIGHTS is as
// 4DFEATURE, but two rows of dim2 share a stick, byte by byte. (zDNN's documentation, "zDNN Data
// Formats", and Principles of Operation, NNPA, "Data layout formats".)
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "include/zdnn.h"

namespace zdnn_twin {

inline constexpr std::uint64_t kPage = 4096;
inline constexpr std::uint64_t kStick = 128;

constexpr std::uint64_t ceil_div(std::uint64_t x, std::uint64_t by) {
  return (x + by - 1) / by;
}
constexpr std::uint64_t ceil_to(std::uint64_t x, std::uint64_t by) {
  return ceil_div(x, by) * by;
}

/// Bytes of a transformed tensor, for any layout; UINT64_MAX if that doesn't fit. As
/// zdnn_getsize_ztensor().
std::uint64_t tensor_bytes(const zdnn_tensor_desc& desc);

/// Elements of all four dimensions; UINT64_MAX if that doesn't fit.
std::uint64_t element_count(const zdnn_tensor_desc& desc);

class Sticks {
 public:
  /// Of a descriptor that has been checked (checks.h).
  explicit Sticks(const zdnn_tensor_desc& desc);

  /// The byte where the row (e4, e3, e2) begins: its element e1 = 0.
  std::uint64_t row(std::uint64_t e4, std::uint64_t e3, std::uint64_t e2) const {
    return e4 * outer_ + e3 * middle_ + (e2 / rows_) * kStick + e2 % rows_;
  }
  /// The byte of element e1, counted from its row's begin.
  std::uint64_t within_row(std::uint64_t e1) const {
    return e1 / cells_ * column_ + e1 % cells_ * step_;
  }

  /// The elements from e1 on in its stick. From one to the next there are step() bytes.
  std::uint64_t cells_left(std::uint64_t e1) const { return cells_ - e1 % cells_; }
  std::uint64_t step() const { return step_; }

  std::uint64_t cell_bytes() const { return cell_bytes_; }

  /// Writes a pattern that is no number (NINF; 0x7F where cells are bytes) to all cells that belong
  /// to no element.
  void poison_padding(std::byte* buffer) const;

 private:
  std::uint64_t dim4_, dim3_, dim2_, dim1_;
  std::uint64_t cell_bytes_;
  std::uint64_t cells_;     // elements of dim1 in a stick
  std::uint64_t step_;      // bytes from one to the next
  std::uint64_t rows_ = 1;  // of dim2 in a stick
  std::uint64_t column_;    // bytes from stick to stick of a row
  std::uint64_t middle_;    // bytes from one e3 to the next
  std::uint64_t outer_;     // bytes from one e4 to the next
};

/// Fills whole sticks with that pattern.
void poison(std::byte* begin, std::uint64_t bytes, std::uint64_t cell_bytes);

}  // namespace zdnn_twin
