// Properties that hold for every op there is.
#include "ops/list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <set>

#include "conformance/case_data.h"
#include "conformance/case_sources.h"
#include "conformance/cases.h"
#include "graph/tensor_values.h"
#include "ops/common/loops.h"

namespace shunt::ops_list_test {
namespace {

std::vector<Case> cases_of(const Op& op) {
  std::vector<Case> cases;
  each_case(op, [&](Case c) { cases.push_back(std::move(c)); });
  return cases;
}

/// The tensors of a case, and the pointers to them that a shape rule takes.
struct CaseTensors {
  std::vector<Inferred> seen;
  std::vector<const Tensor*> pointers;
};

CaseTensors tensors_of(const Case& c) {
  CaseTensors tensors;
  for (const CaseSource& source : c.sources) {
    const auto seen = source.given ? tensor_of(source) : Result<Inferred>(Inferred{});
    EXPECT_TRUE(seen.has_value()) << describe_source(source) << ": " << seen.error().message();
    tensors.seen.push_back(seen ? *seen : Inferred{});
  }
  for (std::size_t i = 0; i < c.sources.size(); ++i) {
    tensors.pointers.push_back(c.sources[i].given ? &tensors.seen[i].tensor : nullptr);
  }
  return tensors;
}

TEST(Ops, AreDocumented) {
  for (const Op* op : all_ops()) {
    const OpInfo& info = op->info();
    EXPECT_FALSE(info.name.empty());
    EXPECT_FALSE(info.family.empty()) << info.name;
    EXPECT_TRUE(info.summary.ends_with('.')) << info.name;
    // An op without sources has nothing to view or to write into.
    EXPECT_TRUE(!info.sources.empty() || info.storage == Storage::kOwn) << info.name;
  }
}

TEST(Ops, AreFoundByTheirNames) {
  std::set<std::string_view> names;
  for (const Op* op : all_ops()) {
    EXPECT_TRUE(names.insert(op->info().name).second) << op->info().name;
    EXPECT_EQ(find_op(op->info().name), op);
  }
  EXPECT_EQ(find_op("no_such_op"), nullptr);
}

TEST(Ops, DescribeTheirParameters) {
  EXPECT_EQ(find_op("rms_norm")->describe_defaults(), "eps=1e-05");
  EXPECT_EQ(find_op("matmul")->describe_defaults(), "");
  EXPECT_TRUE(find_op("rope")->describe_defaults().starts_with("dims=0, mode=normal, "));
  EXPECT_EQ(find_op("permute")->describe_defaults(), "axes=[0, 1, 2, 3]");
}

TEST(OpCases, HaveOneRowForEveryOp) {
  std::multiset<const Op*> rows;
  for (const OpCases& row : all_op_cases()) rows.insert(&row.op());
  for (const Op* op : all_ops()) {
    EXPECT_EQ(rows.count(op), 1U) << op->info().name << ": rows in src/ops/*/*_cases.cpp";
  }
  EXPECT_EQ(rows.size(), all_ops().size());
}

TEST(OpCases, PassTheirOpsShapeRule) {
  for (const Op* op : all_ops()) {
    for (const Case& c : cases_of(*op)) {
      ASSERT_EQ(c.sources.size(), op->info().sources.size()) << op->info().name << ": " << c.name;
      const CaseTensors tensors = tensors_of(c);
      const auto inferred = op->infer(tensors.pointers, c.params);
      EXPECT_TRUE(inferred.has_value())
          << op->info().name << ": " << c.name << ": " << inferred.error().message();
    }
  }
}

TEST(OpCases, HaveUniqueNamesAndAreAtLeast20PerOp) {
  std::size_t total = 0;
  for (const Op* op : all_ops()) {
    std::set<std::string> names;
    for (const Case& c : cases_of(*op)) {
      EXPECT_TRUE(names.insert(c.name).second) << op->info().name << ": twice: " << c.name;
      EXPECT_GE(c.max_error, 0) << c.name;
    }
    EXPECT_GE(names.size(), 20U) << op->info().name;
    RecordProperty(std::string(op->info().name), static_cast<int>(names.size()));
    total += names.size();
  }
  EXPECT_GE(total, 8000U);
}

/// Sources as they come before they are seen through a view: good enough where all are plain.
bool is_plain(const Case& c) {
  return std::all_of(c.sources.begin(), c.sources.end(), [](const CaseSource& source) {
    return source.given && source.permute == std::array{0, 1, 2, 3} && source.slice == Sizes{};
  });
}

TEST(OpCases, OfOpsThatPickSlicesIgnoreUnpickedSlices) {
  std::size_t checked = 0;
  for (const Op* op : all_ops()) {
    const auto& picks = op->info().picks;
    if (!picks) continue;
    for (const Case& c : cases_of(*op)) {
      if (!is_plain(c)) continue;
      std::vector<RefTensor> values;
      for (std::size_t i = 0; i < c.sources.size(); ++i) {
        const CaseSource& source = c.sources[i];
        const auto bytes = make_bytes(source, i + 1);
        values.push_back(read_tensor(bytes.data(), tensor_of(source)->tensor, source.sizes));
      }
      std::vector<const RefTensor*> pointers;
      for (const RefTensor& each : values) pointers.push_back(&each);
      const CaseTensors tensors = tensors_of(c);
      const auto inferred = op->infer(tensors.pointers, c.params);
      ASSERT_TRUE(inferred);
      const auto result = [&] {
        RefTensor made(max_sizes(inferred->tensor.shape));
        op->reference(pointers, c.params, made);
        return made.data;
      };
      const std::vector<double> expected = result();
      const RefTensor& ids = values[static_cast<std::size_t>(picks->ids)];
      const std::set<double> picked(ids.data.begin(), ids.data.end());
      RefTensor& first = values.front();
      for (std::size_t i = 0; i < first.data.size(); ++i) {
        std::size_t slice = i;
        for (int dim = 0; dim < picks->dim; ++dim) {
          slice /= static_cast<std::size_t>(first.sizes[static_cast<std::size_t>(dim)]);
        }
        slice %= static_cast<std::size_t>(first.sizes[static_cast<std::size_t>(picks->dim)]);
        if (picked.contains(static_cast<double>(slice))) continue;
        first.data[i] = std::numeric_limits<double>::quiet_NaN();
        ++checked;
      }
      EXPECT_EQ(result(), expected) << op->info().name << ": " << c.name;
    }
  }
  EXPECT_GT(checked, 1000U);
}

TEST(OpCases, RequestFeasibleData) {
  for (const Op* op : all_ops()) {
    for (const Case& c : cases_of(*op)) {
      for (const CaseSource& source : c.sources) {
        if (!source.given) continue;
        const Sizes sizes = source.sizes;
        const std::int64_t count = sizes[0] * sizes[1] * sizes[2] * sizes[3];
        EXPECT_LE(count, 1 << 20) << op->info().name << ": " << c.name;
        if (source.fill == Fill::kPermutation) {
          EXPECT_GE(source.high - source.low, static_cast<double>(count)) << c.name;
        }
        if (source.fill == Fill::kIndex && count > 0) {
          EXPECT_GE(source.high - source.low, 1) << op->info().name << ": " << c.name;
        }
        if (trait(source.dtype).quantized) {
          EXPECT_EQ(source.permute[0], 0) << op->info().name << ": " << c.name;
        }
      }
    }
  }
}

/// Element i of a source whose values are given, as the op sees it. `values` has all of them.
double given_value(const CaseSource& source, const RefTensor& values, std::int64_t i) {
  const Sizes seen = sizes_of(source);
  Sizes at = {};
  for (std::size_t dim = 0; dim < kMaxDims; i /= seen[dim], ++dim)
    at[static_cast<std::size_t>(source.permute[dim])] = i % seen[dim] + source.slice[dim];
  return values.at(at[0], at[1], at[2], at[3]);
}

/// Data for a source; how its strides are does not matter to a reference.
RefTensor data_for(const CaseSource& source, std::mt19937& random) {
  RefTensor data(sizes_of(source));
  RefTensor values;
  if (source.fill == Fill::kValues) {
    values = RefTensor(source.sizes);
    values.data = source.values;
  }
  std::int64_t i = 0;
  for (double& x : data.data) {
    const double u = static_cast<double>(random()) / 4294967296.0;
    switch (source.fill) {
      case Fill::kNormal:
        x = 4 * u - 2;
        break;
      case Fill::kUniform:
        x = source.low + u * (source.high - source.low);
        break;
      case Fill::kIndex:
        x = std::floor(source.low + u * (source.high - source.low));
        break;
      case Fill::kPermutation:
        x = source.low + static_cast<double>(i);
        break;
      case Fill::kCausalMask:
        x = i % data.sizes[0] <= i / data.sizes[0] ? 0 : -std::numeric_limits<double>::infinity();
        break;
      case Fill::kValues:
        x = given_value(source, values, i);
        break;
    }
    ++i;
  }
  return data;
}

TEST(OpCases, HaveFiniteReferenceResults) {
  std::mt19937 random(1);
  for (const Op* op : all_ops()) {
    for (const Case& c : cases_of(*op)) {
      std::vector<RefTensor> data;
      for (const CaseSource& source : c.sources) data.push_back(data_for(source, random));
      std::vector<const RefTensor*> sources;
      for (std::size_t i = 0; i < data.size(); ++i) {
        sources.push_back(c.sources[i].given ? &data[i] : nullptr);
      }
      const CaseTensors tensors = tensors_of(c);
      const auto inferred = op->infer(tensors.pointers, c.params);
      ASSERT_TRUE(inferred.has_value());
      RefTensor result(max_sizes(inferred->tensor.shape));
      if (op->info().storage == Storage::kIntoFirst) result = data[0];
      op->reference(sources, c.params, result);
      EXPECT_EQ(result.data.size(),
                static_cast<std::size_t>(element_count(inferred->tensor.shape)));
      // diag_mask_inf exists to write minus infinity.
      const bool infinite = op->info().name == "diag_mask_inf";
      EXPECT_TRUE(std::ranges::all_of(
          result.data,
          [=](double x) { return std::isfinite(x) || (infinite && std::isinf(x) && x < 0); }))
          << op->info().name << ": " << c.name;
    }
  }
}

/// The elements of a tensor, each from the place that its strides give.
std::vector<double> seen_through(const Inferred& at, const std::vector<double>& memory) {
  const DTypeTrait& type = trait(at.tensor.dtype);
  const auto bytes = static_cast<std::int64_t>(type.block_bytes);
  std::vector<double> seen;
  for_each_element(max_sizes(at.tensor.shape), [&](const Sizes& i) {
    std::int64_t offset = at.offset + i[0] / type.block_elements * at.tensor.stride(0);
    for (int d = 1; d < kMaxDims; ++d) {
      offset += i[static_cast<std::size_t>(d)] * at.tensor.stride(d);
    }
    const std::int64_t element = offset / bytes * type.block_elements + i[0] % type.block_elements;
    ASSERT_LT(element, static_cast<std::int64_t>(memory.size()));
    seen.push_back(memory[static_cast<std::size_t>(element)]);
  });
  return seen;
}

TEST(OpCases, OfViewsMatchTheReferenceByStrides) {
  for (const Op* op : all_ops()) {
    if (op->info().storage != Storage::kView) continue;
    for (const Case& c : cases_of(*op)) {
      SCOPED_TRACE(fmt::format("{}: {}", op->info().name, c.name));
      const Sizes& whole = c.sources[0].sizes;
      std::vector<double> memory(
          static_cast<std::size_t>(whole[0] * whole[1] * whole[2] * whole[3]));
      std::iota(memory.begin(), memory.end(), 0);
      const CaseTensors tensors = tensors_of(c);
      const auto view = op->infer(tensors.pointers, c.params);
      ASSERT_TRUE(view.has_value());

      RefTensor x(sizes_of(c.sources[0]));
      x.data = seen_through(tensors.seen[0], memory);
      RefTensor expected(max_sizes(view->tensor.shape));
      const std::vector<const RefTensor*> sources = {&x};
      op->reference(sources, c.params, expected);
      const Inferred in_memory{view->tensor, tensors.seen[0].offset + view->offset};
      EXPECT_EQ(seen_through(in_memory, memory), expected.data);
    }
  }
}

}  // namespace
}  // namespace shunt::ops_list_test
