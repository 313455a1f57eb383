// Streamed weights of which a step reads a part: experts, and rows of a table. Only the part in use
// crosses. The host reads which part that is from numbers that a device may have computed. Devices
// are made for the test; unwritten memory of theirs is NaN.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "graph/reference.h"
#include "schedule/place/by_costs.h"
#include "schedule/place/rules.h"
#include "shunt/costs.h"
#include "shunt/ops.h"
#include "shunt/plan.h"
#include "support/graph_run.h"
#include "support/tensor_io.h"
#include "support/test_device.h"

namespace shunt::test::schedule_stream_experts_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::int64_t kExperts = 12;
constexpr std::int64_t kUsed = 2;
constexpr std::int64_t kMostTokens = 5;
constexpr std::int64_t kIn = 32;
constexpr std::int64_t kOut = 6;
constexpr std::size_t kExpertBytes = kIn * kOut * 4;

/// Where the numbers of the experts come from.
enum class Numbers {
  kInput,     ///< the user
  kComputed,  ///< rows of a table of choices
  kSeen,      ///< the last two of each of such rows
};

/// y = silu(w x) of the experts that ids chooses, and then once more with w of the same.
struct Mixture {
  explicit Mixture(Numbers numbers) {
    GraphBuilder g;
    tokens = *g.dynamic_dim("tokens", kMostTokens);
    x = g.input("x", *make_tensor(DType::kF32, {kIn, 1, tokens}))->id;
    const std::int64_t width = numbers == Numbers::kSeen ? 5 : kUsed;
    Result<Value> chosen = invalid("not yet");
    if (numbers == Numbers::kInput) {
      chosen = g.input("ids", *make_tensor(DType::kI32, {kUsed, tokens}));
      ids = chosen->id;
    } else {
      table = g.input("table", *make_tensor(DType::kI32, {width, 50}))->id;
      rows = g.input("rows", *make_tensor(DType::kI32, {tokens}))->id;
      chosen = get_rows(g, Value{table}, Value{rows});
      EXPECT_TRUE(g.name(chosen, "choice"));
      if (numbers == Numbers::kSeen) {
        chosen = view(g, chosen, {width - kUsed, 0, 0, 0}, {kUsed, tokens});
        EXPECT_TRUE(chosen) << chosen.error().message();
      }
    }
    w = g.weight("w", *make_tensor(DType::kF32, {kIn, kOut, kExperts}), Role::kExpertWeight)->id;
    const auto first = matmul_id(g, Value{w}, Value{x}, chosen);
    const auto second = matmul_id(g, Value{w}, Value{x}, chosen);
    product = first->id;
    y = add(g, silu(g, first), second)->id;
    EXPECT_TRUE(g.output(Value{y}, "y"));
    graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
    weight = make_values({.sizes = {kIn, kOut, kExperts, 1}}, 7);
  }

  /// Values of all leaves, with these experts for `experts.size() / kUsed` tokens. All other
  /// numbers are of no expert.
  std::map<NodeId, RefTensor> leaves(const std::vector<double>& experts, std::uint64_t seed) const {
    std::map<NodeId, RefTensor> values;
    values[w] = weight;
    values[x] = make_values({.sizes = {kIn, 1, kMostTokens, 1}}, seed);
    const auto fill = [&](RefTensor& tensor, std::int64_t from) {
      tensor.data.assign(tensor.data.size(), 1e6);
      for (std::size_t i = 0; i < experts.size(); ++i) {
        const auto at = static_cast<std::int64_t>(i);
        tensor.at(from + at % kUsed, at / kUsed) = experts[i];
      }
    };
    if (ids != kNoNode) {
      values[ids] = RefTensor({kUsed, kMostTokens, 1, 1});
      fill(values[ids], 0);
      return values;
    }
    const std::int64_t width = graph->node(table).result.size(0);
    values[table] = RefTensor({width, 50, 1, 1});
    fill(values[table], width - kUsed);
    values[rows] = RefTensor({kMostTokens, 1, 1, 1});
    for (std::int64_t i = 0; i < kMostTokens; ++i) values[rows].at(i) = static_cast<double>(i);
    return values;
  }

  RefTensor expected(const std::map<NodeId, RefTensor>& leaves, std::int64_t count) const {
    std::vector<RefTensor> by_node(graph->size());
    for (const auto& [id, values] : leaves) by_node[id] = values;
    const auto all = reference_run(*graph, by_node);
    EXPECT_TRUE(all);
    RefTensor part({kOut, kUsed, count, 1});
    std::copy_n((*all)[y].data.begin(), part.data.size(), part.data.begin());
    return part;
  }

  DynamicDimValues dynamic_dims(std::int64_t count) const {
    DynamicDimValues values = graph->max_dynamic_dims();
    values[tokens.dynamic_dim] = count;
    return values;
  }

  Dim tokens;
  NodeId x = kNoNode, ids = kNoNode, table = kNoNode, rows = kNoNode;
  NodeId w = kNoNode, product = kNoNode, y = kNoNode;
  RefTensor weight;
  std::shared_ptr<const Graph> graph;
};

/// A device that accepts streamed experts, and a CPU that has them. `choose`: the device computes
/// the numbers.
struct Two {
  explicit Two(bool choose, TestWorld* world = nullptr)
      : device({.ops = choose ? std::set<std::string>{"matmul_id", "silu", "add", "get_rows"}
                              : std::set<std::string>{"matmul_id", "silu", "add"},
                .wants = {"matmul_id"},
                .world = world}) {}
  Result<std::unique_ptr<GraphRun>> run(const Mixture& mixture, int steps_in_flight = 1) {
    const std::vector<double> any(kUsed * kMostTokens, 0);
    return GraphRun::create(
        mixture.graph, devices, mixture.leaves(any, 0),
        {.steps_in_flight = steps_in_flight, .weights_on_host = true, .stream_rows = kMostTokens});
  }
  TestDevice device;
  TestDevice host{{.name = "cpu0", .kind = DeviceKind::kCpu, .host_accessible = true}};
  Device* devices[2] = {&device, &host};
};

/// Bytes that a step sends to the device in addition to the experts: from the first to the last
/// element that it uses, as gaps are small. Where a tensor that is used up to its end is merged
/// with the next one, also the padding between the two.
std::size_t other_bytes(const Mixture& mixture, Plan& plan, std::int64_t count) {
  constexpr std::size_t kAlignment = 64;
  std::size_t bytes = 0;
  for (const Segment& segment : plan.segments()) {
    std::size_t before = 0;  // bytes of the tensor before, if it is used up to its end
    for (const Transfer& transfer : segment.transfers) {
      if (transfer.to != 0 || transfer.node == mixture.w) continue;
      const Tensor& tensor = mixture.graph->node(transfer.node).result;
      std::size_t used = 4;
      std::size_t all = 4;
      for (std::size_t i = 0; i < kMaxDims; ++i) {
        const Dim& dim = tensor.shape[i];
        const std::int64_t size = dim.is_fixed() ? dim.max : count;
        used = size == 0 ? 0 : used + static_cast<std::size_t>((size - 1) * tensor.strides[i]);
        all += static_cast<std::size_t>((dim.max - 1) * tensor.strides[i]);
        if (size == 0) break;
      }
      if (transfer.merged && used > 0) bytes += (kAlignment - before % kAlignment) % kAlignment;
      bytes += used;
      before = used == all ? used : 0;
    }
  }
  return bytes;
}

/// Steps of several sizes, with experts of chance: each result right, and just the experts in use
/// sent.
void check_steps(Numbers numbers, bool choose, bool asynchronous, std::uint64_t seed) {
  const Mixture mixture(numbers);
  TestWorld world(seed);
  Two two(choose, asynchronous ? &world : nullptr);
  const auto run = two.run(mixture);
  ASSERT_TRUE(run) << run.error().message();
  Plan& plan = (*run)->plan();
  ASSERT_EQ(plan.placement().decisions[mixture.product].device, 0);
  std::mt19937_64 random(seed);
  for (std::int64_t count : {5, 1, 0, 3, 5}) {
    std::vector<double> experts(static_cast<std::size_t>(kUsed * count));
    for (double& expert : experts) expert = static_cast<double>(random() % kExperts);
    const std::set<double> distinct(experts.begin(), experts.end());
    const auto leaves = mixture.leaves(experts, seed + static_cast<std::uint64_t>(count));
    ASSERT_TRUE(plan.set_dynamic_dim(mixture.tokens, count));
    ASSERT_TRUE((*run)->set_inputs(leaves));
    const std::size_t before = two.device.received();
    const Status status = plan.run();
    ASSERT_TRUE(status) << status.error().message();
    EXPECT_EQ(two.device.received() - before,
              distinct.size() * kExpertBytes + other_bytes(mixture, plan, count));
    const auto got = (*run)->output(mixture.y, mixture.dynamic_dims(count));
    ASSERT_TRUE(got);
    if (count == 0) continue;
    EXPECT_LT(nmse(*got, mixture.expected(leaves, count)), 1e-12);
  }
}

TEST(StreamExperts, OnlySelectedExpertsAreTransferred) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    for (const bool asynchronous : {false, true}) {
      check_steps(Numbers::kInput, false, asynchronous, seed);
      for (const Numbers numbers : {Numbers::kComputed, Numbers::kSeen}) {
        check_steps(numbers, true, asynchronous, seed);   // computed on the device
        check_steps(numbers, false, asynchronous, seed);  // computed on the CPU
      }
    }
  }
}

TEST(StreamExperts, StreamRowsCountsTokensNotExpertsPerToken) {
  const Mixture mixture(Numbers::kInput);
  Two two(false);
  const auto somewhere = host_memory().allocate(kExpertBytes * kExperts);
  const LeafMemory memory[] = {{mixture.w, {somewhere->get(), 0}}};
  for (const std::int64_t rows : {kMostTokens, kMostTokens + 1}) {
    const auto placement =
        place(*mixture.graph, two.devices, {.memory = memory, .stream_rows = rows});
    ASSERT_TRUE(placement);
    EXPECT_EQ(placement->decisions[mixture.product].device, rows == kMostTokens ? 0 : 1);
  }
}

TEST(StreamExperts, ExpertIdOutOfRangeFailsTheStepBeforeAnyTransfer) {
  for (const bool asynchronous : {false, true}) {
    const Mixture mixture(Numbers::kComputed);
    TestWorld world;
    Two two(true, asynchronous ? &world : nullptr);
    const auto run = two.run(mixture);
    ASSERT_TRUE(run);
    const std::vector<double> good = {1, 0, 3, 3, 11, 0, 2, 2, 5, 5};
    for (const double wrong : {-1.0, 12.0, 2147483647.0, -2147483648.0}) {
      std::vector<double> experts = good;
      experts[3] = wrong;
      ASSERT_TRUE((*run)->set_inputs(mixture.leaves(experts, 1)));
      const std::size_t before = two.device.received();
      const Status status = (*run)->plan().run();
      ASSERT_FALSE(status);
      EXPECT_EQ(status.error().code(), ErrorCode::kInvalidArgument);
      EXPECT_THAT(status.error().message(),
                  AllOf(HasSubstr("choice (get_rows) holds " +
                                  std::to_string(static_cast<std::int64_t>(wrong)) + " at [1, 1"),
                        HasSubstr("w (expert weight) has slices 0 to 11")));
      EXPECT_LE(two.device.received() - before, other_bytes(mixture, (*run)->plan(), kMostTokens));
    }
    const auto leaves = mixture.leaves(good, 1);
    ASSERT_TRUE((*run)->set_inputs(leaves));
    ASSERT_TRUE((*run)->plan().run());
    EXPECT_LT(nmse(*(*run)->output(mixture.y), mixture.expected(leaves, kMostTokens)), 1e-12);
  }
}

TEST(StreamExperts, OverlappingStepsAreRightInRandomOrders) {
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    const int in_flight = 1 + static_cast<int>(seed % 4);
    const Mixture mixture(seed % 2 == 0 ? Numbers::kSeen : Numbers::kInput);
    TestWorld world(seed);
    Two two(seed % 3 != 0, &world);
    const auto run = two.run(mixture, in_flight);
    ASSERT_TRUE(run) << run.error().message();
    std::mt19937_64 random(seed);
    std::vector<std::pair<std::uint64_t, RefTensor>> started;
    const auto finish = [&] {
      const Status status = (*run)->plan().wait(started.front().first);
      ASSERT_TRUE(status) << status.error().message();
      EXPECT_LT(nmse(*(*run)->output(mixture.y), started.front().second), 1e-12) << seed;
      started.erase(started.begin());
    };
    for (std::uint64_t step = 0; step < 6; ++step) {
      if (static_cast<int>(started.size()) == in_flight) finish();
      std::vector<double> experts(kUsed * kMostTokens);
      for (double& expert : experts) expert = static_cast<double>(random() % kExperts);
      const auto leaves = mixture.leaves(experts, 100 * seed + step);
      ASSERT_TRUE((*run)->set_inputs(leaves));
      const auto number = (*run)->plan().start();
      ASSERT_TRUE(number);
      started.emplace_back(*number, mixture.expected(leaves, kMostTokens));
    }
    while (!started.empty()) finish();
  }
}

TEST(StreamExperts, CopyFailureLosesOnlyItsStep) {
  for (const bool asynchronous : {false, true}) {
    for (const int in_flight : {1, 3}) {
      const Mixture mixture(Numbers::kComputed);
      TestWorld world;
      Two two(true, asynchronous ? &world : nullptr);
      const auto run = two.run(mixture, in_flight);
      ASSERT_TRUE(run);
      // No two are neighbours, so that each of the five is a copy of its own.
      const std::vector<double> experts = {1, 9, 3, 3, 11, 9, 1, 1, 5, 5};
      const auto leaves = mixture.leaves(experts, 1);
      const RefTensor expected = mixture.expected(leaves, kMostTokens);
      std::size_t failed = 0;
      for (std::size_t n = 1; n < 100; ++n) {
        ASSERT_TRUE((*run)->set_inputs(leaves));
        two.device.fail_at({.copy = n});
        const Status status = (*run)->plan().run();
        two.device.fail_at({});
        if (status) break;
        ++failed;
        EXPECT_EQ(status.error().code(), ErrorCode::kDevice);
        EXPECT_THAT(status.error().message(), HasSubstr("copying "));
        ASSERT_TRUE((*run)->set_inputs(leaves));
        const Status again = (*run)->plan().run();
        ASSERT_TRUE(again) << again.error().message();
        EXPECT_LT(nmse(*(*run)->output(mixture.y), expected), 1e-12);
      }
      // In: table and rows at once, x, and the experts; out: the numbers and the result.
      EXPECT_EQ(failed, 2U + 5U + 2U);
    }
  }
}

TEST(StreamExperts, CancelWhileExpertIdsAreComputedEndsTheStep) {
  for (const bool asynchronous : {false, true}) {
    const Mixture mixture(Numbers::kComputed);
    TestWorld world;
    Two two(true, asynchronous ? &world : nullptr);
    const auto run = two.run(mixture);
    ASSERT_TRUE(run);
    const std::vector<double> experts = {1, 9, 3, 3, 11, 9, 1, 1, 5, 5};
    const auto leaves = mixture.leaves(experts, 1);
    ASSERT_TRUE((*run)->set_inputs(leaves));
    std::atomic<bool> cancel = false;
    two.device.on_launch = [&](NodeId) { cancel = true; };
    const Status status = (*run)->plan().run(&cancel);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code(), ErrorCode::kCancelled);
    EXPECT_EQ(two.device.computed(), 0U);
    two.device.on_launch = {};
    ASSERT_TRUE((*run)->plan().run());
    EXPECT_LT(nmse(*(*run)->output(mixture.y), mixture.expected(leaves, kMostTokens)), 1e-12);
  }
}

/// Bytes of a weight that a plan's transfers announce, where `use` computes with it.
std::uint64_t announced(
    const std::function<Result<Value>(GraphBuilder&, Value w, Value x, Value ids)>& use) {
  GraphBuilder g;
  const auto w = g.weight("w", *make_tensor(DType::kF32, {kIn, kOut, kExperts}));
  const auto x = g.input("x", *make_tensor(DType::kF32, {kIn, 1, 2}));
  const auto ids = g.input("ids", *make_tensor(DType::kI32, {2, 2}));
  EXPECT_TRUE(g.output(use(g, *w, *x, *ids), "y"));
  const auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  std::map<NodeId, RefTensor> leaves;
  for (NodeId id = 0; id < graph->size(); ++id) {
    if (!graph->node(id).is_leaf()) continue;
    leaves[id] = RefTensor(max_sizes(graph->node(id).result.shape));
  }
  TestDevice device({.wants = {"matmul", "matmul_id"}});
  TestDevice host({.name = "cpu0", .kind = DeviceKind::kCpu, .host_accessible = true});
  Device* devices[] = {&device, &host};
  const auto run =
      GraphRun::create(graph, devices, leaves, {.weights_on_host = true, .stream_rows = 1});
  EXPECT_TRUE(run) << run.error().message();
  const Status status = (*run)->plan().run();
  EXPECT_TRUE(status) << status.error().message();
  std::uint64_t bytes = 0;
  for (const Segment& segment : (*run)->plan().segments()) {
    for (const Transfer& transfer : segment.transfers) {
      if (transfer.node == w->id) bytes += transfer.bytes;
    }
  }
  return bytes;
}

TEST(StreamExperts, WholeWeightIsTransferredIfTheReadExpertsAreUnknown) {
  const auto gathered = [](GraphBuilder& g, Value w, Value x, Value ids) {
    return matmul_id(g, w, x, ids);
  };
  EXPECT_EQ(announced(gathered), 4 * kExpertBytes);  // two of two tokens: four at most
  const auto of_others = [](GraphBuilder& g, Value w, Value x, Value ids) {
    const auto turned = view(g, ids, {0, 0, 0, 0}, {2, 2});
    return add(g, matmul_id(g, w, x, ids), matmul_id(g, w, x, turned));
  };
  EXPECT_EQ(announced(of_others), kExperts * kExpertBytes);
  const auto of_all = [](GraphBuilder& g, Value w, Value x, Value ids) {
    const auto all = matmul(g, reshape(g, w, {kIn, kOut * kExperts}), reshape(g, x, {kIn, 2}));
    const auto some = reshape(g, matmul_id(g, w, x, ids), {kOut * 2, 2});
    return add(g, view(g, all, {0, 0, 0, 0}, {kOut * 2, 2}), some);
  };
  EXPECT_EQ(announced(of_all), kExperts * kExpertBytes);
}

TEST(StreamExperts, CostsCountTheMostExpertsThatCanBeSelected) {
  const Mixture mixture(Numbers::kInput);
  Two two(false);
  const auto somewhere = host_memory().allocate(kExpertBytes * kExperts);
  const LeafMemory memory[] = {{mixture.w, {somewhere->get(), 0}}};
  const auto facts = PlaceFacts::create(*mixture.graph, two.devices, {.memory = memory});
  ASSERT_TRUE(facts);
  const auto pinned = pin_nodes(*facts, {});
  ASSERT_TRUE(pinned);
  const auto decisions = place_by_rules(*facts, *pinned, 32);
  ASSERT_TRUE(decisions);
  const PlaceProblem made = make_problem(*facts, *pinned, *decisions, CostModel());
  const auto& externals = made.problem.externals;
  const auto sent = std::count_if(externals.begin(), externals.end(), [](const auto& external) {
    return external.bytes == std::min(kExperts, kUsed * kMostTokens) * kExpertBytes;
  });
  EXPECT_EQ(sent, 1);
}

TEST(StreamRows, OnlyGatheredRowsOfATableAreTransferred) {
  GraphBuilder g;
  const auto table = g.weight("table", *make_tensor(DType::kF16, {64, 1000}));
  const auto ids = g.input("ids", *make_tensor(DType::kI64, {40}));
  const auto y = get_rows(g, table, ids);
  ASSERT_TRUE(g.output(y, "y"));
  const auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  std::map<NodeId, RefTensor> leaves;
  leaves[table->id] = make_values({.dtype = DType::kF16, .sizes = {64, 1000, 1, 1}}, 3);
  leaves[ids->id] = RefTensor({40, 1, 1, 1});
  for (std::int64_t i = 0; i < 40; ++i) leaves[ids->id].at(i) = static_cast<double>((i * 77) % 19);
  TestDevice device({.wants = {"get_rows"}});
  TestDevice host({.name = "cpu0", .kind = DeviceKind::kCpu, .host_accessible = true});
  Device* devices[] = {&device, &host};
  const auto run = GraphRun::create(graph, devices, leaves, {.weights_on_host = true});
  ASSERT_TRUE(run) << run.error().message();
  const Status status = (*run)->plan().run();
  ASSERT_TRUE(status) << status.error().message();
  EXPECT_EQ(device.received(), 19U * 64 * 2 + 40 * 8);
  std::vector<RefTensor> by_node(graph->size());
  for (const auto& [id, values] : leaves) by_node[id] = values;
  EXPECT_LT(nmse(*(*run)->output(y->id), (*reference_run(*graph, by_node))[y->id]), 1e-12);
}

}  // namespace
}  // namespace shunt::test::schedule_stream_experts_test
