#include "backends/cann/windows.h"

#include <algorithm>

#include "base/ceil_div.h"

namespace shunt::cann {

View pad_sides(Calls& calls, const View& x, std::span<const std::int64_t> pads, float value) {
  if (std::ranges::all_of(pads, [](std::int64_t pad) { return pad == 0; })) return x;
  View::Dims sizes = x.sizes();
  for (std::size_t d = 0; d < pads.size(); ++d) sizes[d] += 2 * pads[d];
  const View made = calls.temporary(x.type(), std::move(sizes));
  calls.fill(made, Scalar(value));
  View inside = made;
  for (std::size_t d = 0; d < pads.size(); ++d) inside = inside.sliced(d, pads[d], x.size(d));
  calls.copy(inside, x);
  return made;
}

View windows_of(const View& x, std::size_t dim, const WindowAxis& axis, std::int64_t positions) {
  View::Dims sizes = x.sizes(), strides = x.strides();
  const auto at = static_cast<std::ptrdiff_t>(dim);
  sizes[dim] = axis.kernel;
  sizes.insert(sizes.begin() + at + 1, positions);
  strides.insert(strides.begin() + at + 1, strides[dim] * axis.stride);
  strides[dim] *= axis.dilation;
  return {x.type(), std::move(sizes), std::move(strides), x.data()};
}

namespace {

/// The elements that a window reaches over.
std::int64_t reach_of(const WindowAxis& axis) {
  return axis.dilation * (axis.kernel - 1) + 1;
}

/// Windows without dilation: its gaps have zeros.
View without_dilation(Calls& calls, const View& x, const WindowAxis& axis) {
  if (axis.dilation == 1 || axis.kernel == 1) return x;
  View::Dims sizes = x.sizes();
  sizes[0] = reach_of(axis);
  const View made = calls.temporary(x.type(), std::move(sizes));
  calls.fill(made, Scalar(0.0F));
  calls.copy(made.sliced(0, 0, axis.kernel, axis.dilation), x);
  return made;
}

}  // namespace

std::int64_t sums_of_windows(const WindowAxis& axis) {
  return ceil_div(reach_of(axis), axis.stride);
}

// An element of a window is number r of the m-th stride in it, at position j of stride j + m of the
// result. So the m-th strides of all windows, moved by m, are added to the strides of the result.
View add_windows(Calls& calls, const View& given, const WindowAxis& axis, std::int64_t size) {
  const View x = without_dilation(calls, given, axis);
  const std::int64_t stride = axis.stride, positions = x.size(1), reach = x.size(0);
  const std::int64_t sums = ceil_div(reach, stride);
  const std::int64_t strides = positions + sums - 1;  // of the result
  const View::Dims others(x.sizes().begin() + 2, x.sizes().end());

  // [stride, ..., places of positions, sums], with zeros around the positions.
  View::Dims sizes = {stride};
  sizes.insert(sizes.end(), others.begin(), others.end());
  const std::size_t place = sizes.size();
  sizes.push_back(positions + 2 * (sums - 1));
  sizes.push_back(sums);
  const View parts = calls.temporary(x.type(), sizes);
  calls.fill(parts, Scalar(0.0F));
  const View inside = parts.sliced(place, sums - 1, positions);
  // From [stride, ..., positions] of one m to [stride, positions, ...].
  const auto positions_second = [&](const View& part) {
    View::Dims part_sizes = {part.size(0), part.size(place)};
    View::Dims part_strides = {part.stride(0), part.stride(place)};
    for (std::size_t d = 1; d < place; ++d) {
      part_sizes.push_back(part.size(d));
      part_strides.push_back(part.stride(d));
    }
    return View(part.type(), std::move(part_sizes), std::move(part_strides), part.data());
  };
  for (std::int64_t m = 0; m < sums; ++m) {
    const std::int64_t count = std::min(stride, reach - m * stride);
    calls.copy(
        positions_second(inside.sliced(place + 1, m, 1).without(place + 1).sliced(0, 0, count)),
        x.sliced(0, m * stride, count));
  }
  const auto moved = [&](std::int64_t m) {
    return parts.sliced(place + 1, m, 1).without(place + 1).sliced(place, sums - 1 - m, strides);
  };
  const View sum = sums == 1 ? moved(0) : calls.contiguous(moved(0));
  for (std::int64_t m = 1; m < sums; ++m) calls(kInplaceAdd, sum, moved(m), Scalar(1.0F));

  // [size, ...]
  const std::int64_t whole = std::max(strides * stride, axis.pad + size);
  View::Dims all = {whole};
  all.insert(all.end(), others.begin(), others.end());
  const View made = calls.temporary(x.type(), std::move(all));
  if (whole > strides * stride) calls.fill(made, Scalar(0.0F));
  calls.copy(made.sliced(0, 0, strides * stride).split(0, stride), positions_second(sum));
  return made.sliced(0, axis.pad, size);
}

}  // namespace shunt::cann
