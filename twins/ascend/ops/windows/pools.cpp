// The mean or the greatest element of each window of the last two dimensions.
#include <cmath>
#include <limits>

#include "ascend/include/acl/aclnn_index.h"
#include "ascend/ops/windows/window.h"

namespace ascend_twin {
namespace {

namespace pools {
constexpr std::int64_t kLargestKernel = 65535;

/// Both dimensions' windows, the places of a window that are on the tensor, and how many there are
/// with the padding.
struct Cells {
  std::vector<std::int64_t> places;
  std::int64_t padded = 0;
};

Status check_shapes(const Call& call, std::size_t out, const Window (&windows)[2], bool rounds_up) {
  Shape shape = call.view(0).shape;
  for (std::size_t i = 0; i < 2; ++i) {
    if (windows[i].kernel > kLargestKernel)
      return invalid_argument(call, 0, "for windows of " + std::to_string(windows[i].kernel));
    std::int64_t& extent = shape[shape.size() - 2 + i];
    extent = windows_on(windows[i], extent, rounds_up);
    if (extent < 0) return invalid_argument(call, 0, "smaller than its windows");
  }
  return need_shape(call, out, shape);
}

/// Those of one dimension: first place, and one past the last.
struct Span {
  std::int64_t first = 0, padded = 0;
};
Span span_of(const Window& window, std::int64_t extent, std::int64_t number) {
  const std::int64_t first = number * window.stride - window.before;
  const std::int64_t end =
      std::min(first + (window.kernel - 1) * window.dilation + 1, extent + window.after);
  return {first, end - first};
}

Cells cells_of(const Window (&windows)[2], const Shape& self, const Shape& place) {
  const std::size_t rank = self.size();
  const Span down = span_of(windows[0], self[rank - 2], place[rank - 2]);
  const Span across = span_of(windows[1], self[rank - 1], place[rank - 1]);
  Cells cells;
  cells.padded = down.padded * across.padded;
  Shape from = place;
  for (std::int64_t i = 0; i < windows[0].kernel; ++i) {
    from[rank - 2] = down.first + i * windows[0].dilation;
    if (from[rank - 2] < 0 || from[rank - 2] >= self[rank - 2]) continue;
    for (std::int64_t j = 0; j < windows[1].kernel; ++j) {
      from[rank - 1] = across.first + j * windows[1].dilation;
      if (from[rank - 1] < 0 || from[rank - 1] >= self[rank - 1]) continue;
      cells.places.push_back(number_of(self, from));
    }
  }
  return cells;
}

template <class Value>
std::vector<double> of_each_window(const Operand& self, const Operand& out,
                                   const Window (&windows)[2], Value value) {
  const std::vector<double> values = read(self);
  std::vector<double> results;
  sources_of(out.view.shape, [&](const Shape& place) {
    results.push_back(value(values, cells_of(windows, self.view.shape, place)));
    return kFill;
  });
  return results;
}
}  // namespace pools

namespace avg_pool {
enum { kSelf, kKernel, kStride, kPadding, kCeil, kCountPads, kDivisor, kCubeMathType, kOut };

void windows_of(const Call& call, Window (&windows)[2]) {
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t kernel = value_for(call.integers(kKernel), i);
    const std::int64_t pad = value_for(call.integers(kPadding), i);
    windows[i] = {kernel,
                  call.integers(kStride).empty() ? kernel : value_for(call.integers(kStride), i),
                  pad, pad, 1};
  }
}

Status check(Call& call) {
  ASCEND_TWIN_TRY(need_plain(call));
  ASCEND_TWIN_TRY(need_rank(call, kSelf, 3, 4));
  ASCEND_TWIN_TRY(need_same_type(call, kSelf, kOut));
  ASCEND_TWIN_TRY(need_integers(call, kKernel, call.integers(kKernel).size() == 1 ? 1 : 2, 1));
  ASCEND_TWIN_TRY(need_integers(
      call, kStride, call.integers(kStride).size() <= 1 ? call.integers(kStride).size() : 2, 1));
  ASCEND_TWIN_TRY(need_integers(call, kPadding, call.integers(kPadding).size() == 1 ? 1 : 2, 0));
  if (call.integer(kDivisor) < 0 || call.integer(kDivisor) > 255)
    return invalid_argument(call, kSelf, "for divisor " + std::to_string(call.integer(kDivisor)));
  Window windows[2];
  windows_of(call, windows);
  for (const Window& window : windows) {
    if (window.before > window.kernel / 2)
      return invalid_argument(call, kSelf, "for a padding of more than half a window");
  }
  return pools::check_shapes(call, kOut, windows, call.integer(kCeil) != 0);
}

Status run(Kernel& kernel) {
  const Call& call = kernel.call;
  Window windows[2];
  windows_of(call, windows);
  const auto mean = [&](const std::vector<double>& values, const pools::Cells& cells) {
    double sum = 0;
    for (const std::int64_t place : cells.places) sum += values[static_cast<std::size_t>(place)];
    const std::int64_t count = call.integer(kDivisor) != 0     ? call.integer(kDivisor)
                               : call.integer(kCountPads) != 0 ? cells.padded
                                                               : std::ssize(cells.places);
    return sum / static_cast<double>(count);
  };
  write(kernel.operand(kOut),
        pools::of_each_window(kernel.operand(kSelf), kernel.operand(kOut), windows, mean));
  return ACL_SUCCESS;
}

constexpr Op kOp{.name = "AvgPool2d", .roles = "iaaannnno", .check = check, .run = run};
}  // namespace avg_pool

namespace max_pool {
enum { kSelf, kKernel, kStride, kAutoPad, kPads, kDilations, kCeil, kOut };

/// Pads: none, one for all, one for each dimension, or [top, left, bottom, right].
std::int64_t pad_of(const Call& call, std::size_t dimension, bool after) {
  const std::vector<std::int64_t>& pads = call.integers(kPads);
  if (pads.empty()) return 0;
  return pads.size() == 4 ? pads[dimension + (after ? 2 : 0)] : value_for(pads, dimension);
}

void windows_of(const Call& call, Window (&windows)[2]) {
  for (std::size_t i = 0; i < 2; ++i) {
    const auto value = [&](std::size_t position) {
      return call.integers(position).empty() ? 1 : value_for(call.integers(position), i);
    };
    windows[i] = {value(kKernel), value(kStride), pad_of(call, i, false), pad_of(call, i, true),
                  value(kDilations)};
  }
}

Status check(Call& call) {
  ASCEND_TWIN_TRY(need_plain(call));
  ASCEND_TWIN_TRY(need_rank(call, kSelf, 3, 4));
  ASCEND_TWIN_TRY(need_same_type(call, kSelf, kOut));
  if (call.integer(kAutoPad) != 0)
    return invalid_argument(call, kSelf, "for autoPad " + std::to_string(call.integer(kAutoPad)));
  ASCEND_TWIN_TRY(need_integers(call, kKernel, call.integers(kKernel).size() == 1 ? 1 : 2, 1));
  for (const std::size_t position : {kStride, kDilations, kPads}) {
    const std::size_t size = call.integers(position).size();
    const std::size_t wanted = size <= 2 ? size : position == kPads ? 4 : 2;
    ASCEND_TWIN_TRY(need_integers(call, position, wanted, position == kPads ? 0 : 1));
  }
  Window windows[2];
  windows_of(call, windows);
  return pools::check_shapes(call, kOut, windows, call.integer(kCeil) != 0);
}

Status run(Kernel& kernel) {
  Window windows[2];
  windows_of(kernel.call, windows);
  const auto greatest = [](const std::vector<double>& values, const pools::Cells& cells) {
    double most = -std::numeric_limits<double>::infinity();
    for (const std::int64_t place : cells.places) {
      const double value = values[static_cast<std::size_t>(place)];
      if (std::isnan(value)) return value;
      most = std::max(most, value);
    }
    return most;
  };
  write(kernel.operand(kOut),
        pools::of_each_window(kernel.operand(kSelf), kernel.operand(kOut), windows, greatest));
  return ACL_SUCCESS;
}

constexpr Op kOp{.name = "MaxPool", .roles = "iaanaano", .check = check, .run = run};
}  // namespace max_pool

}  // namespace
}  // namespace ascend_twin

ASCEND_OP(AvgPool2d, ascend_twin::avg_pool::kOp,
          (self, kernelSize, stride, padding, ceilMode, countIncludePad, divisorOverride,
           cubeMathType, out),
          const aclTensor* self, const aclIntArray* kernelSize, const aclIntArray* stride,
          const aclIntArray* padding, const bool ceilMode, const bool countIncludePad,
          const int64_t divisorOverride, int8_t cubeMathType, aclTensor* out)
ASCEND_OP(MaxPool, ascend_twin::max_pool::kOp,
          (self, kernelShape, strides, autoPad, pads, dilations, ceilMode, out),
          const aclTensor* self, const aclIntArray* kernelShape, const aclIntArray* strides,
          const int64_t autoPad, const aclIntArray* pads, const aclIntArray* dilations,
          const int64_t ceilMode, aclTensor* out)
