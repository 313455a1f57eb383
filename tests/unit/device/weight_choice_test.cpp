// Which form a weight gets: the cheapest one that all its users take.
#include "device/weight_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shunt/ops.h"
#include "shunt/plan.h"
#include "support/test_device.h"

namespace shunt::test::device_weight_choice_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

/// Memory with a name and a layout, and no bytes.
class Named final : public BufferType {
 public:
  Named(std::string name, LayoutKind kind)
      : name_(std::move(name)), layout_{.kind = kind, .note = {}} {}
  std::span<const Layout> layouts() const override { return {&layout_, 1}; }
  std::string_view name() const override { return name_; }
  std::size_t alignment() const override { return 64; }
  bool host_accessible() const override { return false; }
  Result<std::unique_ptr<Buffer>> allocate(std::size_t) override {
    return Error(ErrorCode::kInternal, "it has no bytes");
  }

 private:
  std::string name_;
  Layout layout_;
};

/// Offers the forms that a test sets. Ops refuse the memory that it names for them.
class Offering final : public Device {
 public:
  std::vector<WeightCandidate> candidates;
  std::map<std::string, const BufferType*> refuses = {};  ///< by op
  const BufferType* unreadable = nullptr;

  std::string_view name() const override { return "test0"; }
  DeviceInfo info() const override { return inner_.info(); }
  Support supports(const Graph& graph, NodeId id, MemoryOfLeaves memory) const override {
    const Node& node = graph.node(id);
    const auto refused = refuses.find(std::string(node.op->info().name));
    if (refused == refuses.end()) return Support::yes();
    for (const NodeId source : node.sources) {
      if (memory.empty() || memory[graph.node(source).storage] != refused->second) continue;
      return Support::no(Refusal::kLayout, "it reads no tiles");
    }
    return Support::yes();
  }
  bool can_read(const BufferType& type) const override { return &type != unreadable; }
  BufferType& memory() override { return inner_.memory(); }
  std::vector<WeightCandidate> weight_forms(const Graph&, NodeId) override { return candidates; }
  Result<std::unique_ptr<Stream>> open_stream() override { return inner_.open_stream(); }
  Result<std::unique_ptr<Program>> prepare(const SegmentView& segment) override {
    return inner_.prepare(segment);
  }

 private:
  TestDevice inner_{{}};
};

/// y = w x + w, and a weight that nothing uses.
struct Case {
  Case() {
    GraphBuilder g;
    const auto weight = g.weight("w", *make_tensor(DType::kF32, {8, 8}));
    const auto other = g.weight("unused", *make_tensor(DType::kF32, {8, 8}));
    const auto seen = g.weight("seen", *make_tensor(DType::kF32, {8, 8}));
    const auto x = g.input("x", *make_tensor(DType::kF32, {8, 8}));
    EXPECT_TRUE(g.output(add(g, matmul(g, weight, x), weight), "y"));
    EXPECT_TRUE(g.output(matmul(g, reshape(g, seen, {8, 4, 2}), x), "z"));
    w = weight->id;
    unused = other->id;
    viewed = seen->id;
    graph = std::make_unique<const Graph>(*std::move(g).build());
  }
  std::unique_ptr<const Graph> graph;
  NodeId w = 0;
  NodeId unused = 0;
  NodeId viewed = 0;
};

class WeightChoiceTest : public testing::Test {
 protected:
  WeightChoiceTest() {
    device_.candidates = {{&pages_, false, 0.9, "in huge pages"},
                          {&tiles_, false, 0.5, "tiles of 16"},
                          {&int8_, true, 0.25, "8 bits"}};
  }
  WeightChoice choose(bool lossy = false) {
    auto choice = choose_weight_form(device_, *case_.graph, case_.w, lossy);
    EXPECT_TRUE(choice) << choice.error().message();
    return choice.value_or(WeightChoice());
  }
  Named pages_{"pages", LayoutKind::kPlain};
  Named tiles_{"tiles", LayoutKind::kPacked};
  Named int8_{"int8", LayoutKind::kPacked};
  Offering device_;
  Case case_;
};

TEST_F(WeightChoiceTest, PicksTheCheapestForm) {
  EXPECT_EQ(choose().memory, &tiles_);
  EXPECT_FALSE(choose().lossy);
  EXPECT_THAT(choose().dropped, IsEmpty());
}

TEST_F(WeightChoiceTest, PicksALossyFormOnlyIfAllowed) {
  EXPECT_EQ(choose(true).memory, &int8_);
  EXPECT_TRUE(choose(true).lossy);
  device_.candidates[2].cost = 0.7;
  EXPECT_EQ(choose(true).memory, &tiles_) << "it is cheaper";
}

TEST_F(WeightChoiceTest, PicksTheFirstOfEquallyCheapForms) {
  device_.candidates[0].cost = 0.5;
  EXPECT_EQ(choose().memory, &pages_);
}

TEST_F(WeightChoiceTest, DropsAFormThatAUserNodeRejectsWithTheReason) {
  device_.refuses = {{"add", &tiles_}};
  EXPECT_EQ(choose().memory, &pages_);
  EXPECT_THAT(
      choose().dropped,
      ElementsAre(Field(&DroppedForm::reason,
                        AllOf(HasSubstr("w (weight) is not in tiles memory (tiles of 16): "),
                              HasSubstr("(add): it reads no tiles")))));
  EXPECT_EQ(choose().dropped.front().memory, &tiles_);
  device_.candidates.erase(device_.candidates.begin());
  EXPECT_EQ(choose().memory, nullptr);
}

TEST_F(WeightChoiceTest, DeviceWithoutFormsGetsPlainWeights) {
  device_.candidates.clear();
  EXPECT_EQ(choose().memory, nullptr);
  EXPECT_THAT(choose().dropped, IsEmpty());
}

TEST_F(WeightChoiceTest, ViewedOrUnusedWeightStaysPlain) {
  const auto unused = choose_weight_form(device_, *case_.graph, case_.unused, false);
  ASSERT_TRUE(unused);
  EXPECT_EQ(unused->memory, nullptr);
  EXPECT_THAT(unused->dropped,
              testing::Each(Field(&DroppedForm::reason, HasSubstr("nothing uses it"))));
  const auto viewed = choose_weight_form(device_, *case_.graph, case_.viewed, false);
  ASSERT_TRUE(viewed);
  EXPECT_EQ(viewed->memory, &pages_) << "of plain memory there may be views";
  EXPECT_THAT(viewed->dropped,
              ElementsAre(Field(&DroppedForm::reason,
                                AllOf(HasSubstr("tiles memory"), HasSubstr("is a view of it")))));
}

/// Such a node may still be computed there with the weight in another type, or elsewhere.
TEST_F(WeightChoiceTest, ConditionalSupportIsNotARejection) {
  TestDevice device({.wants_types = {{DType::kF32, DType::kQ8_0}},
                     .wants_weight = [](const Graph&, NodeId) { return true; }});
  const auto choice = choose_weight_form(device, *case_.graph, case_.w, false);
  ASSERT_TRUE(choice);
  EXPECT_NE(choice->memory, nullptr);
}

TEST_F(WeightChoiceTest, UnreadableMemoryIsAnError) {
  device_.unreadable = &tiles_;
  const auto choice = choose_weight_form(device_, *case_.graph, case_.w, false);
  ASSERT_FALSE(choice);
  EXPECT_EQ(choice.error().code(), ErrorCode::kInternal);
  EXPECT_EQ(choice.error().message(),
            "test0 offers w (weight) in tiles memory, which it can't read");
}

TEST_F(WeightChoiceTest, FormWithoutMemoryIsAnError) {
  device_.candidates = {{nullptr, false, 0.5, ""}};
  const auto choice = choose_weight_form(device_, *case_.graph, case_.w, false);
  ASSERT_FALSE(choice);
  EXPECT_EQ(choice.error().code(), ErrorCode::kInternal);
  EXPECT_EQ(choice.error().message(), "test0 offers a form of w (weight) without memory");
  EXPECT_EQ(choice.error().device(), "test0");
}

TEST_F(WeightChoiceTest, NaNOrNegativeCostIsAnError) {
  for (const double cost : {std::numeric_limits<double>::quiet_NaN(), -0.5}) {
    device_.candidates = {{&pages_, false, 0.5, ""}, {&tiles_, false, cost, ""}};
    const auto choice = choose_weight_form(device_, *case_.graph, case_.w, false);
    ASSERT_FALSE(choice);
    EXPECT_EQ(choice.error().code(), ErrorCode::kInternal);
    EXPECT_THAT(choice.error().message(),
                AllOf(HasSubstr("test0"), HasSubstr("in tiles memory at a cost of")));
  }
  device_.candidates = {{&tiles_, false, 0, ""}};
  EXPECT_TRUE(choose_weight_form(device_, *case_.graph, case_.w, false));
}

// ---- placement asks about the memory that leaves have

TEST(PlacementOfWeights, NodeThatCannotReadAWeightsLayoutGoesElsewhere) {
  TestDevice test(
      {.wants_weight = [](const Graph&, NodeId) { return true; }, .reads_weights = {"matmul"}});
  TestDevice cpu({.name = "cpu0", .kind = DeviceKind::kCpu, .host_accessible = true});
  Device* const devices[] = {&test, &cpu};
  const Case made;
  const Tensor& tensor = made.graph->node(made.w).result;
  EXPECT_EQ(choose_weight_form(test, *made.graph, made.w, false)->memory, nullptr) << "add";
  BufferType& memory = *test.weight_forms(*made.graph, made.w).front().memory;
  const PlacedTensor placed{tensor, 0};
  const auto packed = *memory.allocate_for(memory.size_of(tensor), {&placed, 1});
  const auto plain = *test.memory().allocate(memory.size_of(tensor));
  for (Buffer* const buffer : {packed.get(), plain.get()}) {
    const LeafMemory leaf{made.w, {buffer, 0}};
    const auto placement = place(*made.graph, devices, {.memory = {&leaf, 1}});
    ASSERT_TRUE(placement) << placement.error().message();
    for (NodeId id = 0; id < made.graph->size(); ++id) {
      const Node& node = made.graph->node(id);
      if (node.op == nullptr || std::ranges::count(node.sources, made.w) == 0) continue;
      const bool refused = node.op == &add_op() && buffer == packed.get();
      EXPECT_EQ(placement->decisions[id].device, refused ? 1 : 0) << made.graph->describe(id);
    }
  }
}

}  // namespace
}  // namespace shunt::test::device_weight_choice_test
