// Every op's gradient rule, by every source, against central differences of the op itself, over the
// op's own test cases: through the plain references, in double precision.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <set>

#include "conformance/case_data.h"
#include "conformance/case_sources.h"
#include "conformance/cases.h"
#include "graph/reference.h"
#include "ops/list.h"
#include "shunt/gradients.h"
#include "shunt/ops.h"
#include "support/shared.h"
#include "test_paths.h"

namespace shunt::ops_gradients_cases_test {
namespace {

using testing::Each;
using testing::HasSubstr;

bool is_float(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

/// A source that may be changed a little: of floats, and not ones that were drawn from a few.
bool is_smooth(const CaseSource& source) {
  if (!source.given || !is_float(source.dtype)) return false;
  return source.fill == Fill::kNormal ||
         (source.fill == Fill::kUniform && source.low < source.high);
}

/// As the source says, but not rounded to its type: references don't round, and functions with
/// kinks have them at numbers that short types have.
RefTensor draw(const CaseSource& source, std::uint64_t seed) {
  const bool numbers = trait(source.dtype).integer;
  if (numbers || (source.fill != Fill::kNormal && source.fill != Fill::kUniform))
    return make_values(source, seed);
  RefTensor values(source.sizes);
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(source.low, source.high);
  for (double& value : values.data)
    value = source.fill == Fill::kNormal ? normal(random) : uniform(random);
  return values;
}

Shape shape_of(const Sizes& sizes) {
  return {sizes[0], sizes[1], sizes[2], sizes[3]};
}

/// A case as a loss: sum(c * op(sources)), where c are numbers for each element of the result.
class CaseLoss {
 public:
  CaseLoss(const Op& op, const Case& each) : op_(op), each_(each) {
    for (std::size_t i = 0; i < each.sources.size(); ++i) add_source(i);
    const Result<Value> y = g_.apply(op, each.params, std::span<const NodeId>(sources_));
    EXPECT_TRUE(y) << y.error().message();
    y_ = *y;
    const Tensor result = g_.tensor(y_);
    const Result<Value> c = g_.input("c", *make_tensor(DType::kF32, result.shape));
    leaves_.resize(c->id + 1);
    leaves_[c->id] = draw({.sizes = max_sizes(result.shape)}, 7);
    c_ = *c;
    // Element by element in F32, whatever type the result has.
    Result<Value> as_float = y_;
    if (!is_float(result.dtype)) as_float = cpy(g_, y_, fill(g_, result.shape, 0));
    loss_ = sum(g_, mul(g_, c, as_float));
    EXPECT_TRUE(loss_) << loss_.error().message();
  }

  struct Sum {
    double total = 0;
    double magnitude = 0;  ///< of its terms
  };
  /// The value of the loss with another value of a source's leaf. Elements of the result that are
  /// infinite whatever the source is say nothing of it.
  Sum at(std::size_t source, const RefTensor& values) {
    if (!forward_) {
      GraphBuilder copy = g_;
      EXPECT_TRUE(copy.output(loss_, "loss"));
      forward_ = *std::move(copy).build();
    }
    std::vector<RefTensor> leaves = leaves_;
    leaves[source_leaves_[source].id] = values;
    const auto all = reference_run(*forward_, leaves);
    EXPECT_TRUE(all) << all.error().message();
    Sum sum;
    for (std::size_t i = 0; i < leaves_[c_.id].data.size(); ++i) {
      const double term = leaves_[c_.id].data[i] * (*all)[y_.id].data[i];
      if (!std::isfinite(term)) continue;
      sum.total += term;
      sum.magnitude += std::abs(term);
    }
    return sum;
  }

  /// The gradient by a source's leaf.
  Result<RefTensor> gradient(std::size_t source) const {
    GraphBuilder g = g_;
    const Value parameter = source_leaves_[source];
    SHUNT_ASSIGN(const std::vector<Value> found, gradients(g, loss_, {&parameter, 1}));
    SHUNT_TRY(g.output(found[0], "gradient"));
    SHUNT_ASSIGN(const Graph graph, std::move(g).build());
    SHUNT_ASSIGN(const std::vector<RefTensor> all, reference_run(graph, leaves_));
    return all[found[0].id];
  }

  const Tensor& result() const { return g_.tensor(y_); }
  const RefTensor& value(std::size_t source) const { return leaves_[source_leaves_[source].id]; }

 private:
  void add_source(std::size_t i) {
    const CaseSource& source = each_.sources[i];
    source_leaves_.push_back({});
    sources_.push_back(kNoNode);
    if (!source.given) return;
    const Tensor tensor = *make_tensor(source.dtype, shape_of(source.sizes));
    const bool written = i == 0 && op_.info().storage == Storage::kIntoFirst;
    const Result<Value> leaf = written ? g_.cache("source", tensor) : g_.input("source", tensor);
    leaves_.resize(leaf->id + 1);
    leaves_[leaf->id] = draw(source, 1000 + i);
    source_leaves_.back() = *leaf;
    Result<Value> seen = leaf;
    if (source.permute != CaseSource{}.permute) seen = permute(g_, seen, source.permute);
    if (source.slice != CaseSource{}.slice)
      seen = view(g_, seen, source.slice, shape_of(sizes_of(source)));
    EXPECT_TRUE(seen) << seen.error().message();
    sources_.back() = seen->id;
  }

  const Op& op_;
  const Case& each_;
  GraphBuilder g_;
  std::vector<RefTensor> leaves_;
  std::vector<Value> source_leaves_;
  std::vector<NodeId> sources_;
  Value y_;
  Value c_;
  Result<Value> loss_;
  std::optional<Graph> forward_;
};

/// Whether the change of the loss agrees with the gradient: along a direction in which every
/// element takes part, and along a few elements by themselves.
void expect_slopes(CaseLoss& loss, std::size_t source, const RefTensor& gradient) {
  const RefTensor& x = loss.value(source);
  ASSERT_EQ(gradient.sizes, x.sizes);
  const auto n = static_cast<double>(x.data.size());
  const bool several = x.data.size() > 1;
  double mean = 0;
  for (const double each : x.data) mean += several ? each / n : 0;
  double deviation = 0;
  for (const double each : x.data) deviation += std::abs(each - mean) / n;
  // Digits that are lost where an op subtracts the common part of numbers, as norms do.
  const double lost = deviation > 0 ? std::abs(mean) / deviation : 0;
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  const auto expect_along = [&](const std::vector<double>& direction) {
    constexpr double kStep = 1e-6;
    RefTensor up = x;
    RefTensor down = x;
    double slope = 0;
    double terms = 0;
    for (std::size_t i = 0; i < x.data.size(); ++i) {
      up.data[i] += kStep * direction[i];
      down.data[i] -= kStep * direction[i];
      // As far as it went, after rounding.
      const double term = gradient.data[i] * (up.data[i] - down.data[i]) / (2 * kStep);
      slope += term;
      terms += std::abs(term);
    }
    const auto above = loss.at(source, up);
    const auto below = loss.at(source, down);
    const double measured = (above.total - below.total) / (2 * kStep);
    // Parameters that rules compute are rounded to F32; differences have lost digits.
    const double error = 1e-6 * terms + 1e-10 * (100 + lost) * above.magnitude + 1e-12;
    EXPECT_NEAR(slope, measured, error);
  };
  // Small compared with each element and with the spread of the elements: functions curve at that
  // scale.
  const auto unit = [&](double each) {
    return std::min(std::abs(each), std::abs(each - mean)) + 1e-4 * deviation;
  };
  std::vector<double> direction;
  for (const double each : x.data) direction.push_back(normal(random) * unit(each));
  expect_along(direction);
  for (std::size_t k = 0; k < std::min<std::size_t>(3, x.data.size()); ++k) {
    const std::size_t i = random() % x.data.size();
    std::vector<double> alone(x.data.size());
    alone[i] = unit(x.data[i]);
    expect_along(alone);
  }
}

/// Sources by which an op that has a rule has no gradient in any case.
const std::set<std::pair<std::string_view, std::string_view>> kNotBy = {
    {"attention", "mask?"},
    {"attention", "sinks?"},
    {"cross_entropy_loss", "labels"},
    {"rope", "freq_factors?"},
};

/// Few enough numbers for a reference that is as plain as can be.
bool is_small(const Op& op, const Case& each) {
  double elements = 0;
  std::vector<Inferred> seen;
  for (const CaseSource& source : each.sources) {
    seen.push_back(source.given ? *tensor_of(source) : Inferred{});
    if (source.given) elements += static_cast<double>(element_count(seen.back().tensor.shape));
  }
  std::vector<const Tensor*> tensors;
  for (std::size_t i = 0; i < seen.size(); ++i)
    tensors.push_back(each.sources[i].given ? &seen[i].tensor : nullptr);
  const auto result = op.infer(tensors, each.params);
  return elements < 6000 && op.operations(result->tensor, tensors, each.params) < 2e5;
}

class GradientCases : public testing::TestWithParam<const Op*> {};

TEST_P(GradientCases, AgreeWithCentralDifferences) {
  const Op& op = *GetParam();
  std::map<std::size_t, int> checked;
  std::set<std::size_t> smooth;
  each_case(op, [&](const Case& each) {
    if (HasFailure() || !is_small(op, each)) return;
    SCOPED_TRACE(each.name);
    std::optional<CaseLoss> loss;
    for (std::size_t i = 0; i < each.sources.size(); ++i) {
      if (!is_smooth(each.sources[i])) continue;
      smooth.insert(i);
      SCOPED_TRACE(op.info().sources[i]);
      if (!loss) loss.emplace(op, each);
      const auto gradient = loss->gradient(i);
      if (!gradient) {
        EXPECT_EQ(gradient.error().code(), ErrorCode::kUnsupported) << gradient.error().message();
        EXPECT_THAT(gradient.error().message(), HasSubstr(std::string(op.info().name)));
        continue;
      }
      if (trait(loss->result().dtype).integer) {
        EXPECT_THAT(gradient->data, Each(0));
        continue;
      }
      expect_slopes(*loss, i, *gradient);
      if (element_count(loss->result().shape) > 0) ++checked[i];
    }
  });
  for (const std::size_t i : smooth) {
    const std::string_view source = op.info().sources[i];
    const bool expected = !kNotBy.contains({op.info().name, source});
    EXPECT_EQ(checked[i] > 0, expected) << "by " << source;
  }
  EXPECT_FALSE(smooth.empty());
}

std::vector<const Op*> ops_with(bool gradient) {
  std::vector<const Op*> ops;
  for (const Op* op : all_ops()) {
    if (op->has_gradient() == gradient) ops.push_back(op);
  }
  return ops;
}

std::string name_of(const testing::TestParamInfo<const Op*>& info) {
  return std::string(info.param->info().name);
}

INSTANTIATE_TEST_SUITE_P(OfOps, GradientCases, testing::ValuesIn(ops_with(true)), name_of);

TEST(OpsWithoutAGradientRule, GiveAnErrorThatNamesTheOp) {
  for (const Op* op : ops_with(false)) {
    SCOPED_TRACE(op->info().name);
    bool refused = false;
    each_case(*op, [&](const Case& each) {
      for (std::size_t i = 0; i < each.sources.size() && !refused; ++i) {
        if (!is_smooth(each.sources[i]) || !is_small(*op, each)) continue;
        const CaseLoss loss(*op, each);
        const auto gradient = loss.gradient(i);
        if (gradient) {
          EXPECT_TRUE(trait(loss.result().dtype).integer) << each.name;
          continue;
        }
        EXPECT_EQ(gradient.error().code(), ErrorCode::kUnsupported);
        EXPECT_THAT(gradient.error().message(),
                    HasSubstr(std::string(op->info().name) + " has no gradient rule"));
        refused = true;
      }
    });
  }
}

/// In the table under "Not at all", all of them and no other.
TEST(TrainingPage, ListsTheOpsWithoutAGradientRule) {
  const std::string page = test::read_file(SHUNT_TEST_DOCS "/guide/training.md");
  const std::string table = page.substr(page.find("Not at all:"));
  std::set<std::string> listed;
  for (std::size_t at = table.find('`'); at != std::string::npos; at = table.find('`', at)) {
    const std::size_t end = table.find('`', at + 1);
    ASSERT_NE(end, std::string::npos);
    listed.insert(table.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  std::set<std::string> without;
  for (const Op* op : ops_with(false)) without.emplace(op->info().name);
  EXPECT_EQ(listed, without);
}

}  // namespace
}  // namespace shunt::ops_gradients_cases_test
