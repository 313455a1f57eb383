#include "ascend/ops/reductions/axes.h"

#include "ascend/profiles.h"
#include "ascend/support.h"

namespace ascend_twin {

Status axis_of(const Call& call, std::size_t tensor, std::int64_t dim, Axes* axes) {
  const auto rank = static_cast<std::int64_t>(call.view(tensor).rank());
  const std::int64_t bound = rank == 0 ? 1 : rank;
  if (dim < -bound || dim >= bound) {
    return refuse(ACLNN_ERR_PARAM_INVALID,
                  call.describe(tensor) + ", without a dimension " + std::to_string(dim));
  }
  axes->resize(static_cast<std::size_t>(rank));
  if (rank == 0) return ACL_SUCCESS;
  const auto axis = static_cast<std::size_t>(dim < 0 ? dim + rank : dim);
  if ((*axes)[axis]) {
    return refuse(ACLNN_ERR_PARAM_INVALID,
                  call.describe(tensor) + ", dimension " + std::to_string(dim) + " twice");
  }
  (*axes)[axis] = true;
  return ACL_SUCCESS;
}

Status axes_of(const Call& call, std::size_t tensor, const std::vector<std::int64_t>& dims,
               Axes* axes) {
  const std::size_t rank = call.view(tensor).rank();
  axes->assign(rank, dims.empty());
  for (const std::int64_t dim : dims) ASCEND_TWIN_TRY(axis_of(call, tensor, dim, axes));
  return ACL_SUCCESS;
}

Axes last_axes(std::size_t rank, std::size_t count) {
  Axes axes(rank);
  for (std::size_t i = rank - count; i < rank; ++i) axes[i] = true;
  return axes;
}

View rows_of(View view, const Axes& axes) {
  const View source = view;
  view.shape.clear();
  view.strides.clear();
  for (const bool is_reduced : {false, true}) {
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (axes[i] != is_reduced) continue;
      view.shape.push_back(source.shape[i]);
      view.strides.push_back(source.strides[i]);
    }
  }
  return view;
}

std::int64_t length_of(const Shape& shape, const Axes& axes) {
  std::int64_t length = 1;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i]) length *= shape[i];
  }
  return length;
}

Shape reduced_shape(const Shape& shape, const Axes& axes, bool keeps) {
  Shape result;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (!axes[i]) {
      result.push_back(shape[i]);
    } else if (keeps) {
      result.push_back(1);
    }
  }
  return result;
}

Operand rows_of(const Operand& operand, const Axes& axes) {
  Operand rows = operand;
  rows.view = rows_of(operand.view, axes);
  return rows;
}

double sum_of(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

std::uint64_t reduction_workspace(std::int64_t rows) {
  const std::int64_t cores = profile()->vector_cores;
  const std::int64_t blocks = rows < cores ? cores : 1;
  return static_cast<std::uint64_t>(blocks * unknown("reduction workspace of a core"));
}

}  // namespace ascend_twin
