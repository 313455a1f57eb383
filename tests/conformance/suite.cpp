#include "conformance/suite.h"

#include <fmt/format.h>

#include <algorithm>

#include "conformance/cases.h"
#include "conformance/check_cases.h"
#include "conformance/op_case.h"
#include "shunt/registry.h"

namespace shunt::test {

std::string conformance_name(const ::testing::TestParamInfo<Conformance::ParamType>& info) {
  return std::get<1>(info.param).label + "_" + std::string(std::get<0>(info.param)->info().name);
}

namespace {

constexpr std::size_t kMostMessages = 5;

/// The first failures, a line each.
std::string messages(const OpCasesCheck& found) {
  std::string text;
  for (std::size_t i = 0; i < std::min(found.failures.size(), kMostMessages); ++i) {
    text += fmt::format("  {}: {}\n", found.failures[i].name, found.failures[i].message);
  }
  return text;
}

}  // namespace

TEST_P(Conformance, Op) {
  const auto& [op, under_test] = GetParam();
  const std::shared_ptr<void> around = under_test.around ? under_test.around() : nullptr;
  if (under_test.around && around == nullptr) GTEST_SKIP() << under_test.label << " is not there";
  auto registry = Registry::create(under_test.options);
  ASSERT_TRUE(registry) << registry.error().message();
  const auto device = (*registry)->find(under_test.device);
  if (!device) GTEST_SKIP() << under_test.label << ": " << device.error().message();
  std::size_t excused = 0;
  std::size_t seen = 0;
  std::size_t covered = 0;
  CheckOpOptions options;
  options.skip = [&, &tested = under_test](std::string_view name, std::string_view each) {
    const auto covers = [&](const Exclusion& exclusion) {
      const std::size_t at = each.find(exclusion.case_contains);
      return exclusion.op == name &&
             (exclusion.at_start ? at == 0 : at != std::string_view::npos) &&
             (exclusion.except_every == 0 || covered++ % exclusion.except_every != 0);
    };
    const bool skipped =
        seen++ % tested.every != 0 || std::ranges::any_of(tested.exclusions, covers);
    excused += skipped ? 1 : 0;
    return skipped;
  };
  static OpCaseStore store;
  const auto found = check_cases(**device, *op, options, &store);
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->failed, 0U) << messages(*found);
  if (under_test.everything) {
    EXPECT_EQ(found->unsupported, 0U)
        << (found->reasons.empty() ? "" : found->reasons.front().reason);
  }
  if (under_test.something && found->cases() > 0) {
    EXPECT_GT(found->passed, 0U) << (found->reasons.empty() ? "all of them failed"
                                                            : found->reasons.front().reason);
  }
  EXPECT_GT(found->cases() + excused, 0U) << "an op without cases";
  RecordProperty("passed", static_cast<int>(found->passed));
  RecordProperty("refused", static_cast<int>(found->unsupported));
}

/// Results do not depend on the number of threads: to the bit, for every op.
TEST(ConformanceThreads, ResultsAreBitEqualForAnyNumberOfThreads) {
  std::vector<std::unique_ptr<Registry>> registries;
  for (int threads : {1, 2, 4}) {
    Options options;
    options.threads = threads;
    auto registry = Registry::create(options);
    ASSERT_TRUE(registry) << registry.error().message();
    if (!(*registry)->find("cpu0")) GTEST_SKIP() << "there is no CPU backend in this build";
    registries.push_back(std::move(*registry));
  }
  for (const Op* op : all_ops()) {
    std::size_t count = 0;
    // Under a sanitizer for threads every case would take too long; this many still meet every kind
    // of shape.
    const std::size_t step = std::max<std::size_t>(7, case_count(op->info().name) / 20) | 1;
    each_case(*op, [&](const Case& each) {
      if (count++ % step != 0) return;
      auto made = OpCase::create(*op, each);
      ASSERT_TRUE(made) << each.name << ": " << made.error().message();
      ASSERT_TRUE(made->make_data());
      std::vector<std::vector<std::byte>> first;
      for (const auto& registry : registries) {
        const auto computed = made->compute(**registry->find("cpu0"));
        ASSERT_TRUE(computed) << each.name << ": " << computed.error().message();
        if (&registry == &registries.front()) first = computed->bytes;
        EXPECT_EQ(computed->bytes, first) << op->info().name << ": " << each.name;
      }
    });
  }
}

}  // namespace shunt::test
