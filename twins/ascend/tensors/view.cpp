#include "ascend/tensors/view.h"

#include <algorithm>
#include <utility>

namespace ascend_twin {

std::int64_t elements_of(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return count;
}

std::string text_of(const Shape& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  }
  return text + "]";
}

Shape contiguous_strides(const Shape& shape) {
  Shape strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    // Sizes are not checked yet: without a sign, as their product may overflow.
    stride = static_cast<std::int64_t>(static_cast<std::uint64_t>(stride) *
                                       static_cast<std::uint64_t>(shape[i]));
  }
  return strides;
}

bool View::is_contiguous() const {
  std::int64_t expected = 1;
  for (std::size_t i = rank(); i-- > 0;) {
    if (shape[i] != 1 && strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

bool View::reach_overflows() const {
  std::int64_t first = offset;
  std::int64_t last = offset;
  for (std::size_t i = 0; i < rank(); ++i) {
    if (shape[i] < 2) continue;
    std::int64_t length = 0;
    std::int64_t& end = strides[i] < 0 ? first : last;
    if (__builtin_mul_overflow(shape[i] - 1, strides[i], &length) ||
        __builtin_add_overflow(end, length, &end))
      return true;
  }
  return first < -kMostElements || last > kMostElements;
}

View::Fault View::fault() const {
  const auto is_negative = [](std::int64_t size) { return size < 0; };
  if (std::ranges::any_of(shape, is_negative) || std::ranges::any_of(storage, is_negative))
    return Fault::kNegativeSize;
  constexpr std::int64_t kPadding = 64;  // the greatest side of a fractal
  std::int64_t count = 1;
  for (std::size_t i = 0; i < rank(); ++i) {
    const bool is_padded = rank() >= 2 && i + 2 >= rank();
    const std::int64_t size = std::max<std::int64_t>(shape[i], is_padded ? kPadding : 1);
    if (__builtin_mul_overflow(count, size, &count) || count > kMostElements)
      return Fault::kOverflow;
  }
  std::int64_t stored = 1;
  for (const std::int64_t size : storage) {
    if (__builtin_mul_overflow(stored, std::max<std::int64_t>(size, 1), &stored) ||
        stored > kMostElements)
      return Fault::kOverflow;
  }
  return reach_overflows() ? Fault::kOverflow : Fault::kNone;
}

bool View::is_transposed() const {
  if (rank() < 2) return false;
  View swapped = *this;
  std::swap(swapped.shape[rank() - 1], swapped.shape[rank() - 2]);
  std::swap(swapped.strides[rank() - 1], swapped.strides[rank() - 2]);
  return !is_contiguous() && swapped.is_contiguous();
}

View broadcast(View view, const Shape& shape) {
  const std::size_t added = shape.size() - view.rank();
  Shape strides(shape.size(), 0);
  for (std::size_t i = added; i < shape.size(); ++i) {
    strides[i] = view.shape[i - added] == shape[i] ? view.strides[i - added] : 0;
  }
  view.shape = shape;
  view.strides = strides;
  return view;
}

bool broadcast_shapes(const Shape& a, const Shape& b, Shape* result) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  *result = longer;
  const std::size_t added = longer.size() - shorter.size();
  for (std::size_t i = added; i < longer.size(); ++i) {
    const std::int64_t other = shorter[i - added];
    if (longer[i] == 1) {
      (*result)[i] = other;
    } else if (other != 1 && other != longer[i]) {
      return false;
    }
  }
  return true;
}

View dense_view(aclDataType type, const Shape& shape, void* base) {
  View view;
  view.type = type;
  view.shape = shape;
  view.strides = contiguous_strides(shape);
  view.storage = shape;
  view.base = base;
  return view;
}

}  // namespace ascend_twin
