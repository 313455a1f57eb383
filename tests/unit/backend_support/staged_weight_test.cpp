// Packed weights that are kept plain until all of their bytes have come.
#include "backend_support/staged_weight.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "shunt/message.h"

namespace shunt::test::backend_support_staged_weight_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Four bytes, whose packed form has the upper seven bits of each.
class Coarse final : public StagedWeight {
 public:
  Coarse() : StagedWeight(4) {}
  Status put(std::size_t offset, const std::vector<int>& bytes) {
    std::vector<std::byte> from;
    for (const int each : bytes) from.push_back(static_cast<std::byte>(each));
    return write(offset, from);
  }
  std::vector<int> get(std::size_t offset = 0, std::size_t count = 4) {
    std::vector<std::byte> to(count);
    EXPECT_TRUE(read(offset, to));
    std::vector<int> bytes;
    for (const std::byte each : to) bytes.push_back(static_cast<int>(each));
    return bytes;
  }
  bool is_plain() {
    return *look([](std::span<std::byte> plain) { return Result<bool>(!plain.empty()); });
  }

  int packs = 0;
  bool has_all = true;
  bool fails = false;
  std::vector<std::byte> packed;

 protected:
  Result<bool> pack(std::span<std::byte> plain) override {
    ++packs;
    if (fails) return fail(ErrorCode::kDevice, "no room");
    packed.clear();
    for (const std::byte each : plain) packed.push_back(each & std::byte{0xFE});
    return has_all;
  }
  Status unpack(std::span<std::byte> to) const override {
    if (fails) return fail(ErrorCode::kDevice, "no way back");
    std::ranges::copy(packed, to.begin());
    return ok();
  }
};

TEST(StagedWeight, IsPackedOnceItsLastByteIsWritten) {
  Coarse weight;
  ASSERT_TRUE(weight.put(0, {1, 2}));
  EXPECT_EQ(weight.packs, 0);
  EXPECT_THAT(weight.get(), ElementsAre(1, 2, 0, 0)) << "plain still";
  ASSERT_TRUE(weight.put(2, {3, 4}));
  EXPECT_EQ(weight.packs, 1);
  EXPECT_FALSE(weight.is_plain());
  EXPECT_THAT(weight.get(), ElementsAre(0, 2, 2, 4));
  EXPECT_THAT(weight.get(1, 2), ElementsAre(2, 2));
  EXPECT_EQ(weight.plain_bytes(), 4U);
}

TEST(StagedWeight, SettlePacksAPartiallyWrittenWeight) {
  Coarse weight;
  ASSERT_TRUE(weight.put(1, {9}));
  EXPECT_EQ(*weight.settle(), true);
  EXPECT_EQ(*weight.settle(), true);
  EXPECT_EQ(weight.packs, 1) << "once for what was written";
  EXPECT_THAT(weight.get(), ElementsAre(0, 8, 0, 0));
}

TEST(StagedWeight, LaterPartialWriteUnpacksAndRepacks) {
  Coarse weight;
  ASSERT_TRUE(weight.put(0, {1, 3, 5, 7}));
  ASSERT_TRUE(weight.put(1, {9}));
  EXPECT_TRUE(weight.is_plain());
  EXPECT_THAT(weight.get(), ElementsAre(0, 9, 4, 6));
  EXPECT_EQ(*weight.settle(), true);
  EXPECT_THAT(weight.get(), ElementsAre(0, 8, 4, 6));
}

TEST(StagedWeight, StaysPlainIfThePackedFormCannotHoldItsNumbers) {
  Coarse weight;
  weight.has_all = false;
  ASSERT_TRUE(weight.put(0, {1, 3, 5, 7}));
  EXPECT_EQ(*weight.settle(), false);
  EXPECT_EQ(weight.packs, 1);
  EXPECT_THAT(weight.get(), ElementsAre(1, 3, 5, 7));
  weight.has_all = true;
  ASSERT_TRUE(weight.put(3, {8}));
  EXPECT_EQ(*weight.settle(), true);
  EXPECT_THAT(weight.get(), ElementsAre(0, 2, 4, 8));
}

TEST(StagedWeight, ReadBeforeAnyWriteIsAnError) {
  Coarse weight;
  std::vector<std::byte> to(4);
  const Status status = weight.read(0, to);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(status.error().message(), HasSubstr("before it is written"));
  EXPECT_EQ(*weight.settle(), false) << "nothing to compute with";
}

TEST(StagedWeight, ErrorLeavesTheWeightUnchanged) {
  Coarse weight;
  weight.fails = true;
  EXPECT_EQ(weight.put(0, {1, 3, 5, 7}).error().code(), ErrorCode::kDevice);
  EXPECT_THAT(weight.get(), ElementsAre(1, 3, 5, 7));
  EXPECT_FALSE(weight.settle());
  weight.fails = false;
  EXPECT_EQ(*weight.settle(), true);
  weight.fails = true;
  EXPECT_EQ(weight.put(0, {9}).error().message(), "no way back");
  weight.fails = false;
  EXPECT_THAT(weight.get(), ElementsAre(0, 2, 4, 6));
}

TEST(StagedWeight, ConcurrentThreadsSettleItOnce) {
  Coarse weight;
  ASSERT_TRUE(weight.put(0, {2, 2}));
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] { EXPECT_TRUE(*weight.settle()); });
    }
  }
  EXPECT_EQ(weight.packs, 1);
}

}  // namespace
}  // namespace shunt::test::backend_support_staged_weight_test
