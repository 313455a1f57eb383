// Needs of kernels as rows: the first that is not met refuses, with its reason.
#include "backend_support/capability_rows.h"

#include <gtest/gtest.h>

#include <array>

#include "backend_support/host_device.h"
#include "backend_support/node_program.h"
#include "ops/elementwise/elementwise.h"
#include "shunt/ops.h"

namespace shunt::test::backend_support_capability_rows_test {
namespace {

/// A chip that knows functions from some version of it on.
struct Chip {
  int version = 1;
};

using Need = CapabilityRow<Chip>;

constexpr std::array kNeeds = {
    Need{Refusal::kVendorFunction,
         [](const NodeView&, const Chip& chip) {
           if (chip.version >= 2) return std::string();
           return "needs version 2, and this is " + std::to_string(chip.version);
         }},
    Need{Refusal::kType,
         [](const NodeView& view, const Chip&) -> std::string {
           return view.result().dtype == DType::kF32 ? "" : "the result is no F32";
         }},
    Need{Refusal::kShape, [](const NodeView& view, const Chip& chip) -> std::string {
           return view.result().size(0) <= 100 * chip.version ? "" : "rows are too long";
         }}};

struct Context {};

class Add final : public NodeKernel<Context, Chip> {
 public:
  const Op& op() const override { return add_op(); }
  Support supports(const NodeView& view, const Chip& chip) const override {
    return check_rows(std::span<const Need>(kNeeds), view, chip);
  }
  std::size_t scratch(const NodeView&, const Chip& chip) const override {
    return 64 * static_cast<std::size_t>(chip.version);
  }
  Status launch(const NodeCall&, Context&) const override { return ok(); }
};

using AddTable = KernelTable<NodeKernel<Context, Chip>>;
std::span<const NodeKernel<Context, Chip>* const> kernels() {
  static const Add kAdd;
  static const NodeKernel<Context, Chip>* const kList[] = {&kAdd};
  return kList;
}

struct Sum {
  explicit Sum(std::int64_t length, DType type = DType::kF32) {
    GraphBuilder g;
    const auto x = g.input("x", *make_tensor(type, {length}));
    const auto sum = add(g, x, x);
    EXPECT_TRUE(sum) << sum.error().message();
    node = sum->id;
    EXPECT_TRUE(g.output(sum, "sum"));
    graph.emplace(*std::move(g).build());
  }
  std::optional<Graph> graph;
  NodeId node = 0;
};

Support ask(const Sum& sum, const Chip& chip) {
  return AddTable(std::array{kernels}).supports(*sum.graph, sum.node, chip);
}

TEST(CapabilityRows, AllMetIsSupported) {
  EXPECT_TRUE(ask(Sum(100), {2}));
  EXPECT_TRUE(ask(Sum(200), {2}));
  EXPECT_TRUE(check_rows(std::span<const Need>(), NodeView(*Sum(1).graph, 0), Chip{0}));
}

TEST(CapabilityRows, FirstUnmetNeedRejectsWithItsReason) {
  const Support of_chip = ask(Sum(201, DType::kF16), {1});
  EXPECT_EQ(of_chip.refusal(), Refusal::kVendorFunction);
  EXPECT_EQ(of_chip.facts(), "needs version 2, and this is 1");
  const Support of_type = ask(Sum(201, DType::kF16), {2});
  EXPECT_EQ(of_type.refusal(), Refusal::kType);
  EXPECT_EQ(of_type.facts(), "the result is no F32");
  const Support of_size = ask(Sum(201), {2});
  EXPECT_EQ(of_size.refusal(), Refusal::kShape);
  EXPECT_EQ(of_size.facts(), "rows are too long");
  EXPECT_TRUE(ask(Sum(201), {3})) << "a later chip takes longer ones";
}

/// A device with the target that it was made with.
class ChipDevice final : public HostDevice<Context, NodeKernel<Context, Chip>> {
 public:
  explicit ChipDevice(const Chip& chip) : HostDevice(std::array{kernels}, Context{}, chip) {}
  std::string_view name() const override { return "chip0"; }
  DeviceInfo info() const override { return {}; }
};

TEST(KernelTarget, IsThatOfTheDevice) {
  const Sum sum(150);
  ChipDevice first({1});
  ChipDevice second({2});
  EXPECT_EQ(first.supports(*sum.graph, sum.node, {}).facts(), "needs version 2, and this is 1");
  EXPECT_TRUE(second.supports(*sum.graph, sum.node, {}));
  const std::vector<NodeId> nodes = {sum.node};
  const bool kept[] = {false, true};
  const SegmentView segment{*sum.graph, nodes, kept, {}};
  const auto refused = first.prepare(segment);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kUnsupported);
  const auto program = second.prepare(segment);
  ASSERT_TRUE(program) << program.error().message();
  EXPECT_EQ((*program)->needs().scratch_bytes, 128U) << "of the same target";
}

}  // namespace
}  // namespace shunt::test::backend_support_capability_rows_test
