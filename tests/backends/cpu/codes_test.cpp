// Products of bytes, at every level: with a column that has one element of 127, whose scale is 1, a
// product is 127 times the weight that the type's trait decodes. So each weight of random blocks is
// seen apart from all others.
#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "backends/cpu/simd/int8.h"
#include "backends/cpu/simd/level.h"

namespace shunt::cpu::simd {
namespace {

using Floats = std::vector<float>;
std::size_t size(std::int64_t n) {
  return static_cast<std::size_t>(n);
}

/// As much as products need, to the byte, so that a sanitizer sees what is read beyond.
class Aligned {
 public:
  explicit Aligned(std::int64_t bytes)
      : data_(static_cast<std::byte*>(::operator new(size(bytes), kAlign))) {}
  std::byte* data() { return data_.get(); }

 private:
  static constexpr std::align_val_t kAlign{64};
  struct Free {
    void operator()(std::byte* data) const { ::operator delete(data, kAlign); }
  };
  std::unique_ptr<std::byte, Free> data_;
};

/// Whether 127 times each weight of a block is a number, with room for the units of codes.
bool is_usable(const DTypeTrait& type, const std::byte* block) {
  Floats values(size(type.block_elements));
  type.decode(block, values.data(), type.block_elements);
  return std::ranges::all_of(values, [](float v) { return std::fabs(v) < FLT_MAX / 8192; });
}

/// Rows of random blocks. Every other one has as many bytes of all bits, or of none, as can be, so
/// that scales, minimums and indices are at their ends.
struct Weights {
  const DTypeTrait& type;
  std::int64_t rows, k, stride;
  std::vector<std::byte> bytes;
  Floats decoded;  ///< [rows][k]

  Weights(const DTypeTrait& t, std::int64_t row_count, std::int64_t row_size)
      : type(t), rows(row_count), k(row_size) {
    std::mt19937 random(static_cast<unsigned>(t.dtype) * 7 + static_cast<unsigned>(k));
    const std::int64_t blocks = k / t.block_elements;
    const auto block_bytes = static_cast<std::int64_t>(t.block_bytes);
    stride = (blocks + 1) * block_bytes;
    bytes.assign(size(stride * (rows - 1) + blocks * block_bytes), std::byte{0x5a});
    decoded.resize(size(rows * k));
    for (std::int64_t r = 0; r < rows; ++r) {
      std::byte* row = bytes.data() + r * stride;
      for (std::int64_t b = 0; b < blocks; ++b) fill(row + b * block_bytes, (r + b) % 4, random);
      t.decode(row, decoded.data() + r * k, k);
    }
  }
  float at(std::int64_t r, std::int64_t i) const { return decoded[size(r * k + i)]; }
  double largest(std::int64_t r, std::int64_t first, std::int64_t count) const {
    double found = 0;
    for (std::int64_t i = first; i < first + count; ++i) {
      found = std::max(found, std::fabs(double{at(r, i)}));
    }
    return found;
  }
  /// How far from exact a product with 127 or less may be: types with minimums add two parts.
  double tolerance(std::int64_t r, std::int64_t i) const {
    if (int8_need(type.dtype).mins == 0) return 2.5e-7 * std::fabs(127.0 * at(r, i)) + 1e-43;
    const std::int64_t first = i / type.block_elements * type.block_elements;
    return 1e-6 * 127 * largest(r, first, type.block_elements);
  }

 private:
  void fill(std::byte* block, std::int64_t how, std::mt19937& random) const {
    do {
      for (std::size_t i = 0; i < type.block_bytes; ++i)
        block[i] = static_cast<std::byte>(random());
    } while (!is_usable(type, block));
    if (how != 1 && how != 3) return;
    for (std::size_t i = 0; i < type.block_bytes; ++i) {
      const std::byte before = std::exchange(block[i], how == 1 ? std::byte{0xff} : std::byte{0});
      if (!is_usable(type, block)) block[i] = before;
    }
  }
};

/// Products of rows with columns that lie one after the other, y[c * rows + r], by few columns.
Floats few_products(const Weights& w, const Floats& x) {
  const std::int64_t columns = std::ssize(x) / w.k;
  const std::int64_t bytes = few_bytes(w.k);
  Aligned rounded(columns * bytes);
  for (std::int64_t c = 0; c < columns; ++c) {
    quantize_few(x.data() + c * w.k, w.k, int8_need(w.type.dtype), rounded.data() + c * bytes);
  }
  Floats y(size(columns * w.rows), 5.0F);
  multiply_few(w.type.dtype, w.bytes.data(), w.stride, w.rows, rounded.data(), columns, w.k,
               y.data(), w.rows);
  return y;
}

/// The same by panels; rows that are not there are zero.
Floats panel_products(const Weights& w, const Floats& x) {
  const Int8Need need = int8_need(w.type.dtype);
  const std::int64_t columns = std::ssize(x) / w.k;
  const std::int64_t group_bytes = w.k / kInt8Block * many_block_bytes(need);
  Floats all(size(columns * kInt8Rows), 5.0F);
  Aligned rounded(group_bytes);
  Aligned panel(kInt8PanelBytes);
  for (std::int64_t c = 0; c < columns; c += kManyColumns) {
    const std::int64_t here = std::min(kManyColumns, columns - c);
    quantize_many(x.data() + c * w.k, w.k, here, w.k, need, rounded.data());
    for (std::int64_t first = 0; first < w.k; first += kInt8Depth) {
      const std::int64_t depth = std::min(kInt8Depth, w.k - first);
      decode_panel(w.type.dtype,
                   w.bytes.data() + size(first / w.type.block_elements) * w.type.block_bytes,
                   w.stride, w.rows, depth, panel.data());
      multiply_panel(need, panel.data(), depth,
                     rounded.data() + first / kInt8Block * many_block_bytes(need), here,
                     all.data() + c * kInt8Rows, kInt8Rows, first > 0);
    }
  }
  Floats y;
  for (std::int64_t i = 0; i < std::ssize(all); ++i) {
    if (i % kInt8Rows < w.rows) {
      y.push_back(all[size(i)]);
    } else {  // times what is not a number it is not one, either
      const float* column = x.data() + i / kInt8Rows * w.k;
      const bool finite =
          std::all_of(column, column + w.k, [](float v) { return std::isfinite(v); });
      EXPECT_TRUE(finite ? all[size(i)] == 0 : std::isnan(all[size(i)])) << all[size(i)];
    }
  }
  return y;
}

using Products = Floats (*)(const Weights&, const Floats&);

class CpuCodes : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { ASSERT_TRUE(limit_level(GetParam())); }
  void TearDown() override { limit_level(""); }

  static std::vector<const DTypeTrait*> types() {
    std::vector<const DTypeTrait*> found;
    for (const DTypeTrait& type : dtypes()) {
      if (has_codes(type.dtype)) found.push_back(&type);
    }
    return found;
  }
  /// Columns with a 127 at `element`, `element` + 1, ... each.
  static void expect_weights(const Weights& w, std::int64_t element, std::int64_t columns,
                             Products products) {
    Floats x(size(columns * w.k));
    const auto place = [&](std::int64_t c) { return (element + c) % w.k; };
    for (std::int64_t c = 0; c < columns; ++c) x[size(c * w.k + place(c))] = 127;
    const Floats y = products(w, x);
    for (std::int64_t c = 0; c < columns; ++c) {
      for (std::int64_t r = 0; r < w.rows; ++r) {
        ASSERT_NEAR(y[size(c * w.rows + r)], 127.0 * w.at(r, place(c)), w.tolerance(r, place(c)))
            << w.type.name << ", " << w.rows << " rows, k " << w.k << ", " << columns
            << " columns, row " << r << ", element " << place(c);
      }
    }
  }
  static bool fits(const DTypeTrait& type, std::int64_t k) { return k % type.block_elements == 0; }
};

TEST_P(CpuCodes, EveryQuantisedTypeThatIsStoredHasCodes) {
  // One lane is called scalar, and so are the vectors of a machine unknown to Highway; and builds with
  // sanitizers leave out sse4. There it is all of them or none.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  const bool must = GetParam() != "scalar" && GetParam() != "sse4";
#else
  const bool must = GetParam() != "scalar";
#endif
  const bool any = must || has_codes(DType::kQ8_0);
  for (const DTypeTrait& type : dtypes()) {
    const bool stored = type.encode != nullptr || type.encode_weighted != nullptr;
    EXPECT_EQ(has_codes(type.dtype), any && type.quantized && stored) << type.name;
  }
}

TEST_P(CpuCodes, FewColumnsSeeEveryWeight) {
  for (const DTypeTrait* type : types()) {
    const Weights w(*type, 3, 256);
    for (std::int64_t i = 0; i < w.k; i += 16) expect_weights(w, i, 16, few_products);
  }
}

TEST_P(CpuCodes, PanelsShowEveryWeight) {
  for (const DTypeTrait* type : types()) {
    const Weights w(*type, 5, 256);
    for (std::int64_t i = 0; i < w.k; i += 32) expect_weights(w, i, 32, panel_products);
  }
}

TEST_P(CpuCodes, FewColumnsOfAnyNumberAndLength) {
  for (const DTypeTrait* type : types()) {
    for (std::int64_t k : {32, 96, 256, 768}) {
      if (!fits(*type, k)) continue;
      const Weights w(*type, 3, k);
      for (std::int64_t columns : {1, 2, 3, 5, 8, 16}) {
        for (std::int64_t i : {std::int64_t{0}, k / 2 + 15, k - 1}) {
          expect_weights(w, i, columns, few_products);
        }
      }
    }
  }
}

TEST_P(CpuCodes, PanelsOfAnyNumberOfRowsAndColumns) {
  for (const DTypeTrait* type : types()) {
    for (std::int64_t k : {32, 96, 256, 768}) {
      if (!fits(*type, k)) continue;
      for (std::int64_t rows : {1, 31, 32}) {
        const Weights w(*type, rows, k);
        for (std::int64_t columns : {1, 6, 7}) {
          expect_weights(w, k / 2 + 13, columns, panel_products);
          expect_weights(w, k - 1, columns, panel_products);
        }
      }
    }
  }
}

TEST_P(CpuCodes, ColumnsOfStrangeNumbers) {
  for (const DTypeTrait* type : types()) {
    const Weights w(*type, 12, 256);
    const float infinity = std::numeric_limits<float>::infinity();
    const Floats strange = {std::nanf(""), infinity, -infinity, 1e-40F, -1e-36F, 1e38F, 127.0F};
    const auto columns = std::ssize(strange);
    const std::int64_t element = 77;
    Floats x(size(columns * w.k));
    for (std::int64_t c = 0; c < columns; ++c) x[size(c * w.k + element)] = strange[size(c)];
    for (Products products : {few_products, panel_products}) {
      const Floats y = products(w, x);
      for (std::int64_t c = 0; c < columns; ++c) {
        for (std::int64_t r = 0; r < w.rows; ++r) {
          const double got = y[size(c * w.rows + r)];
          const double number = strange[size(c)];
          const auto where = ::testing::Message() << type->name << ", row " << r << ", " << number;
          if (!std::isfinite(number)) {
            EXPECT_TRUE(std::isnan(got)) << where;
            continue;
          }
          const double exact = number * w.at(r, element);
          // Where other elements of the row would be infinite, this one may be, too.
          if (std::fabs(number) * w.largest(r, 0, w.k) > 1e37) continue;
          // Below 1e-36 steps don't get smaller; and scales near it have few digits.
          const double step = std::max(std::fabs(number), 1e-36) / 127;
          const double weight = std::fabs(double{w.at(r, element)});
          const double rounding = std::fabs(number) < 1e-36 ? step / 2 * weight : 0;
          const double digits = 128 * 127 * std::numeric_limits<float>::denorm_min();
          EXPECT_NEAR(got, exact, rounding + 3 * w.tolerance(r, element) * step + digits) << where;
        }
      }
    }
  }
}

std::vector<std::string> level_names() {
  std::vector<std::string> names;
  for (std::string_view name : levels()) names.emplace_back(name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Levels, CpuCodes, testing::ValuesIn(level_names()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace shunt::cpu::simd
