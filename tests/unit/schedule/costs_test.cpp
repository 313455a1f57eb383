// Predicted times: the work of a node, how long it takes by estimate or measurement, and files of
// costs.
#include "shunt/costs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "graph/op.h"
#include "schedule/costs/fit.h"
#include "schedule/costs/work.h"
#include "shunt/ops.h"
#include "support/gguf_bytes.h"
#include "support/privileges.h"
#include "support/test_device.h"

namespace shunt::test::schedule_costs_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// One op with leaves as sources.
class Single {
 public:
  Value leaf(DType dtype, const Shape& shape, Role role = Role::kWeight) {
    const Tensor tensor = *make_tensor(dtype, shape);
    return role == Role::kCache ? *g.cache("c", tensor) : *g.weight("w", tensor);
  }
  void finish(Result<Value> value) {
    ASSERT_TRUE(value) << value.error().message();
    node = value->id;
    ASSERT_TRUE(g.output(value, "y"));
    graph = std::make_unique<Graph>(std::move(*std::move(g).build()));
  }
  double operations() const { return work_of(*graph, node).operations; }
  double bytes() const { return work_of(*graph, node).bytes; }

  GraphBuilder g;
  std::unique_ptr<Graph> graph;
  NodeId node = 0;
};

Single matmul_of(DType dtype, std::int64_t k, std::int64_t m, std::int64_t n) {
  Single s;
  s.finish(matmul(s.g, s.leaf(dtype, {k, m}), s.leaf(DType::kF32, {k, n})));
  return s;
}

TEST(Work, MatmulCountsTwoOperationsPerMultiplyAdd) {
  const Single s = matmul_of(DType::kQ4_0, 64, 10, 3);
  EXPECT_EQ(s.operations(), 2 * 64 * 10 * 3);
  EXPECT_EQ(s.bytes(), 10 * 2 * 18 + 64 * 3 * 4 + 10 * 3 * 4);  // a block of 32 takes 18 bytes
}

TEST(Work, AttentionCountsAsTwoMatmuls) {
  Single s;
  const Value q = s.leaf(DType::kF32, {16, 4, 5});  // 4 heads, 5 tokens
  const Value k = s.leaf(DType::kF16, {16, 2, 7});  // 7 keys
  const Value v = s.leaf(DType::kF16, {8, 2, 7});
  s.finish(attention(s.g, q, k, v));
  EXPECT_EQ(s.operations(), 2 * 7 * (16 * 4 * 5 + 8 * 4 * 5));
}

TEST(Work, OtherOpsCountOneOperationPerElement) {
  Single s;
  s.finish(add(s.g, s.leaf(DType::kF32, {8, 4}), s.leaf(DType::kF32, {8, 4})));
  EXPECT_EQ(s.operations(), 32);
  EXPECT_EQ(s.bytes(), 3 * 32 * 4);
}

TEST(Work, GetRowsCountsOnlyTheGatheredRows) {
  Single s;
  const Value table = s.leaf(DType::kF16, {32, 1000});
  s.finish(get_rows(s.g, table, s.leaf(DType::kI32, {3})));
  EXPECT_EQ(s.bytes(), 3 * 32 * 2 + 3 * 4 + 3 * 32 * 4);
}

TEST(Work, SetRowsCountsOnlyTheWrittenRows) {
  Single s;
  const Value cache = s.leaf(DType::kF16, {32, 1000}, Role::kCache);
  s.finish(set_rows(s.g, cache, s.leaf(DType::kF32, {32, 3}), s.leaf(DType::kI64, {3})));
  EXPECT_EQ(s.operations(), 3 * 32);
  EXPECT_EQ(s.bytes(), 3 * 32 * 4 + 3 * 8 + 3 * 32 * 2);
}

TEST(Work, UsesTheMaximumOfDynamicDims) {
  Single s;
  const Dim tokens = *s.g.dynamic_dim("tokens", 100);
  s.finish(silu(s.g, s.g.input("x", *make_tensor(DType::kF32, {8, tokens}))));
  EXPECT_EQ(s.operations(), 800);
}

DeviceInfo device(std::string name, DeviceKind kind) {
  DeviceInfo info;
  info.name = std::move(name);
  info.description = "made for a test";
  info.kind = kind;
  return info;
}

TEST(CostModel, EstimatesFavorGpusForLargeMatmulsAndCpusForSmall) {
  const CostModel costs;
  const DeviceInfo cpu = device("cpu0", DeviceKind::kCpu);
  const DeviceInfo gpu = device("gpu0", DeviceKind::kGpu);
  const Single large = matmul_of(DType::kF32, 4096, 4096, 512);
  EXPECT_GT(costs.seconds(*large.graph, large.node, cpu),
            10 * costs.seconds(*large.graph, large.node, gpu));
  const Single small = matmul_of(DType::kF32, 16, 16, 1);  // not worth a launch
  EXPECT_LT(costs.seconds(*small.graph, small.node, cpu),
            costs.seconds(*small.graph, small.node, gpu));
  for (DeviceKind kind : {DeviceKind::kCpu, DeviceKind::kGpu, DeviceKind::kNpu,
                          DeviceKind::kAccelerator, DeviceKind::kNull}) {
    EXPECT_GT(costs.seconds(*small.graph, small.node, device("d", kind)), 0);
  }
}

TEST(CostModel, DeviceReportedSpeedOverridesTheEstimateForItsKind) {
  const CostModel costs;
  DeviceInfo gpu = device("gpu0", DeviceKind::kGpu);
  gpu.speed = DeviceSpeed{.operations_per_second = 2e9,
                          .bytes_per_second = 1e9,
                          .launch_seconds = 0.5,
                          .copy_latency = 0.25,
                          .copy_bytes_per_second = 4e9};
  // 2 * 1024 * 1024 * 1024 operations on 12 MiB: a bit more than a second, and half of one.
  const Single product = matmul_of(DType::kF32, 1024, 1024, 1024);
  EXPECT_NEAR(costs.seconds(*product.graph, product.node, gpu), 0.5 + 2.147483648 / 2, 1e-9);
  const DeviceInfo cpu = device("cpu0", DeviceKind::kCpu);
  EXPECT_NEAR(costs.transfer(cpu, gpu).seconds(4e9), 1.25, 1e-9);
  EXPECT_NEAR(costs.transfer(gpu, cpu).seconds(0), 0.25, 1e-9);
}

/// A GPU is thought to launch in 5 us, and to copy 25 GB/s over PCI Express.
TEST(CostModel, MissingSpeedFiguresDefaultToTheKindOfDevice) {
  const CostModel costs;
  DeviceInfo gpu = device("gpu0", DeviceKind::kGpu);
  gpu.speed = DeviceSpeed{.operations_per_second = 1e9, .launch_seconds = -1};
  const TransferCost copy = costs.transfer(device("cpu0", DeviceKind::kCpu), gpu);
  EXPECT_DOUBLE_EQ(copy.seconds_per_byte, 1 / 25e9);
  EXPECT_EQ(copy.latency, 0) << "as it says";
  const Single product = matmul_of(DType::kF32, 64, 64, 64);
  EXPECT_DOUBLE_EQ(costs.seconds(*product.graph, product.node, gpu),
                   5e-6 + product.operations() / 1e9);
}

TEST(CostModel, LeavesAndViewsTakeNoTime) {
  Single s;
  const Value x = s.leaf(DType::kF32, {8, 4});
  const auto view = reshape(s.g, x, {4, 8});
  s.finish(silu(s.g, view));
  const DeviceInfo cpu = device("cpu0", DeviceKind::kCpu);
  EXPECT_EQ(CostModel().seconds(*s.graph, x.id, cpu), 0);
  EXPECT_EQ(CostModel().seconds(*s.graph, view->id, cpu), 0);
}

OpCost measured(std::string op, DType dtype, double overhead, double per_operation,
                double per_byte) {
  return {"cpu0", "made for a test", std::move(op), dtype, overhead, per_operation, per_byte};
}

TEST(CostModel, MeasurementsReplaceEstimates) {
  CostModel costs;
  costs.add(measured("matmul", DType::kF32, 1, 0.5, 0));
  costs.add(measured("matmul", DType::kQ8_0, 2, 0, 0.25));
  costs.add(measured("*", DType::kF32, 3, 0, 0));
  const DeviceInfo cpu = device("cpu0", DeviceKind::kCpu);
  const auto seconds = [&](const Single& s) { return costs.seconds(*s.graph, s.node, cpu); };
  const Single f32 = matmul_of(DType::kF32, 64, 2, 1);
  EXPECT_EQ(seconds(f32), 1 + 0.5 * f32.operations());
  const Single q8 = matmul_of(DType::kQ8_0, 64, 2, 1);
  EXPECT_EQ(seconds(q8), 2 + 0.25 * q8.bytes());
  const Single f16 = matmul_of(DType::kF16, 64, 2, 1);  // another type: the slowest of the op
  EXPECT_EQ(seconds(f16), 1 + 0.5 * f16.operations());
  Single other;
  other.finish(silu(other.g, other.leaf(DType::kF32, {8})));
  EXPECT_EQ(seconds(other), 3);
}

/// As measured with sums, which are never bound by arithmetic.
TEST(CostModel, EntryWithoutArithmeticRateIsNotUsedForMatmuls) {
  CostModel costs;
  costs.add(measured("*", DType::kF32, 1e-6, 0, 1e-10));
  const DeviceInfo cpu = device("cpu0", DeviceKind::kCpu);
  const auto seconds = [&](const Single& s) { return costs.seconds(*s.graph, s.node, cpu); };
  const Single product = matmul_of(DType::kF16, 512, 512, 512);
  EXPECT_EQ(seconds(product), CostModel().seconds(*product.graph, product.node, cpu));
  Single experts;
  experts.finish(matmul_id(experts.g, experts.leaf(DType::kF16, {512, 512, 4}),
                           experts.leaf(DType::kF32, {512, 2, 64}),
                           experts.leaf(DType::kI32, {2, 64})));
  EXPECT_EQ(seconds(experts), CostModel().seconds(*experts.graph, experts.node, cpu));
  Single scores;
  scores.finish(attention(scores.g, scores.leaf(DType::kF32, {64, 4, 64}),
                          scores.leaf(DType::kF16, {64, 2, 512}),
                          scores.leaf(DType::kF16, {64, 2, 512})));
  EXPECT_EQ(seconds(scores), CostModel().seconds(*scores.graph, scores.node, cpu));
  Single other;
  other.finish(silu(other.g, other.leaf(DType::kF32, {8})));
  EXPECT_EQ(seconds(other), 1e-6 + 1e-10 * other.bytes());
}

TEST(CostModel, IgnoresMeasurementsOfOtherHardware) {
  CostModel costs;
  costs.add(measured("*", DType::kF32, 1e3, 0, 0));
  costs.add(CopyCost{"gpu0", "made for a test", true, {1e3, 0}});
  const Single s = matmul_of(DType::kF32, 64, 2, 1);
  DeviceInfo cpu = device("cpu0", DeviceKind::kCpu);
  DeviceInfo gpu = device("gpu0", DeviceKind::kGpu);
  EXPECT_GE(costs.seconds(*s.graph, s.node, cpu), 1e3);
  EXPECT_GE(costs.transfer(cpu, gpu).seconds(0), 1e3);
  cpu.description = "another one";
  gpu.description = "another one";
  EXPECT_LT(costs.seconds(*s.graph, s.node, cpu), 1);
  EXPECT_LT(costs.transfer(cpu, gpu).seconds(0), 1);
}

TEST(CostModel, CopyBetweenAcceleratorsCostsBothHostTransfers) {
  CostModel costs;
  const DeviceInfo cpu = device("cpu0", DeviceKind::kCpu);
  const DeviceInfo a = device("a0", DeviceKind::kGpu);
  const DeviceInfo b = device("b0", DeviceKind::kNpu);
  costs.add(CopyCost{"a0", "made for a test", true, {1, 10}});
  costs.add(CopyCost{"a0", "made for a test", false, {2, 20}});
  costs.add(CopyCost{"b0", "made for a test", true, {4, 40}});
  EXPECT_EQ(costs.transfer(cpu, a).seconds(1), 11);
  EXPECT_EQ(costs.transfer(a, cpu).seconds(1), 22);
  EXPECT_EQ(costs.transfer(a, b).seconds(1), 22 + 44);
}

TEST(FitCosts, RecoversTheCostsThatGeneratedTheSamples) {
  const auto sample = [](double operations, double bytes) {
    return CostSample{operations, bytes, 1e-6 + std::max(operations * 1e-11, bytes * 1e-10)};
  };
  const OpCost cost = fit_op_cost({.tiny = {0, 0, 1e-6},
                                   .reading = sample(2e6, 4e6),
                                   .few = {},
                                   .some = {},
                                   .many = sample(1e10, 1e6)});
  EXPECT_NEAR(cost.overhead, 1e-6, 1e-15);
  EXPECT_NEAR(cost.seconds_per_byte, 1e-10, 1e-18);
  EXPECT_NEAR(cost.seconds_per_operation, 1e-11, 1e-18);
  // A measurement that was disturbed never gives times below zero.
  const OpCost odd = fit_op_cost(
      {.tiny = {0, 0, 5}, .reading = {1, 1, 2}, .few = {}, .some = {}, .many = {1, 1, 3}});
  EXPECT_GE(odd.seconds_per_byte, 0);
  EXPECT_GE(odd.seconds_per_operation, 0);
}

/// A kernel that takes 1e-10 s to unpack a byte and 1e-11 s for an operation, in addition to 5e-11
/// s to read a byte.
TEST(FitCosts, TwoColumnCountsSeparateUnpackingFromArithmetic) {
  const auto sample = [](double columns) {
    const double bytes = 1e6 + columns * 8e3;
    const double operations = 2e6 * columns;
    return CostSample{operations, bytes,
                      1e-6 + std::max(bytes * 5e-11, bytes * 1e-10 + operations * 1e-11)};
  };
  const CostSample reading{2e6, 4e6, 1e-6 + 4e6 * 5e-11};
  const OpCost cost = fit_op_cost({.tiny = {0, 0, 1e-6},
                                   .reading = reading,
                                   .few = sample(32),
                                   .some = {},
                                   .many = sample(256)});
  EXPECT_NEAR(cost.overhead, 1e-6, 1e-15);
  EXPECT_NEAR(cost.seconds_per_byte, 5e-11, 1e-18);
  EXPECT_NEAR(cost.unpack_seconds_per_byte, 1e-10, 1e-17);
  EXPECT_NEAR(cost.seconds_per_operation, 1e-11, 1e-18);
  // A single column does not pay for unpacking: it is bound by memory.
  EXPECT_NEAR(cost.seconds(reading.operations, reading.bytes), reading.seconds, 1e-15);
  const CostSample between = sample(64);
  EXPECT_NEAR(cost.seconds(between.operations, between.bytes), between.seconds,
              1e-9 * between.seconds);
}

/// One kernel takes 2e-11 s for an operation whatever the number of columns, the other one, from
/// 128 columns on, unpacks for 1e-9 s a byte and then takes 1e-11 s.
TEST(FitCosts, UnpackingCostComesFromTheKernelForManyColumns) {
  const auto sample = [](double columns) {
    const double bytes = 1e6;
    const double operations = 2e6 * columns;
    return CostSample{operations, bytes,
                      columns < 128 ? operations * 2e-11 : bytes * 1e-9 + operations * 1e-11};
  };
  const OpCost cost = fit_op_cost({.tiny = {},
                                   .reading = {1, 1e6, 1e-9},
                                   .few = sample(32),
                                   .some = sample(128),
                                   .many = sample(512)});
  EXPECT_NEAR(cost.few_seconds_per_operation, 2e-11, 1e-18);
  EXPECT_NEAR(cost.unpack_seconds_per_byte, 1e-9, 1e-15);
  EXPECT_NEAR(cost.seconds_per_operation, 1e-11, 1e-18);
  for (const double columns : {16, 32, 256, 512}) {
    const CostSample one = sample(columns);
    EXPECT_NEAR(cost.seconds(one.operations, one.bytes), one.seconds, 1e-9 * one.seconds);
  }
}

TEST(FitCosts, ContradictorySamplesFitArithmeticOnly) {
  // Few columns took longer than many.
  const OpCost slow = fit_op_cost({.tiny = {0, 0, 0},
                                   .reading = {1, 1, 1e-9},
                                   .few = {1e6, 1e6, 2e-3},
                                   .some = {},
                                   .many = {8e6, 1e6, 1e-3}});
  EXPECT_EQ(slow.unpack_seconds_per_byte, 0);
  EXPECT_EQ(slow.few_seconds_per_operation, 0);
  EXPECT_NEAR(slow.seconds_per_operation, 1e-3 / 8e6, 1e-15);
  // Few columns took less than their share.
  const OpCost fast = fit_op_cost({.tiny = {0, 0, 0},
                                   .reading = {1, 1, 1e-9},
                                   .few = {1e6, 1e6, 1e-5},
                                   .some = {},
                                   .many = {8e6, 1e6, 1e-3}});
  EXPECT_EQ(fast.unpack_seconds_per_byte, 0);
  EXPECT_EQ(fast.few_seconds_per_operation, 0);
  EXPECT_NEAR(fast.seconds_per_operation, 1e-3 / 8e6, 1e-15);
  // Few columns took less than many, though some took more.
  const OpCost lucky = fit_op_cost({.tiny = {0, 0, 0},
                                    .reading = {1, 1, 1e-9},
                                    .few = {6.4e7, 1e6, 6.4e-4},
                                    .some = {2.56e8, 1e6, 3.07e-3},
                                    .many = {1.024e9, 1e6, 1.126e-2}});
  EXPECT_EQ(lucky.unpack_seconds_per_byte, 0);
  EXPECT_EQ(lucky.few_seconds_per_operation, 0);
  EXPECT_NEAR(lucky.seconds_per_operation, 1.126e-2 / 1.024e9, 1e-15);
}

TEST(FitCosts, OverheadIsAtMostTheShortestSample) {
  const CostSample short_one = {1e6, 1e6, 2};
  const CostSample other = {1e6, 1e6, 3};
  for (std::size_t i = 0; i < 5; ++i) {
    OpSamples samples = {other, other, other, other, other};
    const std::array all = {&samples.tiny, &samples.reading, &samples.few, &samples.some,
                            &samples.many};
    *all[i] = short_one;
    EXPECT_EQ(fit_op_cost(samples).overhead, 2) << i;
  }
}

std::string temporary(const char* name) {
  return testing::TempDir() + "/shunt_costs_" + name + ".json";
}

TEST(CostsFile, RoundTripsSavedCosts) {
  CostModel costs;
  OpCost cost = measured("matmul", DType::kQ4_0, 1.25e-6, 1e-11 / 3, 2.5e-11);
  cost.unpack_seconds_per_byte = 3e-11;
  cost.few_seconds_per_operation = 5e-11;
  costs.add(std::move(cost));
  costs.add(CopyCost{"gpu0", "a \"device\"", false, {1e-5, 4e-11}});
  const std::string path = temporary("round");
  ASSERT_TRUE(costs.save(path));
  const auto read = CostModel::load(path);
  std::remove(path.c_str());
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->to_text(), costs.to_text());
  ASSERT_EQ(read->ops().size(), 1U);
  EXPECT_EQ(read->ops()[0].dtype, DType::kQ4_0);
  EXPECT_EQ(read->ops()[0].seconds_per_operation, 1e-11 / 3);
  EXPECT_EQ(read->ops()[0].unpack_seconds_per_byte, 3e-11);
  EXPECT_EQ(read->ops()[0].few_seconds_per_operation, 5e-11);
  ASSERT_EQ(read->copies().size(), 1U);
  EXPECT_FALSE(read->copies()[0].to_device);
  EXPECT_EQ(read->copies()[0].description, "a \"device\"");
}

TEST(CostsFile, RejectsMalformedContentWithAMessage) {
  const auto refusal = [](const std::string& text) {
    const auto read = CostModel::parse(text, "costs.json");
    EXPECT_FALSE(read) << text;
    if (read) return std::string();
    EXPECT_EQ(read.error().code(), ErrorCode::kBadFile);
    EXPECT_THAT(read.error().message(), testing::StartsWith("costs.json:"));
    EXPECT_THAT(read.error().message(), testing::Not(HasSubstr("exception")));
    return read.error().message();
  };
  EXPECT_EQ(refusal(""), "costs.json: the file is empty");
  EXPECT_EQ(refusal("{"), "costs.json:1: at byte 2 of the file it ends; expected string literal");
  EXPECT_THAT(refusal("{\n\"format\": \"shunt costs\",\n\"version\" 1}"),
              testing::StartsWith("costs.json:3: at byte 38 of the file the JSON is not valid"));
  EXPECT_THAT(refusal("\xff\xfe"), testing::StartsWith("costs.json:1: at byte "));
  EXPECT_EQ(refusal("{\"a\": 1,\n\"b\": -1e999}"), "costs.json:2: the number -1e999 is too large");
  EXPECT_EQ(refusal("[" + std::string(1000, '9') + "]"),
            "costs.json:1: the number " + std::string(40, '9') + "... is too large");
  refusal("[1, 2]");
  refusal(R"({"format": "something else", "version": 1})");
  refusal(std::string(100'000, '['));
  EXPECT_THAT(refusal(R"({"format": "shunt costs", "version": 2})"), HasSubstr("version is 2"));
  EXPECT_THAT(refusal(R"({"format": "shunt costs", "version": 1, "ops": 3})"), HasSubstr("ops"));
  EXPECT_THAT(refusal(R"({"format": "shunt costs", "version": 1, "ops": [7]})"),
              HasSubstr("ops[0]"));
  const auto op = [](const std::string& overhead, const std::string& dtype) {
    return R"({"format": "shunt costs", "version": 1, "ops": [{"device": "cpu0", )"
           R"("description": "", "op": "add", "dtype": ")" +
           dtype + R"(", "overhead": )" + overhead +
           R"(, "seconds_per_operation": 0, "seconds_per_byte": 0}]})";
  };
  EXPECT_TRUE(CostModel::parse(op("1e-6", "F32"), "costs.json"));
  EXPECT_THAT(refusal(op("-1", "F32")), AllOf(HasSubstr("ops[0]"), HasSubstr("overhead")));
  EXPECT_THAT(refusal(op("1e300", "F32")), HasSubstr("overhead"));
  EXPECT_THAT(refusal(op("\"1\"", "F32")), HasSubstr("overhead"));
  EXPECT_THAT(refusal(op("null", "F32")), HasSubstr("overhead"));
  EXPECT_THAT(refusal(op("0", "F33")), HasSubstr("dtype"));
  // A field that older files lack.
  EXPECT_EQ(CostModel::parse(op("0", "F32"), "costs.json")->ops()[0].unpack_seconds_per_byte, 0);
  EXPECT_THAT(refusal(op("0, \"unpack_seconds_per_byte\": -1", "F32")),
              HasSubstr("unpack_seconds_per_byte"));
  EXPECT_THAT(refusal(R"({"format": "shunt costs", "version": 1, "copies": [{"device": "a",)"
                      R"("description": "", "direction": "up", "latency": 0,)"
                      R"("seconds_per_byte": 0}]})"),
              HasSubstr("direction"));
}

TEST(CostsFile, MissingFileIsNotFound) {
  const auto read = CostModel::load("/nonexistent/costs.json");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code(), ErrorCode::kNotFound);
  const Status saved = CostModel().save("/nonexistent/costs.json");
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().code(), ErrorCode::kIo);
  EXPECT_THAT(saved.error().message(), HasSubstr("/nonexistent/costs.json"));
}

/// Costs whose file has more than 4096 bytes.
CostModel many_costs() {
  CostModel costs;
  for (int i = 0; i < 100; ++i) costs.add(measured("matmul", DType::kQ4_0, 1e-6, 1e-11, 2e-11));
  return costs;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(CostsFile, SavingAgainReplacesTheFile) {
  const TempFolder folder;
  const std::string path = folder.file("costs.json");
  ASSERT_TRUE(many_costs().save(path));
  ASSERT_TRUE(CostModel().save(path));
  EXPECT_EQ(text_of(path), CostModel().to_text());
  EXPECT_THAT(folder.list(), ElementsAre("costs.json"));
}

TEST(CostsFile, FullDiskKeepsTheExistingFile) {
  // A limit on the size of files fails in the same place, write(), as a full disk.
  const TempFolder folder;
  const std::string path = folder.file("costs.json");
  ASSERT_TRUE(CostModel().save(path));
  const CostModel costs = many_costs();
  struct rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const struct rlimit limit = {4096, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  const Status saved = costs.save(path);
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().code(), ErrorCode::kIo);
  EXPECT_THAT(saved.error().message(), AllOf(HasSubstr(path), HasSubstr("File too large")));
  EXPECT_EQ(text_of(path), CostModel().to_text());
  EXPECT_THAT(folder.list(), ElementsAre("costs.json"));
}

TEST(CostsFile, FolderWithoutWritePermissionKeepsTheExistingFile) {
  const TempFolder folder;
  const std::string path = folder.file("costs.json");
  ASSERT_TRUE(CostModel().save(path));
  {
    const WithoutPrivileges nobody(folder.path());
    // As its owner; root's folder can't be written by others anyway.
    std::error_code not_owner;
    std::filesystem::permissions(folder.path(), std::filesystem::perms(0511), not_owner);
    const Status saved = many_costs().save(path);
    ASSERT_FALSE(saved);
    EXPECT_EQ(saved.error().code(), ErrorCode::kIo);
    EXPECT_THAT(saved.error().message(), AllOf(HasSubstr(path), HasSubstr("Permission denied")));
  }
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
  EXPECT_EQ(text_of(path), CostModel().to_text());
  EXPECT_THAT(folder.list(), ElementsAre("costs.json"));
}

TEST(CostsFile, DeviceFilesAreWrittenInPlace) {
  ASSERT_TRUE(CostModel().save("/dev/null"));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(CostsFile, SavingThroughASymlinkReplacesItsTarget) {
  const TempFolder folder;
  const std::string target = folder.file("target.json");
  const std::string link = folder.file("costs.json");
  std::filesystem::create_symlink(target, link);
  // At first the target is missing, then it is longer than its replacement.
  for (const std::string before : {"", "x"}) {
    if (!before.empty()) std::ofstream(target) << std::string(10000, 'x');
    ASSERT_TRUE(CostModel().save(link));
    EXPECT_TRUE(std::filesystem::is_symlink(link));
    EXPECT_EQ(text_of(target), CostModel().to_text());
  }
  EXPECT_THAT(folder.list(), ElementsAre("costs.json", "target.json"));
}

TEST(CostsFile, SavingToAnOpenFileDescriptorAppends) {
  const TempFolder folder;
  const std::string path = folder.file("log");
  std::ofstream(path) << "before";
  std::FILE* const open = std::fopen(path.c_str(), "a");
  ASSERT_NE(open, nullptr);
  const std::string link = fmt::format("/proc/self/fd/{}", ::fileno(open));
  EXPECT_TRUE(CostModel().save(link));
  std::fclose(open);
  EXPECT_EQ(text_of(path), "before" + CostModel().to_text());
  EXPECT_THAT(folder.list(), ElementsAre("log"));
}

TEST(MeasureCosts, RejectsZeroRuns) {
  TestDevice host({.name = "cpu0", .kind = DeviceKind::kCpu, .host_accessible = true});
  Device* devices[] = {&host};
  const auto none = measure_costs(devices, {.width = 64, .seconds = 0, .runs = 0, .chain = 2});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(none.error().message(), HasSubstr("0 runs"));
  EXPECT_TRUE(measure_costs(devices, {.width = 64, .seconds = 0, .runs = 1, .chain = 2}));
}

TEST(MeasureCosts, HasAnEntryPerOpClassAndCopyCostsOfDeviceMemory) {
  TestDevice host({.name = "cpu0", .kind = DeviceKind::kCpu, .host_accessible = true});
  TestDevice test({.name = "test0", .ops = {"matmul"}});
  Device* devices[] = {&test, &host};
  const auto result = measure_costs(devices, {.width = 64, .seconds = 0, .chain = 2});
  ASSERT_TRUE(result) << result.error().message();
  const auto count = [&](std::string_view name, std::string_view op) {
    return std::count_if(result->costs.ops().begin(), result->costs.ops().end(),
                         [&](const OpCost& cost) { return cost.device == name && cost.op == op; });
  };
  EXPECT_EQ(count("cpu0", "matmul"), 5);     // types of weights
  EXPECT_EQ(count("cpu0", "attention"), 5);  // types of caches
  EXPECT_EQ(count("cpu0", kAnyOp), 1);
  EXPECT_EQ(count("test0", "matmul"), 5);
  EXPECT_EQ(count("test0", "attention"), 0);
  for (const OpCost& cost : result->costs.ops()) {
    EXPECT_GT(cost.overhead, 0);
    EXPECT_EQ(cost.description, host.info().description);
  }
  // The notes name the ops that a device can't do, with its own reason.
  ASSERT_EQ(result->notes.size(), 6U);
  EXPECT_THAT(result->notes[0],
              AllOf(HasSubstr("test0: attention"), HasSubstr("no kernel for attention")));
  // The host reads its own memory as it is.
  ASSERT_EQ(result->costs.copies().size(), 2U);
  for (const CopyCost& copy : result->costs.copies()) EXPECT_EQ(copy.device, "test0");
  EXPECT_EQ(test.allocated(), 0U);  // all given back
}

/// Says that it is a twin; no caller may ask it for anything else.
class Twin final : public Device {
 public:
  std::string_view name() const override { return "twin0"; }
  DeviceInfo info() const override {
    DeviceInfo info = device("twin0", DeviceKind::kNpu);
    info.twin = true;
    return info;
  }
  Support supports(const Graph&, NodeId, MemoryOfLeaves) const override { return refuse(); }
  bool can_read(const BufferType&) const override { return false; }
  BufferType& memory() override {
    ADD_FAILURE();
    return host_memory();
  }
  Result<std::unique_ptr<Stream>> open_stream() override {
    ADD_FAILURE();
    return Error(ErrorCode::kInternal, "");
  }
  Result<std::unique_ptr<Program>> prepare(const SegmentView&) override {
    ADD_FAILURE();
    return Error(ErrorCode::kInternal, "");
  }

 private:
  static Support refuse() {
    ADD_FAILURE();
    return Support::no(Refusal::kOp, "");
  }
};

TEST(MeasureCosts, NeverTimesATwin) {
  Twin twin;
  Device* devices[] = {&twin};
  const auto result = measure_costs(devices, {.width = 64, .seconds = 0});
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->costs.ops().empty());
  ASSERT_EQ(result->notes.size(), 1U);
  EXPECT_THAT(result->notes[0], HasSubstr("twin0 is a twin"));
}

TEST(MeasureCosts, RejectsInvalidWidths) {
  for (std::int64_t width : {0, 32, 100, 1 << 20}) {
    EXPECT_FALSE(measure_costs({}, {.width = width, .seconds = 0})) << width;
  }
}

TEST(CostOrigin, SaysMeasuredReportedOrEstimated) {
  const DeviceInfo npu = device("npu0", DeviceKind::kNpu);
  DeviceInfo twin = device("twin0", DeviceKind::kNpu);
  twin.twin = true;
  DeviceInfo told = device("told0", DeviceKind::kNpu);
  told.speed = DeviceSpeed{1, 1, 1, 1, 1};
  CostModel costs;
  EXPECT_EQ(costs.origin(npu), "estimate for its kind of device");
  EXPECT_EQ(costs.origin(told), "figures of its backend");
  EXPECT_EQ(costs.origin(twin),
            "estimate for its kind of device, because the speed of a twin is meaningless");
  costs.add(OpCost{.device = "npu0", .description = npu.description, .op = "matmul"});
  EXPECT_EQ(costs.origin(npu), "measured");
  EXPECT_EQ(CostModel::parse(costs.to_text(), "costs.json")->origin(npu), "costs file costs.json");
  costs.set_origin("npu0", "measured now");
  EXPECT_EQ(costs.origin(npu), "measured now");
  // Another device of that name was not measured.
  DeviceInfo other = npu;
  other.description = "another one";
  EXPECT_EQ(costs.origin(other), "estimate for its kind of device");
}

TEST(CostModel, MatmulIdCostsLikeMatmulUnlessMeasured) {
  GraphBuilder g;
  const Value w = *g.weight("w", *make_tensor(DType::kF16, {32, 8, 4}));
  const Value x = *g.input("x", *make_tensor(DType::kF32, {32, 2, 3}));
  const Value ids = *g.input("ids", *make_tensor(DType::kI32, {2, 3}));
  const Value y = *matmul_id(g, w, x, ids);
  ASSERT_TRUE(g.output(y, "y"));
  const Graph graph = std::move(*std::move(g).build());
  const DeviceInfo npu = device("npu0", DeviceKind::kNpu);
  CostModel costs;
  const auto cost = [&](std::string_view op, DType dtype, double seconds) {
    costs.add(OpCost{.device = "npu0",
                     .description = npu.description,
                     .op = std::string(op),
                     .dtype = dtype,
                     .overhead = seconds});
  };
  cost(kAnyOp, DType::kF32, 1);
  EXPECT_EQ(costs.seconds(graph, y.id, npu), 1);
  cost("matmul", DType::kF16, 2);
  EXPECT_EQ(costs.seconds(graph, y.id, npu), 2);
  cost("matmul_id", DType::kF16, 3);
  EXPECT_EQ(costs.seconds(graph, y.id, npu), 3);
}

}  // namespace
}  // namespace shunt::test::schedule_costs_test
