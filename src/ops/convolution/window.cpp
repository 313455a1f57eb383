#include "ops/convolution/window.h"

#include "ops/common/cases.h"
#include "ops/common/checks.h"

namespace shunt {

namespace {

/// Products of two of these, and some more, are within 63 bits.
constexpr std::int64_t kMost = 0x7fffffff;

Status expect_between(std::string_view name, const Pair& pair, std::int64_t least) {
  for (const std::int64_t each : pair) {
    if (each >= least && each <= kMost) continue;
    return invalid("{} is [{}, {}], but both must be from {} to {}", name, pair[0], pair[1], least,
                   kMost);
  }
  return ok();
}

}  // namespace

Result<Pair> positions(const Window& window, const Tensor& x) {
  SHUNT_TRY(expect_type("x", x, {DType::kF32}));
  for (std::size_t i = 0; i < 3; ++i) {
    if (x.shape[i].is_fixed()) continue;
    return invalid("dimension {} of x is {}, an extent, but must be fixed", i,
                   to_string(x.shape[i]));
  }
  SHUNT_TRY(expect_between("the kernel", window.kernel, 1));
  SHUNT_TRY(expect_between("stride", window.stride, 1));
  SHUNT_TRY(expect_between("pad", window.pad, 0));
  SHUNT_TRY(expect_between("dilation", window.dilation, 1));
  SHUNT_TRY(expect_between("the size of an image", {x.size(0), x.size(1)}, 0));
  Pair count = {};
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::int64_t image = x.size(static_cast<int>(axis)) + 2 * window.pad[axis];
    const std::int64_t reach = window.dilation[axis] * (window.kernel[axis] - 1) + 1;
    if (reach > image) {
      return invalid(
          "the kernel reaches over {} elements of dimension {} of x, which has {} with pad", reach,
          axis, image);
    }
    count[axis] = (image - reach) / window.stride[axis] + 1;
  }
  return count;
}

double padded(const RefTensor& x, std::int64_t ix, std::int64_t iy, std::int64_t c,
              std::int64_t n) {
  const bool inside = ix >= 0 && ix < x.sizes[0] && iy >= 0 && iy < x.sizes[1];
  return inside ? x.at(ix, iy, c, n) : 0;
}

void window_cases(const WindowSink& sink) {
  constexpr DType kF32 = DType::kF32;
  struct Size {
    Sizes x;
    Window window;
  };
  const std::array kSizes = {
      Size{{1, 1, 1, 1}, {}},
      Size{{7, 5, 3, 2}, {}},
      Size{{9, 7, 3, 1}, {.kernel = {3, 3}, .pad = {1, 1}}},
      Size{{8, 8, 4, 2}, {.kernel = {3, 3}, .stride = {2, 2}, .pad = {1, 1}}},
      Size{{17, 13, 3, 1}, {.kernel = {7, 7}, .stride = {2, 2}, .pad = {3, 3}}},
      Size{{12, 9, 2, 1}, {.kernel = {3, 2}, .stride = {1, 3}, .pad = {2, 0}, .dilation = {2, 3}}},
      Size{{5, 1, 2, 3}, {.kernel = {5, 1}}},
      Size{{1, 6, 2, 1}, {.kernel = {1, 4}, .pad = {0, 3}}},
      Size{{10, 4, 1, 1}, {.kernel = {2, 2}, .stride = {2, 2}}},
      Size{{6, 6, 2, 1}, {.kernel = {2, 2}, .stride = {4, 4}}},
      Size{{40, 3, 5, 1}, {.kernel = {4, 3}, .pad = {1, 1}}},
      Size{{14, 14, 16, 1}, {.kernel = {1, 1}, .stride = {2, 2}}},
      Size{{4, 4, 2, 0}, {.kernel = {2, 2}}},
  };
  for (const Size& size : kSizes) sink(source_of(kF32, size.x), size.window);
  const Window window = {.kernel = {3, 3}, .stride = {1, 2}, .pad = {1, 1}};
  sink(seen_as(kF32, {8, 6, 3, 2}, {2, 0, 1, 3}), window);  // channels innermost
  sink(seen_as(kF32, {8, 6, 3, 2}, {1, 0, 2, 3}), window);
  sink(seen_as(kF32, {8, 6, 3, 2}, {0, 1, 3, 2}), window);
  sink(seen_as(kF32, {8, 6, 3, 2}, {0, 1, 2, 3}, {2, 1, 1, 1}), window);
  sink(seen_as(kF32, {8, 6, 3, 2}, {3, 2, 1, 0}, {1, 0, 2, 0}), window);
}

}  // namespace shunt
