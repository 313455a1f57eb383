// Sequences of a session that are computed together. Each gives the same results as alone, in a
// session that has no other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <thread>

#include "shunt/engine.h"
#include "support/models.h"
#include "support/session_tokens.h"
#include "support/test_device.h"

namespace shunt::test::engine_sequences_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Logits = std::vector<float>;

constexpr std::int64_t kVocabulary = kSessionVocabulary;
constexpr auto kLogits = static_cast<std::size_t>(kVocabulary);

constexpr float kTolerance = kLogitsTolerance;

SessionOptions session_options(std::int64_t context, std::int64_t sequences,
                               std::int64_t batch = 512) {
  SessionOptions options;
  options.context = context;
  options.sequences = sequences;
  options.batch = batch;
  options.cache_type = DType::kF32;
  return options;
}

/// Tokens that go to a sequence.
struct More {
  std::int64_t sequence = 0;
  Tokens tokens = {};
};

Result<std::span<const float>> append_each(Session& session, const std::vector<More>& more,
                                           const std::atomic<bool>* cancel = nullptr) {
  std::vector<SequenceTokens> pieces;
  for (const More& piece : more) pieces.push_back({piece.sequence, piece.tokens});
  return session.append_each(pieces, cancel);
}

/// Sequences by themselves: one at a time, in a session of one.
class Alone {
 public:
  explicit Alone(const std::shared_ptr<const Model>& model)
      : session_(std::move(*Session::create(model, session_options(1024, 1)))) {}
  /// The logits after all these.
  Logits after(const Tokens& tokens) {
    const auto same = std::ranges::mismatch(tokens, tokens_).in1 - tokens.begin();
    const std::ptrdiff_t kept = std::min(same, std::ssize(tokens) - 1);
    EXPECT_TRUE(session_->truncate(kept));
    tokens_ = tokens;
    const auto logits = session_->append(std::span(tokens).subspan(static_cast<std::size_t>(kept)));
    EXPECT_TRUE(logits) << logits.error().message();
    return logits ? Logits(logits->begin(), logits->end()) : Logits(kLogits);
  }

 private:
  std::unique_ptr<Session> session_;
  Tokens tokens_;
};

class EngineSequences : public ::testing::Test {
 protected:
  EngineSequences() {
    Options options;
    options.threads = 2;
    registry_ = std::move(*Registry::create(options));
    model_ = *Model::load(file_.path(), *registry_);
    alone_ = std::make_unique<Alone>(model_);
  }

  void open(const SessionOptions& options) {
    auto session = Session::create(model_, options);
    ASSERT_TRUE(session) << session.error().message();
    session_ = std::move(*session);
    told_.assign(static_cast<std::size_t>(options.sequences), {});
  }
  Tokens& told(std::int64_t sequence) { return told_[static_cast<std::size_t>(sequence)]; }

  /// Appends, and holds the logits of each sequence against its own.
  void append(const std::vector<More>& more) {
    const auto logits = append_each(*session_, more);
    ASSERT_TRUE(logits) << logits.error().message();
    ASSERT_EQ(logits->size(), more.size() * kLogits);
    for (const auto& [sequence, tokens] : more)
      told(sequence).insert(told(sequence).end(), tokens.begin(), tokens.end());
    for (std::size_t i = 0; i < more.size(); ++i) {
      const Logits expected = alone_->after(told(more[i].sequence));
      ASSERT_LE(difference(logits->subspan(i * kLogits, kLogits), expected), kTolerance)
          << "sequence " << more[i].sequence << " of " << told(more[i].sequence).size()
          << " tokens, named as number " << i;
    }
    expect_lengths();
  }
  void truncate(std::int64_t sequence, std::size_t length) {
    ASSERT_TRUE(session_->truncate(static_cast<std::int64_t>(length), sequence));
    told(sequence).resize(length);
    expect_lengths();
  }
  void expect_lengths() {
    for (std::size_t i = 0; i < told_.size(); ++i) {
      EXPECT_EQ(session_->length(static_cast<std::int64_t>(i)), std::ssize(told_[i])) << i;
    }
  }
  /// All sequences go on with a token as if nothing had happened.
  void expect_all_go_on() {
    std::vector<More> more;
    for (std::int64_t i = 0; i < session_->sequences(); ++i) more.push_back({i, {42}});
    append(more);
  }
  /// The message of an error that leaves all sequences as they were.
  std::string error_of(const std::vector<More>& more) {
    const auto logits = append_each(*session_, more);
    expect_lengths();
    if (logits) return "";
    EXPECT_EQ(logits.error().code(), ErrorCode::kInvalidArgument);
    return logits.error().message();
  }

  SynthModel file_{session_model()};
  std::unique_ptr<Registry> registry_;
  TestDevice device_{{.name = "test0"}};  // for those who load the model once more
  std::shared_ptr<const Model> model_;
  std::unique_ptr<Alone> alone_;
  std::unique_ptr<Session> session_;
  std::vector<Tokens> told_;
};

TEST_F(EngineSequences, ChangedTokenChangesLogits) {
  const Logits one = alone_->after(some_tokens(100, 1));
  for (const std::size_t at : {0U, 63U, 98U}) {
    Tokens other = some_tokens(100, 1);
    other[at] = (other[at] + 1) % static_cast<std::int32_t>(kVocabulary);
    EXPECT_GT(difference(alone_->after(other), one), 1000 * kTolerance) << at;
  }
}

TEST_F(EngineSequences, EachGivesTheLogitsThatItGivesAlone) {
  open(session_options(512, 3));
  append({{0, some_tokens(150, 1)}, {1, some_tokens(3, 2)}, {2, some_tokens(62, 3)}});
  for (std::int32_t i = 0; i < 5; ++i) append({{0, {i}}, {1, {i + 50}}, {2, {7 * i}}});
}

TEST_F(EngineSequences, SequencesWithTheSamePrefixAreIndependent) {
  open(session_options(256, 2));
  const Tokens same = some_tokens(70, 1);
  append({{0, same}, {1, same}});
  append({{0, {1}}, {1, {2}}});
  append({{0, {3}}, {1, {3}}});
}

TEST_F(EngineSequences, PromptsMayBeSplitAtAnyBatchSize) {
  for (const std::int64_t batch : {1, 2, 3, 5, 7, 8, 9, 16, 22, 23, 24}) {
    SCOPED_TRACE(batch);
    open(session_options(128, 4, batch));
    // 23 tokens in all; shorter prompts before longer ones and after them.
    append({{0, some_tokens(9, 1)}, {1, {5}}, {2, some_tokens(11, 2)}, {3, {6, 7}}});
    append({{3, some_tokens(8, 3)}, {2, {1, 2}}, {1, some_tokens(12, 4)}, {0, {9}}});
    expect_all_go_on();
  }
}

TEST_F(EngineSequences, LogitsAreInTheOrderOfTheRequest) {
  open(session_options(128, 4, 5));
  append({{2, some_tokens(7, 1)}, {0, {1}}, {3, some_tokens(4, 2)}});
  append({{3, {1}}, {1, {2}}, {0, {3}}, {2, {4}}});
  append({{1, {8}}});
  append({{0, {9}}, {3, {9}}});
}

TEST_F(EngineSequences, MayBeMoreThanFitIntoABatch) {
  for (const std::int64_t batch : {1, 4}) {
    open(session_options(256, 10, batch));
    std::vector<More> more;
    for (std::int64_t i = 9; i >= 0; --i) more.push_back({i, {static_cast<std::int32_t>(i + 1)}});
    append(more);
    expect_all_go_on();
    expect_all_go_on();
  }
}

TEST_F(EngineSequences, UnusedSequenceIsNotAffectedByOthers) {
  open(session_options(512, 3));
  append({{0, some_tokens(20, 1)}, {1, some_tokens(70, 2)}});
  append({{2, some_tokens(130, 3)}});
  for (std::int32_t i = 0; i < 50; ++i) {
    ASSERT_TRUE(append_each(*session_, {{2, {i}}}));
    told(2).push_back(i);
  }
  truncate(2, 5);
  append({{2, some_tokens(64, 4)}});
  append({{1, {3}}, {0, {4}}});
}

TEST_F(EngineSequences, ReusesCacheRowsFreedByAnotherSequence) {
  open(session_options(256, 2));
  append({{0, some_tokens(200, 1)}, {1, some_tokens(50, 2)}});
  truncate(0, 65);
  append({{1, some_tokens(130, 3)}});  // in rows of the first, and after them
  append({{0, {1}}, {1, {2}}});
  truncate(1, 0);
  append({{0, some_tokens(100, 4)}});
  append({{1, some_tokens(10, 5)}});
  expect_all_go_on();
}

TEST_F(EngineSequences, RandomAppendsAndTruncationsGiveRightLogits) {
  constexpr std::int64_t kSequences = 5;
  constexpr std::int64_t kContext = 400;
  for (const std::int64_t batch : {3, 64}) {
    SCOPED_TRACE(batch);
    open(session_options(kContext, kSequences, batch));
    std::mt19937 random(static_cast<std::uint32_t>(batch));
    std::int64_t most = 0;
    for (std::uint32_t step = 0; step < 40 && !HasFailure(); ++step) {
      std::int64_t room = kContext;
      for (const Tokens& tokens : told_) room -= std::ssize(tokens);
      most = std::max(most, kContext - room);
      const auto one = static_cast<std::int64_t>(random() % kSequences);
      if (room < 80 || random() % 5 == 0) {
        truncate(one, random() % (told(one).size() + 1));
        continue;
      }
      std::vector<std::int64_t> order(kSequences);
      std::iota(order.begin(), order.end(), 0);
      std::shuffle(order.begin(), order.end(), random);
      order.resize(1 + random() % kSequences);
      std::vector<More> more;
      for (const std::int64_t sequence : order) {
        const std::size_t count = random() % 3 == 0 ? 1 : 1 + random() % 16;
        more.push_back({sequence, some_tokens(count, 100 * step + random() % 100)});
      }
      append(more);
    }
    EXPECT_GT(most, 300) << "the context was never nearly full";
  }
}

TEST_F(EngineSequences, AreIndependentWithEveryCacheType) {
  SynthOptions wider = session_model();  // keys of whole blocks
  wider.width = 64;
  const SynthModel file(wider);
  const auto model = Model::load(file.path(), *registry_);
  ASSERT_TRUE(model);
  for (const DType type : {DType::kF16, DType::kBF16, DType::kQ8_0, DType::kQ4_0}) {
    SCOPED_TRACE(to_string(type));
    SessionOptions options = session_options(128, 1);
    options.cache_type = type;
    const Tokens first = some_tokens(20, 1), second = some_tokens(33, 2);
    Logits expected;  // alone, with a cache as imprecise
    for (const Tokens& tokens : {first, second}) {
      const auto session = Session::create(*model, options);
      ASSERT_TRUE(session);
      const auto logits = (*session)->append(tokens);
      ASSERT_TRUE(logits);
      expected.insert(expected.end(), logits->begin(), logits->end());
    }
    options.sequences = 2;
    const auto session = Session::create(*model, options);
    ASSERT_TRUE(session);
    const auto logits = append_each(**session, {{0, first}, {1, second}});
    ASSERT_TRUE(logits);
    // A number at the edge of two steps of the type may be rounded to either: some hundredths, as
    // in engine_cache_types_test. Keys of another sequence would be worth tenths.
    EXPECT_LE(difference(*logits, expected), 0.05F);
  }
}

TEST_F(EngineSequences, AppendAllAppliesToTheFirstSequence) {
  open(session_options(128, 3, 4));
  append({{1, some_tokens(30, 1)}, {0, {1, 2, 3}}});
  const Tokens more = some_tokens(10, 2);
  std::size_t visited = 0;
  ASSERT_TRUE(session_->append_all(more, [&](std::size_t first, std::span<const float> logits) {
    EXPECT_EQ(first, visited);
    for (std::size_t at = 0; at < logits.size(); at += kLogits, ++visited) {
      told(0).push_back(more[visited]);
      EXPECT_LE(difference(logits.subspan(at, kLogits), alone_->after(told(0))), kTolerance);
    }
  }));
  EXPECT_EQ(visited, more.size());
  expect_all_go_on();
}

TEST_F(EngineSequences, UnwrittenCacheRowsDoNotChangeLogits) {
  // Memory of the other device is full of NaN.
  const std::vector<Device*> devices = {&device_, registry_->devices().back()};
  for (const char* home : {"test0", "cpu0"}) {
    LoadOptions options;
    options.session = session_options(64, 3);
    options.placement.pins = {{".* of layer .*", home}};
    auto model = Model::load(file_.path(), devices, options);
    ASSERT_TRUE(model) << model.error().message();
    model_ = *model;
    open(options.session);
    EXPECT_EQ(session_->ledger().bytes("test0", Purpose::kCache) > 0,
              home == devices[0]->info().name);
    append({{2, {1, 2, 3}}, {0, {4, 5}}});
    expect_all_go_on();
  }
}

TEST_F(EngineSequences, MayBeLongerThanTheKeysOfOneThread) {
  open(session_options(1500, 3, 200));
  append({{0, some_tokens(600, 1)}, {1, some_tokens(30, 2)}, {2, some_tokens(500, 3)}});
  append({{2, {1}}, {0, {2}}});
  expect_all_go_on();
  truncate(0, 100);
  append({{1, some_tokens(400, 4)}});  // in rows of the first
  append({{1, some_tokens(5, 5)}, {2, some_tokens(3, 6)}, {0, {3}}});
  expect_all_go_on();
}

TEST_F(EngineSequences, SequenceWithNaNDoesNotAffectOthers) {
  const std::string broken = file_.folder().file("broken.gguf");
  write_edited(file_.path(), broken, [](EditedFile& file) {
    for (std::size_t i = 0; i < 32; ++i)  // the embedding of token 7
      file.set_element("token_embd.weight", 7 * 32 + i, std::nanf(""));
  });
  auto model = Model::load(broken, *registry_);
  ASSERT_TRUE(model) << model.error().message();
  model_ = *model;
  open(session_options(256, 3));
  append({{0, {1, 2, 3}}});
  told(1) = Tokens(20, 7);
  const auto logits = append_each(*session_, {{1, told(1)}});
  ASSERT_TRUE(logits);
  EXPECT_TRUE(std::isnan(logits->front()));
  append({{2, {1, 2, 3}}, {0, {4, 5}}});
  append({{0, some_tokens(60, 1)}});  // in blocks on both sides of its own
  truncate(1, 0);
  append({{2, some_tokens(62, 2)}});  // over some of the room that it leaves
  append({{2, {3}}, {0, {4}}});
}

TEST_F(EngineSequences, GenerationStopsWhenOthersUseTheRestOfTheContext) {
  open(session_options(32, 2));
  append({{1, some_tokens(20, 1)}});
  GenerateOptions options;
  options.ignore_end = true;
  const auto result = generate(*session_, Tokens{1, 2, 3}, options, {});
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_EQ(result->stop, StopReason::kContextFull);
  EXPECT_EQ(result->tokens.size(), 10U);  // the last one has no room
}

TEST_F(EngineSequences, ShareTheContextInAnyWay) {
  constexpr std::int64_t kContext = 130;
  for (const Tokens& split : {Tokens{130, 0, 0}, Tokens{0, 130, 0}, Tokens{0, 0, 130},
                              Tokens{1, 1, 128}, Tokens{65, 1, 64}, Tokens{43, 43, 44}}) {
    open(session_options(kContext, 3));
    EXPECT_EQ(session_->context(), kContext);
    EXPECT_EQ(session_->sequences(), 3);
    std::vector<More> more;
    for (std::int64_t i = 0; i < 3; ++i) {
      const auto count = static_cast<std::size_t>(split[static_cast<std::size_t>(i)]);
      if (count > 0) more.push_back({i, some_tokens(count, static_cast<std::uint32_t>(i))});
    }
    append(more);
    for (std::int64_t i = 0; i < 3; ++i) {
      EXPECT_THAT(error_of({{i, {1}}}),
                  AllOf(HasSubstr("1 token does not fit"), HasSubstr("130, 130 of them taken")));
    }
    // Another sequence may have the room that one gives back.
    truncate(more[0].sequence, told(more[0].sequence).size() - 1);
    append({{(more[0].sequence + 1) % 3, {7}}});
  }
  open(session_options(kContext, 3));
  EXPECT_THAT(error_of({{0, some_tokens(65, 1)}, {2, some_tokens(66, 2)}}),
              AllOf(HasSubstr("131 tokens do not fit"), HasSubstr("130, 0 of them taken")));
  append({{0, some_tokens(65, 1)}, {2, some_tokens(65, 2)}});
}

TEST_F(EngineSequences, ErrorsNameTheFactsAndKeepTheState) {
  open(session_options(64, 3, 4));
  append({{0, some_tokens(10, 1)}, {1, some_tokens(3, 2)}});
  const More good = {1, {1, 2, 3}};
  EXPECT_THAT(error_of({}), HasSubstr("no tokens"));
  EXPECT_THAT(error_of({good, {1, {4}}}), HasSubstr("sequence 1 is named twice"));
  EXPECT_THAT(error_of({good, {0, {1}}, good}), HasSubstr("sequence 1 is named twice"));
  EXPECT_THAT(error_of({good, {3, {4}}}),
              AllOf(HasSubstr("no sequence 3"), HasSubstr("the session has 3")));
  EXPECT_THAT(error_of({good, {-1, {4}}}), HasSubstr("no sequence -1"));
  EXPECT_THAT(error_of({good, {std::int64_t{1} << 40, {4}}}),
              HasSubstr("no sequence 1099511627776"));
  EXPECT_THAT(error_of({good, {0, {}}}), HasSubstr("sequence 0: there are no tokens"));
  EXPECT_THAT(error_of({good, {0, {1, 300}}}),
              AllOf(HasSubstr("sequence 0: token 300"), HasSubstr("model's 300")));
  EXPECT_THAT(error_of({good, {0, {-1}}}), HasSubstr("token -1"));
  EXPECT_THAT(error_of({good, {2, some_tokens(49, 1)}}),
              AllOf(HasSubstr("52 tokens do not fit"), HasSubstr("64, 13 of them taken")));
  const auto truncate_error = [&](std::int64_t length, std::int64_t sequence) {
    const Status status = session_->truncate(length, sequence);
    expect_lengths();
    return status ? "" : status.error().message();
  };
  EXPECT_THAT(truncate_error(0, 3), HasSubstr("no sequence 3"));
  EXPECT_THAT(truncate_error(0, -1), HasSubstr("no sequence -1"));
  EXPECT_THAT(truncate_error(4, 1), AllOf(HasSubstr("4 tokens"), HasSubstr("there are 3")));
  EXPECT_THAT(truncate_error(-1, 0), HasSubstr("-1"));
  EXPECT_THAT(truncate_error(1, 2), HasSubstr("there are 0"));
  EXPECT_EQ(session_->length(3), 0);
  EXPECT_EQ(session_->length(-1), 0);
  expect_all_go_on();
}

TEST_F(EngineSequences, NumberIsFrom1To4096) {
  for (const std::int64_t sequences : {-1, 0, 4097}) {
    const SessionOptions options = session_options(64, sequences);
    const auto session = Session::create(model_, options);
    ASSERT_FALSE(session);
    LoadOptions load;
    load.session = options;
    const auto model = Model::load(file_.path(), *registry_, load);
    ASSERT_FALSE(model);
    for (const Error& error : {session.error(), model.error()}) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      EXPECT_THAT(error.message(), AllOf(HasSubstr(std::to_string(sequences) + " sequences"),
                                         HasSubstr("1 to 4096")));
    }
  }
  open(session_options(64, 4096, 8));
  append({{4095, {1, 2}}, {0, {3}}});
  append({{4095, {4}}, {2000, {3}}});
  // A context of its own for each, where none is asked for: of the model's 2048 tokens.
  const auto session = Session::create(model_, session_options(0, 3));
  ASSERT_TRUE(session);
  EXPECT_EQ((*session)->context(), 3 * 2048);
}

TEST_F(EngineSequences, PredictedMemoryIsAllocated) {
  int split = 0;
  for (std::size_t memory = 100000; memory <= 500000; memory += 12500) {
    SCOPED_TRACE(memory);
    TestDevice device({.name = "test0", .memory = memory});
    const std::vector<Device*> devices = {&device, registry_->devices().back()};
    LoadOptions options;
    options.session = session_options(200, 5, 8);
    options.memory_margin = 0;
    const auto model = Model::load(file_.path(), devices, options);
    ASSERT_TRUE(model) << model.error().message();
    const auto session = Session::create(*model, options.session);
    ASSERT_TRUE(session) << session.error().message();
    Ledger both = (*model)->ledger();
    both.add((*session)->ledger());
    const Ledger before = (*model)->predicted();
    for (const Device* each : devices) {
      const std::string name = each->info().name;
      for (const Purpose purpose : {Purpose::kWeights, Purpose::kMappedWeights, Purpose::kCache,
                                    Purpose::kActivations, Purpose::kInputs, Purpose::kStaging}) {
        EXPECT_EQ(both.bytes(name, purpose), before.bytes(name, purpose))
            << name << " " << to_string(purpose);
      }
    }
    EXPECT_EQ(device.allocated(), both.allocated("test0"));
    if (both.bytes("test0", Purpose::kCache) > 0 && both.bytes("cpu0", Purpose::kCache) > 0)
      ++split;
    // Keys and values of 2 layers, each of 2 heads of 8 elements of 4 bytes. 4 sequences with a
    // token each, and one of 196, which takes 4 blocks of 64 rows.
    EXPECT_EQ(both.total(Purpose::kCache), (4 + 4) * 64U * 2 * 2 * 2 * 8 * 4);
    // As much is enough, however much is asked of it.
    const Ledger made = (*session)->ledger();
    ASSERT_TRUE(append_each(**session, {{0, some_tokens(40, 1)}, {4, some_tokens(30, 2)}}));
    ASSERT_TRUE(append_each(**session, {{0, {1}}, {1, {1}}, {2, {1}}, {3, {1}}, {4, {1}}}));
    const Ledger after = (*session)->ledger();
    EXPECT_EQ(after.total(Purpose::kCache), made.total(Purpose::kCache));
    EXPECT_EQ(after.total(Purpose::kActivations), made.total(Purpose::kActivations));
  }
  EXPECT_GT(split, 0) << "this never happened";
}

/// A mask of a batch would take a byte for each token of the context 1,024 times.
TEST_F(EngineSequences, ActivationsDoNotGrowWithTheContext) {
  const auto activations = [&](std::int64_t context) {
    const auto session = Session::create(model_, {.context = context, .batch = 512});
    EXPECT_TRUE(session) << session.error().message();
    return session ? (*session)->memory().activations : 0;
  };
  const std::uint64_t few = activations(4096);
  const std::uint64_t many = activations(524288);
  EXPECT_GT(few, 0U);
  EXPECT_LT(many, few + (std::uint64_t{1} << 20));
  EXPECT_LE(many, std::uint64_t{16} << 20);
}

TEST_F(EngineSequences, CancelBeforeTheStartComputesNothing) {
  open(session_options(64, 2));
  append({{0, {1, 2}}, {1, {3}}});
  const std::atomic<bool> cancel = true;
  const auto logits = append_each(*session_, {{1, {4}}, {0, {5}}}, &cancel);
  ASSERT_FALSE(logits);
  EXPECT_EQ(logits.error().code(), ErrorCode::kCancelled);
  expect_lengths();
  expect_all_go_on();
}

TEST_F(EngineSequences, CancelInTheMiddleKeepsTheState) {
  // The device raises the flag itself, at a node of each of the steps that are needed.
  std::atomic<bool> cancel = false;
  std::size_t until = 0;
  device_.on_launch = [&](NodeId) {
    if (until > 0 && --until == 0) cancel = true;
  };
  const std::vector<Device*> devices = {&device_, registry_->devices().back()};
  auto model = Model::load(file_.path(), devices, {});
  ASSERT_TRUE(model) << model.error().message();
  model_ = *model;
  open(session_options(64, 3, 4));
  append({{0, some_tokens(5, 1)}, {2, {1}}});
  const std::vector<More> more = {{2, {7, 8}}, {1, {3, 4, 5, 6, 7}}, {0, {5, 6}}};
  std::size_t cancelled = 0;
  for (std::size_t n = 1; !HasFailure(); n += 9) {
    cancel = false;
    until = n;
    const auto logits = append_each(*session_, more, &cancel);
    if (logits) break;
    EXPECT_EQ(logits.error().code(), ErrorCode::kCancelled);
    expect_lengths();
    ++cancelled;
    if (cancelled % 4 != 0) continue;
    // Another one may have the rows meanwhile.
    append({{0, {9}}, {2, {10}}});
  }
  EXPECT_GT(cancelled, 5U);
  until = 0;
  for (const auto& [sequence, tokens] : more)
    told(sequence).insert(told(sequence).end(), tokens.begin(), tokens.end());
  expect_all_go_on();
}

class EngineSequencesThreads : public EngineSequences {};

TEST_F(EngineSequencesThreads, SessionsOfSeveralSequencesRunConcurrently) {
  const auto play = [&](std::uint32_t seed) {
    std::vector<Logits> all;
    const auto session = Session::create(model_, session_options(128, 3, 8));
    EXPECT_TRUE(session);
    const auto add = [&](const std::vector<More>& more) {
      const auto logits = append_each(**session, more);
      EXPECT_TRUE(logits);
      all.emplace_back(logits->begin(), logits->end());
    };
    add({{1, some_tokens(10, seed)}, {0, some_tokens(5, seed + 1)}});
    for (std::int32_t i = 0; i < 4; ++i) {
      add({{2, {i}}, {0, {i + 1}}, {1, {i + 2}}});
      EXPECT_TRUE((*session)->truncate(3, 0));
    }
    return all;
  };
  std::vector<std::vector<Logits>> alone, together(2);
  for (std::uint32_t i = 0; i < 2; ++i) alone.push_back(play(100 * i));
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < 2; ++i)
    threads.emplace_back([&, i] { together[i] = play(100 * i); });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < 2; ++i) {
    ASSERT_EQ(together[i].size(), alone[i].size());
    for (std::size_t step = 0; step < alone[i].size(); ++step)
      EXPECT_LE(difference(together[i][step], alone[i][step]), kTolerance) << i << " " << step;
  }
}

}  // namespace
}  // namespace shunt::test::engine_sequences_test
