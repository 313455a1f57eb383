#include "ascend/tensors/move.h"

#include <cstring>

namespace ascend_twin {
namespace {

using Cells = std::vector<std::byte>;

/// Bytes of an element outside of memory: an INT4 has one of its own.
std::size_t width_of(aclDataType type) {
  return (bits_of(type) + 7) / 8;
}

class Places {
 public:
  explicit Places(const View& view) : view_(view), plain_(view.is_contiguous() && !view.is_nz()) {}
  std::uint64_t operator()(std::int64_t number) const {
    return static_cast<std::uint64_t>(plain_ ? view_.offset + number : view_.place_of(number));
  }

 private:
  const View& view_;
  bool plain_;
};

void load(const Operand& from, std::uint64_t place, std::byte* cell) {
  if (from.view.type == ACL_INT4) {
    *cell = static_cast<std::byte>(decode_integer(ACL_INT4, from.host, place));
    return;
  }
  const std::size_t width = width_of(from.view.type);
  std::memcpy(cell, from.host + place * width, width);
}

void store(const Operand& to, std::uint64_t place, const std::byte* cell) {
  if (to.view.type == ACL_INT4) {
    encode_integer(ACL_INT4, to.host, place, static_cast<std::int64_t>(*cell));
  } else {
    const std::size_t width = width_of(to.view.type);
    std::memcpy(to.host + place * width, cell, width);
  }
  if (to.range == nullptr) return;
  const std::uint64_t bits = bits_of(to.view.type);
  const auto base = static_cast<std::uint64_t>(to.host - to.range->host);
  to.range->written->mark(base + place * bits / 8, (bits + 7) / 8);
}

void store_all(const Operand& to, const Cells& cells) {
  const Places places(to.view);
  const std::size_t width = width_of(to.view.type);
  const std::int64_t count = to.view.elements();
  for (std::int64_t i = 0; i < count; ++i)
    store(to, places(i), cells.data() + static_cast<std::size_t>(i) * width);
}

Cells cell_of(aclDataType type, const Filling& filling, bool saturates) {
  Cells cell(8);
  if (filling.is_real || is_float(type)) {
    encode(type, cell.data(), 0, filling.is_real ? filling.real : double(filling.integer),
           saturates);
  } else {
    encode_integer(type, cell.data(), 0, filling.integer);
  }
  cell.resize(width_of(type));
  return cell;
}

/// Of equal types: as it is. Integers become integers without a detour over floats.
void convert(const Operand& from, const Operand& to) {
  if (!is_float(from.view.type) && !is_float(to.view.type)) {
    write_integers(to, read_integers(from));
  } else {
    write(to, read(from));
  }
}

}  // namespace

Operand viewed(Operand operand, const View& view) {
  operand.view = view;
  return operand;
}

View narrowed(View view, std::size_t axis, std::int64_t start, std::int64_t count,
              std::int64_t step) {
  view.offset += start * view.strides[axis];
  view.strides[axis] *= step;
  view.shape[axis] = count;
  return view;
}

void copy_elements(const Operand& from, const Operand& to) {
  if (from.view.elements() == 0) return;
  if (from.view.type != to.view.type) {
    convert(from, to);
    return;
  }
  const Places places(from.view);
  const std::size_t width = width_of(from.view.type);
  const std::int64_t count = from.view.elements();
  Cells cells(static_cast<std::size_t>(count) * width);
  for (std::int64_t i = 0; i < count; ++i)
    load(from, places(i), cells.data() + static_cast<std::size_t>(i) * width);
  store_all(to, cells);
}

void pick_elements(const Operand& from, std::span<const std::int64_t> sources, const Operand& to,
                   const Filling& filling) {
  const aclDataType type = from.view.type;
  if (type != to.view.type) {
    // First in the source's type, then converted as a whole. Cells of INT4 are not in memory form.
    Cells memory(sources.size() * 8);
    Operand picked;
    picked.view = dense_view(type, to.view.shape, memory.data());
    picked.host = memory.data();
    picked.saturates = to.saturates;
    pick_elements(from, sources, picked, filling);
    convert(picked, to);
    return;
  }
  const Places places(from.view);
  const std::size_t width = width_of(type);
  const Cells cell = cell_of(type, filling, to.saturates);
  Cells cells(sources.size() * width);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    std::byte* const target = cells.data() + i * width;
    if (sources[i] == kFill) {
      std::memcpy(target, cell.data(), width);
    } else {
      load(from, places(sources[i]), target);
    }
  }
  store_all(to, cells);
}

void fill_elements(const Operand& to, const Filling& filling) {
  const Cells cell = cell_of(to.view.type, filling, to.saturates);
  const Places places(to.view);
  const std::int64_t count = to.view.elements();
  for (std::int64_t i = 0; i < count; ++i) store(to, places(i), cell.data());
}

}  // namespace ascend_twin
