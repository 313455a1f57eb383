// Verifying a device: a wrong kernel is named, a right one is not, and failures on the way are
// reported.
#include "shunt/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <set>

#include "shunt/ops.h"
#include "support/tensor_io.h"
#include "support/test_device.h"

namespace shunt::test::schedule_verify_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Gt;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

TestDeviceConfig cpu_config() {
  return {.name = "cpu0", .kind = DeviceKind::kCpu, .host_accessible = true};
}

/// A graph with a value for each leaf.
struct Example {
  std::shared_ptr<const Graph> graph;
  std::map<NodeId, RefTensor> leaves;
  Dim tokens;  // a dynamic dimension, or 1
  std::int64_t token_count = 1;
};

RefTensor numbers(std::initializer_list<double> values) {
  RefTensor tensor({static_cast<std::int64_t>(values.size()), 1, 1, 1});
  tensor.data = values;
  return tensor;
}

/// x, then silu `length` times.
Example chain(int length, std::int64_t size = 16) {
  Example made;
  GraphBuilder g;
  Result<Value> x = g.input("x", *make_tensor(DType::kF32, {size}));
  made.leaves[x->id] = make_values({.sizes = {size, 1, 1, 1}}, 1);
  for (int i = 0; i < length; ++i) x = silu(g, x);
  EXPECT_TRUE(g.output(x, "y"));
  made.graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  return made;
}

/// A random graph with everything that there is to follow. It has a dynamic dimension below its
/// maximum, views, permuted ones too, and caches that are written whole rows and parts at a time.
/// It has weights of several types, a mask of infinities, and integers.
Example random_example(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Example made;
  GraphBuilder g;
  made.tokens = *g.dynamic_dim("tokens", 5);
  made.token_count = 3;
  const auto leaf = [&](const Result<Value>& value, const CaseSource& source) {
    EXPECT_TRUE(value) << value.error().message();
    made.leaves[value->id] = make_values(source, seed * 100 + value->id);
    return value;
  };
  const auto x =
      leaf(g.input("x", *make_tensor(DType::kF32, {32, made.tokens})), {.sizes = {32, 3, 1, 1}});
  const auto ids =
      leaf(g.input("ids", *make_tensor(DType::kI64, {made.tokens})),
           {.dtype = DType::kI64, .sizes = {3, 1, 1, 1}, .fill = Fill::kPermutation, .high = 6});
  const auto mask = leaf(g.input("mask", *make_tensor(DType::kF16, {32, made.tokens})),
                         {.dtype = DType::kF16, .sizes = {32, 3, 1, 1}, .fill = Fill::kCausalMask});
  const auto w8 = leaf(g.weight("w8", *make_tensor(DType::kQ8_0, {32, 32})),
                       {.dtype = DType::kQ8_0, .sizes = {32, 32, 1, 1}});
  const auto w16 = leaf(g.weight("w16", *make_tensor(DType::kF16, {32, 32})),
                        {.dtype = DType::kF16, .sizes = {32, 32, 1, 1}});
  const auto table =
      leaf(g.weight("table", *make_tensor(DType::kF32, {32, 32})), {.sizes = {32, 32, 1, 1}});
  const auto rows = leaf(g.cache("rows", *make_tensor(DType::kF16, {32, 6})),
                         {.dtype = DType::kF16, .sizes = {32, 6, 1, 1}});
  const auto parts =
      leaf(g.cache("parts", *make_tensor(DType::kF32, {32, 6})), {.sizes = {32, 6, 1, 1}});
  std::vector<Result<Value>> values = {x};
  const auto any = [&]() -> const Result<Value>& { return values[random() % values.size()]; };
  // Each op once, and then some.
  for (std::size_t i = 0; i < 14; ++i) {
    const Result<Value> a = any(), b = any();
    switch (i < 7 ? i : random() % 7) {
      case 0:
        values.push_back(silu(g, a));
        break;
      case 1:
        values.push_back(scale(g, a, {.scale = 0.5F}));
        break;
      case 2:
        values.push_back(add(g, a, b));
        break;
      case 3:
        values.push_back(mul(g, a, rms_norm(g, b)));
        break;
      case 4:
        values.push_back(matmul(g, random() % 2 == 0 ? w8 : w16, a));
        break;
      case 5:
        values.push_back(softmax(g, a, mask));
        break;
      default:
        values.push_back(get_rows(g, table, argmax(g, a)));
        break;
    }
  }
  const auto written = set_rows(g, rows, any(), ids);
  const auto read = cont(g, permute(g, view(g, written, {4, 1, 0, 0}, {8, 4}), {1, 0, 2, 3}));
  const auto part =
      cpy(g, view(g, table, {8, 8, 0, 0}, {4, 2}), view(g, parts, {16, 3, 0, 0}, {4, 2}));
  const auto again = view(g, part, {0, 0, 0, 0}, {4, 1});
  EXPECT_TRUE(g.output(read, "read"));
  EXPECT_TRUE(
      g.output(add(g, again, scale(g, view(g, parts, {0, 5, 0, 0}, {4}), {.scale = 2})), "sum"));
  EXPECT_TRUE(g.output(add(g, values.back(), any()), "y"));
  auto graph = std::move(g).build();
  EXPECT_TRUE(graph) << graph.error().message();
  made.graph = std::make_shared<const Graph>(std::move(*graph));
  return made;
}

/// Weights and caches in memory, inputs in the plan, and then verify(): `devices` are the
/// reference.
Result<std::vector<NodeCheck>> check(const Example& example, Device& device,
                                     std::vector<Device*> devices, VerifyOptions options = {}) {
  const Graph& graph = *example.graph;
  SHUNT_ASSIGN(const Placement first, place(graph, devices));
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::vector<LeafMemory> memory;
  for (const auto& [id, values] : example.leaves) {
    const Node& node = graph.node(id);
    if (node.role == Role::kInput) continue;
    std::vector<std::byte> bytes(static_cast<std::size_t>(byte_span(node.result)));
    write_tensor(values, node.result, bytes.data());
    Device& home = *devices[static_cast<std::size_t>(first.decisions[id].device)];
    SHUNT_ASSIGN(auto buffer, home.memory().allocate(bytes.size()));
    SHUNT_TRY(buffer->write(0, bytes));
    memory.push_back({id, {buffer.get(), 0}});
    buffers.push_back(std::move(buffer));
  }
  SHUNT_ASSIGN(Placement placement, place(graph, devices, {.memory = memory}));
  options.memory = memory;
  options.fill = [&](Plan& plan) -> Status {
    if (!example.tokens.is_fixed())
      SHUNT_TRY(plan.set_dynamic_dim(example.tokens, example.token_count));
    for (const auto& [id, values] : example.leaves) {
      if (graph.node(id).role != Role::kInput) continue;
      SHUNT_ASSIGN(const auto bytes, plan.input(Value{id}));
      write_tensor(values, graph.node(id).result, bytes.data());
    }
    return ok();
  };
  return verify(example.graph, std::move(placement), device, options);
}

std::vector<NodeCheck> checked(const Example& example, Device& device, std::vector<Device*> devices,
                               const VerifyOptions& options = {}) {
  auto checks = check(example, device, std::move(devices), options);
  EXPECT_TRUE(checks) << checks.error().message();
  return checks ? std::move(*checks) : std::vector<NodeCheck>();
}

std::size_t computed_nodes(const Graph& graph) {
  std::size_t count = 0;
  for (const Node& node : graph.nodes())
    count += !node.is_leaf() && node.op->info().storage != Storage::kView ? 1 : 0;
  return count;
}

TEST(Verify, CorrectDeviceHasNoError) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Example example = random_example(seed);
    TestWorld world(seed);
    TestDevice host(cpu_config());
    TestDevice device({.world = seed % 2 == 0 ? &world : nullptr});
    const auto checks = checked(example, device, {&host});
    EXPECT_EQ(checks.size(), computed_nodes(*example.graph));
    for (const NodeCheck& each : checks) {
      EXPECT_TRUE(each.compared()) << each.message;
      EXPECT_EQ(each.error, 0) << each.name << " " << each.tensors << ", seed " << seed;
      EXPECT_FALSE(each.wrong());
    }
    EXPECT_EQ(device.computed(), checks.size());
    EXPECT_EQ(device.allocated(), 0U);
  }
}

/// As a run has them: its kernels for that memory may be other ones.
TEST(Verify, PlacesWeightsInTheMemoryThatTheDeviceWants) {
  std::size_t all_products = 0;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const Example example = random_example(seed);
    TestDevice host(cpu_config());
    TestDevice device({.wants_weight = [](const Graph& graph, NodeId leaf) {
      return graph.node(leaf).name == "w8";
    }});
    const auto checks = checked(example, device, {&host});
    std::size_t products = 0;
    for (const NodeCheck& each : checks) {
      EXPECT_TRUE(each.compared()) << each.message;
      EXPECT_EQ(each.error, 0) << each.name << " " << each.tensors << ", seed " << seed;
      products += each.tensors.starts_with("Q8_0") ? 1 : 0;
    }
    EXPECT_EQ(device.weights_placed().size(), products);
    EXPECT_EQ(device.weights_allocated(), 0U) << "given back";
    all_products += products;
  }
  EXPECT_GT(all_products, 4U);
}

TEST(Verify, NamesOnlyTheOpWithAWrongKernel) {
  const Example example = random_example(5);
  std::set<std::string> ops;
  for (const Node& node : example.graph->nodes()) {
    if (!node.is_leaf() && node.op->info().storage != Storage::kView)
      ops.insert(std::string(node.op->info().name));
  }
  ASSERT_THAT(ops, SizeIs(Gt(9U)));
  for (const std::string& wrong : ops) {
    TestDevice host(cpu_config());
    TestDeviceConfig config;
    const bool integers = wrong == "argmax";
    config.wrong[wrong] = [&](RefTensor& result) {
      if (integers) result.data[1] += 1;
      for (double& value : result.data) value *= integers ? 1 : 1.01;
    };
    TestDevice device(config);
    // One for all: by default 1% are allowed where weights are blocks.
    const auto checks = checked(example, device, {&host}, {.threshold = 1e-6});
    std::size_t named = 0;
    for (const NodeCheck& each : checks) {
      EXPECT_EQ(each.wrong(), each.op == wrong) << each.name;
      if (each.op != wrong) {
        EXPECT_EQ(each.error, 0) << each.name;
        continue;
      }
      ++named;
      // One of three integers; or (1.01 - 1)^2, give or take the rounding to F16. Rows that are
      // not to be written are wrong as well: three of six.
      if (wrong == "set_rows") {
        EXPECT_GT(each.error, 0.95e-4);
      } else {
        EXPECT_NEAR(each.error, integers ? 1.0 / 3 : 1e-4, 5e-6) << each.name;
      }
    }
    const auto order = worst_first(checks);
    ASSERT_EQ(order.size(), checks.size());
    for (std::size_t i = 0; i < order.size(); ++i)
      EXPECT_EQ(checks[order[i]].op == wrong, i < named);
    const auto by_op = check_by_op(checks);
    EXPECT_EQ(by_op.size(), ops.size());
    EXPECT_EQ(by_op[0].op, wrong);
    EXPECT_EQ(by_op[0].over, named);
    EXPECT_EQ(by_op[0].compared, named);
    EXPECT_EQ(by_op[1].over, 0U);
  }
}

TEST(Verify, ReportsTheIndexOfAWrongElement) {
  const Example example = chain(1);
  TestDevice host(cpu_config());
  TestDeviceConfig config;
  config.wrong["silu"] = [](RefTensor& result) { result.data.back() += 1; };
  TestDevice device(config);
  const auto checks = checked(example, device, {&host});
  ASSERT_THAT(checks, SizeIs(1));
  double squares = 0;
  double last = 0;
  for (double x : example.leaves.at(0).data) {
    last = x / (1 + std::exp(-x));
    squares += last * last;
  }
  EXPECT_NEAR(checks[0].error, 1 / squares, 1e-6);
  EXPECT_EQ(checks[0].worst_at, (Sizes{15, 0, 0, 0}));
  EXPECT_NEAR(checks[0].expected, last, 1e-6);
  EXPECT_NEAR(checks[0].got, last + 1, 1e-6);
  EXPECT_EQ(checks[0].tensors, "F32 [16] -> F32 [16]");
}

TEST(Verify, DetectsAnUnwrittenElement) {
  // Even if it was right the time before: memory begins as NaN.
  const Example example = chain(3);
  TestDevice host(cpu_config());
  TestDeviceConfig config;
  config.wrong["silu"] = [](RefTensor& result) {
    --result.sizes[0];
    result.data.pop_back();
  };
  TestDevice device(config);
  for (const NodeCheck& each : checked(example, device, {&host})) {
    EXPECT_TRUE(std::isinf(each.error));
    EXPECT_EQ(each.worst_at, (Sizes{15, 0, 0, 0}));
    EXPECT_TRUE(each.wrong());
  }
}

TEST(Verify, DetectsWritesOutsideTheSetRows) {
  GraphBuilder g;
  Example example;
  const auto cache = g.cache("cache", *make_tensor(DType::kF32, {8, 6}));
  const auto rows = g.input("x", *make_tensor(DType::kF32, {8, 2}));
  const auto ids = g.input("ids", *make_tensor(DType::kI32, {2}));
  ASSERT_TRUE(g.output(set_rows(g, cache, rows, ids), "y"));
  example.leaves[cache->id] = make_values({.sizes = {8, 6, 1, 1}}, 1);
  example.leaves[rows->id] = make_values({.sizes = {8, 2, 1, 1}}, 2);
  example.leaves[ids->id] = numbers({4, 0});
  example.graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  TestDevice host(cpu_config());
  TestDeviceConfig config;
  config.wrong["set_rows"] = [](RefTensor& memory) { memory.at(3, 5) += 10; };
  TestDevice device(config);
  const auto checks = checked(example, device, {&host});
  ASSERT_THAT(checks, SizeIs(1));
  EXPECT_TRUE(checks[0].wrong());
  EXPECT_EQ(checks[0].worst_at, (Sizes{3, 5, 0, 0}));
}

TEST(Verify, EqualInfinitiesAndNaNsAreNoError) {
  Example example = chain(2, 4);
  constexpr double kInf = std::numeric_limits<double>::infinity();
  example.leaves[0] = numbers({kInf, -kInf, std::nan(""), 1});
  TestDevice host(cpu_config());
  TestDevice device({});
  for (const NodeCheck& each : checked(example, device, {&host})) EXPECT_EQ(each.error, 0);
}

TEST(Verify, UnsupportedOpsAreReportedAndNotFailures) {
  const Example example = random_example(3);
  TestDevice host(cpu_config());
  TestDevice device({.ops = {"add", "matmul"}});
  const auto checks = checked(example, device, {&host});
  for (const NodeCheck& each : checks) {
    const bool can = each.op == "add" || each.op == "matmul";
    EXPECT_EQ(each.compared(), can);
    EXPECT_FALSE(each.wrong());
    EXPECT_EQ(each.message, can ? "" : "test0 has no kernel for " + each.op);
  }
  std::size_t compared = 0, unsupported = 0;
  for (const OpCheck& op : check_by_op(checks)) {
    compared += op.compared;
    unsupported += op.unsupported;
    EXPECT_EQ(op.message.empty(), op.unsupported == 0);
  }
  EXPECT_EQ(compared, worst_first(checks).size());
  EXPECT_EQ(compared + unsupported, checks.size());
  EXPECT_EQ(device.computed(), compared);
}

TEST(Verify, ReferenceRunMayUseDevicesWithTheirOwnMemory) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const Example example = random_example(seed);
    TestDevice host(cpu_config());
    TestDevice a({.name = "a0", .ops = {"silu", "matmul", "set_rows", "cont", "softmax"}});
    TestDevice device({});
    std::map<std::string, std::size_t> reference_device;
    for (const NodeCheck& each : checked(example, device, {&a, &host})) {
      EXPECT_EQ(each.error, 0) << each.name << ", seed " << seed;
      ++reference_device[each.reference_device];
    }
    EXPECT_GT(a.computed(), 0U);
    EXPECT_EQ(reference_device["a0"], a.computed());
    EXPECT_EQ(reference_device["cpu0"], host.computed());
  }
}

TEST(Verify, DeviceMayBeComparedWithItself) {
  const Example example = random_example(1);
  TestDevice host(cpu_config());
  TestDevice a({.name = "a0"});
  for (const NodeCheck& each : checked(example, a, {&a, &host})) EXPECT_EQ(each.error, 0);
  for (const NodeCheck& each : checked(example, host, {&host})) EXPECT_EQ(each.error, 0);
}

TEST(Verify, HoldsTheMemoryOfOneNodeAtATime) {
  const Example example = chain(20, 1024);
  TestDevice host(cpu_config());
  TestDevice device({});
  std::size_t most = 0;
  device.on_launch = [&](NodeId) { most = std::max(most, device.allocated()); };
  EXPECT_THAT(checked(example, device, {&host}), SizeIs(20));
  EXPECT_EQ(most, 2 * 1024 * sizeof(float));
  EXPECT_EQ(device.allocated(), 0U);
}

TEST(Verify, ThresholdComesFromTheTypesOrTheCaller) {
  const Example example = random_example(2);
  TestDevice host(cpu_config());
  TestDevice device({});
  for (const NodeCheck& each : checked(example, device, {&host})) {
    const bool blocks = each.tensors.find("Q8_0") != std::string::npos;
    EXPECT_EQ(each.threshold, default_threshold(blocks ? DType::kQ8_0 : DType::kF16)) << each.name;
  }
  const auto checks = check(example, device, {&host}, {.threshold = 0.25});
  ASSERT_TRUE(checks);
  for (const NodeCheck& each : *checks) EXPECT_EQ(each.threshold, 0.25);
}

TEST(Verify, SortsByErrorRelativeToTheThreshold) {
  const auto made = [](std::string op, double error, double threshold) {
    NodeCheck each;
    each.op = std::move(op);
    each.error = error;
    each.threshold = threshold;
    return each;
  };
  std::vector<NodeCheck> checks = {
      made("a", 1e-4, 1e-3),  // large, but allowed
      made("b", 1e-5, 1e-6),  // not
      made("c", 0, 1e-6),    made("d", 1e-20, 0), made("b", 3e-5, 1e-6),
      made("e", 0, 0),       made("f", 0, 1),     made("g", 0, 1),
  };
  checks[6].outcome = CheckOutcome::kFailed;
  checks[7].outcome = CheckOutcome::kUnsupported;
  EXPECT_THAT(worst_first(checks), ElementsAre(6, 3, 4, 1, 0, 2, 5));
  std::vector<std::string> ops;
  for (const OpCheck& op : check_by_op(checks)) ops.push_back(op.op);
  EXPECT_THAT(ops, ElementsAre("f", "d", "b", "a", "c", "e", "g"));
  const OpCheck b = check_by_op(checks)[2];
  EXPECT_EQ(b.over, 2U);
  EXPECT_DOUBLE_EQ(b.worst, 3e-5);
  EXPECT_DOUBLE_EQ(b.mean, 2e-5);
  checks[1].error = std::numeric_limits<double>::infinity();
  const OpCheck infinite = check_by_op(checks)[1];  // before "d" now
  EXPECT_EQ(infinite.op, "b");
  EXPECT_TRUE(std::isinf(infinite.mean));
}

// ---- weights whose type the device lacks

TEST(VerifyTranscoded, KernelErrorsExcludeTheTranscodingError) {
  std::size_t transcoded = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const Example example = random_example(seed);
    TestDevice host(cpu_config());
    TestDevice device({.wants_types = {{DType::kQ8_0, DType::kF16}}});
    for (const NodeCheck& each : checked(example, device, {&host})) {
      EXPECT_TRUE(each.compared()) << each.message;
      EXPECT_EQ(each.error, 0) << each.name << " " << each.tensors << ", seed " << seed;
      EXPECT_THAT(each.tensors, Not(HasSubstr("Q8_0")));
      EXPECT_EQ(each.threshold, default_threshold(DType::kF16)) << each.name;
      if (each.transcoded.empty()) continue;
      ++transcoded;
      ASSERT_THAT(each.transcoded, SizeIs(1));
      const TranscodedWeight& weight = each.transcoded[0];
      EXPECT_EQ(weight.name, "w8");
      EXPECT_EQ(weight.device, "test0");
      EXPECT_EQ(weight.from, DType::kQ8_0);
      EXPECT_EQ(weight.to, DType::kF16);
      ASSERT_TRUE(weight.error);
      EXPECT_GT(weight.error->normalised(), 0);
      EXPECT_LT(weight.error->normalised(), std::exp2(-22));  // no more than half a unit of F16
    }
    EXPECT_EQ(device.allocated(), 0U);
  }
  EXPECT_GT(transcoded, 0U);
}

/// y = silu(w x), with weights of this type.
Example product(DType dtype) {
  Example made;
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {32, 3}));
  const auto w = g.weight("w", *make_tensor(dtype, {32, 16}));
  made.leaves[x->id] = make_values({.sizes = {32, 3, 1, 1}}, 1);
  made.leaves[w->id] = make_values({.dtype = dtype, .sizes = {32, 16, 1, 1}}, 2);
  EXPECT_TRUE(g.output(silu(g, matmul(g, w, x)), "y"));
  made.graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  return made;
}

TEST(VerifyTranscoded, WrongKernelIsNamed) {
  const Example example = product(DType::kQ8_0);
  TestDevice host(cpu_config());
  TestDevice device(
      {.wants_types = {{DType::kQ8_0, DType::kF16}}, .wrong = {{"matmul", [](auto& y) {
                                                                  for (double& value : y.data)
                                                                    value *= 1.01;
                                                                }}}});
  const auto checks = checked(example, device, {&host});
  ASSERT_THAT(checks, SizeIs(2));
  EXPECT_NEAR(checks[0].error, 1e-4, 1e-9);
  EXPECT_TRUE(checks[0].wrong());
  EXPECT_FALSE(checks[1].wrong());
}

TEST(VerifyTranscoded, ForbiddenTranscodingIsUnsupported) {
  struct Row {
    DType from, to;
    Transcode transcode;
    const char* message;  // none: compared
  };
  const Row rows[] = {
      {DType::kF32, DType::kQ8_0, Transcode::kLossy, nullptr},
      {DType::kF32, DType::kQ8_0, Transcode::kPrecise,
       "test0 needs w as Q8_0 instead of F32; that type is less precise"},
      {DType::kQ8_0, DType::kF16, Transcode::kPrecise, nullptr},
      {DType::kQ8_0, DType::kF16, Transcode::kNone,
       "test0 needs w as F16 instead of Q8_0; transcoding is off"},
  };
  for (const Row& row : rows) {
    const Example example = product(row.from);
    TestDevice host(cpu_config());
    TestDevice device({.wants_types = {{row.from, row.to}}});
    const auto checks = checked(example, device, {&host}, {.transcode = row.transcode});
    ASSERT_THAT(checks, SizeIs(2));
    EXPECT_FALSE(checks[0].wrong());
    EXPECT_TRUE(checks[1].compared());
    EXPECT_EQ(checks[0].compared(), row.message == nullptr);
    EXPECT_EQ(checks[0].message, row.message == nullptr ? "" : row.message);
    EXPECT_THAT(checks[0].transcoded, SizeIs(row.message == nullptr ? 1 : 0));
    if (row.message == nullptr) {
      EXPECT_EQ(checks[0].error, 0);
      EXPECT_EQ(checks[0].threshold, default_threshold(row.to));
    }
  }
}

TEST(VerifyTranscoded, ValueOutOfRangeOfTheNewTypeIsUnsupported) {
  Example example = product(DType::kF32);
  example.leaves.at(1).data[7] = 1e30;
  TestDevice host(cpu_config());
  TestDevice device({.wants_types = {{DType::kF32, DType::kF16}}});
  const auto checks = checked(example, device, {&host}, {.transcode = Transcode::kLossy});
  ASSERT_THAT(checks, SizeIs(2));
  EXPECT_EQ(checks[0].outcome, CheckOutcome::kUnsupported);
  EXPECT_EQ(checks[0].message, "w has 1 value that F16 can't hold");
  EXPECT_EQ(device.computed(), 1U);
}

TEST(VerifyTranscoded, FailuresNameTheDeviceOrTheReferenceRun) {
  const Example example = product(DType::kQ8_0);
  for (std::size_t n = 1; n <= 3; ++n) {  // x, w and the result of the product
    TestDevice host(cpu_config());
    TestDevice device({.wants_types = {{DType::kQ8_0, DType::kF16}}});
    device.fail_at({.allocation = n});
    const auto checks = checked(example, device, {&host});
    ASSERT_THAT(checks, SizeIs(2));
    EXPECT_EQ(checks[0].outcome, CheckOutcome::kFailed);
    EXPECT_THAT(checks[0].message, HasSubstr("(matmul) on test0"));
    EXPECT_EQ(checks[1].error, 0);
    EXPECT_EQ(device.allocated(), 0U);
  }
  TestDevice host(cpu_config());
  TestDevice device({.wants_types = {{DType::kQ8_0, DType::kF16}}});
  host.fail_at({.launch = 2});  // the product with w as F16
  const auto checks = check(example, device, {&host});
  ASSERT_FALSE(checks);
  EXPECT_EQ(checks.error().code(), ErrorCode::kDevice);
  EXPECT_THAT(checks.error().message(), HasSubstr("(matmul) on cpu0"));
}

/// Lets the n-th call of a kind fail, for every n there is: one node has failed, the others are
/// right.
void fail_at_each(std::size_t TestFailures::*kind, bool asynchronous, std::size_t calls) {
  const Example example = chain(4);
  for (std::size_t n = 1; n <= calls; ++n) {
    TestWorld world;
    TestDevice host(cpu_config());
    TestDevice device({.world = asynchronous ? &world : nullptr});
    TestFailures failures;
    failures.*kind = n;
    device.fail_at(failures);
    const auto checks = checked(example, device, {&host});
    ASSERT_THAT(checks, SizeIs(4));
    std::size_t failed = 0;
    for (const NodeCheck& each : checks) {
      if (each.outcome != CheckOutcome::kFailed) {
        EXPECT_EQ(each.error, 0);
        EXPECT_FALSE(each.wrong());
        continue;
      }
      ++failed;
      EXPECT_TRUE(each.wrong());
      EXPECT_THAT(each.message, AllOf(HasSubstr(each.name + " on test0"), HasSubstr("failed"),
                                      HasSubstr("code 719: as the test wanted it")));
    }
    EXPECT_EQ(failed, 1U) << n;
    EXPECT_EQ(device.allocated(), 0U);
  }
}

TEST(VerifyFailure, LaunchFailureAffectsOnlyItsNode) {
  fail_at_each(&TestFailures::launch, false, 4);
  fail_at_each(&TestFailures::launch, true, 4);
}

TEST(VerifyFailure, AllocationFailureAffectsOnlyItsNode) {
  fail_at_each(&TestFailures::allocation, false, 8);  // a source and a result each
}

TEST(VerifyFailure, OfTheReferenceRunIsAnError) {
  const Example example = chain(4);
  TestDevice host(cpu_config());
  TestDevice device({});
  host.fail_at({.launch = 2});
  const auto checks = check(example, device, {&host});
  ASSERT_FALSE(checks);
  EXPECT_EQ(checks.error().code(), ErrorCode::kDevice);
  EXPECT_THAT(checks.error().message(), AllOf(HasSubstr("cpu0"), HasSubstr("#2 (silu)")));
}

TEST(VerifyFailure, RejectsANullGraphAndAForeignPlacement) {
  TestDevice host(cpu_config());
  EXPECT_FALSE(verify(nullptr, {}, host));
  EXPECT_FALSE(verify(chain(1).graph, {}, host));  // the placement of another graph
}

TEST(VerifyCancel, EndsItWithinOneNode) {
  const Example example = chain(10);
  for (const bool on_device : {true, false}) {
    TestDevice host(cpu_config());
    TestDevice device({});
    std::atomic<bool> cancel{false};
    std::size_t launched = 0;
    (on_device ? device : host).on_launch = [&](NodeId) { cancel = ++launched == 4; };
    std::size_t done = 0;
    VerifyOptions options;
    options.cancel = &cancel;
    options.progress = [&](std::size_t now, std::size_t total) {
      EXPECT_EQ(now, ++done);
      EXPECT_EQ(total, 10U);
    };
    const auto checks = check(example, device, {&host}, options);
    ASSERT_FALSE(checks);
    EXPECT_EQ(checks.error().code(), ErrorCode::kCancelled);
    EXPECT_EQ(done, 3U);
    EXPECT_EQ(device.allocated(), 0U);
  }
}

}  // namespace
}  // namespace shunt::test::schedule_verify_test
