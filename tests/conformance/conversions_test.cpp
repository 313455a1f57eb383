// Conversions of numbers to another type, on the CPU: bit for bit, for every pair of types.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "conformance/case_sources.h"
#include "ops/common/loops.h"
#include "shunt/ops.h"
#include "shunt/plan.h"
#include "shunt/registry.h"
#include "support/tensor_io.h"

namespace shunt::test::conversions_test {
namespace {

using Bytes = std::vector<std::byte>;

/// The content of memory before anything is written there.
constexpr std::byte kUntouched{0xa5};

template <class T>
Bytes bytes_of(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <class T>
std::vector<T> values_of(const Bytes& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

class Conversions : public testing::Test {
 protected:
  void SetUp() override {
    registry_ = std::move(*Registry::create({}));
    const auto cpu = registry_->find("cpu0");
    if (!cpu) GTEST_SKIP() << "there is no CPU backend in this build";
    cpu_ = *cpu;
  }

  /// n elements of a type, given as bytes, as another type.
  Result<Bytes> converted(DType from, const Bytes& bytes, DType to, std::int64_t n) {
    return converted(source_of(from, {n, 1, 1, 1}), bytes, source_of(to, {n, 1, 1, 1}));
  }

  /// The memory of a tensor of kUntouched, seen as `to` says, once elements seen as `from` says
  /// have been copied into it; `bytes` is the memory of those.
  Result<Bytes> converted(const CaseSource& from, const Bytes& bytes, const CaseSource& to) {
    GraphBuilder g;
    SHUNT_ASSIGN(const Tensor source, whole(from));
    SHUNT_ASSIGN(const Tensor target, whole(to));
    const auto src = g.input("src", source);
    const auto dst = g.cache("dst", target);
    const auto copy = cpy(g, seen(g, src, from), seen(g, dst, to));
    SHUNT_TRY(g.output(copy, "copy"));
    SHUNT_ASSIGN(Graph built, std::move(g).build());
    const auto graph = std::make_shared<const Graph>(std::move(built));
    Placement placement;
    placement.devices = {cpu_};
    placement.decisions.assign(graph->size(), {0, Rule::kMemory, "the test says so", {}});
    Bytes made(static_cast<std::size_t>(byte_span(target)), kUntouched);
    SHUNT_ASSIGN(auto buffer, cpu_->memory().allocate(made.size()));
    SHUNT_TRY(buffer->write(0, made));
    const std::vector<LeafMemory> memory = {{dst->id, {buffer.get(), 0}}};
    SHUNT_ASSIGN(auto plan,
                 compile(graph, std::move(placement), {.memory = memory, .steps_in_flight = 1}));
    SHUNT_ASSIGN(const auto input, plan->input(*src));
    std::ranges::copy(bytes, input.begin());
    SHUNT_TRY(plan->run());
    SHUNT_TRY(buffer->read(0, made));
    return made;
  }

  static Result<Tensor> whole(const CaseSource& of) {
    return make_tensor(of.dtype, {of.sizes[0], of.sizes[1], of.sizes[2], of.sizes[3]});
  }

  static Result<Value> seen(GraphBuilder& g, Operand leaf, const CaseSource& as) {
    const Sizes sizes = sizes_of(as);
    return view(g, permute(g, leaf, as.permute), as.slice,
                {sizes[0], sizes[1], sizes[2], sizes[3]});
  }

  template <class To, class From>
  std::vector<To> values(DType from, const std::vector<From>& x, DType to) {
    const auto made = converted(from, bytes_of(x), to, static_cast<std::int64_t>(x.size()));
    EXPECT_TRUE(made) << made.error().message();
    return made ? values_of<To>(*made) : std::vector<To>();
  }

  std::unique_ptr<Registry> registry_;
  Device* cpu_ = nullptr;
};

bool is_wide(DType type) {
  return trait(type).integer || type == DType::kF64;
}

/// Calls f(place, row, block) for each block that is seen: its place in memory, and which block of
/// which row it is.
template <class F>
void for_each_block(const CaseSource& of, F f) {
  const Inferred seen = *tensor_of(of);
  const Sizes sizes = sizes_of(of);
  const std::int64_t blocks = sizes[0] / trait(of.dtype).block_elements;
  std::int64_t row = 0;
  for_each_row(sizes, [&](std::int64_t i1, std::int64_t i2, std::int64_t i3) {
    for (std::int64_t block = 0; block < blocks; ++block) {
      const std::int64_t at = seen.offset + block * seen.tensor.stride(0) +
                              i1 * seen.tensor.stride(1) + i2 * seen.tensor.stride(2) +
                              i3 * seen.tensor.stride(3);
      f(static_cast<std::size_t>(at), row, block);
    }
    ++row;
  });
}

/// The expected content of `to`'s memory after a copy: block by block, by the types' own functions.
Bytes copied(const CaseSource& from, const Bytes& bytes, const CaseSource& to) {
  const DTypeTrait& a = trait(from.dtype);
  const DTypeTrait& b = trait(to.dtype);
  const Sizes sizes = sizes_of(from);
  std::vector<float> values(static_cast<std::size_t>(sizes[0] * sizes[1] * sizes[2] * sizes[3]));
  for_each_block(from, [&](std::size_t at, std::int64_t row, std::int64_t block) {
    a.decode(&bytes[at],
             &values[static_cast<std::size_t>(row * sizes[0] + block * a.block_elements)],
             a.block_elements);
  });
  const Sizes& w = to.sizes;
  Bytes memory(
      static_cast<std::size_t>(byte_span(*make_tensor(to.dtype, {w[0], w[1], w[2], w[3]}))),
      kUntouched);
  for_each_block(to, [&](std::size_t at, std::int64_t row, std::int64_t block) {
    b.encode(&values[static_cast<std::size_t>(row * sizes[0] + block * b.block_elements)],
             &memory[at], b.block_elements);
  });
  return memory;
}

/// Memory layouts of tensors that look the same: with the elements of a row apart (plain types
/// only), or its rows; and with something cut off.
std::vector<CaseSource> ways_to_see(DType type, const Sizes& sizes) {
  const std::int64_t block = trait(type).block_elements;
  const std::array<int, kMaxDims> rows_apart = {0, 2, 1, 3};
  const std::array<int, kMaxDims> elements_apart = {1, 0, 2, 3};
  return {seen_as(type, sizes, block == 1 ? elements_apart : rows_apart),
          seen_as(type, sizes, rows_apart, {block, 1, 2, 0})};
}

TEST_F(Conversions, EqualDecodingToF32AndEncoding) {
  constexpr std::int64_t kCount = 512;
  std::size_t pairs = 0;
  for (const DTypeTrait& from : dtypes()) {
    const Bytes bytes = make_bytes(source_of(from.dtype, {kCount, 1, 1, 1}), 3);
    std::vector<float> values(kCount);
    from.decode(bytes.data(), values.data(), kCount);
    for (const DTypeTrait& to : dtypes()) {
      if (to.encode == nullptr || to.dtype == from.dtype) continue;
      if (is_wide(from.dtype) && is_wide(to.dtype)) continue;
      Bytes expected(static_cast<std::size_t>(byte_span(*make_tensor(to.dtype, {kCount}))));
      to.encode(values.data(), expected.data(), kCount);
      const auto made = converted(from.dtype, bytes, to.dtype, kCount);
      ASSERT_TRUE(made) << made.error().message();
      EXPECT_EQ(*made, expected) << from.name << " to " << to.name;
      ++pairs;
    }
  }
  EXPECT_GT(pairs, 700U);
}

/// Every type from every other, whatever the memory layout of either.
TEST_F(Conversions, OfPermutedAndSlicedTensorsGiveTheSameBits) {
  constexpr Sizes kSizes = {256, 2, 2, 1};
  std::size_t pairs = 0;
  for (const DTypeTrait& from : dtypes()) {
    for (const DTypeTrait& to : dtypes()) {
      if (to.encode == nullptr || to.dtype == from.dtype) continue;
      if (is_wide(from.dtype) && is_wide(to.dtype)) continue;
      const CaseSource plain_from = source_of(from.dtype, kSizes);
      const CaseSource plain_to = source_of(to.dtype, kSizes);
      std::vector<std::pair<CaseSource, CaseSource>> ways;
      for (const CaseSource& way : ways_to_see(from.dtype, kSizes)) {
        ways.emplace_back(way, plain_to);
      }
      // Where a block is put has nothing to do with where its elements come from, and making one
      // takes long.
      if (to.block_elements == 1 || from.dtype == DType::kF32) {
        for (const CaseSource& way : ways_to_see(to.dtype, kSizes)) {
          ways.emplace_back(plain_from, way);
        }
      }
      for (const auto& [src, dst] : ways) {
        const Bytes bytes = make_bytes(src, 5);
        const auto made = converted(src, bytes, dst);
        ASSERT_TRUE(made) << made.error().message();
        EXPECT_EQ(*made, copied(src, bytes, dst))
            << describe_source(src) << " to " << describe_source(dst);
      }
      ++pairs;
    }
  }
  EXPECT_GT(pairs, 700U);
}

TEST_F(Conversions, OfATypeToItselfKeepEveryBit) {
  for (const DTypeTrait& type : dtypes()) {
    const Bytes bytes = make_bytes(source_of(type.dtype, {512, 1, 1, 1}), 4);
    const auto made = converted(type.dtype, bytes, type.dtype, 512);
    ASSERT_TRUE(made) << made.error().message();
    EXPECT_EQ(*made, bytes) << type.name;
  }
}

TEST_F(Conversions, OfATypeToItselfKeepEveryBitInAnyLayout) {
  constexpr Sizes kSizes = {512, 3, 2, 1};
  for (const DTypeTrait& type : dtypes()) {
    for (const CaseSource& src : ways_to_see(type.dtype, kSizes)) {
      for (const CaseSource& dst : ways_to_see(type.dtype, kSizes)) {
        const Bytes bytes = make_bytes(src, 6);
        std::vector<std::size_t> places;
        for_each_block(src,
                       [&](std::size_t at, std::int64_t, std::int64_t) { places.push_back(at); });
        Bytes expected(static_cast<std::size_t>(byte_span(*whole(dst))), kUntouched);
        std::size_t next = 0;
        for_each_block(dst, [&](std::size_t at, std::int64_t, std::int64_t) {
          std::memcpy(&expected[at], &bytes[places[next++]], type.block_bytes);
        });
        const auto made = converted(src, bytes, dst);
        ASSERT_TRUE(made) << made.error().message();
        EXPECT_EQ(*made, expected) << describe_source(src) << " to " << describe_source(dst);
      }
    }
  }
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr auto kMin64 = std::numeric_limits<std::int64_t>::min();
constexpr auto kMax64 = std::numeric_limits<std::int64_t>::max();

TEST_F(Conversions, BetweenIntegersAreExactAndSaturate) {
  using I64 = std::vector<std::int64_t>;
  using I32 = std::vector<std::int32_t>;
  EXPECT_EQ(
      values<std::int32_t>(DType::kI64, I64{16777217, kMax64, kMin64, -2147483648}, DType::kI32),
      (I32{16777217, 2147483647, -2147483648, -2147483648}));
  EXPECT_EQ(values<std::int64_t>(DType::kI32, I32{16777217, -2147483648}, DType::kI64),
            (I64{16777217, -2147483648}));
  EXPECT_EQ(values<std::int8_t>(DType::kI32, I32{127, 128, -128, -129, 256}, DType::kI8),
            (std::vector<std::int8_t>{127, 127, -128, -128, 127}));
  EXPECT_EQ(values<std::int16_t>(DType::kI8, std::vector<std::int8_t>{-128, 127}, DType::kI16),
            (std::vector<std::int16_t>{-128, 127}));
}

TEST_F(Conversions, OfF64ToIntegersRoundToEvenAndSaturate) {
  const std::vector<double> x = {0.5, 1.5, 2.5, -0.5, -1.5, 16777217, kNan, kInf, -kInf, 1e300};
  EXPECT_EQ(values<std::int64_t>(DType::kF64, x, DType::kI64),
            (std::vector<std::int64_t>{0, 2, 2, 0, -2, 16777217, 0, kMax64, kMin64, kMax64}));
  EXPECT_EQ(values<std::int8_t>(DType::kF64, x, DType::kI8),
            (std::vector<std::int8_t>{0, 2, 2, 0, -2, 127, 0, 127, -128, 127}));
  // The largest double below 2^63, and 2^63 itself.
  EXPECT_EQ(values<std::int64_t>(DType::kF64, std::vector<double>{0x1.fffffffffffffp62, 0x1p63},
                                 DType::kI64),
            (std::vector<std::int64_t>{9223372036854774784, kMax64}));
}

TEST_F(Conversions, OfIntegersToF64RoundOnlyAbove53Bits) {
  const std::vector<std::int64_t> x = {16777217, 9007199254740993, kMin64, kMax64};
  EXPECT_EQ(values<double>(DType::kI64, x, DType::kF64),
            (std::vector<double>{16777217, 9007199254740992, -0x1p63, 0x1p63}));
}

TEST_F(Conversions, OfF32ToIntegersAreDefinedForEveryNumber) {
  const std::vector<float> x = {0.5F,  1.5F,         NAN,    INFINITY, -INFINITY, 3e9F,
                                -3e9F, 2147483520.F, 127.5F, -128.5F,  1e-45F,    4194304.5F};
  EXPECT_EQ(values<std::int32_t>(DType::kF32, x, DType::kI32),
            (std::vector<std::int32_t>{0, 2, 0, 2147483647, -2147483648, 2147483647, -2147483648,
                                       2147483520, 128, -128, 0, 4194304}));
  EXPECT_EQ(values<std::int8_t>(DType::kF32, x, DType::kI8),
            (std::vector<std::int8_t>{0, 2, 0, 127, -128, 127, -128, 127, 127, -128, 0, 127}));
}

TEST_F(Conversions, OfNonFiniteValuesToBlocksGiveFiniteBlocks) {
  std::vector<float> x(256, 1.0F);
  x[3] = NAN;
  x[40] = INFINITY;
  x[100] = -INFINITY;
  for (const DTypeTrait& to : dtypes()) {
    if (!to.quantized || to.encode == nullptr) continue;
    const auto made = converted(DType::kF32, bytes_of(x), to.dtype, 256);
    ASSERT_TRUE(made) << made.error().message();
    std::vector<float> back(256);
    to.decode(made->data(), back.data(), 256);
    for (const float each : back) ASSERT_TRUE(std::isfinite(each)) << to.name;
  }
}

}  // namespace
}  // namespace shunt::test::conversions_test
