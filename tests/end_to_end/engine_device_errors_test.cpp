// Devices that fail, at each call there is, while a model is loaded, a session made and text
// generated. The result is an error that names the device and leaves all as it was, or the same
// text without the device. The CPU is the real one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <thread>

#include "engine/model_state.h"
#include "support/models.h"
#include "support/test_device.h"

namespace shunt::test::engine_device_errors_test {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// Two accelerators that share a model of two layers, and the CPU.
struct Devices {
  explicit Devices(Device* cpu, bool asynchronous = false,
                   std::size_t memory_of_second = std::size_t{1} << 30)
      : first({.name = "test0", .memory = 33000, .world = asynchronous ? &world : nullptr}),
        second({.name = "test1",
                .memory = memory_of_second,
                .world = asynchronous ? &world : nullptr}),
        all({&first, &second, cpu}) {}
  TestWorld world;
  TestDevice first;
  TestDevice second;
  std::vector<Device*> all;
};

SessionOptions session_options() {
  SessionOptions options;
  options.context = 16;
  options.batch = 2;
  options.cache_type = DType::kF32;
  return options;
}

/// The number of generated tokens: after the prompt's two steps four alike, which is enough for all
/// that a step may find.
constexpr std::size_t kTokens = 5;

using Lines = std::vector<std::string>;

/// Lines, which several threads may report.
struct Reported {
  std::mutex mutex;
  Lines lines;
};

class DeviceErrors : public ::testing::Test {
 protected:
  struct Run {
    std::shared_ptr<Reported> reported = std::make_shared<Reported>();
    std::shared_ptr<const Model> model = {};
    std::unique_ptr<Session> session = {};
    std::vector<std::int32_t> tokens = {};
    std::vector<Error> errors = {};         // of loading, of making a session
    std::vector<Error> append_errors = {};  // of appending

    Lines notes() const {
      Lines notes = model->notes();
      const Lines more = session->notes();
      notes.insert(notes.end(), more.begin(), more.end());
      return notes;
    }
    bool uses(const Device& device) const {
      const auto& devices = model->state()->devices;
      return std::count(devices.begin(), devices.end(), &device) > 0;
    }
  };

  DeviceErrors() {
    auto registry = Registry::create({});
    EXPECT_TRUE(registry);
    registry_ = std::move(*registry);
    cpu_ = registry_->devices().back();
    std::vector<Device*> only = {cpu_};
    Run run;
    generate(only, DeviceErrorMode::kFail, run);
    alone_ = run.tokens;
    EXPECT_EQ(alone_.size(), kTokens);
  }

  static LoadOptions load_options(DeviceErrorMode mode, const std::shared_ptr<Reported>& reported) {
    LoadOptions options;
    options.session = session_options();
    options.memory_margin = 0;
    options.placement.rules_only = true;  // so that both devices have a share
    options.on_device_error.mode = mode;
    options.on_device_error.log = [reported](std::string_view line) {
      const std::lock_guard lock(reported->mutex);
      reported->lines.emplace_back(line);
    };
    return options;
  }

  /// The result of `call`, which is tried again after an error.
  template <class Call>
  static auto insist(const Call& call, std::vector<Error>& errors) {
    auto result = call();
    for (int i = 0; i < 3 && !result; ++i) {
      errors.push_back(result.error());
      result = call();
    }
    return result;
  }

  static std::int32_t likeliest(std::span<const float> logits) {
    return static_cast<std::int32_t>(std::ranges::max_element(logits) - logits.begin());
  }

  static void generate(Run& run) {
    std::vector<std::int32_t> next = {1, 20, 30};
    while (run.tokens.size() < kTokens) {
      const std::int64_t before = run.session->length();
      const std::size_t errors = run.append_errors.size();
      const auto logits = insist(
          [&] {
            EXPECT_EQ(run.session->length(), before);
            return run.session->append(next);
          },
          run.append_errors);
      ASSERT_TRUE(logits) << logits.error().message();
      EXPECT_LE(run.append_errors.size(), errors + 1);
      next = {likeliest(*logits)};
      run.tokens.push_back(next[0]);
    }
  }

  void load(std::span<Device* const> devices, const LoadOptions& options, Run& run) const {
    auto model = insist([&] { return Model::load(file_.path(), devices, options); }, run.errors);
    ASSERT_TRUE(model) << model.error().message();
    run.model = std::move(*model);
    auto session =
        insist([&] { return Session::create(run.model, session_options()); }, run.errors);
    ASSERT_TRUE(session) << session.error().message();
    run.session = std::move(*session);
  }

  void generate(std::span<Device* const> devices, DeviceErrorMode mode, Run& run) const {
    load(devices, load_options(mode, run.reported), run);
    if (run.session) generate(run);
  }

  /// All that a device says is allocated is on the ledger, and was predicted.
  static void expect_ledgers_match(const Run& run, const Devices& devices, bool predicted) {
    Ledger both = run.model->ledger();
    both.add(run.session->ledger());
    for (const TestDevice* device : {&devices.first, &devices.second}) {
      EXPECT_EQ(device->allocated(), both.allocated(device->info().name));
    }
    if (!predicted) return;
    const Ledger before = run.model->predicted();
    for (const Device* device : devices.all) {
      const std::string name = device->info().name;
      for (const Purpose purpose : {Purpose::kWeights, Purpose::kMappedWeights, Purpose::kCache,
                                    Purpose::kActivations, Purpose::kInputs, Purpose::kStaging}) {
        EXPECT_EQ(both.bytes(name, purpose), before.bytes(name, purpose))
            << name << " " << to_string(purpose);
      }
    }
  }

  void each_call_fails_once(bool asynchronous, bool of_first);
  void each_call_is_survived(bool asynchronous, bool of_first, bool for_good);

  SynthModel file_{tiny_shape()};
  std::unique_ptr<Registry> registry_;
  Device* cpu_ = nullptr;
  std::vector<std::int32_t> alone_;
};

TEST_F(DeviceErrors, WithoutErrorsBothDevicesHoldPartOfTheCache) {
  for (const bool asynchronous : {false, true}) {
    Devices devices(cpu_, asynchronous);
    Run run;
    generate(devices.all, DeviceErrorMode::kFallback, run);
    EXPECT_EQ(run.tokens, alone_);
    EXPECT_GT(run.session->ledger().bytes("test0", Purpose::kCache), 0U);
    EXPECT_GT(run.session->ledger().bytes("test1", Purpose::kCache), 0U);
    EXPECT_THAT(run.reported->lines, IsEmpty());
    expect_ledgers_match(run, devices, true);
  }
}

void DeviceErrors::each_call_fails_once(bool asynchronous, bool of_first) {
  std::size_t in_append = 0;
  for (std::size_t n = 1;; ++n) {
    SCOPED_TRACE(n);
    Devices devices(cpu_, asynchronous);
    TestDevice& device = of_first ? devices.first : devices.second;
    device.fail_at({.any = n});
    {
      Run run;
      generate(devices.all, DeviceErrorMode::kFail, run);
      ASSERT_EQ(run.tokens, alone_);
      if (!device.has_failed()) break;
      in_append += run.append_errors.size();
      for (const Error& error : run.append_errors) EXPECT_NE(error.node(), "");
      std::vector<Error> errors = run.errors;
      errors.insert(errors.end(), run.append_errors.begin(), run.append_errors.end());
      const bool refused = ::testing::Value(run.notes(), Contains(HasSubstr("refused memory")));
      ASSERT_EQ(errors.size(), refused ? 0U : 1U);
      for (const Error& error : errors) {
        EXPECT_EQ(error.code(), ErrorCode::kDevice) << error.message();
        EXPECT_EQ(error.device(), device.info().name) << error.message();
        EXPECT_THAT(error.message(), HasSubstr(device.info().name));
        ASSERT_TRUE(error.vendor());
        EXPECT_EQ(error.vendor()->code, 719);
      }
      EXPECT_TRUE(run.uses(device));
      // A refusal and the nodes that fall back are reported, but no device is left out.
      const auto of_memory = AnyOf(HasSubstr("refused memory"), HasSubstr("has no room left"));
      EXPECT_THAT(run.reported->lines, Each(of_memory));
      EXPECT_TRUE(refused || run.reported->lines.empty());
      expect_ledgers_match(run, devices, !refused);
    }
    EXPECT_EQ(devices.first.allocated() + devices.second.allocated(), 0U);
  }
  EXPECT_GT(in_append, 100U);
}

TEST_F(DeviceErrors, FailModeKeepsTheSessionAfterAnyFailedCall) {
  each_call_fails_once(false, true);
  each_call_fails_once(false, false);
}

TEST_F(DeviceErrors, FailModeKeepsTheSessionAfterAnyLateError) {
  each_call_fails_once(true, true);
}

void DeviceErrors::each_call_is_survived(bool asynchronous, bool of_first, bool for_good) {
  std::size_t left_out = 0;
  for (std::size_t n = 1;; ++n) {
    SCOPED_TRACE(n);
    Devices devices(cpu_, asynchronous);
    TestDevice& device = of_first ? devices.first : devices.second;
    device.fail_at({.any = n, .for_good = for_good});
    Run run;
    generate(devices.all, DeviceErrorMode::kFallback, run);
    ASSERT_EQ(run.tokens, alone_);
    if (!device.has_failed()) break;
    EXPECT_EQ(run.errors.size() + run.append_errors.size(), 0U);
    const bool refused = ::testing::Value(run.notes(), Contains(HasSubstr("refused memory")));
    expect_ledgers_match(run, devices, !refused);
    EXPECT_EQ(run.uses(device), refused);
    if (refused) continue;
    ++left_out;
    EXPECT_EQ(device.allocated(), 0U);
    const auto line = Contains(AllOf(HasSubstr(device.info().name + " failed and is left out: "),
                                     HasSubstr("(code 719: as the test wanted it)")));
    EXPECT_THAT(run.model->notes(), line);
    EXPECT_THAT(run.reported->lines, line);
  }
  EXPECT_GT(left_out, 100U);
}

TEST_F(DeviceErrors, AnyFailedCallIsSurvivedWithoutTheDevice) {
  each_call_is_survived(false, true, false);
  each_call_is_survived(false, false, false);
}

TEST_F(DeviceErrors, AnyLateErrorIsSurvivedWithoutTheDevice) {
  each_call_is_survived(true, true, false);
}

TEST_F(DeviceErrors, PermanentDeviceLossIsSurvived) {
  each_call_is_survived(false, true, true);
  each_call_is_survived(true, false, true);
}

TEST_F(DeviceErrors, LossOfOneDeviceAfterAnotherFallsBackToTheCpu) {
  std::size_t both_lost = 0;
  for (std::size_t n = 1; n < 200; n += 7) {
    for (std::size_t m = 1; m < 200; m += 23) {
      SCOPED_TRACE(n * 1000 + m);
      Devices devices(cpu_);
      devices.first.fail_at({.any = n, .for_good = true});
      devices.second.fail_at({.any = m, .for_good = true});
      Run run;
      generate(devices.all, DeviceErrorMode::kFallback, run);
      ASSERT_EQ(run.tokens, alone_);
      EXPECT_EQ(run.uses(devices.first), !devices.first.has_failed());
      EXPECT_EQ(run.uses(devices.second), !devices.second.has_failed());
      expect_ledgers_match(run, devices, true);
      if (run.model->state()->devices.size() == 1) ++both_lost;
    }
  }
  EXPECT_GT(both_lost, 100U);
}

TEST_F(DeviceErrors, OfTheCpuAreErrorsInEveryMode) {
  for (const DeviceErrorMode mode : {DeviceErrorMode::kFail, DeviceErrorMode::kFallback}) {
    TestDevice device({.name = "test0", .ops = {"matmul", "add"}});
    TestDevice host({.name = "cpu0", .kind = DeviceKind::kCpu, .host_accessible = true});
    const std::vector<Device*> devices = {&device, &host};
    Run run;
    load(devices, load_options(mode, run.reported), run);
    ASSERT_TRUE(run.session);
    host.fail_at({.launch = 30});
    generate(run);
    EXPECT_EQ(run.tokens, alone_);
    ASSERT_EQ(run.append_errors.size(), 1U);
    EXPECT_EQ(run.append_errors[0].device(), "cpu0");
    EXPECT_TRUE(run.uses(host));
    EXPECT_TRUE(run.uses(device));
    host.fail_at({.any = 1, .for_good = true});
    const auto model = Model::load(file_.path(), devices, load_options(mode, run.reported));
    ASSERT_FALSE(model);
    EXPECT_EQ(model.error().device(), "cpu0");
  }
}

TEST_F(DeviceErrors, CacheOnAnotherDeviceIsKept) {
  for (const bool cache_is_lost : {false, true}) {
    Devices devices(cpu_);
    Run run;
    LoadOptions options = load_options(DeviceErrorMode::kFallback, run.reported);
    options.placement.pins = {{".* of layer .*", cache_is_lost ? "test0" : "cpu0"}};
    load(devices.all, options, run);
    ASSERT_TRUE(run.session);
    const std::vector<std::int32_t> prompt = {1, 20, 30};
    const auto logits = run.session->append(prompt);
    ASSERT_TRUE(logits);
    EXPECT_EQ(likeliest(*logits), alone_[0]);
    devices.first.fail_at({.any = 1, .for_good = true});
    const auto more = run.session->append(std::span(alone_).first(1));
    ASSERT_TRUE(more) << more.error().message();
    EXPECT_EQ(likeliest(*more), alone_[1]);
    EXPECT_EQ(run.session->length(), 4);
    const auto again = Contains("the cache of 3 tokens is lost with test0; it is computed again");
    if (cache_is_lost) {
      EXPECT_THAT(run.session->notes(), again);
      EXPECT_THAT(run.reported->lines, again);
      EXPECT_THAT(run.reported->lines, Contains(HasSubstr("of weights are read again")));
      EXPECT_THAT(run.reported->lines, Contains("the pin .* of layer .*=test0 is dropped"));
    } else {
      EXPECT_THAT(run.session->notes(), Not(Contains(HasSubstr("computed again"))));
    }
  }
}

TEST_F(DeviceErrors, WeightsOfRemainingDevicesStay) {
  std::size_t needed = 0;
  for (const bool tight : {false, true}) {
    Devices devices(cpu_, false, tight ? needed + 1000 : std::size_t{1} << 30);
    Run run;
    load(devices.all, load_options(DeviceErrorMode::kFallback, run.reported), run);
    const auto records = run.model->state()->weights.records;  // without their memory
    const auto homes = run.model->state()->weights.homes();
    needed = devices.second.allocated();
    devices.first.fail_at({.launch = 1});
    generate(run);
    EXPECT_EQ(run.tokens, alone_);
    const auto after = run.model->state();
    ASSERT_EQ(after->devices.size(), 2U);
    std::size_t stayed = 0;
    for (const auto& [info, home] : homes) {
      if (home == 0) continue;
      EXPECT_EQ(after->weights.at(info).home, home - 1) << info->name;
      EXPECT_EQ(after->weights.at(info).address.buffer, records.at(info).address.buffer)
          << info->name;
      ++stayed;
    }
    EXPECT_GT(stayed, 5U);
    EXPECT_EQ(after->weights.homes().size(), homes.size());
    expect_ledgers_match(run, devices, true);
    EXPECT_EQ(devices.second.allocated() > needed + 1000, !tight);
  }
}

TEST_F(DeviceErrors, MemoryOfMovedWeightsIsFreed) {
  std::size_t moved = 0;
  for (std::size_t memory = 7000; memory <= 11000; memory += 500) {
    Devices devices(cpu_, false, memory);
    Run run;
    LoadOptions options = load_options(DeviceErrorMode::kFallback, run.reported);
    options.placement.rules_only = false;
    load(devices.all, options, run);
    const auto weights = [&] { return run.model->ledger().bytes("test1", Purpose::kWeights); };
    const bool held = weights() > 0;
    devices.first.fail_at({.launch = 1});
    generate(run);
    EXPECT_EQ(run.tokens, alone_);
    expect_ledgers_match(run, devices, true);
    const auto homes = run.model->state()->weights.homes();
    if (held && std::ranges::all_of(homes, [](const auto& home) { return home.second == 1; })) {
      EXPECT_EQ(weights(), 0U);
      ++moved;
    }
  }
  EXPECT_GT(moved, 0U) << "this never happened";
}

TEST_F(DeviceErrors, AppendAllDeliversEachTokensLogitsOnce) {
  const std::vector<std::int32_t> start = {1, 7, 77}, tokens = {20, 30, 40, 50, 60};
  const auto all_logits = [&](Run& run, bool& failed, const std::function<void()>& arm) {
    std::vector<float> all;
    EXPECT_TRUE(run.session->append(start));
    arm();
    Status status = ok();
    for (int i = 0; i < 2; ++i) {
      all.clear();
      status = run.session->append_all(tokens, [&](std::size_t first, auto logits) {
        EXPECT_EQ(all.size(), first * 300);
        all.insert(all.end(), logits.begin(), logits.end());
      });
      if (status) break;
      failed = true;
      EXPECT_EQ(status.error().code(), ErrorCode::kDevice) << status.error().message();
      EXPECT_EQ(run.session->length(), 3);
    }
    EXPECT_TRUE(status) << status.error().message();
    EXPECT_EQ(run.session->length(), 8);
    return all;
  };
  const std::vector<Device*> only = {cpu_};
  Run alone;
  bool failed = false;
  load(only, load_options(DeviceErrorMode::kFail, alone.reported), alone);
  const std::vector<float> expected = all_logits(alone, failed, [] {});
  ASSERT_EQ(expected.size(), 5 * 300U);
  // Lets the n-th call fail, if n is not 0; says whether it came to that, and whether caches moved.
  const auto check = [&](std::size_t memory, std::size_t n, DeviceErrorMode mode, bool& moved) {
    TestDevice device({.name = "test0", .memory = memory});
    const std::vector<Device*> devices = {&device, cpu_};
    Run run;
    load(devices, load_options(mode, run.reported), run);
    const Ledger before = run.session->ledger();
    failed = false;
    const auto logits = all_logits(run, failed, [&] { device.fail_at({.any = n}); });
    EXPECT_EQ(logits.size(), expected.size());
    for (std::size_t i = 0; i < std::min(logits.size(), expected.size()); ++i) {
      EXPECT_NEAR(logits[i], expected[i], 1e-3);
      if (HasFailure()) break;
    }
    EXPECT_FALSE(failed && mode == DeviceErrorMode::kFallback);
    const Ledger after = run.session->ledger();
    moved = after.bytes("test0", Purpose::kCache) < before.bytes("test0", Purpose::kCache);
    return device.has_failed();
  };
  // So little memory that all plans are made again for the one with many outputs.
  bool moved = false;
  std::size_t memory = 10000;
  while (!moved && memory < 100000) check(memory += 300, 0, DeviceErrorMode::kFail, moved);
  ASSERT_TRUE(moved) << "caches never moved";
  for (const DeviceErrorMode mode : {DeviceErrorMode::kFail, DeviceErrorMode::kFallback}) {
    std::size_t n = 1;
    while (!HasFailure() && check(memory, n, mode, moved)) ++n;
    EXPECT_GT(n, 50U);
  }
}

TEST_F(DeviceErrors, FallbackPolicyDenyIsAnError) {
  TestDevice first({.name = "test0"});
  TestDevice second({.name = "test1", .ops = {"matmul"}});
  const std::vector<Device*> devices = {&first, &second, cpu_};
  Run run;
  LoadOptions options = load_options(DeviceErrorMode::kFallback, run.reported);
  options.placement.fallback.mode = FallbackMode::kDeny;
  load(devices, options, run);
  ASSERT_TRUE(run.session);
  first.fail_at({.launch = 40});
  generate(run);
  EXPECT_EQ(run.tokens, alone_);
  ASSERT_EQ(run.append_errors.size(), 1U);
  EXPECT_EQ(run.append_errors[0].code(), ErrorCode::kUnsupported);
  EXPECT_THAT(run.append_errors[0].message(),
              AllOf(HasSubstr("code 719"), HasSubstr("without test0"), HasSubstr("test1")));
  EXPECT_TRUE(run.uses(first));
}

TEST_F(DeviceErrors, AnotherSessionDropsTheDeviceAtItsNextCall) {
  Devices devices(cpu_);
  Run run;
  load(devices.all, load_options(DeviceErrorMode::kFallback, run.reported), run);
  auto other = Session::create(run.model, session_options());
  ASSERT_TRUE(other);
  const std::vector<std::int32_t> prompt = {1, 20, 30};
  ASSERT_TRUE((*other)->append(prompt));
  devices.first.fail_at({.launch = 5, .for_good = true});
  generate(run);
  EXPECT_EQ(run.tokens, alone_);
  EXPECT_GT(devices.first.allocated(), 0U);  // the other session's
  const auto logits = (*other)->append(std::span(alone_).first(1));
  ASSERT_TRUE(logits) << logits.error().message();
  EXPECT_EQ(likeliest(*logits), alone_[1]);
  EXPECT_THAT((*other)->notes(), Contains(HasSubstr("the cache of 3 tokens is lost with test0")));
  EXPECT_EQ(devices.first.allocated(), 0U);
  EXPECT_EQ(std::ranges::count_if(
                run.reported->lines,
                [](const std::string& line) { return line.find("left out") != std::string::npos; }),
            1);
}

class DeviceErrorThreads : public DeviceErrors {};

TEST_F(DeviceErrorThreads, SessionsThatShareTheDeviceContinue) {
  for (const bool for_good : {false, true}) {
    for (std::size_t n = 5; n < 400; n += 61) {
      SCOPED_TRACE(n);
      Devices devices(cpu_);
      Run first;
      load(devices.all, load_options(DeviceErrorMode::kFallback, first.reported), first);
      Run second;
      second.model = first.model;
      auto session = Session::create(second.model, session_options());
      ASSERT_TRUE(session);
      second.session = std::move(*session);
      devices.first.fail_at({.any = n, .for_good = for_good});
      std::thread other([&] { generate(second); });
      std::thread reader([&] {
        for (int i = 0; i < 20; ++i) {
          EXPECT_FALSE(first.model->notes().empty());
          EXPECT_FALSE(first.model->ledger().rows.empty());
          std::this_thread::yield();
        }
      });
      generate(first);
      other.join();
      reader.join();
      EXPECT_EQ(first.tokens, alone_);
      EXPECT_EQ(second.tokens, alone_);
      EXPECT_EQ(first.append_errors.size() + second.append_errors.size(), 0U);
      EXPECT_EQ(first.uses(devices.first), !devices.first.has_failed());
      first.session.reset();
      second.session.reset();
      EXPECT_EQ(devices.first.allocated() == 0, devices.first.has_failed());
    }
  }
}

}  // namespace
}  // namespace shunt::test::engine_device_errors_test
