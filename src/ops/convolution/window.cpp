#include "ops/convolution/window.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "ops/common/checks.h"
#include "ops/common/type_lists.h"
#include "tensor/checked.h"

namespace shunt {

namespace {

/// Products of two of these, and some more, are within 63 bits.
constexpr std::int64_t kMost = 0x7fffffff;

template <std::size_t N>
std::string text_of(const PerAxis<N>& values) {
  if constexpr (N == 1) return fmt::format("{}", values[0]);
  return fmt::format("[{}]", fmt::join(values, ", "));
}

template <std::size_t N>
Status expect_between(std::string_view name, const PerAxis<N>& values, std::int64_t least) {
  for (const std::int64_t each : values) {
    if (each >= least && each <= kMost) continue;
    return invalid("{} is {}, but {} must be from {} to {}", name, text_of(values),
                   N == 1 ? "it" : "each", least, kMost);
  }
  return ok();
}

template <std::size_t N>
Status expect_window(const WindowOf<N>& window) {
  SHUNT_TRY(expect_between("the kernel", window.kernel, 1));
  SHUNT_TRY(expect_between("stride", window.stride, 1));
  SHUNT_TRY(expect_between("pad", window.pad, 0));
  return expect_between("dilation", window.dilation, 1);
}

/// N sizes of x from a dimension on, which are fixed.
template <std::size_t N>
Result<PerAxis<N>> fixed_sizes(const Tensor& x, std::size_t first) {
  PerAxis<N> sizes = {};
  for (std::size_t axis = 0; axis < N; ++axis) {
    SHUNT_TRY(expect_fixed("x", x, first + axis));
    sizes[axis] = x.shape[first + axis].max;
  }
  return sizes;
}

/// How many elements a window reaches over.
template <std::size_t N>
std::int64_t reach(const WindowOf<N>& window, std::size_t axis) {
  return window.dilation[axis] * (window.kernel[axis] - 1) + 1;
}

}  // namespace

template <std::size_t N>
Result<PerAxis<N>> positions(const WindowOf<N>& window, const Tensor& x) {
  SHUNT_TRY(expect_float_type("x", x));
  SHUNT_ASSIGN(const PerAxis<N> sizes, fixed_sizes<N>(x, 0));
  SHUNT_TRY(expect_window(window));
  SHUNT_TRY(expect_between("the size of an image", sizes, 0));
  PerAxis<N> count = {};
  for (std::size_t axis = 0; axis < N; ++axis) {
    const std::int64_t image = sizes[axis] + 2 * window.pad[axis];
    const std::int64_t reached = reach(window, axis);
    if (reached > image) {
      return invalid(
          "the kernel reaches over {} elements of dimension {} of x, which has {} with pad",
          reached, axis, image);
    }
    count[axis] = (image - reached) / window.stride[axis] + 1;
  }
  return count;
}

template <std::size_t N>
Result<PerAxis<N>> covered(const WindowOf<N>& window, const Tensor& x, std::size_t first) {
  SHUNT_ASSIGN(const PerAxis<N> count, fixed_sizes<N>(x, first));
  SHUNT_TRY(expect_window(window));
  SHUNT_TRY(expect_between("the number of positions", count, 1));
  PerAxis<N> image = {};
  for (std::size_t axis = 0; axis < N; ++axis) {
    const std::int64_t whole = (count[axis] - 1) * window.stride[axis] + reach(window, axis);
    image[axis] = whole - 2 * window.pad[axis];
    if (image[axis] >= 1) continue;
    return invalid(
        "the windows cover {} elements along axis {}, and a pad of {} removes all of them", whole,
        axis, window.pad[axis]);
  }
  return image;
}

template Result<PerAxis<1>> positions(const WindowOf<1>&, const Tensor&);
template Result<PerAxis<2>> positions(const WindowOf<2>&, const Tensor&);
template Result<PerAxis<3>> positions(const WindowOf<3>&, const Tensor&);
template Result<PerAxis<1>> covered(const WindowOf<1>&, const Tensor&, std::size_t);
template Result<PerAxis<2>> covered(const WindowOf<2>&, const Tensor&, std::size_t);

Status expect_kernels(const Tensor& w) {
  SHUNT_TRY(expect_type("w", w, {DType::kF32, DType::kF16, DType::kBF16}));
  for (std::size_t i = 0; i < kMaxDims; ++i) SHUNT_TRY(expect_fixed("w", w, i));
  return ok();
}

Status expect_float_type(std::string_view name, DType type) {
  if (std::ranges::find(kFloatTypes, type) != kFloatTypes.end()) return ok();
  return invalid("{} is {}, not F32, F16 or BF16", name, to_string(type));
}

Result<Dim> groups(std::string_view name, const Tensor& tensor, int dim, std::int64_t channels) {
  SHUNT_TRY(expect_between("channels", PerAxis<1>{channels}, 1));
  Dim count = tensor.shape[static_cast<std::size_t>(dim)];
  if (!divides(channels, count)) {
    return invalid("dimension {} of {} is {}, which is not a multiple of the {} channels", dim,
                   name, to_string(count), channels);
  }
  count.max /= channels;
  count.factor /= channels;
  return count;
}

Result<Dim> checked_times(const Dim& dim, std::int64_t n) {
  Dim product = dim;
  if (multiply_into(&product.max, n) && multiply_into(&product.factor, n)) return product;
  return invalid("{} times {} has more than 63 bits", to_string(dim), n);
}

double padded(const RefTensor& x, std::int64_t i0, std::int64_t i1, std::int64_t i2,
              std::int64_t i3) {
  const Sizes i = {i0, i1, i2, i3};
  for (std::size_t d = 0; d < kMaxDims; ++d) {
    if (i[d] < 0 || i[d] >= x.sizes[d]) return 0;
  }
  return x.at(i0, i1, i2, i3);
}

}  // namespace shunt
