#include "ascend/ops/windows/window.h"

namespace ascend_twin {

std::int64_t windows_on(const Window& window, std::int64_t extent, bool rounds_up) {
  const std::int64_t room =
      extent + window.before + window.after - window.dilation * (window.kernel - 1) - 1;
  if (room < 0) return -1;
  std::int64_t count = room / window.stride + 1;
  if (rounds_up && room % window.stride != 0 && count * window.stride < extent + window.before)
    ++count;
  return count;
}

std::int64_t value_for(const std::vector<std::int64_t>& values, std::size_t dimension) {
  return values.size() == 1 ? values[0] : values[dimension];
}

Status need_spatial_format(const Call& call, std::size_t position) {
  constexpr struct {
    aclFormat format;
    std::size_t rank;
  } kFormats[] = {{ACL_FORMAT_NCL, 3}, {ACL_FORMAT_NCHW, 4}, {ACL_FORMAT_NCDHW, 5}};
  const View& view = call.view(position);
  if (view.format == ACL_FORMAT_ND) return ACL_SUCCESS;
  for (const auto& [format, rank] : kFormats) {
    if (view.format == format && view.rank() == rank) return ACL_SUCCESS;
  }
  return invalid_argument(call, position,
                          "of format " + std::to_string(static_cast<int>(view.format)));
}

}  // namespace ascend_twin
