// The types that weights become, by role and layer.
#include "model/quantize_types.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "support/shared.h"
#include "test_paths.h"

namespace shunt::test::model_quantize_types_test {
namespace {

TEST(QuantizeTypes, NamesAreFoundInAnyCase) {
  std::set<std::string_view> names;
  for (const Mixture& mixture : mixtures()) {
    EXPECT_TRUE(names.insert(mixture.name).second) << mixture.name;
    EXPECT_EQ(find_mixture(mixture.name), &mixture);
    EXPECT_FALSE(trait(mixture.base).integer);
  }
  ASSERT_NE(find_mixture("q4_k_m"), nullptr);
  EXPECT_EQ(find_mixture("q4_k_m")->name, "Q4_K_M");
  for (const char* wrong : {"", "Q4", "Q4_K_M ", "Q4_K_X", "I8", "F64", "Q8_1", "Q8_K"}) {
    EXPECT_EQ(find_mixture(wrong), nullptr) << wrong;
  }
}

TEST(QuantizeTypes, EveryEncodableTypeIsListed) {
  std::set<DType> bases;
  for (const Mixture& mixture : mixtures()) bases.insert(mixture.base);
  for (const DTypeTrait& type : dtypes()) {
    const bool can_be_made = type.encode != nullptr || type.needs_weights();
    const bool is_weight = !type.integer && type.dtype != DType::kF64;
    EXPECT_EQ(bases.count(type.dtype), can_be_made && is_weight ? 1U : 0U) << type.name;
  }
}

/// The numbers that readers of general.file_type know.
TEST(QuantizeTypes, FileTypesMatchGeneralFileType) {
  const std::pair<const char*, std::uint32_t> expected[] = {
      {"F32", 0},     {"F16", 1},      {"Q4_0", 2},    {"Q4_1", 3},    {"Q8_0", 7},
      {"Q5_0", 8},    {"Q5_1", 9},     {"Q2_K", 10},   {"Q3_K_S", 11}, {"Q3_K_M", 12},
      {"Q3_K_L", 13}, {"Q4_K_S", 14},  {"Q4_K_M", 15}, {"Q5_K_S", 16}, {"Q5_K_M", 17},
      {"Q6_K", 18},   {"IQ2_XXS", 19}, {"IQ2_XS", 20}, {"Q2_K_S", 21}, {"IQ3_XXS", 23},
      {"IQ1_S", 24},  {"IQ4_NL", 25},  {"IQ3_S", 26},  {"IQ2_S", 28},  {"IQ4_XS", 30},
      {"IQ1_M", 31},  {"BF16", 32},    {"TQ1_0", 36},  {"TQ2_0", 37},
  };
  for (const auto& [name, number] : expected) {
    ASSERT_NE(find_mixture(name), nullptr) << name;
    EXPECT_EQ(find_mixture(name)->file_type, number) << name;
  }
}

TEST(QuantizeTypes, ImportantLayersAreTheFirstAndLastEighthAndEveryThirdBetween) {
  const auto important = [](std::int64_t layers) {
    std::string marks;
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      marks += is_important_layer(layer, layers) ? 'x' : '.';
    }
    return marks;
  };
  EXPECT_EQ(important(1), "x");
  EXPECT_EQ(important(2), "xx");
  EXPECT_EQ(important(5), "x..xx");
  EXPECT_EQ(important(16), "xx..x..x..x..xxx");
  EXPECT_EQ(important(32), "xxxx..x..x..x..x..x..x..x..xxxxx");
}

TEST(QuantizeTypes, TypeDependsOnRoleAndLayer) {
  const Mixture& mixture = *find_mixture("Q4_K_M");
  const auto type = [&](WeightRole role, std::int64_t layer) {
    return to_string(mixture.type_for(role, layer, 32));
  };
  EXPECT_EQ(type(WeightRole::kQuery, 0), "Q4_K");
  EXPECT_EQ(type(WeightRole::kUp, 31), "Q4_K");
  EXPECT_EQ(type(WeightRole::kOther, -1), "Q4_K");
  EXPECT_EQ(type(WeightRole::kValue, 0), "Q6_K");
  EXPECT_EQ(type(WeightRole::kValue, 4), "Q4_K");
  EXPECT_EQ(type(WeightRole::kDown, 6), "Q6_K");
  EXPECT_EQ(type(WeightRole::kDown, 7), "Q4_K");
  EXPECT_EQ(type(WeightRole::kOutput, -1), "Q6_K");
  EXPECT_EQ(type(WeightRole::kEmbedding, -1), "Q6_K");
}

/// No role gets less than the base type, and the ends at least Q6_K.
TEST(QuantizeTypes, NoRoleHasFewerBitsThanTheBaseType) {
  const auto bits = [](DType dtype) {
    return static_cast<double>(trait(dtype).block_bytes) * 8 /
           static_cast<double>(trait(dtype).block_elements);
  };
  for (const Mixture& mixture : mixtures()) {
    for (int role = 0; role <= static_cast<int>(WeightRole::kDown); ++role) {
      for (std::int64_t layer = 0; layer < 24; ++layer) {
        const DType type = mixture.type_for(static_cast<WeightRole>(role), layer, 24);
        EXPECT_GE(bits(type), bits(mixture.base)) << mixture.name << " role " << role;
      }
    }
    EXPECT_GE(bits(mixture.ends), 6.5) << mixture.name;
  }
}

TEST(QuantizeTypes, RowsOfPartialBlocksGetAFinerType) {
  struct Row {
    DType wanted;
    std::int64_t columns;
    DType expected;
  };
  const Row rows[] = {
      {DType::kQ4_K, 512, DType::kQ4_K},  {DType::kQ4_K, 64, DType::kQ5_0},
      {DType::kQ5_K, 96, DType::kQ5_1},   {DType::kQ6_K, 64, DType::kQ8_0},
      {DType::kQ2_K, 64, DType::kIQ4_NL}, {DType::kIQ1_S, 288, DType::kIQ4_NL},
      {DType::kQ4_K, 172, DType::kF16},   {DType::kQ8_0, 31, DType::kF16},
      {DType::kF32, 1, DType::kF32},      {DType::kBF16, 7, DType::kBF16},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(fitting_type(row.wanted, row.columns), row.expected)
        << to_string(row.wanted) << " " << row.columns;
  }
  for (const DTypeTrait& type : dtypes()) {
    for (std::int64_t columns : {1, 32, 256}) {
      EXPECT_EQ(columns % trait(fitting_type(type.dtype, columns)).block_elements, 0);
    }
  }
}

/// docs/guide/quantize.md has a row for each that is more than one type and the ends.
TEST(QuantizeTypes, DocumentationListsEveryMixture) {
  const std::string page = read_file(std::string(SHUNT_TEST_DOCS) + "/guide/quantize.md");
  const auto by_layer = [](const Mixture::ByLayer& types) {
    const std::string most(to_string(types.most));
    if (types.most == types.important) return most;
    return most + ", " + std::string(to_string(types.important));
  };
  for (const Mixture& mixture : mixtures()) {
    const std::string row =
        fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", mixture.name, mixture.file_type,
                    to_string(mixture.base), by_layer(mixture.value), to_string(mixture.mix),
                    by_layer(mixture.down), to_string(mixture.ends));
    const bool one_and_ends = mixture.name == to_string(mixture.base) &&
                              mixture.base != mixture.ends && mixture.value.most == mixture.base &&
                              mixture.value.important == mixture.base &&
                              mixture.mix == mixture.base;
    EXPECT_EQ(page.find(row) != std::string::npos, !one_and_ends) << row;
  }
}

}  // namespace
}  // namespace shunt::test::model_quantize_types_test
