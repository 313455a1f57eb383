// Weights that a device needs in another type: how placement uses such an answer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "shunt/costs.h"
#include "shunt/explain.h"
#include "shunt/ops.h"
#include "support/tensor_io.h"
#include "support/test_device.h"

namespace shunt::test::schedule_transcode_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// y = w2 (table[ids] w1), and z = table y: the table has two users.
struct Net {
  std::shared_ptr<const Graph> graph;
  NodeId table = 0, w1 = 0, w2 = 0, rows = 0, first = 0, second = 0, third = 0;
};

Net make_net(DType dtype, std::int64_t scale = 1) {
  Net net;
  GraphBuilder g;
  const auto ids = g.input("ids", *make_tensor(DType::kI32, {4 * scale}));
  const auto table = g.weight("table", *make_tensor(dtype, {64 * scale, 32 * scale}));
  const auto w1 = g.weight("w1", *make_tensor(dtype, {64 * scale, 96 * scale}));
  const auto w2 = g.weight("w2", *make_tensor(dtype, {96 * scale, 64 * scale}));
  const auto rows = get_rows(g, table, ids);
  const auto first = matmul(g, w1, rows);
  EXPECT_TRUE(g.name(first, "first"));
  const auto second = matmul(g, w2, first);
  EXPECT_TRUE(g.name(second, "second"));
  const auto third = matmul(g, table, second);
  EXPECT_TRUE(g.output(third, "third"));
  net = {nullptr, table->id, w1->id, w2->id, rows->id, first->id, second->id, third->id};
  net.graph = std::make_shared<const Graph>(*std::move(g).build());
  return net;
}

TestDevice cpu() {
  return TestDevice({.name = "cpu0", .kind = DeviceKind::kCpu, .host_accessible = true});
}

Placement placed(const Net& net, std::vector<Device*> devices, Transcode transcode,
                 std::vector<Pin> pins = {}) {
  PlaceOptions options;
  options.transcode = transcode;
  options.pins = pins;
  auto placement = place(*net.graph, devices, options);
  EXPECT_TRUE(placement) << placement.error().message();
  return placement ? std::move(*placement) : Placement();
}

std::string refusal(const Net& net, std::vector<Device*> devices, Transcode transcode,
                    std::vector<Pin> pins) {
  PlaceOptions options;
  options.transcode = transcode;
  options.pins = pins;
  const auto placement = place(*net.graph, devices, options);
  EXPECT_FALSE(placement);
  return placement ? std::string() : placement.error().message();
}

struct Wanted {
  NodeId leaf = 0;
  DType to = DType::kF32;
  int device = 0;
  bool operator==(const Wanted&) const = default;
};
std::vector<Wanted> wanted(const Placement& placement) {
  std::vector<Wanted> all;
  for (const Conversion& each : placement.conversions)
    all.push_back({each.leaf, each.to, each.device});
  return all;
}

/// Why the first device does not compute a node.
const RejectedCandidate& why_not(const Placement& placement, NodeId node) {
  return placement.decisions[node].rejected.at(0);
}

TEST(Transcode, DeviceWithoutATypeGetsWeightsInAnAsPreciseType) {
  const Net net = make_net(DType::kQ8_0);
  TestDevice host = cpu();
  TestDevice test({.wants_types = {{DType::kQ8_0, DType::kF16}}});
  const Placement placement = placed(net, {&test, &host}, Transcode::kPrecise);
  EXPECT_EQ(wanted(placement),
            (std::vector<Wanted>{
                {net.table, DType::kF16, 0}, {net.w1, DType::kF16, 0}, {net.w2, DType::kF16, 0}}));
  EXPECT_EQ(placement.conversions[1].from, DType::kQ8_0);
  EXPECT_EQ(placement.conversions[1].reason, "test0 supports w of matmul only in this type");
  for (NodeId id : {net.rows, net.first, net.second, net.third})
    EXPECT_EQ(placement.decisions[id].device, 0);
  EXPECT_THAT(placement.decisions[net.w1].reason,
              HasSubstr(", as F16 instead of Q8_0 (test0 supports w of matmul only in this type)"));
  EXPECT_EQ(report_fallback(*net.graph, placement).fell_back, 0U);
}

TEST(Transcode, NothingIsTranscodedUnlessADeviceWantsAnotherType) {
  const Net net = make_net(DType::kQ8_0);
  TestDevice host = cpu();
  TestDevice test({});
  EXPECT_THAT(placed(net, {&test, &host}, Transcode::kLossy).conversions, IsEmpty());
  EXPECT_THAT(placed(net, {&host}, Transcode::kLossy).conversions, IsEmpty());
}

TEST(Transcode, NoneFallsBackToTheCpuAndTheLineNamesTheFlag) {
  const Net net = make_net(DType::kQ8_0);
  TestDevice host = cpu();
  TestDevice test({.ops = {"matmul"}, .wants_types = {{DType::kQ8_0, DType::kF16}}});
  const Placement placement = placed(net, {&test, &host}, Transcode::kNone);
  EXPECT_THAT(placement.conversions, IsEmpty());
  EXPECT_EQ(placement.decisions[net.first].device, 1);
  EXPECT_EQ(why_not(placement, net.first).refusal, Refusal::kType);
  EXPECT_EQ(why_not(placement, net.first).reason,
            "test0 needs w as F16 instead of Q8_0; transcoding is off");
  EXPECT_EQ(why_not(placement, net.first).remedy, "--transcode precise");
  EXPECT_EQ(why_not(placement, net.rows).remedy, "");
  FallbackReport report = report_fallback(*net.graph, placement);
  ASSERT_EQ(report.fallbacks.size(), 2U);
  EXPECT_THAT(to_line(report),
              HasSubstr("the first is get_rows: test0 has no kernel for get_rows; a "
                        "kernel for it would change that, and --transcode precise "
                        "for 3 others (shunt explain"));
  report.fallbacks.erase(report.fallbacks.begin());  // get_rows, for want of a kernel
  EXPECT_THAT(to_line(report),
              HasSubstr("the first is matmul: test0 needs w as F16 instead of Q8_0; transcoding is "
                        "off; --transcode precise would change that"));
}

TEST(Transcode, LessPreciseTypeNeedsLossy) {
  const Net net = make_net(DType::kF32);
  TestDevice host = cpu();
  TestDevice test({.wants_types = {{DType::kF32, DType::kQ8_0}}});
  for (const Transcode transcode : {Transcode::kNone, Transcode::kPrecise}) {
    const Placement placement = placed(net, {&test, &host}, transcode);
    EXPECT_THAT(placement.conversions, IsEmpty());
    EXPECT_EQ(why_not(placement, net.first).remedy, "--transcode lossy");
  }
  EXPECT_EQ(why_not(placed(net, {&test, &host}, Transcode::kPrecise), net.first).reason,
            "test0 needs w as Q8_0 instead of F32; that type is less precise");
  EXPECT_EQ(placed(net, {&test, &host}, Transcode::kLossy).conversions.size(), 3U);
}

TEST(Transcode, DevicesMayWantDifferentTypes) {
  const Net net = make_net(DType::kQ4_0);
  TestDevice host = cpu();
  TestDevice first({.name = "test0", .wants_types = {{DType::kQ4_0, DType::kF16}}});
  TestDevice second({.name = "test1", .wants_types = {{DType::kQ4_0, DType::kQ8_0}}});
  const Placement placement =
      placed(net, {&first, &second, &host}, Transcode::kPrecise, {{"w2", "test1"}});
  EXPECT_EQ(wanted(placement),
            (std::vector<Wanted>{
                {net.table, DType::kF16, 0}, {net.w1, DType::kF16, 0}, {net.w2, DType::kQ8_0, 1}}));
  EXPECT_EQ(placement.decisions[net.first].device, 0);
  EXPECT_EQ(placement.decisions[net.second].device, 1);
  EXPECT_EQ(placement.decisions[net.third].device, 0);
}

// ---- users of one weight

/// Says yes to matmul with F16 only, and to get_rows with some types only.
TestDeviceConfig choosy(std::set<DType> rows) {
  TestDeviceConfig config;
  config.answer = [rows = std::move(rows)](const Graph& graph, NodeId id) {
    const Node& node = graph.node(id);
    const DType dtype = graph.node(node.sources[0]).result.dtype;
    if (node.op->info().name == "get_rows") {
      return rows.contains(dtype) ? Support::yes() : Support::no(Refusal::kType, "no such rows");
    }
    return dtype == DType::kF16 ? Support::yes() : Support::yes_if(0, DType::kF16);
  };
  return config;
}

TEST(Transcode, WeightIsTranscodedIfAllItsUsersAcceptTheNewType) {
  const Net net = make_net(DType::kQ8_0);
  TestDevice host = cpu();
  TestDevice test(choosy({DType::kQ8_0, DType::kF16}));
  const Placement placement = placed(net, {&test, &host}, Transcode::kPrecise);
  EXPECT_EQ(placement.conversions.size(), 3U);
  EXPECT_EQ(placement.decisions[net.table].device, 0);
}

TEST(Transcode, WeightKeepsItsTypeIfOneUserNeedsIt) {
  const Net net = make_net(DType::kQ8_0);
  TestDevice host = cpu();
  TestDevice test(choosy({DType::kQ8_0}));
  const Placement placement = placed(net, {&test, &host}, Transcode::kPrecise);
  EXPECT_EQ(wanted(placement),
            (std::vector<Wanted>{{net.w1, DType::kF16, 0}, {net.w2, DType::kF16, 0}}));
  EXPECT_EQ(placement.decisions[net.third].device, 1);
  EXPECT_EQ(
      why_not(placement, net.third).reason,
      "test0 needs w as F16 instead of Q8_0; with that type it refuses get_rows: no such rows");
}

TEST(Transcode, WeightThatTheCpuNeedsKeepsItsTypeThere) {
  const Net net = make_net(DType::kQ8_0);
  TestDevice host = cpu();
  TestDevice test({.ops = {"matmul"}, .wants_types = {{DType::kQ8_0, DType::kF16}}});
  const Placement placement = placed(net, {&test, &host}, Transcode::kPrecise);
  EXPECT_EQ(wanted(placement),
            (std::vector<Wanted>{{net.w1, DType::kF16, 0}, {net.w2, DType::kF16, 0}}));
  EXPECT_EQ(placement.decisions[net.table].device, 1);
  EXPECT_EQ(placement.decisions[net.rows].device, 1);
  EXPECT_EQ(placement.decisions[net.third].device, 1);  // as it is, test0 can't use it
}

TEST(Transcode, UsersThatWantDifferentTypesPreventTranscoding) {
  const Net net = make_net(DType::kQ4_0);
  TestDevice host = cpu();
  TestDeviceConfig config;
  config.answer = [](const Graph& graph, NodeId id) {
    const Node& node = graph.node(id);
    const DType want = node.op->info().name == "get_rows" ? DType::kQ8_0 : DType::kF16;
    return graph.node(node.sources[0]).result.dtype == want ? Support::yes()
                                                            : Support::yes_if(0, want);
  };
  TestDevice test(config);
  const Placement placement = placed(net, {&test, &host}, Transcode::kPrecise);
  EXPECT_EQ(wanted(placement),
            (std::vector<Wanted>{{net.w1, DType::kF16, 0}, {net.w2, DType::kF16, 0}}));
  EXPECT_EQ(
      why_not(placement, net.rows).reason,
      "test0 needs table as Q8_0 instead of Q4_0; other ops on this device need the weight as F16");
}

// ---- answers that make no sense

struct Nonsense {
  const char* name;
  std::function<Support(const Graph&, NodeId)> answer;
  std::string reason;  // of "first" not being there
};

class TranscodeNonsense : public ::testing::TestWithParam<Nonsense> {};

TEST_P(TranscodeNonsense, FallsBackWithTheReason) {
  const Net net = make_net(DType::kQ8_0);
  TestDevice host = cpu();
  TestDeviceConfig config;
  config.ops = {"matmul"};
  config.answer = GetParam().answer;
  TestDevice test(config);
  const Placement placement = placed(net, {&test, &host}, Transcode::kLossy);
  EXPECT_THAT(placement.conversions, IsEmpty());
  EXPECT_EQ(placement.decisions[net.first].device, 1);
  EXPECT_THAT(why_not(placement, net.first).reason, HasSubstr(GetParam().reason));
}

DType type_of_source(const Graph& graph, NodeId id) {
  return graph.node(graph.node(id).sources[0]).result.dtype;
}

INSTANTIATE_TEST_SUITE_P(
    All, TranscodeNonsense,
    ::testing::Values(Nonsense{"Breaks its promise",
                               [](const Graph& graph, NodeId id) {
                                 return type_of_source(graph, id) == DType::kQ8_0
                                            ? Support::yes_if(0, DType::kF16)
                                            : Support::no(Refusal::kType, "I changed my mind");
                               },
                               "with that type it refuses matmul: I changed my mind"},
                      Nonsense{"Is never content",
                               [](const Graph& graph, NodeId id) {
                                 return Support::yes_if(0, type_of_source(graph, id) == DType::kF16
                                                               ? DType::kF32
                                                               : DType::kF16);
                               },
                               "with F16 it asks for another type"},
                      Nonsense{"Wants what it has",
                               [](const Graph& graph, NodeId id) {
                                 return Support::yes_if(0, type_of_source(graph, id));
                               },
                               "with Q8_0 it asks for another type"},
                      Nonsense{"Wants an activation in another type",
                               [](const Graph&, NodeId) { return Support::yes_if(1, DType::kF16); },
                               "test0 needs x as F16 instead of F32; only weights are transcoded"},
                      Nonsense{"Wants a source that there is not",
                               [](const Graph&, NodeId) { return Support::yes_if(7, DType::kF16); },
                               "test0 needs source 7 as F16; only weights are transcoded"},
                      Nonsense{"Wants whole numbers",
                               [](const Graph&, NodeId) { return Support::yes_if(0, DType::kI8); },
                               "integers are not transcoded"}),
    [](const auto& each) {
      std::string name = each.param.name;
      std::ranges::replace(name, ' ', '_');
      return name;
    });

TEST(Transcode, WantedTypeThatAnOpRejectsDoesNotAffectOtherOps) {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {64, 4}));
  const auto norm = g.weight("norm", *make_tensor(DType::kF32, {64}));
  const auto odd = g.weight("odd", *make_tensor(DType::kF32, {64, 33}));
  const auto scaled = mul(g, x, norm);
  const auto product = matmul(g, odd, scaled);
  const auto last = g.weight("last", *make_tensor(DType::kF32, {33, 2}));
  const auto y = matmul(g, last, product);
  EXPECT_TRUE(g.output(y, "y"));
  const Graph graph = *std::move(g).build();
  TestDevice host = cpu();
  TestDevice test({.wants_types = {{DType::kF32, DType::kQ8_0}}});
  Device* const devices[] = {&test, &host};
  PlaceOptions options;
  options.transcode = Transcode::kLossy;
  const auto placement = place(graph, devices, options);
  ASSERT_TRUE(placement) << placement.error().message();
  EXPECT_EQ(wanted(*placement), (std::vector<Wanted>{{odd->id, DType::kQ8_0, 0}}));
  EXPECT_THAT(why_not(*placement, scaled->id).reason, HasSubstr("mul does not accept that type"));
  EXPECT_THAT(why_not(*placement, y->id).reason, HasSubstr("33"));  // a row is no whole blocks
}

TEST(Transcode, AllocatedWeightsKeepTheirType) {
  const Net net = make_net(DType::kQ8_0);
  TestDevice host = cpu();
  TestDevice test({.wants_types = {{DType::kQ8_0, DType::kF16}}});
  const auto w1 = test.memory().allocate(64 * 96 * 2);
  const LeafMemory memory[] = {{net.w1, {w1->get(), 0}}};
  Device* const devices[] = {&test, &host};
  PlaceOptions options;
  options.memory = memory;
  options.transcode = Transcode::kPrecise;
  const auto placement = place(*net.graph, devices, options);
  ASSERT_TRUE(placement) << placement.error().message();
  EXPECT_EQ(wanted(*placement),
            (std::vector<Wanted>{{net.table, DType::kF16, 0}, {net.w2, DType::kF16, 0}}));
  EXPECT_EQ(placement->decisions[net.first].device, 1);
  EXPECT_EQ(why_not(*placement, net.first).refusal, Refusal::kCost);
}

/// Computes in the host's own memory, as BLAS does.
class Helper final : public Device {
 public:
  std::string_view name() const override { return inside_.name(); }
  DeviceInfo info() const override { return inside_.info(); }
  Support supports(const Graph& graph, NodeId node, MemoryOfLeaves memory) const override {
    return inside_.supports(graph, node, memory);
  }
  bool can_read(const BufferType& type) const override { return type.host_accessible(); }
  BufferType& memory() override { return host_memory(); }
  Result<std::unique_ptr<Stream>> open_stream() override { return inside_.open_stream(); }
  Result<std::unique_ptr<Program>> prepare(const SegmentView& segment) override {
    return inside_.prepare(segment);
  }

 private:
  TestDevice inside_{{.name = "blas0", .wants_types = {{DType::kQ8_0, DType::kF32}}}};
};

TEST(Transcode, DeviceInHostMemoryUsesWeightsInTheirFileType) {
  const Net net = make_net(DType::kQ8_0);
  TestDevice host = cpu();
  Helper helper;
  const Placement placement = placed(net, {&helper, &host}, Transcode::kLossy);
  EXPECT_THAT(placement.conversions, IsEmpty());
  EXPECT_THAT(why_not(placement, net.first).reason, HasSubstr("keep the file's type"));
}

// ---- what the user wants

TEST(Transcode, PinnedOpPullsItsTranscodedWeightAlong) {
  const Net net = make_net(DType::kQ8_0);
  TestDevice host = cpu();
  TestDevice test({.ops = {"matmul"}, .wants_types = {{DType::kQ8_0, DType::kF16}}});
  const Placement placement =
      placed(net, {&test, &host}, Transcode::kPrecise, {{"third", "test0"}});
  EXPECT_EQ(placement.decisions[net.third].device, 0);
  EXPECT_EQ(placement.decisions[net.table].device, 0);
  EXPECT_EQ(placement.decisions[net.table].rule, Rule::kPinned);
  EXPECT_EQ(placement.decisions[net.rows].device, 1);  // the CPU takes F16 as well
  EXPECT_EQ(wanted(placement).front(), (Wanted{net.table, DType::kF16, 0}));
}

TEST(Transcode, ImpossiblePinReportsTheReason) {
  const Net net = make_net(DType::kQ8_0);
  TestDevice host = cpu();
  TestDevice test({.wants_types = {{DType::kQ8_0, DType::kF16}}});
  EXPECT_THAT(
      refusal(net, {&test, &host}, Transcode::kNone, {{"first", "test0"}}),
      AllOf(HasSubstr("the pin first=test0 can't be applied: first (matmul) can't run on test0"),
            HasSubstr("transcoding is off (see --transcode precise)")));
  EXPECT_THAT(
      refusal(net, {&test, &host}, Transcode::kPrecise, {{"first", "test0"}, {"w1", "cpu0"}}),
      HasSubstr("first (matmul) needs w1 (weight) as F16 on test0, but the pin w1=cpu0 puts "
                "it on cpu0, where it is Q8_0"));
  TestDevice other({.name = "test1"});  // takes Q8_0, as it is
  EXPECT_THAT(refusal(net, {&test, &other, &host}, Transcode::kPrecise,
                      {{"third", "test0"}, {"table", "test1"}}),
              HasSubstr("where it is Q8_0"));
}

TEST(Transcode, PinnedWeightHasTheTypeThatItsDeviceWants) {
  const Net net = make_net(DType::kQ8_0);
  TestDevice host = cpu();
  TestDevice test({.name = "test0"});
  TestDevice other({.name = "test1", .wants_types = {{DType::kQ8_0, DType::kF16}}});
  const Placement placement =
      placed(net, {&test, &other, &host}, Transcode::kPrecise, {{"w1", "test1"}});
  EXPECT_EQ(wanted(placement), (std::vector<Wanted>{{net.w1, DType::kF16, 1}}));
  EXPECT_EQ(placement.decisions[net.first].device, 1);  // test0 would need it as it is
  EXPECT_EQ(placement.decisions[net.second].device, 0);
}

TEST(Transcode, WeightReadOnlyByTheCpuIsNotTranscoded) {
  const Net net = make_net(DType::kQ8_0);
  TestDevice host = cpu();
  TestDevice test({.wants_types = {{DType::kQ8_0, DType::kF16}}});
  const Placement placement =
      placed(net, {&test, &host}, Transcode::kPrecise, {{"w1", "test0"}, {"first", "cpu0"}});
  EXPECT_EQ(wanted(placement),
            (std::vector<Wanted>{{net.table, DType::kF16, 0}, {net.w2, DType::kF16, 0}}));
}

TEST(Transcode, PlacementByCostsIncludesTranscodedWeights) {
  const Net net = make_net(DType::kQ8_0, 64);  // large enough for a GPU to be worth it
  TestDevice host = cpu();
  TestDevice test(
      {.kind = DeviceKind::kGpu, .ops = {"matmul"}, .wants_types = {{DType::kQ8_0, DType::kF16}}});
  Device* const devices[] = {&test, &host};
  const CostModel costs;
  PlaceOptions options;
  options.transcode = Transcode::kPrecise;
  options.costs = &costs;
  const auto placement = place(*net.graph, devices, options);
  ASSERT_TRUE(placement) << placement.error().message();
  EXPECT_FALSE(placement->conversions.empty());
  // With any decision, each op that needs a weight in F16 gets it in F16.
  for (const auto& [op, weight] :
       {std::pair(net.first, net.w1), {net.second, net.w2}, {net.third, net.table}}) {
    const bool there = placement->decisions[op].device == 0;
    const auto has = std::ranges::count(placement->conversions, weight, &Conversion::leaf);
    EXPECT_EQ(has, there ? 1 : 0);
    EXPECT_TRUE(!there || placement->decisions[weight].device == 0);
  }
}

// ---- placements as files

TEST(Transcode, PlacementFileIsFollowedOrTheErrorNamesTheLine) {
  const Net net = make_net(DType::kQ8_0);
  TestDevice host = cpu();
  TestDevice test({.ops = {"matmul"}, .wants_types = {{DType::kQ8_0, DType::kF16}}});
  std::vector<Device*> devices = {&test, &host};
  const Placement placement = placed(net, devices, Transcode::kPrecise);
  const std::string text = write_placement(*net.graph, placement);
  EXPECT_THAT(text, HasSubstr("as F16 instead of Q8_0"));
  const auto follow = [&](const std::string& edited, Transcode transcode) {
    return place_by_file(*read_placement(edited, "a.placement"), *net.graph, devices, {}, nullptr,
                         transcode);
  };
  const auto followed = follow(text, Transcode::kPrecise);
  ASSERT_TRUE(followed) << followed.error().message();
  EXPECT_EQ(wanted(*followed), wanted(placement));
  for (NodeId id = 0; id < net.graph->size(); ++id)
    EXPECT_EQ(followed->decisions[id].device, placement.decisions[id].device);

  const auto never = follow(text, Transcode::kNone);
  ASSERT_FALSE(never);
  EXPECT_THAT(never.error().message(),
              AllOf(HasSubstr("a.placement:"), HasSubstr("test0 can't compute first (matmul)"),
                    HasSubstr("(see --transcode precise)")));

  std::string edited = text;
  const std::size_t line = edited.find(" w1 ");
  edited.replace(edited.find("test0", line), 5, "cpu0 ");
  const auto moved = follow(edited, Transcode::kPrecise);
  ASSERT_FALSE(moved);
  EXPECT_THAT(
      moved.error().message(),
      HasSubstr("first (matmul) needs w1 (weight) as F16 on test0, but on cpu0 it is Q8_0"));
}

// ---- running it

TEST(Transcode, PlanNeedsTheGraphWithTheTranscodedTypes) {
  const Net net = make_net(DType::kQ8_0);
  TestDevice host = cpu();
  TestDevice test({.wants_types = {{DType::kQ8_0, DType::kF16}}});
  std::vector<Device*> devices = {&test, &host};
  Placement placement = placed(net, devices, Transcode::kPrecise);
  const auto undone = compile(net.graph, placement, {});
  ASSERT_FALSE(undone);
  EXPECT_EQ(undone.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(undone.error().message(),
              HasSubstr("table (weight) is Q8_0, but the placement needs it as F16"));

  std::vector<LeafType> types;
  for (const Conversion& each : placement.conversions) types.push_back({each.leaf, each.to});
  const auto typed = std::make_shared<const Graph>(*with_types(*net.graph, types));
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::vector<LeafMemory> memory;
  for (const LeafType& type : types) {
    const Tensor& tensor = typed->node(type.leaf).result;
    std::vector<std::byte> bytes(static_cast<std::size_t>(byte_span(tensor)));
    write_tensor(make_values({.sizes = max_sizes(tensor.shape)}, type.leaf), tensor, bytes.data());
    buffers.push_back(*test.memory().allocate(bytes.size()));
    ASSERT_TRUE(buffers.back()->write(0, bytes));
    memory.push_back({type.leaf, {buffers.back().get(), 0}});
  }
  CompileOptions options;
  options.memory = memory;
  options.steps_in_flight = 1;
  const auto plan = compile(typed, placement, options);
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_TRUE((*plan)->run());
  EXPECT_EQ(test.computed(), 4U);
}

TEST(Transcode, LinesAreGroupedByDeviceAndTypes) {
  TranscodedWeight weight;
  weight.device = "test0";
  weight.from = DType::kQ4_0;
  weight.to = DType::kQ8_0;
  weight.bytes_before = 18 << 20;
  weight.bytes = 34 << 20;
  weight.reason = "test0 supports w of matmul only in this type";
  TranscodedWeight other = weight;
  other.to = DType::kF16;
  std::vector<TranscodedWeight> weights = {weight, other, weight};
  EXPECT_EQ(to_lines(weights),
            (std::vector<std::string>{"test0: 2 weights come as Q8_0 instead of Q4_0 (test0 "
                                      "supports w of matmul only in this type), "
                                      "32.0 MiB more",
                                      "test0: 1 weight comes as F16 instead of Q4_0 (test0 "
                                      "supports w of matmul only in this type), "
                                      "16.0 MiB more"}));
  // 1 of 1000 and 3 of 1000: 4 of 2000.
  weights = {weight, weight};
  weights[0].error = TranscodeError{1, 1000, 0};
  weights[1].error = TranscodeError{3, 1000, 0};
  std::swap(weights[1].bytes, weights[1].bytes_before);
  EXPECT_EQ(to_lines(weights), (std::vector<std::string>{
                                   "test0: 2 weights came as Q8_0 instead of Q4_0: error 2.0e-03 "
                                   "(normalised mean square), 0 bytes more"}));
  weights.resize(1);
  weights[0].error = TranscodeError{0, 5, 0};
  weights[0].bytes = 1 << 20;
  EXPECT_EQ(to_lines(weights),
            (std::vector<std::string>{
                "test0: 1 weight came as Q8_0 instead of Q4_0, exactly, 17.0 MiB less"}));
}

}  // namespace
}  // namespace shunt::test::schedule_transcode_test
