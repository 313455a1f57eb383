// That every op has cases whose operands are not laid out as they were made: permuted, sliced, and
// empty.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "conformance/case_sources.h"
#include "conformance/cases.h"
#include "ops/list.h"

namespace shunt::ops_operands_test {
namespace {

/// A property that an operand of some case must have.
struct Kind {
  std::string_view name;
  bool (*is)(const CaseSource&);
};
constexpr auto kKinds = std::to_array<Kind>({
    {"permuted",
     [](const CaseSource& source) {
       return source.permute != std::array{0, 1, 2, 3};
     }},
    {"sliced", [](const CaseSource& source) { return source.slice != Sizes{}; }},
    {"empty", [](const CaseSource& source) { return std::ranges::count(sizes_of(source), 0) > 0; }},
});

/// Operands that are never so.
struct Exception {
  std::string_view op;
  std::string_view operand;
  std::string_view kinds;
  std::string_view reason;
};
constexpr std::string_view kNumber = "is a single number";
constexpr auto kExceptions = std::to_array<Exception>({
    {"add1", "s", "empty", kNumber},
    {"cross_entropy_loss_back", "dloss", "permuted, sliced, empty", kNumber},
    {"opt_step_adamw", "rate", "permuted, sliced, empty", kNumber},
    {"opt_step_adamw", "step", "permuted, sliced, empty", kNumber},
    {"opt_step_sgd", "rate", "permuted, sliced, empty", kNumber},
    {"rope", "freq_factors?", "empty", "has an element for each pair, of which there must be one"},
    {"rope_back", "freq_factors?", "empty", "as in rope"},
});

bool is_excepted(std::string_view op, std::string_view operand, std::string_view kind) {
  return std::ranges::any_of(kExceptions, [&](const Exception& each) {
    return each.op == op && each.operand == operand &&
           each.kinds.find(kind) != std::string_view::npos;
  });
}

/// Whether some case has operand `i` so.
bool has_case(const Op& op, std::size_t i, const Kind& kind) {
  bool found = false;
  each_case(op,
            [&](const Case& c) { found = found || (c.sources[i].given && kind.is(c.sources[i])); });
  return found;
}

TEST(OpOperands, ArePermutedSlicedAndEmptyInSomeCase) {
  for (const Op* op : all_ops()) {
    const auto& operands = op->info().sources;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      for (const Kind& kind : kKinds) {
        EXPECT_NE(has_case(*op, i, kind), is_excepted(op->info().name, operands[i], kind.name))
            << op->info().name << ", " << operands[i] << ", " << kind.name;
      }
    }
  }
}

TEST(OpOperands, ExceptionsHaveAReason) {
  for (const Exception& each : kExceptions) {
    const Op* op = find_op(each.op);
    ASSERT_NE(op, nullptr) << each.op;
    const auto& operands = op->info().sources;
    EXPECT_TRUE(std::ranges::find(operands, each.operand) != operands.end()) << each.operand;
    EXPECT_FALSE(each.reason.empty()) << each.op;
  }
}

}  // namespace
}  // namespace shunt::ops_operands_test
