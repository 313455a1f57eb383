// Operations that fall back for lack of memory. They are judged as they will run, before anything
// is allocated. Devices, the CPU among them, exist only in this test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "shunt/engine.h"
#include "support/models.h"
#include "support/test_device.h"

namespace shunt::test::engine_fallback_test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

SynthOptions shape() {
  SynthOptions options;
  options.layers = 6;
  options.vocabulary = 300;
  return options;
}

SessionOptions small_session() {
  SessionOptions session;
  session.context = 64;
  session.batch = 16;
  return session;
}

/// Operations that a line says fell back, of how many.
struct Counts {
  int fell_back = 0;
  int operations = 0;
};
Counts counts(const std::string& line) {
  Counts counts;
  EXPECT_EQ(std::sscanf(line.c_str(), "%d of %d operations run on", &counts.fell_back,
                        &counts.operations),
            2)
      << line;
  return counts;
}

class EngineFallback : public ::testing::Test {
 protected:
  LoadOptions options(FallbackMode mode) {
    LoadOptions options;
    options.session = small_session();
    options.memory_margin = 0;
    options.placement.stream_rows =
        0;  // else a device would compute even operations it has no room for
    options.placement.fallback.mode = mode;
    options.placement.fallback.log = [this](std::string_view line) { said_.emplace_back(line); };
    options.on_device_error.log = [this](std::string_view line) { later_.emplace_back(line); };
    return options;
  }
  Result<std::shared_ptr<const Model>> load(std::vector<Device*> devices,
                                            const LoadOptions& options) {
    devices.push_back(&host_);
    return Model::load(file_.path(), devices, options);
  }
  /// The bytes that the model and a session take of a device that has room for all of both.
  std::size_t all() {
    TestDevice roomy({.name = "test0"});
    const auto model = load({&roomy}, options(FallbackMode::kDeny));
    EXPECT_TRUE(model) << model.error().message();
    return model ? (*model)->predicted().allocated("test0") : 0;
  }

  SynthModel file_{shape()};
  TestDevice host_{{.name = "cpu0", .kind = DeviceKind::kCpu, .host_accessible = true}};
  std::vector<std::string> said_;   // while it is loaded
  std::vector<std::string> later_;  // by sessions
};

TEST_F(EngineFallback, NothingFallsBackIfTheDeviceHasEnoughMemory) {
  const std::size_t enough = all();
  TestDevice device({.name = "test0", .memory = enough});
  LoadOptions strict = options(FallbackMode::kDeny);
  strict.placement.fallback.max_cpu_share = 0;
  const auto model = load({&device}, strict);
  ASSERT_TRUE(model) << model.error().message();
  const auto session = Session::create(*model, small_session());
  ASSERT_TRUE(session) << session.error().message();
  EXPECT_EQ(device.allocated(), enough);
  EXPECT_THAT(said_, IsEmpty());
  EXPECT_THAT(later_, IsEmpty());
}

TEST_F(EngineFallback, DeniesADeviceWithTooLittleMemoryBeforeAnyAllocation) {
  const std::size_t enough = all();
  const std::size_t before = host_.allocations();
  for (const std::size_t memory : {std::size_t{1000}, enough / 2, enough - 1}) {
    TestDevice device({.name = "test0", .memory = memory});
    const auto model = load({&device}, options(FallbackMode::kDeny));
    ASSERT_FALSE(model) << memory;
    EXPECT_EQ(model.error().code(), ErrorCode::kUnsupported);
    EXPECT_THAT(model.error().message(), AllOf(HasSubstr(file_.path()), HasSubstr("denied")));
    if (memory < enough - 1) {
      EXPECT_THAT(
          model.error().message(),
          AllOf(HasSubstr(" matmul (test0 has no room left for its weights: it would need " +
                          size_text(enough) + " and may use " + size_text(memory) + ")"),
                HasSubstr(" mul (test0 has no room")))
          << memory;
    }
    EXPECT_EQ(device.allocations(), 0U) << memory;
  }
  EXPECT_EQ(host_.allocations(), before);
}

TEST_F(EngineFallback, WarnsAboutInsufficientMemoryInOneLine) {
  const std::size_t enough = all();
  TestDevice half({.name = "test0", .memory = enough / 2});
  const auto model = load({&half}, options(FallbackMode::kWarn));
  ASSERT_TRUE(model) << model.error().message();
  ASSERT_EQ(said_.size(), 1U);
  EXPECT_THAT(said_[0], AllOf(HasSubstr("run on cpu0 instead of test0"),
                              HasSubstr("test0 has no room left for its weights: it would need " +
                                        size_text(enough) + " and may use "),
                              HasSubstr("more free memory")));
  const Counts of_half = counts(said_[0]);
  EXPECT_GT(of_half.fell_back, 0);
  EXPECT_LT(of_half.fell_back, of_half.operations);
  // A session as it was announced has nothing to add.
  const auto session = Session::create(*model, small_session());
  ASSERT_TRUE(session) << session.error().message();
  EXPECT_THAT(later_, IsEmpty());

  said_.clear();
  TestDevice nothing({.name = "test0", .memory = 1000});
  ASSERT_TRUE(load({&nothing}, options(FallbackMode::kWarn)));
  ASSERT_EQ(said_.size(), 1U);
  EXPECT_EQ(counts(said_[0]).fell_back, of_half.operations);
}

TEST_F(EngineFallback, FallbackLimitsCountOpsWithoutRoom) {
  const std::size_t enough = all();
  LoadOptions share = options(FallbackMode::kAllow);
  share.placement.rules_only = true;
  share.placement.fallback.max_cpu_share = 0.1;
  // In a step, a device with room copies inputs and logits.
  LoadOptions copies = options(FallbackMode::kAllow);
  copies.placement.rules_only = true;
  copies.placement.fallback.max_copy_bytes = 20000;
  for (const LoadOptions& budget : {share, copies}) {
    TestDevice roomy({.name = "test0"});
    const auto model = load({&roomy}, budget);
    EXPECT_TRUE(model) << model.error().message();
    TestDevice half({.name = "test0", .memory = enough / 2});
    const auto denied = load({&half}, budget);
    ASSERT_FALSE(denied);
    EXPECT_EQ(denied.error().code(), ErrorCode::kUnsupported);
    EXPECT_THAT(denied.error().message(),
                AllOf(ContainsRegex("at most (10.0%|20000) may"),
                      HasSubstr("test0 has no room left for its weights")));
    EXPECT_EQ(half.allocations(), 0U);
  }
  EXPECT_THAT(said_, IsEmpty());
}

TEST_F(EngineFallback, AnotherAcceleratorCountsAsAFallbackButNotAsCpuShare) {
  const std::size_t enough = all();
  TestDevice half({.name = "test0", .priority = 2, .memory = enough / 2});
  TestDevice other({.name = "test1", .priority = 1});
  LoadOptions warn = options(FallbackMode::kWarn);
  warn.placement.rules_only = true;
  warn.placement.fallback.max_cpu_share = 0;
  const auto model = load({&half, &other}, warn);
  ASSERT_TRUE(model) << model.error().message();
  EXPECT_THAT(said_, ElementsAre(HasSubstr("run on test1 instead of test0")));
  warn.placement.fallback.mode = FallbackMode::kDeny;
  EXPECT_FALSE(load({&half, &other}, warn));
}

TEST_F(EngineFallback, ReportsAMaxBufferSizeThatIsTooSmall) {
  // Too small for a matrix of the feed-forward network, 64 x 192 of F32.
  TestDevice small({.name = "test0", .max_buffer = 40000});
  const auto weights = load({&small}, options(FallbackMode::kDeny));
  ASSERT_FALSE(weights);
  EXPECT_THAT(
      weights.error().message(),
      ContainsRegex(" matmul \\(test0 has no room left for its weights: it would need .* and "
                    "may use 1.0 GiB, in buffers of at most 39.1 KiB\\)"));
  // Too small for the keys of a layer, 2048 x 32 of F16.
  TestDevice larger({.name = "test0", .max_buffer = 100000});
  LoadOptions long_context = options(FallbackMode::kDeny);
  long_context.session.context = 2048;
  const auto cache = load({&larger}, long_context);
  ASSERT_FALSE(cache);
  EXPECT_THAT(cache.error().message(),
              ContainsRegex("12 set_rows \\(test0 has no room left for its cache: it would need .* "
                            "and may use 1.0 GiB, in buffers of at most 97.7 KiB\\)"));
  EXPECT_EQ(small.allocations() + larger.allocations(), 0U);
}

TEST_F(EngineFallback, SessionWithALargerCacheIsDeniedOrWarned) {
  const std::size_t enough = all();
  SessionOptions larger = small_session();
  larger.context = 1024;
  for (const FallbackMode mode : {FallbackMode::kDeny, FallbackMode::kWarn}) {
    TestDevice device({.name = "test0", .memory = enough});
    const auto model = load({&device}, options(mode));
    ASSERT_TRUE(model) << model.error().message();
    const std::size_t before = device.allocations();
    const auto session = Session::create(*model, larger);
    if (mode == FallbackMode::kDeny) {
      ASSERT_FALSE(session);
      EXPECT_EQ(session.error().code(), ErrorCode::kUnsupported);
      EXPECT_THAT(session.error().message(),
                  ContainsRegex("\\(test0 has no room left for its cache: it would need .* and may "
                                "use " +
                                size_text(enough)));
      EXPECT_EQ(device.allocations(), before);
      EXPECT_TRUE(Session::create(*model, small_session()));
      continue;
    }
    ASSERT_TRUE(session) << session.error().message();
    EXPECT_THAT(said_, IsEmpty());
    EXPECT_THAT(later_, ElementsAre(HasSubstr("run on cpu0 instead of test0")));
  }
}

TEST_F(EngineFallback, PlanCompiledLaterIsDeniedAndTheSessionGoesOn) {
  TestDevice device({.name = "test0", .memory = all()});
  const auto model = load({&device}, options(FallbackMode::kDeny));
  ASSERT_TRUE(model) << model.error().message();
  const auto session = Session::create(*model, small_session());
  ASSERT_TRUE(session) << session.error().message();
  const std::vector<std::int32_t> tokens = {1, 20, 30, 40};
  const Status logits_of_all =
      (*session)->append_all(tokens, [](std::size_t, std::span<const float>) {});
  ASSERT_FALSE(logits_of_all);
  EXPECT_EQ(logits_of_all.error().code(), ErrorCode::kUnsupported);
  EXPECT_THAT(logits_of_all.error().message(), HasSubstr("test0 has no room left"));
  EXPECT_EQ((*session)->length(), 0);
  EXPECT_TRUE((*session)->append(tokens));  // calls that it has plans for go on
  EXPECT_EQ((*session)->length(), 4);
}

TEST_F(EngineFallback, FailedWeightAllocationIsReportedAndFollowsThePolicy) {
  const std::size_t enough = all();
  TestFailures weights;
  weights.allocation = 1;
  const auto refused = HasSubstr("test0: refused memory for weights out of " + size_text(enough));
  TestDevice warned({.name = "test0"});
  warned.fail_at(weights);
  const auto model = load({&warned}, options(FallbackMode::kWarn));
  ASSERT_TRUE(model) << model.error().message();
  EXPECT_THAT(said_, ElementsAre(refused, HasSubstr("test0 has no room left for its weights")));
  EXPECT_THAT((*model)->notes(), Contains(refused));

  said_.clear();
  TestDevice denied({.name = "test0"});
  denied.fail_at(weights);
  const auto error = load({&denied}, options(FallbackMode::kDeny));
  ASSERT_FALSE(error);
  EXPECT_EQ(error.error().code(), ErrorCode::kUnsupported);
  EXPECT_THAT(said_, ElementsAre(refused));
  EXPECT_EQ(denied.allocations(), 1U);
  EXPECT_EQ(denied.allocated(), 0U);
}

TEST_F(EngineFallback, FailedSessionAllocationFollowsThePolicy) {
  for (const FallbackMode mode : {FallbackMode::kDeny, FallbackMode::kWarn}) {
    later_.clear();
    TestDevice device({.name = "test0"});
    const auto model = load({&device}, options(mode));
    ASSERT_TRUE(model) << model.error().message();
    TestFailures cache;
    cache.allocation = 1;
    device.fail_at(cache);
    const auto session = Session::create(*model, small_session());
    const auto refused = HasSubstr("test0: refused memory for a session out of ");
    if (mode == FallbackMode::kDeny) {
      ASSERT_FALSE(session);
      EXPECT_EQ(session.error().code(), ErrorCode::kUnsupported);
      EXPECT_THAT(later_, ElementsAre(refused));
      continue;
    }
    ASSERT_TRUE(session) << session.error().message();
    EXPECT_THAT(later_, ElementsAre(refused, HasSubstr("instead of test0")));
    EXPECT_THAT((*session)->notes(), Contains(refused));
  }
}

}  // namespace
}  // namespace shunt::test::engine_fallback_test
