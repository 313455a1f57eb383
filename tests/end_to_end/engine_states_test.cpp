// Sessions of a model with states of a fixed size beside its cache: sequences go back, are forked,
// and continue each other's tokens. Each gives the results that it gives alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <random>

#include "base/to_size.h"
#include "engine/model_state.h"
#include "engine/session/state_slots.h"
#include "shunt/batcher.h"
#include "shunt/engine.h"
#include "support/models.h"
#include "support/session_tokens.h"
#include "support/test_architectures.h"
#include "support/test_device.h"
#include "support/test_model.h"

namespace shunt::test::engine_states_test {
namespace {

using ::testing::HasSubstr;
using Logits = std::vector<float>;

constexpr std::int64_t kContext = 4096;
constexpr float kTolerance = 1e-4F;
constexpr std::int64_t kDistance = StateSlots::kDistance;

Tokens joined(Tokens first, const Tokens& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}
Tokens start_of(const Tokens& tokens, std::int64_t count) {
  return {tokens.begin(), tokens.begin() + count};
}

class EngineStates : public ::testing::Test {
 protected:
  EngineStates() {
    Options options;
    options.threads = 2;
    registry_ = std::move(*Registry::create(options));
    write_test_model(path_, {.architecture = kHybrid});
    model_ = load({&cpu(), 1});
  }

  Device* const& cpu() { return registry_->devices().back(); }
  std::shared_ptr<const Model> load(std::span<Device* const> devices) {
    LoadOptions options;
    options.architectures = test_architectures();
    options.placement.rules_only = true;
    options.on_device_error.mode = DeviceErrorMode::kFallback;
    auto model = Model::load(path_, devices, options);
    EXPECT_TRUE(model) << model.error().message();
    return *model;
  }
  static SessionOptions session_options(std::int64_t sequences, bool reuse,
                                        std::int64_t checkpoints = -1) {
    SessionOptions options;
    options.context = kContext;
    options.sequences = sequences;
    options.cache_type = DType::kF32;
    options.reuse_prefixes = reuse;
    options.checkpoints = checkpoints;
    return options;
  }
  std::unique_ptr<Session> open(const SessionOptions& options) {
    auto session = Session::create(model_, options);
    EXPECT_TRUE(session) << session.error().message();
    return std::move(*session);
  }

  /// The logits after these tokens, computed at once in a session of their own.
  Logits alone(const Tokens& tokens) {
    if (!alone_) alone_ = open(session_options(1, false));
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

  TempFolder folder_;
  const std::string path_ = folder_.file("model.gguf");
  std::unique_ptr<Registry> registry_;
  std::shared_ptr<const Model> model_;
  std::unique_ptr<Session> alone_;
};

TEST_F(EngineStates, ModelTellsTheSizeOfASequencesStates) {
  // One layer of two has them: a convolution's last 3 inputs of 3 * 16 numbers, and for each of 2
  // heads 8 * 8 numbers.
  EXPECT_EQ(model_->info().state_bytes, (3 * 3 * 16 + 2 * 8 * 8) * 4);
}

TEST_F(EngineStates, SequenceGoesBackToAnyLength) {
  const auto session = open(session_options(1, false));
  const Tokens prompt = some_tokens(1300, 1);
  EXPECT_EQ(append(*session, 0, prompt, prompt), 1300);
  const Tokens more = some_tokens(3, 2);
  for (const std::int64_t length : {1299, 1281, 1280, 1279, 1100, 600, 512, 63, 0}) {
    ASSERT_TRUE(session->truncate(length));
    const std::int64_t computed = append(*session, 0, more, joined(start_of(prompt, length), more));
    EXPECT_LE(computed, length % kDistance + 3) << length;
    ASSERT_TRUE(session->truncate(length));
  }
}

TEST_F(EngineStates, SequencesAreForkedAtAnyToken) {
  const auto session = open(session_options(3, false));
  const Tokens prompt = some_tokens(700, 1);
  append(*session, 0, prompt, prompt);
  ASSERT_TRUE(session->fork(0, 1));
  ASSERT_TRUE(session->fork(0, 2, 650));
  const Tokens one = some_tokens(5, 2), two = some_tokens(30, 3);
  // The states at the end are shared; those at 640 are a checkpoint.
  EXPECT_EQ(append(*session, 1, one, joined(prompt, one)), 5);
  EXPECT_EQ(append(*session, 2, two, joined(start_of(prompt, 650), two)), 10 + 30);
  EXPECT_EQ(append(*session, 0, two, joined(prompt, two)), 30);
  ASSERT_TRUE(session->truncate(0, 0));
  append(*session, 1, two, joined(joined(prompt, one), two));
}

TEST_F(EngineStates, CommonPrefixesContinueFromCheckpoints) {
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
  EXPECT_LE(session->computed(), 1003 + kRequests * (30 + kDistance));
  const auto each = to_size(kSessionVocabulary);
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    EXPECT_LE(difference(logits->subspan(i * each, each), alone(prompts[i])), kTolerance) << i;
  }
  // Another one after all have ended.
  for (std::int64_t i = 0; i < kRequests; ++i) ASSERT_TRUE(session->truncate(0, i));
  EXPECT_LE(append(*session, 3, prompts[5], prompts[5]), 30 + 64);
}

TEST_F(EngineStates, CachedTokensHaveStates) {
  const auto session = open(session_options(2, true));
  const Tokens prompt = some_tokens(700, 1);
  append(*session, 0, prompt, prompt);
  Tokens other = start_of(prompt, 600);
  other.push_back(1);
  const auto found = session->append_cached(1, other);
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, 512);
  EXPECT_EQ(append(*session, 1, Tokens(other.begin() + 512, other.end()), other), 89);
}

TEST_F(EngineStates, PiecesOfAPromptKeepTheStatesOfItsLastWholeBlock) {
  const Tokens prompt = some_tokens(135, 1);
  for (const std::int64_t first : {127, 128, 129, 134}) {
    const auto session = open(session_options(2, true));
    const Tokens start = start_of(prompt, first);
    const std::vector<SequenceTokens> piece = {{0, start, false, 135 - first}};
    ASSERT_TRUE(session->append_each(piece));
    append(*session, 0, Tokens(prompt.begin() + first, prompt.end()), prompt);
    const auto found = session->append_cached(1, prompt);
    ASSERT_TRUE(found);
    EXPECT_EQ(*found, 128) << first;
    EXPECT_EQ(append(*session, 1, Tokens(prompt.begin() + 128, prompt.end()), prompt), 7) << first;
  }
}

/// A batch of 64 computes a prompt of 135 tokens in three pieces, and the last one has 7 tokens.
TEST_F(EngineStates, RequestsOfAPromptInPiecesShareItsWholeBlocks) {
  BatcherOptions options;
  options.session = session_options(2, true);
  options.session.batch = 64;
  options.own_thread = false;
  const auto batcher = Batcher::create(model_, options);
  ASSERT_TRUE(batcher) << batcher.error().message();
  std::vector<std::int64_t> computed;
  for (int i = 0; i < 2; ++i) {
    BatchRequest request = {.tokens = some_tokens(135, 1), .max_tokens = 1, .ignore_end = true};
    const auto stream = (*batcher)->submit(std::move(request));
    ASSERT_TRUE(stream) << stream.error().message();
    while ((*batcher)->step()) {
    }
    while (const auto event = (*stream)->poll()) {
      if (event->end) computed.push_back(event->end->computed_tokens);
    }
  }
  EXPECT_EQ(computed, (std::vector<std::int64_t>{135, 7}));
}

/// Without logits, 0 tokens that follow tell the end of a prompt.
TEST_F(EngineStates, PromptsWithoutLogitsKeepTheStatesOfTheirLastWholeBlock) {
  const Tokens prompt = some_tokens(135, 1);
  for (const std::int64_t following : {-1, 0}) {
    const auto session = open(session_options(2, true));
    const std::vector<SequenceTokens> piece = {{0, prompt, false, following}};
    ASSERT_TRUE(session->append_each(piece));
    const auto found = session->append_cached(1, prompt);
    ASSERT_TRUE(found);
    EXPECT_EQ(*found, following == 0 ? 128 : 0);
  }
}

/// All is computed by a device, and only logits leave it.
TEST_F(EngineStates, LogitsAreMadeForTokensThatArePickedOnly) {
  TestDevice device(TestDeviceConfig{});
  const std::vector<Device*> devices = {&device, cpu()};
  BatcherOptions options;
  options.session = session_options(2, true);
  options.session.batch = 64;
  options.own_thread = false;
  const auto batcher = Batcher::create(load(devices), options);
  ASSERT_TRUE(batcher) << batcher.error().message();
  const std::size_t of_a_token = to_size(model_->info().vocabulary) * sizeof(float);
  for (const std::int64_t max_tokens : {0, 1, 5}) {
    const std::size_t before = device.sent();
    const auto stream =
        (*batcher)->submit({.tokens = some_tokens(200, static_cast<std::uint32_t>(max_tokens)),
                            .max_tokens = max_tokens,
                            .ignore_end = true});
    ASSERT_TRUE(stream) << stream.error().message();
    while ((*batcher)->step()) {
    }
    EXPECT_EQ(device.sent() - before, to_size(max_tokens) * of_a_token) << max_tokens;
  }
}

TEST_F(EngineStates, NumbersOfFollowingTokensAreChecked) {
  const auto session = open(session_options(1, true));
  const Tokens one = {1};
  for (const std::int64_t following :
       {std::int64_t{-2}, kContext + 1, std::numeric_limits<std::int64_t>::max()}) {
    const std::vector<SequenceTokens> piece = {{0, one, false, following}};
    const auto done = session->append_each(piece);
    ASSERT_FALSE(done) << following;
    EXPECT_THAT(done.error().message(), HasSubstr("can't follow in sequence 0"));
  }
  EXPECT_EQ(session->length(), 0);
}

/// A sequence has its own copy of a block, and shares the blocks after it.
TEST_F(EngineStates, CheckpointsAreUsedOnlyAfterTokensWithRows) {
  TestDevice device(TestDeviceConfig{});
  const std::vector<Device*> devices = {&device, cpu()};
  const auto model = load(devices);
  auto session = Session::create(model, session_options(2, true));
  ASSERT_TRUE(session) << session.error().message();
  const Tokens text = some_tokens(200, 1), start = start_of(text, 32);
  append(**session, 0, text, text);
  EXPECT_EQ(append(**session, 1, start, start), 32);
  append(**session, 1, Tokens(text.begin() + 32, text.end()), text);
  // The same when all rows are lost.
  device.fail_at({.any = 1, .for_good = true});
  const Tokens more = {1};
  append(**session, 0, more, joined(text, more));
  append(**session, 1, more, joined(text, more));
}

/// Another sequence of the same call is ahead, with a checkpoint at the end of the first one.
TEST_F(EngineStates, LogitsThatAreAskedForAreComputed) {
  const auto session = open(session_options(2, true));
  const Tokens a = some_tokens(64, 1), b = some_tokens(64, 2), one = {1};
  append(*session, 1, a, a);
  ASSERT_TRUE(session->fork(1, 0));
  append(*session, 0, one, joined(a, one));
  ASSERT_TRUE(session->truncate(64, 0));
  const Tokens longer = joined(b, one);
  const std::vector<SequenceTokens> pieces = {{0, b}, {1, longer}};
  const auto logits = session->append_each(pieces);
  ASSERT_TRUE(logits) << logits.error().message();
  const auto each = to_size(kSessionVocabulary);
  EXPECT_LE(difference(logits->first(each), alone(joined(a, b))), kTolerance);
  EXPECT_LE(difference(logits->subspan(each), alone(joined(a, longer))), kTolerance);
}

TEST_F(EngineStates, RandomOperationsGiveTheLogitsOfEachSequenceAlone) {
  for (const std::int64_t checkpoints : {0, 1, 5, 60}) {
    constexpr std::int64_t kSequences = 4;
    const auto session = open(session_options(kSequences, checkpoints != 5, checkpoints));
    std::vector<Tokens> texts(to_size(kSequences));
    std::mt19937 random(static_cast<unsigned>(checkpoints));
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    for (int step = 0; step < 60; ++step) {
      const std::size_t at = below(texts.size());
      const auto sequence = static_cast<std::int64_t>(at);
      const std::size_t other = below(texts.size());
      const std::size_t length = below(texts[at].size() + 1);
      switch (below(4)) {
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
          if (texts[at].size() > 700) continue;
          // Few different texts, which continue as another one did.
          const Tokens text = some_tokens(1000, static_cast<std::uint32_t>(below(2)));
          const std::size_t first = below(2) == 0 ? texts[at].size() : 0;
          const Tokens more(text.begin() + static_cast<long>(first),
                            text.begin() + static_cast<long>(first + 1 + below(250)));
          texts[at] = joined(texts[at], more);
          append(*session, sequence, more, texts[at]);
        }
      }
      ASSERT_FALSE(HasFailure()) << "step " << step << ", " << checkpoints << " checkpoints";
    }
  }
}

TEST_F(EngineStates, StepsThatFailLeaveStatesAsTheyWere) {
  TestDevice device(TestDeviceConfig{});
  const std::vector<Device*> devices = {&device, cpu()};
  const Tokens prompt = some_tokens(900, 1), more = some_tokens(200, 2);
  const Tokens all = joined(prompt, more);
  const Logits expected = alone(all);
  LoadOptions options;
  options.architectures = test_architectures();
  options.placement.rules_only = true;
  const auto model = Model::load(path_, devices, options);
  ASSERT_TRUE(model) << model.error().message();
  auto session = Session::create(*model, session_options(2, false));
  ASSERT_TRUE(session) << session.error().message();
  ASSERT_TRUE((*session)->append(prompt));
  std::size_t launches = device.computed();
  ASSERT_TRUE((*session)->append(more));
  launches = device.computed() - launches;
  ASSERT_GT(launches, 9U);
  for (std::size_t at = 1; at <= launches; at += launches / 9) {
    ASSERT_TRUE((*session)->truncate(900));
    device.fail_at({.launch = at});
    EXPECT_FALSE((*session)->append(more)) << at;
    EXPECT_EQ((*session)->length(), 900);
    device.fail_at({});
    const auto logits = (*session)->append(more);
    ASSERT_TRUE(logits) << logits.error().message();
    EXPECT_LE(difference(*logits, expected), kTolerance) << at;
  }
}

TEST_F(EngineStates, AreComputedAgainWithoutALostDevice) {
  TestDevice device(TestDeviceConfig{});
  const std::vector<Device*> devices = {&device, cpu()};
  const auto model = load(devices);
  auto session = Session::create(model, session_options(2, true));
  ASSERT_TRUE(session) << session.error().message();
  const Tokens prompt = some_tokens(700, 1), more = some_tokens(40, 2);
  ASSERT_TRUE((*session)->append(prompt));
  ASSERT_TRUE((*session)->fork(0, 1, 660));
  device.fail_at({.any = 1, .for_good = true});
  append(**session, 1, more, joined(start_of(prompt, 660), more));
  append(**session, 0, more, joined(prompt, more));
  EXPECT_EQ(model->state()->devices.size(), 1U);
}

/// A saved sequence continues from its states, here in another session.
TEST_F(EngineStates, AreSavedWithASequence) {
  const Tokens prompt = some_tokens(700, 1), more = some_tokens(30, 2);
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
  const auto session = open(session_options(3, true));
  append(*session, 2, more, more);
  const std::int64_t before = session->computed();
  const Status restored = session->restore(2, path);
  ASSERT_TRUE(restored) << restored.error().message();
  EXPECT_EQ(session->length(2), 700);
  const SequenceTokens piece = {2, more};
  const auto logits = session->append_each({&piece, 1});
  ASSERT_TRUE(logits) << logits.error().message();
  EXPECT_EQ(Logits(logits->begin(), logits->end()), expected);
  EXPECT_EQ(session->computed() - before, 30);
  // Its blocks are found by others, and so are checkpoints of steps since.
  append(*session, 0, prompt, prompt);
  // Nothing was computed of a sequence that is saved empty.
  ASSERT_TRUE(session->save(1, path));
  ASSERT_TRUE(session->restore(2, path));
  append(*session, 2, more, more);
}

/// Another model's file, or a cut one, leaves the sequence and its states.
TEST_F(EngineStates, SurviveAFileThatIsRefused) {
  const Tokens prompt = some_tokens(100, 1), more = some_tokens(30, 2);
  const auto session = open(session_options(1, true));
  append(*session, 0, prompt, prompt);
  const std::string path = folder_.file("saved");
  ASSERT_TRUE(session->save(0, path));
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  EXPECT_FALSE(session->restore(0, path));
  EXPECT_EQ(append(*session, 0, more, joined(prompt, more)), 30);
}

TEST_F(EngineStates, MemoryIsThatOfSlots) {
  const auto few = open(session_options(3, false, 0));
  const auto many = open(session_options(3, false, 20));
  EXPECT_EQ(many->memory().cache - few->memory().cache, to_size(20 * model_->info().state_bytes));
  const auto refused = Session::create(model_, session_options(1, false, -2));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("-2 checkpoints; there may be 0 or more"));
  SessionOptions options = session_options(3, false);
  for (const std::int64_t copies : {0, 1, 20}) {
    options.checkpoint_bytes = copies * model_->info().state_bytes + 7;
    EXPECT_EQ(open(options)->memory().cache - few->memory().cache,
              to_size(copies * model_->info().state_bytes));
  }
  options.checkpoint_bytes = -2;
  const auto invalid = Session::create(model_, options);
  ASSERT_FALSE(invalid);
  EXPECT_EQ(invalid.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(invalid.error().message(), HasSubstr("checkpoint_bytes is -2"));
}

/// Messages of a prompt of 1700 tokens end at 700 and 1300. Copies of states without them are at
/// 512, 1024, 1536 and 1664.
TEST_F(EngineStates, EditedMessagesAreComputedFromTheirStart) {
  for (const std::int64_t batch : {64, 512}) {
    for (const bool named : {false, true}) {
      BatcherOptions options;
      options.session = session_options(2, true);
      options.session.batch = batch;
      options.own_thread = false;
      const auto batcher = Batcher::create(model_, options);
      ASSERT_TRUE(batcher) << batcher.error().message();
      const Tokens text = some_tokens(1700, 1);
      const auto computed = [&](const Tokens& tokens, const std::vector<std::int64_t>& ends) {
        BatchRequest request = {.tokens = tokens, .max_tokens = 1, .ignore_end = true};
        request.sampling.temperature = 0;
        if (named) request.message_ends = ends;
        const auto stream = *(*batcher)->submit(std::move(request));
        while ((*batcher)->step()) {
        }
        const Logits expected = alone(tokens);
        EXPECT_EQ(stream->poll()->token, std::ranges::max_element(expected) - expected.begin());
        return stream->poll()->end->computed_tokens;
      };
      EXPECT_EQ(computed(text, {700, 1300}), 1700);
      const Tokens last = joined(start_of(text, 1300), some_tokens(250, 2));
      EXPECT_EQ(computed(last, {700, 1300}), named ? 1550 - 1280 : 1550 - 1024);
      const Tokens second = joined(start_of(text, 700), some_tokens(250, 3));
      EXPECT_EQ(computed(second, {700}), named ? 950 - 640 : 950 - 512);
    }
  }
}

TEST_F(EngineStates, EndsOfMessagesAreChecked) {
  const auto session = open(session_options(1, true));
  const Tokens one = {1};
  for (const std::int64_t end : {std::int64_t{-1}, kContext + 1}) {
    const std::vector<SequenceTokens> piece = {
        {.sequence = 0, .tokens = one, .message_ends = {&end, 1}}};
    const auto done = session->append_each(piece);
    ASSERT_FALSE(done) << end;
    EXPECT_EQ(done.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(done.error().message(), HasSubstr("a message can't end after"));
  }
  const auto batcher = *Batcher::create(model_, {.session = session_options(1, true)});
  for (const std::int64_t end : {0, 2}) {
    const auto refused = batcher->submit({.tokens = {1}, .message_ends = {end}});
    ASSERT_FALSE(refused) << end;
    EXPECT_THAT(refused.error().message(), HasSubstr("tokens of a prompt of 1"));
  }
}

/// The states at the end of a prompt are kept, whether or not a token is picked there.
TEST_F(EngineStates, AreKeptAtTheEndOfAPromptWithoutTokens) {
  for (const std::int64_t max_tokens : {0, 1}) {
    const auto session = open(session_options(1, false));
    GenerateOptions options;
    options.max_tokens = max_tokens;
    const Tokens prompt = some_tokens(200, 1);
    ASSERT_TRUE(generate(*session, prompt, options, {}));
    ASSERT_TRUE(session->truncate(199));
    const std::int64_t before = session->computed();
    const Tokens one = {prompt.back()};
    const auto logits = session->append(one);
    ASSERT_TRUE(logits) << logits.error().message();
    EXPECT_LE(difference(*logits, alone(prompt)), kTolerance);
    EXPECT_LE(session->computed() - before, 64) << max_tokens;
  }
}

/// Twenty turns: each request has all tokens of the turns before it.
TEST_F(EngineStates, ConversationComputesItsNewTokensAndADistance) {
  BatcherOptions options;
  options.session = session_options(4, true);
  options.own_thread = false;
  const auto batcher = Batcher::create(model_, options);
  ASSERT_TRUE(batcher) << batcher.error().message();
  Tokens text;
  for (std::uint32_t turn = 0; turn < 20; ++turn) {
    const Tokens message = some_tokens(100, turn);
    text = joined(text, message);
    BatchRequest request = {.tokens = text, .max_tokens = 60, .ignore_end = true};
    request.sampling.temperature = 0;
    const auto stream = (*batcher)->submit(std::move(request));
    ASSERT_TRUE(stream) << stream.error().message();
    std::optional<BatchResult> end;
    while ((*batcher)->step()) {
    }
    while (const auto event = (*stream)->poll()) {
      if (event->end) {
        end = event->end;
      } else {
        text.push_back(event->token);
      }
    }
    ASSERT_TRUE(end);
    // The last picked token is not computed.
    EXPECT_LE(end->computed_tokens, 100 + 1 + 59 + kDistance) << "turn " << turn;
    const Logits expected = alone(start_of(text, std::ssize(text) - 1));
    const auto likeliest = std::ranges::max_element(expected) - expected.begin();
    EXPECT_EQ(text.back(), likeliest) << "turn " << turn;
  }
}

}  // namespace
}  // namespace shunt::test::engine_states_test
