#include "backends/cann/tensor.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace shunt::cann {

namespace {

struct TypeRow {
  DataType type;
  std::int64_t bits;
  bool is_float;
  const char* text;
};
constexpr std::array kTypes = {
    TypeRow{DataType::kFloat, 32, true, "F32"},     TypeRow{DataType::kFloat16, 16, true, "F16"},
    TypeRow{DataType::kBFloat16, 16, true, "BF16"}, TypeRow{DataType::kDouble, 64, true, "F64"},
    TypeRow{DataType::kInt8, 8, false, "INT8"},     TypeRow{DataType::kUint8, 8, false, "UINT8"},
    TypeRow{DataType::kInt16, 16, false, "INT16"},  TypeRow{DataType::kInt32, 32, false, "INT32"},
    TypeRow{DataType::kInt64, 64, false, "INT64"},  TypeRow{DataType::kBool, 8, false, "BOOL"},
    TypeRow{DataType::kInt4, 4, false, "INT4"},
};

const TypeRow& row_of(DataType type) {
  return *std::ranges::find(kTypes, type, &TypeRow::type);
}

struct OurType {
  DType ours;
  DataType type;
};
constexpr std::array kOurTypes = {
    OurType{DType::kF32, DataType::kFloat},     OurType{DType::kF16, DataType::kFloat16},
    OurType{DType::kBF16, DataType::kBFloat16}, OurType{DType::kF64, DataType::kDouble},
    OurType{DType::kI8, DataType::kInt8},       OurType{DType::kI16, DataType::kInt16},
    OurType{DType::kI32, DataType::kInt32},     OurType{DType::kI64, DataType::kInt64},
};

View::Dims contiguous_strides(const View::Dims& sizes) {
  View::Dims strides;
  std::int64_t stride = 1;
  for (const std::int64_t size : sizes) {
    strides.push_back(stride);
    stride *= size;
  }
  return strides;
}

}  // namespace

std::int64_t bits_of(DataType type) {
  return row_of(type).bits;
}
bool is_float(DataType type) {
  return row_of(type).is_float;
}
const char* to_text(DataType type) {
  return row_of(type).text;
}
bool has_data_type(DType type) {
  return std::ranges::find(kOurTypes, type, &OurType::ours) != kOurTypes.end();
}
DataType data_type(DType type) {
  return std::ranges::find(kOurTypes, type, &OurType::ours)->type;
}

View::View(DataType type, Dims sizes, DevicePointer data)
    : type_(type), sizes_(std::move(sizes)), strides_(contiguous_strides(sizes_)), data_(data) {}

std::int64_t View::elements() const {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes_) count *= size;
  return count;
}

bool View::is_contiguous() const {
  std::int64_t stride = 1;
  for (std::size_t d = 0; d < rank(); ++d) {
    if (sizes_[d] != 1 && strides_[d] != stride) return false;
    stride *= sizes_[d];
  }
  return true;
}

View View::reshaped(Dims sizes) const {
  View made = *this;
  made.strides_ = contiguous_strides(sizes);
  made.sizes_ = std::move(sizes);
  return made;
}

View View::as(DataType type) const {
  View made = *this;
  made.type_ = type;
  return made;
}

View View::permuted(std::initializer_list<std::size_t> order) const {
  View made = *this;
  std::size_t d = 0;
  for (const std::size_t from : order) {
    made.sizes_[d] = sizes_[from];
    made.strides_[d] = strides_[from];
    ++d;
  }
  return made;
}

View View::transposed() const {
  View made = *this;
  std::swap(made.sizes_[0], made.sizes_[1]);
  std::swap(made.strides_[0], made.strides_[1]);
  return made;
}

View View::sliced(std::size_t dim, std::int64_t start, std::int64_t size, std::int64_t step) const {
  View made = *this;
  if (data_ != nullptr) made.data_ = data_ + start * strides_[dim] * bits_of(type_) / 8;
  made.sizes_[dim] = size;
  made.strides_[dim] = strides_[dim] * step;
  return made;
}

View View::split(std::size_t dim, std::int64_t inner) const {
  View made = *this;
  const auto at = static_cast<std::ptrdiff_t>(dim);
  made.sizes_[dim] = inner;
  made.sizes_.insert(made.sizes_.begin() + at + 1, sizes_[dim] / inner);
  made.strides_.insert(made.strides_.begin() + at + 1, strides_[dim] * inner);
  return made;
}

bool View::can_merge(std::size_t dim) const {
  return sizes_[dim + 1] == 1 || sizes_[dim] == 1 ||
         strides_[dim + 1] == strides_[dim] * sizes_[dim];
}

View View::merged(std::size_t dim) const {
  View made = *this;
  if (sizes_[dim] == 1) made.strides_[dim] = strides_[dim + 1];
  made.sizes_[dim] = sizes_[dim] * sizes_[dim + 1];
  const auto next = static_cast<std::ptrdiff_t>(dim) + 1;
  made.sizes_.erase(made.sizes_.begin() + next);
  made.strides_.erase(made.strides_.begin() + next);
  return made;
}

View View::without(std::size_t dim) const {
  View made = *this;
  made.sizes_.erase(made.sizes_.begin() + static_cast<std::ptrdiff_t>(dim));
  made.strides_.erase(made.strides_.begin() + static_cast<std::ptrdiff_t>(dim));
  return made;
}

View View::with_dim(std::size_t dim) const {
  View made = *this;
  const std::int64_t stride =
      dim < rank() ? strides_[dim] : (rank() == 0 ? 1 : strides_.back() * sizes_.back());
  made.sizes_.insert(made.sizes_.begin() + static_cast<std::ptrdiff_t>(dim), 1);
  made.strides_.insert(made.strides_.begin() + static_cast<std::ptrdiff_t>(dim), stride);
  return made;
}

View View::in_format(Format format) const {
  View made = *this;
  made.format_ = format;
  return made;
}

std::int64_t extent_of(const View& view) {
  if (view.is_empty()) return 0;
  if (view.format() == Format::kFractalNz) return view.elements();
  std::int64_t last = 0;
  for (std::size_t d = 0; d < view.rank(); ++d) last += (view.size(d) - 1) * view.stride(d);
  return last + 1;
}

}  // namespace shunt::cann
