// A program that launches node by node: the arguments of its kernels, and its errors when it is
// prepared, bound or run.
#include "backend_support/node_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shunt/ops.h"

namespace shunt::test::backend_support_node_program_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// The state that the kernels of a test share.
struct Toy {
  std::vector<Sizes> launches;
  std::vector<std::byte*> scratch;
  std::function<Status()> before = [] { return ok(); };
};

/// F32 elements one by one; rows are dense.
class ToyKernel final : public NodeKernel<Toy> {
 public:
  ToyKernel(const Op& op, std::size_t scratch, float (*function)(float, float))
      : op_(op), scratch_(scratch), function_(function) {}
  const Op& op() const override { return op_; }
  Support supports(const NodeView& node, const NoTarget&) const override {
    if (node.result().dtype == DType::kF32) return Support::yes();
    return Support::no(Refusal::kType, "toys are of F32");
  }
  std::size_t scratch(const NodeView&, const NoTarget&) const override { return scratch_; }
  int in_place_source() const override { return 0; }
  Status launch(const NodeCall& call, Toy& toy) const override {
    toy.launches.push_back(call.result.sizes);
    toy.scratch.push_back(call.scratch);
    SHUNT_TRY(toy.before());
    const HostTensor& a = call.sources[0];
    const HostTensor& b = call.sources[1];
    for (std::int64_t row = 0; row < call.result.sizes[1]; ++row) {
      const auto at = [&](const HostTensor& tensor) {
        return reinterpret_cast<float*>(tensor.data + row * tensor.strides[1]);
      };
      for (std::int64_t i = 0; i < call.result.sizes[0]; ++i) {
        at(call.result)[i] = function_(at(a)[i], at(b)[i]);
      }
    }
    return ok();
  }

 private:
  const Op& op_;
  std::size_t scratch_;
  float (*function_)(float, float);
};

std::span<const NodeKernel<Toy>* const> toy_kernels() {
  static const ToyKernel kAdd(add_op(), 128, [](float a, float b) { return a + b; });
  static const ToyKernel kMul(mul_op(), 64, [](float a, float b) { return a * b; });
  static const NodeKernel<Toy>* const kKernels[] = {&kAdd, &kMul};
  return kKernels;
}

KernelTable<NodeKernel<Toy>> toy_table() {
  return KernelTable<NodeKernel<Toy>>(std::array{toy_kernels});
}

/// Memory that the host can't access.
class FarMemory final : public BufferType {
 public:
  std::string_view name() const override { return "far"; }
  std::size_t alignment() const override { return 64; }
  bool host_accessible() const override { return false; }
  Result<std::unique_ptr<Buffer>> allocate(std::size_t) override {
    return Error(ErrorCode::kOutOfMemory, "none");
  }
};

/// (a + b) * b of [2, tokens], with memory for every node.
class Sums : public testing::Test {
 protected:
  Sums() {
    GraphBuilder g;
    tokens_ = *g.dynamic_dim("tokens", 3);
    const Tensor tensor = *make_tensor(DType::kF32, {2, tokens_});
    a_ = g.input("a", tensor)->id;
    b_ = g.input("b", tensor)->id;
    sum_ = add(g, Value{a_}, Value{b_})->id;
    product_ = mul(g, Value{sum_}, Value{b_})->id;
    EXPECT_TRUE(g.output(Value{product_}, "product"));
    graph_.emplace(*std::move(g).build());
    kept_ = std::make_unique<bool[]>(graph_->size());
    for (NodeId id = 0; id < graph_->size(); ++id) {
      buffers_.push_back(*host_memory().allocate(2 * 3 * sizeof(float)));
      addresses_.push_back({buffers_.back().get(), 0});
    }
    scratch_ = *host_memory().allocate(256);
    fill(a_, {1, 2, 3, 4, 5, 6});
    fill(b_, {10, 20, 30, 40, 50, 60});
    fill(sum_, {0, 0, 0, 0, 0, 0});
    fill(product_, {0, 0, 0, 0, 0, 0});
  }

  void fill(NodeId id, const std::vector<float>& values) {
    EXPECT_TRUE(buffers_[id]->write(0, std::as_bytes(std::span(values))));
  }
  std::vector<float> values(NodeId id) {
    std::vector<float> read(6);
    EXPECT_TRUE(buffers_[id]->read(0, std::as_writable_bytes(std::span(read))));
    return read;
  }
  SegmentView segment(std::span<const BufferType* const> memory = {}) const {
    return {*graph_, nodes_, {kept_.get(), graph_->size()}, memory};
  }
  Result<std::unique_ptr<Program>> prepare(std::span<const BufferType* const> memory = {}) {
    return prepare_nodes(segment(memory), table_, toy_);
  }
  Status run(std::int64_t tokens, const std::atomic<bool>* cancel = nullptr) {
    SHUNT_ASSIGN(const auto program, prepare());
    SHUNT_ASSIGN(const auto binding, program->bind({addresses_, {scratch_.get(), 64}}));
    DynamicDimValues dynamic_dims = graph_->max_dynamic_dims();
    dynamic_dims[tokens_.dynamic_dim] = tokens;
    return shunt::run(*binding, {dynamic_dims, cancel});
  }

  Toy toy_;
  KernelTable<NodeKernel<Toy>> table_ = toy_table();
  std::optional<Graph> graph_;
  Dim tokens_;
  NodeId a_ = 0;
  NodeId b_ = 0;
  NodeId sum_ = 0;
  NodeId product_ = 0;
  std::vector<NodeId> nodes_ = {2, 3};
  std::unique_ptr<bool[]> kept_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::vector<Address> addresses_;
  std::unique_ptr<Buffer> scratch_;
};
using NodeProgramTest = Sums;

TEST_F(NodeProgramTest, NodesRunInOrder) {
  ASSERT_TRUE(run(3));
  EXPECT_THAT(values(product_), ElementsAre(110, 440, 990, 1760, 2750, 3960));
}

TEST_F(NodeProgramTest, KernelsGetTheActualSizesOfTheRun) {
  ASSERT_TRUE(run(2));
  EXPECT_THAT(toy_.launches, ElementsAre(Sizes{2, 2, 1, 1}, Sizes{2, 2, 1, 1}));
  EXPECT_THAT(values(product_), ElementsAre(110, 440, 990, 1760, 0, 0));
}

TEST_F(NodeProgramTest, EmptyResultsAreNotLaunched) {
  ASSERT_TRUE(run(0));
  EXPECT_THAT(toy_.launches, testing::IsEmpty());
}

TEST_F(NodeProgramTest, ScratchIsTheLargestOfAnyNode) {
  EXPECT_EQ((*prepare())->needs().scratch_bytes, 128U);
  ASSERT_TRUE(run(1));
  EXPECT_THAT(toy_.scratch, ElementsAre(scratch_->host_data() + 64, scratch_->host_data() + 64));
}

TEST_F(NodeProgramTest, ResultsOfTheSameLayoutMayBeInPlace) {
  const auto program = prepare();
  std::vector<std::pair<NodeId, int>> pairs;
  for (const InPlace& each : (*program)->needs().in_place)
    pairs.emplace_back(each.node, each.source);
  EXPECT_THAT(pairs, ElementsAre(std::pair(sum_, 0), std::pair(product_, 0)));
}

TEST_F(NodeProgramTest, ResultsOfAnotherShapeAreNotInPlace) {
  GraphBuilder g;
  const NodeId row = g.input("row", *make_tensor(DType::kF32, {2}))->id;
  const NodeId rows = g.input("rows", *make_tensor(DType::kF32, {2, 3}))->id;
  const NodeId sum = add(g, Value{rows}, Value{row})->id;
  Needs needs;
  add_in_place(g.graph(), sum, 1, needs);
  EXPECT_THAT(needs.in_place, testing::IsEmpty());
  add_in_place(g.graph(), sum, -1, needs);
  EXPECT_THAT(needs.in_place, testing::IsEmpty());
  add_in_place(g.graph(), sum, 0, needs);
  EXPECT_EQ(needs.in_place.size(), 1U);
}

TEST_F(NodeProgramTest, OpWithoutAKernelIsRejectedWithTheNode) {
  table_ = KernelTable<NodeKernel<Toy>>(std::array{+[] { return toy_kernels().first(1); }});
  const auto program = prepare();
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().code(), ErrorCode::kUnsupported);
  EXPECT_THAT(program.error().message(), HasSubstr("product (mul): there is no kernel for it"));
}

TEST_F(NodeProgramTest, KernelRejectionIsReturnedWithItsReason) {
  GraphBuilder g;
  const Tensor tensor = *make_tensor(DType::kF16, {2});
  const NodeId x = g.input("x", tensor)->id;
  const auto sum = add(g, Value{x}, Value{x});
  ASSERT_TRUE(sum) << sum.error().message();
  const std::vector<NodeId> nodes = {sum->id};
  const auto program = prepare_nodes({g.graph(), nodes, {kept_.get(), 2}}, table_, toy_);
  ASSERT_FALSE(program);
  EXPECT_THAT(program.error().message(), HasSubstr("toys are of F32"));
}

TEST_F(NodeProgramTest, LeavesOutsideHostMemoryAreRejectedWithTheirMemory) {
  FarMemory far;
  std::vector<const BufferType*> memory(graph_->size(), nullptr);
  memory[a_] = &host_memory();
  EXPECT_TRUE(prepare(memory));
  memory[b_] = &far;
  const auto program = prepare(memory);
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().code(), ErrorCode::kUnsupported);
  EXPECT_THAT(program.error().message(), HasSubstr("b (input) is in far memory"));
}

TEST_F(NodeProgramTest, BindWithoutAnAddressNamesTheNode) {
  for (const NodeId missing : {b_, sum_}) {
    const Address was = std::exchange(addresses_[missing], {});
    const Status status = run(3);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code(), ErrorCode::kInternal);
    EXPECT_THAT(status.error().message(),
                HasSubstr(graph_->describe(missing) + " has no address in host memory"));
    addresses_[missing] = was;
  }
}

TEST_F(NodeProgramTest, ErrorNamesItsNodeAndEndsTheRun) {
  toy_.before = [] { return Error(ErrorCode::kDevice, "the toy broke").with_vendor({7, "E7"}); };
  const Status status = run(3);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::kDevice);
  EXPECT_EQ(status.error().node(), graph_->describe(sum_));
  EXPECT_EQ(status.error().message(), graph_->describe(sum_) + ": the toy broke");
  EXPECT_EQ(status.error().vendor()->code, 7);
  EXPECT_EQ(toy_.launches.size(), 1U);
}

TEST_F(NodeProgramTest, CancellingEndsTheRunBeforeTheNextNode) {
  std::atomic<bool> cancel = false;
  toy_.before = [&] {
    cancel = true;
    return ok();
  };
  const Status status = run(3, &cancel);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::kCancelled);
  EXPECT_EQ(toy_.launches.size(), 1U);
}

}  // namespace
}  // namespace shunt::test::backend_support_node_program_test
