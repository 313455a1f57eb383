// Parts of old GGUF files that are missing or contradict each other.
#include "convert/old_gguf.h"

#include <gtest/gtest.h>

#include "base/to_size.h"
#include "support/gguf_bytes.h"
#include "support/must.h"
#include "tensor/byte_order.h"

namespace shunt::test::old_gguf_unit_test {
namespace {

constexpr std::int64_t kHeads = 2;
constexpr std::int64_t kPlain = 32;
constexpr std::int64_t kValue = 3;
constexpr std::int64_t kRank = 64;

struct OldTensor {
  std::string name;
  DType type = DType::kF32;
  Shape shape;
};

gguf::Value number(std::uint64_t value) {
  return {gguf::ValueType::kU32, value};
}

/// The header of a file, and its zeros.
std::vector<std::byte> file_of(const std::vector<OldTensor>& tensors, std::uint64_t turned = 4) {
  gguf::Writer writer;
  writer.add_string("general.architecture", "deepseek2");
  writer.add("deepseek2.attention.head_count", number(kHeads));
  writer.add("deepseek2.attention.key_length", number(kPlain + 4));
  writer.add("deepseek2.attention.value_length", number(kValue));
  writer.add("deepseek2.attention.kv_lora_rank", number(kRank));
  writer.add("deepseek2.rope.dimension_count", number(turned));
  std::size_t most = 0;
  for (const OldTensor& each : tensors) {
    const Tensor tensor = must(make_tensor(each.type, each.shape));
    must(writer.add_tensor(each.name, tensor));
    most += to_size(byte_span(tensor)) + 64;
  }
  std::vector<std::byte> bytes = must(writer.header());
  bytes.resize(bytes.size() + most);
  return bytes;
}

std::string error_of(const std::vector<std::byte>& bytes) {
  const gguf::File file = must(gguf::File::parse(bytes, "old.gguf"));
  const auto renewed = renew_gguf(file);
  return renewed ? "none" : renewed.error().message();
}

TEST(OldGgufFile, NeedsEachExpert) {
  const auto error = error_of(file_of({{"blk.0.ffn_up.0.weight", DType::kF32, {4, 4}},
                                       {"blk.0.ffn_up.2.weight", DType::kF32, {4, 4}}}));
  EXPECT_NE(error.find("blk.0.ffn_up_exps.weight lacks its expert 1"), std::string::npos) << error;
}

TEST(OldGgufFile, NeedsTheFirstExpert) {
  const auto error = error_of(file_of({{"blk.0.ffn_up.1.weight", DType::kF32, {4, 4}}}));
  EXPECT_NE(error.find("blk.0.ffn_up_exps.weight lacks its expert 0"), std::string::npos) << error;
}

TEST(OldGgufFile, NeedsAlikeExperts) {
  for (const OldTensor& other : {OldTensor{"blk.0.ffn_up.1.weight", DType::kF16, {4, 4}},
                                 OldTensor{"blk.0.ffn_up.1.weight", DType::kF32, {8, 4}},
                                 OldTensor{"blk.0.ffn_up.1.weight", DType::kF32, {4, 5}},
                                 OldTensor{"blk.0.ffn_up.1.weight", DType::kF32, {4, 4, 2}}}) {
    const auto error = error_of(file_of({{"blk.0.ffn_up.0.weight", DType::kF32, {4, 4}}, other}));
    EXPECT_NE(error.find("experts must be alike"), std::string::npos) << error;
  }
}

TEST(OldGgufFile, LacksExpertsBelowALargeNumber) {
  const auto error =
      error_of(file_of({{"blk.0.ffn_up.0.weight", DType::kF32, {4, 4}},
                        {"blk.0.ffn_up.18446744073709551615.weight", DType::kF32, {4, 4}}}));
  EXPECT_NE(error.find("blk.0.ffn_up_exps.weight lacks its expert 1"), std::string::npos) << error;
}

TEST(OldGgufFile, KeepsATensorWithANumberThatIsNoExperts) {
  const std::vector<std::byte> bytes = file_of({{"blk.0.ffn_up.0.weight", DType::kF32, {4, 4}},
                                                {"blk.0.ffn_up.00.weight", DType::kF32, {4, 4}}});
  const gguf::File file = must(gguf::File::parse(bytes, "old.gguf"));
  const RenewedGguf renewed = must(renew_gguf(file));
  EXPECT_EQ(renewed.file.tensors().size(), 2U);
  EXPECT_NE(renewed.file.find_tensor("blk.0.ffn_up.00.weight"), nullptr);
}

TEST(OldGgufFile, HasRowsOfKeysAndValuesForEachHead) {
  const Shape shape = {kRank, kHeads * (kPlain + kValue) + 1};
  const auto error = error_of(file_of({{"blk.0.attn_kv_b.weight", DType::kF32, shape}}));
  EXPECT_NE(error.find("2 heads of 32 + 3 rows are expected"), std::string::npos) << error;
}

TEST(OldGgufFile, TurnsLessThanAWholeKey) {
  const Shape shape = {kRank, kHeads * (kPlain + kValue)};
  const auto error =
      error_of(file_of({{"blk.0.attn_kv_b.weight", DType::kF32, shape}}, kPlain + 4));
  EXPECT_NE(error.find("of 36 elements of a key, 36 are turned by rope"), std::string::npos)
      << error;
}

TEST(OldGgufFile, OfOtherTensorsIsOfToday) {
  const auto error = error_of(file_of({{"blk.0.ffn_up_exps.weight", DType::kF32, {4, 4, 2}},
                                       {"blk.0.ffn_up.weight", DType::kF32, {4, 4}},
                                       {"blk.0.ffn_up.00.weight", DType::kF32, {4, 4}},
                                       {"blk.0.other.1.weight", DType::kF32, {4, 4}}}));
  EXPECT_NE(error.find("nothing to convert"), std::string::npos) << error;
}

TEST(OldGgufFile, TurnsQuantizedKeysIntoTheFinerType) {
  const std::int64_t rows = kHeads * (kPlain + kValue);
  gguf::Writer writer;
  const std::vector<std::byte> header = file_of({});
  const gguf::File empty = must(gguf::File::parse(header, "keys"));
  for (const gguf::KeyValue& each : empty.metadata()) writer.add(each.key, each.value);
  must(writer.add_tensor("blk.0.attn_kv_b.weight", must(make_tensor(DType::kQ4_0, {kRank, rows}))));
  const std::size_t row_bytes = to_size(kRank) / 32 * trait(DType::kQ4_0).block_bytes;
  std::vector<std::byte> data(row_bytes * to_size(rows));
  std::vector<float> decoded(to_size(rows * kRank));
  for (std::int64_t row = 0; row < rows; ++row) {
    std::vector<float> values(to_size(kRank));
    for (std::int64_t i = 0; i < kRank; ++i)
      values[to_size(i)] = static_cast<float>((row * 7 + i * 13) % 29 - 14);
    const auto to = std::span(data).subspan(to_size(row) * row_bytes, row_bytes);
    must(encode_row(DType::kQ4_0, values, {}, to));
    trait(DType::kQ4_0).decode(to.data(), decoded.data() + row * kRank, kRank);
    convert_byte_order(DType::kQ4_0, std::endian::little, to);
  }
  TempFolder folder;
  const std::string path = folder.file("old.gguf");
  must(writer.write(path, [&](std::size_t) { return Result<std::span<const std::byte>>(data); }));
  const RenewedGguf renewed = must(renew_gguf(must(gguf::File::open(path))));
  const gguf::TensorInfo& keys = *renewed.file.find_tensor("blk.0.attn_k_b.weight");
  EXPECT_EQ(to_string(keys.tensor), "Q8_0 [32, 64, 2]");
  const std::size_t key_bytes = trait(DType::kQ8_0).block_bytes;
  for (std::int64_t row = 0; row < kRank * kHeads; ++row) {
    const auto found = must(renewed.rows(keys, row, 1));
    std::vector<std::byte> bytes(found.begin(), found.end());
    ASSERT_EQ(bytes.size(), key_bytes);
    convert_byte_order(DType::kQ8_0, std::endian::little, bytes);
    std::vector<float> values(to_size(kPlain));
    trait(DType::kQ8_0).decode(bytes.data(), values.data(), kPlain);
    const std::int64_t head = row / kRank;
    for (std::int64_t k = 0; k < kPlain; ++k) {
      const std::int64_t old = head * (kPlain + kValue) + k;
      // Half a step of 127 for numbers up to 14, and the rounding of its scale to F16.
      EXPECT_NEAR(values[to_size(k)], decoded[to_size(old * kRank + row % kRank)], 0.08);
    }
  }
  const gguf::TensorInfo& made = *renewed.file.find_tensor("blk.0.attn_v_b.weight");
  EXPECT_EQ(to_string(made.tensor), "Q4_0 [64, 3, 2]");
  for (std::int64_t row = 0; row < kValue * kHeads; ++row) {
    const std::int64_t old = row / kValue * (kPlain + kValue) + kPlain + row % kValue;
    const auto found = must(renewed.rows(made, row, 1));
    const auto wanted = std::span(data).subspan(to_size(old) * row_bytes, row_bytes);
    EXPECT_TRUE(std::ranges::equal(found, wanted)) << "row " << row;
  }
}

}  // namespace
}  // namespace shunt::test::old_gguf_unit_test
