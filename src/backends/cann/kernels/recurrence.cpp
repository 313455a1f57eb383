#include <fmt/format.h>

#include <algorithm>

#include "backend_support/kernel_rows.h"
#include "backends/cann/recurrence_units.h"
#include "shunt/ops/state.h"

namespace shunt::cann {

namespace {

constexpr DataType kNumber = DataType::kFloat;

/// The tokens of an op. Views are [F, heads of a group, groups, units, steps]; F is K, V or 1. A
/// token makes of the states S [K, V], with `D = diag(w) S`:
///   `S = D + k v^T`,
///   with beta `S = D + k (beta (v - D^T k))^T`,
///   with a and b `S = D + k v^T + b (S^T a)^T`.
/// The outputs are `S^T q` after that. With a bonus they are `S^T q + (q^T diag(bonus) k) v` before
/// it.
struct RecurrenceTokens {
  View q, w, k, v;
  std::optional<View> beta = {}, a = {}, b = {}, bonus = {};
};

struct RecurrenceKind {
  const Op& (*op)();
  RecurrenceSources sources;
  RecurrenceTokens (*tokens)(Calls& calls, const Operands& node, RecurrenceUnits& units);
  float (*scale)(const Operands& node) = nullptr;
};

/// Calls that several ops need, with results in temporaries.
class RecurrenceMath {
 public:
  explicit RecurrenceMath(Calls& calls) : calls_(calls) {}

  View make(View::Dims sizes) { return calls_.temporary(kNumber, std::move(sizes)); }
  View product(const View& a, const View& b, View::Dims sizes) {
    const View y = make(std::move(sizes));
    calls_(kMul, a, b, y);
    return y;
  }
  /// ln(1 + exp(x)) = max(x, 0) + ln(1 + exp(-|x|))
  View softplus(const View& x) {
    const View y = make(x.sizes());
    calls_(kAbs, x, y);
    calls_(kNeg, y, y);
    calls_(kExp, y, y);
    calls_(kLog1p, y, y);
    const View above = make(x.sizes());
    calls_(kRelu, x, above);
    calls_(kInplaceAdd, y, above, Scalar(1.0F));
    return y;
  }

 private:
  Calls& calls_;
};

/// Tokens of a source as [F, heads / groups, groups, units, steps]; it has groups * n heads.
View tokens_of(const Operands& node, RecurrenceUnits& units, std::size_t source,
               std::int64_t groups, float absent = 0) {
  const View x = units.tokens(node.source(source), absent);
  return x.reshaped({x.size(0), x.size(1) / groups, groups, x.size(2), x.size(3)});
}

RecurrenceTokens linear_tokens(Calls&, const Operands& node, RecurrenceUnits& units) {
  const auto of = [&](std::size_t source, float absent = 0) {
    return tokens_of(node, units, source, units.heads(), absent);
  };
  return {.q = of(0), .w = of(3, 1), .k = of(1), .v = of(2)};
}

RecurrenceTokens wkv6_tokens(Calls& calls, const Operands& node, RecurrenceUnits& units) {
  const auto of = [&](std::size_t source, float absent = 0) {
    return tokens_of(node, units, source, units.heads(), absent);
  };
  return {
      .q = of(0),
      .w = of(1, 1),
      .k = of(2),
      .v = of(3),
      .bonus = calls.contiguous(node.source(4)).reshaped({units.keys(), 1, units.heads(), 1, 1})};
}

RecurrenceTokens wkv7_tokens(Calls&, const Operands& node, RecurrenceUnits& units) {
  const auto of = [&](std::size_t source, float absent = 0) {
    return tokens_of(node, units, source, units.heads(), absent);
  };
  return {.q = of(0), .w = of(1, 1), .k = of(2), .v = of(3), .a = of(4), .b = of(5)};
}

RecurrenceTokens delta_tokens(Calls& calls, const Operands& node, RecurrenceUnits& units) {
  const std::int64_t groups = node.sizes(0)[1];
  const auto of = [&](std::size_t source) { return tokens_of(node, units, source, groups); };
  const View gate = of(3);
  const View w = calls.temporary(kNumber, gate.sizes());
  calls(kExp, gate, w);
  return {.q = of(0), .w = w, .k = of(1), .v = of(2), .beta = of(4)};
}

RecurrenceTokens scan_tokens(Calls& calls, const Operands& node, RecurrenceUnits& units) {
  RecurrenceMath math(calls);
  const std::int64_t groups = node.sizes(3)[1];
  const auto of = [&](std::size_t source) { return tokens_of(node, units, source, groups); };
  // Steps are [1, H, T, S].
  View dt = node.source(1).with_dim(0);
  dt = math.softplus(calls.contiguous(dt.without(4)));
  const View x = of(0);
  View step = units.tokens(dt, 0);
  step = step.reshaped({1, x.size(1), groups, x.size(3), x.size(4)});
  const View a = calls.contiguous(node.source(2));
  const std::int64_t decays = a.size(0);
  const View w = math.product(step, a.reshaped({decays, x.size(1), groups, 1, 1}),
                              {decays, x.size(1), groups, x.size(3), x.size(4)});
  calls(kExp, w, w);
  return {.q = of(4), .w = w, .k = of(3), .v = math.product(x, step, x.sizes())};
}

template <class OpParams>
float scale_of_node(const Operands& node) {
  return node.params<OpParams>().scale;
}

constexpr std::array kKinds = {
    RecurrenceKind{ssm_scan_op, {.states = 5}, scan_tokens},
    RecurrenceKind{rwkv_wkv6_op, {.states = 5, .values_first = true}, wkv6_tokens},
    RecurrenceKind{rwkv_wkv7_op, {.states = 6}, wkv7_tokens},
    RecurrenceKind{gated_linear_attn_op,
                   {.states = 4, .values_first = true},
                   linear_tokens,
                   scale_of_node<GatedLinearAttnParams>},
    RecurrenceKind{
        gated_delta_net_op, {.states = 5}, delta_tokens, scale_of_node<GatedDeltaNetParams>},
};

/// One token of each unit.
View token_at(const View& tokens, std::int64_t step) {
  return tokens.sliced(4, step, 1).without(4);
}

/// The computation of a node. States are [K, V, heads of a group, groups, places].
class RecurrenceRun {
 public:
  RecurrenceRun(Calls& calls, RecurrenceUnits& units, const RecurrenceTokens& tokens)
      : calls_(calls),
        math_(calls),
        units_(units),
        tokens_(tokens),
        heads_{tokens.v.size(1), tokens.v.size(2)},
        is_diagonal_(!tokens.beta && !tokens.a) {}

  void compute() {
    const bool continues = units_.continues();
    const std::int64_t more = continues && !is_diagonal_ ? units_.keys() : 0;
    const View all = units_.states(more);
    const std::int64_t columns = units_.values() + more;
    const View states =
        all.sliced(3, 0, units_.units())
            .reshaped({units_.keys(), columns, heads_[0], heads_[1], units_.units()});
    products_ = math_.make(states.sizes());
    if (more > 0) tokens_.v = with_zeros(tokens_.v, more);
    if (!is_diagonal_) row_ = math_.make(token_at(tokens_.v, 0).sizes());
    const View outputs = math_.make(tokens_.v.sizes());
    const bool decays = continues && is_diagonal_;
    if (decays) start_decays();
    for (std::int64_t step = 0; step < units_.steps(); ++step) {
      const View y = token_at(outputs, step);
      if (tokens_.bonus) read(states, step, y);
      update(states, step);
      if (!tokens_.bonus) read(states, step, y);
      if (decays) decay(step);
    }
    if (tokens_.bonus) add_bonus(outputs);
    if (!continues) return finish(outputs, all);
    carry(outputs, all);
  }

 private:
  /// Sizes [size, heads of a group, groups, ...].
  View::Dims sizes_of(std::int64_t size, View::Dims others) const {
    View::Dims sizes = {size, heads_[0], heads_[1]};
    sizes.insert(sizes.end(), others.begin(), others.end());
    return sizes;
  }
  /// y[v] = sum over k of x[k] * states[k, v]
  void sum_keys(const View& states, const View& x, const View& products, const View& y) {
    calls_(kMul, states, x.with_dim(1), products);
    calls_(kReduceSum, products, {products.vendor_dim(0)}, false, kNumber, y);
  }
  void read(const View& states, std::int64_t step, const View& y) {
    sum_keys(states, token_at(tokens_.q, step), products_, y);
  }
  /// states[k, v] += x[k] * y[v]
  void add_outer(const View& states, const View& x, const View& y) {
    calls_(kMul, x.with_dim(1), y.with_dim(0), products_);
    calls_(kInplaceAdd, states, products_, Scalar(1.0F));
  }

  void update(const View& states, std::int64_t step) {
    const View k = token_at(tokens_.k, step), v = token_at(tokens_.v, step);
    const View w = token_at(tokens_.w, step).with_dim(1);
    if (tokens_.a) sum_keys(states, token_at(*tokens_.a, step), products_, *row_);
    calls_(kInplaceMul, states, w);
    if (!tokens_.beta) {
      add_outer(states, k, v);
      if (tokens_.a) add_outer(states, token_at(*tokens_.b, step), *row_);
      return;
    }
    sum_keys(states, k, products_, *row_);
    calls_(kSub, v, *row_, Scalar(1.0F), *row_);
    calls_(kInplaceMul, *row_, token_at(*tokens_.beta, step));
    add_outer(states, k, *row_);
  }

  /// v with `more` rows of zeros after it.
  View with_zeros(const View& v, std::int64_t more) {
    View::Dims sizes = v.sizes();
    sizes[0] += more;
    const View made = math_.make(std::move(sizes));
    calls_.fill(made, Scalar(0.0F));
    calls_.copy(made.sliced(0, 0, v.size(0)), v);
    return made;
  }

  // Of diagonal ones: the product of w up to each token of a unit.
  void start_decays() {
    View::Dims sizes = tokens_.w.sizes();
    sizes[4] = units_.steps() + 1;
    decays_ = math_.make(std::move(sizes));
    calls_.fill(decays_.sliced(4, 0, 1), Scalar(1.0F));
  }
  void decay(std::int64_t step) {
    calls_(kMul, token_at(decays_, step), token_at(tokens_.w, step), token_at(decays_, step + 1));
  }

  /// y += (sum over k of r[k] * bonus[k] * key[k]) * v
  void add_bonus(const View& outputs) {
    View x = math_.product(tokens_.q, tokens_.k, tokens_.q.sizes());
    calls_(kInplaceMul, x, *tokens_.bonus);
    View::Dims sizes = x.sizes();
    sizes[0] = 1;
    const View sum = math_.make(std::move(sizes));
    calls_(kReduceSum, x, {x.vendor_dim(0)}, true, kNumber, sum);
    const View more = math_.product(tokens_.v, sum, outputs.sizes());
    calls_(kInplaceAdd, outputs, more, Scalar(1.0F));
  }

  /// Units from zeros become units after others: states after a unit are their own plus
  /// `transition` times those before, and outputs are their own plus `reads` times those before.
  void carry(const View& outputs, const View& all) {
    if (is_diagonal_) {
      const View transitions = token_at(decays_, units_.steps());
      units_.carry(all, [&](const View& after, const View& before, std::int64_t unit) {
        decay_before(transitions, after, before, unit);
      });
      const View seen = decays_.sliced(4, tokens_.bonus ? 0 : 1, units_.steps());
      const View reads =
          math_.product(seen, tokens_.q, sizes_of(units_.keys(), {units_.units(), units_.steps()}));
      add_reads(outputs, reads, all);
      return finish(outputs, all);
    }
    const std::int64_t keys = units_.keys(), values = units_.values();
    const View states = calls_.contiguous(all.sliced(1, 0, values));
    const View transitions = calls_.contiguous(all.sliced(1, values, keys));
    units_.carry(states, [&](const View& after, const View& before, std::int64_t unit) {
      turn_before(transitions, after, before, unit);
    });
    const View own = calls_.contiguous(outputs.sliced(0, 0, values));
    add_reads(own, calls_.contiguous(outputs.sliced(0, values, keys)), states);
    finish(own, states);
  }

  /// [K, V, H, n] with groups of heads.
  View grouped(const View& states) const {
    return states.reshaped({states.size(0), states.size(1), heads_[0], heads_[1], states.size(3)});
  }

  void decay_before(const View& transitions, const View& after, const View& before,
                    std::int64_t unit) {
    if (!carried_) carried_ = math_.make(before.sizes());
    const View carried = grouped(*carried_);
    calls_(kMul, grouped(before), transitions.sliced(3, unit, before.size(3)).with_dim(1), carried);
    calls_(kInplaceAdd, grouped(after), carried, Scalar(1.0F));
  }

  /// after[k, v] += sum over i of transition[k, i] * before[i, v]
  void turn_before(const View& transitions, const View& after, const View& before,
                   std::int64_t unit) {
    if (!carried_) carried_ = math_.make(before.sizes());
    const auto matrices = [](const View& x) {
      return x.reshaped({x.size(0), x.size(1), x.size(2) * x.size(3)});
    };
    multiply(matrices(before), matrices(transitions.sliced(3, unit, before.size(3))),
             matrices(*carried_));
    calls_(kInplaceAdd, after, *carried_, Scalar(1.0F));
  }

  /// y[k, v] = sum over i of b[k, i] * a[i, v] for each head.
  void multiply(const View& a, const View& b, const View& y) {
    if (calls_.chip().f32_products) return calls_(kBatchMatMul, a, b, y, CubeMath::kKeep);
    const std::int64_t most =
        std::clamp(kMostProducts / (a.size(0) * y.size(0) * y.size(1)), std::int64_t{1}, a.size(2));
    if (!turned_) {
      turned_ = math_.make({b.size(1), b.size(0), most});
      many_ = math_.make({a.size(0), y.size(0), y.size(1), most});
    }
    for (std::int64_t first = 0; first < a.size(2); first += most) {
      const std::int64_t count = std::min(most, a.size(2) - first);
      const View b_turned = turned_->sliced(2, 0, count);
      const View products = many_->sliced(3, 0, count);
      calls_.copy(b_turned, b.sliced(2, first, count).permuted({1, 0, 2}));
      calls_(kMul, a.sliced(2, first, count).with_dim(1), b_turned.with_dim(2), products);
      calls_(kReduceSum, products, {products.vendor_dim(0)}, false, kNumber,
             y.sliced(2, first, count));
    }
  }

  /// Outputs [V, .., units, steps] += sum over k of reads[k] * before[k, v]
  void add_reads(const View& outputs, const View& reads, const View& states) {
    const View all = units_.before(states);
    const View before = grouped(all);
    const std::int64_t count = all.size(3);
    const std::int64_t first = units_.units() - count;
    if (calls_.chip().f32_products)
      return multiply_reads(outputs.sliced(3, first, count), reads.sliced(3, first, count), before);
    const View more = math_.make({outputs.size(0), heads_[0], heads_[1], count});
    const View products(kNumber, before.sizes(), products_.data());
    for (std::int64_t step = 0; step < units_.steps(); ++step) {
      sum_keys(before, token_at(reads, step).sliced(3, first, count), products, more);
      calls_(kInplaceAdd, token_at(outputs, step).sliced(3, first, count), more, Scalar(1.0F));
    }
  }
  void multiply_reads(const View& outputs, const View& reads, const View& before) {
    const auto matrices = [](const View& x) {
      return x.reshaped({x.size(0), x.size(1), x.size(2) * x.size(3) * x.size(4)});
    };
    const View q = math_.make({reads.size(0), reads.size(4), heads_[0], heads_[1], reads.size(3)});
    calls_.copy(q, reads.permuted({0, 4, 1, 2, 3}));
    const View more = math_.make({outputs.size(0), q.size(1), q.size(2), q.size(3), q.size(4)});
    calls_(kBatchMatMul, matrices(q), matrices(before).transposed(), matrices(more),
           CubeMath::kKeep);
    const View sum = math_.make(outputs.sizes());
    calls_(kAdd, outputs, more.permuted({0, 2, 3, 4, 1}), Scalar(1.0F), sum);
    calls_.copy(outputs, sum);
  }

  void finish(const View& outputs, const View& states) {
    units_.write_outputs(
        outputs.reshaped({units_.values(), units_.heads(), units_.units(), units_.steps()}));
    units_.write_states(states);
  }

  /// Products of matrices are summed in parts of about this many.
  static constexpr std::int64_t kMostProducts = 1 << 24;

  Calls& calls_;
  RecurrenceMath math_;
  RecurrenceUnits& units_;
  RecurrenceTokens tokens_;
  std::array<std::int64_t, 2> heads_;
  bool is_diagonal_;
  View products_;
  View decays_;
  std::optional<View> row_;
  std::optional<View> carried_;        // states of the units that depend on those before
  std::optional<View> turned_, many_;  // matrices, and their products before they are summed
};

class RecurrenceKernel final : public CannKernel {
 public:
  explicit RecurrenceKernel(const RecurrenceKind& kind) : kind_(kind) {}
  const Op& op() const override { return kind_.op(); }

  Support accepts(const NodeView& view, const CannTarget& target) const override {
    const std::int64_t units = RecurrenceUnits::most_in_order(view, kind_.sources);
    if (units <= kMostUnits) return CannKernel::accepts(view, target);
    return Support::no(Refusal::kShape,
                       fmt::format("{} blocks of {} tokens one after another; at most {}", units,
                                   RecurrenceUnits::kUnitTokens, kMostUnits));
  }

  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    RecurrenceUnits units(calls, node, kind_.sources);
    if (units.units() == 0 || units.keys() == 0) return units.clear_outputs();
    if (units.steps() == 0) return units.write_states(units.states(0));
    RecurrenceTokens tokens = kind_.tokens(calls, node, units);
    const float scale = kind_.scale == nullptr ? 1 : kind_.scale(node);
    if (scale != 1) {
      const View scaled = calls.temporary(kNumber, tokens.q.sizes());
      calls(kMuls, tokens.q, Scalar(scale), scaled);
      tokens.q = scaled;
    }
    RecurrenceRun(calls, units, tokens).compute();
  }

 private:
  /// Each takes some calls.
  static constexpr std::int64_t kMostUnits = 1024;

  const RecurrenceKind& kind_;
};

}  // namespace

KernelList recurrence_kernels() {
  static const KernelRows<RecurrenceKernel, CannKernel> kKernels(kKinds);
  return kKernels.list();
}

}  // namespace shunt::cann
