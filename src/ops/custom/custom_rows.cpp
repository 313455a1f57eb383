// Rows of any type for custom functions.
#include <cstring>

#include "ops/custom/custom.h"
#include "shunt/message.h"

namespace shunt {

namespace {

template <class T>
Status check_row(const T& tensor, std::size_t given, std::int64_t i1, std::int64_t i2,
                 std::int64_t i3) {
  const Sizes& sizes = tensor.sizes;
  if (given != static_cast<std::size_t>(sizes[0])) {
    return invalid("a row has {} elements, not {}", sizes[0], given);
  }
  const auto is_inside = [&](std::size_t dim, std::int64_t i) { return i >= 0 && i < sizes[dim]; };
  if (is_inside(1, i1) && is_inside(2, i2) && is_inside(3, i3)) return ok();
  return invalid("there is no row [{}, {}, {}] in [{}, {}, {}, {}]", i1, i2, i3, sizes[0], sizes[1],
                 sizes[2], sizes[3]);
}

template <class T>
auto row_of(const T& tensor, std::int64_t i1, std::int64_t i2, std::int64_t i3) {
  return tensor.data + i1 * tensor.strides[1] + i2 * tensor.strides[2] + i3 * tensor.strides[3];
}

}  // namespace

Error wrong_custom_type(DType found, DType wanted) {
  return invalid("its elements are {}, not {}", to_string(found), to_string(wanted));
}

Error no_custom_source(std::size_t wanted, std::size_t count) {
  return invalid("there is no source {}: there {} {}", wanted, count == 1 ? "is" : "are", count);
}

Status CustomSource::read_row(std::span<float> to, std::int64_t i1, std::int64_t i2,
                              std::int64_t i3) const {
  SHUNT_TRY(check_row(*this, to.size(), i1, i2, i3));
  const std::byte* row = row_of(*this, i1, i2, i3);
  const DTypeTrait& type = trait(dtype);
  // Elements of plain types need not be adjacent; blocks always are.
  if (strides[0] == static_cast<std::int64_t>(type.block_bytes)) {
    type.decode(row, to.data(), sizes[0]);
    return ok();
  }
  for (std::int64_t i = 0; i < sizes[0]; ++i) {
    type.decode(row + i * strides[0], &to[static_cast<std::size_t>(i)], 1);
  }
  return ok();
}

Status CustomResult::write_row(std::span<const float> from, std::int64_t i1, std::int64_t i2,
                               std::int64_t i3) const {
  SHUNT_TRY(check_row(*this, from.size(), i1, i2, i3));
  const DTypeTrait& type = trait(dtype);
  if (type.encode == nullptr) {
    return fail(ErrorCode::kUnsupported, "{} can't be encoded without importance", type.name);
  }
  type.encode(from.data(), row_of(*this, i1, i2, i3), sizes[0]);
  return ok();
}

}  // namespace shunt
