// LSTM and GRU against their formulas in double precision, in all directions.
#include <cstdlib>
#include <memory>

#include "support.h"

namespace {

using namespace zdnn_test;

class ZdnnTwinRecurrent : public TwinTest {};

constexpr std::uint32_t kSteps = 3, kBatch = 2, kIn = 5, kHidden = 67;

// A tensor of gates side by side.
class GateTensor {
 public:
  GateTensor(zdnn_concat_info info, zdnn_data_layouts layout, std::vector<std::uint32_t> dims,
             const std::vector<std::vector<float>>& gates) {
    dims.resize(3);
    zdnn_init_pre_transformed_desc(layout, FP32, &pre_, dims[0], dims[1], dims[2]);
    EXPECT_EQ(zdnn_generate_transformed_desc_concatenated(&pre_, info, &desc_), ZDNN_OK);
    EXPECT_EQ(zdnn_init_ztensor_with_malloc(&pre_, &desc_, &tensor_), ZDNN_OK);
    EXPECT_EQ(zdnn_transform_ztensor(&tensor_, gates[0].data(), gates[1].data(), gates[2].data(),
                                     gates.back().data()),
              ZDNN_OK);
  }
  ~GateTensor() { zdnn_free_ztensor_buffer(&tensor_); }
  GateTensor(const GateTensor&) = delete;
  GateTensor& operator=(const GateTensor&) = delete;
  operator zdnn_ztensor*() { return &tensor_; }  // NOLINT: as the interface takes it

 private:
  zdnn_tensor_desc pre_{}, desc_{};
  zdnn_ztensor tensor_{};
};

std::vector<float> small(std::size_t count, unsigned seed) {
  auto values = some_numbers(count, seed);
  for (float& value : values) value /= 8;
  return values;
}

struct Layer {
  std::uint32_t gates, directions;
  std::vector<float> x, h0, c0;
  std::vector<std::vector<float>> w, b, r, rb;  // per gate

  Layer(std::uint32_t g, std::uint32_t d) : gates(g), directions(d) {
    x = small(kSteps * kBatch * kIn, 1);
    h0 = small(d * kBatch * kHidden, 2);
    c0 = small(d * kBatch * kHidden, 3);
    for (unsigned gate = 0; gate < g; ++gate) {
      w.push_back(small(d * kIn * kHidden, 10 + gate));
      b.push_back(small(d * kHidden, 20 + gate));
      r.push_back(small(d * kHidden * kHidden, 30 + gate));
      rb.push_back(small(d * kHidden, 40 + gate));
    }
  }
  double from_input(unsigned gate, std::size_t d, std::size_t t, std::size_t n,
                    std::size_t j) const {
    double sum = static_cast<double>(b[gate][d * kHidden + j]);
    for (std::size_t k = 0; k < kIn; ++k)
      sum += static_cast<double>(x[(t * kBatch + n) * kIn + k]) *
             static_cast<double>(w[gate][(d * kIn + k) * kHidden + j]);
    return sum;
  }
  double from_hidden(unsigned gate, std::size_t d, const std::vector<double>& h,
                     std::size_t j) const {
    double sum = static_cast<double>(rb[gate][d * kHidden + j]);
    for (std::size_t k = 0; k < kHidden; ++k)
      sum += h[k] * static_cast<double>(r[gate][(d * kHidden + k) * kHidden + j]);
    return sum;
  }

  // hn (step, direction, batch, hidden) and cf (direction, batch, hidden).
  void compute(lstm_gru_direction direction, std::vector<double>& hn,
               std::vector<double>& cf) const {
    const auto sigmoid = [](double z) { return 1 / (1 + std::exp(-z)); };
    hn.assign(kSteps * directions * kBatch * kHidden, 0);
    cf.assign(directions * kBatch * kHidden, 0);
    for (std::size_t d = 0; d < directions; ++d)
      for (std::size_t n = 0; n < kBatch; ++n) {
        std::vector<double> h(kHidden), c(kHidden);
        for (std::size_t j = 0; j < kHidden; ++j) {
          h[j] = static_cast<double>(h0[(d * kBatch + n) * kHidden + j]);
          c[j] = static_cast<double>(c0[(d * kBatch + n) * kHidden + j]);
        }
        for (std::size_t i = 0; i < kSteps; ++i) {
          const std::size_t t = direction == BWD || d == 1 ? kSteps - 1 - i : i;
          const std::vector<double> before = h;
          for (std::size_t j = 0; j < kHidden; ++j) {
            const auto in = [&](unsigned g) { return from_input(g, d, t, n, j); };
            const auto re = [&](unsigned g) { return from_hidden(g, d, before, j); };
            if (gates == 4) {
              c[j] =
                  sigmoid(in(0) + re(0)) * c[j] + sigmoid(in(1) + re(1)) * std::tanh(in(2) + re(2));
              h[j] = sigmoid(in(3) + re(3)) * std::tanh(c[j]);
            } else {
              const double z = sigmoid(in(0) + re(0));
              h[j] = (1 - z) * std::tanh(in(2) + sigmoid(in(1) + re(1)) * re(2)) + z * before[j];
            }
            hn[((t * directions + d) * kBatch + n) * kHidden + j] = h[j];
            cf[(d * kBatch + n) * kHidden + j] = c[j];
          }
        }
      }
  }
};

struct Tensors {
  Tensors(const Layer& l, std::uint32_t out_steps)
      : x(ZDNN_3DS, {kSteps, kBatch, kIn}, l.x),
        h0(ZDNN_3DS, {l.directions, kBatch, kHidden}, l.h0),
        c0(ZDNN_3DS, {l.directions, kBatch, kHidden}, l.c0),
        w(type(l) | USAGE_WEIGHTS, ZDNN_3DS, {l.directions, kIn, kHidden}, l.w),
        b(type(l) | USAGE_BIASES, ZDNN_2DS, {l.directions, kHidden}, l.b),
        r(type(l) | USAGE_HIDDEN_WEIGHTS, ZDNN_3DS, {l.directions, kHidden, kHidden}, l.r),
        rb(type(l) | USAGE_HIDDEN_BIASES, ZDNN_2DS, {l.directions, kHidden}, l.rb),
        hn(ZDNN_4DS, {out_steps, l.directions, kBatch, kHidden}),
        cf(ZDNN_4DS, {1, l.directions, kBatch, kHidden}) {}
  static zdnn_concat_info type(const Layer& l) {
    return l.gates == 4 ? RNN_TYPE_LSTM : RNN_TYPE_GRU;
  }
  zdnn_status run(const Layer& l, lstm_gru_direction direction, void* area = nullptr) {
    return l.gates == 4 ? zdnn_lstm(x, h0, c0, w, b, r, rb, direction, area, hn, cf)
                        : zdnn_gru(x, h0, w, b, r, rb, direction, area, hn);
  }
  Tensor x, h0, c0;
  GateTensor w, b, r, rb;
  Tensor hn, cf;
};

TEST_F(ZdnnTwinRecurrent, MatchesExactValuesInAllDirections) {
  for (const std::uint32_t gates : {4u, 3u})
    for (const auto direction : {FWD, BWD, BIDIR}) {
      SCOPED_TRACE(testing::Message() << gates << " gates, direction " << direction);
      const Layer layer(gates, direction == BIDIR ? 2 : 1);
      std::vector<double> hn, cf;
      layer.compute(direction, hn, cf);
      Tensors t(layer, kSteps);
      ASSERT_EQ(t.run(layer, direction), ZDNN_OK) << zdnn_twin_last_message();
      const auto got = t.hn.get(hn.size());
      for (std::size_t i = 0; i < hn.size(); ++i)
        ASSERT_NEAR(static_cast<double>(got[i]), hn[i], 0.01) << i;  // a few roundings a step
      if (gates == 4) {
        const auto cells = t.cf.get(cf.size());
        for (std::size_t i = 0; i < cf.size(); ++i)
          ASSERT_NEAR(static_cast<double>(cells[i]), cf[i], 0.01) << i;
      }
      // The last processed step only.
      Tensors last(layer, 1);
      ASSERT_EQ(last.run(layer, direction), ZDNN_OK);
      const std::size_t slice = kBatch * kHidden;
      const auto final_state = last.hn.get(layer.directions * slice);
      for (std::size_t d = 0; d < layer.directions; ++d) {
        const std::size_t step = direction == BWD || d == 1 ? 0 : kSteps - 1;
        for (std::size_t i = 0; i < slice; ++i)
          ASSERT_EQ(final_state[d * slice + i], got[(step * layer.directions + d) * slice + i]);
      }
    }
}

TEST_F(ZdnnTwinRecurrent, LayerAcceptsBidirectionalOutput) {
  const Layer first(3, 2);
  Tensors t(first, kSteps);
  ASSERT_EQ(t.run(first, BIDIR), ZDNN_OK);
  // Its output is the next one's input as it is: 2 * 67 features, each direction from a multiple of
  // 64 on.
  const auto features = t.hn.get(kSteps * 2 * kBatch * kHidden);
  std::vector<std::vector<float>> w, b, r, rb;
  for (unsigned gate = 0; gate < 3; ++gate) {
    w.push_back(small(2 * kHidden, 50 + gate));
    b.push_back(small(1, 60 + gate));
    r.push_back(small(1, 70 + gate));
    rb.push_back(small(1, 80 + gate));
  }
  GateTensor weights(RNN_TYPE_GRU | PREV_LAYER_BIDIR | USAGE_WEIGHTS, ZDNN_3DS, {1, 2 * kHidden, 1},
                     w);
  GateTensor biases(RNN_TYPE_GRU | PREV_LAYER_BIDIR | USAGE_BIASES, ZDNN_2DS, {1, 1}, b);
  GateTensor hidden(RNN_TYPE_GRU | PREV_LAYER_BIDIR | USAGE_HIDDEN_WEIGHTS, ZDNN_3DS, {1, 1, 1}, r);
  GateTensor hidden_biases(RNN_TYPE_GRU | PREV_LAYER_BIDIR | USAGE_HIDDEN_BIASES, ZDNN_2DS, {1, 1},
                           rb);
  Tensor h0(ZDNN_3DS, {1, kBatch, 1}, {0, 0});
  Tensor out(ZDNN_4DS, {kSteps, 1, kBatch, 1});
  ASSERT_EQ(zdnn_gru(t.hn, h0, weights, biases, hidden, hidden_biases, FWD, nullptr, out), ZDNN_OK)
      << zdnn_twin_last_message();
  const auto got = out.get(kSteps * kBatch);
  for (std::size_t n = 0; n < kBatch; ++n) {
    double h = 0;
    for (std::size_t step = 0; step < kSteps; ++step) {
      double in[3];
      for (unsigned g = 0; g < 3; ++g) {
        in[g] = static_cast<double>(b[g][0]);
        for (std::size_t d = 0; d < 2; ++d)
          for (std::size_t k = 0; k < kHidden; ++k)
            in[g] += static_cast<double>(features[((step * 2 + d) * kBatch + n) * kHidden + k]) *
                     static_cast<double>(w[g][d * kHidden + k]);
      }
      const auto re = [&](unsigned g) {
        return h * static_cast<double>(r[g][0]) + static_cast<double>(rb[g][0]);
      };
      const double z = 1 / (1 + std::exp(-in[0] - re(0)));
      const double reset = 1 / (1 + std::exp(-in[1] - re(1)));
      h = (1 - z) * std::tanh(in[2] + reset * re(2)) + z * h;
      ASSERT_NEAR(static_cast<double>(got[step * kBatch + n]), h, 0.02);
    }
  }
}

TEST_F(ZdnnTwinRecurrent, RejectsInvalidCalls) {
  const Layer lstm(4, 1);
  Tensors t(lstm, kSteps);
  EXPECT_EQ(t.run(lstm, BIDIR), ZDNN_INVALID_SHAPE);
  EXPECT_EQ(t.run(lstm, static_cast<lstm_gru_direction>(3)), ZDNN_INVALID_DIRECTION);
  Tensors two(lstm, 2);
  EXPECT_EQ(two.run(lstm, FWD), ZDNN_INVALID_SHAPE);
  EXPECT_EQ(zdnn_lstm(t.x, t.h0, nullptr, t.w, t.b, t.r, t.rb, FWD, nullptr, t.hn, t.cf),
            ZDNN_INVALID_BUFFER);
  EXPECT_EQ(zdnn_gru(t.x, t.h0, t.w, t.b, t.r, t.rb, FWD, nullptr, t.hn), ZDNN_INVALID_SHAPE);
  t.h0.desc.type = ZDNN_BINARY_INT8;
  EXPECT_EQ(t.run(lstm, FWD), ZDNN_INVALID_TYPE);
  t.h0.desc.type = ZDNN_DLFLOAT16;
  set("ZDNN_TWIN_FAIL_ALLOCATION", "1");
  EXPECT_EQ(t.run(lstm, FWD), ZDNN_ALLOCATION_FAILURE);
  // 4 steps + 6, or 3 steps + 5, tensors of (2, 67): two pages each.
  for (const std::uint32_t gates : {4u, 3u}) {
    const Layer layer(gates, 1);
    Tensors with_area(layer, kSteps);
    const std::size_t bytes = (gates == 4 ? 4 * kSteps + 6 : 3 * kSteps + 5) * 2 * 4096;
    const std::unique_ptr<char, decltype(&std::free)> area(
        static_cast<char*>(std::aligned_alloc(4096, bytes)), std::free);
    EXPECT_EQ(with_area.run(layer, FWD, area.get() + 8), ZDNN_MISALIGNED_SAVEAREA);
    area.get()[bytes - 1] = 0;
    EXPECT_EQ(with_area.run(layer, FWD, area.get()), ZDNN_OK);
    EXPECT_NE(area.get()[bytes - 1], 0);  // all of it is used
  }
}

TEST_F(ZdnnTwinRecurrent, NinfSpreadsInItsBatchRowOnly) {
  const Layer layer(3, 1);
  Tensors t(layer, kSteps);
  t.x.set_cell(0, kNinf);  // step 0, row 0
  EXPECT_EQ(t.run(layer, FWD), ZDNN_ELEMENT_RANGE_VIOLATION);
  EXPECT_EQ(t.hn.cell(0), kNinf);
  EXPECT_NE(t.hn.cell(128), kNinf);  // the other row of the batch
}

TEST_F(ZdnnTwinRecurrent, BitsAreTheSameOnEveryMachine) {
  const auto digests = [](std::uint32_t gates) {
    const Layer layer(gates, 2);
    return in_each_accumulation([&] {
      Tensors t(layer, kSteps);
      EXPECT_EQ(t.run(layer, BIDIR), ZDNN_OK);
      return gates == 4 ? digest_of({&t.hn, &t.cf}) : digest_of({&t.hn});
    });
  };
  EXPECT_EQ(digests(4), (Digests{476184061u, 476184061u, 3070343569u}));
  EXPECT_EQ(digests(3), (Digests{25990884u, 25990884u, 843421054u}));
}

}  // namespace
