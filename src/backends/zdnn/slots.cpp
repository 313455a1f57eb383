// Transforms tensors to the machine's layout: once a run, in the form that kernels need.
#include <algorithm>
#include <cmath>

#include "backend_support/level_rows.h"
#include "backend_support/score_mask.h"
#include "backends/zdnn/binding.h"

namespace shunt::zdnn {

namespace {

/// About the number of elements that are checked at once; whole blocks of all types.
constexpr std::int64_t kLookedAt = std::int64_t{1} << 20;
constexpr std::int64_t kUnit = 256;

}  // namespace

Status ZdnnBinding::entered(std::size_t index, std::uint32_t status) {
  if (outcome_of(status) == Outcome::kFailed) {
    return error_of(shared_.machine.zdnn(), name_of<&Symbols::transform_ztensor>(), status);
  }
  slots_[index].filled = true;
  slots_[index].in_range = status == kOk;
  return ok();
}

Status ZdnnBinding::bring_in(std::size_t index, const void* data) {
  return entered(index, shared_.machine.zdnn().transform_ztensor(slots_[index].stick.get(), data));
}

Status ZdnnBinding::fill(std::size_t index) {
  SlotState& slot = slots_[index];
  if (slot.filled) return ok();
  const PreparedSlot& prepared = prepared_.slots[index];
  const HostTensor from = host(prepared.node, slot_sources_[index]);
  if (prepared.form == SourceForm::kMask) return fill_mask(index, from);
  const bool transposed = prepared.form == SourceForm::kTransposed;
  if (!transposed && prepared.form != SourceForm::kSticks) return fill_rows(index, from);
  Sizes sizes = from.sizes;
  if (transposed) std::swap(sizes[0], sizes[1]);
  place(index, dims_of(sizes));
  if (prepared.by_parts) {
    return transpose_parts(index, from, reinterpret_cast<std::byte*>(staging()));
  }
  const void* data = from.data;
  if (transposed) {
    // Before the matrices is room for a row.
    data = staging() + from.sizes[0];
    gather_transposed(from, staging(), staging() + from.sizes[0]);
  } else if (is_host_type(from.dtype) && from.is_dense()) {
    slot.stick.set_host_type(from.dtype);
  } else {
    gather(from, from.sizes, staging());
    data = staging();
  }
  SHUNT_TRY(bring_in(index, data));
  // Where the library does not report finite numbers that are too large, the first operation with
  // them does.
  return slot.in_range || !saturates() ? ok() : saturate(index);
}

template <class One>
Status ZdnnBinding::fill_matrices(std::size_t index, const One& one) {
  SlotState& slot = slots_[index];
  slot.looked_at = true;
  Entered all;
  for (std::int64_t matrix = 0;
       matrix < slot.stick.dims().dim4 && outcome_of(all.status) != Outcome::kFailed; ++matrix) {
    Stick to;
    slot.stick.slice(shared_.machine.zdnn(), matrix, to);
    all.add(one(matrix, to));
  }
  slot.saturated |= all.saturated;
  slot.stick.get()->is_transformed = true;
  return entered(index, all.status);
}

Status ZdnnBinding::transpose_parts(std::size_t index, const HostTensor& from, std::byte* work) {
  return fill_matrices(index, [&](std::int64_t matrix, Stick& to) {
    return stickify_transposed(shared_.machine.zdnn(), from, matrix,
                               {0, from.sizes[0], 0, from.sizes[1]}, work, to.buffer(),
                               saturates());
  });
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
    const NumberRange range = range_of(all, kLargest, saturates());
    slot.saturated = range == NumberRange::kSaturated;
    beyond = range == NumberRange::kBeyond;
  }
  for (std::int64_t i = 0; i < count_rows(from.sizes); ++i) {
    float* const row = numbers + i * from.sizes[0];
    if (centred) {
      take_off_mean(row, from.sizes[0]);
    } else {
      level(row, from.sizes[0], [&](std::int64_t e) { return double{row[e]} * prepared.scale; });
    }
  }
  // Values far below the largest of a row count for nothing, however far; but a row has to have a
  // largest one.
  beyond |= centred ? range_of(all, kLargest, false) == NumberRange::kBeyond
                    : !hide(from.sizes, numbers, -kLargest).rows.empty();
  place(index, dims_of(from.sizes));
  return beyond ? entered(index, kConvertFailure) : bring_in(index, numbers);
}

Status ZdnnBinding::fill_mask(std::size_t index, const HostTensor& from) {
  SlotState& slot = slots_[index];
  const PreparedSlot& prepared = prepared_.slots[index];
  const Symbols& zdnn = shared_.machine.zdnn();
  const Sizes scores = actual_sizes(graph_.node(prepared.scores).result, *dynamic_dims_);
  const Sizes sizes = mask_sizes(from.sizes, scores, prepared.max_bias);
  place(index, dims_of(sizes));
  repeat_mask(from, sizes, prepared.max_bias, staging());
  for (std::int64_t i = 0; i < count_rows(sizes); ++i) {
    float* const row = staging() + i * sizes[0];
    const double largest = level(row, sizes[0], [&](std::int64_t e) { return double{row[e]}; });
    // Scores are negligible relative to that; or some may be nearly as high as this is low.
    const bool beyond = std::isfinite(largest) && std::fabs(largest) > kLargest;
    const auto is_near = [](float value) { return value < -kLargest && value > -4 * kLargest; };
    if (beyond || (!saturates() && std::any_of(row, row + sizes[0], is_near))) {
      return entered(index, kConvertFailure);
    }
  }
  const Hidden hidden = hide(sizes, staging(), -kLargest);
  slot.hides = hidden.some;
  slot.hiding.rows = !hidden.rows.empty();
  const Dims dims = dims_of(sizes);
  if (!slot.hides) return bring_in(index, staging());
  // The shown elements go in behind the mask, and with it.
  const Dims both_dims{2 * dims.dim4, dims.dim2, dims.dim1};
  const std::int64_t numbers = count_rows(sizes) * sizes[0];
  keep_shown(sizes, std::copy_n(staging(), numbers, staging() + numbers) - numbers, -kLargest);
  slot.hiding.shown.set(zdnn, slot.stick.buffer() + stick_bytes(dims), dims);
  if (!too_large(shared_.machine, both_dims).empty()) {
    SHUNT_TRY(bring_in(index, staging()));
    if (!slot.in_range) return ok();
    return entered(index, zdnn.transform_ztensor(slot.hiding.shown.get(), staging() + numbers));
  }
  Stick both;
  both.set(zdnn, slot.stick.buffer(), both_dims);
  slot.stick.get()->is_transformed = slot.hiding.shown.get()->is_transformed = true;
  return entered(index, zdnn.transform_ztensor(both.get(), staging()));
}

/// `all`: brings it in anew where nothing is too large, as well.
Entered ZdnnBinding::saturate_matrix(const HostTensor& from, std::int64_t matrix, bool all,
                                     Stick& to) {
  const Symbols& zdnn = shared_.machine.zdnn();
  const Sizes& n = from.sizes;
  const std::int64_t at_once = std::max(kLookedAt / n[1] / kUnit, std::int64_t{1}) * kUnit;
  std::vector<float> numbers;
  Entered entered;
  for (std::int64_t first = 0; first < n[0]; first += at_once) {
    const std::int64_t count = std::min(at_once, n[0] - first);
    numbers.resize(static_cast<std::size_t>(count * n[1]));
    gather(from, matrix, {first, count, 0, n[1]}, numbers.data());
    const NumberRange range = range_of(numbers, kLargest, true);
    entered.add(
        {range == NumberRange::kBeyond ? kConvertFailure : kOk, range == NumberRange::kSaturated});
    if (range == NumberRange::kBeyond || (range == NumberRange::kInside && !all)) continue;
    Stick columns;
    to.columns(zdnn, first, count, columns);
    columns.get()->is_transformed = false;
    entered.add({zdnn.transform_ztensor(columns.get(), numbers.data())});
    if (outcome_of(entered.status) == Outcome::kFailed) break;
  }
  return entered;
}

Status ZdnnBinding::saturate(std::size_t index) {
  const PreparedSlot& prepared = prepared_.slots[index];
  const HostTensor from = host(prepared.node, slot_sources_[index]);
  if (prepared.form == SourceForm::kTransposed) {
    std::vector<std::byte> work(transpose_bytes(from.sizes[0], from.sizes[1]));
    return transpose_parts(index, from, work.data());
  }
  const bool all = !slots_[index].in_range;
  return fill_matrices(index, [&](std::int64_t matrix, Stick& to) {
    return saturate_matrix(from, matrix, all, to);
  });
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
