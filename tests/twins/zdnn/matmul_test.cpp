// The three matrix multiplications, against loops in double precision.
#include "support.h"

namespace {

using namespace zdnn_test;

class ZdnnTwinMatmul : public TwinTest {};

std::vector<double> product(const std::vector<float>& a, const std::vector<float>& b, std::size_t m,
                            std::size_t n, std::size_t p, bool transpose_a = false,
                            bool transpose_b = false) {
  std::vector<double> out(m * p);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < p; ++j)
      for (std::size_t k = 0; k < n; ++k)
        out[i * p + j] += static_cast<double>(transpose_a ? a[k * m + i] : a[i * n + k]) *
                          static_cast<double>(transpose_b ? b[j * n + k] : b[k * p + j]);
  return out;
}

std::vector<float> part(const std::vector<float>& values, std::size_t index, std::size_t size) {
  const auto begin = values.begin() + static_cast<std::ptrdiff_t>(index * size);
  return {begin, begin + static_cast<std::ptrdiff_t>(size)};
}

// The numbers are multiples of 1/64 below 2, so every sum here is exact in 24 bits: one rounding is
// left.
void expect_result(const std::vector<float>& got, const std::vector<double>& dots,
                   const std::vector<float>& bias, std::size_t p) {
  for (std::size_t i = 0; i < dots.size(); ++i)
    ASSERT_EQ(static_cast<double>(got[i]), rounded(dots[i] + static_cast<double>(bias[i % p])))
        << "element " << i;
}

TEST_F(ZdnnTwinMatmul, UnstackedMatchesExactValuesInEveryExactAccumulation) {
  constexpr std::uint32_t m = 5, n = 130, p = 70;
  const auto a = some_numbers(m * n, 1);
  const auto b = some_numbers(n * p, 2);
  const auto c = some_numbers(p, 3);
  for (const char* model : {"single", "double"}) {
    set("ZDNN_TWIN_ACCUMULATE", model);
    Tensor ta(ZDNN_2D, {m, n}, a);
    Tensor tb(ZDNN_2D, {n, p}, b);
    Tensor tc(ZDNN_1D, {p}, c);
    Tensor out(ZDNN_2D, {m, p});
    ASSERT_EQ(zdnn_matmul_op(ta, tb, tc, MATMUL_OP_ADDITION, out), ZDNN_OK);
    expect_result(out.get(m * p), product(a, b, m, n, p), c, p);
  }
}

TEST_F(ZdnnTwinMatmul, TransposedStackedAndBroadcastMatchExactValues) {
  constexpr std::uint32_t s = 3, m = 5, n = 66, p = 67;
  for (int flags = 0; flags < 4; ++flags) {
    const bool ta = (flags & 1) != 0;
    const bool tb = (flags & 2) != 0;
    for (const char* kind : {"stacked", "shared a", "shared b"}) {
      SCOPED_TRACE(testing::Message() << kind << ta << tb);
      const bool shared_a = std::string(kind) == "shared a";
      const bool shared_b = std::string(kind) == "shared b";
      const std::uint32_t sa = shared_a ? 1 : s;
      const std::uint32_t sb = shared_b ? 1 : s;
      const auto a = some_numbers(sa * m * n, 1);
      const auto b = some_numbers(sb * n * p, 2);
      const auto c = some_numbers(sb * p, 3);
      Tensor left(ZDNN_3DS, {sa, ta ? n : m, ta ? m : n}, a);
      Tensor right(ZDNN_3DS, {sb, tb ? p : n, tb ? n : p}, b);
      Tensor bias(ZDNN_2DS, {sb, p}, c);
      Tensor out(ZDNN_3DS, {s, m, p});
      ASSERT_EQ(zdnn_matmul_transpose_op(left, right, bias, ta, tb, MATMUL_OP_ADDITION, out),
                ZDNN_OK)
          << zdnn_twin_last_message();
      const auto got = out.get(s * m * p);
      for (std::uint32_t i = 0; i < s; ++i)
        expect_result(part(got, i, m * p),
                      product(part(a, shared_a ? 0 : i, m * n), part(b, shared_b ? 0 : i, n * p), m,
                              n, p, ta, tb),
                      part(c, shared_b ? 0 : i, p), p);
      if (ta || tb) continue;
      Tensor other(ZDNN_3DS, {s, m, p});
      ASSERT_EQ(zdnn_matmul_bcast_op(left, right, bias, MATMUL_BCAST_OP_ADDITION, other), ZDNN_OK);
      EXPECT_EQ(other.get(s * m * p), got);
      const zdnn_status plain = zdnn_matmul_op(left, right, bias, MATMUL_OP_ADDITION, other);
      EXPECT_EQ(plain, shared_a || shared_b ? ZDNN_INVALID_SHAPE : ZDNN_OK);
    }
  }
}

TEST_F(ZdnnTwinMatmul, ComparisonsGiveZerosAndOnes) {
  Tensor a(ZDNN_2D, {1, 2}, {1, 1});
  Tensor b(ZDNN_2D, {2, 3}, {1, 2, 3, 1, 2, 3});  // dots 2, 4, 6
  Tensor c(ZDNN_1D, {3}, {3, 4, 5});
  Tensor out(ZDNN_2D, {1, 3});
  const struct {
    zdnn_matmul_ops op;
    std::vector<float> expected;
  } cases[] = {{MATMUL_OP_GREATER, {0, 0, 1}},      {MATMUL_OP_GREATER_EQUAL, {0, 1, 1}},
               {MATMUL_OP_EQUAL, {0, 1, 0}},        {MATMUL_OP_NOT_EQUAL, {1, 0, 1}},
               {MATMUL_OP_LESSER_EQUAL, {1, 1, 0}}, {MATMUL_OP_LESSER, {1, 0, 0}},
               {MATMUL_OP_ADDITION, {5, 8, 11}}};
  for (const auto& x : cases) {
    EXPECT_EQ(zdnn_matmul_op(a, b, c, x.op, out), ZDNN_OK);
    EXPECT_EQ(out.get(3), x.expected);
    EXPECT_EQ(zdnn_matmul_bcast_op(a, b, c, static_cast<zdnn_matmul_bcast_ops>(x.op), out),
              ZDNN_OK);
    EXPECT_EQ(out.get(3), x.expected);
  }
  const auto bad = static_cast<zdnn_matmul_ops>(7);
  EXPECT_EQ(zdnn_matmul_op(a, b, c, bad, out), ZDNN_FUNC_RC_F000);
  EXPECT_EQ(zdnn_matmul_transpose_op(a, b, c, false, false, bad, out), ZDNN_FUNC_RC_F000);
}

TEST_F(ZdnnTwinMatmul, AccumulationsDiffer) {
  // 2^20 + 4096 times 2^-5: a single number swallows each of them.
  constexpr std::uint32_t n = 4097;
  std::vector<float> a(n, 1.0f / 32);
  a[0] = 1 << 20;
  Tensor ta(ZDNN_2D, {1, n}, a);
  Tensor tb(ZDNN_2D, {n, 1}, std::vector<float>(n, 1));
  Tensor minus(ZDNN_1D, {1}, {-1048576});
  Tensor out(ZDNN_2D, {1, 1});
  const auto result = [&](const char* model) {
    set("ZDNN_TWIN_ACCUMULATE", model);
    EXPECT_EQ(zdnn_matmul_op(ta, tb, minus, MATMUL_OP_ADDITION, out), ZDNN_OK);
    return out.get(1)[0];
  };
  EXPECT_EQ(result("double"), 128.0f);
  EXPECT_EQ(result("single"), 0.0f);  // 2^20 + 2^-5 is a tie and goes to even
  // Products of 10 bits each have 20, of which "dlfloat" keeps 10: (1+2^-9)^2 becomes 1 + 2^-8.
  Tensor x(ZDNN_2D, {1, 1}, {1 + 1.0f / 512});
  Tensor minus_one(ZDNN_1D, {1}, {-1});
  const auto square = [&](const char* model) {
    set("ZDNN_TWIN_ACCUMULATE", model);
    EXPECT_EQ(zdnn_matmul_op(x, x, minus_one, MATMUL_OP_ADDITION, out), ZDNN_OK);
    return static_cast<double>(out.get(1)[0]);
  };
  EXPECT_EQ(square("dlfloat"), 1.0 / 256);
  EXPECT_EQ(square("single"), rounded(1.0 / 256 + 1.0 / 262144));
  EXPECT_EQ(square("double"), rounded(1.0 / 256 + 1.0 / 262144));
  EXPECT_NE(square("double"), 1.0 / 256);
}

TEST_F(ZdnnTwinMatmul, SumsOutOfRangeAreRangeViolations) {
  const float big = 65536;
  Tensor out(ZDNN_2D, {1, 2});
  Tensor zero(ZDNN_1D, {2}, {0, 0});
  // 2^32 + 2^32 is too large; the other column is not touched.
  Tensor a(ZDNN_2D, {1, 2}, {big, big});
  Tensor b(ZDNN_2D, {2, 2}, {big, 1, big, 1});
  EXPECT_EQ(zdnn_matmul_op(a, b, zero, MATMUL_OP_ADDITION, out), ZDNN_ELEMENT_RANGE_VIOLATION);
  EXPECT_TRUE(out.tensor.is_transformed);
  EXPECT_EQ(out.cell(0), kNinf);
  EXPECT_EQ(value_of(out.cell(2)), 131072);
  // A partial sum counts, too: 2^32 + 2^32 - 2^32.
  Tensor three(ZDNN_2D, {1, 3}, {big, big, -big});
  Tensor column(ZDNN_2D, {3, 1}, {big, big, big});
  Tensor one(ZDNN_2D, {1, 1});
  Tensor nothing(ZDNN_1D, {1}, {0});
  EXPECT_EQ(zdnn_matmul_op(three, column, nothing, MATMUL_OP_ADDITION, one),
            ZDNN_ELEMENT_RANGE_VIOLATION);
  EXPECT_EQ(one.cell(0), kNinf);
  // NINF anywhere in a row or column.
  a.set_cell(2, kNinf);
  EXPECT_EQ(zdnn_matmul_op(a, b, zero, MATMUL_OP_GREATER, out), ZDNN_ELEMENT_RANGE_VIOLATION);
  EXPECT_EQ(out.cell(0), kNinf);
  EXPECT_EQ(out.cell(2), kNinf);
}

TEST_F(ZdnnTwinMatmul, RejectsWrongShapesTypesAndFormats) {
  Tensor a(ZDNN_2D, {3, 4}, some_numbers(12));
  Tensor b(ZDNN_2D, {4, 5}, some_numbers(20));
  Tensor c(ZDNN_1D, {5}, some_numbers(5));
  Tensor out(ZDNN_2D, {3, 5});
  const auto status = [&](zdnn_ztensor* x, zdnn_ztensor* y, zdnn_ztensor* z, zdnn_ztensor* r) {
    const zdnn_status plain = zdnn_matmul_op(x, y, z, MATMUL_OP_ADDITION, r);
    EXPECT_EQ(zdnn_matmul_bcast_op(x, y, z, MATMUL_BCAST_OP_ADDITION, r), plain);
    EXPECT_EQ(zdnn_matmul_transpose_op(x, y, z, false, false, MATMUL_OP_ADDITION, r), plain);
    return plain;
  };
  EXPECT_EQ(status(a, b, c, out), ZDNN_OK);
  EXPECT_EQ(status(b, a, c, out), ZDNN_INVALID_SHAPE);
  Tensor wrong_c(ZDNN_1D, {4}, some_numbers(4));
  EXPECT_EQ(status(a, b, wrong_c, out), ZDNN_INVALID_SHAPE);
  Tensor wrong_out(ZDNN_2D, {5, 3});
  EXPECT_EQ(status(a, b, c, wrong_out), ZDNN_INVALID_SHAPE);
  Tensor cube(ZDNN_3D, {2, 3, 4}, some_numbers(24));
  EXPECT_EQ(status(cube, b, c, out), ZDNN_INVALID_SHAPE);
  EXPECT_EQ(zdnn_matmul_transpose_op(a, b, c, true, false, MATMUL_OP_ADDITION, out),
            ZDNN_INVALID_SHAPE);
  EXPECT_EQ(zdnn_matmul_transpose_op(a, b, c, false, true, MATMUL_OP_ADDITION, out),
            ZDNN_INVALID_SHAPE);
  b.desc.type = ZDNN_BINARY_INT8;
  EXPECT_EQ(status(a, b, c, out), ZDNN_INVALID_TYPE);
  b.desc.type = ZDNN_DLFLOAT16;
  b.desc.format = ZDNN_FORMAT_4DKERNEL;
  EXPECT_EQ(status(a, b, c, out), ZDNN_INVALID_FORMAT);
  b.desc.format = ZDNN_FORMAT_4DFEATURE;
  EXPECT_EQ(zdnn_matmul_op(a, b, nullptr, MATMUL_OP_ADDITION, out), ZDNN_INVALID_BUFFER);
}

TEST_F(ZdnnTwinMatmul, Z17FunctionsAreUnavailableOnZ16) {
  set("ZDNN_TWIN_PROFILE", "z16");
  Tensor one(ZDNN_3DS, {1, 2, 2}, some_numbers(4));
  Tensor many(ZDNN_3DS, {3, 2, 2}, some_numbers(12));
  Tensor c1(ZDNN_2DS, {1, 2}, some_numbers(2));
  Tensor c3(ZDNN_2DS, {3, 2}, some_numbers(6));
  Tensor out(ZDNN_3DS, {3, 2, 2});
  const auto bcast = [&](zdnn_ztensor* a, zdnn_ztensor* b, zdnn_ztensor* c, int op) {
    return zdnn_matmul_bcast_op(a, b, c, static_cast<zdnn_matmul_bcast_ops>(op), out);
  };
  EXPECT_EQ(bcast(many, one, c1, MATMUL_BCAST_OP_ADDITION), ZDNN_OK);
  EXPECT_EQ(bcast(many, many, c3, MATMUL_BCAST_OP_ADDITION), ZDNN_OK);
  EXPECT_EQ(bcast(many, many, c3, MATMUL_BCAST_OP_GREATER), ZDNN_OK);
  EXPECT_EQ(bcast(many, one, c1, MATMUL_BCAST_OP_GREATER), ZDNN_UNAVAILABLE_FUNCTION);
  EXPECT_EQ(bcast(one, many, c3, MATMUL_BCAST_OP_ADDITION), ZDNN_UNAVAILABLE_FUNCTION);
  EXPECT_EQ(zdnn_matmul_transpose_op(many, many, c3, false, false, MATMUL_OP_ADDITION, out),
            ZDNN_UNAVAILABLE_FUNCTION);
  EXPECT_EQ(zdnn_matmul_op(many, many, c3, MATMUL_OP_EQUAL, out), ZDNN_OK);
}

TEST_F(ZdnnTwinMatmul, FunctionCodeFollowsTheStacks) {
  Tensor one(ZDNN_3DS, {1, 2, 2}, some_numbers(4));
  Tensor many(ZDNN_3DS, {3, 2, 2}, some_numbers(12));
  Tensor c1(ZDNN_2DS, {1, 2}, some_numbers(2));
  Tensor c3(ZDNN_2DS, {3, 2}, some_numbers(6));
  Tensor out(ZDNN_3DS, {3, 2, 2});
  zdnn_twin_reset_counts();
  zdnn_matmul_bcast_op(many, one, c1, MATMUL_BCAST_OP_ADDITION, out);
  zdnn_matmul_bcast_op(one, many, c3, MATMUL_BCAST_OP_ADDITION, out);
  zdnn_matmul_bcast_op(one, many, c3, MATMUL_BCAST_OP_ADDITION, out);
  zdnn_matmul_transpose_op(many, many, c3, false, false, MATMUL_OP_ADDITION, out);
  EXPECT_EQ(zdnn_twin_calls(NNPA_MATMUL_OP_BCAST23), 1u);
  EXPECT_EQ(zdnn_twin_calls(NNPA_MATMUL_OP_BCAST1), 2u);
  EXPECT_EQ(zdnn_twin_calls(NNPA_MATMUL_OP), 1u);
}

TEST_F(ZdnnTwinMatmul, PageAlignedPartsOfATensorAreTensors) {
  // Columns 64 to 127 of a matrix, by pointer: a stick's column is contiguous where dim4 is 1.
  const auto b = some_numbers(40 * 128, 2);
  Tensor a(ZDNN_2D, {2, 40}, some_numbers(80, 1));
  Tensor whole(ZDNN_2D, {40, 128}, b);
  Tensor c(ZDNN_1D, {128}, some_numbers(128, 3));
  Tensor out(ZDNN_2D, {2, 128});
  ASSERT_EQ(zdnn_matmul_op(a, whole, c, MATMUL_OP_ADDITION, out), ZDNN_OK);
  zdnn_ztensor right = whole.tensor;
  zdnn_tensor_desc desc = whole.desc;
  desc.dim1 = 64;
  right.transformed_desc = &desc;
  right.buffer = static_cast<char*>(right.buffer) + 2 * 4096;
  right.buffer_size = 2 * 4096;
  zdnn_ztensor bias = c.tensor;
  zdnn_tensor_desc bias_desc = c.desc;
  bias_desc.dim1 = 64;
  bias.transformed_desc = &bias_desc;
  bias.buffer = static_cast<char*>(bias.buffer) + 4096;
  bias.buffer_size = 4096;
  Tensor half(ZDNN_2D, {2, 64});
  ASSERT_EQ(zdnn_matmul_op(a, &right, &bias, MATMUL_OP_ADDITION, half), ZDNN_OK);
  const auto all = out.get(256);
  const auto some = half.get(128);
  for (std::size_t j = 0; j < 64; ++j) {
    EXPECT_EQ(some[j], all[64 + j]);
    EXPECT_EQ(some[64 + j], all[128 + 64 + j]);
  }
}

TEST_F(ZdnnTwinMatmul, BitsAreTheSameOnEveryMachine) {
  // Then once more with the result's negative as addend: the part that was rounded away is left.
  constexpr std::uint32_t s = 33, n = 300, p = 67;
  const auto digests = [](bool shared, bool transpose) {
    const std::uint32_t sb = shared ? 1 : s;
    return in_each_accumulation([&] {
      Tensor a(ZDNN_3DS, {s, transpose ? n : 1, transpose ? 1 : n}, rough_numbers(s * n, 1));
      Tensor b(ZDNN_3DS, {sb, transpose ? p : n, transpose ? n : p}, rough_numbers(sb * n * p, 2));
      Tensor c(ZDNN_2DS, {sb, p}, rough_numbers(sb * p, 3));
      Tensor out(ZDNN_3DS, {s, 1, p});
      Tensor rest(ZDNN_3DS, {s, 1, p});
      const auto multiply = [&](Tensor& result) {
        EXPECT_EQ(
            zdnn_matmul_transpose_op(a, b, c, transpose, transpose, MATMUL_OP_ADDITION, result),
            ZDNN_OK);
      };
      multiply(out);
      auto negative = out.get(s * p);
      negative.resize(sb * p);
      for (float& x : negative) x = -x;
      c.put(negative);
      multiply(rest);
      return digest_of({&out, &rest});
    });
  };
  EXPECT_EQ(digests(false, false), (Digests{3036176910u, 784925052u, 90343139u}));
  EXPECT_EQ(digests(true, false), (Digests{1930783566u, 2317998116u, 2117382213u}));
  EXPECT_EQ(digests(false, true), (Digests{2156140209u, 2437260687u, 673186486u}));
}

}  // namespace
