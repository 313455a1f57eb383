// Costs without a costs file: which ops are measured for a graph, which costs are kept for later
// processes, and how unusable files are treated.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "schedule/costs/cache.h"
#include "schedule/costs/estimates.h"
#include "shunt/costs.h"
#include "support/gguf_bytes.h"
#include "support/privileges.h"
#include "support/products.h"
#include "support/shared.h"
#include "support/test_device.h"

namespace shunt::test::schedule_calibrate_test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class Calibrate : public testing::Test {
 protected:
  Calibrate() {
    options_.folder = folder_.file("cache");
    options_.now = [this] { return clock_; };
    options_.measure = [this](Device& device, std::string_view op, DType dtype) -> Result<OpCost> {
      asked_.push_back(fmt::format("{} {} {}", device.name(), op, to_string(dtype)));
      clock_ += seconds_each_;
      if (refused_.contains(std::string(op))) return Error(refused_.at(std::string(op)), "no luck");
      return OpCost{.device = std::string(device.name()),
                    .description = device.info().description,
                    .op = std::string(op),
                    .dtype = dtype,
                    .overhead = 1.25e-6,
                    .seconds_per_operation = 1e-12 * static_cast<double>(asked_.size()),
                    .seconds_per_byte = 0};
    };
  }

  /// As another process would do it.
  Measured calibrate(const Graph& graph, std::vector<Device*> devices = {}) {
    asked_.clear();
    const Graph* graphs[] = {&graph};
    if (devices.empty()) devices.push_back(&cpu_);
    return shunt::calibrate(devices, graphs, options_);
  }
  /// The one file that is kept.
  std::string kept() const {
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::directory_iterator(options_.folder))
      paths.push_back(entry.path());
    EXPECT_EQ(paths.size(), 1U);
    return paths.empty() ? "" : paths.front();
  }
  std::string origin(const Measured& measured) { return measured.costs.origin(cpu_.info()); }
  void write(const std::string& path, std::string_view text) {
    std::ofstream(path, std::ios::binary) << text;
  }

  TempFolder folder_;
  TestDevice cpu_{{.name = "cpu0", .kind = DeviceKind::kCpu, .host_accessible = true}};
  CalibrateOptions options_;
  std::vector<std::string> asked_;
  std::map<std::string, ErrorCode> refused_;
  double clock_ = 1000;
  double seconds_each_ = 0;
};

TEST_F(Calibrate, MeasuresOnlyWhatTheGraphNeedsAndTheMostWorkFirst) {
  const Measured measured =
      calibrate(products({{DType::kQ8_0, 1}, {DType::kF16, 100}, {DType::kQ8_0, 2}}));
  EXPECT_THAT(asked_, ElementsAre("cpu0 matmul F16", "cpu0 matmul Q8_0", "cpu0 * F32"));
  EXPECT_THAT(measured.notes, IsEmpty());
  EXPECT_EQ(origin(measured), "measured now, kept in " + kept());
}

/// Estimates of a CPU: 3e11 operations and 4e10 bytes a second, and 1e-6 seconds a node. In the
/// graph of one column the product takes about 1.9 of 3.0 us; in the other one those of F16 take
/// about 45 and those of Q8_0 23 of 82 us.
TEST_F(Calibrate, MeasuresFirstTheLargestShareOfAnyGraphsTime) {
  const Graph prompt = products({{DType::kQ8_0, 50}, {DType::kF16, 100}});
  const Graph token = products({{DType::kQ4_0, 1}});
  const Graph* graphs[] = {&prompt, &token};
  Device* devices[] = {&cpu_};
  shunt::calibrate(devices, graphs, options_);
  EXPECT_THAT(asked_,
              ElementsAre("cpu0 matmul Q4_0", "cpu0 matmul F16", "cpu0 matmul Q8_0", "cpu0 * F32"));
}

TEST_F(Calibrate, AlternatesDevicesAndSkipsTwinsAndTheNullDevice) {
  TestDevice other({.name = "test0", .host_accessible = true});
  const Measured measured = calibrate(products({{DType::kF16, 1}}), {&other, &cpu_});
  EXPECT_THAT(asked_,
              ElementsAre("test0 matmul F16", "cpu0 matmul F16", "test0 * F32", "cpu0 * F32"));
  EXPECT_EQ(measured.costs.ops().size(), 4U);
  TestDevice twin({.name = "twin0", .host_accessible = true, .twin = true});
  TestDevice null({.name = "null0", .kind = DeviceKind::kNull, .host_accessible = true});
  for (Device* const left_out : {&twin, &null}) {
    EXPECT_THAT(calibrate(products({{DType::kF16, 1}}), {left_out}).costs.ops(), IsEmpty());
    EXPECT_THAT(asked_, IsEmpty());
  }
}

TEST_F(Calibrate, RoundsFiguresToTwoSignificantDigits) {
  options_.measure = [](Device& device, std::string_view op, DType dtype) -> Result<OpCost> {
    return OpCost{.device = std::string(device.name()),
                  .description = device.info().description,
                  .op = std::string(op),
                  .dtype = dtype,
                  .overhead = 1.2499e-6,
                  .seconds_per_operation = 9.96e-13,
                  .seconds_per_byte = 0};
  };
  const Measured measured = calibrate(products({{DType::kF16, 1}}));
  ASSERT_EQ(measured.costs.ops().size(), 2U);
  for (const OpCost& cost : measured.costs.ops()) {
    EXPECT_EQ(cost.overhead, 1.2e-6);
    EXPECT_EQ(cost.seconds_per_operation, 1e-12);
    EXPECT_EQ(cost.seconds_per_byte, 0);
  }
}

TEST_F(Calibrate, SecondRunReadsTheCacheFileAndMeasuresNothing) {
  const Graph graph = products({{DType::kF16, 1}});
  const std::string before = calibrate(graph).costs.to_text();
  const Measured measured = calibrate(graph);
  EXPECT_THAT(asked_, IsEmpty());
  EXPECT_EQ(measured.costs.to_text(), before);
  EXPECT_THAT(origin(measured), testing::MatchesRegex("measured on [0-9]{4}-[0-9]{2}-[0-9]{2}, "
                                                      "kept in .*/cache/costs-[0-9a-f]{16}.json"));
  // It is a costs file as well.
  EXPECT_TRUE(CostModel::load(kept()));
}

TEST_F(Calibrate, MeasuresOnlyEntriesMissingFromTheCacheFile) {
  calibrate(products({{DType::kF16, 1}}));
  calibrate(products({{DType::kF16, 1}, {DType::kQ8_0, 1}}));
  EXPECT_THAT(asked_, ElementsAre("cpu0 matmul Q8_0"));
  calibrate(products({{DType::kF16, 1}}));
  EXPECT_THAT(asked_, IsEmpty());
  EXPECT_EQ(CostModel::load(kept())->ops().size(), 3U);
}

TEST_F(Calibrate, StartsNoMeasurementThatWouldEndAfterTheBudget) {
  seconds_each_ = 0.125;
  options_.budget = 0.25;  // the second one ends right then
  const Graph graph = products({{DType::kF16, 3}, {DType::kQ8_0, 2}, {DType::kQ4_0, 1}});
  const Measured measured = calibrate(graph);
  EXPECT_THAT(asked_, ElementsAre("cpu0 matmul F16", "cpu0 matmul Q8_0"));
  EXPECT_THAT(measured.notes,
              ElementsAre("cpu0: no time left to measure matmul of Q4_0: predicted from matmul "
                          "of Q8_0",
                          "cpu0: no time left to measure other ops: predicted from matmul of "
                          "Q8_0"));
  // They get the costs of the slower one of those measured, in this process only.
  ASSERT_EQ(measured.costs.ops().size(), 4U);
  for (const OpCost& cost : measured.costs.ops()) {
    EXPECT_EQ(cost.seconds_per_operation, cost.dtype == DType::kF16 ? 1e-12 : 2e-12);
  }
  calibrate(graph);
  EXPECT_THAT(asked_, ElementsAre("cpu0 matmul Q4_0", "cpu0 * F32"));
}

TEST_F(Calibrate, AssumesTheNextOpTakesAsLongAsTheLongestSoFar) {
  seconds_each_ = 0.25;
  options_.budget = 0.45;
  calibrate(products({{DType::kF16, 2}, {DType::kQ8_0, 1}}));
  EXPECT_THAT(asked_, ElementsAre("cpu0 matmul F16"));
}

/// Unpacking counts: here the type with the faster arithmetic is the slower one.
TEST_F(Calibrate, PredictsFromTheTypeWithTheSlowestProductWithUnpacking) {
  options_.measure = [this](Device& device, std::string_view op, DType dtype) -> Result<OpCost> {
    clock_ += 0.125;
    OpCost cost{.device = std::string(device.name()),
                .description = device.info().description,
                .op = std::string(op),
                .dtype = dtype,
                .seconds_per_operation = 1e-11};
    if (dtype == DType::kQ8_0) {
      cost.seconds_per_operation = 0.9e-11;
      cost.unpack_seconds_per_byte = 1e-10;
      cost.few_seconds_per_operation = 4e-11;
    }
    return cost;
  };
  options_.budget = 0.25;
  const Graph graph = products({{DType::kQ8_0, 3}, {DType::kF16, 2}, {DType::kQ4_0, 1}});
  EXPECT_THAT(calibrate(graph).notes,
              testing::Contains(HasSubstr("matmul of Q4_0: predicted from matmul of Q8_0")));
}

/// Attention unpacks other operands than a product, so it has the rate of few columns.
TEST(ScaledCost, ForAnotherOpHasNoUnpackingCost) {
  const OpCost product{.device = "cpu0",
                       .description = "",
                       .op = "matmul",
                       .dtype = DType::kQ8_0,
                       .overhead = 1e-6,
                       .seconds_per_operation = 1e-11,
                       .seconds_per_byte = 2e-11,
                       .unpack_seconds_per_byte = 1e-10,
                       .few_seconds_per_operation = 4e-11};
  const OpCost other = scaled_cost(product, "attention", DType::kF16);
  EXPECT_EQ(other.seconds_per_operation, 2 * 4e-11);
  EXPECT_EQ(other.unpack_seconds_per_byte, 0);
  EXPECT_EQ(other.few_seconds_per_operation, 0);
  EXPECT_EQ(other.seconds_per_byte, 2e-11);
  const OpCost same = scaled_cost(product, "matmul", DType::kQ4_0);
  EXPECT_EQ(same.seconds_per_operation, 1e-11);
  EXPECT_EQ(same.unpack_seconds_per_byte, 1e-10);
  EXPECT_EQ(same.few_seconds_per_operation, 4e-11);
}

/// An operation of attention is predicted to take as long as two of a product.
TEST_F(Calibrate, PredictsAttentionFromMatmulCosts) {
  GraphBuilder g;
  const auto w = g.weight("w", *make_tensor(DType::kF16, {256, 256}));
  const auto x = g.input("x", *make_tensor(DType::kF32, {256, 64}));
  ASSERT_TRUE(g.output(matmul(g, w, x), "y"));
  const auto q = g.input("q", *make_tensor(DType::kF32, {64, 4, 1}));
  const auto k = g.input("k", *make_tensor(DType::kF16, {64, 1, 4}));
  const auto v = g.input("v", *make_tensor(DType::kF16, {64, 1, 4}));
  ASSERT_TRUE(g.output(attention(g, q, k, v), "z"));
  seconds_each_ = 0.25;
  const Measured measured = calibrate(std::move(*std::move(g).build()));
  EXPECT_THAT(asked_, ElementsAre("cpu0 matmul F16"));
  EXPECT_THAT(measured.notes, ElementsAre("cpu0: no time left to measure attention of F16: "
                                          "predicted from matmul of F16"));
  ASSERT_EQ(measured.costs.ops().size(), 2U);
  EXPECT_EQ(measured.costs.ops()[0].seconds_per_operation, 1e-12);
  EXPECT_EQ(measured.costs.ops()[1].op, "attention");
  EXPECT_EQ(measured.costs.ops()[1].seconds_per_operation, 2e-12);
}

/// Memory is allocated once. That takes long on some machines, and says nothing about other ops.
TEST_F(Calibrate, DevicePreparationDoesNotCountAsTheLongestOp) {
  std::vector<std::string> prepared;
  options_.prepare = [&](Device& device) {
    prepared.emplace_back(device.name());
    clock_ += 0.25;
  };
  options_.budget = 0.5;
  seconds_each_ = 0.0625;
  const Graph graph = products({{DType::kF16, 3}, {DType::kQ8_0, 2}, {DType::kQ4_0, 1}});
  EXPECT_THAT(calibrate(graph).notes, IsEmpty());
  EXPECT_THAT(prepared, ElementsAre("cpu0"));
  EXPECT_EQ(asked_.size(), 4U);
  // Measurements that are kept need no memory.
  EXPECT_THAT(calibrate(graph).notes, IsEmpty());
  EXPECT_EQ(prepared.size(), 1U);
}

/// Preparing takes the time of two of the five ops.
TEST_F(Calibrate, DevicePreparationCountsTowardsTheBudget) {
  options_.prepare = [&](Device&) { clock_ += 0.25; };
  options_.budget = 0.625;
  seconds_each_ = 0.125;
  const Graph graph =
      products({{DType::kF16, 4}, {DType::kQ8_0, 3}, {DType::kQ5_0, 2}, {DType::kQ4_0, 1}});
  EXPECT_EQ(calibrate(graph).notes.size(), 2U);
  EXPECT_THAT(asked_, ElementsAre("cpu0 matmul F16", "cpu0 matmul Q8_0", "cpu0 matmul Q5_0"));
  EXPECT_EQ(CostModel::load(kept())->ops().size(), 3U);
  EXPECT_THAT(calibrate(graph).notes, IsEmpty());
  EXPECT_THAT(asked_, ElementsAre("cpu0 matmul Q4_0", "cpu0 * F32"));
  EXPECT_EQ(CostModel::load(kept())->ops().size(), 5U);
}

/// The op of which one device has kept costs, while there is no time for the other one.
TEST_F(Calibrate, MeasuresAnOpOnAllDevicesOrPredictsItOnAll) {
  TestDevice other({.name = "test0", .host_accessible = true, .speed = DeviceSpeed{4, 8, 2, 1, 1}});
  calibrate(products({{DType::kQ8_0, 1}}));
  seconds_each_ = 0.125;
  options_.budget = 0.375;
  const Graph graph = products({{DType::kF16, 2}, {DType::kQ8_0, 1}});
  const Measured measured = calibrate(graph, {&other, &cpu_});
  EXPECT_THAT(asked_, ElementsAre("test0 matmul F16", "cpu0 matmul F16"));
  EXPECT_THAT(measured.notes,
              ElementsAre("no time left to measure matmul of Q8_0: predicted from matmul of F16 "
                          "on all devices",
                          "no time left to measure other ops: predicted from matmul of F16 on "
                          "all devices"));
  const auto find = [&](std::string_view device, DType dtype) {
    std::vector<OpCost> found;
    for (const OpCost& cost : measured.costs.ops()) {
      if (cost.device == device && cost.op == "matmul" && cost.dtype == dtype)
        found.push_back(cost);
    }
    return found;
  };
  // Measured for F16: the first on test0, the second on cpu0.
  ASSERT_EQ(find("test0", DType::kQ8_0).size(), 1U);
  EXPECT_EQ(find("test0", DType::kQ8_0)[0].seconds_per_operation, 1e-12);
  EXPECT_EQ(find("test0", DType::kF16)[0].seconds_per_operation, 1e-12);
  // That of the CPU is no longer the kept one of 1e-12.
  ASSERT_EQ(find("cpu0", DType::kQ8_0).size(), 1U);
  EXPECT_EQ(find("cpu0", DType::kQ8_0)[0].seconds_per_operation, 2e-12);
  EXPECT_EQ(find("cpu0", DType::kF16)[0].seconds_per_operation, 2e-12);
  for (const std::string device : {"test0", "cpu0"}) {
    const OpCost of_f16 = find(device, DType::kF16)[0];
    const OpCost predicted = find(device, DType::kQ8_0)[0];
    EXPECT_EQ(predicted.overhead, of_f16.overhead) << device;
    EXPECT_EQ(predicted.seconds_per_byte, of_f16.seconds_per_byte) << device;
  }
  // There is time in the next process.
  seconds_each_ = 0;
  const Measured later = calibrate(graph, {&other, &cpu_});
  EXPECT_THAT(asked_, ElementsAre("test0 matmul Q8_0", "test0 * F32"));
  EXPECT_THAT(later.notes, IsEmpty());
}

/// The CPU has kept costs. The other device lacks products, and has no time for anything else.
TEST_F(Calibrate, EstimatesOpsIfNoOpWasMeasuredOnEveryDevice) {
  TestDevice other({.name = "test0", .host_accessible = true, .speed = DeviceSpeed{4, 8, 2, 1, 1}});
  calibrate(products({{DType::kF16, 1}}));
  refused_ = {{"matmul", ErrorCode::kUnsupported}};
  seconds_each_ = 0.3;
  const Measured measured = calibrate(products({{DType::kF16, 1}}), {&other, &cpu_});
  EXPECT_THAT(asked_, ElementsAre("test0 matmul F16"));
  EXPECT_THAT(measured.notes,
              ElementsAre("no time left to measure other ops: estimated on all devices"));
  // Of test0 nothing is measured, and a device without entries has its estimates.
  ASSERT_EQ(measured.costs.ops().size(), 2U);
  for (const OpCost& cost : measured.costs.ops()) {
    EXPECT_EQ(cost.device, "cpu0");
    EXPECT_EQ(cost.overhead == 1.3e-6, cost.op == "matmul") << "kept";
  }
}

/// Also where preparing a device took longer than the budget.
TEST_F(Calibrate, MeasuresAtLeastOneOpWhateverTheBudget) {
  options_.prepare = [&](Device&) { clock_ += 1; };
  options_.budget = 0.5;
  const Graph graph = products({{DType::kF16, 1}});
  EXPECT_EQ(calibrate(graph).notes.size(), 1U);
  EXPECT_THAT(asked_, ElementsAre("cpu0 matmul F16"));
  EXPECT_THAT(calibrate(graph).notes, IsEmpty());
  EXPECT_THAT(asked_, ElementsAre("cpu0 * F32"));
}

TEST_F(Calibrate, EstimatesAnOpOnAllDevicesIfItFailsOnOne) {
  TestDevice other({.name = "test0", .host_accessible = true, .speed = DeviceSpeed{4, 8, 2, 1, 1}});
  const auto measure = options_.measure;
  options_.measure = [&](Device& device, std::string_view op, DType dtype) -> Result<OpCost> {
    if (&device == &cpu_ && op == "matmul") return Error(ErrorCode::kDevice, "no luck");
    return measure(device, op, dtype);
  };
  const Measured measured = calibrate(products({{DType::kF16, 1}}), {&other, &cpu_});
  EXPECT_THAT(measured.notes, ElementsAre("cpu0: matmul of F16 can't be measured: no luck"));
  std::vector<double> overheads;
  for (const OpCost& cost : measured.costs.ops()) {
    if (cost.device == "test0" && cost.op == "matmul") overheads.push_back(cost.overhead);
  }
  EXPECT_THAT(overheads, ElementsAre(2));
}

/// As placement asks for costs: of the graph as the device has it.
TEST_F(Calibrate, MeasuresTheTypeThatWeightsAreTranscodedTo) {
  TestDevice test({.wants_types = {{DType::kQ8_0, DType::kF16}}});
  const Graph graph = products({{DType::kQ8_0, 1}});
  options_.budget = 0.5;
  seconds_each_ = 0.125;
  const Measured measured = calibrate(graph, {&test, &cpu_});
  EXPECT_THAT(asked_,
              ElementsAre("test0 matmul F16", "cpu0 matmul Q8_0", "test0 * F32", "cpu0 * F32"));
  const Graph there = products({{DType::kF16, 1}});
  const NodeId product = 2;
  const double operations = 2 * 256 * 256;
  EXPECT_DOUBLE_EQ(measured.costs.seconds(there, product, test.info()),
                   1.3e-6 + operations * 1e-12);
  EXPECT_DOUBLE_EQ(measured.costs.seconds(graph, product, cpu_.info()),
                   1.3e-6 + operations * 2e-12);
}

/// The device computes both types as F16, and the product of one fails on the CPU.
TEST_F(Calibrate, TypesTranscodedToTheSameTypeAreEstimatedTogether) {
  TestDevice test(
      {.wants_types = {{DType::kQ8_0, DType::kF16}}, .speed = DeviceSpeed{4, 8, 2, 1, 1}});
  const auto measure = options_.measure;
  options_.measure = [&](Device& device, std::string_view op, DType dtype) -> Result<OpCost> {
    if (dtype == DType::kQ8_0) return Error(ErrorCode::kDevice, "no luck");
    return measure(device, op, dtype);
  };
  const Measured measured =
      calibrate(products({{DType::kF16, 2}, {DType::kQ8_0, 1}}), {&test, &cpu_});
  std::vector<std::string> estimated;
  for (const OpCost& cost : measured.costs.ops()) {
    if (cost.overhead != 1.3e-6)
      estimated.push_back(fmt::format("{} {}", cost.device, to_string(cost.dtype)));
  }
  EXPECT_THAT(estimated, testing::UnorderedElementsAre("test0 F16", "cpu0 F16", "cpu0 Q8_0"));
}

TEST_F(Calibrate, MeasuresAgainAfterBackendSettingsChange) {
  const Graph graph = products({{DType::kF16, 1}});
  calibrate(graph);
  options_.settings = "cpu.level=scalar";
  EXPECT_THAT(calibrate(graph).notes, IsEmpty());
  EXPECT_EQ(asked_.size(), 2U);
  calibrate(graph);
  EXPECT_THAT(asked_, IsEmpty());
}

/// 2026-11-23 and 30 days later is 2026-12-23.
TEST_F(Calibrate, CachedCostsExpireAfter30Days) {
  using namespace std::chrono_literals;
  const auto on = [&](std::chrono::year_month_day day) {
    return CostCache(options_.folder, "a machine", std::chrono::sys_days(day));
  };
  const DeviceInfo device = cpu_.info();
  std::vector<std::string> notes;
  const CostCache first = on(2026y / 11 / 23);
  EXPECT_EQ(first.today(), "2026-11-23");
  ASSERT_TRUE(first.write(device, {{}, first.today()}, notes));
  EXPECT_TRUE(on(2026y / 12 / 23).read(device, notes));
  EXPECT_FALSE(on(2026y / 12 / 24).read(device, notes));
  // A clock that was wrong, by more than a day.
  EXPECT_TRUE(on(2026y / 11 / 22).read(device, notes));
  EXPECT_FALSE(on(2026y / 11 / 21).read(device, notes));
  EXPECT_THAT(notes, IsEmpty());
}

TEST_F(Calibrate, CacheFileKeepsTheDateOfItsOldestEntry) {
  calibrate(products({{DType::kF16, 1}}));
  json file = json::parse(read_file(kept()));
  const auto yesterday = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now()) -
                         std::chrono::days(1);
  const std::string date = CostCache("", "", yesterday).today();
  file["date"] = date;
  write(kept(), file.dump());
  calibrate(products({{DType::kF16, 1}, {DType::kQ8_0, 1}}));
  EXPECT_EQ(asked_.size(), 1U);
  EXPECT_EQ(json::parse(read_file(kept()))["date"], date);
}

/// The name and the description of a device come from its driver.
TEST_F(Calibrate, CacheFindsADeviceWhoseDescriptionIsNotUtf8) {
  const CostCache cache(options_.folder, "a machine");
  DeviceInfo device = cpu_.info();
  device.description = "a\xff\x1b[2J";
  std::vector<std::string> notes;
  KeptCosts kept{{}, cache.today()};
  kept.costs.add(OpCost{.device = device.name, .description = device.description, .op = "matmul"});
  ASSERT_TRUE(cache.write(device, kept, notes));
  const auto found = cache.read(device, notes);
  EXPECT_THAT(notes, IsEmpty());
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->costs.has(device));
}

TEST_F(Calibrate, SkipsUnsupportedOpsAndNotesOtherErrors) {
  refused_ = {{"matmul", ErrorCode::kUnsupported}, {"*", ErrorCode::kOutOfMemory}};
  const Measured measured = calibrate(products({{DType::kF16, 1}}));
  EXPECT_THAT(measured.notes, ElementsAre("cpu0: other ops can't be measured: no luck"));
  EXPECT_THAT(measured.costs.ops(), IsEmpty());
  EXPECT_EQ(origin(measured), "estimate for its kind of device");
  EXPECT_FALSE(std::filesystem::exists(options_.folder));
}

TEST_F(Calibrate, WithoutACacheFolderWritesNoFile) {
  options_.folder = "";
  const Graph graph = products({{DType::kF16, 1}});
  const Measured measured = calibrate(graph);
  EXPECT_THAT(measured.notes, IsEmpty());
  EXPECT_EQ(origin(measured), "measured now");
  calibrate(graph);
  EXPECT_EQ(asked_.size(), 2U);
}

TEST_F(Calibrate, MeasuresAndCachesCopiesOfADeviceWithItsOwnMemory) {
  options_.now = {};  // a clock that stands still would have copies repeated too often
  options_.budget = 1e9;
  TestDevice far({.name = "far0"});
  const Graph graph = products({{DType::kF16, 1}});
  const Measured measured = calibrate(graph, {&far, &cpu_});
  ASSERT_EQ(measured.costs.copies().size(), 2U);
  for (const CopyCost& copy : measured.costs.copies()) EXPECT_EQ(copy.device, "far0");
  EXPECT_EQ(far.allocated(), 0U);
  const std::size_t received = far.received();
  EXPECT_EQ(calibrate(graph, {&far, &cpu_}).costs.copies().size(), 2U);
  EXPECT_EQ(far.received(), received);
}

TEST_F(Calibrate, EstimatesCopiesOnAllDevicesIfTimeRunsOut) {
  seconds_each_ = 0.25;
  TestDevice far({.name = "far0"});
  const Measured measured = calibrate(products({{DType::kF16, 1}}), {&far, &cpu_});
  EXPECT_THAT(measured.costs.copies(), IsEmpty());
  EXPECT_THAT(measured.notes,
              ElementsAre("no time left to measure other ops: predicted from matmul of F16 on all "
                          "devices",
                          "no time left to measure copies: estimated on all devices"));
  EXPECT_EQ(far.copies(), 0U);
}

TEST_F(Calibrate, NotesAndReplacesAnInvalidCacheFile) {
  const Graph graph = products({{DType::kF16, 1}});
  calibrate(graph);
  const std::string path = kept();
  const std::string good = read_file(path);
  json old = json::parse(good);
  old["version"] = 2;
  json foreign = json::parse(good);
  foreign["key"] = "costs 1; shunt 0.0.1; cpu0: another one; another machine";
  json nameless = json::parse(good);
  nameless.erase("key");
  json others = json::parse(good);
  others["ops"][1]["device"] = "cpu1";
  json other_hardware = json::parse(good);
  other_hardware["ops"][0]["description"] = "another one";
  json escaped = json::parse(good);
  escaped["date"] = "\x1b[2J\x1b[31m";
  json no_day = json::parse(good);
  no_day["date"] = "2026-02-30";
  json odd = json::parse(good);
  odd["ops"][0]["overhead"] = -1;
  const std::pair<std::string, const char*> cases[] = {
      {"", "the file is empty"},
      {good.substr(0, good.size() / 2), "it ends"},
      {"[1, 2]", "not a costs file"},
      {old.dump(), "its version is 2"},
      {foreign.dump(), "on another device, machine or version"},
      {nameless.dump(), "on another device, machine or version"},
      {odd.dump(), "is not a number of seconds"},
      {others.dump(), "has entries of another device"},
      {other_hardware.dump(), "has entries of another device"},
      {escaped.dump(), "\"date\" is not a day"},
      {no_day.dump(), "\"date\" is not a day"},
  };
  for (const auto& [text, why] : cases) {
    write(path, text);
    const Measured measured = calibrate(graph);
    EXPECT_EQ(asked_.size(), 2U) << why;
    EXPECT_THAT(measured.notes, Each(Not(HasSubstr("\x1b"))));
    EXPECT_THAT(measured.notes, ElementsAre(AllOf(StartsWith(path), HasSubstr(why),
                                                  HasSubstr("cpu0 is measured again"))));
    EXPECT_THAT(calibrate(graph).notes, IsEmpty());
    EXPECT_THAT(asked_, IsEmpty()) << why;
  }
}

TEST_F(Calibrate, NotesACacheFolderThatCannotBeCreated) {
  const Graph graph = products({{DType::kF16, 1}});
  write(folder_.file("a file"), "");
  options_.folder = folder_.file("a file") + "/cache";
  const Measured measured = calibrate(graph);
  EXPECT_EQ(asked_.size(), 2U);
  ASSERT_THAT(measured.notes, Not(IsEmpty()));
  EXPECT_THAT(measured.notes.back(),
              AllOf(HasSubstr("costs of cpu0 are not kept"), HasSubstr(folder_.file("a file"))));
  EXPECT_EQ(origin(measured), "measured now");
}

TEST_F(Calibrate, NotesACacheFolderWithoutWritePermission) {
  const WithoutPrivileges unprivileged(folder_.path());
  options_.folder = folder_.file("cache");
  // As its owner; of root's folder nothing can be written anyway.
  std::error_code not_owner;
  std::filesystem::permissions(folder_.path(), std::filesystem::perms(0511), not_owner);
  const Measured measured = calibrate(products({{DType::kF16, 1}}));
  ASSERT_EQ(measured.notes.size(), 1U);
  EXPECT_THAT(measured.notes.front(),
              AllOf(HasSubstr("costs of cpu0 are not kept"), HasSubstr(options_.folder)));
}

TEST_F(Calibrate, NotesADirectoryAtThePathOfTheCacheFile) {
  const Graph graph = products({{DType::kF16, 1}});
  calibrate(graph);
  const std::string path = kept();
  std::filesystem::remove(path);
  std::filesystem::create_directory(path);
  const Measured measured = calibrate(graph);
  EXPECT_EQ(asked_.size(), 2U);
  ASSERT_EQ(measured.notes.size(), 2U);
  EXPECT_THAT(measured.notes[0], HasSubstr("cpu0 is measured again"));
  EXPECT_THAT(measured.notes[1], HasSubstr("costs of cpu0 are not kept"));
}

TEST_F(Calibrate, EachDeviceAndMachineHasItsOwnCacheFile) {
  const CostCache here("/cache", "a machine");
  const CostCache there("/cache", "another machine");
  DeviceInfo device = cpu_.info();
  const std::string path = here.path_of(device);
  EXPECT_THAT(path, StartsWith("/cache/costs-"));
  EXPECT_NE(there.path_of(device), path);
  device.description += ", 3 threads";
  EXPECT_NE(here.path_of(device), path);
  device = cpu_.info();
  device.name = "cpu1";
  EXPECT_NE(here.path_of(device), path);
}

/// Each thread simulates a process. A reader sees a whole file or none.
TEST_F(Calibrate, ConcurrentThreadsReadOnlyCompleteCacheFiles) {
  const std::chrono::sys_days day(std::chrono::year(2026) / 11 / 23);
  const CostCache cache(options_.folder, "a machine", day);
  const DeviceInfo device = cpu_.info();
  std::vector<std::vector<std::string>> notes(4);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < notes.size(); ++i) {
    threads.emplace_back([&, i] {
      KeptCosts kept{{}, "2026-11-23"};
      for (std::size_t n = 0; n <= 100 * i; ++n) {
        kept.costs.add(OpCost{
            .device = device.name, .description = device.description, .op = std::to_string(n)});
      }
      for (int round = 0; round < 10; ++round) {
        EXPECT_TRUE(cache.write(device, kept, notes[i]));
        const auto found = cache.read(device, notes[i]);
        ASSERT_TRUE(found);
        EXPECT_EQ(found->costs.ops().size() % 100, 1U);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& each : notes) EXPECT_THAT(each, IsEmpty());
}

TEST_F(Calibrate, CacheFolderIsPrivateToItsOwner) {
  calibrate(products({{DType::kF16, 1}}));
  const auto status = std::filesystem::status(options_.folder);
  EXPECT_EQ(status.permissions(), std::filesystem::perms::owner_all);
}

/// As the specification of XDG_CACHE_HOME requires it. A folder that is there stays as it is.
TEST_F(Calibrate, CreatedParentFoldersOfTheCacheArePrivate) {
  const std::string there = folder_.file("there");
  std::filesystem::create_directory(there);
  std::filesystem::permissions(there, std::filesystem::perms(0755));
  options_.folder = there + "/home/.cache/shunt";
  calibrate(products({{DType::kF16, 1}}));
  const auto rights = [](const std::string& path) {
    return std::filesystem::status(path).permissions();
  };
  EXPECT_EQ(rights(there), std::filesystem::perms(0755));
  for (const char* made : {"/home", "/home/.cache", "/home/.cache/shunt"})
    EXPECT_EQ(rights(there + made), std::filesystem::perms::owner_all) << made;
}

}  // namespace
}  // namespace shunt::test::schedule_calibrate_test
