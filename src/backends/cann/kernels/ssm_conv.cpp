#include <fmt/format.h>

#include "backends/cann/kernel.h"
#include "backends/cann/sequence_rows.h"
#include "shunt/ops/state.h"

namespace shunt::cann {

namespace {

constexpr DataType kTapNumber = DataType::kFloat;
constexpr std::size_t kX = 0, kW = 1, kStates = 2, kIds = 3, kEnds = 4;

/// Taps are computed one after another, on rows of all tokens.
class ShortConvolution {
 public:
  ShortConvolution(Calls& calls, const Operands& node)
      : calls_(calls),
        node_(node),
        channels_(node.sizes(kX)[0]),
        tokens_(node.sizes(kX)[1]),
        taps_(node.sizes(kW)[0]),
        sequences_(node.has_source(kEnds) ? node.sizes(kEnds)[0] : node.sizes(kX)[2]) {}

  void compute() {
    if (!node_.has_source(kEnds)) return convolve_all();
    if (sequences_ > 0) return convolve_sequences();
    const View zero = calls_.temporary(kTapNumber, {1, 1, 1});
    calls_.fill(zero, Scalar(0.0F));
    calls_.copy(outputs(1), zero);
  }

 private:
  /// [D, T, S] of the result.
  View outputs(std::int64_t sequences) const {
    const View result = node_.result();
    return result.sliced(1, 0, tokens_).sliced(2, 0, sequences).without(3);
  }
  std::int64_t past() const { return taps_ - 1; }

  /// [D, K - 1, S]
  View states_of_sequences() {
    View states = node_.source(kStates).without(3);
    if (!node_.has_source(kIds)) return states;
    const View rows = calls_.indices(node_.source(kIds), node_.content(kIds), states.size(2));
    if (!states.is_empty())
      return select_rows(calls_, calls_.contiguous(states), rows.reshaped({sequences_}));
    const View none = calls_.temporary(kTapNumber, {channels_, past(), sequences_});
    calls_.fill(none, Scalar(0.0F));
    return none;
  }

  /// The sum of weights and inputs(k), [D, ..], of tap k.
  template <class Inputs>
  View sum_taps(const View::Dims& sizes, const Inputs& inputs) {
    const View weights = calls_.contiguous(node_.source(kW).transposed());
    const View sum = calls_.temporary(kTapNumber, sizes);
    const View product = calls_.temporary(kTapNumber, sizes);
    View::Dims one(sizes.size(), 1);
    one[0] = channels_;
    for (std::int64_t k = 0; k < taps_; ++k) {
      const View w = weights.sliced(1, k, 1).reshaped(one);
      calls_(kMul, inputs(k), w, k == 0 ? sum : product);
      if (k > 0) calls_(kInplaceAdd, sum, product, Scalar(1.0F));
    }
    return sum;
  }

  /// Sequences of T tokens each.
  void convolve_all() {
    const View z = calls_.temporary(kTapNumber, {channels_, sequences_, past() + tokens_});
    calls_.copy(z.sliced(2, 0, past()), states_of_sequences().permuted({0, 2, 1}));
    calls_.copy(z.sliced(2, past(), tokens_), node_.source(kX).without(3).permuted({0, 2, 1}));
    const View y = sum_taps({channels_, sequences_, tokens_},
                            [&](std::int64_t k) { return z.sliced(2, k, tokens_); });
    calls_.copy(outputs(sequences_), y.permuted({0, 2, 1}));
    const View states = node_.result().sliced(1, node_.tensor(kX).shape[1].max, past()).without(3);
    calls_.copy(states, z.sliced(2, tokens_, past()).permuted({0, 2, 1}));
  }

  /// Rows of inputs, then of states, then one of zeros.
  void convolve_sequences() {
    const std::int64_t rows = tokens_ + sequences_ * past();
    const View table = calls_.temporary(kTapNumber, {channels_, rows + 1});
    calls_.copy(table.sliced(1, 0, tokens_), node_.source(kX).without(3).without(2));
    calls_.copy(
        table.sliced(1, tokens_, sequences_ * past()),
        calls_.contiguous(states_of_sequences()).reshaped({channels_, sequences_ * past()}));
    calls_.fill(table.sliced(1, rows, 1), Scalar(0.0F));
    const auto [inputs, states] = find_rows();
    if (tokens_ > 0) {
      View input = calls_.temporary(kTapNumber, {channels_, tokens_});
      const View y = sum_taps({channels_, tokens_}, [&, of_taps = inputs](std::int64_t k) {
        select_rows(calls_, table, of_taps.sliced(0, k * tokens_, tokens_), input);
        return input;
      });
      calls_.copy(outputs(1), y.reshaped({channels_, tokens_, 1}));
    }
    const View to = node_.result()
                        .sliced(1, node_.tensor(kX).shape[1].max, sequences_ * past())
                        .without(3)
                        .without(2);
    select_rows(calls_, table, states, to);
  }

  struct Rows {
    View inputs;  ///< [T * K], those of a tap one after another
    View states;  ///< [(K - 1) * S]
  };
  Rows find_rows() {
    const auto row = [&](const char* name, std::int64_t size) {
      return calls_.shared(fmt::format("{} of {} tokens, {} taps, ends at {}", name, tokens_, taps_,
                                       node_.content(kEnds)),
                           DataType::kInt32, {size});
    };
    const auto [inputs, is_first] = row("inputs", tokens_ * taps_);
    const auto [states, is_too] = row("states", sequences_ * past());
    if (is_first) fill_rows({inputs, states});
    return {inputs, states};
  }

  void fill_rows(const Rows& rows) {
    RowMath math(calls_);
    SequenceEnds sequences(calls_, node_.source(kEnds), tokens_);
    const auto absent = static_cast<double>(tokens_ + sequences_ * past());
    if (tokens_ > 0) {
      // Place z of a tap is p = token - begin + k: a row of states below K - 1.
      const View number = sequences.of_tokens(tokens_);
      const View token = math.count_up(tokens_);
      const View begin = math.look_up(sequences.begins(), number);
      const View k = math.count_up(taps_).reshaped({1, taps_});
      const View place =
          math.add(math.add(token, begin, -1).reshaped({tokens_, 1}), k, 1, {tokens_, taps_});
      const View input =
          math.add(math.plus(token, -static_cast<double>(past())).reshaped({tokens_, 1}), k, 1,
                   {tokens_, taps_});
      const View row = choose_rows(math, place, number.reshaped({tokens_, 1}), input);
      const View is_of_one = math.below(number, static_cast<double>(sequences_) - 0.5);
      // absent + (row - absent) * is_of_one
      const View chosen = math.make({tokens_, taps_});
      calls_(kMul, math.plus(row, -absent), is_of_one.reshaped({tokens_, 1}), chosen);
      math.keep(math.plus(chosen, absent), tokens_ + sequences_ * past() + 1, rows.inputs);
    }
    if (past() == 0) return;
    // Row i of the new states is place length + i.
    const View i = math.count_up(past()).reshaped({past(), 1});
    const View sizes = math.add(sequences.ends_of_all(), sequences.begins_of_all(), -1);
    const View place = math.add(i, sizes.reshaped({1, sequences_}), 1, {past(), sequences_});
    const View input =
        math.add(math.plus(i, -static_cast<double>(past())),
                 sequences.ends_of_all().reshaped({1, sequences_}), 1, {past(), sequences_});
    const View number = math.count_up(sequences_).reshaped({1, sequences_});
    math.keep(choose_rows(math, place, number, input), tokens_ + sequences_ * past(), rows.states);
  }

  /// The row of the states of sequence `number` where `place` is below K - 1, else `input`.
  View choose_rows(RowMath& math, const View& place, const View& number, const View& input) {
    const View is_state = math.below(place, static_cast<double>(past()) - 0.5);
    const View state = math.add(math.plus(place, static_cast<double>(tokens_)), number,
                                static_cast<double>(past()));
    return math.add(input, math.times(math.add(state, input, -1), is_state));
  }

  Calls& calls_;
  const Operands& node_;
  std::int64_t channels_, tokens_, taps_, sequences_;
};

class SsmConv final : public CannKernel {
 public:
  const Op& op() const override { return ssm_conv_op(); }

  Support accepts(const NodeView& view, const CannTarget& target) const override {
    const std::int64_t taps = view.source(kW).size(0);
    if (taps > kMostTaps)
      return Support::no(Refusal::kShape, fmt::format("{} taps; at most {}", taps, kMostTaps));
    if (view.has_source(kEnds) &&
        view.source(kX).size(1) + taps * view.source(kEnds).size(0) >= kMostRows)
      return Support::no(Refusal::kShape, "too many tokens and sequences");
    return CannKernel::accepts(view, target);
  }

  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    ShortConvolution(calls, node).compute();
  }

 private:
  static constexpr std::int64_t kMostTaps = 256;
  static constexpr std::int64_t kMostRows = 1 << 23;  // which F32 counts exactly
};

}  // namespace

KernelList ssm_conv_kernels() {
  return list_kernels<CannKernel, SsmConv>();
}

}  // namespace shunt::cann
