// How tensors come into the machine's layout: once a run, in the form that kernels want.
#include <algorithm>
#include <cmath>

#include "backends/zdnn/binding.h"
#include "backends/zdnn/mask.h"
#include "backends/zdnn/rows.h"

namespace shunt::zdnn {

namespace {

/// Numbers that are looked at at once, about; by whole blocks of all types.
constexpr std::int64_t kLookedAt = std::int64_t{1} << 20;
constexpr std::int64_t kUnit = 256;

/// All matrices transposed, dense; before them is room for a row.
const float* gather_transposed(const HostTensor& from, float* staging) {
  float* const first = staging + from.sizes[0];
  float* to = first;
  for (std::int64_t i3 = 0; i3 < from.sizes[3]; ++i3) {
    for (std::int64_t i2 = 0; i2 < from.sizes[2]; ++i2) {
      gather_transposed(from, i2, i3, 0, from.sizes[1], 0, from.sizes[0], staging, to);
      to += from.sizes[0] * from.sizes[1];
    }
  }
  return first;
}

}  // namespace

Status ZdnnBinding::entered(std::size_t index, std::uint32_t status) {
  if (outcome_of(status) == Outcome::kFailed) {
    return error_of(shared_.machine.zdnn(), "zdnn_transform_ztensor", status);
  }
  slots_[index].filled = true;
  slots_[index].in_range = status == kOk;
  return ok();
}

Status ZdnnBinding::fill(std::size_t index) {
  SlotState& slot = slots_[index];
  if (slot.filled) return ok();
  const PreparedSlot& prepared = prepared_.slots[index];
  const HostTensor from = host(prepared.node, slot_sources_[index]);
  if (prepared.form == SourceForm::kMask) return fill_mask(index, from);
  if (prepared.form == SourceForm::kTransposed) return fill_transposed(index, from);
  if (prepared.form != SourceForm::kSticks) return fill_rows(index, from);
  const Symbols& zdnn = shared_.machine.zdnn();
  slot.stick.set(zdnn, scratch_ + prepared_.offsets[prepared.piece], dims_of(from.sizes));
  const void* data = from.data;
  if (is_host_type(from.dtype) && from.is_dense()) {
    slot.stick.set_host_type(from.dtype);
  } else {
    gather(from, from.sizes, staging());
    data = staging();
  }
  SHUNT_TRY(entered(index, zdnn.transform_ztensor(slot.stick.get(), data)));
  // Where the library says nothing of finite numbers that are too large, the first to compute with
  // them does.
  return slot.in_range || !shared_.machine.saturates() ? ok() : saturate(index);
}

Status ZdnnBinding::fill_transposed(std::size_t index, const HostTensor& from) {
  SlotState& slot = slots_[index];
  const PreparedSlot& prepared = prepared_.slots[index];
  const Symbols& zdnn = shared_.machine.zdnn();
  Sizes sizes = from.sizes;
  std::swap(sizes[0], sizes[1]);
  slot.stick.set(zdnn, scratch_ + prepared_.offsets[prepared.piece], dims_of(sizes));
  if (prepared.by_parts) {
    return transpose_parts(index, from, reinterpret_cast<std::byte*>(staging()));
  }
  const float* const data = gather_transposed(from, staging());
  SHUNT_TRY(entered(index, zdnn.transform_ztensor(slot.stick.get(), data)));
  return slot.in_range || !shared_.machine.saturates() ? ok() : saturate(index);
}

Status ZdnnBinding::transpose_parts(std::size_t index, const HostTensor& from, std::byte* work) {
  SlotState& slot = slots_[index];
  slot.looked_at = true;
  const Symbols& zdnn = shared_.machine.zdnn();
  std::uint32_t status = kOk;
  for (std::int64_t matrix = 0; matrix < slot.stick.dims().dim4; ++matrix) {
    Stick to;
    slot.stick.slice(zdnn, matrix, to);
    const MatrixPart part = {matrix % from.sizes[2], matrix / from.sizes[2], 0, from.sizes[1], 0,
                             from.sizes[0]};
    const Entered one =
        stickify_transposed(zdnn, from, part, work, to.buffer(), shared_.machine.saturates());
    slot.saturated |= one.saturated;
    if (one.status != kOk) status = one.status;
    if (outcome_of(status) == Outcome::kFailed) break;
  }
  slot.stick.get()->is_transformed = true;
  return entered(index, status);
}

Status ZdnnBinding::fill_rows(std::size_t index, const HostTensor& from) {
  SlotState& slot = slots_[index];
  const PreparedSlot& prepared = prepared_.slots[index];
  slot.looked_at = true;
  float* const numbers = staging();
  gather(from, from.sizes, numbers);
  const std::span all(numbers, static_cast<std::size_t>(count_rows(from.sizes) * from.sizes[0]));
  const bool centred = prepared.form == SourceForm::kCentred;
  bool beyond = false;
  if (centred) {
    const Range range = range_of(all, shared_.machine.saturates());
    slot.saturated = range == Range::kSaturated;
    beyond = range == Range::kBeyond;
  }
  for (std::int64_t i = 0; i < count_rows(from.sizes); ++i) {
    float* const row = numbers + i * from.sizes[0];
    if (centred) {
      take_off_mean(row, from.sizes[0]);
    } else {
      level(row, from.sizes[0], [&](std::int64_t e) { return double{row[e]} * prepared.scale; });
    }
  }
  // What is far below the largest of a row counts for nothing, however far; but a row has to have
  // one.
  beyond |=
      centred ? range_of(all, false) == Range::kBeyond : !hide(from.sizes, numbers).rows.empty();
  const Symbols& zdnn = shared_.machine.zdnn();
  slot.stick.set(zdnn, scratch_ + prepared_.offsets[prepared.piece], dims_of(from.sizes));
  if (beyond) return entered(index, kConvertFailure);
  return entered(index, zdnn.transform_ztensor(slot.stick.get(), numbers));
}

Status ZdnnBinding::fill_mask(std::size_t index, const HostTensor& from) {
  SlotState& slot = slots_[index];
  const PreparedSlot& prepared = prepared_.slots[index];
  const Symbols& zdnn = shared_.machine.zdnn();
  const Sizes scores = actual_sizes(graph_.node(prepared.scores).result, *extents_);
  const Sizes sizes = mask_sizes(from.sizes, scores, prepared.max_bias);
  slot.stick.set(zdnn, scratch_ + prepared_.offsets[prepared.piece], dims_of(sizes));
  repeat_mask(from, sizes, prepared.max_bias, staging());
  for (std::int64_t i = 0; i < count_rows(sizes); ++i) {
    float* const row = staging() + i * sizes[0];
    const double largest = level(row, sizes[0], [&](std::int64_t e) { return double{row[e]}; });
    // Scores are nothing beside that; or there may be some that are nearly as high as this is low.
    const bool beyond = std::isfinite(largest) && std::fabs(largest) > kLargest;
    const auto is_near = [](float value) { return value < -kLargest && value > -4 * kLargest; };
    if (beyond || (!shared_.machine.saturates() && std::any_of(row, row + sizes[0], is_near))) {
      return entered(index, kConvertFailure);
    }
  }
  const Hidden hidden = hide(sizes, staging());
  slot.hides = hidden.some;
  slot.hiding.rows = !hidden.rows.empty();
  const Dims dims = dims_of(sizes);
  if (!slot.hides) return entered(index, zdnn.transform_ztensor(slot.stick.get(), staging()));
  // What is shown goes in behind the mask, and with it.
  const Dims both_dims{2 * dims.dim4, dims.dim2, dims.dim1};
  const std::int64_t numbers = count_rows(sizes) * sizes[0];
  keep_shown(sizes, std::copy_n(staging(), numbers, staging() + numbers) - numbers);
  slot.hiding.shown.set(zdnn, slot.stick.buffer() + stick_bytes(dims), dims);
  if (!too_large(shared_.machine, both_dims).empty()) {
    SHUNT_TRY(entered(index, zdnn.transform_ztensor(slot.stick.get(), staging())));
    if (!slot.in_range) return ok();
    return entered(index, zdnn.transform_ztensor(slot.hiding.shown.get(), staging() + numbers));
  }
  Stick both;
  both.set(zdnn, slot.stick.buffer(), both_dims);
  slot.stick.get()->is_transformed = slot.hiding.shown.get()->is_transformed = true;
  return entered(index, zdnn.transform_ztensor(both.get(), staging()));
}

/// `all`: brings it in anew where nothing is too large, as well.
Result<Entered> ZdnnBinding::saturate_matrix(const HostTensor& from, std::int64_t matrix, bool all,
                                             Stick& to) {
  const Sizes& n = from.sizes;
  const std::int64_t at_once = std::max(kLookedAt / n[1] / kUnit, std::int64_t{1}) * kUnit;
  std::vector<float> numbers;
  Entered entered;
  for (std::int64_t first = 0; first < n[0]; first += at_once) {
    const std::int64_t count = std::min(at_once, n[0] - first);
    numbers.resize(static_cast<std::size_t>(count * n[1]));
    for (std::int64_t row = 0; row < n[1]; ++row) {
      read_floats(from, from.row(row, matrix % n[2], matrix / n[2]), first, count,
                  numbers.data() + row * count);
    }
    const Range range = range_of(numbers, true);
    entered.saturated |= range == Range::kSaturated;
    if (range == Range::kBeyond) entered.status = kConvertFailure;
    if (range == Range::kBeyond || (range == Range::kInside && !all)) continue;
    Stick columns;
    to.columns(shared_.machine.zdnn(), first, count, columns);
    columns.get()->is_transformed = false;
    const std::uint32_t status =
        shared_.machine.zdnn().transform_ztensor(columns.get(), numbers.data());
    if (outcome_of(status) == Outcome::kFailed) return Entered{status};
    if (status != kOk) entered.status = status;
  }
  return entered;
}

Status ZdnnBinding::saturate(std::size_t index) {
  SlotState& slot = slots_[index];
  slot.looked_at = true;
  const PreparedSlot& prepared = prepared_.slots[index];
  const HostTensor from = host(prepared.node, slot_sources_[index]);
  if (prepared.form == SourceForm::kTransposed) {
    std::vector<std::byte> work(transpose_bytes(from.sizes[0]));
    return transpose_parts(index, from, work.data());
  }
  std::uint32_t status = kOk;
  for (std::int64_t matrix = 0; matrix < slot.stick.dims().dim4; ++matrix) {
    Stick to;
    slot.stick.slice(shared_.machine.zdnn(), matrix, to);
    SHUNT_ASSIGN(const Entered one, saturate_matrix(from, matrix, !slot.in_range, to));
    slot.saturated |= one.saturated;
    if (one.status != kOk) status = one.status;
    if (outcome_of(status) == Outcome::kFailed) break;
  }
  slot.stick.get()->is_transformed = true;
  return entered(index, status);
}

Result<bool> ZdnnBinding::saturate_sources(std::size_t index) {
  bool other = false;
  for (const PreparedSource& source : prepared_.nodes[index].sources) {
    if (source.kind != SourceKind::kSticks || source.form == SourceForm::kMask) continue;
    SlotState& slot = slots_[source.slot];
    if (!prepared_.slots[source.slot].comes_in || slot.looked_at) continue;
    SHUNT_TRY(saturate(source.slot));
    other = other || slot.saturated || !slot.in_range;
  }
  return other;
}

}  // namespace shunt::zdnn
