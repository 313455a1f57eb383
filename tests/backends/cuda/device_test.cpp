// CUDA devices by the twin of the driver: when there is one, faults that kernels find, errors of
// the driver at each call, and what stays allocated.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "backends/cuda/cuda_devices.h"
#include "shunt/ops.h"

namespace shunt::test::cuda_device_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(CudaDevices, IsThereWithTheFactsOfItsCard) {
  twin_.set("CUDA_TWIN_PROFILE", "t4");
  registry_.reset();
  twin_.restart();
  open();
  const auto device = registry_->find("cuda0");
  ASSERT_TRUE(device) << status().note;
  const DeviceInfo info = (*device)->info();
  EXPECT_THAT(info.description, HasSubstr("T4, compute capability 7.5, 40 multiprocessors"));
  EXPECT_THAT(info.description, HasSubstr("PCI 0000:01:00.0"));
  // T4's page: 320 GB/s, 8.1 Tflop/s of F32.
  ASSERT_TRUE(info.speed.has_value());
  EXPECT_NEAR(info.speed->bytes_per_second, 320e9, 10e9);
  EXPECT_NEAR(info.speed->operations_per_second, 8.1e12, 0.3e12);
  EXPECT_TRUE(info.twin);
  EXPECT_TRUE(info.asynchronous);
  EXPECT_FALSE(info.host_memory);
  EXPECT_GE(info.memory_total, (*device)->memory_free());
  EXPECT_GT((*device)->memory_free(), 0U);
}

TEST_F(CudaDevices, MissingDriverIsReportedWithTheReason) {
  Options options = twin_.options();
  options.libraries["cuda"] = "/no/such/libcuda.so.1";
  open(options);
  EXPECT_FALSE(status().loaded);
  EXPECT_THAT(status().note, HasSubstr("/no/such/libcuda.so.1: cannot open shared object file"));
}

TEST_F(CudaDevices, AnotherLibraryIsRefusedWithTheMissingFunction) {
  Options options = twin_.options();
  options.libraries["cuda"] = "libc.so.6";
  open(options);
  EXPECT_FALSE(status().loaded);
  EXPECT_THAT(status().note, HasSubstr("it has no cuInit"));
}

TEST_F(CudaDevices, EachCardIsADevice) {
  registry_.reset();
  twin_.set("CUDA_TWIN_DEVICES", "3");
  twin_.restart();
  open();
  EXPECT_TRUE(registry_->find("cuda2")) << status().note;
  EXPECT_FALSE(registry_->find("cuda3"));
}

TEST_F(CudaDevices, AnIndexOutOfRangeFailsTheRunAndNotTheNextOne) {
  Rows rows;
  auto run = GraphRun::create(rows.graph, *devices(), rows.leaves);
  ASSERT_TRUE(run) << run.error().message();
  for (const double wrong : {3.0, -1.0, 2147483647.0}) {
    rows.set(0, wrong);
    ASSERT_TRUE((*run)->set_inputs(rows.leaves));
    const Status status = (*run)->plan().run();
    ASSERT_FALSE(status) << wrong;
    EXPECT_EQ(status.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(status.error().message(), HasSubstr("an index is out of range"));
    EXPECT_THAT(status.error().message(),
                HasSubstr(std::to_string(static_cast<int>(wrong)) + " is not from 0 to 2"));
    EXPECT_EQ(status.error().node(), rows.graph->describe(rows.picked));
  }
  rows.set(2, 1);
  ASSERT_TRUE((*run)->set_inputs(rows.leaves));
  const Status status = (*run)->plan().run();
  EXPECT_TRUE(status) << status.error().message();
  EXPECT_THAT(twin_.findings(), IsEmpty());
}

/// Numbers of paged attention that must fail a run (ops/attention/attention.h), and some that must
/// not. Blocks have 64 rows, and there are 128.
TEST_F(CudaDevices, PagedAttentionFailsForNumbersThatAreNotThere) {
  GraphBuilder g;
  const auto q = g.input("q", *make_tensor(DType::kF32, {32, 2, 3}));
  const auto k = g.input("k", *make_tensor(DType::kF32, {32, 1, 128}));
  const auto v = g.input("v", *make_tensor(DType::kF32, {32, 1, 128}));
  const auto sequences = g.input("sequences", *make_tensor(DType::kI32, {3, 2}));
  const auto table = g.input("table", *make_tensor(DType::kI32, {3}));
  const auto y = paged_attention(g, q, k, v, sequences, table, {.scale = 0.2F}, absent(), absent());
  ASSERT_TRUE(g.output(y, "y"));
  const auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  std::map<NodeId, RefTensor> leaves;
  for (const auto& leaf : {q, k, v})
    leaves[leaf->id] = make_values({.sizes = max_sizes(graph->node(leaf->id).result.shape)}, 1);
  const auto set = [&](std::vector<double> columns, std::vector<double> blocks) {
    RefTensor all(Sizes{3, 2, 1, 1});
    all.data = std::move(columns);
    leaves[sequences->id] = all;
    RefTensor entries(Sizes{3, 1, 1, 1});
    entries.data = std::move(blocks);
    leaves[table->id] = entries;
  };
  set({2, 70, 0, 3, 9, 2}, {0, 1, 1});
  auto run = GraphRun::create(graph, *devices(), leaves);
  ASSERT_TRUE(run) << run.error().message();
  const auto outcome = [&](std::vector<double> columns, std::vector<double> blocks) {
    set(std::move(columns), std::move(blocks));
    EXPECT_TRUE((*run)->set_inputs(leaves));
    const Status status = (*run)->plan().run();
    return status ? std::string() : status.error().message();
  };
  EXPECT_EQ(outcome({2, 70, 0, 3, 9, 2}, {0, 1, 1}), "");
  EXPECT_EQ(outcome({2, 70, 0, 3, 9, 2}, {1, 1, 0}), "") << "a block twice is read twice";
  const auto fails = HasSubstr("an index is out of range");
  EXPECT_THAT(outcome({2, 70, 0, 1, 9, 2}, {0, 1, 1}), fails) << "ends decrease";
  EXPECT_THAT(outcome({-1, 70, 0, 3, 9, 2}, {0, 1, 1}), fails) << "an end below 0";
  EXPECT_THAT(outcome({2, 70, 0, 4, 9, 2}, {0, 1, 1}), fails) << "an end beyond the tokens";
  EXPECT_THAT(outcome({2, 1, 0, 3, 9, 2}, {0, 1, 1}), fails) << "fewer keys than tokens";
  EXPECT_THAT(outcome({2, -5, 0, 3, 9, 2}, {0, 1, 1}), fails) << "keys below 0";
  EXPECT_THAT(outcome({2, 70, 2, 3, 9, 2}, {0, 1, 1}), fails) << "a table that is too short";
  EXPECT_THAT(outcome({2, 70, -1, 3, 9, 2}, {0, 1, 1}), fails) << "an entry below 0";
  EXPECT_THAT(outcome({2, 70, 0, 3, 9, 3}, {0, 1, 1}), fails) << "an entry beyond the table";
  EXPECT_THAT(outcome({2, 70, 0, 3, 9, 2}, {0, -5, 1}), fails) << "a block below 0";
  EXPECT_THAT(outcome({2, 70, 0, 3, 9, 2}, {0, 2, 1}), fails) << "a block beyond the rows";
  EXPECT_THAT(outcome({2, 2e9, 0, 3, 9, 2}, {0, 1, 1}), fails) << "far too many keys";
  EXPECT_EQ(outcome({2, 70, 0, 3, 9, 2}, {0, 1, 1}), "");
  EXPECT_THAT(twin_.findings(), IsEmpty());
}

TEST_F(CudaDevices, AStepBelowOneFailsTheRunAndNotTheNextOne) {
  GraphBuilder g;
  const Tensor four = *make_tensor(DType::kF32, {4});
  const auto w = g.cache("w", four), m = g.cache("m", four), v = g.cache("v", four);
  const auto gradient = g.input("gradient", four);
  const auto rate = g.input("rate", *make_tensor(DType::kF32, {1}));
  const auto step = g.input("step", *make_tensor(DType::kI32, {1}));
  ASSERT_TRUE(g.output(opt_step_adamw(g, w, gradient, m, v, rate, step), "y"));
  const auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  std::map<NodeId, RefTensor> leaves;
  for (const auto& leaf : {w, gradient, m, v, rate, step})
    leaves[leaf->id] = make_values({.sizes = max_sizes(graph->node(leaf->id).result.shape)}, 1);
  leaves[step->id].data = {1};
  auto run = GraphRun::create(graph, *devices(), leaves);
  ASSERT_TRUE(run) << run.error().message();
  for (const double wrong : {0.0, -3.0}) {
    leaves[step->id].data = {wrong};
    ASSERT_TRUE((*run)->set_inputs(leaves));
    const Status status = (*run)->plan().run();
    ASSERT_FALSE(status) << wrong;
    EXPECT_EQ(status.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(status.error().message(),
                HasSubstr("a number is too small: " + std::to_string(static_cast<int>(wrong)) +
                          " is not at least 1"));
  }
  leaves[step->id].data = {2};
  ASSERT_TRUE((*run)->set_inputs(leaves));
  const Status status = (*run)->plan().run();
  EXPECT_TRUE(status) << status.error().message();
  EXPECT_THAT(twin_.findings(), IsEmpty());
}

/// Not-a-number gives not-a-number. Ops along rows keep it in its row, the first of two.
TEST_F(CudaDevices, NotANumberStays) {
  using Function = Result<Value> (*)(GraphBuilder&, Operand);
  constexpr std::array<Function, 31> kOfAnElement = {
      abs,
      ceil,
      cos,
      elu,
      exp,
      expm1,
      floor,
      gelu,
      gelu_erf,
      gelu_quick,
      hardsigmoid,
      hardswish,
      log,
      neg,
      relu,
      round,
      sigmoid,
      silu,
      sin,
      softplus,
      sqr,
      sqrt,
      tanh,
      trunc,
      [](GraphBuilder& g, Operand x) { return leaky_relu(g, x); },
      [](GraphBuilder& g, Operand x) {
        return clamp(g, x, {-1, 1});
      },
      [](GraphBuilder& g, Operand x) {
        return scale(g, x, {2, 1});
      },
      [](GraphBuilder& g, Operand x) { return xielu(g, x, {}); },
      [](GraphBuilder& g, Operand x) { return reglu(g, x, x); },
      [](GraphBuilder& g, Operand x) { return swiglu(g, x, x); },
      [](GraphBuilder& g, Operand x) { return swiglu_oai(g, x, x); }};
  constexpr std::array<Function, 4> kOfARow = {
      [](GraphBuilder& g, Operand x) { return softmax(g, x); },
      [](GraphBuilder& g, Operand x) { return norm(g, x); },
      [](GraphBuilder& g, Operand x) { return l2_norm(g, x); },
      [](GraphBuilder& g, Operand x) { return rms_norm(g, x); }};
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {3, 2}));
  std::vector<NodeId> of_an_element, of_a_row;
  const auto add = [&](Function function, std::vector<NodeId>& to) {
    const auto y = function(g, x);
    ASSERT_TRUE(y) << y.error().message();
    to.push_back(y->id);
    ASSERT_TRUE(g.output(y, "y" + std::to_string(y->id)));
  };
  for (const Function function : kOfAnElement) add(function, of_an_element);
  for (const Function function : kOfARow) add(function, of_a_row);
  const auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  RefTensor values(Sizes{3, 2, 1, 1});
  values.data = {0.5, std::numeric_limits<double>::quiet_NaN(), 0.5, 1, 0.5, 0.25};
  auto run = GraphRun::create(graph, *devices(), {{x->id, values}});
  ASSERT_TRUE(run) << run.error().message();
  ASSERT_TRUE((*run)->plan().run());
  const auto expect_nans = [&](NodeId id, std::vector<bool> expected) {
    const auto y = (*run)->output(id);
    ASSERT_TRUE(y);
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_EQ(std::isnan(y->data[i]), expected[i]) << graph->describe(id) << " " << i;
  };
  for (const NodeId id : of_an_element) expect_nans(id, {false, true, false, false, false, false});
  for (const NodeId id : of_a_row) expect_nans(id, {true, true, true, false, false, false});
}

TEST_F(CudaDevices, ASecondRunGivesTheSameBits) {
  Rows rows;
  auto run = GraphRun::create(rows.graph, *devices(), rows.leaves);
  ASSERT_TRUE(run) << run.error().message();
  ASSERT_TRUE((*run)->plan().run());
  const auto first = (*run)->output(rows.result);
  ASSERT_TRUE((*run)->plan().run());
  const auto second = (*run)->output(rows.result);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->data, second->data);
}

}  // namespace
}  // namespace shunt::test::cuda_device_test
