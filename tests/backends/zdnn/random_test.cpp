// Random graphs of operations, views and sizes. The values are those of the plain reference. This
// holds for values that stay in the layout, are shared there, or go through plain memory. It also
// holds in runs with fewer tokens than there may be.
#include <cmath>
#include <limits>
#include <random>

#include "backends/zdnn/support.h"

namespace shunt::test::random_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t kMostTokens = 40;
constexpr std::int64_t kMostElements = 100000;

/// The same for a seed, whatever the number of tokens.
class RandomGraph {
 public:
  RandomGraph(unsigned seed, std::int64_t most_tokens)
      : random_(seed), tokens_(*g_.dynamic_dim("tokens", most_tokens)) {
    values_ = {input({Dim(width()), tokens_}), input({Dim(width()), Dim(5), Dim(2)})};
    for (int i = 0; i < 25; ++i) step();
    int outputs = 0;
    for (std::size_t i = values_.size(); i-- > 0 && outputs < 3;) {
      if (!is_computed(g_.graph().node(values_[i].id))) continue;
      EXPECT_TRUE(g_.output(values_[i], "y" + std::to_string(outputs++)));
    }
  }
  std::shared_ptr<const Graph> graph() {
    auto graph = std::move(g_).build();
    EXPECT_TRUE(graph) << graph.error().message();
    return std::make_shared<const Graph>(std::move(*graph));
  }
  Dim tokens() const { return tokens_; }
  /// Leaves that are nothing but masks.
  std::span<const Value> masks() const { return masks_; }

 private:
  std::size_t pick(std::size_t n) { return random_() % n; }
  std::int64_t width() {
    constexpr std::array<std::int64_t, 6> kWidths = {1, 33, 64, 70, 128, 192};
    return kWidths[pick(kWidths.size())];
  }
  Value input(const Shape& shape, Role role = Role::kInput) {
    constexpr std::array kTypes = {DType::kF32, DType::kF16, DType::kBF16};
    const Tensor tensor = *make_tensor(kTypes[pick(kTypes.size())], shape);
    const std::string name = "leaf" + std::to_string(leaves_++);
    return role == Role::kInput ? *g_.input(name, tensor) : *g_.weight(name, tensor);
  }
  const Shape& shape(Value value) { return g_.tensor(value).shape; }
  Value some() {
    return values_[pick(2) == 0
                       ? pick(values_.size())
                       : values_.size() - 1 - pick(std::min<std::size_t>(values_.size(), 4))];
  }
  void add_value(const Result<Value>& value) {
    if (value && element_count(shape(*value)) <= kMostElements) values_.push_back(*value);
  }

  void step() {
    const Value x = some();
    switch (pick(8)) {
      case 0:
        return add_value(pick(2) == 0 ? tanh(g_, x) : silu(g_, x));
      case 1:
        return add_value(pick(2) == 0 ? norm(g_, x, {.eps = 0.01F})
                                      : rms_norm(g_, x, {.eps = 0.01F}));
      case 2:
        return weigh(x);
      case 3:
        return combine(x);
      case 4:
        return add_value(tanh(g_, scale(g_, matmul(g_, some(), x), {.scale = 0.1F})));
      case 5:
        return multiply(x);
      default:
        return see_otherwise(x);
    }
  }
  void weigh(Value x) {
    Shape of_mask = shape(x);
    for (const std::size_t i : {2, 3}) of_mask[i] = pick(2) == 0 ? Dim(1) : of_mask[i];
    Value mask = some();
    if (pick(2) == 0) {
      mask = input(of_mask);
      masks_.push_back(mask);
    }
    const float max_bias = pick(3) == 0 ? 4 : 0;
    add_value(pick(3) == 0 ? softmax(g_, x)
                           : softmax(g_, x, mask, {.scale = 0.5F, .max_bias = max_bias}));
  }
  void combine(Value x) {
    Shape repeated = shape(x);
    for (Dim& dim : repeated) dim = pick(2) == 0 ? Dim(1) : dim;
    const Value b = pick(2) == 0 ? some() : input(repeated);
    const std::size_t how = pick(3);
    add_value(how == 0 ? add(g_, x, b) : how == 1 ? sub(g_, x, b) : mul(g_, x, tanh(g_, b)));
  }
  void multiply(Value x) {
    if (!shape(x)[0].is_fixed()) return;
    const Value w = input({shape(x)[0], Dim(width())}, Role::kWeight);
    const auto y = scale(g_, matmul(g_, w, x), {.scale = 0.1F});
    add_value(pick(2) == 0 ? add(g_, y, input({g_.tensor(*y).shape[0]}, Role::kWeight)) : y);
  }
  void see_otherwise(Value x) {
    const Shape& s = shape(x);
    const bool splits = s[0].max % 64 == 0 && s[0].is_fixed() && s[3] == Dim(1);
    if (pick(2) == 0 && splits) {
      const auto heads = reshape(g_, x, {Dim(64), Dim(s[0].max / 64), s[1], s[2]});
      return add_value(pick(2) == 0 ? permute(g_, heads, {0, 2, 1, 3}) : heads);
    }
    constexpr std::array<std::array<int, 4>, 3> kTurns = {
        {{1, 0, 2, 3}, {0, 2, 1, 3}, {2, 0, 1, 3}}};
    add_value(permute(g_, x, kTurns[pick(kTurns.size())]));
  }

  std::mt19937 random_;
  GraphBuilder g_;
  Dim tokens_;
  std::vector<Value> values_;
  std::vector<Value> masks_;
  int leaves_ = 0;
};

class ZdnnRandom : public ZdnnTest, public testing::WithParamInterface<ZdnnMachine> {
 protected:
  void SetUp() override { open(GetParam(), "single"); }

  static std::map<NodeId, RefTensor> values_of(const RandomGraph& random, const Graph& graph) {
    auto leaves = values(graph);
    for (const Value mask : random.masks()) {
      std::vector<double>& numbers = leaves[mask.id].data;
      for (std::size_t i = 0; i < numbers.size(); i += 3) numbers[i] = -kInfinity;
    }
    return leaves;
  }
  /// Whether one is the other with another number of tokens: that number may decide which nodes can
  /// be asked for.
  static bool are_alike(const Graph& a, const Graph& b) {
    if (a.size() != b.size()) return false;
    for (NodeId id = 0; id < a.size(); ++id) {
      if (a.node(id).op != b.node(id).op || a.node(id).sources != b.node(id).sources) return false;
      for (std::size_t i = 0; i < kMaxDims; ++i) {
        const Dim& of_a = a.node(id).result.shape[i];
        const Dim& of_b = b.node(id).result.shape[i];
        if (of_a.dynamic_dim != of_b.dynamic_dim || (of_a.is_fixed() && of_a != of_b)) return false;
      }
    }
    return true;
  }
  /// The relative error. The reference gets a small constant added, as all of a tiny result may be
  /// the rounding error of something else.
  static double error(const RefTensor& got, const RefTensor& right) {
    double off = 0;
    double all = 1e-3 * static_cast<double>(right.data.size());
    for (std::size_t i = 0; i < right.data.size(); ++i) {
      off += (got.data[i] - right.data[i]) * (got.data[i] - right.data[i]);
      all += right.data[i] * right.data[i];
    }
    return off / all;
  }
};

TEST_P(ZdnnRandom, RandomGraphsMatchTheReference) {
  int runs = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    RandomGraph most(seed, kMostTokens);
    const auto graph = most.graph();
    const auto at_most = values_of(most, *graph);
    auto run = prepare(graph, at_most);
    ASSERT_TRUE(run) << run.error().message();
    for (const std::int64_t size : {kMostTokens, std::int64_t{7}, std::int64_t{1}}) {
      RandomGraph fewer(seed, size);
      const auto same = fewer.graph();
      if (!are_alike(*graph, *same)) continue;
      auto leaves = values_of(fewer, *same);
      for (auto& [id, value] : leaves) {
        if (graph->node(id).role != Role::kInput) value = at_most.at(id);
      }
      ASSERT_TRUE((*run)->set_inputs(leaves));
      ASSERT_TRUE((*run)->plan().set_dynamic_dim(most.tokens(), size));
      const Status status = (*run)->plan().run();
      ASSERT_TRUE(status) << seed << ", " << size << ": " << status.error().message();
      std::vector<RefTensor> by_node(same->size());
      for (const auto& [id, value] : leaves) {
        by_node[id] = rounded(value, same->node(id).result.dtype);
      }
      const auto right = reference_run(*same, by_node);
      ASSERT_TRUE(right) << right.error().message();
      for (const NodeId y : graph->outputs()) {
        const auto got = (*run)->output(y, (*run)->plan().dynamic_dims());
        ASSERT_TRUE(got);
        EXPECT_LT(error(*got, (*right)[y]), 3e-3) << seed << ", " << size << ": " << y;
      }
      ++runs;
    }
  }
  EXPECT_GT(runs, 80);
  EXPECT_EQ(twin_->objections(), 0U);
  EXPECT_TRUE(zdnn().warnings().empty());
}

INSTANTIATE_TEST_SUITE_P(, ZdnnRandom, testing::ValuesIn(kZdnnMachines),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace shunt::test::random_test
