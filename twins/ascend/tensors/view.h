// A tensor's description, as operators see it: a copy that later changes of the descriptor do not
// reach. Shapes, strides and offsets are in elements, the outermost dimension first.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ascend/include/acl/acl_types.h"
#include "ascend/numbers/numbers.h"

namespace ascend_twin {

using Shape = std::vector<std::int64_t>;

std::int64_t elements_of(const Shape& shape);
std::string text_of(const Shape& shape);  ///< "[2, 3]"
Shape contiguous_strides(const Shape& shape);

/// Far beyond any memory, and far below the overflow of a count of bits.
inline constexpr std::int64_t kMostElements = std::int64_t{1} << 51;

struct View {
  aclDataType type = ACL_DT_UNDEFINED;
  aclFormat format = ACL_FORMAT_ND;
  Shape shape, strides;
  std::int64_t offset = 0;
  Shape storage;  ///< the shape of the memory below
  void* base = nullptr;

  std::size_t rank() const { return shape.size(); }
  std::int64_t elements() const { return elements_of(shape); }
  bool is_nz() const { return format == ACL_FORMAT_FRACTAL_NZ; }
  bool is_contiguous() const;
  /// The last two dimensions swapped, everything else in order.
  bool is_transposed() const;
  /// Elements of the storage from its base.
  std::int64_t storage_elements() const { return elements_of(storage); }

  /// First and one past the last element that the view reaches, from the base; {0, 0} if empty.
  struct Reach {
    std::int64_t begin = 0, end = 0;
  };
  Reach reach() const;
  /// Why no arithmetic with the view is safe: a negative size, or counts of elements and places
  /// beyond kMostElements, with room for the padding of NZ.
  enum class Fault : std::uint8_t { kNone, kNegativeSize, kOverflow };
  Fault fault() const;
  /// Whether the places of elements leave the range of kMostElements.
  bool reach_overflows() const;
  /// Place of the element `number` in logical order, from the base. NZ goes by its own formula
  /// (nz.h), never by strides.
  std::int64_t place_of(std::int64_t number) const;
};

/// With strides of 0 where the shape broadcasts. The shapes must fit.
View broadcast(View view, const Shape& shape);
/// Numpy's rules; false if the shapes do not fit.
bool broadcast_shapes(const Shape& a, const Shape& b, Shape* result);

/// A contiguous ND view.
View dense_view(aclDataType type, const Shape& shape, void* base);

}  // namespace ascend_twin
