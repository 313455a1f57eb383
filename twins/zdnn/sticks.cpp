#include "sticks.h"

#include <algorithm>
#include <array>
#include <limits>

#include "dlfloat.h"

namespace zdnn_twin {
namespace {

std::uint64_t times(std::uint64_t a, std::uint64_t b) {  // saturating
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
  return b != 0 && a > kMost / b ? kMost : a * b;
}

std::uint64_t cell_size(zdnn_data_types type) {
  return type == ZDNN_BINARY_INT8                                ? 1
         : type == ZDNN_BINARY_INT32 || type == ZDNN_BINARY_FP32 ? 4
                                                                 : 2;
}

bool pairs_rows(const zdnn_tensor_desc& desc) {
  return desc.format == ZDNN_FORMAT_4DWEIGHTS && desc.type == ZDNN_BINARY_INT8;
}

}  // namespace

std::uint64_t tensor_bytes(const zdnn_tensor_desc& desc) {
  const std::uint64_t rows = pairs_rows(desc) ? ceil_div(desc.dim2, 2) : desc.dim2;
  const std::uint64_t cells = pairs_rows(desc) ? 64 : kStick / cell_size(desc.type);
  const std::uint64_t pages =
      times(times(desc.dim4, desc.dim3),
            times(ceil_div(rows, kPage / kStick), ceil_div(desc.dim1, cells)));
  return times(pages, kPage);
}

std::uint64_t element_count(const zdnn_tensor_desc& desc) {
  return times(times(desc.dim4, desc.dim3), times(desc.dim2, desc.dim1));
}

Sticks::Sticks(const zdnn_tensor_desc& desc)
    : dim4_(desc.dim4),
      dim3_(desc.dim3),
      dim2_(desc.dim2),
      dim1_(desc.dim1),
      cell_bytes_(cell_size(desc.type)),
      cells_(kStick / cell_bytes_),
      step_(cell_bytes_) {
  if (pairs_rows(desc)) {
    rows_ = 2;
    cells_ = 64;
    step_ = 2;
  }
  const std::uint64_t plane = ceil_to(ceil_div(dim2_, rows_), kPage / kStick) * kStick;
  middle_ = plane;
  if (desc.format == ZDNN_FORMAT_4DKERNEL) {
    outer_ = dim3_ * plane;
    column_ = dim4_ * outer_;
  } else {
    column_ = dim3_ * plane;
    outer_ = ceil_div(dim1_, cells_) * column_;
  }
}

void poison(std::byte* begin, std::uint64_t bytes, std::uint64_t cell_bytes) {
  std::array<std::byte, kStick> stick{};
  stick.fill(std::byte{0x7F});
  for (std::uint64_t at = 0; cell_bytes == 2 && at < kStick; at += 2)
    std::memcpy(stick.data() + at, &kNinf, sizeof kNinf);
  for (std::uint64_t at = 0; at < bytes; at += kStick)
    std::memcpy(begin + at, stick.data(), std::min(kStick, bytes - at));
}

void Sticks::poison_padding(std::byte* buffer) const {
  const std::uint64_t columns = ceil_div(dim1_, cells_);
  const std::uint64_t in_last = dim1_ - (columns - 1) * cells_;
  const std::uint64_t used = ceil_div(dim2_, rows_) * kStick;  // of a plane of dim2
  for (std::uint64_t e4 = 0; e4 < dim4_; ++e4) {
    for (std::uint64_t e3 = 0; e3 < dim3_; ++e3) {
      for (std::uint64_t column = 0; column < columns; ++column)
        poison(buffer + row(e4, e3, 0) + column * column_ + used, middle_ - used, cell_bytes_);
      std::byte* last = buffer + row(e4, e3, 0) + (columns - 1) * column_;
      for (std::uint64_t at = 0; at < used && in_last < cells_; at += kStick)
        poison(last + at + in_last * step_, kStick - in_last * step_, cell_bytes_);
      // The row that has no partner.
      for (std::uint64_t e1 = 0; e1 < dim1_ && dim2_ % rows_ != 0; ++e1)
        poison(buffer + row(e4, e3, dim2_ - 1) + within_row(e1) + 1, 1, 1);
    }
  }
}

}  // namespace zdnn_twin
