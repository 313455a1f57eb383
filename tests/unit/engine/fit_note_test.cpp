// The line that reports the part of a model that a device got.
#include "engine/load/fit_note.h"

#include <gtest/gtest.h>

namespace shunt::test::engine_fit_note_test {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

TEST(FitNote, LineHasLayersBytesAndMargin) {
  DeviceShare share = {.device = "test0"};
  share.layers = {.count = 2, .of = 5, .first = 1, .last = 3, .beside = 2};
  share.takes = {.weights = 3 * kMiB, .mapped = 512, .cache = 2 * kMiB, .streamed = kMiB};
  share.limit = {.free = 64 * kMiB, .margin = 4 * kMiB};
  EXPECT_EQ(to_line(share),
            "test0: layers 1 to 3 (2 of 5) and 2 other weights, 5.0 MiB and 512 bytes of the "
            "file of 64.0 MiB (4.0 MiB reserved); 1.0 MiB of it for streamed weights");
  share.limit.cap = 32 * kMiB;  // as it refused more
  share.takes = {};
  share.layers = {.count = 5, .of = 5, .first = 0, .last = 4, .beside = 1};
  EXPECT_EQ(to_line(share),
            "test0: layers 0 to 4 (5 of 5) and 1 other weight, 0 bytes of 64.0 MiB (32.0 "
            "MiB reserved)");
}

TEST(FitNote, LineHasTheTotalOfASharedPool) {
  DeviceShare share = {.device = "test0"};
  share.layers = {.count = 2, .of = 2, .first = 0, .last = 1};
  share.takes = {.weights = kMiB, .streamed = 512};
  share.limit = {.free = 64 * kMiB, .margin = 4 * kMiB, .pooled = true};
  share.pool_with = "test1 and cpu0";
  share.pool_takes = 5 * kMiB;
  EXPECT_EQ(to_line(share),
            "test0: layers 0 to 1 (2 of 2), 1.0 MiB of 64.0 MiB (4.0 MiB reserved); 512 "
            "bytes of it for streamed weights; unified memory with test1 and cpu0, together "
            "5.0 MiB");
}

TEST(FitNote, LineHasTheDevicesOwnMemory) {
  DeviceShare share = {.device = "x0"};
  share.layers = {.of = 5};
  share.own = {.context = 300 * kMiB, .graphs = 20 * kMiB};
  EXPECT_EQ(to_line(share),
            "x0: no layer, 0 bytes; the device itself takes 320.0 MiB (context 300.0 MiB, graphs "
            "20.0 MiB)");
}

TEST(FitNote, LineOmitsUnknownLimitsAndThatOfTheCpu) {
  DeviceShare share = {.device = "x0"};
  share.layers = {.of = 5};
  share.takes = {.activations = 1, .streamed = 1};
  EXPECT_EQ(to_line(share), "x0: no layer, 1 byte; 1 byte of it for streamed weights");
  share.is_cpu = true;
  share.limit.free = kMiB;
  EXPECT_EQ(to_line(share), "x0: no layer, 1 byte");
}

TEST(FitNote, CountsALayerByItsWeightsAndNotByItsCache) {
  const gguf::TensorInfo info;
  // Two layers of a weight and a cache each, and a weight of none before and after.
  std::vector<FitLeaf> leaves(6);
  for (const std::size_t weight : {0U, 1U, 3U, 5U}) leaves[weight].info = &info;
  const std::vector<FitUnit> units = {{-1, {0}}, {7, {1, 2}}, {8, {3, 4}}, {-1, {5}}};
  const std::vector<int> homes = {0, 1, 0, 0, 1, 1};
  const LayersOnDevice first = layers_on(0, leaves, units, homes);
  EXPECT_EQ(first.of, 2);
  EXPECT_EQ(first.count, 1);
  EXPECT_EQ(first.first, 8);
  EXPECT_EQ(first.last, 8);
  EXPECT_EQ(first.beside, 1U);
  const LayersOnDevice second = layers_on(1, leaves, units, homes);
  EXPECT_EQ(second.count, 1);
  EXPECT_EQ(second.first, 7);
  EXPECT_EQ(second.last, 7);
  EXPECT_EQ(second.beside, 1U);
  EXPECT_EQ(layers_on(2, leaves, units, homes).count, 0);
}

}  // namespace
}  // namespace shunt::test::engine_fit_note_test
