// Weights in the machine's layout that change after they were used, and that several streams use at
// once: in DLFLOAT16 and as 8-bit numbers.
#include <thread>

#include "backends/zdnn/support.h"

namespace shunt::test::weight_forms_test {
namespace {

struct Form {
  const char* name;
  DType dtype;
  bool lossy;
  BufferType* (*memory)(Device& device, const Graph& graph, NodeId leaf);
  double error;       ///< of products
  double read_error;  ///< of weights, as they are read back
};

constexpr std::int64_t kK = 64;
constexpr std::int64_t kN = 70;

/// y = w * x, with a weight that is written to from here.
class ZdnnWeightForms : public ZdnnTest, public testing::WithParamInterface<Form> {
 protected:
  void SetUp() override {
    ZdnnTest::SetUp();
    if (IsSkipped()) return;
    GraphBuilder g;
    const auto x = g.input("x", *make_tensor(DType::kF32, {kK, 5}));
    const auto w = g.weight("w", *make_tensor(GetParam().dtype, {kK, kN}));
    ASSERT_TRUE(g.output(matmul(g, w, x), "y"));
    x_ = x->id;
    w_ = w->id;
    graph_ = built(std::move(g));
    leaves_ = values(*graph_);
    BufferType* const memory = GetParam().memory(zdnn(), *graph_, w_);
    ASSERT_NE(memory, nullptr);
    const PlacedTensor placed{tensor(), 0};
    auto buffer = memory->allocate_for(memory->size_of(tensor()), {&placed, 1});
    ASSERT_TRUE(buffer) << buffer.error().message();
    buffer_ = std::move(*buffer);
    write_rows(0, kN);
  }

  const Tensor& tensor() const { return graph_->node(w_).result; }
  std::size_t row_bytes() const { return static_cast<std::size_t>(byte_span(tensor())) / kN; }

  /// DLFLOAT16 has no such cost, nor has a weight that is not transformed yet.
  bool says_cost() { return zdnn().lossy_cost({buffer_.get(), 0}).has_value(); }
  /// Those of leaves_.
  void write_rows(std::int64_t begin, std::int64_t end) {
    std::vector<std::byte> bytes(kN * row_bytes());
    write_tensor(leaves_[w_], tensor(), bytes.data());
    const std::size_t from = static_cast<std::size_t>(begin) * row_bytes();
    const std::size_t to = static_cast<std::size_t>(end) * row_bytes();
    ASSERT_TRUE(buffer_->write(from, std::span(bytes).subspan(from, to - from)));
  }
  /// Other numbers there, which are not written yet.
  void change_row(std::int64_t row) {
    const RefTensor other = make_values({.dtype = GetParam().dtype, .sizes = {kK, kN, 1, 1}}, 99);
    for (std::int64_t i = 0; i < kK; ++i) leaves_[w_].at(i, row) = other.at(i, row);
  }

  std::unique_ptr<Plan> plan() {
    const LeafMemory there{w_, {buffer_.get(), 0}};
    auto placement = place(*graph_, devices_, {.memory = {&there, 1}});
    EXPECT_TRUE(placement) << placement.error().message();
    auto plan = compile(graph_, std::move(*placement), {.memory = {&there, 1}});
    EXPECT_TRUE(plan) << plan.error().message();
    return std::move(*plan);
  }
  void expect_right(Plan& plan) {
    const auto input = plan.input(Value{x_});
    ASSERT_TRUE(input);
    write_tensor(leaves_.at(x_), graph_->node(x_).result, input->data());
    ASSERT_TRUE(plan.run());
    const NodeId y = graph_->outputs()[0];
    const auto output = plan.output(Value{y});
    ASSERT_TRUE(output);
    const Tensor& result = graph_->node(y).result;
    const RefTensor got = read_tensor(output->data(), result, max_sizes(result.shape));
    EXPECT_LT(nmse(got, expected(*graph_, leaves_)), GetParam().error);
  }

  NodeId x_ = 0;
  NodeId w_ = 0;
  std::shared_ptr<const Graph> graph_;
  std::map<NodeId, RefTensor> leaves_;
  std::unique_ptr<Buffer> buffer_;
};

/// The next run computes with rows that were written after the weight was used.
TEST_P(ZdnnWeightForms, AreTransformedAgainAfterAPartialWrite) {
  const auto made = plan();
  EXPECT_EQ(says_cost(), GetParam().lossy);
  twin_->reset_counts();
  expect_right(*made);
  EXPECT_EQ(twin_->transforms_in(), 2U) << "x, and the first zeros to add";
  twin_->reset_counts();
  expect_right(*made);
  EXPECT_EQ(twin_->transforms_in(), 1U) << "x alone";
  // Three rows in the middle, not at once.
  for (const std::int64_t row : {20, 21, 40}) change_row(row);
  write_rows(20, 22);
  write_rows(40, 41);
  EXPECT_FALSE(says_cost());
  twin_->reset_counts();
  expect_right(*made);
  EXPECT_EQ(twin_->transforms_in(), 2U) << "x and the weight";
  EXPECT_EQ(says_cost(), GetParam().lossy);
  EXPECT_EQ(twin_->objections(), 0U);
  // A read gives the written data, rounded to the machine's numbers.
  std::vector<std::byte> read(kN * row_bytes());
  ASSERT_TRUE(buffer_->read(0, read));
  EXPECT_LT(nmse(read_tensor(read.data(), tensor(), {kK, kN, 1, 1}), leaves_[w_]),
            GetParam().read_error);
  std::vector<std::byte> part(row_bytes());
  ASSERT_TRUE(buffer_->read(40 * row_bytes(), part));
  EXPECT_EQ(part, std::vector(read.data() + 40 * row_bytes(), read.data() + 41 * row_bytes()));
}

/// The first stream brings it into the layout; the others wait.
TEST_P(ZdnnWeightForms, ConcurrentStreamsTransformAWeightOnce) {
  constexpr std::uint64_t kStreams = 4;
  constexpr std::uint64_t kRuns = 3;
  change_row(0);
  write_rows(0, 1);  // not the last: no transform before it is used
  std::vector<std::unique_ptr<Plan>> plans;
  for (std::uint64_t i = 0; i < kStreams; ++i) plans.push_back(plan());
  twin_->reset_counts();
  std::vector<std::thread> threads;
  for (const auto& of_stream : plans) {
    threads.emplace_back([&] {
      for (std::uint64_t times = 0; times < kRuns; ++times) expect_right(*of_stream);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(twin_->transforms_in(), kStreams * kRuns + 2) << "x; once the weight, and zeros to add";
  EXPECT_EQ(twin_->objections(), 0U);
  EXPECT_TRUE(zdnn().warnings().empty());
}

constexpr Form kForms[] = {
    {"dlfloat16", DType::kF32, false,
     [](Device& device, const Graph& graph, NodeId leaf) {
       return chosen_memory(device, graph, leaf);
     },
     kChainError, 1e-6},
    {"int8", DType::kQ8_0, true,
     [](Device& device, const Graph& graph, NodeId leaf) {
       return lossy_memory(device, graph, leaf);
     },
     1e-3, 1e-3},
};
INSTANTIATE_TEST_SUITE_P(, ZdnnWeightForms, testing::ValuesIn(kForms),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace shunt::test::weight_forms_test
