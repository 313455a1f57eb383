// Which nodes of a segment are fused, with a pattern for add followed by mul.
#include "backend_support/fusion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "shunt/ops.h"

namespace shunt::test::backend_support_fusion_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Toy {};
const Toy kToy;
using Group = Fused<Toy>;

/// (a + b) * c, where the product is the only reader of the sum.
std::optional<Group> scaled_sum(const Surroundings& around, NodeId sum) {
  if (around.node(sum).op != &add_op()) return {};
  const NodeId product = around.only_reader(sum, mul_op());
  if (product == kNoNode) return {};
  const auto& sources = around.node(sum).sources;
  const auto& factors = around.node(product).sources;
  const NodeId factor = factors[0] == sum ? factors[1] : factors[0];
  return Group{
      {.asked = sum, .last = product, .inside = {sum}, .sources = {sources[0], sources[1], factor}},
      &kToy};
}

/// The same, but the sum is in memory, too, so that later nodes may read it.
std::optional<Group> written_sum(const Surroundings& around, NodeId sum) {
  if (around.node(sum).op != &add_op()) return {};
  for (const NodeId product : around.readers(sum)) {
    if (around.node(product).op != &mul_op()) continue;
    Group group{{.asked = sum, .last = product, .inside = {sum}}, &kToy};
    group.sources = around.node(sum).sources;
    group.written = sum;
    return group;
  }
  return {};
}

/// A product and the sum that it reads, wherever that is computed.
std::optional<Group> sum_before(const Surroundings& around, NodeId product) {
  if (around.node(product).op != &mul_op()) return {};
  const NodeId sum = around.node(product).sources[0];
  return Group{{.asked = product, .last = product, .inside = {sum}}, &kToy};
}

/// A graph of [4, 3] tensors, in one segment by default.
struct Case {
  GraphBuilder g;
  std::set<NodeId> live_out;

  Value input() { return *g.input("x", *make_tensor(DType::kF32, {4, 3})); }

  std::vector<std::vector<NodeId>> fused(std::optional<Group> (*pattern)(const Surroundings&,
                                                                         NodeId),
                                         NodeId first = 0, NodeId last = kNoNode) {
    return fused_by(
        std::vector{pattern}, [](const Group&) { return true; }, first, last);
  }
  template <class Patterns, class Reads>
  std::vector<std::vector<NodeId>> fused_by(const Patterns& patterns, Reads reads, NodeId first = 0,
                                            NodeId last = kNoNode) {
    const Graph& graph = g.graph();
    std::vector<NodeId> nodes;
    for (NodeId id = first; id < std::min<NodeId>(last, graph.size()); ++id) {
      if (is_computed(graph.node(id))) nodes.push_back(id);
    }
    const auto is_live_out = std::make_unique<bool[]>(graph.size());
    for (const NodeId id : live_out) is_live_out[id] = true;
    const Fusions<Toy> fusions({graph, nodes, {is_live_out.get(), graph.size()}}, patterns, reads);
    std::vector<std::vector<NodeId>> groups;
    for (const Group& group : fusions.all()) {
      EXPECT_EQ(fusions.ending_at(group.last), &group);
      EXPECT_EQ(group.kernel, &kToy);
      for (const NodeId id : group.inside) EXPECT_TRUE(fusions.is_inside(id));
      EXPECT_FALSE(fusions.is_inside(group.last));
      groups.push_back(group.inside);
      groups.back().push_back(group.last);
    }
    return groups;
  }
};

/// x + x, which the tests multiply by x.
struct Doubled : Case {
  const Value x = input();
  const Value sum = *add(g, x, x);
};

TEST(Fusion, FindsEachGroupOfASegment) {
  Case c;
  const Value x = c.input();
  const Value first = *add(c.g, x, x);
  const Value one = *mul(c.g, first, x);
  const Value second = *add(c.g, one, x);
  const Value two = *mul(c.g, x, second);
  EXPECT_THAT(c.fused(scaled_sum),
              ElementsAre(ElementsAre(first.id, one.id), ElementsAre(second.id, two.id)));
}

TEST(Fusion, KeptResultIsNotFused) {
  Doubled c;
  (void)*mul(c.g, c.sum, c.x);
  c.live_out = {c.sum.id};
  EXPECT_THAT(c.fused(scaled_sum), IsEmpty());
  EXPECT_THAT(c.fused(written_sum), IsEmpty());
}

TEST(Fusion, ResultWithTwoReadersIsFusedOnlyIfWrittenToMemory) {
  Doubled c;
  const Value product = *mul(c.g, c.sum, c.x);
  (void)*neg(c.g, *reshape(c.g, c.sum, {12}));  // reads it through a view, later
  EXPECT_THAT(c.fused(scaled_sum), IsEmpty());
  EXPECT_THAT(c.fused(written_sum), ElementsAre(ElementsAre(c.sum.id, product.id)));
}

TEST(Fusion, ResultReadBeforeTheLastNodeIsNotFused) {
  Doubled c;
  (void)*neg(c.g, c.sum);
  (void)*mul(c.g, c.sum, c.x);
  EXPECT_THAT(c.fused(written_sum), IsEmpty());
}

TEST(Fusion, NeedsListFusedNodesAndInPlaceMemory) {
  Doubled c;
  const Value product = *mul(c.g, c.sum, c.x);
  FusedGroup group{.asked = c.sum.id, .last = product.id, .inside = {c.sum.id}};
  Needs nowhere;
  add_fused(c.g.graph(), group, nowhere);
  ASSERT_EQ(nowhere.fused.size(), 1U);
  EXPECT_EQ(nowhere.fused[0].node, c.sum.id);
  EXPECT_EQ(nowhere.fused[0].with, product.id);
  EXPECT_FALSE(nowhere.fused[0].in_memory);
  EXPECT_THAT(nowhere.in_place, IsEmpty());
  group.written = c.sum.id;
  group.in_place = 1;
  Needs written;
  add_fused(c.g.graph(), group, written);
  EXPECT_TRUE(written.fused.at(0).in_memory);
  ASSERT_EQ(written.in_place.size(), 1U);
  EXPECT_EQ(written.in_place[0].node, c.sum.id);
  EXPECT_EQ(written.in_place[0].source, 1);
}

TEST(Fusion, SourcesOverwrittenInBetweenAreNotFused) {
  for (const bool written : {false, true}) {
    Case c;
    const Value x = c.input();
    const Value rows = *c.g.input("rows", *make_tensor(DType::kI64, {1}));
    const Value row = *c.g.input("row", *make_tensor(DType::kF32, {4, 1}));
    const Value cache = *c.g.cache("cache", *make_tensor(DType::kF32, {4, 3}));
    const Value sum = *add(c.g, cache, x);
    if (written) (void)*set_rows(c.g, cache, row, rows);
    const Value product = *mul(c.g, sum, x);
    if (!written) (void)*set_rows(c.g, cache, row, rows);
    if (written) {
      EXPECT_THAT(c.fused(scaled_sum), IsEmpty());
    } else {
      EXPECT_THAT(c.fused(scaled_sum), ElementsAre(ElementsAre(sum.id, product.id)));
    }
  }
}

TEST(Fusion, ViewOfAFusedResultIsNotFused) {
  Doubled c;
  (void)*mul(c.g, c.sum, *view(c.g, c.sum, {0, 1, 0, 0}, {4}));
  EXPECT_THAT(c.fused(scaled_sum), IsEmpty());
}

TEST(Fusion, NodesOutsideTheSegmentAreNotFused) {
  Doubled c;
  const Value product = *mul(c.g, c.sum, c.x);
  EXPECT_THAT(c.fused(sum_before), ElementsAre(ElementsAre(c.sum.id, product.id)));
  EXPECT_THAT(c.fused(sum_before, product.id), IsEmpty());
  EXPECT_THAT(c.fused(scaled_sum, 0, product.id), IsEmpty());
  EXPECT_THAT(c.fused(written_sum, 0, product.id), IsEmpty());
}

TEST(Fusion, NodeBelongsToTheFirstMatchingGroup) {
  Case c;
  const Value x = c.input();
  const Value first = *add(c.g, x, x);
  const Value second = *add(c.g, x, x);
  const Value product = *mul(c.g, first, second);
  const auto all = [](const Group&) { return true; };
  EXPECT_THAT(c.fused_by(std::vector{written_sum, scaled_sum}, all),
              ElementsAre(ElementsAre(first.id, product.id)));
}

TEST(Fusion, GroupWithUnreadableSourcesIsNotFused) {
  Case c;
  const Value x = c.input();
  const Value y = c.input();
  (void)*mul(c.g, *add(c.g, x, x), y);
  const auto not_y = [&](const Group& group) {
    return std::ranges::count(group.sources, y.id) == 0;
  };
  EXPECT_THAT(c.fused_by(std::vector{scaled_sum}, not_y), IsEmpty());
}

TEST(SegmentUsers, ListsUsersInTheSegmentInOrderOnce) {
  GraphBuilder g;
  const Value x = *g.input("x", *make_tensor(DType::kF32, {4, 3}));
  const Value square = *mul(g, x, x);
  const Value flat = *reshape(g, square, {12});
  const Value negative = *neg(g, flat);
  const Value sum = *add(g, square, x);
  const std::vector<NodeId> nodes = {sum.id, negative.id};
  const SegmentUsers users(g.graph(), nodes);
  EXPECT_THAT(users.of(x.id), ElementsAre(sum.id));
  EXPECT_THAT(users.of(square.id), ElementsAre(negative.id, sum.id));
  EXPECT_THAT(users.of(flat.id), IsEmpty());
  EXPECT_TRUE(users.contains(sum.id));
  EXPECT_FALSE(users.contains(square.id));
}

TEST(SegmentUsers, KnowsWhichNodesWriteIntoMemory) {
  GraphBuilder g;
  const Value cache = *g.cache("cache", *make_tensor(DType::kF32, {4, 3}));
  const Value rows = *g.input("rows", *make_tensor(DType::kI64, {1}));
  const Value row = *g.input("row", *make_tensor(DType::kF32, {4, 1}));
  const Value written = *set_rows(g, cache, row, rows);
  const std::vector<NodeId> nodes = {written.id};
  const SegmentUsers users(g.graph(), nodes);
  EXPECT_TRUE(users.writes(cache.id, 0, written.id));
  EXPECT_TRUE(users.writes(cache.id, written.id, written.id));
  EXPECT_FALSE(users.writes(cache.id, 0, written.id - 1));
  EXPECT_FALSE(users.writes(cache.id, written.id + 1, written.id + 9));
  EXPECT_FALSE(users.writes(row.id, 0, written.id));
}

/// A product with a bias.
struct Biased : Case {
  Value product = *matmul(g, *g.weight("w", *make_tensor(DType::kF32, {4, 6})), input());

  std::optional<FusedGroup> found(NodeId id) {
    std::vector<NodeId> nodes;
    for (NodeId each = 0; each < g.graph().size(); ++each) {
      if (is_computed(g.graph().node(each))) nodes.push_back(each);
    }
    const auto is_live_out = std::make_unique<bool[]>(g.graph().size());
    for (const NodeId each : live_out) is_live_out[each] = true;
    return with_row(Surroundings({g.graph(), nodes, {is_live_out.get(), g.graph().size()}}), id,
                    add_op());
  }
  Value weight(const Shape& shape) { return *g.weight("b", *make_tensor(DType::kF32, shape)); }
};

TEST(FusionOfABias, BiasAddIsFusedIfItIsTheOnlyReader) {
  Biased c;
  const Value row = c.weight({6});
  const Value sum = *add(c.g, c.product, row);
  const auto group = c.found(c.product.id);
  ASSERT_TRUE(group);
  EXPECT_EQ(group->asked, c.product.id);
  EXPECT_EQ(group->last, sum.id);
  EXPECT_THAT(group->inside, ElementsAre(c.product.id));
  ASSERT_EQ(group->sources.size(), 3U);
  EXPECT_EQ(group->sources[2], row.id);
  EXPECT_FALSE(c.found(sum.id)) << "nothing reads the sum";
  c.live_out.insert(c.product.id);
  EXPECT_FALSE(c.found(c.product.id)) << "the product is asked for";
}

TEST(FusionOfABias, OtherSummandsAreNotFused) {
  Biased whole;
  EXPECT_TRUE(add(whole.g, whole.product, whole.weight({6, 3})));
  EXPECT_FALSE(whole.found(whole.product.id));
  Biased number;
  EXPECT_TRUE(add(number.g, number.product, number.weight({1})));
  EXPECT_FALSE(number.found(number.product.id));
  Biased twice;
  EXPECT_TRUE(add(twice.g, twice.product, twice.product));
  EXPECT_FALSE(twice.found(twice.product.id));
  Biased read_elsewhere;
  EXPECT_TRUE(add(read_elsewhere.g, read_elsewhere.product, read_elsewhere.weight({6})));
  EXPECT_TRUE(sqr(read_elsewhere.g, read_elsewhere.product));
  EXPECT_FALSE(read_elsewhere.found(read_elsewhere.product.id));
}

}  // namespace
}  // namespace shunt::test::backend_support_fusion_test
