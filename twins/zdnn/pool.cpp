// Windows over height (dim3) and width (dim2): average and maximum pooling, and the mean over both
// as a whole.
#include <algorithm>
#include <cmath>
#include <vector>

#include "op.h"
#include "sum.h"
#include "windows.h"

using namespace zdnn_twin;

namespace {

constexpr std::uint32_t kLargestInput = 1024;
constexpr std::uint32_t kLargestKernel = 64;
constexpr std::uint32_t kLargestStride = 30;

double maximum(const std::vector<double>& x) {
  double most = x[0];
  for (const double element : x) most = std::isnan(element) || element > most ? element : most;
  return most;
}

double average(const std::vector<double>& x) {
  return sum_of(x.size(), [&](std::size_t i) { return x[i]; }) / static_cast<double>(x.size());
}

template <class Reduce>
void pool(const Windows& windows, const zdnn_ztensor* input, zdnn_ztensor* output, Range& range,
          Reduce reduce) {
  const Rows source(*input);
  const Rows result(*output);
  std::vector<double> inside;
  for_each_row(desc_of(output), [&](auto e4, auto e3, auto e2) {
    for (std::uint32_t channel = 0; channel < desc_of(output).dim1; ++channel) {
      inside.clear();
      windows.visit(e3, e2, [&](auto y, auto x, auto, auto) {
        inside.push_back(source.at(e4, y, x, channel));
      });
      const bool numbers = std::none_of(inside.begin(), inside.end(),
                                        [](double element) { return std::isnan(element); });
      result.put(e4, e3, e2, channel, numbers ? reduce(inside) : NAN, range);
    }
  });
}

template <class Reduce>
zdnn_status pool2d(const char* name, nnpa_function_code code, const zdnn_ztensor* input,
                   zdnn_pool_padding padding, std::uint32_t kernel_height,
                   std::uint32_t kernel_width, std::uint32_t stride_height,
                   std::uint32_t stride_width, zdnn_ztensor* output, Reduce reduce) {
  Windows windows{};
  return perform(
      {name, code, 0, {input}, {output}},
      [&]() -> zdnn_status {
        const zdnn_tensor_desc& in = desc_of(input);
        windows = {{in.dim3, kernel_height, stride_height, padding == SAME_PADDING},
                   {in.dim2, kernel_width, stride_width, padding == SAME_PADDING}};
        ZDNN_TWIN_TRY(windows.check(padding));
        const bool fits =
            has_dims(output, in.dim4, windows.down.outputs(), windows.across.outputs(), in.dim1);
        ZDNN_TWIN_TRY(expect(fits, ZDNN_INVALID_SHAPE, "the result doesn't fit the windows"));
        return expect_features({input, output});
      },
      [&]() -> zdnn_status {
        if (padding > SAME_PADDING) return refuse(ZDNN_FUNC_RC_F000, "no such padding");
        const bool whole = stride_height == 0;
        const std::uint32_t kernel = std::max(kernel_height, kernel_width);
        if (whole && kernel > kLargestInput)
          return refuse(ZDNN_FUNC_RC_F001, "the kernel is larger than 1024");
        if (!whole && kernel > kLargestKernel)
          return refuse(ZDNN_FUNC_RC_F002, "the kernel is larger than 64");
        if (std::max(stride_height, stride_width) > kLargestStride)
          return refuse(ZDNN_FUNC_RC_F003, "a stride is larger than 30");
        if (!whole && std::max(windows.down.input, windows.across.input) > kLargestInput)
          return refuse(ZDNN_FUNC_RC_F004, "the input is larger than 1024");
        return ZDNN_OK;
      },
      [&](Range& range) { pool(windows, input, output, range, reduce); });
}

}  // namespace

extern "C" {

zdnn_status zdnn_avgpool2d(const zdnn_ztensor* input, zdnn_pool_padding padding_type,
                           uint32_t kernel_height, uint32_t kernel_width, uint32_t stride_height,
                           uint32_t stride_width, zdnn_ztensor* output) {
  return pool2d("zdnn_avgpool2d", NNPA_AVGPOOL2D, input, padding_type, kernel_height, kernel_width,
                stride_height, stride_width, output, average);
}

zdnn_status zdnn_maxpool2d(const zdnn_ztensor* input, zdnn_pool_padding padding_type,
                           uint32_t kernel_height, uint32_t kernel_width, uint32_t stride_height,
                           uint32_t stride_width, zdnn_ztensor* output) {
  return pool2d("zdnn_maxpool2d", NNPA_MAXPOOL2D, input, padding_type, kernel_height, kernel_width,
                stride_height, stride_width, output, maximum);
}

zdnn_status zdnn_meanreduce2d(const zdnn_ztensor* input, zdnn_ztensor* output) {
  // Average pooling with one window over everything.
  const bool known = input != nullptr && input->transformed_desc != nullptr;
  const std::uint32_t height = known ? desc_of(input).dim3 : 1;
  const std::uint32_t width = known ? desc_of(input).dim2 : 1;
  return pool2d("zdnn_meanreduce2d", NNPA_AVGPOOL2D, input, VALID_PADDING, height, width, 0, 0,
                output, average);
}

}  // extern "C"
