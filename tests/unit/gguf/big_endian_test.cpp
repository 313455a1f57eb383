// Big-endian files: their content is that of the little-endian file that they were made from.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shunt/gguf.h"
#include "support/big_endian.h"
#include "support/gguf_bytes.h"

namespace shunt::gguf::gguf_big_endian_test {
namespace {

using test::to_big_endian;
using testing::ElementsAre;

class GgufBigEndian : public testing::TestWithParam<std::string_view> {
 protected:
  std::vector<std::byte> sample() const {
    return to_big_endian(test::gguf_sample().span(), GetParam());
  }
};

TEST_P(GgufBigEndian, FileHasTheSameMetadata) {
  const auto bytes = sample();
  const auto file = File::parse(bytes, "big.gguf");
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_EQ(file->version(), 3u);
  EXPECT_EQ(file->byte_order(), std::endian::big);
  EXPECT_EQ(file->metadata().size(), 18u);
  EXPECT_EQ(*file->get_string("general.name"), "sample");
  EXPECT_EQ(*file->get_integer("x.u8"), 200);
  EXPECT_EQ(*file->get_integer("x.i8"), -2);
  EXPECT_EQ(*file->get_integer("x.u16"), 60000);
  EXPECT_EQ(*file->get_integer("x.i16"), -3);
  EXPECT_EQ(*file->get_integer("x.u32"), 4000000000);
  EXPECT_EQ(*file->get_integer("x.i32"), -4);
  EXPECT_EQ(*file->get_integer("x.i64"), -5);
  EXPECT_EQ(*file->get_number("x.f32"), double{0.1f});
  EXPECT_EQ(*file->get_number("x.f64"), 0.1);
  EXPECT_EQ(*file->get_bool("x.bool"), true);
  EXPECT_THAT((*file->get_array("x.strings", ValueType::kString))->strings,
              ElementsAre("a", "", "\xe2\x96\x81z"));
  EXPECT_THAT((*file->get_array("x.i32s", ValueType::kI32))->integers, ElementsAre(7, -1));
  EXPECT_THAT((*file->get_array("x.f32s", ValueType::kF32))->floats, ElementsAre(1.5, -2.0));
  EXPECT_THAT((*file->get_array("x.bools", ValueType::kBool))->integers, ElementsAre(1, 0));
}

TEST_P(GgufBigEndian, FileHasTheSameTensors) {
  const auto bytes = sample();
  const auto file = File::parse(bytes, "big.gguf");
  ASSERT_TRUE(file) << file.error().message();
  const std::vector<std::vector<float>> expected = {{0, 1, 2, 3, 4, 5, 6, 7}, [] {
                                                      std::vector<float> q(32);
                                                      for (std::size_t i = 0; i < q.size(); ++i)
                                                        q[i] = static_cast<float>(i);
                                                      return q;
                                                    }()};
  ASSERT_EQ(file->tensors().size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const TensorInfo& info = file->tensors()[i];
    EXPECT_EQ(info.order, std::endian::big);
    std::vector<std::byte> data(file->data(info).begin(), file->data(info).end());
    convert_byte_order(info.tensor.dtype, info.order, data);
    std::vector<float> values(expected[i].size());
    trait(info.tensor.dtype)
        .decode(data.data(), values.data(), static_cast<std::int64_t>(values.size()));
    EXPECT_EQ(values, expected[i]) << info.name;
  }
}

INSTANTIATE_TEST_SUITE_P(, GgufBigEndian, testing::Values("GGUF", "FUGG"),
                         [](const auto& magic) { return std::string(magic.param); });

TEST(GgufByteOrder, OfALittleEndianFileIsReported) {
  const auto bytes = test::gguf_sample();
  const auto file = File::parse(bytes.span(), "little.gguf");
  ASSERT_TRUE(file);
  EXPECT_EQ(file->byte_order(), std::endian::little);
  EXPECT_EQ(file->tensors()[0].order, std::endian::little);
}

}  // namespace
}  // namespace shunt::gguf::gguf_big_endian_test
