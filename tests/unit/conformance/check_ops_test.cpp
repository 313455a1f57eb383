// A device with the ops' own test cases: cases that are right, wrong, refused, or never end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <map>
#include <stdexcept>

#include "conformance/check_cases.h"
#include "device/sync_stream.h"
#include "shunt/check_ops.h"
#include "support/test_device.h"

namespace shunt::test::conformance_check_ops_test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::Field;
using testing::HasSubstr;
using testing::SizeIs;

OpCasesCheck check(Device& device, std::string_view op, const CheckOpOptions& options = {}) {
  const auto found = check_op(device, op, options);
  EXPECT_TRUE(found) << (found ? "" : found.error().message());
  return found ? *found : OpCasesCheck();
}

/// Leaves out cases whose first type is not F32: results of other types are rounded.
bool but_f32(std::string_view, std::string_view name) {
  return !name.starts_with("F32");
}

TEST(CheckOp, CorrectDevicePassesEveryCase) {
  TestDevice device({});
  for (const char* op : {"add", "matmul_id", "softmax", "set_rows", "sum_rows"}) {
    const OpCasesCheck found = check(device, op);
    EXPECT_EQ(found.op, op);
    EXPECT_EQ(found.passed, case_count(op)) << op;
    EXPECT_EQ(found.cases(), found.passed) << op;
    EXPECT_THAT(found.reasons, testing::IsEmpty()) << op;
  }
  EXPECT_EQ(device.allocated(), 0U);
}

TEST(CheckOp, ViewOpsAreCheckedByACopy) {
  TestDevice device({.ops = {"cont"}});
  const OpCasesCheck found = check(device, "permute", {.skip = but_f32});
  EXPECT_GT(found.passed, 20U);
  EXPECT_EQ(found.cases(), found.passed);
  EXPECT_EQ(device.computed(), found.passed);
}

TEST(CheckOp, WrongKernelIsReportedWithItsErrors) {
  TestDeviceConfig config;
  config.wrong["mul"] = [](RefTensor& y) {
    for (double& value : y.data) value *= 1.001;
  };
  TestDevice device(config);
  const OpCasesCheck found = check(device, "mul", {.skip = but_f32});
  // Where there is nothing to compute nothing is wrong.
  EXPECT_GT(found.failed, found.passed);
  EXPECT_EQ(found.failures.size(), found.failed);
  for (const CaseCheck& failure : found.failures) {
    EXPECT_EQ(failure.op, "mul");
    EXPECT_EQ(failure.outcome, CaseOutcome::kFailed);
    EXPECT_EQ(failure.message, "error 1e-06, at most 1e-12");
  }
  EXPECT_EQ(check(device, "add").failed, 0U);
}

/// Only for a device that states it (Device::largest_number()).
TEST(CheckOp, SaturationIsAcceptedOnlyIfTheDeviceDeclaresIt) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  struct {
    double says, has;
    bool right;
  } const kDevices[] = {{kInfinity, kInfinity, true},
                        {1, 1, true},
                        {kInfinity, 1, false},
                        {1, kInfinity, false},
                        {1, 0.9, false}};
  for (const auto& each : kDevices) {
    TestDeviceConfig config;
    config.largest_number = each.says;
    config.wrong["exp"] = [&](RefTensor& y) {
      for (double& value : y.data) value = std::min(value, each.has);
    };
    TestDevice device(config);
    const OpCasesCheck found = check(device, "exp", {.skip = but_f32});
    EXPECT_GT(found.cases(), 10U);
    EXPECT_EQ(found.failed == 0, each.right) << each.says << " " << each.has;
  }
}

/// A device is asked about each node: here results of `neg` are limited, those of `exp` are not.
TEST(CheckOp, LargestNumberIsQueriedPerNode) {
  for (const char* op : {"exp", "neg"}) {
    TestDeviceConfig config;
    config.largest_number = 1;
    config.limited = {"neg"};
    config.wrong[op] = [](RefTensor& y) {
      for (double& value : y.data) value = std::clamp(value, -1.0, 1.0);
    };
    TestDevice device(config);
    const OpCasesCheck found = check(device, op, {.skip = but_f32});
    EXPECT_GT(found.cases(), 0U) << op;
    EXPECT_EQ(found.failed == 0, op == std::string("neg")) << op;
  }
}

TEST(CheckOp, ZerosFailEvenForTernaryTypes) {
  TestDeviceConfig config;
  config.wrong["cpy"] = [](RefTensor& y) { std::ranges::fill(y.data, 0.0); };
  TestDevice device(config);
  std::size_t empty = 0;
  const auto but_ternary = [&](std::string_view, std::string_view name) {
    if (!name.starts_with("TQ")) return true;
    empty += name.find(" [512, 0, 2]") != std::string_view::npos ? 1 : 0;
    return false;
  };
  const OpCasesCheck found = check(device, "cpy", {.skip = but_ternary});
  EXPECT_GT(found.failed, 50U);
  EXPECT_EQ(found.passed, empty);
}

TEST(CheckOp, DetectsAnUnwrittenElement) {
  TestDeviceConfig config;
  config.wrong["neg"] = [](RefTensor& y) {
    if (y.sizes[1] < 2) return;
    y.sizes[1] -= 1;  // writes all rows but the last one
    y.data.resize(static_cast<std::size_t>(y.sizes[0] * y.sizes[1] * y.sizes[2] * y.sizes[3]));
  };
  TestDevice device(config);
  const OpCasesCheck found = check(device, "neg");
  EXPECT_GT(found.failed, 0U);
  EXPECT_THAT(found.failures, Each(Field(&CaseCheck::message, HasSubstr("error inf"))));
}

TEST(CheckOp, DetectsWritesPastTheResult) {
  TestDeviceConfig config;
  config.wrong["neg"] = [](RefTensor& y) {
    if (y.sizes == Sizes{64, 5, 1, 1}) y = RefTensor({65, 5, 1, 1});  // one in each row too many
  };
  TestDevice device(config);
  const OpCasesCheck found = check(device, "neg");
  EXPECT_GT(found.failed, 0U);
  EXPECT_LT(found.failed, found.passed);
  EXPECT_THAT(found.failures,
              Each(Field(&CaseCheck::message, HasSubstr("it writes past the end of result"))));
}

/// A device that computes nothing, and writes into its first source.
class Vandal final : public Device {
 public:
  std::string_view name() const override { return "vandal0"; }
  DeviceInfo info() const override { return {.name = "vandal0", .description = ""}; }
  Support supports(const Graph&, NodeId, MemoryOfLeaves) const override { return Support::yes(); }
  bool can_read(const BufferType& type) const override { return &type == &host_memory(); }
  BufferType& memory() override { return host_memory(); }
  Result<std::unique_ptr<Stream>> open_stream() override { return std::make_unique<Writing>(); }
  Result<std::unique_ptr<Program>> prepare(const SegmentView&) override {
    return std::make_unique<Empty>();
  }

 private:
  struct Bound final : Binding {
    explicit Bound(const Address& at) : first(at) {}
    Address first;
  };
  class Empty final : public Program {
   public:
    const Needs& needs() const override { return needs_; }
    Result<std::unique_ptr<Binding>> bind(const Addresses& addresses) override {
      return std::make_unique<Bound>(addresses.nodes[0]);
    }

   private:
    Needs needs_;
  };
  class Writing final : public SyncStream {
    Status run_now(Binding& binding, const RunArgs&) override {
      const std::byte bytes[] = {std::byte{1}, std::byte{2}, std::byte{3}};
      const Address& to = static_cast<Bound&>(binding).first;
      return to.buffer->write(to.offset, bytes);
    }
  };
};

TEST(CheckOp, DetectsWritesIntoASource) {
  Vandal device;
  const OpCasesCheck found = check(device, "neg");
  EXPECT_GT(found.failed, 0U);
  EXPECT_THAT(found.failures,
              testing::Contains(Field(&CaseCheck::message, "it writes into source 0 (input)")));
}

TEST(CheckOp, DetectsWritesAroundAWindow) {
  TestDeviceConfig config;
  config.wrong["set_rows"] = [](RefTensor& dst) {
    for (double& value : dst.data) value += 1;
  };
  TestDevice device(config);
  EXPECT_GT(check(device, "set_rows").failed, 0U);
}

TEST(CheckOp, UnsupportedCasesAreNotFailures) {
  TestDevice device({.ops = {"matmul"}});
  const OpCasesCheck found = check(device, "silu");
  EXPECT_EQ(found.unsupported, case_count("silu"));
  EXPECT_EQ(found.cases(), found.unsupported);
  ASSERT_THAT(found.reasons, SizeIs(1));
  EXPECT_EQ(found.reasons[0].reason, "test0 has no kernel for silu");
  EXPECT_EQ(found.reasons[0].count, case_count("silu"));
  EXPECT_EQ(device.computed(), 0U);
}

TEST(CheckOp, ListsReasonsWithTheirNumberOfCases) {
  TestDevice device({.answer = [](const Graph& graph, NodeId id) {
    const Tensor& x = graph.node(graph.node(id).sources[0]).result;
    if (x.dtype == DType::kF32) return Support::yes();
    return Support::no(Refusal::kType, fmt::format("no {}", to_string(x.dtype)));
  }});
  std::map<std::string, std::size_t> counts;
  CheckOpOptions options;
  // Two of BF16, and all others.
  options.skip = [&, taken = 0](std::string_view, std::string_view name) mutable {
    return name.starts_with("BF16") && ++taken > 2;
  };
  options.visit = [&](const CaseCheck& each) { ++counts[each.name.substr(0, 3)]; };
  const OpCasesCheck found = check(device, "silu", options);
  ASSERT_EQ(counts["BF1"], 2U);
  ASSERT_GT(counts["F16"], 2U);
  ASSERT_GT(counts["F32"], 0U);
  EXPECT_EQ(found.passed, counts["F32"]);
  ASSERT_THAT(found.reasons, SizeIs(2)) << "the most frequent one first";
  EXPECT_EQ(found.reasons[0].reason, "no F16");
  EXPECT_EQ(found.reasons[0].count, counts["F16"]);
  EXPECT_EQ(found.reasons[1].reason, "no BF16");
  EXPECT_EQ(found.reasons[1].count, 2U);
  EXPECT_EQ(found.unsupported, counts["F16"] + 2);
}

/// A test device with another answer of supports().
class Answering final : public Device {
 public:
  explicit Answering(Support answer) : answer_(std::move(answer)) {}
  std::string_view name() const override { return inner_.name(); }
  DeviceInfo info() const override { return inner_.info(); }
  Support supports(const Graph&, NodeId, MemoryOfLeaves) const override { return answer_; }
  bool can_read(const BufferType& type) const override { return inner_.can_read(type); }
  BufferType& memory() override { return inner_.memory(); }
  Result<std::unique_ptr<Stream>> open_stream() override { return inner_.open_stream(); }
  Result<std::unique_ptr<Program>> prepare(const SegmentView&) override {
    throw std::runtime_error("what a driver throws");
  }

 private:
  TestDevice inner_{{}};
  Support answer_;
};

TEST(CheckOp, CaseSupportedOnlyInAnotherTypeIsUnsupported) {
  Answering device(Support::yes_if(0, DType::kF16));
  const OpCasesCheck found = check(device, "silu");
  EXPECT_EQ(found.unsupported, case_count("silu"));
  ASSERT_THAT(found.reasons, SizeIs(1));
  EXPECT_EQ(found.reasons[0].reason, "test0 takes it only with source 0 as F16");
}

TEST(CheckOp, RejectionWithoutAReasonIsAFailure) {
  Answering device(Support::no(Refusal::kOp, ""));
  const OpCasesCheck found = check(device, "silu");
  EXPECT_EQ(found.failed, case_count("silu"));
  EXPECT_EQ(found.failures[0].message, "refused without a reason");
}

TEST(CheckOp, ExceptionOfTheDeviceIsAFailure) {
  Answering device(Support::yes());
  const OpCasesCheck found = check(device, "silu");
  EXPECT_EQ(found.failed, case_count("silu"));
  EXPECT_EQ(found.failures[0].message, "what a driver throws");
}

TEST(CheckOp, DeviceErrorFailsOnlyItsCase) {
  TestDevice device({});
  struct Kind {
    TestFailures failures;
    const char* what;
  };
  const Kind kinds[] = {{{.allocation = 3}, "the allocation failed"},
                        {{.launch = 3}, "the launch failed"},
                        {{.copy = 3}, "the copy failed"},
                        {{.prepare = 3}, "the preparation failed"},
                        {{.bind = 3}, "the binding failed"},
                        {{.stream = 3}, "the stream failed"}};
  for (const Kind& kind : kinds) {
    device.fail_at(kind.failures);
    const OpCasesCheck found = check(device, "silu");
    ASSERT_THAT(found.failures, SizeIs(1)) << kind.what;
    EXPECT_THAT(found.failures[0].message, AllOf(HasSubstr(kind.what), HasSubstr("(code 719: ")));
    EXPECT_EQ(found.passed, case_count("silu") - 1) << kind.what;
  }
  device.fail_at({.any = 100, .for_good = true});
  const OpCasesCheck found = check(device, "silu");
  EXPECT_GT(found.passed, 0U);
  EXPECT_GT(found.failed, found.passed);
  EXPECT_EQ(found.cases(), case_count("silu"));
}

TEST(CheckOp, CasesAreVisitedAndMayBeSkipped) {
  TestDevice device({});
  std::vector<CaseCheck> visited;
  CheckOpOptions options;
  options.visit = [&](const CaseCheck& check) { visited.push_back(check); };
  options.skip = [](std::string_view op, std::string_view name) {
    return op == "silu" && name.find("sliced") != std::string_view::npos;
  };
  const OpCasesCheck found = check(device, "silu", options);
  EXPECT_EQ(visited.size(), found.cases());
  EXPECT_GT(visited.size(), 0U);
  EXPECT_LT(visited.size(), case_count("silu"));
  for (const CaseCheck& each : visited) {
    EXPECT_EQ(each.op, "silu");
    EXPECT_EQ(each.outcome, CaseOutcome::kPassed);
    EXPECT_THAT(each.name, Not(HasSubstr("sliced")));
  }
}

TEST(CheckOp, UnknownOpIsNotFound) {
  TestDevice device({});
  const auto found = check_op(device, "no_such_op");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), ErrorCode::kNotFound);
  EXPECT_THAT(found.error().message(), HasSubstr("no_such_op"));
  EXPECT_EQ(case_count("no_such_op"), 0U);
  EXPECT_THAT(op_names(), testing::Contains("silu"));
}

/// An op that no file of cases has a row for.
class WithoutCases final : public Op {
 public:
  const OpInfo& info() const override { return info_; }
  Result<Inferred> infer(SourceTensors, const Params&) const override { return Inferred(); }
  void reference(RefSources, const Params&, RefTensor&) const override {}
  std::string describe(const Params&) const override { return ""; }
  std::string describe_defaults() const override { return ""; }

 private:
  OpInfo info_{.name = "without_cases", .family = "", .summary = "", .sources = {}};
};

TEST(CheckOp, OpWithoutCasesIsAnError) {
  TestDevice device({});
  const auto found = check_cases(device, WithoutCases());
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(found.error().message(), "op \"without_cases\" has no test cases");
  // An op all of whose cases are left out has some.
  const auto skipped = [](std::string_view, std::string_view) { return true; };
  EXPECT_EQ(check(device, "silu", {.skip = skipped}).cases(), 0U);
}

TEST(CheckOpCancel, EndsTheCheckAtOnce) {
  TestDevice device({});
  std::atomic<bool> cancel{false};
  std::size_t visited = 0;
  CheckOpOptions options;
  options.cancel = &cancel;
  options.visit = [&](const CaseCheck&) { cancel = ++visited == 3; };
  const auto found = check_op(device, "silu", options);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), ErrorCode::kCancelled);
  EXPECT_EQ(visited, 3U);
  EXPECT_EQ(device.computed(), 3U);
}

/// A device whose first launch does not go on before the clock says that it is stuck. Then it does
/// the work that it was given.
class StuckDevice {
 public:
  StuckDevice() {
    device.on_launch = [this](NodeId) {
      if (cancel_at_launch != nullptr) *cancel_at_launch = true;
      if (++launched == 1) released_.wait(false);
    };
    options.patience_seconds = 0.01;
    options.stuck = [this](const CaseCheck& check) {
      stuck.push_back(check);
      released_ = true;
      released_.notify_all();
    };
  }

  TestDevice device{{}};
  CheckOpOptions options;
  std::atomic<bool>* cancel_at_launch = nullptr;
  std::size_t launched = 0;
  std::vector<CaseCheck> stuck;

 private:
  std::atomic<bool> released_{false};
};

TEST(CheckOpCancel, CaseAboveTheTimeLimitIsCancelledAndFails) {
  StuckDevice slow;
  slow.options.case_seconds = 0.01;
  slow.options.skip = [&](std::string_view, std::string_view) { return slow.launched > 0; };
  const OpCasesCheck found = check(slow.device, "silu", slow.options);
  ASSERT_THAT(found.failures, SizeIs(1));
  EXPECT_EQ(found.failures[0].message, "not done after 0.01 s");
  EXPECT_EQ(found.passed, 0U);
  ASSERT_THAT(slow.stuck, SizeIs(1));
  EXPECT_EQ(slow.stuck[0].op, "silu");
  EXPECT_EQ(slow.stuck[0].name, found.failures[0].name);
  EXPECT_EQ(slow.stuck[0].message, "test0 does not end it although it was cancelled 0.01 s ago");
  EXPECT_EQ(check(slow.device, "silu").failed, 0U);
}

TEST(CheckOpCancel, EndsTheRunningCase) {
  StuckDevice slow;
  std::atomic<bool> cancel{false};
  slow.cancel_at_launch = &cancel;
  slow.options.cancel = &cancel;
  slow.options.case_seconds = 0;
  const auto found = check_op(slow.device, "silu", slow.options);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), ErrorCode::kCancelled);
  EXPECT_EQ(slow.launched, 1U);
  EXPECT_EQ(slow.device.computed(), 0U);
  EXPECT_THAT(slow.stuck, SizeIs(1));
}

}  // namespace
}  // namespace shunt::test::conformance_check_ops_test
