// Convolution over height and width: zdnn_conv2d.
#include <algorithm>
#include <cmath>
#include <vector>

#include "op.h"
#include "sum.h"
#include "windows.h"

using namespace zdnn_twin;

namespace {

constexpr std::uint32_t kLargestWhole = 448;
constexpr std::uint32_t kLargestKernel = 64;
constexpr std::uint32_t kLargestStride = 13;

void convolve(const Windows& windows, const zdnn_ztensor* input, const zdnn_ztensor* kernel,
              const zdnn_ztensor* bias, bool relu, double clip, zdnn_ztensor* output,
              Range& range) {
  const Rows source(*input);
  const Rows weights(*kernel);
  const Rows result(*output);
  std::vector<double> biases(desc_of(output).dim1);
  Rows(*bias).read(0, 0, 0, biases);
  std::vector<double> pixel(desc_of(input).dim1);
  std::vector<double> factors(biases.size());
  with_accumulator([&](auto zero) {
    std::vector<decltype(zero)> sums(biases.size());
    std::vector<double> out(biases.size());
    for_each_row(desc_of(output), [&](auto e4, auto e3, auto e2) {
      std::fill(sums.begin(), sums.end(), zero);
      windows.visit(e3, e2, [&](auto y, auto x, auto ky, auto kx) {
        source.read(e4, y, x, pixel);
        for (std::size_t channel = 0; channel < pixel.size(); ++channel) {
          weights.read(ky, kx, channel, factors);
          for (std::size_t k = 0; k < sums.size(); ++k) sums[k].add(pixel[channel] * factors[k]);
        }
      });
      for (std::size_t k = 0; k < sums.size(); ++k) {
        sums[k].add(biases[k]);
        out[k] = sums[k].sum;
        if (relu && out[k] < 0) out[k] = 0;
        if (relu && clip > 0 && out[k] > clip) out[k] = clip;
      }
      result.write(e4, e3, e2, out, range);
    });
  });
}

zdnn_status expect_kernel(const zdnn_ztensor* kernel) {
  ZDNN_TWIN_TRY(expect(desc_of(kernel).type == ZDNN_DLFLOAT16, ZDNN_INVALID_TYPE,
                       "the kernel is not of type DLFLOAT16"));
  return expect(desc_of(kernel).format == ZDNN_FORMAT_4DKERNEL, ZDNN_INVALID_FORMAT,
                "the kernel is not of format 4DKERNEL");
}

}  // namespace

zdnn_status zdnn_conv2d(const zdnn_ztensor* input, const zdnn_ztensor* kernel,
                        const zdnn_ztensor* bias, zdnn_pool_padding padding_type,
                        uint32_t stride_height, uint32_t stride_width, zdnn_conv2d_act act_func,
                        const void* clipping_value, zdnn_ztensor* output) {
  Windows windows{};
  const bool relu = act_func == CONV2D_ACT_RELU;
  const double clip = relu && clipping_value != nullptr ? as_dlf(load<float>(clipping_value)) : 0;
  return perform(
      {"zdnn_conv2d", NNPA_CONVOLUTION, 0, {input, kernel, bias}, {output}},
      [&]() -> zdnn_status {
        const zdnn_tensor_desc& in = desc_of(input);
        const zdnn_tensor_desc& k = desc_of(kernel);  // height, width, channels in, channels out
        windows = {{in.dim3, k.dim4, stride_height, padding_type == SAME_PADDING},
                   {in.dim2, k.dim3, stride_width, padding_type == SAME_PADDING}};
        ZDNN_TWIN_TRY(windows.check(padding_type));
        const bool fits =
            k.dim2 == in.dim1 && has_dims(bias, 1, 1, 1, k.dim1) &&
            has_dims(output, in.dim4, windows.down.outputs(), windows.across.outputs(), k.dim1);
        ZDNN_TWIN_TRY(expect(fits, ZDNN_INVALID_SHAPE, "the tensors don't fit the windows"));
        ZDNN_TWIN_TRY(expect_features({input, bias, output}));
        ZDNN_TWIN_TRY(expect_kernel(kernel));
        if (!(clip >= 0)) return refuse(ZDNN_INVALID_CLIPPING_VALUE, "it is negative or no number");
        return ZDNN_OK;
      },
      [&]() -> zdnn_status {
        if (padding_type > SAME_PADDING) return refuse(ZDNN_FUNC_RC_F000, "no such padding");
        if (act_func > CONV2D_ACT_RELU) return refuse(ZDNN_FUNC_RC_F001, "no such activation");
        const bool whole = stride_height == 0;
        const std::uint32_t largest = std::max(windows.down.kernel, windows.across.kernel);
        if (whole && largest > kLargestWhole)
          return refuse(ZDNN_FUNC_RC_F002, "the kernel is larger than 448");
        if (!whole && largest > kLargestKernel)
          return refuse(ZDNN_FUNC_RC_F003, "the kernel is larger than 64");
        if (std::max(stride_height, stride_width) > kLargestStride)
          return refuse(ZDNN_FUNC_RC_F004, "a stride is larger than 13");
        return ZDNN_OK;
      },
      [&](Range& range) { convolve(windows, input, kernel, bias, relu, clip, output, range); });
}
