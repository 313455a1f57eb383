// The smallest or largest element of dim1, or where it first is: zdnn_reduce.
#include <cmath>
#include <vector>

#include "op.h"

using namespace zdnn_twin;

namespace {

bool gives_index(zdnn_reduce_ops op) {
  return op == REDUCE_OP_MINIMUM_IDX || op == REDUCE_OP_MAXIMUM_IDX;
}

std::size_t extreme_of(const std::vector<double>& x, bool largest) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < x.size(); ++i)
    if (largest ? x[i] > x[best] : x[i] < x[best]) best = i;
  return best;
}

}  // namespace

zdnn_status zdnn_reduce(const zdnn_ztensor* input, void* save_area, zdnn_reduce_ops op_type,
                        zdnn_ztensor* output) {
  return perform(
      {.name = "zdnn_reduce",
       .function = NNPA_REDUCE,
       .format = 1,
       .inputs = {input},
       .outputs = {output},
       .takes_scratch = true,
       .scratch = save_area},
      [&]() -> zdnn_status {
        const zdnn_tensor_desc& d = desc_of(input);
        ZDNN_TWIN_TRY(expect(has_dims(output, d.dim4, d.dim3, d.dim2, 1), ZDNN_INVALID_SHAPE,
                             "the result is like the input with dim1 = 1"));
        const auto wanted = gives_index(op_type) ? ZDNN_BINARY_INT32 : ZDNN_DLFLOAT16;
        ZDNN_TWIN_TRY(expect(desc_of(output).type == wanted, ZDNN_INVALID_TYPE,
                             "an index is INT32, a value DLFLOAT16"));
        ZDNN_TWIN_TRY(expect(desc_of(output).format == ZDNN_FORMAT_4DFEATURE, ZDNN_INVALID_FORMAT,
                             "the result is not of format 4DFEATURE"));
        return expect_features({input});
      },
      [&]() -> zdnn_status {
        if (op_type > REDUCE_OP_MAXIMUM_IDX) return refuse(ZDNN_FUNC_RC_F000, "no such reduction");
        return ZDNN_OK;
      },
      [&](Range& range) {
        const bool largest = op_type == REDUCE_OP_MAXIMUM || op_type == REDUCE_OP_MAXIMUM_IDX;
        const Rows source(*input);
        const Sticks cells(desc_of(output));
        std::vector<double> x(desc_of(input).dim1);
        for_each_row(desc_of(input), [&](auto e4, auto e3, auto e2) {
          source.read(e4, e3, e2, x);
          for (const double element : x) range.violated = range.violated || std::isnan(element);
          const std::size_t best = extreme_of(x, largest);
          if (gives_index(op_type)) {
            store(output->buffer, cells.row(e4, e3, e2), static_cast<std::uint32_t>(best));
          } else {
            Rows(*output).put(e4, e3, e2, 0, x[best], range);
          }
        });
      });
}
