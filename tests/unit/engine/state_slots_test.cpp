// Which slots steps read and write, against a plain account of the tokens that each slot's states
// are of.
#include "engine/session/state_slots.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

#include "base/to_size.h"

namespace shunt::state_slots_test {
namespace {

using Tokens = std::vector<std::int32_t>;

struct Step {
  std::int64_t sequence = 0;
  std::int64_t end = 0;
  std::int64_t target = 0;
};

/// A session as far as tokens and states go.
class Account {
 public:
  Account(std::int64_t sequences, std::int64_t checkpoints, bool reuse, std::int64_t blocks = 64)
      : pool({.sequences = sequences, .context = blocks * 64, .blocks = blocks, .reuse = reuse}),
        slots(pool, sequences, checkpoints),
        content(to_size(state_slots_for(sequences, checkpoints))) {}

  /// Computes a sequence's tokens up to `end`, in steps of at most `most`; the number of them.
  std::int64_t compute(std::int64_t sequence, std::int64_t end, std::int64_t most = 1 << 20) {
    slots.advance(sequence, pool.length(sequence));
    const std::int64_t start = slots.position(sequence);
    while (slots.position(sequence) < end) {
      start_step(sequence, std::min(slots.position(sequence) + most, end));
      finish_step();
    }
    return end - start;
  }
  std::int64_t compute(std::int64_t sequence) { return compute(sequence, pool.length(sequence)); }

  void start_step(std::int64_t sequence, std::int64_t most) {
    const std::int64_t position = slots.position(sequence);
    const std::int64_t end = std::min(
        StateSlots::step_end(position, pool.length(sequence), {pool.length(sequence)}), most);
    const SlotPair pair = slots.begin(sequence, end, {pool.length(sequence)});
    EXPECT_NE(pair.target, StateSlots::kZero);
    EXPECT_EQ(content[to_size(pair.source)], first(sequence, position)) << "slot " << pair.source;
    content[to_size(pair.target)] = first(sequence, end);
    under_way.push_back({sequence, end, pair.target});
  }
  void finish_step() {
    const Step step = under_way.front();
    under_way.erase(under_way.begin());
    pool.mark_cached(step.sequence, step.end);
    slots.finish(step.sequence);
  }
  /// Nothing is known of the slots that these steps were to write.
  void fail() {
    for (const Step& step : under_way) content[to_size(step.target)] = {-1};
    under_way.clear();
    slots.abandon();
  }

  void append(std::int64_t sequence, const Tokens& tokens) {
    ASSERT_TRUE(pool.append(sequence, tokens, true));
    while (!pool.pending().empty()) pool.mark_copied();
  }
  void truncate(std::int64_t sequence, std::int64_t length) {
    pool.truncate(sequence, length);
    slots.truncate(sequence);
  }
  void fork(std::int64_t from, std::int64_t to, std::int64_t length) {
    pool.fork(from, to, length);
    slots.fork(from, to);
  }
  Tokens first(std::int64_t sequence, std::int64_t count) const {
    const auto tokens = pool.tokens(sequence).first(to_size(count));
    return {tokens.begin(), tokens.end()};
  }

  BlockPool pool;
  StateSlots slots;
  std::vector<Tokens> content;  ///< by slot: the tokens that its states are of; {-1}: unknown
  std::vector<Step> under_way;
};

Tokens range(std::int32_t first, std::int64_t count) {
  Tokens tokens(to_size(count));
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

TEST(StateSlots, StepsEndAtRegularDistancesAndAtAPromptsLastWholeBlock) {
  EXPECT_EQ(StateSlots::step_end(0, 700, {700}), 512);
  EXPECT_EQ(StateSlots::step_end(512, 700, {700}), 640);
  EXPECT_EQ(StateSlots::step_end(640, 700, {700}), 700);
  EXPECT_EQ(StateSlots::step_end(700, 701, {701}), 701);
  EXPECT_EQ(StateSlots::step_end(0, 64, {64}), 64);
  EXPECT_EQ(StateSlots::step_end(0, 65, {65}), 64);
  EXPECT_EQ(StateSlots::step_end(500, 520, {520}), 512);
  // The end of the prompt is not known.
  EXPECT_EQ(StateSlots::step_end(0, 300, {0}), 300);
  EXPECT_EQ(StateSlots::step_end(300, 700, {0}), 512);
  // The prompt ends in a later call. Its last whole block ends at 256.
  EXPECT_EQ(StateSlots::step_end(0, 200, {300}), 200);
  EXPECT_EQ(StateSlots::step_end(200, 290, {300}), 256);
  EXPECT_EQ(StateSlots::step_end(256, 290, {300}), 290);
  EXPECT_EQ(StateSlots::step_end(0, 256, {300}), 256);
  // Messages end at 70, 128, 300 and 1000.
  const std::vector<std::int64_t> messages = {300, 70, 1000, 128};
  const TextEnds ends = {720, messages};
  std::vector<std::int64_t> stops;
  for (std::int64_t at = 0; at < 720; stops.push_back(at)) at = StateSlots::step_end(at, 720, ends);
  EXPECT_EQ(stops, (std::vector<std::int64_t>{64, 128, 256, 512, 704, 720}));
}

TEST(StateSlots, ASequenceGoesBackToTheLastCheckpointBefore) {
  Account account(1, 4, false);
  account.append(0, range(0, 1100));
  account.compute(0);
  EXPECT_EQ(account.slots.checkpoints(), 3);  // at 512, 1024, and 1088
  account.truncate(0, 1090);
  EXPECT_EQ(account.slots.position(0), 1088);
  account.truncate(0, 1087);
  EXPECT_EQ(account.slots.position(0), 1024);
  account.truncate(0, 511);
  EXPECT_EQ(account.slots.position(0), 0);
  // The tokens of that checkpoint are gone.
  account.append(0, range(5000, 600));
  EXPECT_EQ(account.compute(0), 1111);
}

TEST(StateSlots, AForkContinuesFromTheSameStates) {
  Account account(2, 2, false);
  account.append(0, range(0, 100));
  account.compute(0);
  account.fork(0, 1, 100);
  EXPECT_EQ(account.slots.position(1), 100);
  account.append(0, {7});
  account.append(1, {8});
  EXPECT_EQ(account.compute(0), 1);
  EXPECT_EQ(account.compute(1), 1);
  // Of fewer tokens than the states are of: from the checkpoint.
  account.fork(0, 1, 90);
  EXPECT_EQ(account.slots.position(1), 64);
}

TEST(StateSlots, AnotherSequenceStartsFromTheCheckpointOfItsTokens) {
  Account account(2, 4, true);
  account.append(0, range(0, 700));
  account.compute(0);
  Tokens other = range(0, 600);
  other.push_back(-7);
  account.append(1, other);
  EXPECT_EQ(account.compute(1), 601 - 512);
  // Also after the first one has gone.
  account.truncate(0, 0);
  account.truncate(1, 0);
  account.append(0, range(0, 700));
  EXPECT_EQ(account.compute(0), 700 - 640);
}

/// The block has another number then.
TEST(StateSlots, ACheckpointIsFoundAgainWithContentThatComesBackFromTheHost) {
  for (const std::int64_t slots : {0, 40}) {
    Account account(1, 8, true, 10);
    if (slots > 0) account.pool.set_host_slots(slots);
    account.append(0, range(0, 300));
    account.compute(0);
    const std::int64_t block = account.pool.blocks(0)[3];
    account.truncate(0, 0);
    account.append(0, range(5000, 640));  // all blocks of the cache
    account.compute(0);
    account.truncate(0, 0);
    account.append(0, range(9000, 70));
    account.compute(0);
    account.truncate(0, 0);
    account.append(0, range(0, 300));
    EXPECT_EQ(account.compute(0), slots > 0 ? 300 - 256 : 300);
    EXPECT_TRUE(slots == 0 || account.pool.blocks(0)[3] != block);
    // It is used again, not only once.
    account.truncate(0, 0);
    account.append(0, range(0, 300));
    EXPECT_EQ(account.compute(0), 300 - 256);
  }
}

TEST(StateSlots, TheCheckpointThatWasUsedLastIsKept) {
  Account account(1, 2, true);
  for (std::int32_t text = 2000; text < 12000; text += 1000) {
    for (const std::int32_t first : {1000, text}) {
      account.truncate(0, 0);
      account.append(0, range(first, 100));
      account.compute(0);
    }
  }
  account.truncate(0, 0);
  account.append(0, range(1000, 100));
  EXPECT_EQ(account.compute(0), 36);
  account.truncate(0, 0);
  account.append(0, range(2000, 100));
  EXPECT_EQ(account.compute(0), 100);
}

TEST(StateSlots, WithoutCheckpointsAllIsComputedAgain) {
  Account account(2, 0, false);
  account.append(0, range(0, 600));
  account.compute(0);
  EXPECT_EQ(account.slots.checkpoints(), 0);
  account.fork(0, 1, 600);
  account.append(1, {1});
  EXPECT_EQ(account.compute(1), 1);
  account.truncate(0, 599);
  EXPECT_EQ(account.slots.position(0), 0);
}

TEST(StateSlots, StepsThatFailLeaveTheCheckpointsAlone) {
  Account account(2, 4, false);
  account.append(0, range(0, 100));
  account.compute(0);
  account.append(0, range(100, 20));
  account.append(1, range(0, 600));
  account.start_step(0, 120);
  account.start_step(1, 600);
  account.start_step(1, 600);
  account.fail();
  EXPECT_EQ(account.slots.position(0), 64);
  EXPECT_EQ(account.slots.position(1), 0);
  EXPECT_EQ(account.compute(0), 120 - 64);
  EXPECT_EQ(account.compute(1), 600);
}

TEST(StateSlots, SeveralStepsMayBeUnderWay) {
  for (const std::int64_t checkpoints : {0, 1, 8}) {
    Account account(1, checkpoints, false);
    account.append(0, range(0, 3000));
    for (int i = 0; i < 4; ++i) account.start_step(0, 3000);
    for (int i = 0; i < 4; ++i) account.finish_step();
    account.compute(0);
    // At each of 512, 1024, ..., 2560, and at 2944. The spare slot may have one, too.
    EXPECT_GE(account.slots.checkpoints(), std::min<std::int64_t>(checkpoints, 6));
    EXPECT_LE(account.slots.checkpoints(), checkpoints == 0 ? 0 : 6);
  }
}

void keep_each_sequences_states(std::int64_t host_slots) {
  for (const std::int64_t checkpoints : {0, 1, 3, 40}) {
    std::mt19937 random(static_cast<unsigned>(checkpoints) + 1);
    const auto below = [&](std::int64_t n) {
      return std::uniform_int_distribution<std::int64_t>(0, n - 1)(random);
    };
    constexpr std::int64_t kSequences = 5;
    Account account(kSequences, checkpoints, checkpoints != 3, host_slots > 0 ? 130 : 160);
    if (host_slots > 0) account.pool.set_host_slots(host_slots);
    for (int step = 0; step < 4000; ++step) {
      const std::int64_t sequence = below(kSequences);
      const std::int64_t length = account.pool.length(sequence);
      switch (below(7)) {
        case 0:
        case 1:
          // Few different texts, so that blocks are shared.
          if (length < 1000)
            account.append(sequence, range(static_cast<int>(length), below(500) + 1));
          break;
        case 2:
          if (length > 0) account.compute(sequence, below(length) + 1, below(200) + 1);
          break;
        case 3:
          account.truncate(sequence, below(length + 1));
          break;
        case 4:
          account.fork(sequence, below(kSequences), below(length + 1));
          break;
        case 5:
          if (length < 1000) account.append(sequence, {static_cast<std::int32_t>(below(3)) - 9});
          account.compute(sequence);
          break;
        default:
          for (std::int64_t i = 0; i < kSequences; ++i) {
            if (account.slots.position(i) < account.pool.length(i)) account.start_step(i, 1 << 20);
          }
          if (below(4) == 0) account.fail();
          while (!account.under_way.empty()) account.finish_step();
      }
      ASSERT_FALSE(::testing::Test::HasFailure()) << "operation " << step;
      for (std::int64_t i = 0; i < kSequences; ++i)
        ASSERT_LE(account.slots.position(i), account.pool.length(i));
    }
    if (host_slots > 50 && checkpoints != 3) {
      EXPECT_GT(account.pool.host_traffic().restored, 5);
    }
  }
}

TEST(StateSlots, AnyOperationsKeepEachSequencesStates) {
  keep_each_sequences_states(0);
}

TEST(StateSlots, AnyOperationsKeepEachSequencesStatesWithBlocksInTheHost) {
  for (const std::int64_t slots : {5, 100}) keep_each_sequences_states(slots);
}

}  // namespace
}  // namespace shunt::state_slots_test
