// Host memory as a second tier for blocks of the KV cache of devices: prompts whose blocks were
// given to others come back without being computed, and give the logits that they give alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>

#include "base/host_memory_facts.h"
#include "base/to_size.h"
#include "engine/model_state.h"
#include "shunt/batcher.h"
#include "shunt/engine.h"
#include "shunt/explain_model.h"
#include "support/models.h"
#include "support/sanitized.h"
#include "support/session_tokens.h"
#include "support/test_accelerator.h"
#include "support/test_architectures.h"
#include "support/test_device.h"
#include "support/test_model.h"

namespace shunt::test::engine_host_cache_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using Logits = std::vector<float>;

/// As in other tests of sequences on devices: units in the last place of logits of about 1.
constexpr float kTolerance = 1e-4F;
constexpr std::size_t kStride = kSanitized ? 5 : 1;  // of calls that fail
constexpr std::int64_t kBlock = 64;
/// Tokens of a prompt: three whole blocks, and some.
constexpr std::int64_t kPrompt = 3 * kBlock + 8;
/// The cache has room for one prompt, and a block.
constexpr std::int64_t kContext = 5 * kBlock;
/// Keys and values of two layers, of two heads of 8 numbers of F32.
constexpr std::uint64_t kBlockBytes = std::uint64_t{2} * 2 * 2 * 8 * 4 * kBlock;

SessionOptions session_options(std::uint64_t host_bytes, std::int64_t sequences = 1) {
  SessionOptions options;
  options.context = kContext;
  options.sequences = sequences;
  options.cache_type = DType::kF32;
  options.reuse_prefixes = true;
  options.host_cache_bytes = host_bytes;
  return options;
}

Tokens prompt(std::uint32_t number) {
  return some_tokens(to_size(kPrompt), number);
}

class EngineHostCache : public ::testing::Test {
 protected:
  EngineHostCache() {
    Options options;
    options.threads = 2;
    registry_ = std::move(*Registry::create(options));
  }
  Device* cpu() const { return registry_->devices().back(); }

  /// From now on the model is a random one of this architecture of tests.
  void use(std::string_view architecture) {
    path_ = file_.folder().file(std::string(architecture) + ".gguf");
    write_test_model(path_, {.architecture = architecture, .layers = 6});
    alone_.reset();
    logits_alone_.clear();
  }

  /// All of the cache is on the first device.
  static LoadOptions load_options(const SessionOptions& session) {
    LoadOptions options;
    options.session = session;
    options.memory_margin = 0;
    options.placement.rules_only = true;
    options.on_device_error.mode = DeviceErrorMode::kFallback;
    options.architectures = test_architectures();
    return options;
  }
  std::shared_ptr<const Model> load(std::vector<Device*> devices,
                                    const LoadOptions& options) const {
    auto model = Model::load(path_, devices, options);
    EXPECT_TRUE(model) << model.error().message();
    return *model;
  }
  static std::unique_ptr<Session> open(const std::shared_ptr<const Model>& model,
                                       const SessionOptions& options) {
    auto session = Session::create(model, options);
    EXPECT_TRUE(session) << session.error().message();
    return std::move(*session);
  }
  std::unique_ptr<Session> open(Device& device, std::uint64_t host_bytes,
                                std::int64_t sequences = 1) const {
    const SessionOptions options = session_options(host_bytes, sequences);
    return open(load({&device, cpu()}, load_options(options)), options);
  }

  /// The logits after these tokens on the CPU, in a session of their own.
  const Logits& alone(const Tokens& tokens) {
    if (const auto known = logits_alone_.find(tokens); known != logits_alone_.end())
      return known->second;
    if (!alone_) {
      SessionOptions options;
      options.context = 1000;
      options.cache_type = DType::kF32;
      alone_ = open(load({cpu()}, load_options(options)), options);
    }
    EXPECT_TRUE(alone_->truncate(0));
    const auto logits = alone_->append(tokens);
    EXPECT_TRUE(logits) << logits.error().message();
    return logits_alone_[tokens] = {logits->begin(), logits->end()};
  }
  /// Replaces a sequence by these tokens; how many were computed.
  std::int64_t compute(Session& session, const Tokens& tokens, std::int64_t sequence = 0) {
    const std::int64_t before = session.computed();
    EXPECT_TRUE(session.truncate(0, sequence));
    const SequenceTokens piece = {sequence, tokens};
    const auto logits = session.append_each({&piece, 1});
    EXPECT_TRUE(logits) << logits.error().message();
    if (!logits) return -1;
    EXPECT_LE(difference(*logits, alone(tokens)), kTolerance);
    return session.computed() - before;
  }

  void expect_failing_copies_lose_nothing(const SessionOptions& options);
  void expect_blocks_outlive_the_device(std::uint64_t bytes);

  SynthModel file_{session_model()};
  std::string path_ = file_.path();
  std::unique_ptr<Registry> registry_;
  std::unique_ptr<Session> alone_;
  std::map<Tokens, Logits> logits_alone_;
};

TEST_F(EngineHostCache, PromptsComeBackInsteadOfBeingComputed) {
  for (const bool tier : {false, true}) {
    TestDevice device(TestDeviceConfig{});
    const auto session = open(device, tier ? 20 * kBlockBytes + 100 : 0);
    const Ledger made = session->ledger();
    EXPECT_EQ(made.bytes("cpu0", Purpose::kHostCache), tier ? 20 * kBlockBytes : 0);
    EXPECT_EQ(made.bytes("test0", Purpose::kCache), 5 * kBlockBytes);
    EXPECT_EQ(session->memory().cache, 5 * kBlockBytes + (tier ? 20 * kBlockBytes : 0));
    for (int round = 0; round < 3; ++round) {
      for (const std::uint32_t number : {1, 2, 3, 4}) {
        const std::int64_t rest = tier && round > 0 ? 8 : kPrompt;
        EXPECT_EQ(compute(*session, prompt(number)), rest) << round << ", " << number;
      }
    }
    EXPECT_EQ(session->ledger(), made) << "nothing is allocated in a step";
    const HostCacheUse use = session->host_cache();
    EXPECT_EQ(use.blocks, tier ? 20 : 0);
    EXPECT_EQ(use.used, tier ? 12 : 0);
    EXPECT_EQ(use.restored > 0, tier);
    EXPECT_LE(use.saved, 12) << "a block that came back is not copied again";
  }
}

TEST_F(EngineHostCache, AnAsynchronousAcceleratorGivesTheSameLogits) {
  for (const bool in_world : {false, true}) {
    TestWorld world;
    TestAccelerator device({.world = in_world ? &world : nullptr});
    const auto session = open(device, 20 * kBlockBytes);
    for (int round = 0; round < 2; ++round) {
      for (const std::uint32_t number : {1, 2, 3})
        EXPECT_EQ(compute(*session, prompt(number)), round > 0 ? 8 : kPrompt);
    }
  }
}

/// The rows of a block are on two devices.
TEST_F(EngineHostCache, CachesOfADeviceAndOfTheCpuComeBackTogether) {
  TestDevice device(TestDeviceConfig{});
  const SessionOptions options = session_options(20 * kBlockBytes);
  LoadOptions load_with = load_options(options);
  load_with.placement.pins = {{".* of layer 1", "cpu0"}};
  const auto session = open(load({&device, cpu()}, load_with), options);
  ASSERT_GT(session->ledger().bytes("test0", Purpose::kCache), 0U);
  ASSERT_GT(session->ledger().bytes("cpu0", Purpose::kCache), 0U);
  EXPECT_EQ(session->host_cache().blocks, 20);
  for (int round = 0; round < 2; ++round) {
    for (const std::uint32_t number : {1, 2, 3})
      EXPECT_EQ(compute(*session, prompt(number)), round > 0 ? 8 : kPrompt);
  }
}

TEST_F(EngineHostCache, EachBudgetIsUsedInWholeBlocks) {
  TestDevice device(TestDeviceConfig{});
  const auto no_memory = [](const std::string& reason) {
    return Contains(HasSubstr("no host memory for blocks of the KV cache: " + reason));
  };
  const auto less = open(device, kBlockBytes - 1);
  EXPECT_EQ(less->host_cache().blocks, 0);
  EXPECT_EQ(less->ledger().total(Purpose::kHostCache), 0U);
  EXPECT_THAT(less->notes(), no_memory("a block takes 16384 bytes, and 16383 are given"));
  EXPECT_EQ(compute(*less, prompt(1)), kPrompt);
  const auto one = open(device, kBlockBytes);
  EXPECT_EQ(one->host_cache().blocks, 1);
  EXPECT_THAT(one->notes(), Contains("cpu0: 16.0 KiB for 1 block of the KV cache"));
  for (const std::uint32_t number : {1, 2, 1, 2, 1}) compute(*one, prompt(number));
  EXPECT_LE(one->host_cache().used, 1);
  // More than the machine has.
  const auto all = open(device, std::uint64_t{1} << 50);
  EXPECT_EQ(all->host_cache().blocks, 0);
  EXPECT_THAT(all->notes(), no_memory("cpu0 needs"));
  EXPECT_EQ(compute(*all, prompt(1)), kPrompt);
  // More than is free now.
  const std::uint64_t free = host_memory_free();
  const auto much = open(device, free + (host_memory_total() - free) / 2);
  EXPECT_EQ(much->host_cache().blocks, 0);
  EXPECT_THAT(much->notes(), Contains(HasSubstr("are free")));
  const auto none = open(device, 0);
  EXPECT_THAT(none->notes(), Not(Contains(HasSubstr("of the KV cache"))));
}

TEST_F(EngineHostCache, OptionsThatMakeNoSenseAreInvalid) {
  TestDevice device(TestDeviceConfig{});
  const auto model = load({&device, cpu()}, load_options(session_options(0)));
  SessionOptions options = session_options(1 << 20);
  options.reuse_prefixes = false;
  const auto unused = Session::create(model, options);
  ASSERT_FALSE(unused);
  EXPECT_EQ(unused.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(unused.error().message(),
              HasSubstr("host_cache_bytes is 1048576, but reuse_prefixes is false"));
  const auto large = Session::create(model, session_options(SessionOptions::kMaxHostCache + 1));
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code(), ErrorCode::kInvalidArgument);
}

TEST_F(EngineHostCache, ACacheInHostMemoryHasNoTier) {
  TestDevice unified({.host_accessible = true, .host_memory = true});
  for (Device* const device : {static_cast<Device*>(&unified), cpu()}) {
    std::vector<Device*> devices = {device};
    if (device != cpu()) devices.push_back(cpu());
    const SessionOptions options = session_options(20 * kBlockBytes);
    const auto session = open(load(devices, load_options(options)), options);
    EXPECT_EQ(session->ledger().total(Purpose::kHostCache), 0U);
    EXPECT_EQ(session->host_cache().blocks, 0);
    EXPECT_THAT(session->notes(), Contains("no host memory for blocks of the KV cache: all of the "
                                           "cache is in host memory"));
    EXPECT_EQ(compute(*session, prompt(1)), kPrompt);
  }
}

TEST_F(EngineHostCache, TheMemoryIsPredictedAndExplained) {
  TestDevice device(TestDeviceConfig{});
  const SessionOptions options = session_options(7 * kBlockBytes);
  const auto model = load({&device, cpu()}, load_options(options));
  EXPECT_EQ(model->predicted().bytes("cpu0", Purpose::kHostCache), 7 * kBlockBytes);
  EXPECT_THAT(model->notes(), Contains("cpu0: 112.0 KiB for 7 blocks of the KV cache"));
  const auto session = open(model, options);
  EXPECT_EQ(session->ledger().bytes("cpu0", Purpose::kHostCache), 7 * kBlockBytes);
  PlaceStepOptions explain;
  explain.load = load_options(options);
  explain.load.devices = {"cpu0"};
  const auto placed = place_step(path_, *registry_, explain);
  ASSERT_TRUE(placed) << placed.error().message();
  EXPECT_THAT(placed->notes, Contains(HasSubstr("no host memory for blocks of the KV cache")));
}

TEST_F(EngineHostCache, ADevicePinsTheMemoryAsLongAsTheSessionLives) {
  TestDevice device({.pins_host = std::size_t{1} << 24});
  auto session = open(device, 20 * kBlockBytes);
  EXPECT_GE(device.host_pinned(), 20 * kBlockBytes);
  EXPECT_THAT(session->notes(),
              Contains(HasSubstr("320.0 KiB of blocks of the cache in host memory are pinned")));
  EXPECT_EQ(compute(*session, prompt(1)), kPrompt);
  session.reset();
  EXPECT_EQ(device.host_pinned(), 0U);
}

/// Each allocation of the CPU fails once. The one for the tier is not needed.
TEST_F(EngineHostCache, ASessionWorksWithoutTheMemoryIfItIsRefused) {
  TestDevice device(TestDeviceConfig{});
  TestDevice host({.name = "cpu0", .kind = DeviceKind::kCpu, .host_accessible = true});
  const SessionOptions options = session_options(20 * kBlockBytes);
  const auto model = load({&device, &host}, load_options(options));
  int without = 0;
  for (std::size_t n = 1; n < 30; ++n) {
    host.fail_at({.allocation = n});
    const auto session = Session::create(model, options);
    const bool failed = host.has_failed();
    host.fail_at({});
    if (!session) continue;
    if (!failed) break;
    EXPECT_EQ((*session)->ledger().total(Purpose::kHostCache), 0U);
    EXPECT_THAT((*session)->notes(),
                Contains(HasSubstr("no host memory for blocks of the KV cache: ")));
    EXPECT_EQ(compute(**session, prompt(1)), kPrompt);
    ++without;
  }
  EXPECT_EQ(without, 1);
}

TEST_F(EngineHostCache, ScopesDoNotFindEachOthersBlocks) {
  TestDevice device(TestDeviceConfig{});
  const auto session = open(device, 40 * kBlockBytes);
  const auto in_scope = [&](const char* scope, std::uint32_t number) {
    EXPECT_TRUE(session->set_scope(0, scope));
    return compute(*session, prompt(number));
  };
  EXPECT_EQ(in_scope("alice", 1), kPrompt);
  for (const std::uint32_t number : {2, 3}) in_scope("", number);
  EXPECT_EQ(in_scope("bob", 1), kPrompt);
  EXPECT_EQ(in_scope("", 1), kPrompt);
  EXPECT_EQ(in_scope("alice", 1), 8);
}

/// A call fails once: the sequence is as it was, and the same call works then.
void EngineHostCache::expect_failing_copies_lose_nothing(const SessionOptions& options) {
  std::size_t errors = 0;
  for (std::size_t n = 1;; n += kStride) {
    SCOPED_TRACE(n);
    TestDevice device(TestDeviceConfig{});
    LoadOptions load_with = load_options(options);
    load_with.on_device_error.mode = DeviceErrorMode::kFail;
    const auto session = open(load({&device, cpu()}, load_with), options);
    for (const std::uint32_t number : {1, 2}) compute(*session, prompt(number));
    ASSERT_TRUE(session->truncate(0));
    device.fail_at({.copy = n});
    for (const std::uint32_t number : {1, 3, 2, 1}) {
      const Tokens tokens = prompt(number);
      ASSERT_TRUE(session->truncate(0));
      auto logits = session->append(tokens);
      if (!logits) {
        EXPECT_EQ(logits.error().code(), ErrorCode::kDevice);
        EXPECT_EQ(session->length(), 0);
        ++errors;
        logits = session->append(tokens);
      }
      ASSERT_TRUE(logits) << logits.error().message();
      ASSERT_LE(difference(*logits, alone(tokens)), kTolerance) << number;
    }
    if (!device.has_failed()) break;
  }
  EXPECT_GT(errors, 30U / kStride);
}

TEST_F(EngineHostCache, AFailureOfAnyCopyLosesNothing) {
  expect_failing_copies_lose_nothing(session_options(20 * kBlockBytes));
}

TEST_F(EngineHostCache, AFailureOfAnyCopyOfWindowsLosesNothing) {
  use(kWindows);
  SessionOptions options = session_options(1 << 20);
  expect_failing_copies_lose_nothing(options);
  // The caches of windows have 4 blocks less than the others.
  options.context = 9 * kBlock;
  options.batch = kBlock;
  expect_failing_copies_lose_nothing(options);
}

/// The device is lost at some call. Host memory has its blocks still.
void EngineHostCache::expect_blocks_outlive_the_device(std::uint64_t bytes) {
  int survived = 0;
  for (std::size_t n = 1; n < 400; n += 13 * kStride) {
    SCOPED_TRACE(n);
    TestDevice device(TestDeviceConfig{});
    const SessionOptions options = session_options(bytes);
    const auto model = load({&device, cpu()}, load_options(options));
    const auto session = open(model, options);
    for (const std::uint32_t number : {1, 2, 3}) compute(*session, prompt(number));
    device.fail_at({.any = n, .for_good = true});
    EXPECT_EQ(compute(*session, prompt(1)), 8);
    compute(*session, prompt(2));
    if (!device.has_failed()) break;
    EXPECT_EQ(model->state()->devices.size(), 1U);
    EXPECT_EQ(session->ledger().bytes("cpu0", Purpose::kHostCache), bytes);
    EXPECT_EQ(compute(*session, prompt(1)), 8);
    EXPECT_EQ(compute(*session, prompt(2)), 8);
    ++survived;
  }
  EXPECT_GT(survived, 10 / static_cast<int>(kStride));
}

TEST_F(EngineHostCache, BlocksInHostMemoryOutliveTheDevice) {
  expect_blocks_outlive_the_device(20 * kBlockBytes);
}

TEST_F(EngineHostCache, RowsOfWindowsInHostMemoryOutliveTheDevice) {
  use(kWindows);
  // Keys and values of six layers, of a head of 8 numbers of F32.
  expect_blocks_outlive_the_device(std::uint64_t{20} * 6 * 2 * 8 * 4 * kBlock);
}

/// A sequence in use gets the blocks back that host memory has.
TEST_F(EngineHostCache, ASequenceContinuesFromHostMemoryAfterTheDeviceIsLost) {
  TestDevice device(TestDeviceConfig{});
  const auto session = open(device, 20 * kBlockBytes);
  for (const std::uint32_t number : {1, 2, 1}) compute(*session, prompt(number));
  device.fail_at({.any = 1, .for_good = true});
  const std::int64_t before = session->computed();
  const auto logits = session->append(Tokens{5});
  ASSERT_TRUE(logits) << logits.error().message();
  Tokens all = prompt(1);
  all.push_back(5);
  EXPECT_LE(difference(*logits, alone(all)), kTolerance);
  // The first block of the prompt was never given to the other one.
  EXPECT_EQ(session->computed() - before, kBlock + 8 + 1);
  EXPECT_THAT(session->notes(),
              Contains("the cache of 72 tokens is lost with test0; it is computed again"));
}

TEST_F(EngineHostCache, RowsOfWindowsComeBackWithTheirBlocks) {
  for (const std::string_view architecture : {kWindows, kMixed}) {
    use(architecture);
    TestDevice device(TestDeviceConfig{});
    const auto session = open(device, 1 << 20);
    const Ledger made = session->ledger();
    for (int round = 0; round < 3; ++round) {
      for (const std::uint32_t number : {1, 2, 3})
        EXPECT_EQ(compute(*session, prompt(number)), round > 0 ? 8 : kPrompt) << architecture;
    }
    EXPECT_GT(session->host_cache().restored, 0);
    EXPECT_EQ(session->ledger(), made) << "nothing is allocated in a step";
  }
}

/// A cache of a window has 5 blocks, the others 24.
class EngineHostCacheOfSmallWindows : public EngineHostCache {
 protected:
  EngineHostCacheOfSmallWindows() {
    use(kWindows);
    options_.context = 24 * kBlock;
    options_.batch = kBlock;
  }
  /// Ten whole blocks, and some tokens.
  static Tokens text(std::uint32_t number) { return some_tokens(to_size(kText), number); }

  static constexpr std::int64_t kText = 10 * kBlock + 8;
  SessionOptions options_ = session_options(2 << 20);
};

TEST_F(EngineHostCacheOfSmallWindows, RowsComeBackAfterTheirBlocksWereGivenAway) {
  for (const bool tier : {false, true}) {
    TestDevice device(TestDeviceConfig{});
    options_.host_cache_bytes = tier ? 2 << 20 : 0;
    const auto session = open(load({&device, cpu()}, load_options(options_)), options_);
    for (int round = 0; round < 3; ++round) {
      for (const std::uint32_t number : {1, 2, 3})
        EXPECT_EQ(compute(*session, text(number)), tier && round > 0 ? 8 : kText);
    }
  }
}

TEST_F(EngineHostCacheOfSmallWindows, ATextIsEditedWithoutComputingItsStartAgain) {
  for (const bool tier : {false, true}) {
    TestDevice device(TestDeviceConfig{});
    options_.host_cache_bytes = tier ? 2 << 20 : 0;
    const auto session = open(load({&device, cpu()}, load_options(options_)), options_);
    Tokens tokens = text(1);
    compute(*session, tokens);
    for (const std::int64_t length : {330, 200, 64}) {
      ASSERT_TRUE(session->truncate(length));
      tokens.resize(to_size(length));
      tokens.push_back(7);
      const std::int64_t before = session->computed();
      const auto logits = session->append(Tokens{7});
      ASSERT_TRUE(logits) << logits.error().message();
      EXPECT_LE(difference(*logits, alone(tokens)), kTolerance);
      if (tier) {
        EXPECT_EQ(session->computed() - before, 1) << length;
      } else if (length == 330) {  // that brings back the rows for the others
        EXPECT_EQ(session->computed() - before, length + 1);
      }
    }
  }
}

/// Steps of each sequence write blocks that the other one gave back.
TEST_F(EngineHostCacheOfSmallWindows, SequencesTakeTurns) {
  TestDevice device(TestDeviceConfig{});
  options_.sequences = 2;
  const auto session = open(load({&device, cpu()}, load_options(options_)), options_);
  std::int64_t computed = 0;
  for (std::uint32_t i = 0; i < 25; ++i) computed += compute(*session, text(1 + i % 5), i % 2);
  EXPECT_EQ(computed, 5 * kText + 20 * 8);
}

/// The layers are on two devices, whose steps overlap.
TEST_F(EngineHostCacheOfSmallWindows, StepsThatOverlapReadTheRightRows) {
  TestWorld world(5);
  TestAccelerator first({.name = "accel0", .world = &world});
  TestAccelerator second({.name = "accel1", .world = &world});
  LoadOptions load_with = load_options(options_);
  load_with.placement.pins = {{"blk\\.[0-2]\\..*", "accel0"}, {"(blk\\.[3-5]|output).*", "accel1"}};
  const auto session = open(load({&first, &second, cpu()}, load_with), options_);
  for (int round = 0; round < 3; ++round) {
    for (const std::uint32_t number : {1, 2, 3})
      EXPECT_EQ(compute(*session, text(number)), round > 0 ? 8 : kText);
  }
}

/// Copies of states stay on the device: with one of them, the others continue from none.
TEST_F(EngineHostCache, ModelsWithStatesContinueFromCopiesOfStates) {
  path_ = file_.folder().file("hybrid.gguf");
  write_test_model(path_, {.architecture = kHybrid});
  for (const std::int64_t checkpoints : {0, 1, 5}) {
    TestDevice device(TestDeviceConfig{});
    SessionOptions options = session_options(1 << 20);
    options.checkpoints = checkpoints;
    const auto session = open(load({&device, cpu()}, load_options(options)), options);
    for (int round = 0; round < 3; ++round) {
      for (const std::uint32_t number : {1, 2, 3}) {
        const std::int64_t rest = checkpoints == 5 && round > 0 ? 8 : kPrompt;
        EXPECT_EQ(compute(*session, prompt(number)), rest) << checkpoints;
      }
    }
    EXPECT_GT(session->host_cache().restored, 0);
    // Before their rows are back.
    ASSERT_TRUE(session->truncate(0));
    const auto cached = session->append_cached(0, prompt(1));
    ASSERT_TRUE(cached) << cached.error().message();
    EXPECT_EQ(*cached, checkpoints == 5 ? 3 * kBlock : 0);
  }
}

TEST_F(EngineHostCache, ARestoredFileMayTakeBlocksThatAreSaved) {
  TestDevice device(TestDeviceConfig{});
  const auto session = open(device, 20 * kBlockBytes);
  const std::string path = file_.folder().file("sequence");
  compute(*session, prompt(9));
  ASSERT_TRUE(session->save(0, path));
  const Tokens more = {3, 1, 4};
  const auto continue_it = [&] {
    const auto logits = session->append(more);
    ASSERT_TRUE(logits) << logits.error().message();
    Tokens all = prompt(9);
    all.insert(all.end(), more.begin(), more.end());
    EXPECT_LE(difference(*logits, alone(all)), kTolerance);
  };
  for (const std::uint32_t number : {1, 2, 3}) compute(*session, prompt(number));
  const std::int64_t computed = session->computed();
  ASSERT_TRUE(session->restore(0, path));
  continue_it();
  EXPECT_EQ(session->computed() - computed, 3);
  for (const std::uint32_t number : {1, 2, 3}) EXPECT_EQ(compute(*session, prompt(number)), 8);
}

/// Whatever fails while a file is restored: the others get the right blocks back.
TEST_F(EngineHostCache, AFileThatIsNotRestoredLeavesNoWrongRows) {
  std::size_t errors = 0;
  for (std::size_t n = 1;; n += kStride) {
    SCOPED_TRACE(n);
    TestDevice device(TestDeviceConfig{});
    const SessionOptions options = session_options(4 * kBlockBytes);
    LoadOptions load_with = load_options(options);
    load_with.on_device_error.mode = DeviceErrorMode::kFail;
    const auto session = open(load({&device, cpu()}, load_with), options);
    const std::string path = file_.folder().file("sequence");
    compute(*session, prompt(9));
    ASSERT_TRUE(session->save(0, path));
    for (const std::uint32_t number : {1, 2}) compute(*session, prompt(number));
    device.fail_at({.copy = n});
    const Status restored = session->restore(0, path);
    device.fail_at({});
    errors += restored ? 0 : 1;
    for (const std::uint32_t number : {1, 9, 2, 1}) compute(*session, prompt(number));
    if (restored) break;
  }
  EXPECT_GT(errors, 10U / kStride);
}

/// A file is not restored: the states in a slot may be of the file by then, while the content of
/// its block is that from before.
TEST_F(EngineHostCache, AFileThatIsNotRestoredLeavesNoWrongStates) {
  path_ = file_.folder().file("hybrid.gguf");
  write_test_model(path_, {.architecture = kHybrid});
  const Tokens before = some_tokens(512, 1);
  Tokens after = before;
  after.push_back(5);
  int errors = 0;
  for (std::size_t n = 1;; ++n) {
    SCOPED_TRACE(n);
    TestDevice device(TestDeviceConfig{});
    SessionOptions options = session_options(0);
    options.context = 9 * kBlock;
    options.checkpoints = 4;
    LoadOptions load_with = load_options(options);
    load_with.on_device_error.mode = DeviceErrorMode::kFail;
    const auto session = open(load({&device, cpu()}, load_with), options);
    const std::string path = file_.folder().file("sequence");
    ASSERT_TRUE(session->append(some_tokens(100, 9)));
    ASSERT_TRUE(session->truncate(99));
    ASSERT_TRUE(session->save(0, path));
    ASSERT_TRUE(session->truncate(0));
    ASSERT_TRUE(session->append(before));
    device.fail_at({.copy = n});
    const Status restored = session->restore(0, path);
    device.fail_at({});
    if (restored) break;
    ++errors;
    ASSERT_EQ(session->length(), 512);
    const auto logits = session->append(Tokens{5});
    ASSERT_TRUE(logits) << logits.error().message();
    EXPECT_LE(difference(*logits, alone(after)), kTolerance);
  }
  EXPECT_GT(errors, 1);
}

/// Questions about a few long texts, in a cache that holds one of them.
TEST_F(EngineHostCache, ABatcherComputesSharedPrefixesOnce) {
  std::vector<Tokens> expected;
  std::int64_t computed_without = 0;
  for (const bool tier : {false, true}) {
    TestDevice device(TestDeviceConfig{});
    BatcherOptions options;
    options.session = session_options(tier ? 40 * kBlockBytes : 0, 2);
    options.own_thread = false;
    const auto model =
        load({&device, cpu()}, load_options(Batcher::session_options(options.session)));
    const auto batcher = Batcher::create(model, options);
    ASSERT_TRUE(batcher) << batcher.error().message();
    std::vector<Tokens> texts;
    for (std::uint32_t i = 0; i < 12; ++i) {
      Tokens tokens = prompt(1 + i % 3);
      const Tokens question = some_tokens(10, 100 + i);
      tokens.insert(tokens.end(), question.begin(), question.end());
      BatchRequest request = {.tokens = tokens, .max_tokens = 4, .ignore_end = true};
      request.sampling.temperature = 0;
      const auto stream = (*batcher)->submit(std::move(request));
      ASSERT_TRUE(stream) << stream.error().message();
      while ((*batcher)->step()) {
      }
      EXPECT_EQ((*batcher)->statistics().running, 0);
      texts.emplace_back();
      while (const auto event = (*stream)->poll()) {
        if (!event->end) texts.back().push_back(event->token);
      }
    }
    const BatcherStatistics statistics = (*batcher)->statistics();
    if (!tier) {
      expected = texts;
      computed_without = statistics.computed_tokens;
      EXPECT_GE(computed_without, 12 * kPrompt);
      EXPECT_EQ(statistics.host_cache.blocks, 0);
      continue;
    }
    EXPECT_EQ(texts, expected);
    EXPECT_LE(statistics.computed_tokens, 3 * kPrompt + 12 * (8 + 10 + 3));
    EXPECT_GT(statistics.host_cache.restored, 9);
  }
}

}  // namespace
}  // namespace shunt::test::engine_host_cache_test
