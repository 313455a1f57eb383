// Recurrent layers: zdnn_lstm and zdnn_gru, formulas as in zDNN's documentation. The library makes
// both matrix products of a step, which are DLFLOAT16 numbers then, and the machine's function
// (LSTMACT, GRUACT) joins them.
#include <algorithm>
#include <vector>

#include "common/reals.h"
#include "layouts.h"
#include "op.h"
#include "sum.h"

using namespace zdnn_twin;

namespace {

using Numbers = std::vector<double>;

// One direction's matrix and bias of one gate: x -> x W + b, rounded.
class Gate {
 public:
  Gate(const zdnn_ztensor* weights, const zdnn_ztensor* biases, std::uint64_t direction,
       std::uint64_t gate, std::size_t hidden)
      : inner_(desc_of(weights).dim2), weights_(inner_ * hidden), bias_(hidden) {
    const std::uint64_t first = gate * ceil_to(hidden, 64);
    for (std::size_t k = 0; k < inner_; ++k)
      Rows(*weights).read(direction, 0, k, std::span(weights_).subspan(k * hidden, hidden), first);
    Rows(*biases).read(direction, 0, 0, bias_, first);
  }

  Numbers operator()(const Numbers& x) const {
    Numbers out(bias_.size());
    for (std::size_t j = 0; j < out.size(); ++j) {
      // The bias comes last, as in a matrix multiplication.
      const double sum = sum_of(inner_ + 1, [&](std::size_t k) {
        return k < inner_ ? x[k] * weights_[k * out.size() + j] : bias_[j];
      });
      out[j] = as_dlf(sum);
    }
    return out;
  }

 private:
  std::size_t inner_;
  Numbers weights_, bias_;
};

struct Layer {
  const zdnn_ztensor *input, *h0, *c0;  // c0: LSTM only
  const zdnn_ztensor *weights, *biases, *hidden_weights, *hidden_biases;
  lstm_gru_direction direction;
  zdnn_ztensor *hn, *cf;

  bool is_lstm() const { return c0 != nullptr; }
  std::uint32_t gates() const { return is_lstm() ? 4 : 3; }
  std::uint32_t directions() const { return direction == BIDIR ? 2 : 1; }
  std::uint32_t steps() const { return desc_of(input).dim4; }
  std::uint32_t batches() const { return desc_of(input).dim2; }
  std::uint32_t features() const { return desc_of(input).dim1; }
  std::uint32_t hidden() const { return desc_of(h0).dim1; }
  /// Columns of an output: those of two directions begin at multiples of 64.
  std::uint64_t columns() const { return directions() == 1 ? hidden() : 2 * ceil_to(hidden(), 64); }
};

struct State {  // of one row of the batch
  Numbers h, c;
};

using Gates = std::vector<Gate>;

// Gates in the order forget, input, cell, output.
void step_lstm(const Gates& from_input, const Gates& from_hidden, const Numbers& x, State& state) {
  const auto sum = [&](std::size_t gate) {
    Numbers out = from_input[gate](x);
    const Numbers more = from_hidden[gate](state.h);
    for (std::size_t j = 0; j < out.size(); ++j) out[j] += more[j];
    return out;
  };
  const Numbers f = sum(0), i = sum(1), c = sum(2), o = sum(3);
  for (std::size_t j = 0; j < f.size(); ++j) {
    state.c[j] =
        as_dlf(twin::sigmoid_of(f[j]) * state.c[j] + twin::sigmoid_of(i[j]) * twin::tanh_of(c[j]));
    state.h[j] = as_dlf(twin::sigmoid_of(o[j]) * twin::tanh_of(state.c[j]));
  }
}

// Gates in the order update, reset, hidden; the reset comes after the matrix multiplication.
void step_gru(const Gates& from_input, const Gates& from_hidden, const Numbers& x, State& state) {
  const Numbers xz = from_input[0](x), xr = from_input[1](x), xh = from_input[2](x);
  const Numbers hz = from_hidden[0](state.h), hr = from_hidden[1](state.h),
                hh = from_hidden[2](state.h);
  for (std::size_t j = 0; j < xz.size(); ++j) {
    const double z = twin::sigmoid_of(xz[j] + hz[j]);
    const double r = twin::sigmoid_of(xr[j] + hr[j]);
    const double candidate = twin::tanh_of(xh[j] + r * hh[j]);
    state.h[j] = as_dlf((1 - z) * candidate + z * state.h[j]);
  }
}

void run_direction(const Layer& layer, std::uint32_t direction, Range& range) {
  const std::size_t hidden = layer.hidden();
  const bool backward = layer.direction == BWD || direction == 1;
  const std::uint64_t column = direction * ceil_to(hidden, 64);
  Gates from_input, from_hidden;
  for (std::uint32_t gate = 0; gate < layer.gates(); ++gate) {
    from_input.emplace_back(layer.weights, layer.biases, direction, gate, hidden);
    from_hidden.emplace_back(layer.hidden_weights, layer.hidden_biases, direction, gate, hidden);
  }
  const Rows input(*layer.input);
  const Rows output(*layer.hn);
  const bool all_steps = desc_of(layer.hn).dim4 == layer.steps();
  Numbers x(layer.features());
  for (std::uint32_t row = 0; row < layer.batches(); ++row) {
    State state{Numbers(hidden), Numbers(hidden)};
    Rows(*layer.h0).read(direction, 0, row, state.h);
    if (layer.is_lstm()) Rows(*layer.c0).read(direction, 0, row, state.c);
    for (std::uint32_t i = 0; i < layer.steps(); ++i) {
      const std::uint32_t step = backward ? layer.steps() - 1 - i : i;
      input.read(step, 0, row, x);
      (layer.is_lstm() ? step_lstm : step_gru)(from_input, from_hidden, x, state);
      if (all_steps) output.write(step, 0, row, state.h, range, column);
    }
    if (!all_steps) output.write(0, 0, row, state.h, range, column);
    if (layer.is_lstm()) Rows(*layer.cf).write(0, 0, row, state.c, range, column);
  }
}

// Between two directions there are zeros: the next layer's weights have rows for them.
void clear(const zdnn_ztensor* output) {
  const Rows rows(*output);
  const Numbers zeros(desc_of(output).dim1);
  Range none;
  for_each_row(desc_of(output),
               [&](auto e4, auto e3, auto e2) { rows.write(e4, e3, e2, zeros, none); });
}

zdnn_status check(const Layer& layer) {
  if (layer.direction > BIDIR) return refuse(ZDNN_INVALID_DIRECTION, "no such direction");
  const std::uint32_t directions = layer.directions();
  const std::uint32_t hidden = layer.hidden();
  const auto gates = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(layer.gates() * ceil_to(hidden, 64), 0xFFFFFFFF));
  const auto columns =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(layer.columns(), 0xFFFFFFFF));
  const std::uint32_t batches = layer.batches();
  const bool fits = desc_of(layer.input).dim3 == 1 && layer.steps() >= 1 &&
                    has_dims(layer.h0, directions, 1, batches, hidden) &&
                    (!layer.is_lstm() || (has_dims(layer.c0, directions, 1, batches, hidden) &&
                                          has_dims(layer.cf, 1, 1, batches, columns))) &&
                    has_dims(layer.weights, directions, 1, layer.features(), gates) &&
                    has_dims(layer.biases, directions, 1, 1, gates) &&
                    has_dims(layer.hidden_weights, directions, 1, hidden, gates) &&
                    has_dims(layer.hidden_biases, directions, 1, 1, gates) &&
                    (has_dims(layer.hn, layer.steps(), 1, batches, columns) ||
                     has_dims(layer.hn, 1, 1, batches, columns));
  ZDNN_TWIN_TRY(expect(fits, ZDNN_INVALID_SHAPE, "the tensors don't fit each other"));
  ZDNN_TWIN_TRY(expect_features({layer.input, layer.h0, layer.weights, layer.biases,
                                 layer.hidden_weights, layer.hidden_biases, layer.hn}));
  return layer.is_lstm() ? expect_features({layer.c0, layer.cf}) : ZDNN_OK;
}

// As the documentation computes it: `tensors` of (batches, hidden) in a row, for each direction.
std::uint64_t work_area_bytes(const Layer& layer) {
  const auto known = [](const zdnn_ztensor* tensor) {
    return tensor != nullptr && tensor->transformed_desc != nullptr;
  };
  if (!known(layer.input) || !known(layer.h0)) return 0;
  const std::uint32_t tensors = layer.is_lstm() ? 4 * layer.steps() + 6 : 3 * layer.steps() + 5;
  return layer.directions() * tensor_bytes({ZDNN_NHWC, ZDNN_FORMAT_4DFEATURE, ZDNN_DLFLOAT16,
                                            tensors, 1, layer.batches(), layer.hidden()});
}

zdnn_status run(Op op, const Layer& layer, void* work_area) {
  op.takes_scratch = true;
  op.scratch = work_area;
  op.scratch_bytes = work_area_bytes(layer);
  return perform(
      op, [&] { return check(layer); }, no_response,
      [&](Range& range) {
        if (layer.directions() == 2) {
          clear(layer.hn);
          if (layer.is_lstm()) clear(layer.cf);
        }
        for (std::uint32_t direction = 0; direction < layer.directions(); ++direction)
          run_direction(layer, direction, range);
        // Both are outputs of more than one call to the machine: both are marked.
        if (layer.is_lstm()) layer.cf->is_transformed = true;
      });
}

}  // namespace

extern "C" {

zdnn_status zdnn_lstm(const zdnn_ztensor* input, const zdnn_ztensor* h0, const zdnn_ztensor* c0,
                      const zdnn_ztensor* weights, const zdnn_ztensor* biases,
                      const zdnn_ztensor* hidden_weights, const zdnn_ztensor* hidden_biases,
                      lstm_gru_direction direction, void* work_area, zdnn_ztensor* hn_output,
                      zdnn_ztensor* cf_output) {
  return run({"zdnn_lstm",
              NNPA_LSTMACT,
              0,
              {input, h0, weights, biases, hidden_weights, hidden_biases, c0},
              {hn_output, cf_output}},
             {input, h0, c0, weights, biases, hidden_weights, hidden_biases, direction, hn_output,
              cf_output},
             work_area);
}

zdnn_status zdnn_gru(const zdnn_ztensor* input, const zdnn_ztensor* h0, const zdnn_ztensor* weights,
                     const zdnn_ztensor* biases, const zdnn_ztensor* hidden_weights,
                     const zdnn_ztensor* hidden_biases, lstm_gru_direction direction,
                     void* work_area, zdnn_ztensor* hn_output) {
  return run({"zdnn_gru",
              NNPA_GRUACT,
              0,
              {input, h0, weights, biases, hidden_weights, hidden_biases},
              {hn_output}},
             {input, h0, nullptr, weights, biases, hidden_weights, hidden_biases, direction,
              hn_output, nullptr},
             work_area);
}

}  // extern "C"
