// Im2col, convolutions and pools of the CANN twin, against loops over the definition.
#include <cmath>
#include <limits>

#include "indexing_support.h"

namespace ascend_test::indexing {
namespace {

using ShapesWindows = TwinTest;

/// Small integers in no order: their sums of products are exact in F32.
Floats scattered(std::size_t count, unsigned seed) {
  Floats values(count);
  for (std::size_t i = 0; i < count; ++i) {
    seed = seed * 1664525U + 1013904223U;
    values[i] = static_cast<float>(static_cast<int>(seed >> 28) - 8);
  }
  return values;
}

struct Geometry {
  int batch, in, out, groups;
  int height, width, kernel, stride, pad, dilation;
  bool transposed;
  int more;
};

int extent_of(const Geometry& g, int size) {
  const int reach = g.dilation * (g.kernel - 1) + 1;
  if (g.transposed) return (size - 1) * g.stride - 2 * g.pad + reach + g.more;
  return (size + 2 * g.pad - reach) / g.stride + 1;
}

/// Every input element adds to every result that its window says: the definition turned round.
Floats convolved(const Geometry& g, const Floats& input, const Floats& weight) {
  const int high = extent_of(g, g.height);
  const int wide = extent_of(g, g.width);
  Floats result(static_cast<std::size_t>(g.batch * g.out * high * wide));
  const int in_group = g.in / g.groups;
  const int out_group = g.out / g.groups;
  for (int n = 0; n < g.batch; ++n) {
    for (int o = 0; o < g.out; ++o) {
      for (int i = 0; i < in_group; ++i) {
        const int channel = o / out_group * in_group + i;
        const int row = g.transposed ? channel * out_group + o % out_group : o * in_group + i;
        for (int y = 0; y < g.height; ++y) {
          for (int x = 0; x < g.width; ++x) {
            for (int ky = 0; ky < g.kernel; ++ky) {
              for (int kx = 0; kx < g.kernel; ++kx) {
                int ty = y * g.stride - g.pad + ky * g.dilation;
                int tx = x * g.stride - g.pad + kx * g.dilation;
                if (!g.transposed) {
                  const int dy = y + g.pad - ky * g.dilation;
                  const int dx = x + g.pad - kx * g.dilation;
                  if (dy < 0 || dx < 0 || dy % g.stride != 0 || dx % g.stride != 0) continue;
                  ty = dy / g.stride;
                  tx = dx / g.stride;
                }
                if (ty < 0 || ty >= high || tx < 0 || tx >= wide) continue;
                result[static_cast<std::size_t>(((n * g.out + o) * high + ty) * wide + tx)] +=
                    input[static_cast<std::size_t>(((n * g.in + channel) * g.height + y) * g.width +
                                                   x)] *
                    weight[static_cast<std::size_t>((row * g.kernel + ky) * g.kernel + kx)];
              }
            }
          }
        }
      }
    }
  }
  return result;
}

TEST_F(ShapesWindows, ConvolutionsFollowTheirDefinition) {
  for (const Geometry& g : {Geometry{2, 2, 3, 1, 5, 4, 3, 1, 1, 1, false, 0},
                            Geometry{1, 4, 6, 2, 7, 6, 2, 2, 0, 2, false, 0},
                            Geometry{1, 3, 3, 3, 4, 4, 3, 2, 2, 1, false, 0},
                            Geometry{2, 4, 2, 2, 3, 4, 3, 2, 1, 1, true, 1},
                            Geometry{1, 2, 3, 1, 3, 3, 2, 3, 0, 2, true, 0}}) {
    const int high = extent_of(g, g.height);
    const int wide = extent_of(g, g.width);
    const Floats input =
        scattered(static_cast<std::size_t>(g.batch * g.in * g.height * g.width), 1);
    const int rows = g.transposed ? g.in : g.out;
    const int columns = (g.transposed ? g.out : g.in) / g.groups;
    const Floats weight =
        scattered(static_cast<std::size_t>(rows * columns * g.kernel * g.kernel), 2);
    Tensor<float> x(ACL_FLOAT, {g.batch, g.in, g.height, g.width}, input);
    Tensor<float> w(ACL_FLOAT, {rows, columns, g.kernel, g.kernel}, weight);
    const Floats bias = scattered(static_cast<std::size_t>(g.out), 3);
    Tensor<float> b(ACL_FLOAT, {g.out}, bias);
    const std::vector<std::int64_t> shape{g.batch, g.out, high, wide};
    Floats expected = convolved(g, input, weight);
    Tensor<float> out(ACL_FLOAT, shape, Floats(expected.size()));
    const Integers stride({g.stride, g.stride});
    const Integers pad({g.pad, g.pad});
    const Integers dilation({g.dilation, g.dilation});
    const Integers more({g.more, g.more});
    ASSERT_EQ(
        RUN_OP(Convolution, x.get(), w.get(), nullptr, stride.get(), pad.get(), dilation.get(),
               g.transposed, more.get(), g.groups, out.get(), std::int8_t{KEEP_DTYPE}),
        ACL_SUCCESS)
        << ascend_twin_last_message();
    EXPECT_EQ(out.values(), expected);
    ASSERT_EQ(
        RUN_OP(Convolution, x.get(), w.get(), b.get(), stride.get(), pad.get(), dilation.get(),
               g.transposed, more.get(), g.groups, out.get(), std::int8_t{KEEP_DTYPE}),
        ACL_SUCCESS);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      expected[i] +=
          bias[i / static_cast<std::size_t>(high * wide) % static_cast<std::size_t>(g.out)];
    }
    EXPECT_EQ(out.values(), expected);
  }
}

/// A signal of 4 with a kernel of 2, which a test of ggml's transposed convolutions resembles.
struct Signal {
  Tensor<float> x{ACL_FLOAT, {1, 1, 4}, {1, 2, 3, 4}};
  Tensor<float> w{ACL_FLOAT, {1, 1, 2}, {10, 1}};
  Tensor<float> out{ACL_FLOAT, {1, 1, 3}, Floats(3)};
  aclError run(std::int8_t type, std::int64_t stride = 1, std::int64_t groups = 1) {
    return RUN_OP(Convolution, x.get(), w.get(), nullptr, Integers({stride}).get(),
                  Integers({0}).get(), Integers({1}).get(), false, Integers({0}).get(), groups,
                  out.get(), type);
  }
};

TEST_F(ShapesWindows, ConvolvesSignals) {
  Signal signal;
  ASSERT_EQ(signal.run(KEEP_DTYPE), ACL_SUCCESS);
  EXPECT_EQ(signal.out.values(), (Floats{12, 23, 34}));
}

TEST_F(ShapesWindows, RefusesConvolutionsThatDoNotFit) {
  Signal signal;
  EXPECT_EQ(signal.run(KEEP_DTYPE, 2), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(signal.run(KEEP_DTYPE, 0), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(signal.run(KEEP_DTYPE, 1, 2), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(signal.run(KEEP_DTYPE, 1, 0), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(signal.run(9), ACLNN_ERR_PARAM_INVALID);
  Tensor<float> wide(ACL_FLOAT, {1, 1, 9}, Floats(9));
  const auto code = [&](aclTensor* weight, aclTensor* bias, std::initializer_list<std::int64_t> pad,
                        bool transposed, std::int64_t more) {
    return RUN_OP(Convolution, signal.x.get(), weight, bias, Integers({1}).get(),
                  Integers(pad).get(), Integers({1}).get(), transposed, Integers({more}).get(), 1,
                  signal.out.get(), std::int8_t{KEEP_DTYPE});
  };
  EXPECT_EQ(code(wide.get(), nullptr, {0}, false, 0), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code(signal.w.get(), nullptr, {0, 0}, false, 0), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code(signal.w.get(), nullptr, {-1}, false, 0), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code(signal.w.get(), signal.w.get(), {0}, false, 0), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code(signal.w.get(), nullptr, {0}, true, 1), ACLNN_ERR_PARAM_INVALID);
  Tensor<float> matrix(ACL_FLOAT, {2, 2}, Floats(4));
  EXPECT_EQ(code(matrix.get(), nullptr, {0}, false, 0), ACLNN_ERR_PARAM_INVALID);
  Tensor<std::uint16_t> half(ACL_FLOAT16, {1, 1, 2}, Halves(2));
  EXPECT_EQ(code(half.get(), nullptr, {0}, false, 0), ACLNN_ERR_PARAM_INVALID);
  const Section nchw(ACL_FLOAT, {1, 1, 2}, {2, 2, 1}, 0, 2, signal.w.address(), ACL_FORMAT_NCHW);
  EXPECT_EQ(code(nchw.get(), nullptr, {0}, false, 0), ACLNN_ERR_PARAM_INVALID);
  const Section ncl(ACL_FLOAT, {1, 1, 2}, {2, 2, 1}, 0, 2, signal.w.address(), ACL_FORMAT_NCL);
  EXPECT_EQ(code(ncl.get(), nullptr, {0}, false, 0), ACL_SUCCESS);
}

TEST_F(ShapesWindows, ChipsWithoutAnF32UnitRoundOperands) {
  for (const char* const chip : {"310p", "310b"}) {
    restart({{"PROFILE", chip}});
    Signal signal;
    EXPECT_EQ(signal.run(KEEP_DTYPE), ACLNN_ERR_PARAM_INVALID) << chip;
    EXPECT_EQ(signal.run(USE_HF32), ACLNN_ERR_PARAM_INVALID) << chip;
    // 2049 is no F16: 2048 takes its place.
    Tensor<float> fine(ACL_FLOAT, {1, 1, 4}, {2049, 0, 0, 0});
    EXPECT_EQ(RUN_OP(Convolution, fine.get(), signal.w.get(), nullptr, Integers({1}).get(),
                     Integers({0}).get(), Integers({1}).get(), false, Integers({0}).get(), 1,
                     signal.out.get(), std::int8_t{ALLOW_FP32_DOWN_PRECISION}),
              ACL_SUCCESS);
    EXPECT_EQ(signal.out.values(), (Floats{20480, 0, 0})) << chip;
  }
}

TEST_F(ShapesWindows, Im2colUnfoldsAsTorchDoes) {
  restart({{"PROFILE", "310p"}});
  const Floats values = counted<float>(24, 1.0F);
  Tensor<float> self(ACL_FLOAT, {1, 2, 4, 3}, values);
  // Kernel 2 x 2, dilation 2 x 1, padding 1 x 0, stride 2 x 1: 2 windows down, 2 across.
  Tensor<float> out(ACL_FLOAT, {1, 8, 4}, Floats(32));
  const auto code = [&](std::initializer_list<std::int64_t> kernel,
                        std::initializer_list<std::int64_t> stride) {
    return RUN_OP(Im2col, self.get(), Integers(kernel).get(), Integers({2, 1}).get(),
                  Integers({1, 0}).get(), Integers(stride).get(), out.get());
  };
  ASSERT_EQ(code({2, 2}, {2, 1}), ACL_SUCCESS) << ascend_twin_last_message();
  Floats expected;
  for (int channel = 0; channel < 2; ++channel) {
    for (int ky = 0; ky < 2; ++ky) {
      for (int kx = 0; kx < 2; ++kx) {
        for (int oy = 0; oy < 2; ++oy) {
          for (int ox = 0; ox < 2; ++ox) {
            const int y = oy * 2 - 1 + ky * 2;
            const int x = ox + kx;
            expected.push_back(
                y < 0 || y > 3 ? 0 : values[static_cast<std::size_t>(channel * 12 + y * 3 + x)]);
          }
        }
      }
    }
  }
  EXPECT_EQ(out.values(), expected);
  EXPECT_EQ(code({2}, {2, 1}), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code({2, 2}, {0, 1}), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code({9, 2}, {2, 1}), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code({2, 2}, {1, 1}), ACLNN_ERR_PARAM_INVALID);
  restart({});
  Tensor<float> small(ACL_FLOAT, {1, 1, 1}, {1});
  EXPECT_EQ(RUN_OP(Im2col, small.get(), Integers({1, 1}).get(), Integers({1, 1}).get(),
                   Integers({0, 0}).get(), Integers({1, 1}).get(), small.get()),
            ACLNN_ERR_INNER_NULLPTR);
}

struct Pool {
  bool ceil = false, count_pads = true;
  std::int64_t divisor = 0;
};
aclError average(aclTensor* self, std::initializer_list<std::int64_t> kernel,
                 std::initializer_list<std::int64_t> stride,
                 std::initializer_list<std::int64_t> pad, const Pool& pool, aclTensor* out) {
  return RUN_OP(AvgPool2d, self, Integers(kernel).get(), Integers(stride).get(),
                Integers(pad).get(), pool.ceil, pool.count_pads, pool.divisor,
                std::int8_t{KEEP_DTYPE}, out);
}

TEST_F(ShapesWindows, AveragesWindows) {
  restart({{"PROFILE", "310p"}});
  Tensor<float> self(ACL_FLOAT, {1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  Tensor<float> out(ACL_FLOAT, {1, 2, 2}, Floats(4));
  ASSERT_EQ(average(self.get(), {2, 2}, {1, 1}, {0, 0}, {}, out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (Floats{3, 4, 6, 7}));
  // Padding of 1: each corner window has one element, of four places.
  ASSERT_EQ(average(self.get(), {2}, {2}, {1}, {}, out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (Floats{0.25F, 1.25F, 2.75F, 7}));
  ASSERT_EQ(average(self.get(), {2}, {}, {1}, {.count_pads = false}, out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (Floats{1, 2.5F, 5.5F, 7}));
  ASSERT_EQ(average(self.get(), {2}, {}, {1}, {.divisor = 2}, out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (Floats{0.5F, 2.5F, 5.5F, 14}));
  // Rounded up, the last windows end beyond the tensor; what is beyond counts for nothing.
  ASSERT_EQ(average(self.get(), {2}, {2}, {0}, {.ceil = true}, out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (Floats{3, 4.5F, 7.5F, 9}));
}

TEST_F(ShapesWindows, RefusesAveragesThatDoNotFit) {
  restart({{"PROFILE", "310p"}});
  Tensor<float> self(ACL_FLOAT, {1, 3, 3}, Floats(9));
  Tensor<float> out(ACL_FLOAT, {1, 2, 2}, Floats(4));
  EXPECT_EQ(average(self.get(), {2}, {1}, {2}, {}, out.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(average(self.get(), {0}, {1}, {0}, {}, out.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(average(self.get(), {2}, {0}, {0}, {}, out.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(average(self.get(), {}, {1}, {0}, {}, out.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(average(self.get(), {5}, {1}, {0}, {}, out.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(average(self.get(), {3}, {1}, {0}, {}, out.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(average(self.get(), {2}, {1}, {0}, {.divisor = -1}, out.get()),
            ACLNN_ERR_PARAM_INVALID);
  for (const char* const chip : {"910b", "310b"}) {
    restart({{"PROFILE", chip}});
    Tensor<float> one(ACL_FLOAT, {1, 1, 1}, {1});
    EXPECT_EQ(average(one.get(), {1}, {1}, {0}, {}, one.get()), ACLNN_ERR_PARAM_INVALID) << chip;
  }
}

TEST_F(ShapesWindows, TakesTheGreatestOfEachWindow) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Tensor<float> self(ACL_FLOAT, {1, 1, 3, 3}, {1, 2, 3, 4, 9, 6, 7, 8, -5});
  Tensor<float> out(ACL_FLOAT, {1, 1, 2, 2}, Floats(4));
  const auto code =
      [&](std::initializer_list<std::int64_t> kernel, std::initializer_list<std::int64_t> stride,
          std::initializer_list<std::int64_t> pads, std::initializer_list<std::int64_t> dilation,
          std::int64_t ceil, std::int64_t automatic = 0) {
        return RUN_OP(MaxPool, self.get(), Integers(kernel).get(), Integers(stride).get(),
                      automatic, Integers(pads).get(), Integers(dilation).get(), ceil, out.get());
      };
  ASSERT_EQ(code({2, 2}, {1, 1}, {}, {}, 0), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (Floats{9, 9, 9, 9}));
  ASSERT_EQ(code({2}, {2}, {0, 0, 0, 0}, {1}, 1), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (Floats{9, 6, 8, -5}));
  ASSERT_EQ(code({2}, {2}, {1}, {1}, 0), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (Floats{1, 3, 7, 9}));
  ASSERT_EQ(code({2}, {2}, {0, 0, 1, 1}, {1}, 0), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (Floats{9, 6, 8, -5}));
  ASSERT_EQ(code({2}, {1}, {1, 1, 0, 0}, {2}, 0), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (Floats{9, 6, 8, 7}));
  EXPECT_EQ(code({2}, {1}, {}, {}, 0, 1), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code({2}, {0}, {}, {}, 0), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code({2, 2, 2}, {1}, {}, {}, 0), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code({2}, {1}, {0, 0, 0}, {}, 0), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code({3}, {1}, {}, {}, 0), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code({70000}, {1}, {50000}, {}, 0), ACLNN_ERR_PARAM_INVALID);
  Tensor<float> with_nan(ACL_FLOAT, {1, 1, 2}, {nan, 5});
  Tensor<float> single(ACL_FLOAT, {1, 1, 1}, {0});
  ASSERT_EQ(RUN_OP(MaxPool, with_nan.get(), Integers({1, 2}).get(), Integers({1}).get(), 0,
                   Integers({}).get(), Integers({}).get(), 0, single.get()),
            ACL_SUCCESS);
  EXPECT_TRUE(std::isnan(single.values()[0]));
}

}  // namespace
}  // namespace ascend_test::indexing
