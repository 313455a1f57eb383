// A device reads memory of another device, which writes it afterwards: the copy that the reader
// got is stale from then on, and later readers must get a new one.
#include <gtest/gtest.h>

#include <random>

#include "graph/reference.h"
#include "shunt/ops.h"
#include "shunt/plan.h"
#include "support/all_orders.h"
#include "support/graph_run.h"
#include "support/tensor_io.h"
#include "support/test_device.h"
#include "unit/schedule/ways.h"

namespace shunt::test::schedule_stale_copies_test {

namespace {

constexpr std::int64_t kWidth = 4;
constexpr std::int64_t kRows = 6;
constexpr std::int64_t kWrittenRows = 3;

/// A graph whose memory M is written on a0. b0 (and c0, where a graph has squares) reads it: scale
/// and sqr are ops of these two, every other op is one of a0.
class CaseGraph {
 public:
  Result<Value> leaf(const char* name, std::int64_t rows) {
    return g_.input(name, *make_tensor(DType::kF32, {kWidth, rows}));
  }
  /// M as a cache, or as an activation of a0.
  Result<Value> cache() { return g_.cache("M", *make_tensor(DType::kF32, {kWidth, kRows})); }
  Result<Value> activation() { return silu(g_, leaf("start", kRows)); }
  /// Rows `first` to `first` + count of M.
  Result<Value> window(Operand m, std::int64_t first, std::int64_t count) {
    return view(g_, m, {0, first, 0, 0}, {kWidth, count});
  }

  void read(Operand m) { show(scale(g_, m, {.scale = 0.5F})); }
  void read_on_third_device(Operand m) { show(sqr(g_, m)); }
  /// Writes new rows somewhere into m, and gives m as it is then.
  Result<Value> with_new_rows(Operand m) {
    const auto ids = g_.input("ids", *make_tensor(DType::kI32, {kWrittenRows}));
    return set_rows(g_, m, leaf("rows", kWrittenRows), ids);
  }
  void write_rows(Operand m) {
    const auto written = with_new_rows(m);
    EXPECT_TRUE(written) << written.error().message();
  }
  void write_window(Operand m, std::int64_t row) {
    const auto written = set(g_, m, leaf("part", 2), {0, row, 0, 0});
    EXPECT_TRUE(written) << written.error().message();
  }
  /// Something that a0 computes, and b0 after it.
  void work_of_both() { show(scale(g_, silu(g_, leaf("other", 1)), {.scale = 3})); }

  std::shared_ptr<const Graph> build() {
    auto graph = std::move(g_).build();
    EXPECT_TRUE(graph) << graph.error().message();
    return std::make_shared<const Graph>(std::move(*graph));
  }

 private:
  void show(Operand y) { EXPECT_TRUE(g_.output(y, "y")); }
  GraphBuilder g_;
};

struct GraphCase {
  const char* name;
  void (*add_nodes)(CaseGraph&);
  std::size_t copies;  ///< of M or views of it that a step makes for the devices that read it

  friend void PrintTo(const GraphCase& each, std::ostream* out) { *out << each.name; }
};

const GraphCase kGraphs[] = {
    {"ReadWriteRead",
     [](CaseGraph& g) {
       const auto m = g.cache();
       g.read(m);
       g.write_rows(m);
       g.read(m);
     },
     2},
    {"WriteThroughAView",
     [](CaseGraph& g) {
       const auto m = g.cache();
       g.read(m);
       g.write_rows(g.window(m, 1, 4));
       g.read(m);
     },
     2},
    {"ReadThroughAView",
     [](CaseGraph& g) {
       const auto m = g.cache();
       const auto part = g.window(m, 1, 4);
       g.read(part);
       g.write_rows(m);
       g.read(part);
     },
     2},
    {"WriteThroughAViewOfWhatAnotherWroteIsReadThroughAThird",
     [](CaseGraph& g) {
       const auto m = g.cache();
       const auto part = g.window(m, 0, 5);
       g.read(part);
       g.write_rows(g.window(g.with_new_rows(m), 2, 4));
       g.read(part);
     },
     2},
    {"WriteInALaterSegment",
     [](CaseGraph& g) {
       const auto m = g.cache();
       g.read(m);
       g.work_of_both();
       g.read(m);  // not written yet: the same copy
       g.write_rows(m);
       g.read(m);
     },
     2},
    {"TwoWriters",
     [](CaseGraph& g) {
       const auto m = g.cache();
       g.read(m);
       g.write_rows(m);
       g.read(m);
       g.write_window(m, 3);
       g.read(m);
     },
     3},
    {"TwoWritersWithoutAReadBetween",
     [](CaseGraph& g) {
       const auto m = g.cache();
       g.read(m);
       g.write_rows(m);
       g.write_window(m, 2);
       g.read(m);
     },
     2},
    {"TwoWritersThroughTwoViews",
     [](CaseGraph& g) {
       const auto m = g.cache();
       const auto low = g.window(m, 0, 3);
       const auto high = g.window(m, 3, 3);
       g.read(m);
       g.write_window(low, 1);
       g.read(m);
       g.write_window(high, 1);
       g.read(m);
     },
     3},
    {"AnActivation",
     [](CaseGraph& g) {
       const auto m = g.activation();
       g.read(m);
       g.write_window(m, 2);
       g.read(m);
     },
     2},
};

/// With two readers there are too many orders to try them all.
const GraphCase kGraphsForThreeDevices[] = {
    {"TwoReaders",
     [](CaseGraph& g) {
       const auto m = g.cache();
       g.read(m);
       g.read_on_third_device(m);
       g.write_rows(m);
       g.read_on_third_device(m);
       g.read(m);
     },
     4},
};

const Way kWays[] = {{.name = "Staged"},
                     {.name = "Pinned", .pinned = true},
                     {.name = "Directly", .directly = true},
                     {.name = "WithoutEvents", .events = false}};

struct Devices {
  Devices(TestWorld& world, const Way& way)
      : a(config_of(way, "a0", {"silu", "set_rows", "set"}, world)),
        b(config_of(way, "b0", {"scale"}, world)),
        c(config_of(way, "c0", {"sqr"}, world)),
        host({.name = "cpu0", .kind = DeviceKind::kCpu, .host_accessible = true, .world = &world}) {
  }

  TestDevice a;
  TestDevice b;
  TestDevice c;
  TestDevice host;
  std::vector<Device*> all = {&a, &b, &c, &host};
};

using Leaves = std::map<NodeId, RefTensor>;

/// New values for inputs. A cache keeps those in `last`, if it has them.
Leaves leaves_of(const Graph& graph, std::uint64_t seed, const Leaves& last = {}) {
  Leaves leaves;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    if (!node.is_leaf()) continue;
    const Sizes sizes = max_sizes(node.result.shape);
    if (node.result.dtype == DType::kI32) {  // numbers of rows, none of them twice
      leaves[id] = RefTensor(sizes);
      for (std::int64_t i = 0; i < sizes[0]; ++i) {
        leaves[id].at(i) = static_cast<double>((seed + static_cast<std::uint64_t>(i)) % 4);
      }
    } else if (const auto known = last.find(id); node.role != Role::kInput && known != last.end()) {
      leaves[id] = known->second;
    } else {
      leaves[id] = make_values({.sizes = sizes}, 1000 * seed + id);
    }
  }
  return leaves;
}

/// The results of a graph by the plain reference, by node.
std::vector<RefTensor> all_values(const Graph& graph, const Leaves& leaves) {
  std::vector<RefTensor> by_node(graph.size());
  for (const auto& [id, values] : leaves) by_node[id] = values;
  auto all = reference_run(graph, by_node);
  EXPECT_TRUE(all) << all.error().message();
  return std::move(*all);
}

std::shared_ptr<const Graph> graph_of(const GraphCase& each) {
  CaseGraph made;
  each.add_nodes(made);
  return made.build();
}

/// Starts `steps` steps, each with inputs of its own, up to `in_flight` at once, and checks all
/// outputs of each.
void run_steps(const std::shared_ptr<const Graph>& graph, Devices& devices, int in_flight,
               std::uint64_t steps) {
  Leaves leaves = leaves_of(*graph, 0);
  auto run = GraphRun::create(graph, devices.all, leaves,
                              {.steps_in_flight = in_flight, .by_ability = true});
  ASSERT_TRUE(run) << run.error().message();
  std::vector<std::pair<std::uint64_t, std::vector<RefTensor>>> started;  // number, right values
  const auto finish = [&] {
    const auto [number, right] = std::move(started.front());
    started.erase(started.begin());
    const Status status = (*run)->plan().wait(number);
    ASSERT_TRUE(status) << status.error().message();
    for (std::size_t i = 0; i < graph->outputs().size(); ++i) {
      const NodeId y = graph->outputs()[i];
      EXPECT_LT(nmse(*(*run)->output(y), right[y]), 1e-12) << "step " << number << ", output " << i;
    }
  };
  for (std::uint64_t step = 0; step < steps; ++step) {
    if (static_cast<int>(started.size()) == in_flight) finish();
    ASSERT_TRUE((*run)->set_inputs(leaves));
    const auto number = (*run)->plan().start();
    ASSERT_TRUE(number) << number.error().message();
    started.emplace_back(*number, all_values(*graph, leaves));
    // The next step finds the cache as this one leaves it.
    Leaves after;
    for (const auto& [id, values] : leaves) after[id] = started.back().second[id];
    leaves = leaves_of(*graph, step + 1, after);
  }
  while (!started.empty()) finish();
}

class StaleCopies : public testing::TestWithParam<std::tuple<GraphCase, Way>> {
 protected:
  const GraphCase& graph_case() const { return std::get<0>(GetParam()); }
  const Way& way() const { return std::get<1>(GetParam()); }
};

class StaleCopiesInAllOrders : public StaleCopies {};

TEST_P(StaleCopiesInAllOrders, AreNeverReadInASingleStep) {
  constexpr int kMostOrders = 10'000;
  const auto graph = graph_of(graph_case());
  AllOrders orders;
  int count = 0;
  do {
    TestWorld world([&](std::size_t ready) { return orders.pick(ready); });
    Devices devices(world, way());
    run_steps(graph, devices, 1, 1);
    ASSERT_FALSE(HasFailure()) << "order " << count;
    ASSERT_LT(++count, kMostOrders) << "too many for a test";
  } while (orders.next());
  // Without events each copy waits for its device, so that there may be a single order.
  if (way().events) {
    EXPECT_GT(count, 1) << "one order: nothing could have gone wrong";
  }
  RecordProperty("orders", count);
}

TEST_P(StaleCopies, AreNeverReadInRandomOrdersOfSeveralSteps) {
  const auto graph = graph_of(graph_case());
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    TestWorld world(seed);
    Devices devices(world, way());
    run_steps(graph, devices, 1 + static_cast<int>(seed % 3), 4);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

/// One copy for each content and reader, however often it is read.
TEST_P(StaleCopies, AreReplacedOnlyAfterAWrite) {
  const auto graph = graph_of(graph_case());
  TestWorld world;
  Devices devices(world, way());
  const auto run = GraphRun::create(graph, devices.all, leaves_of(*graph, 0), {.by_ability = true});
  ASSERT_TRUE(run) << run.error().message();
  NodeId memory = kNoNode;
  for (NodeId id = 0; id < graph->size(); ++id) {
    if (graph->node(id).writes_storage) memory = graph->node(id).storage;
  }
  std::size_t copies = 0;
  for (const Segment& segment : (*run)->plan().segments()) {
    for (const Transfer& transfer : segment.transfers) {
      copies += graph->node(transfer.node).storage == memory && transfer.to != 3 ? 1 : 0;
    }
  }
  EXPECT_EQ(copies, graph_case().copies);
}

std::string name_of_case(const testing::TestParamInfo<StaleCopies::ParamType>& test) {
  return std::string(std::get<0>(test.param).name) + "_" + std::get<1>(test.param).name;
}

INSTANTIATE_TEST_SUITE_P(TwoDevices, StaleCopiesInAllOrders,
                         testing::Combine(testing::ValuesIn(kGraphs), testing::ValuesIn(kWays)),
                         name_of_case);
INSTANTIATE_TEST_SUITE_P(TwoDevices, StaleCopies,
                         testing::Combine(testing::ValuesIn(kGraphs), testing::ValuesIn(kWays)),
                         name_of_case);
INSTANTIATE_TEST_SUITE_P(ThreeDevices, StaleCopies,
                         testing::Combine(testing::ValuesIn(kGraphsForThreeDevices),
                                          testing::ValuesIn(kWays)),
                         name_of_case);

}  // namespace
}  // namespace shunt::test::schedule_stale_copies_test
