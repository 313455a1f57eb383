// Softmax over dim1, of all elements or of the first few; and its logarithm.
#include <cmath>
#include <limits>
#include <vector>

#include "common/reals.h"
#include "op.h"
#include "sum.h"

using namespace zdnn_twin;

namespace {

void softmax_row(std::vector<double>& x, std::size_t active, zdnn_softmax_act act) {
  double top = x[0];
  bool numbers = true;
  for (std::size_t i = 0; i < active; ++i) {
    numbers = numbers && !std::isnan(x[i]);
    if (x[i] > top) top = x[i];
  }
  if (!numbers) top = std::numeric_limits<double>::quiet_NaN();  // the whole row is none
  const double sum = sum_of(active, [&](std::size_t i) { return twin::exp_of(x[i] - top); });
  const double log_sum = twin::log_of(sum);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (i >= active) {
      x[i] = 0;
    } else {
      x[i] = act == SOFTMAX_ACT_LOG ? x[i] - top - log_sum : twin::exp_of(x[i] - top) / sum;
    }
  }
}

zdnn_status softmax(const char* name, int format, const zdnn_ztensor* input, void* save_area,
                    zdnn_softmax_act act, std::uint32_t mask, zdnn_ztensor* output) {
  return perform(
      {.name = name,
       .function = NNPA_SOFTMAX,
       .format = format,
       .inputs = {input},
       .outputs = {output},
       .takes_scratch = true,
       .scratch = save_area},
      [&] {
        return expect_alike({input, output});
      },
      [&]() -> zdnn_status {
        if (desc_of(input).dim3 != 1) return refuse(ZDNN_FUNC_RC_F000, "dim3 is not 1");
        if (act > SOFTMAX_ACT_LOG) return refuse(ZDNN_FUNC_RC_F001, "no such activation");
        if (mask > desc_of(input).dim1)
          return refuse(ZDNN_FUNC_RC_F002, "the mask is larger than dim1");
        return ZDNN_OK;
      },
      [&](Range& range) {
        const Rows source(*input);
        const Rows result(*output);
        std::vector<double> x(desc_of(input).dim1);
        const std::size_t active = mask == 0 ? x.size() : mask;
        for_each_row(desc_of(input), [&](auto e4, auto e3, auto e2) {
          source.read(e4, e3, e2, x);
          softmax_row(x, active, act);
          result.write(e4, e3, e2, x, range);
        });
      });
}

}  // namespace

extern "C" {

zdnn_status zdnn_softmax(const zdnn_ztensor* input, void* save_area, zdnn_softmax_act act_func,
                         zdnn_ztensor* output) {
  return softmax("zdnn_softmax", 0, input, save_area, act_func, 0, output);
}

zdnn_status zdnn_softmax_mask(const zdnn_ztensor* input, void* save_area, zdnn_softmax_act act_func,
                              uint32_t softmax_mask, zdnn_ztensor* output) {
  return softmax("zdnn_softmax_mask", 1, input, save_area, act_func, softmax_mask, output);
}

}  // extern "C"
