// The elements of each window as a column.
#include "ascend/include/acl/aclnn_index.h"
#include "ascend/ops/windows/window.h"

namespace ascend_twin {
namespace {

namespace im2col {
enum { kSelf, kKernel, kDilation, kPadding, kStride, kOut };

Window window_of(const Call& call, std::size_t dimension) {
  const auto at = [&](std::size_t position) { return call.integers(position)[dimension]; };
  return {at(kKernel), at(kStride), at(kPadding), at(kPadding), at(kDilation)};
}

Status check(Call& call) {
  ASCEND_TWIN_TRY(need_plain(call));
  ASCEND_TWIN_TRY(need_rank(call, kSelf, 3, 4));
  ASCEND_TWIN_TRY(need_same_type(call, kSelf, kOut));
  for (const std::size_t position : {kKernel, kDilation, kPadding, kStride})
    ASCEND_TWIN_TRY(need_integers(call, position, 2, position == kPadding ? 0 : 1));
  const Shape& self = call.view(kSelf).shape;
  const std::size_t rank = self.size();
  const std::int64_t high = windows_on(window_of(call, 0), self[rank - 2]);
  const std::int64_t wide = windows_on(window_of(call, 1), self[rank - 1]);
  if (high < 0 || wide < 0) return invalid_argument(call, kSelf, "smaller than its windows");
  Shape shape(self.begin(), self.end() - 2);
  shape.back() *= call.integers(kKernel)[0] * call.integers(kKernel)[1];
  shape.push_back(high * wide);
  return need_shape(call, kOut, shape);
}

Status run(Kernel& kernel) {
  const Shape& self = kernel.call.view(kSelf).shape;
  const std::size_t rank = self.size();
  const Window down = window_of(kernel.call, 0);
  const Window across = window_of(kernel.call, 1);
  const std::int64_t wide = windows_on(across, self[rank - 1]);
  const Operand& out = kernel.operand(kOut);
  const std::vector<std::int64_t> sources = sources_of(out.view.shape, [&](const Shape& place) {
    Shape from(self.size(), 0);
    if (rank == 4) from[0] = place[0];
    const std::int64_t cell = place[rank - 3] % (down.kernel * across.kernel);
    from[rank - 3] = place[rank - 3] / (down.kernel * across.kernel);
    const std::int64_t y =
        place.back() / wide * down.stride - down.before + cell / across.kernel * down.dilation;
    const std::int64_t x = place.back() % wide * across.stride - across.before +
                           cell % across.kernel * across.dilation;
    if (y < 0 || y >= self[rank - 2] || x < 0 || x >= self[rank - 1]) return kFill;
    from[rank - 2] = y;
    from[rank - 1] = x;
    return number_of(self, from);
  });
  pick_elements(kernel.operand(kSelf), sources, out);
  return ACL_SUCCESS;
}

constexpr Op kOp{.name = "Im2col", .roles = "iaaaao", .check = check, .run = run};
}  // namespace im2col

}  // namespace
}  // namespace ascend_twin

ASCEND_OP(Im2col, ascend_twin::im2col::kOp, (self, kernelSize, dilation, padding, stride, out),
          const aclTensor* self, const aclIntArray* kernelSize, const aclIntArray* dilation,
          const aclIntArray* padding, const aclIntArray* stride, aclTensor* out)
