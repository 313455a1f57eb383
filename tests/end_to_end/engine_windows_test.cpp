// Sessions of models some of whose layers see the last tokens only: blocks of their caches go back
// as the windows move on. All logits are those of the same weights with caches for all tokens.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <random>

#include "base/to_size.h"
#include "engine/model_state.h"
#include "model/definition.h"
#include "shunt/batcher.h"
#include "shunt/engine.h"
#include "support/models.h"
#include "support/session_tokens.h"
#include "support/test_architectures.h"
#include "support/test_device.h"
#include "support/test_model.h"

namespace shunt::test::engine_windows_test {
namespace {

using ::testing::ElementsAre;
using Logits = std::vector<float>;

constexpr std::int64_t kContext = 8192;
constexpr std::int64_t kWindow = 40;
constexpr float kTolerance = 1e-4F;

Tokens joined(Tokens first, const Tokens& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}
Tokens start_of(const Tokens& tokens, std::int64_t count) {
  return {tokens.begin(), tokens.begin() + count};
}

class EngineWindows : public ::testing::TestWithParam<std::string_view> {
 protected:
  EngineWindows() {
    Options options;
    options.threads = 2;
    registry_ = std::move(*Registry::create(options));
    TestModelOptions file = {
        .architecture = GetParam(), .layers = GetParam() == kMixed ? 6 : 2, .window = kWindow};
    write_test_model(path_, file);
    file.whole_caches = true;
    write_test_model(whole_path_, file);
    model_ = load({cpu()});
    whole_ = load({cpu()}, whole_path_);
  }

  Device* cpu() { return registry_->devices().back(); }
  LoadOptions load_options() const {
    LoadOptions options;
    options.architectures = test_architectures();
    options.placement.rules_only = true;
    options.on_device_error.mode = DeviceErrorMode::kFallback;
    return options;
  }
  std::shared_ptr<const Model> load(const std::vector<Device*>& devices) {
    return load(devices, path_);
  }
  std::shared_ptr<const Model> load(const std::vector<Device*>& devices, const std::string& path) {
    auto model = Model::load(path, devices, load_options());
    EXPECT_TRUE(model) << model.error().message();
    return *model;
  }
  static SessionOptions session_options(std::int64_t sequences, bool reuse,
                                        std::int64_t batch = 512) {
    SessionOptions options;
    options.context = kContext;
    options.sequences = sequences;
    options.cache_type = DType::kF32;
    options.reuse_prefixes = reuse;
    options.batch = batch;
    options.checkpoints = 30;
    return options;
  }
  std::unique_ptr<Session> open(const SessionOptions& options) { return open(model_, options); }
  static std::unique_ptr<Session> open(const std::shared_ptr<const Model>& model,
                                       const SessionOptions& options) {
    auto session = Session::create(model, options);
    EXPECT_TRUE(session) << session.error().message();
    return std::move(*session);
  }

  /// The logits after these tokens, with caches for all of them.
  Logits alone(const Tokens& tokens) {
    if (!alone_) alone_ = open(whole_, session_options(1, false));
    EXPECT_TRUE(alone_->truncate(0));
    const auto logits = alone_->append(tokens);
    EXPECT_TRUE(logits) << logits.error().message();
    return {logits->begin(), logits->end()};
  }
  /// Appends to a sequence whose tokens are `all` then; how many tokens were computed.
  std::int64_t append(Session& session, std::int64_t sequence, const Tokens& more,
                      const Tokens& all) {
    const std::int64_t before = session.computed();
    const SequenceTokens piece = {sequence, more};
    const auto logits = session.append_each({&piece, 1});
    EXPECT_TRUE(logits) << logits.error().message();
    if (!logits) return -1;
    EXPECT_LE(difference(*logits, alone(all)), kTolerance)
        << "sequence " << sequence << " of " << all.size();
    EXPECT_EQ(session.length(sequence), std::ssize(all));
    return session.computed() - before;
  }
  /// With states a sequence goes back to a copy of them.
  static std::int64_t distance() { return GetParam() == kMixed ? 512 : 0; }

  /// Bytes of a row of keys and values: 8 numbers each.
  static constexpr std::uint64_t kRowBytes = 2 * 8 * sizeof(float);

  TempFolder folder_;
  const std::string path_ = folder_.file("model.gguf");
  const std::string whole_path_ = folder_.file("whole.gguf");
  std::unique_ptr<Registry> registry_;
  std::shared_ptr<const Model> model_;
  std::shared_ptr<const Model> whole_;
  std::unique_ptr<Session> alone_;
};

INSTANTIATE_TEST_SUITE_P(, EngineWindows, ::testing::Values(kWindows, kMixed),
                         [](const auto& of) { return std::string(of.param); });

TEST_P(EngineWindows, CachesHaveRowsForTheWindowsOnly) {
  if (GetParam() == kMixed) {
    EXPECT_THAT(model_->info().windows, ElementsAre(kWindow, 3 * kWindow));
  } else {
    EXPECT_THAT(model_->info().windows, ElementsAre(kWindow));
  }
  SessionOptions options = session_options(3, false);
  options.context = 100000;
  LoadOptions load = load_options();
  load.session = options;
  const std::vector<Device*> devices = {cpu()};
  const auto model = Model::load(path_, devices, load);
  ASSERT_TRUE(model) << model.error().message();
  const auto session = open(*model, options);
  const auto whole = open(whole_, options);
  // Twice 2 blocks of 64 rows for the window of 40 of each sequence, and 10 for a batch; twice 3
  // for that of 120. Other caches have 64 rows more than tokens for each but one sequence.
  const std::uint64_t all = (2 + (100000 - 2 + 63) / 64) * 64;
  std::uint64_t saved = all - (3 * 2 * 2 + 10) * 64;
  if (GetParam() == kMixed) saved += all - (3 * 2 * 3 + 10) * 64;
  EXPECT_EQ(whole->memory().cache - session->memory().cache, saved * kRowBytes);
  EXPECT_EQ((*model)->predicted().total(Purpose::kCache), session->memory().cache);
}

TEST_P(EngineWindows, LongTextsGiveTheLogitsOfWholeCaches) {
  for (const std::int64_t batch : {512, 100, 1}) {
    const auto session = open(session_options(1, false, batch));
    Tokens text;
    std::uint32_t seed = 0;
    for (const std::size_t count : {1, 63, 700, 1, 1, 40, 900, 100, 1}) {
      const Tokens more = some_tokens(count, ++seed);
      text = joined(text, more);
      EXPECT_EQ(append(*session, 0, more, text), std::ssize(more)) << batch;
    }
  }
}

TEST_P(EngineWindows, AllLogitsAreThoseOfWholeCaches) {
  const auto session = open(session_options(1, false, 100));
  const auto whole = open(whole_, session_options(1, false, 100));
  const Tokens start = some_tokens(700, 1), rest = some_tokens(500, 2);
  append(*session, 0, start, start);
  ASSERT_TRUE(whole->append(start));
  Logits expected, got;
  const auto to = [](Logits& all) {
    return [&all](std::size_t, std::span<const float> logits) {
      all.insert(all.end(), logits.begin(), logits.end());
    };
  };
  ASSERT_TRUE(whole->append_all(rest, to(expected)));
  ASSERT_TRUE(session->append_all(rest, to(got)));
  ASSERT_EQ(got.size(), rest.size() * to_size(kSessionVocabulary));
  EXPECT_LE(difference(got, expected), kTolerance);
}

TEST_P(EngineWindows, SequenceGoesBackToAnyLength) {
  const auto session = open(session_options(1, false));
  const Tokens prompt = some_tokens(3000, 1), more = some_tokens(3, 2);
  EXPECT_EQ(append(*session, 0, prompt, prompt), 3000);
  for (const std::int64_t length : {2999, 2950, 2945, 2944, 2900, 1000, 40, 0}) {
    ASSERT_TRUE(session->truncate(length));
    const std::int64_t computed = append(*session, 0, more, joined(start_of(prompt, length), more));
    // Rows of the last blocks are kept.
    if (length >= 2900) {
      EXPECT_LE(computed, distance() + 3) << length;
    }
    ASSERT_TRUE(session->truncate(length));
  }
}

TEST_P(EngineWindows, SequencesAreForkedAtAnyToken) {
  const auto session = open(session_options(3, false));
  const Tokens prompt = some_tokens(2000, 1);
  append(*session, 0, prompt, prompt);
  ASSERT_TRUE(session->fork(0, 1));
  ASSERT_TRUE(session->fork(0, 2, 1950));
  const Tokens one = some_tokens(5, 2), two = some_tokens(700, 3);
  EXPECT_EQ(append(*session, 1, one, joined(prompt, one)), 5);
  EXPECT_LE(append(*session, 2, two, joined(start_of(prompt, 1950), two)), distance() + 700);
  EXPECT_EQ(append(*session, 0, two, joined(prompt, two)), 700);
  ASSERT_TRUE(session->truncate(0, 0));
  append(*session, 1, two, joined(joined(prompt, one), two));
}

TEST_P(EngineWindows, CommonPrefixesAreComputedOnce) {
  constexpr std::int64_t kRequests = 8;
  const auto session = open(session_options(kRequests, true));
  const Tokens common = some_tokens(1003, 1);
  std::vector<Tokens> prompts;
  std::vector<SequenceTokens> pieces;
  for (std::int64_t i = 0; i < kRequests; ++i)
    prompts.push_back(joined(common, some_tokens(30, 100 + static_cast<std::uint32_t>(i))));
  for (std::int64_t i = 0; i < kRequests; ++i) pieces.push_back({i, prompts[to_size(i)]});
  const auto logits = session->append_each(pieces);
  ASSERT_TRUE(logits) << logits.error().message();
  EXPECT_LE(session->computed(), 1003 + kRequests * (94 + distance()));
  const auto each = to_size(kSessionVocabulary);
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    EXPECT_LE(difference(logits->subspan(i * each, each), alone(prompts[i])), kTolerance) << i;
  }
  // Another one after all have ended.
  for (std::int64_t i = 0; i < kRequests; ++i) ASSERT_TRUE(session->truncate(0, i));
  EXPECT_LE(append(*session, 3, prompts[5], prompts[5]), 30 + 64);
}

TEST_P(EngineWindows, CachedTokensHaveRowsInAllLayers) {
  const auto session = open(session_options(2, true));
  const Tokens prompt = some_tokens(3000, 1);
  append(*session, 0, prompt, prompt);
  for (const std::int64_t length : {2990, 1200, 600}) {
    ASSERT_TRUE(session->truncate(0, 1));
    Tokens other = start_of(prompt, length);
    other.push_back(1);
    const auto found = session->append_cached(1, other);
    ASSERT_TRUE(found);
    EXPECT_EQ(*found % kCacheBlock, 0);
    if (length == 2990) {
      EXPECT_GT(*found, 2000);
    }
    const Tokens rest(other.begin() + *found, other.end());
    EXPECT_EQ(append(*session, 1, rest, other), std::ssize(rest)) << length;
  }
}

TEST_P(EngineWindows, RandomOperationsGiveTheLogitsOfWholeCaches) {
  for (const std::int64_t batch : {512, 64, 7}) {
    constexpr std::int64_t kSequences = 4;
    const auto session = open(session_options(kSequences, batch != 64, batch));
    std::vector<Tokens> texts(to_size(kSequences));
    std::mt19937 random(static_cast<unsigned>(batch));
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    for (int step = 0; step < 80; ++step) {
      const std::size_t at = below(texts.size());
      const auto sequence = static_cast<std::int64_t>(at);
      const std::size_t other = below(texts.size());
      const std::size_t length = below(texts[at].size() + 1);
      switch (below(5)) {
        case 0:
          ASSERT_TRUE(session->truncate(static_cast<std::int64_t>(length), sequence));
          texts[at].resize(length);
          break;
        case 1:
          ASSERT_TRUE(session->fork(sequence, static_cast<std::int64_t>(other),
                                    static_cast<std::int64_t>(length)));
          texts[other] = Tokens(texts[at].begin(), texts[at].begin() + static_cast<long>(length));
          break;
        default: {
          if (texts[at].size() > 1200) continue;
          // Few different texts, which continue as another one did.
          const Tokens text = some_tokens(1600, static_cast<std::uint32_t>(below(2)));
          const std::size_t first = below(2) == 0 ? texts[at].size() : 0;
          const Tokens more(text.begin() + static_cast<long>(first),
                            text.begin() + static_cast<long>(first + 1 + below(350)));
          texts[at] = joined(texts[at], more);
          append(*session, sequence, more, texts[at]);
        }
      }
      ASSERT_FALSE(HasFailure()) << "step " << step << ", batches of " << batch;
    }
  }
}

TEST_P(EngineWindows, CancelledPromptLosesNothing) {
  const auto session = open(session_options(1, false, 64));
  const Tokens start = some_tokens(3000, 1), more = {1};
  append(*session, 0, start, start);
  const std::atomic<bool> cancel = true;
  EXPECT_FALSE(session->append(some_tokens(3000, 2), &cancel));
  std::size_t batches = 0;
  std::atomic<bool> later = false;
  const auto visit = [&](std::size_t, std::span<const float>) { later = ++batches == 30; };
  const Status cancelled = session->append_all(some_tokens(4000, 3), visit, &later);
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(cancelled.error().code(), ErrorCode::kCancelled);
  EXPECT_EQ(batches, 30U);
  EXPECT_LE(append(*session, 0, more, joined(start, more)), distance() + 1);
}

/// The last block of a fork changes its content while a token is added, and when it goes again.
TEST_P(EngineWindows, ForkIsSavedAfterACancelledCall) {
  const auto session = open(session_options(2, false));
  const Tokens text = some_tokens(60, 1);
  ASSERT_TRUE(session->append(text));
  ASSERT_TRUE(session->fork(0, 1, 30));
  ASSERT_TRUE(session->truncate(0, 0));
  const Tokens one = {7};
  const SequenceTokens piece = {1, one};
  const std::atomic<bool> cancel = true;
  const auto cancelled = session->append_each({&piece, 1}, &cancel);
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(cancelled.error().code(), ErrorCode::kCancelled);
  const std::string file = folder_.file("sequence");
  const Status saved = session->save(1, file);
  ASSERT_TRUE(saved) << saved.error().message();
  const Tokens all = joined(start_of(text, 30), one);
  append(*session, 1, one, all);
  ASSERT_TRUE(session->restore(0, file));
  append(*session, 0, one, all);
}

TEST_P(EngineWindows, StepsThatFailLeaveRowsAsTheyWere) {
  TestDevice device(TestDeviceConfig{});
  const std::vector<Device*> devices = {&device, cpu()};
  const Tokens prompt = some_tokens(600, 1), more = some_tokens(200, 2);
  const Tokens all = joined(prompt, more);
  const Logits expected = alone(all);
  LoadOptions options = load_options();
  options.on_device_error.mode = DeviceErrorMode::kFail;
  const auto model = Model::load(path_, devices, options);
  ASSERT_TRUE(model) << model.error().message();
  const auto session = open(*model, session_options(2, false, 64));
  ASSERT_TRUE(session->append(prompt));
  std::size_t launches = device.computed();
  ASSERT_TRUE(session->append(more));
  launches = device.computed() - launches;
  for (std::size_t at = 1; at <= launches; at += launches / 7) {
    ASSERT_TRUE(session->truncate(600));
    device.fail_at({.launch = at});
    EXPECT_FALSE(session->append(more)) << at;
    EXPECT_EQ(session->length(), 600);
    device.fail_at({});
    const std::int64_t before = session->computed();
    const auto logits = session->append(more);
    ASSERT_TRUE(logits) << logits.error().message();
    EXPECT_LE(difference(*logits, expected), kTolerance) << at;
    EXPECT_LE(session->computed() - before, distance() + 200) << at;
  }
}

TEST_P(EngineWindows, AreComputedAgainWithoutALostDevice) {
  TestDevice device(TestDeviceConfig{});
  const auto model = load({&device, cpu()});
  const auto session = open(model, session_options(2, true));
  const Tokens prompt = some_tokens(700, 1), more = some_tokens(40, 2);
  ASSERT_TRUE(session->append(prompt));
  ASSERT_TRUE(session->fork(0, 1, 660));
  device.fail_at({.any = 1, .for_good = true});
  append(*session, 1, more, joined(start_of(prompt, 660), more));
  append(*session, 0, more, joined(prompt, more));
  EXPECT_EQ(model->state()->devices.size(), 1U);
}

/// The caches are in the memory of the CPU, and move along when the other device is lost.
TEST_P(EngineWindows, StayWhereADeviceThatOnlyMultipliesIsLost) {
  TestDevice device({.ops = {"matmul"}});
  const auto model = load({&device, cpu()});
  const auto session = open(model, session_options(2, true));
  const Tokens prompt = some_tokens(1500, 1), more = some_tokens(40, 2);
  append(*session, 0, prompt, prompt);
  device.fail_at({.any = 1, .for_good = true});
  EXPECT_LE(append(*session, 0, more, joined(prompt, more)), distance() + 40);
  EXPECT_EQ(model->state()->devices.size(), 1U);
}

/// Steps of a prompt overlap: a block is given to a later step while an earlier one still reads it.
TEST_P(EngineWindows, OverlappingStepsReadTheirRows) {
  TestWorld world;
  TestDevice first({.name = "test0", .world = &world, .seconds_per_node = 1});
  TestDevice second({.name = "test1", .world = &world, .seconds_per_node = 1});
  LoadOptions options = load_options();
  options.placement.pins = {{"blk\\.0\\..*", "test0"}, {"(blk\\.[1-9]|output).*", "test1"}};
  const std::vector<Device*> devices = {&first, &second, cpu()};
  const auto model = Model::load(path_, devices, options);
  ASSERT_TRUE(model) << model.error().message();
  const auto session = open(*model, session_options(2, true, 32));
  const Tokens one = some_tokens(600, 1), two = some_tokens(500, 2);
  const std::vector<SequenceTokens> pieces = {{0, one}, {1, two}};
  const auto logits = session->append_each(pieces);
  ASSERT_TRUE(logits) << logits.error().message();
  const auto each = to_size(kSessionVocabulary);
  EXPECT_LE(difference(logits->first(each), alone(one)), kTolerance);
  EXPECT_LE(difference(logits->subspan(each), alone(two)), kTolerance);
  append(*session, 0, two, joined(one, two));
}

/// A saved sequence has the rows of its windows, and goes on from them in another session.
TEST_P(EngineWindows, AreSavedWithASequence) {
  const Tokens prompt = some_tokens(2000, 1), more = some_tokens(30, 2);
  const std::string path = folder_.file("saved");
  Logits expected;
  {
    const auto session = open(session_options(2, true));
    append(*session, 1, prompt, prompt);
    ASSERT_TRUE(session->save(1, path));
    const SequenceTokens piece = {1, more};
    const auto logits = session->append_each({&piece, 1});
    ASSERT_TRUE(logits);
    expected.assign(logits->begin(), logits->end());
  }
  // All rows of the layers without windows, and at most three blocks of the others.
  const std::uint64_t layers = GetParam() == kMixed ? 6 : 2;
  EXPECT_LE(std::filesystem::file_size(path),
            (layers / 2 * 2000 + layers * 3 * 64) * kRowBytes + 20000);
  const auto session = open(session_options(3, true));
  append(*session, 2, more, more);
  const std::int64_t before = session->computed();
  const Status restored = session->restore(2, path);
  ASSERT_TRUE(restored) << restored.error().message();
  EXPECT_EQ(session->length(2), 2000);
  const SequenceTokens piece = {2, more};
  const auto logits = session->append_each({&piece, 1});
  ASSERT_TRUE(logits) << logits.error().message();
  EXPECT_EQ(Logits(logits->begin(), logits->end()), expected);
  EXPECT_EQ(session->computed() - before, 30);
  // Its blocks are found by others.
  if (GetParam() != kMixed) {
    EXPECT_LE(append(*session, 0, prompt, prompt), 64);
  }
  ASSERT_TRUE(session->restore(0, path));
  append(*session, 0, more, joined(prompt, more));
  // It is as long as the window, at most.
  const Tokens few = some_tokens(20, 5);
  append(*session, 1, few, few);
  ASSERT_TRUE(session->save(1, path));
  ASSERT_TRUE(session->restore(2, path));
  EXPECT_EQ(append(*session, 2, more, joined(few, more)), 30);
}

TEST_P(EngineWindows, SurviveAFileThatIsRefused) {
  const Tokens prompt = some_tokens(700, 1), more = some_tokens(30, 2);
  const auto session = open(session_options(1, true));
  append(*session, 0, prompt, prompt);
  const std::string path = folder_.file("saved");
  ASSERT_TRUE(session->save(0, path));
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  EXPECT_FALSE(session->restore(0, path));
  // Caches for all tokens are others.
  const auto whole = open(whole_, session_options(1, true));
  ASSERT_TRUE(whole->append(prompt));
  ASSERT_TRUE(whole->save(0, path));
  EXPECT_FALSE(session->restore(0, path));
  EXPECT_EQ(append(*session, 0, more, joined(prompt, more)), 30);
}

/// A device fails while rows are written: the tokens are as before.
TEST_P(EngineWindows, SurviveADeviceThatFailsWhileTheyAreRestored) {
  const Tokens saved = some_tokens(300, 1), prompt = some_tokens(500, 2), more = {1};
  const std::string path = folder_.file("saved");
  TestDevice device(TestDeviceConfig{});
  LoadOptions options = load_options();
  options.on_device_error.mode = DeviceErrorMode::kFail;
  const std::vector<Device*> devices = {&device, cpu()};
  const auto model = Model::load(path_, devices, options);
  ASSERT_TRUE(model) << model.error().message();
  const auto session = open(*model, session_options(2, true, 64));
  ASSERT_TRUE(session->append(saved));
  ASSERT_TRUE(session->save(0, path));
  ASSERT_TRUE(session->truncate(0));
  const SequenceTokens other = {1, saved};
  ASSERT_TRUE(session->append_each({&other, 1}));
  ASSERT_TRUE(session->truncate(0, 1));
  ASSERT_TRUE(session->append(prompt));
  std::size_t failed = 0;
  for (std::size_t at = 1; at < 40; ++at) {
    device.fail_at({.copy = at});
    const Status restored = session->restore(0, path);
    device.fail_at({});
    if (restored) break;
    ++failed;
    EXPECT_EQ(session->length(), 500) << at;
    append(*session, 0, more, joined(prompt, more));
    ASSERT_TRUE(session->truncate(500));
  }
  EXPECT_GT(failed, 1U);
  append(*session, 0, more, joined(saved, more));
}

/// More text than a window in each of more requests than there are sequences.
TEST_P(EngineWindows, RequestsGiveTheTextOfWholeCaches) {
  const auto texts_of = [&](const std::shared_ptr<const Model>& model) {
    BatcherOptions options;
    options.session = session_options(4, true, 64);
    options.session.context = 4000;
    options.own_thread = false;
    auto batcher = Batcher::create(model, options);
    EXPECT_TRUE(batcher) << batcher.error().message();
    std::vector<std::unique_ptr<BatchStream>> streams;
    for (std::uint32_t i = 0; i < 12; ++i) {
      BatchRequest request = {
          .tokens = some_tokens(200 + 70 * i, i % 5), .max_tokens = 150, .ignore_end = true};
      request.sampling.temperature = 0;
      auto stream = (*batcher)->submit(std::move(request));
      EXPECT_TRUE(stream) << stream.error().message();
      streams.push_back(std::move(*stream));
    }
    std::vector<Tokens> texts(streams.size());
    for (bool any = true; any;) {
      any = (*batcher)->step();
      for (std::size_t i = 0; i < streams.size(); ++i) {
        while (const auto event = streams[i]->poll()) {
          if (!event->end) texts[i].push_back(event->token);
          if (event->end) {
            EXPECT_EQ(event->end->reason, BatchEnd::kLength) << i;
          }
        }
      }
    }
    return texts;
  };
  const auto texts = texts_of(model_);
  EXPECT_EQ(texts, texts_of(whole_));
  for (const Tokens& text : texts) EXPECT_EQ(text.size(), 150U);
}

}  // namespace
}  // namespace shunt::test::engine_windows_test
