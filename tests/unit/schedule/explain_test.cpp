// Explanations, and placements as files. Devices are made for the test; none of a backend is
// needed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "schedule/memory/homes.h"
#include "schedule/plan/segments.h"
#include "shunt/costs.h"
#include "shunt/explain.h"
#include "shunt/ops.h"
#include "support/graph_run.h"
#include "support/test_device.h"

namespace shunt::test::schedule_explain_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TestDevice cpu() {
  return TestDevice({.name = "cpu0", .kind = DeviceKind::kCpu, .ops = {}, .host_accessible = true});
}
TestDevice accelerator() {
  return TestDevice({.name = "test0", .ops = {"matmul", "add"}});
}

/// y = x + w2 silu(w1 rms_norm(x)), with x [32, 4]; test0 does matmul and add, the CPU the rest.
class ExplainedStep : public testing::Test {
 protected:
  ExplainedStep() {
    GraphBuilder g;
    const auto x = g.input("x", *make_tensor(DType::kF32, {32, 4}));
    const auto w1 = g.weight("first weight", *make_tensor(DType::kF32, {32, 48}));
    const auto w2 = g.weight("w2", *make_tensor(DType::kF32, {48, 32}));
    const auto first = matmul(g, w1, rms_norm(g, x));
    EXPECT_TRUE(g.name(first, "first"));
    const auto second = matmul(g, w2, silu(g, first));
    EXPECT_TRUE(g.output(add(g, x, second), "y"));
    graph_ = std::make_shared<const Graph>(std::move(*std::move(g).build()));
    auto placement = place(*graph_, devices_);
    EXPECT_TRUE(placement) << placement.error().message();
    placement_ = std::move(*placement);
  }

  /// The node of that op; the first of several.
  NodeId find(std::string_view op) const {
    for (NodeId id = 0; id < graph_->size(); ++id) {
      const Node& node = graph_->node(id);
      if (!node.is_leaf() && node.op->info().name == op) return id;
    }
    return kNoNode;
  }

  TestDevice host_ = cpu();
  TestDevice test_ = accelerator();
  std::vector<Device*> devices_ = {&test_, &host_};
  std::shared_ptr<const Graph> graph_;
  Placement placement_;
};

class Explain : public ExplainedStep {
 protected:
  /// Of a plan that was really compiled.
  Explanation explanation() {
    std::map<NodeId, RefTensor> leaves;
    for (NodeId id = 0; id < graph_->size(); ++id) {
      const Node& node = graph_->node(id);
      if (node.is_leaf()) leaves.emplace(id, RefTensor(max_sizes(node.result.shape)));
    }
    auto run = GraphRun::create(graph_, devices_, leaves);
    EXPECT_TRUE(run) << run.error().message();
    const Plan& plan = (*run)->plan();
    return explain(plan.graph(), plan.placement(), plan.segments());
  }
};

TEST_F(Explain, SegmentsListDeviceNodesAndReason) {
  const Explanation e = explanation();
  ASSERT_EQ(e.segments.size(), 4U);  // rms_norm | matmul | silu | matmul, add
  const auto device_of = [&](std::size_t i) {
    return e.devices[static_cast<std::size_t>(e.segments[i].device)].name;
  };
  EXPECT_EQ(device_of(0), "cpu0");
  EXPECT_EQ(device_of(1), "test0");
  EXPECT_EQ(device_of(2), "cpu0");
  EXPECT_EQ(device_of(3), "test0");
  EXPECT_EQ(e.segments[3].nodes.size(), 2U);
  EXPECT_EQ(e.segments[3].nodes[1].op, "add");
  EXPECT_EQ(e.segments[1].nodes[0].name, "first (matmul)");
  for (const ExplainedSegment& segment : e.segments) {
    const Decision& first = placement_.decisions[segment.nodes.front().id];
    EXPECT_THAT(segment.reason, HasSubstr(std::string(to_string(first.rule))));
  }
  EXPECT_EQ(e.operations, 5U);
}

TEST_F(Explain, CountsTransferBytesAtSourceAndDestination) {
  const Explanation e = explanation();
  ASSERT_EQ(e.segments.size(), 4U);
  EXPECT_EQ(e.segments[0].bytes_in, 0U);
  EXPECT_EQ(e.segments[0].bytes_out, 512U);  // 32 * 4 values of 4 bytes
  EXPECT_EQ(e.segments[1].bytes_in, 512U);
  EXPECT_EQ(e.segments[1].bytes_out, 768U);  // 48 * 4 of them
  EXPECT_EQ(e.segments[2].bytes_in, 768U);
  EXPECT_EQ(e.segments[3].bytes_in, 768U + 512);  // silu's result, and x
  EXPECT_EQ(e.segments[3].bytes_out, 512U);       // the result, brought to the host
  ASSERT_EQ(e.results.size(), 1U);
  EXPECT_EQ(e.results[0].name, "y (add)");
  EXPECT_EQ(e.bytes_copied, 512U + 768 + 768 + 512 + 512);
  EXPECT_EQ(e.bytes_copied, report_fallback(*graph_, placement_).bytes_copied);
  EXPECT_EQ(e.devices[0].bytes_in, 512U + 768 + 512);
  EXPECT_EQ(e.devices[0].bytes_out, 768U + 512);
  EXPECT_EQ(e.devices[1].bytes_in, 768U + 512);
  EXPECT_EQ(e.devices[1].bytes_out, 512U + 768 + 512);
}

TEST_F(Explain, FallbackCarriesTheDevicesReason) {
  const Explanation e = explanation();
  EXPECT_EQ(e.fell_back, 2U);
  EXPECT_EQ(e.segments[2].fell_back, 1U);
  const ExplainedNode& silu = e.segments[2].nodes[0];
  EXPECT_TRUE(silu.fell_back);
  ASSERT_EQ(silu.rejected.size(), 1U);
  EXPECT_EQ(silu.rejected[0].reason, "test0 has no kernel for silu");
  EXPECT_FALSE(e.segments[1].nodes[0].fell_back);
}

TEST_F(Explain, ReportsTotalsPerDevice) {
  const Explanation e = explanation();
  ASSERT_EQ(e.devices.size(), 2U);
  EXPECT_EQ(e.devices[0].operations, 3U);
  EXPECT_EQ(e.devices[0].segments, 2U);
  EXPECT_EQ(e.devices[0].nodes, 5U);  // with its two weights
  EXPECT_EQ(e.devices[0].weight_bytes, 2U * 32 * 48 * 4);
  EXPECT_EQ(e.devices[0].fell_back, 0U);
  EXPECT_EQ(e.devices[1].operations, 2U);
  EXPECT_EQ(e.devices[1].nodes, 3U);  // with x
  EXPECT_EQ(e.devices[1].fell_back, 2U);
}

TEST_F(Explain, PredictedTimesAreThoseOfThePlacement) {
  EXPECT_FALSE(explanation().seconds);
  for (const ExplainedSegment& segment : explanation().segments) EXPECT_FALSE(segment.seconds);
  placement_.predicted_seconds = 9;
  for (Decision& decision : placement_.decisions) decision.seconds = 0.25;
  Segment both;
  both.device = 0;
  both.nodes = {find("matmul"), find("add")};
  const Explanation e = explain(*graph_, placement_, std::span(&both, 1));
  EXPECT_EQ(e.seconds, 9);
  EXPECT_EQ(e.segments[0].seconds, 0.5);
  EXPECT_EQ(e.devices[0].seconds, 0.5);
  EXPECT_FALSE(e.devices[1].seconds);  // it computes nothing
}

// ---- predicted times

/// Seconds that a node takes on a device, whatever its size, and a copy to or from it.
struct Speed {
  std::string device;
  double node = 0;
  double copy = 0;
};
CostModel costs_of(const std::vector<Speed>& speeds) {
  CostModel model;
  for (const Speed& speed : speeds) {
    const std::string description = TestDevice({}).info().description;
    model.add(OpCost{.device = speed.device,
                     .description = description,
                     .op = std::string(kAnyOp),
                     .overhead = speed.node});
    for (bool to : {true, false}) {
      model.add(CopyCost{speed.device, description, to, {speed.copy, 0}});
    }
  }
  return model;
}

/// All that has a predicted time, in the order of the explanation: "a0: y (silu) 1-5", "x (input)
/// cpu0>a0 0-1".
std::vector<std::string> times_of(const Explanation& e, double& last) {
  std::vector<std::string> texts;
  const auto name = [&](int device) { return e.devices[static_cast<std::size_t>(device)].name; };
  const auto add = [&](const std::string& what, const std::optional<ExplainedTime>& when) {
    texts.push_back(when ? fmt::format("{} {}-{}", what, when->start, when->end) : what + " -");
    if (when) last = std::max(last, when->end);
  };
  const auto add_transfers = [&](std::span<const ExplainedTransfer> transfers) {
    for (const ExplainedTransfer& t : transfers)
      add(fmt::format("{} {}>{}", t.name, name(t.from), name(t.to)), t.when);
  };
  for (const ExplainedSegment& segment : e.segments) {
    add_transfers(segment.transfers);
    add(fmt::format("{}: {}", name(segment.device), segment.nodes.front().name), segment.when);
  }
  add_transfers(e.results);
  return texts;
}

TEST(ExplainedTimes, DevicesAndLinksOverlap) {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {16}));
  ASSERT_TRUE(g.output(silu(g, x), "y"));
  ASSERT_TRUE(g.output(scale(g, x, {.scale = 2}), "z"));
  const Graph graph = *std::move(g).build();
  TestDevice host = cpu();
  TestDevice a({.name = "a0", .ops = {"silu"}});
  TestDevice b({.name = "b0", .ops = {"scale"}});
  Device* devices[] = {&a, &b, &host};
  const CostModel costs = costs_of({{"cpu0", 100, 0}, {"a0", 4, 1}, {"b0", 3, 2}});
  const auto placement = place(graph, devices, {.costs = &costs});
  ASSERT_TRUE(placement);
  const SegmentedGraph cut =
      cut_segments(graph, *placement, graph.outputs(), memory_types(graph, *placement));
  const Explanation e = explain(graph, *placement, cut.segments);
  double last = 0;
  // a0: x there in 1 s, 4 s of work, 1 s back; b0: 2 s, 3 s and 2 s, at the same time.
  EXPECT_THAT(times_of(e, last),
              ElementsAre("x (input) cpu0>a0 0-1", "a0: y (silu) 1-5", "x (input) cpu0>b0 0-2",
                          "b0: z (scale) 2-5", "y (silu) a0>cpu0 5-6", "z (scale) b0>cpu0 5-7"));
  EXPECT_EQ(last, 7);
  EXPECT_EQ(placement->predicted_seconds, 7);
  EXPECT_EQ(e.seconds, 7);
}

TEST_F(ExplainedStep, TimesOfAStepThatAlternatesBetweenDevices) {
  // The CPU could take it all, but products and sums take it 1000 s.
  CostModel costs = costs_of({{"cpu0", 1000, 0}, {"test0", 3, 0.5}});
  for (const char* op : {"rms_norm", "silu"}) {
    costs.add(
        OpCost{.device = "cpu0", .description = host_.info().description, .op = op, .overhead = 2});
  }
  placement_ = *place(*graph_, devices_, {.costs = &costs});
  const SegmentedGraph cut =
      cut_segments(*graph_, placement_, graph_->outputs(), memory_types(*graph_, placement_));
  const Explanation e = explain(*graph_, placement_, cut.segments);
  double last = 0;
  EXPECT_THAT(
      times_of(e, last),
      ElementsAre("cpu0: #3 (rms_norm) 0-2", "#3 (rms_norm) cpu0>test0 2-2.5",
                  "test0: first (matmul) 2.5-5.5", "first (matmul) test0>cpu0 5.5-6",
                  "cpu0: #5 (silu) 6-8", "#5 (silu) cpu0>test0 8-8.5",
                  "x (input) cpu0>test0 8.5-9",  // asked for by the sum, while the product runs
                  "test0: #6 (matmul) 8.5-14.5", "y (add) test0>cpu0 14.5-15"));
  EXPECT_EQ(last, 15);
  EXPECT_EQ(placement_.predicted_seconds, 15);
}

TEST(ExplainedTimes, ValueReadThroughAViewIsTransferredOnce) {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {16}));
  const auto y = silu(g, x);
  ASSERT_TRUE(g.name(y, "y"));
  const auto sum = add(g, scale(g, y, {.scale = 2}), y);
  const auto seen = reshape(g, y, {4, 4});
  ASSERT_TRUE(g.output(mul(g, seen, reshape(g, sum, {4, 4})), "z"));
  const Graph graph = *std::move(g).build();
  TestDevice host = cpu();
  TestDevice a({.name = "a0", .ops = {"silu"}});
  Device* devices[] = {&a, &host};
  CostModel costs = costs_of({{"cpu0", 8, 0}, {"a0", 4, 1}});
  costs.add(OpCost{
      .device = "cpu0", .description = host.info().description, .op = "silu", .overhead = 1000});
  const auto placement = place(graph, devices, {.costs = &costs});
  const SegmentedGraph cut =
      cut_segments(graph, *placement, graph.outputs(), memory_types(graph, *placement));
  const Explanation e = explain(graph, *placement, cut.segments);
  double last = 0;
  EXPECT_THAT(times_of(e, last),
              ElementsAre("x (input) cpu0>a0 0-1", "a0: y (silu) 1-5", "y (silu) a0>cpu0 5-6",
                          fmt::format("#{} (reshape) a0>cpu0 -", seen->id),
                          fmt::format("cpu0: #{} (scale) 6-30", y->id + 1)));
  EXPECT_EQ(last, placement->predicted_seconds);
}

TEST_F(Explain, OutputAlreadyCopiedToTheCpuIsNotCopiedAgain) {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {32, 4}));
  const auto w = g.weight("w", *make_tensor(DType::kF32, {32, 32}));
  const auto y = matmul(g, w, x);
  const auto z = silu(g, y);
  ASSERT_TRUE(g.output(y, "y"));
  ASSERT_TRUE(g.output(z, "z"));
  graph_ = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  placement_ = *place(*graph_, devices_);
  const Explanation e = explanation();
  EXPECT_TRUE(e.results.empty());
  EXPECT_EQ(e.bytes_copied, 2U * 512);
  EXPECT_EQ(e.bytes_copied, report_fallback(*graph_, placement_).bytes_copied);
}

// ---- placements as files

using PlacementText = ExplainedStep;

std::string replace(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from << " in\n" << text;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

/// The line of a node.
std::string line_of(const std::string& text, NodeId node) {
  const auto start = text.find("\n" + std::to_string(node) + " ") + 1;
  return text.substr(start, text.find('\n', start) - start);
}

TEST_F(PlacementText, LineHasIdNameOpDeviceAndReason) {
  const std::string text = write_placement(*graph_, placement_);
  EXPECT_THAT(text, testing::StartsWith("# shunt placement 1\n"));
  EXPECT_THAT(line_of(text, find("matmul")),
              AllOf(HasSubstr(" first "), HasSubstr(" matmul "), HasSubstr(" test0 "),
                    HasSubstr("# 768, weights: its weight")));
  EXPECT_THAT(line_of(text, 1), AllOf(HasSubstr("\"first weight\""), HasSubstr(" weight ")));
  EXPECT_THAT(line_of(text, find("silu")), HasSubstr(" - "));  // it has no name
}

TEST_F(PlacementText, RoundTripsAPlacement) {
  const auto file = read_placement(write_placement(*graph_, placement_), "p");
  ASSERT_TRUE(file) << file.error().message();
  const auto followed = place_by_file(*file, *graph_, devices_);
  ASSERT_TRUE(followed) << followed.error().message();
  for (NodeId id = 0; id < graph_->size(); ++id) {
    EXPECT_EQ(followed->decisions[id].device, placement_.decisions[id].device) << id;
  }
  EXPECT_THAT(followed->decisions[find("silu")].reason, HasSubstr("p:"));
  EXPECT_EQ(report_fallback(*graph_, *followed).fell_back, 2U);
}

TEST_F(PlacementText, EscapesArbitraryBytesInNames) {
  GraphBuilder g;
  const std::string odd = "a \"b\" \\ # \n\xff -> \t=";
  const auto x = g.input(odd, *make_tensor(DType::kF32, {4}));
  const auto dash = silu(g, x);
  ASSERT_TRUE(g.output(dash, "-"));
  const Graph graph = *std::move(g).build();
  const Placement placement = *place(graph, devices_);
  const auto file = read_placement(write_placement(graph, placement), "p");
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_EQ(file->lines[0].name, odd);
  EXPECT_EQ(file->lines[1].name, "-");
  EXPECT_TRUE(place_by_file(*file, graph, devices_));
}

TEST_F(PlacementText, EditedDeviceIsUsed) {
  std::string text = write_placement(*graph_, placement_);
  const NodeId sum = find("add");
  const std::string before = line_of(text, sum);
  text = replace(text, before, replace(before, "test0", "cpu0"));
  const auto file = read_placement(text, "p");
  ASSERT_TRUE(file) << file.error().message();
  const auto followed = place_by_file(*file, *graph_, devices_);
  ASSERT_TRUE(followed) << followed.error().message();
  EXPECT_EQ(followed->decisions[sum].device, 1);
}

struct BadText {
  std::string what;
  std::string text;
  std::string message;  ///< a part of it
};
void PrintTo(const BadText& bad, std::ostream* out) {
  *out << bad.what;
}
class BadPlacementText : public testing::TestWithParam<BadText> {};

TEST_P(BadPlacementText, IsRejectedWithFileAndMessage) {
  const auto file = read_placement(GetParam().text, "file.txt");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code(), ErrorCode::kBadFile);
  EXPECT_THAT(file.error().message(), AllOf(HasSubstr("file.txt:"), HasSubstr(GetParam().message)));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadPlacementText,
    testing::Values(
        BadText{"empty", "", "empty"}, BadText{"another file", "GGUF\x03", "first line"},
        BadText{"too few words", "# shunt placement 1\n0 x input # cpu0\n", ":2: "},
        BadText{"too many words", "# shunt placement 1\n\n0 x input cpu0 cpu1\n", ":3: "},
        BadText{"no number", "# shunt placement 1\nzero x input cpu0\n", "zero"},
        BadText{"a negative number", "# shunt placement 1\n-1 x input cpu0\n", "-1"},
        BadText{"no node", "# shunt placement 1\n4294967295 x input cpu0\n", "4294967295"},
        BadText{"a number too large", "# shunt placement 1\n99999999999 x input cpu0\n", "99999"},
        BadText{"twice", "# shunt placement 1\n0 x input cpu0\n0 x input cpu0\n", "line 2 already"},
        BadText{"an open quote", "# shunt placement 1\n0 \"x input cpu0\n", "does not end"},
        BadText{"an unknown escape", "# shunt placement 1\n0 \"\\q\" input cpu0\n", "backslash"},
        BadText{"half an escape", "# shunt placement 1\n0 \"\\x4\" input cpu0\n", "backslash"},
        BadText{"a backslash at the end", "# shunt placement 1\n0 \"\\", "backslash"},
        BadText{"no blank", "# shunt placement 1\n0 \"x\"input cpu0\n", "blank"}));

class InvalidPlacementFile : public ExplainedStep {
 protected:
  /// The message for a file in which a node's line is changed.
  std::string message_for(NodeId node, const std::string& from, const std::string& to) {
    std::string text = write_placement(*graph_, placement_);
    const std::string before = line_of(text, node);
    text = replace(text, before, replace(before, from, to));
    const auto file = read_placement(text, "p");
    EXPECT_TRUE(file) << file.error().message();
    const auto followed = place_by_file(*file, *graph_, devices_);
    if (followed) return "it was followed";
    EXPECT_EQ(followed.error().code(), ErrorCode::kBadFile);
    // Two lines of comments stand before node 0.
    EXPECT_THAT(followed.error().message(),
                HasSubstr("p:" + (to.empty() ? std::string() : std::to_string(node + 3))));
    return followed.error().message();
  }
};

TEST_F(InvalidPlacementFile, UnableDeviceReportsTheReason) {
  EXPECT_THAT(message_for(find("silu"), "cpu0", "test0"),
              AllOf(HasSubstr("silu"), HasSubstr("test0 has no kernel for silu")));
}
TEST_F(InvalidPlacementFile, UnknownDeviceIsNamedWithTheAvailableOnes) {
  EXPECT_THAT(message_for(find("silu"), "cpu0", "warp9"),
              AllOf(HasSubstr("warp9"), HasSubstr("test0, cpu0")));
}
TEST_F(InvalidPlacementFile, InputMustBeOnTheHost) {
  EXPECT_THAT(message_for(0, "cpu0", "test0"), HasSubstr("input"));
}
TEST_F(InvalidPlacementFile, DetectsAnotherModel) {
  EXPECT_THAT(message_for(find("silu"), "silu", "gelu"), HasSubstr("another model"));
  EXPECT_THAT(message_for(find("matmul"), "first", "third"), HasSubstr("another model"));
  EXPECT_THAT(message_for(find("add"), std::to_string(find("add")) + " ", "99 "),
              HasSubstr("no node 99"));
}

TEST_F(InvalidPlacementFile, MissingLineIsReported) {
  const std::string text = write_placement(*graph_, placement_);
  const std::string line = line_of(text, find("silu"));
  const auto file = read_placement(replace(text, line + "\n", ""), "p");
  ASSERT_TRUE(file);
  const auto followed = place_by_file(*file, *graph_, devices_);
  ASSERT_FALSE(followed);
  EXPECT_THAT(followed.error().message(), HasSubstr("no line for node"));
}

/// A cache that is written into and then seen through a view.
TEST(PlacementFileWithMemory, WritersAndViewsMustBeOnTheDeviceOfTheMemory) {
  TestDevice host = cpu();
  TestDevice test({.name = "test0", .ops = {}});
  Device* devices[] = {&test, &host};
  GraphBuilder g;
  const auto cache = g.cache("cache", *make_tensor(DType::kF32, {8, 16}));
  const auto rows = g.input("rows", *make_tensor(DType::kF32, {8, 2}));
  const auto where = g.input("where", *make_tensor(DType::kI64, {2}));
  const auto written = set_rows(g, cache, rows, where);
  const auto seen = reshape(g, written, {128});
  ASSERT_TRUE(g.output(silu(g, seen), "y"));
  const Graph graph = *std::move(g).build();
  const Placement placement = *place(graph, devices);
  const std::string text = write_placement(graph, placement);
  EXPECT_THAT(line_of(text, seen->id), HasSubstr(" = "));

  const auto message_for = [&](NodeId node, const std::string& from, const std::string& to) {
    const std::string line = line_of(text, node);
    const auto file = read_placement(replace(text, line, replace(line, from, to)), "p");
    const auto followed = place_by_file(*file, graph, devices);
    return followed ? "it was followed" : followed.error().message();
  };
  EXPECT_THAT(message_for(written->id, "test0", "cpu0"), HasSubstr("must be on test0"));
  EXPECT_THAT(message_for(seen->id, "= ", "cpu0 "), HasSubstr("is a view of"));
  EXPECT_EQ(message_for(seen->id, "= ", "test0 "), "it was followed");

  // The cache has memory on the host already, but the file places it on test0.
  auto buffer = *host.memory().allocate(8 * 16 * 4);
  const LeafMemory memory[] = {{cache->id, {buffer.get(), 0}}};
  const auto file = read_placement(text, "p");
  const auto followed = place_by_file(*file, graph, devices, memory);
  ASSERT_FALSE(followed);
  EXPECT_THAT(followed.error().message(), HasSubstr("is in"));

  const LeafMemory nowhere[] = {{static_cast<NodeId>(graph.size() + 1000000), {buffer.get(), 0}}};
  const auto wrong = place_by_file(*file, graph, devices, nowhere);
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message(), HasSubstr("not a leaf"));
}

TEST_F(PlacementText, CompareListsMovedNodes) {
  const auto before =
      *read_placement("# shunt placement 1\n0 x input cpu0\n1 - silu test0\n2 - gelu cpu0\n", "a");
  const auto after =
      *read_placement("# shunt placement 1\n0 x input cpu0\n1 - silu cpu0\n2 - relu cpu0\n", "b");
  EXPECT_TRUE(compare_placements(before, before).empty());
  std::vector<std::string> changes;
  for (const PlacementChange& change : compare_placements(before, after)) {
    changes.push_back(std::to_string(change.node) + " " + change.op + " " + change.before + ">" +
                      change.after);
  }
  EXPECT_THAT(changes, ElementsAre("1 silu test0>cpu0", "2 gelu cpu0>", "2 relu >cpu0"));
}

}  // namespace
}  // namespace shunt::test::schedule_explain_test
