// Operators read and write views: the result is that of contiguous tensors.
#include <functional>
#include <memory>

#include "indexing_support.h"

namespace ascend_test::indexing {
namespace {

using ShapesStrides = TwinTest;
using Lengths = std::vector<std::int64_t>;

/// Memory with a tensor in it: contiguous, or with the first dimension fastest, gaps between the
/// elements, and some before them.
class Laid {
 public:
  Laid(aclDataType type, const Lengths& shape, bool is_strided)
      : shape_(shape), strides_(shape.size()), offset_(is_strided ? 3 : 0) {
    std::int64_t stride = is_strided ? 2 : 1;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const std::size_t axis = is_strided ? i : shape.size() - 1 - i;
      strides_[axis] = stride;
      stride *= shape[axis];
    }
    elements_ = stride + offset_;
    bytes_ = type == ACL_INT64 ? 8 : 4;
    memory_ = std::make_unique<Buffer>(static_cast<std::size_t>(elements_) * bytes_);
    memory_->put(std::vector<std::uint8_t>(memory_->bytes(), 0xAB));
    section_ =
        std::make_unique<Section>(type, shape_, strides_, offset_, elements_, memory_->address());
  }
  aclTensor* get() const { return section_->get(); }

  /// In logical order, each element as its bits.
  void put(const std::vector<std::uint64_t>& values) {
    std::vector<std::uint8_t> bytes = memory_->get<std::uint8_t>();
    for (std::size_t i = 0; i < values.size(); ++i)
      std::memcpy(bytes.data() + place(i), &values[i], bytes_);
    memory_->put(bytes);
  }
  std::vector<std::uint64_t> get_values() const {
    const std::vector<std::uint8_t> bytes = memory_->get<std::uint8_t>();
    std::vector<std::uint64_t> values(count());
    for (std::size_t i = 0; i < values.size(); ++i)
      std::memcpy(&values[i], bytes.data() + place(i), bytes_);
    return values;
  }
  /// Bytes that no element has.
  std::size_t untouched() const {
    std::vector<std::uint8_t> bytes = memory_->get<std::uint8_t>();
    for (std::size_t i = 0; i < count(); ++i) std::memset(bytes.data() + place(i), 0, bytes_);
    std::size_t same = 0;
    for (const std::uint8_t byte : bytes) same += byte == 0xAB ? 1 : 0;
    return same;
  }
  std::size_t gaps() const { return memory_->bytes() - count() * bytes_; }
  std::size_t count() const {
    std::size_t product = 1;
    for (const std::int64_t size : shape_) product *= static_cast<std::size_t>(size);
    return product;
  }

 private:
  std::size_t place(std::size_t number) const {
    std::int64_t at = offset_;
    for (std::size_t i = shape_.size(); i-- > 0;) {
      at += static_cast<std::int64_t>(number % static_cast<std::size_t>(shape_[i])) * strides_[i];
      number /= static_cast<std::size_t>(shape_[i]);
    }
    return static_cast<std::size_t>(at) * bytes_;
  }

  Lengths shape_, strides_;
  std::int64_t offset_, elements_ = 0;
  std::size_t bytes_ = 4;
  std::unique_ptr<Buffer> memory_;
  std::unique_ptr<Section> section_;
};

struct Case {
  const char* name;
  Lengths in, out;
  aclDataType out_type;
  std::function<aclError(aclTensor* in, aclTensor* out)> run;
};

std::vector<Case> cases() {
  const auto indices = [](aclDataType type, const Lengths& shape, const Ints& values) {
    return std::make_shared<Tensor<std::int32_t>>(type, shape, values);
  };
  const auto rows = indices(ACL_INT32, {3}, {3, 0, 1});
  const auto places = indices(ACL_INT32, {2, 6}, {0, 3, 1, 2, 0, 0, 1, 1, 2, 3, 3, 0});
  return {
      {"Cast",
       {4, 6},
       {4, 6},
       ACL_INT32,
       [](auto* in, auto* out) { return RUN_OP(Cast, in, ACL_INT32, out); }},
      {"InplaceCopy",
       {4, 6},
       {4, 6},
       ACL_FLOAT,
       [](auto* in, auto* out) { return RUN_OP(InplaceCopy, out, in); }},
      {"GatherV2",
       {4, 6},
       {3, 6},
       ACL_FLOAT,
       [=](auto* in, auto* out) { return RUN_OP(GatherV2, in, 0, rows->get(), out); }},
      {"IndexSelect",
       {4, 6},
       {4, 3},
       ACL_FLOAT,
       [=](auto* in, auto* out) { return RUN_OP(IndexSelect, in, 1, rows->get(), out); }},
      {"Gather",
       {4, 6},
       {2, 6},
       ACL_FLOAT,
       [=](auto* in, auto* out) { return RUN_OP(Gather, in, 0, places->get(), out); }},
      {"Embedding",
       {4, 6},
       {3, 6},
       ACL_FLOAT,
       [=](auto* in, auto* out) { return RUN_OP(Embedding, in, rows->get(), out); }},
      {"Repeat",
       {4, 6},
       {8, 6},
       ACL_FLOAT,
       [](auto* in, auto* out) {
         return RUN_OP(Repeat, in, Integers({2, 1}).get(), out);
       }},
      {"RepeatInterleaveIntWithDim",
       {4, 6},
       {8, 6},
       ACL_FLOAT,
       [](auto* in, auto* out) { return RUN_OP(RepeatInterleaveIntWithDim, in, 2, 0, 8, out); }},
      {"Permute",
       {4, 6},
       {6, 4},
       ACL_FLOAT,
       [](auto* in, auto* out) {
         return RUN_OP(Permute, in, Integers({1, 0}).get(), out);
       }},
      {"Slice",
       {4, 6},
       {4, 2},
       ACL_FLOAT,
       [](auto* in, auto* out) { return RUN_OP(Slice, in, 1, 1, 4, 2, out); }},
      {"Roll",
       {4, 6},
       {4, 6},
       ACL_FLOAT,
       [](auto* in, auto* out) {
         return RUN_OP(Roll, in, Integers({2}).get(), Integers({1}).get(), out);
       }},
      {"Tril",
       {4, 6},
       {4, 6},
       ACL_FLOAT,
       [](auto* in, auto* out) { return RUN_OP(Tril, in, 1, out); }},
      {"Triu",
       {4, 6},
       {4, 6},
       ACL_FLOAT,
       [](auto* in, auto* out) { return RUN_OP(Triu, in, 1, out); }},
      {"ConstantPadNd",
       {4, 6},
       {5, 8},
       ACL_FLOAT,
       [](auto* in, auto* out) {
         return RUN_OP(ConstantPadNd, in, Integers({1, 1, 1, 0}).get(), real(-2).get(), out);
       }},
      {"ReflectionPad1d",
       {4, 6},
       {4, 9},
       ACL_FLOAT,
       [](auto* in, auto* out) {
         return RUN_OP(ReflectionPad1d, in, Integers({1, 2}).get(), out);
       }},
      {"UpsampleNearest2d",
       {1, 2, 2, 3},
       {1, 2, 3, 5},
       ACL_FLOAT,
       [](auto* in, auto* out) {
         return RUN_OP(UpsampleNearest2d, in, Integers({3, 5}).get(), out);
       }},
      {"Argsort",
       {4, 6},
       {4, 6},
       ACL_INT64,
       [](auto* in, auto* out) { return RUN_OP(Argsort, in, 0, true, out); }},
      {"Cumsum",
       {4, 6},
       {4, 6},
       ACL_FLOAT,
       [](auto* in, auto* out) { return RUN_OP(Cumsum, in, 0, ACL_FLOAT, out); }},
      {"Im2col",
       {1, 2, 3, 3},
       {1, 8, 4},
       ACL_FLOAT,
       [](auto* in, auto* out) {
         return RUN_OP(Im2col, in, Integers({2, 2}).get(), Integers({1, 1}).get(),
                       Integers({0, 0}).get(), Integers({1, 1}).get(), out);
       }},
      {"AvgPool2d",
       {1, 2, 4, 4},
       {1, 2, 2, 2},
       ACL_FLOAT,
       [](auto* in, auto* out) {
         return RUN_OP(AvgPool2d, in, Integers({2}).get(), Integers({2}).get(), Integers({0}).get(),
                       false, true, 0, std::int8_t{0}, out);
       }},
      {"MaxPool",
       {1, 2, 4, 4},
       {1, 2, 2, 2},
       ACL_FLOAT,
       [](auto* in, auto* out) {
         return RUN_OP(MaxPool, in, Integers({2}).get(), Integers({2}).get(), 0, Integers({}).get(),
                       Integers({}).get(), 0, out);
       }},
      {"Convolution",
       {1, 2, 4, 4},
       {1, 2, 4, 4},
       ACL_FLOAT,
       [](auto* in, auto* out) {
         Tensor<float> weight(ACL_FLOAT, {2, 1, 1, 1}, {2, -1});
         return RUN_OP(Convolution, in, weight.get(), nullptr, Integers({1}).get(),
                       Integers({0}).get(), Integers({1}).get(), false, Integers({0}).get(), 2, out,
                       std::int8_t{ALLOW_FP32_DOWN_PRECISION});
       }},
  };
}

TEST_F(ShapesStrides, ViewsGiveTheResultsOfContiguousTensors) {
  restart({{"PROFILE", "310p"}});
  for (const Case& one : cases()) {
    std::vector<std::uint64_t> results[4];
    for (int bits = 0; bits < 4; ++bits) {
      Laid in(ACL_FLOAT, one.in, (bits & 1) != 0);
      Laid out(one.out_type, one.out, (bits & 2) != 0);
      std::vector<std::uint64_t> values;
      for (std::size_t i = 0; i < in.count(); ++i) {
        const auto value = static_cast<float>(i * 37 % 29) - 10;
        std::uint32_t pattern = 0;
        std::memcpy(&pattern, &value, sizeof pattern);
        values.push_back(pattern);
      }
      in.put(values);
      ASSERT_EQ(one.run(in.get(), out.get()), ACL_SUCCESS)
          << one.name << ": " << ascend_twin_last_message();
      results[bits] = out.get_values();
      EXPECT_EQ(results[bits], results[0]) << one.name << " " << bits;
      EXPECT_EQ(out.untouched(), out.gaps()) << one.name << " " << bits;
      EXPECT_EQ(in.get_values(), values) << one.name << " " << bits;
    }
  }
}

TEST_F(ShapesStrides, ViewsNeedAWorkspace) {
  const Laid plain(ACL_FLOAT, {4, 6}, false);
  const Laid strided(ACL_FLOAT, {4, 6}, true);
  const auto bytes_of = [](aclTensor* in, aclTensor* out) {
    std::uint64_t bytes = 0;
    aclOpExecutor* executor = nullptr;
    EXPECT_EQ(aclnnTrilGetWorkspaceSize(in, 0, out, &bytes, &executor), ACL_SUCCESS);
    EXPECT_EQ(aclDestroyAclOpExecutor(executor), ACL_SUCCESS);
    return bytes;
  };
  EXPECT_EQ(bytes_of(plain.get(), plain.get()), 0U);
  EXPECT_EQ(bytes_of(strided.get(), plain.get()), 128U);
  EXPECT_EQ(bytes_of(strided.get(), strided.get()), 256U);
}

}  // namespace
}  // namespace ascend_test::indexing
