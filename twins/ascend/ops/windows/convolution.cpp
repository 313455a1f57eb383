// Convolutions of one to three spatial dimensions, as products of windows with kernels.
#include "ascend/include/acl/aclnn_index.h"
#include "ascend/ops/products/cube.h"
#include "ascend/ops/products/sums.h"
#include "ascend/ops/windows/window.h"
#include "ascend/profiles.h"
#include "ascend/support.h"

namespace ascend_twin {
namespace {

namespace convolution {
enum {
  kInput,
  kWeight,
  kBias,
  kStride,
  kPadding,
  kDilation,
  kTransposed,
  kOutPadding,
  kGroups,
  kOut,
  kCubeMathType
};

/// Channels of one group, and the kernel's cells in row-major order.
struct Plan {
  std::int64_t groups = 1, in = 1, out = 1;  ///< channels of a group
  bool transposed = false;
  std::vector<Window> windows;
  Shape kernel;   ///< spatial
  Shape extents;  ///< spatial, of the result
  std::int64_t cells() const { return elements_of(kernel); }
};

/// Operands as the chip's unit rounds them. The chips without products of F32 refuse them as for
/// matrices, the 310B too: its kernel of matrices is not that of windows.
Status numbers_of(const Call& call, CubeNumbers* numbers) {
  const std::int64_t type = call.integer(kCubeMathType);
  if (profile()->chip != k310b) return cube_numbers(call, kInput, kWeight, kOut, type, numbers);
  if (type < KEEP_DTYPE || type > USE_HF32)
    return invalid_argument(call, kInput, "for cubeMathType " + std::to_string(type));
  *numbers = CubeNumbers::kFull;
  if (call.view(kInput).type != ACL_FLOAT) return ACL_SUCCESS;
  if (type == KEEP_DTYPE || type == USE_HF32)
    return invalid_argument(call, kInput, "which this chip does not multiply");
  *numbers = CubeNumbers::kHalf;
  return ACL_SUCCESS;
}

Status check_arrays(const Call& call, std::size_t spatial) {
  const struct {
    std::size_t position;
    std::int64_t least;
  } arrays[] = {{kStride, 1}, {kPadding, 0}, {kDilation, 1}, {kOutPadding, 0}};
  for (const auto& [position, least] : arrays) {
    const std::size_t size = call.integers(position).size();
    // The last is read for transposed ones only, and may be empty.
    if (position == kOutPadding && (size == 0 || call.integer(kTransposed) == 0)) continue;
    ASCEND_TWIN_TRY(need_integers(call, position, size == 1 ? 1 : spatial, least));
  }
  return ACL_SUCCESS;
}

/// [out][in of a group][kernel], transposed [in][out of a group][kernel].
Status channels_of(const Call& call, Plan* plan) {
  const Shape& weight = call.view(kWeight).shape;
  const std::int64_t channels = call.view(kInput).shape[1];
  plan->groups = call.integer(kGroups);
  plan->transposed = call.integer(kTransposed) != 0;
  if (plan->groups < 1 || channels % plan->groups != 0 ||
      (!plan->transposed && weight[0] % plan->groups != 0))
    return invalid_argument(call, kWeight, "for " + std::to_string(plan->groups) + " groups");
  plan->in = channels / plan->groups;
  plan->out = plan->transposed ? weight[1] : weight[0] / plan->groups;
  if (weight[plan->transposed ? 0 : 1] != (plan->transposed ? channels : plan->in))
    return invalid_argument(call, kWeight, "for " + std::to_string(channels) + " channels");
  return ACL_SUCCESS;
}

Status plan_of(const Call& call, Plan* plan) {
  ASCEND_TWIN_TRY(need_rank(call, kInput, 3, 5));
  const Shape& input = call.view(kInput).shape;
  ASCEND_TWIN_TRY(need_rank(call, kWeight, input.size(), input.size()));
  const std::size_t spatial = input.size() - 2;
  ASCEND_TWIN_TRY(check_arrays(call, spatial));
  ASCEND_TWIN_TRY(channels_of(call, plan));
  for (std::size_t i = 0; i < spatial; ++i) {
    const std::int64_t pad = value_for(call.integers(kPadding), i);
    const Window window{call.view(kWeight).shape[i + 2], value_for(call.integers(kStride), i), pad,
                        pad, value_for(call.integers(kDilation), i)};
    std::int64_t extent = windows_on(window, input[i + 2]);
    if (plan->transposed) {
      const std::vector<std::int64_t>& more = call.integers(kOutPadding);
      const std::int64_t added = more.empty() ? 0 : value_for(more, i);
      if (added >= std::max(window.stride, window.dilation))
        return invalid_argument(call, kInput, "for an output padding of a stride or more");
      extent = (input[i + 2] - 1) * window.stride - 2 * pad +
               window.dilation * (window.kernel - 1) + 1 + added;
    }
    if (window.kernel < 1 || extent < 1)
      return invalid_argument(call, kInput, "smaller than its windows");
    plan->windows.push_back(window);
    plan->kernel.push_back(window.kernel);
    plan->extents.push_back(extent);
  }
  return ACL_SUCCESS;
}

Status check(Call& call) {
  ASCEND_TWIN_TRY(need_plain(call));
  Plan plan;
  ASCEND_TWIN_TRY(plan_of(call, &plan));
  for (const std::size_t position : {kInput, kWeight, kOut})
    ASCEND_TWIN_TRY(need_spatial_format(call, position));
  ASCEND_TWIN_TRY(need_same_type(call, kInput, kWeight));
  ASCEND_TWIN_TRY(need_same_type(call, kInput, kOut));
  const std::int64_t channels = plan.groups * plan.out;
  if (call.has(kBias)) {
    ASCEND_TWIN_TRY(need_shape(call, kBias, {channels}));
    ASCEND_TWIN_TRY(need_type(call, kBias, {ACL_FLOAT, ACL_FLOAT16, ACL_BF16}));
  }
  Shape shape{call.view(kInput).shape[0], channels};
  shape.insert(shape.end(), plan.extents.begin(), plan.extents.end());
  ASCEND_TWIN_TRY(need_shape(call, kOut, shape));
  CubeNumbers numbers;
  return numbers_of(call, &numbers);
}

/// Place on the input's dimension that a cell of the kernel meets at a place of the result, or -1.
std::int64_t met(const Plan& plan, std::size_t dimension, std::int64_t extent, std::int64_t place,
                 std::int64_t cell) {
  const Window& window = plan.windows[dimension];
  std::int64_t from = place * window.stride - window.before + cell * window.dilation;
  if (plan.transposed) {
    from = place + window.before - cell * window.dilation;
    if (from % window.stride != 0) return -1;
    from /= window.stride;
  }
  return from >= 0 && from < extent ? from : -1;
}

/// [places of the result][channels of the group][cells of the kernel], with zeros off the input.
std::vector<float> patches(const Plan& plan, const std::vector<float>& input, const Shape& shape,
                           std::int64_t sample, std::int64_t group) {
  std::vector<float> result;
  Shape row = plan.extents;
  row.push_back(plan.in);
  row.insert(row.end(), plan.kernel.begin(), plan.kernel.end());
  const std::size_t spatial = plan.extents.size();
  sources_of(row, [&](const Shape& place) {
    Shape from(shape.size());
    from[0] = sample;
    from[1] = group * plan.in + place[spatial];
    bool is_on = true;
    for (std::size_t i = 0; i < spatial; ++i) {
      from[i + 2] = met(plan, i, shape[i + 2], place[i], place[spatial + 1 + i]);
      is_on = is_on && from[i + 2] >= 0;
    }
    result.push_back(is_on ? input[static_cast<std::size_t>(number_of(shape, from))] : 0.0F);
    return kFill;
  });
  return result;
}

/// [channels of the result][channels of the input][cells], of one group.
std::vector<float> kernels(const Plan& plan, const std::vector<float>& weight, std::int64_t group) {
  std::vector<float> result;
  for (std::int64_t out = 0; out < plan.out; ++out) {
    for (std::int64_t in = 0; in < plan.in; ++in) {
      const std::int64_t row = plan.transposed ? (group * plan.in + in) * plan.out + out
                                               : (group * plan.out + out) * plan.in + in;
      for (std::int64_t cell = 0; cell < plan.cells(); ++cell)
        result.push_back(weight[static_cast<std::size_t>(row * plan.cells() + cell)]);
    }
  }
  return result;
}

Status run(Kernel& kernel) {
  const Call& call = kernel.call;
  Plan plan;
  ASCEND_TWIN_TRY(plan_of(call, &plan));
  CubeNumbers numbers;
  ASCEND_TWIN_TRY(numbers_of(call, &numbers));
  std::vector<float> input = read_floats(kernel.operand(kInput));
  std::vector<float> weight = read_floats(kernel.operand(kWeight));
  round_for_cube(numbers, kernel.operand(kInput).saturates, input);
  round_for_cube(numbers, kernel.operand(kWeight).saturates, weight);
  const std::vector<float> bias =
      kernel.has(kBias) ? read_floats(kernel.operand(kBias)) : std::vector<float>{};
  const Shape& shape = call.view(kInput).shape;
  const std::int64_t places = elements_of(plan.extents);
  std::vector<float> result;
  for (std::int64_t sample = 0; sample < shape[0]; ++sample) {
    for (std::int64_t group = 0; group < plan.groups; ++group) {
      std::vector<float> part(static_cast<std::size_t>(plan.out * places));
      multiply(kernels(plan, weight, group).data(),
               patches(plan, input, shape, sample, group).data(), plan.out, places,
               plan.in * plan.cells(), part.data());
      for (std::int64_t i = 0; i < plan.out * places && !bias.empty(); ++i) {
        part[static_cast<std::size_t>(i)] +=
            bias[static_cast<std::size_t>(group * plan.out + i / places)];
      }
      result.insert(result.end(), part.begin(), part.end());
    }
  }
  write_floats(kernel.operand(kOut), result);
  return ACL_SUCCESS;
}

std::uint64_t workspace(const Call& /*call*/) {
  return static_cast<std::uint64_t>(
      unknown(profile()->chip == k910b ? "matmul fixed workspace" : "matmul fixed workspace 310"));
}

constexpr Op kOp{.name = "Convolution",
                 .roles = "iii?aaananon",
                 .check = check,
                 .run = run,
                 .workspace = workspace};
}  // namespace convolution

}  // namespace
}  // namespace ascend_twin

ASCEND_OP(Convolution, ascend_twin::convolution::kOp,
          (input, weight, bias, stride, padding, dilation, transposed, outputPadding, groups,
           output, cubeMathType),
          const aclTensor* input, const aclTensor* weight, const aclTensor* bias,
          const aclIntArray* stride, const aclIntArray* padding, const aclIntArray* dilation,
          bool transposed, const aclIntArray* outputPadding, const int64_t groups,
          aclTensor* output, int8_t cubeMathType)
