// Pairs of f32, and sums of f32 with f16 and bf16, against the host's arithmetic.
#include "host_floats.h"

namespace float_mixed_test {
namespace {

using namespace twin_test;
using std::uint16_t;
using std::uint32_t;
using std::uint64_t;

constexpr Isa kIsa = {"8.6", "sm_100"};

struct Binary {
  std::string name;
  float (*apply)(float, float);
};
const Binary kBinary[] = {
    {"add", sum_of<float>}, {"sub", difference_of<float>}, {"mul", product_of<float>}};

/// Two values of f32 in one of 64 bits.
std::vector<uint64_t> paired(const std::vector<uint32_t>& low) {
  std::vector<uint64_t> result;
  for (std::size_t i = 0; i < low.size(); ++i) {
    result.push_back(low[i] | uint64_t{low[(i + 1) % low.size()]} << 32);
  }
  return result;
}
template <class F>
uint64_t in_both(F f, uint64_t a, uint64_t b, uint64_t c = 0) {
  const auto low = [](uint64_t x) { return static_cast<uint32_t>(x); };
  return f(low(a), low(b), low(c)) | uint64_t{f(low(a >> 32), low(b >> 32), low(c >> 32))} << 32;
}

TEST(CudaFloatMixed, SumsAndProductsOfPairs) {
  Gpu gpu("b200");
  const auto [first, second] = float_pairs<uint32_t>();
  const auto a = paired(first), b = paired(second);
  for (const Binary& operation : kBinary) {
    const auto expected = [&](int mode, bool ftz) {
      return [&, mode, ftz](uint64_t x, uint64_t y) {
        const auto one = [&](uint32_t p, uint32_t q, uint32_t) {
          if (!ftz) return on_host<uint32_t>(mode, operation.apply, p, q);
          return flushed(on_host<uint32_t>(mode, operation.apply, flushed(p), flushed(q)));
        };
        return in_both(one, x, y);
      };
    };
    expect_lanes_of<uint64_t>(kIsa, operation.name + ".f32x2 %d, %a, %b",
                              expected(FE_TONEAREST, false), a, b);
    expect_lanes_of<uint64_t>(kIsa, operation.name + ".ftz.f32x2 %d, %a, %b",
                              expected(FE_TONEAREST, true), a, b);
    for (const Mode& mode : kModes) {
      const std::string name = operation.name + "." + mode.name;
      expect_lanes_of<uint64_t>(kIsa, name + ".f32x2 %d, %a, %b", expected(mode.fenv, false), a, b);
      expect_lanes_of<uint64_t>(kIsa, name + ".ftz.f32x2 %d, %a, %b", expected(mode.fenv, true), a,
                                b);
    }
  }
}

TEST(CudaFloatMixed, FusedMultiplyAddOfPairs) {
  Gpu gpu("b200");
  const auto [first, second] = float_pairs<uint32_t>();
  const auto a = paired(first), b = paired(second);
  const auto c = paired(repeated(float_edges<uint32_t>(kF32, 12), first.size()));
  for (const Mode& mode : kModes) {
    for (const bool ftz : {false, true}) {
      expect_lanes_of<uint64_t>(
          kIsa, std::string("fma.") + mode.name + (ftz ? ".ftz" : "") + ".f32x2 %d, %a, %b, %c",
          [&](uint64_t x, uint64_t y, uint64_t z) {
            const auto one = [&](uint32_t p, uint32_t q, uint32_t r) {
              if (!ftz) return on_host<uint32_t>(mode.fenv, fma_of<float>, p, q, r);
              return flushed(
                  on_host<uint32_t>(mode.fenv, fma_of<float>, flushed(p), flushed(q), flushed(r)));
            };
            return in_both(one, x, y, z);
          },
          a, b, c);
    }
  }
}

struct Half {
  const char* name;
  Format format;
  /// The same value in f32.
  uint32_t widened(uint16_t bits) const {
    return static_cast<uint32_t>(encode(decode(bits, format), kF32));
  }
};
const Half kHalves[] = {{"f16", kF16}, {"bf16", kBf16}};

TEST(CudaFloatMixed, SumsWith16Bits) {
  Gpu gpu("b200");
  for (const Half& half : kHalves) {
    const auto [a, b] =
        crossed(float_edges<uint16_t>(half.format, 12), float_edges<uint32_t>(kF32, 12));
    for (const Binary& operation : {kBinary[0], kBinary[1]}) {
      for (const bool sat : {false, true}) {
        const std::string rest = std::string(sat ? ".sat" : "") + ".f32." + half.name;
        const auto expected = [&](int mode) {
          return [&, mode](uint16_t x, uint32_t y) {
            const uint32_t sum = on_host<uint32_t>(mode, operation.apply, half.widened(x), y);
            return sat ? saturated(sum) : sum;
          };
        };
        expect_lanes_of<uint32_t>(kIsa, operation.name + rest + " %d, %a, %b",
                                  expected(FE_TONEAREST), a, b);
        for (const Mode& mode : kModes) {
          expect_lanes_of<uint32_t>(kIsa, operation.name + "." + mode.name + rest + " %d, %a, %b",
                                    expected(mode.fenv), a, b);
        }
      }
    }
  }
}

TEST(CudaFloatMixed, FusedMultiplyAddOf16Bits) {
  Gpu gpu("b200");
  for (const Half& half : kHalves) {
    const auto edges = float_edges<uint16_t>(half.format, 12);
    const auto [a, b] = crossed(edges, edges);
    const auto c = repeated(float_edges<uint32_t>(kF32, 12), a.size());
    for (const Mode& mode : kModes) {
      for (const bool sat : {false, true}) {
        expect_lanes_of<uint32_t>(
            kIsa,
            std::string("fma.") + mode.name + (sat ? ".sat" : "") + ".f32." + half.name +
                " %d, %a, %b, %c",
            [&](uint16_t x, uint16_t y, uint32_t z) {
              const uint32_t sum =
                  on_host<uint32_t>(mode.fenv, fma_of<float>, half.widened(x), half.widened(y), z);
              return sat ? saturated(sum) : sum;
            },
            a, b, c);
      }
    }
  }
}

/// The vendor's assembler refuses these, too.
TEST(CudaFloatMixed, FormsThatDoNotExist) {
  Gpu gpu("b200");
  const auto refused = [](const char* code, const Isa& isa) {
    CUmodule loaded = nullptr;
    EXPECT_EQ(load(frame<uint32_t>(code, isa.version, isa.target), &loaded), CUDA_ERROR_INVALID_PTX)
        << code;
  };
  for (const char* code :
       {"add.sat.f32x2 %l0, %l1, %l2", "fma.f32x2 %l0, %l1, %l2, %l3",
        "mad.rn.f32x2 %l0, %l1, %l2, %l3", "add.f32x2 %g0, %g1, %g2",
        "fma.rn.f32x2 %l0, %l1, %l2, 0", "min.f32x2 %l0, %l1, %l2", "abs.f32x2 %l0, %l1",
        "add.ftz.f32.bf16 %f0, %h0, %f1", "mul.f32.f16 %f0, %h0, %f1",
        "fma.f32.f16 %f0, %h0, %h1, %f1", "add.f32.f16 %f0, %f1, %h0"}) {
    refused(code, kIsa);
  }
  for (const Isa& isa : {Isa{"8.5", "sm_100"}, Isa{"8.6", "sm_90"}}) {
    refused("add.f32x2 %l0, %l1, %l2", isa);
    refused("add.f32.f16 %f0, %h0, %f1", isa);
  }
}

}  // namespace
}  // namespace float_mixed_test
