// Which blocks steps read and write in caches of windows, against a plain account of the tokens
// that each of their rows is of.
#include "engine/session/window_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

#include "base/to_size.h"

namespace shunt::window_rows_test {
namespace {

using Tokens = std::vector<std::int32_t>;

constexpr std::int64_t kBlock = kCacheBlock;

/// Tells sequences of tokens apart.
std::uint64_t mix(std::uint64_t before, std::int32_t token) {
  std::uint64_t x = (before ^ static_cast<std::uint32_t>(token)) * 0x9e3779b97f4a7c15;
  return x ^ (x >> 29);
}
constexpr std::uint64_t kUnknown = 0;

struct Sizes {
  std::vector<std::int64_t> windows = {40};
  std::int64_t sequences = 1;
  std::int64_t batch = 512;
  bool reuse = false;
  std::int64_t blocks = 64;         ///< of the pool
  std::int64_t blocks_missing = 0;  ///< of each cache
  std::int64_t host_slots = 0;
};

/// A part of a step that is under way.
struct Part {
  std::int64_t sequence = 0;
  std::int64_t start = 0;
  std::int64_t end = 0;
};

/// A session as far as tokens and rows go.
class Account {
 public:
  explicit Account(const Sizes& sizes)
      : pool({.sequences = sizes.sequences,
              .context = sizes.blocks * kBlock,
              .blocks = sizes.blocks,
              .reuse = sizes.reuse}),
        rows(pool, sizes.sequences, windows_of(sizes)),
        batch(sizes.batch) {
    for (const WindowRows::Window& window : windows_of(sizes))
      content.emplace_back(to_size(window.rows), kUnknown);
    pool.set_host_slots(sizes.host_slots);
    rows.set_host_slots(sizes.host_slots);
    slots.resize(content.size(),
                 std::vector<std::uint64_t>(to_size(sizes.host_slots * kBlock), kUnknown));
  }

  static std::vector<WindowRows::Window> windows_of(const Sizes& sizes) {
    std::vector<WindowRows::Window> all;
    const StepShape shape = {.context = sizes.blocks * kBlock,
                             .window_sequences = sizes.sequences,
                             .window_batch = sizes.batch};
    for (const std::int64_t window : sizes.windows)
      all.push_back({window, window_rows(shape, window) - sizes.blocks_missing * kBlock});
    return all;
  }

  /// The first tokens of a sequence, up to and with each of them.
  std::vector<std::uint64_t> prefixes(std::int64_t sequence) const {
    std::vector<std::uint64_t> all;
    std::uint64_t before = 1;
    for (const std::int32_t token : pool.tokens(sequence))
      all.push_back(before = mix(before, token));
    return all;
  }

  void append(std::int64_t sequence, const Tokens& tokens) {
    ASSERT_TRUE(pool.append(sequence, tokens, true));
  }
  void append_computed(std::int64_t sequence, const Tokens& tokens) {
    append(sequence, tokens);
    compute({sequence});
  }

  /// Makes the copies from and to the host. Steps under way may still read blocks that get rows.
  void copy_windows() {
    while (rows.writes_pending() && !under_way.empty()) finish_step();
    for (std::int64_t i = 0; i < rows.windows(); ++i) {
      for (; !rows.pending(i).empty(); rows.mark_copied(i)) {
        const BlockCopy next = rows.pending(i).front();
        const bool saves = next.way == CopyWay::kToHost;
        const auto& from = saves ? content[to_size(i)] : slots[to_size(i)];
        auto& to = saves ? slots[to_size(i)] : content[to_size(i)];
        std::copy_n(from.begin() + next.from * kBlock, next.rows, to.begin() + next.to * kBlock);
        ++(saves ? saved : brought_back);
      }
    }
  }

  void copy_pending() {
    rows.follow_to_host();
    copy_windows();
    while (!pool.pending().empty()) {
      const BlockCopy next = pool.pending().front();
      for (std::int64_t i = 0; next.way == CopyWay::kInCache && i < rows.windows(); ++i) {
        const auto made = rows.copy(i, next);
        copy_windows();
        if (!made) continue;
        auto& all = content[to_size(i)];
        std::copy_n(all.begin() + made->from * kBlock, made->rows, all.begin() + made->to * kBlock);
        rows.copied(i, next);
      }
      pool.mark_copied();
    }
  }

  void open(const std::vector<std::int64_t>& sequences) {
    copy_pending();
    rows.abandon();
    for (const std::int64_t sequence : sequences) {
      rows.open(sequence, pool.length(sequence));
      rows.keep_start(sequence, rows.position(sequence));
    }
  }

  /// Computes all tokens of sequences in one call; their number.
  std::int64_t compute(const std::vector<std::int64_t>& sequences) {
    open(sequences);
    std::int64_t count = 0;
    while (true) {
      const std::int64_t started = start_step(sequences, batch);
      if (started == 0) break;
      count += started;
      finish_step();
    }
    return count;
  }

  /// A step with the next tokens of sequences, up to `room`; their number.
  std::int64_t start_step(const std::vector<std::int64_t>& sequences, std::int64_t room) {
    std::vector<Part> parts;
    std::int64_t count = 0;
    for (const std::int64_t sequence : sequences) {
      rows.advance(sequence, pool.length(sequence));
      const std::int64_t start = rows.position(sequence);
      const std::int64_t end = std::min(pool.length(sequence), start + room - count);
      if (end == start || writes_shared(parts, sequence, start, end)) continue;
      const Status begun = rows.begin(sequence, end);
      EXPECT_TRUE(begun) << begun.error().message();
      if (!begun) {
        failed = true;
        return 0;
      }
      parts.push_back({sequence, start, end});
      count += end - start;
    }
    copy_windows();
    for (const Part& part : parts) expect_rows_before(part);
    for (const Part& part : parts) write(part);
    rows.pass();
    if (!parts.empty()) under_way.push_back(parts);
    return count;
  }

  /// Whether another part, or a step under way, writes a block of these tokens.
  bool writes_shared(const std::vector<Part>& parts, std::int64_t sequence, std::int64_t start,
                     std::int64_t end) const {
    const auto overlaps = [&](const Part& part) {
      if (part.sequence == sequence) return false;
      for (std::int64_t i = start / kBlock; i * kBlock < end; ++i) {
        if (i < part.start / kBlock || i * kBlock >= part.end) continue;
        if (pool.blocks(part.sequence)[to_size(i)] == pool.blocks(sequence)[to_size(i)])
          return true;
      }
      return false;
    };
    if (std::ranges::any_of(parts, overlaps)) return true;
    return std::ranges::any_of(under_way,
                               [&](const auto& all) { return std::ranges::any_of(all, overlaps); });
  }

  std::uint64_t& row(std::int64_t window, const WindowTable& table, std::int64_t token) {
    const std::int64_t block = table.blocks[to_size(token / kBlock - table.first)];
    return content[to_size(window)][to_size(block * kBlock + token % kBlock)];
  }

  void expect_rows_before(const Part& part) {
    const auto expected = prefixes(part.sequence);
    for (std::int64_t i = 0; i < rows.windows(); ++i) {
      const WindowTable table = rows.table(i, part.sequence);
      const std::int64_t first = std::max<std::int64_t>(0, part.start - rows.window(i) + 1);
      for (std::int64_t token = first; token < part.start; ++token) {
        ASSERT_EQ(row(i, table, token), expected[to_size(token)])
            << "token " << token << " of sequence " << part.sequence << " at " << part.start
            << " in the window of " << rows.window(i);
      }
    }
  }

  void write(const Part& part) {
    const auto written = prefixes(part.sequence);
    for (std::int64_t i = 0; i < rows.windows(); ++i) {
      const WindowTable table = rows.table(i, part.sequence);
      for (std::int64_t token = part.start; token < part.end; ++token)
        row(i, table, token) = written[to_size(token)];
      last_tables[{i, part.sequence, part.start}] = {table.first,
                                                     {table.blocks.begin(), table.blocks.end()}};
    }
  }

  void finish_step() {
    for (const Part& part : under_way.front()) {
      pool.mark_cached(part.sequence, part.end);
      rows.finish(part.sequence);
    }
    under_way.erase(under_way.begin());
  }

  /// Nothing is known of the rows that these steps were to write.
  void fail() {
    for (const auto& parts : under_way) {
      for (const Part& part : parts) {
        for (std::int64_t token = part.start; token < part.end; ++token)
          pool.lose_rows(pool.blocks(part.sequence)[to_size(token / kBlock)], token % kBlock);
        for (std::int64_t i = 0; i < rows.windows(); ++i) {
          const auto& [first, blocks] = last_tables.at({i, part.sequence, part.start});
          for (std::int64_t token = part.start; token < part.end; ++token)
            row(i, {first, blocks}, token) = kUnknown;
        }
      }
    }
    under_way.clear();
    rows.abandon();
  }

  void truncate(std::int64_t sequence, std::int64_t length) {
    pool.truncate(sequence, length);
    rows.truncate(sequence);
  }
  void fork(std::int64_t from, std::int64_t to, std::int64_t length) {
    pool.fork(from, to, length);
    rows.fork(from, to);
  }
  void lose_all() {
    pool.lose_content();
    rows.clear();
    for (auto& all : content) std::ranges::fill(all, kUnknown);
  }

  BlockPool pool;
  WindowRows rows;
  std::int64_t batch;
  std::vector<std::vector<std::uint64_t>> content;  ///< by window and row: kUnknown, or the tokens
  std::vector<std::vector<std::uint64_t>> slots;    ///< of the host: the same
  std::vector<std::vector<Part>> under_way;         ///< by step
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>,
           std::pair<std::int64_t, std::vector<std::int64_t>>>
      last_tables;  ///< by window, sequence and first token
  bool failed = false;
  std::int64_t saved = 0;
  std::int64_t brought_back = 0;
};

Tokens range(std::int32_t first, std::int64_t count) {
  Tokens tokens(to_size(count));
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

std::vector<std::int64_t> first_sequences(std::int64_t count) {
  std::vector<std::int64_t> all(to_size(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

BlockPool pool_of(std::int64_t sequences, std::int64_t blocks) {
  return BlockPool({.sequences = sequences, .context = blocks * kBlock, .blocks = blocks});
}

TEST(WindowCache, KnowsTheRowsOfTokensThatAreLeft) {
  BlockPool pool = pool_of(1, 4);
  WindowCache cache(pool, 100, 2);
  ASSERT_TRUE(pool.append(0, range(0, 64), false));
  const std::int64_t block = pool.blocks(0)[0];
  cache.add_rows(*cache.take(block), 64);
  EXPECT_EQ(cache.rows(block), 64);
  pool.truncate(0, 40);
  EXPECT_EQ(cache.rows(block), 40);
  cache.follow(block);
  pool.truncate(0, 30);
  EXPECT_EQ(cache.rows(block), 30);
  ASSERT_TRUE(pool.append(0, range(100, 10), false));
  EXPECT_EQ(cache.rows(block), 30);
  ASSERT_TRUE(pool.append(0, range(200, 10), false));
  EXPECT_EQ(cache.rows(block), 30);
  pool.truncate(0, 0);
  EXPECT_EQ(cache.rows(block), 0);
  ASSERT_TRUE(pool.append(0, range(0, 64), false));
  EXPECT_EQ(cache.rows(block), 0);
}

TEST(WindowCache, RowsAreNotAddedToABlockThatWasGivenAway) {
  BlockPool pool = pool_of(1, 8);
  WindowCache cache(pool, 1, 2);
  ASSERT_TRUE(pool.append(0, range(0, 3 * 64), false));
  const auto blocks = pool.blocks(0);
  const WindowBlock first = *cache.take(blocks[0]);
  cache.add_rows(*cache.take(blocks[1]), 64);
  const WindowBlock third = *cache.take(blocks[2]);
  ASSERT_EQ(third.block, first.block);
  cache.add_rows(first, 64);
  EXPECT_EQ(cache.rows(blocks[2]), 0);
  cache.add_rows(third, 50);
  cache.lose_rows(first, 0);
  EXPECT_EQ(cache.rows(blocks[2]), 50);
  EXPECT_EQ(cache.rows(blocks[0]), 0);
  EXPECT_EQ(cache.rows(blocks[1]), 64);
}

TEST(WindowCache, BlocksWithoutContentGoFirstThenThoseThatWereHeldLongestAgo) {
  BlockPool pool = pool_of(2, 8);
  WindowCache cache(pool, 1, 3);
  ASSERT_TRUE(pool.append(0, range(0, 2 * 64), false));
  ASSERT_TRUE(pool.append(1, range(0, 64), false));
  const std::int64_t old = pool.blocks(0)[0], other = pool.blocks(0)[1], lost = pool.blocks(1)[0];
  for (const std::int64_t of : {other, lost, old}) {
    const WindowBlock block = *cache.take(of);
    cache.add_rows(block, 64);
    cache.hold(block.block);
  }
  const std::int64_t block_of_lost = cache.find(lost);
  cache.release(cache.find(old));
  cache.release(cache.find(other));
  pool.truncate(1, 0);
  cache.release(block_of_lost);
  ASSERT_TRUE(pool.append(0, range(500, 3 * 64), false));
  EXPECT_EQ(cache.take(pool.blocks(0)[3])->block, block_of_lost);
  EXPECT_EQ(cache.rows(old), 64);
  ASSERT_TRUE(cache.take(pool.blocks(0)[4]));
  EXPECT_EQ(cache.rows(old), 0);
  EXPECT_EQ(cache.rows(other), 64);
}

TEST(WindowRows, CacheHasRowsForTheWindowsOfAllSequencesAndABatch) {
  const StepShape shape = {.context = 100000, .window_sequences = 3, .window_batch = 512};
  // Rows before a token are in 1, 2 and 17 blocks; a batch of three sequences begins 10.
  EXPECT_EQ(window_rows(shape, 1), (2 * 3 * 1 + 10) * 64);
  EXPECT_EQ(window_rows(shape, 65), (2 * 3 * 2 + 10) * 64);
  EXPECT_EQ(window_rows(shape, 66), (2 * 3 * 2 + 10) * 64);
  EXPECT_EQ(window_rows(shape, 1024), (2 * 3 * 17 + 10) * 64);
  EXPECT_EQ(window_rows({.context = 5000, .window_sequences = 3, .window_batch = 512}, 1024), 5000);
  EXPECT_EQ(window_rows(shape, 100000), 100000);
  EXPECT_EQ(window_rows(shape, std::int64_t{1} << 62), 100000);
  EXPECT_EQ(window_rows({.context = 5000}, 10), 5000);
}

TEST(WindowRows, BlocksGoBackAsTheWindowMovesOn) {
  for (const std::int64_t window : {1, 2, 64, 65, 66, 130}) {
    Account account({.windows = {window}, .batch = 64, .blocks = 400});
    account.append(0, range(0, 20000));
    EXPECT_EQ(account.compute({0}), 20000);
    EXPECT_LE(account.rows.held(0), window_blocks(window)) << window;
    account.truncate(0, 0);
    EXPECT_EQ(account.rows.held(0), 0) << window;
  }
}

/// All sequences begin a block in a step, with all blocks of the windows before, and of those of
/// the call's start, held.
TEST(WindowRows, LargestStepJustFits) {
  constexpr std::int64_t kSequences = 4;
  for (const std::int64_t missing : {0, 1}) {
    Account account({.windows = {66},
                     .sequences = kSequences,
                     .batch = kSequences,
                     .blocks = 100,
                     .blocks_missing = missing});
    const auto all = first_sequences(kSequences);
    for (const std::int64_t i : all) {
      account.append(i, range(static_cast<std::int32_t>(i) * 1000, 128));
      account.compute({i});
      account.append(i, range(static_cast<std::int32_t>(i) * 1000, 300));
    }
    account.open(all);
    for (std::int64_t token = 128; token < 320; ++token) {
      for (const std::int64_t i : all) {
        ASSERT_EQ(account.start_step({i}, 1), 1);
        account.finish_step();
      }
    }
    Status begun;
    for (const std::int64_t i : all) {
      if (begun) begun = account.rows.begin(i, 321);
    }
    EXPECT_EQ(static_cast<bool>(begun), missing == 0);
    if (begun) continue;
    EXPECT_EQ(begun.error().message(), "all 19 blocks of the cache for a window of 66 are in use");
    account.rows.abandon();
    for (const std::int64_t i : all) EXPECT_EQ(account.rows.position(i), 320) << i;
  }
}

TEST(WindowRows, SequenceGoesBackToTheStartOfItsCall) {
  Account account({.windows = {100}, .batch = 64, .blocks = 400});
  account.append(0, range(0, 3000));
  account.compute({0});
  account.append(0, range(5000, 9000));
  account.open({0});
  for (int i = 0; i < 100; ++i) {
    account.start_step({0}, 64);
    account.finish_step();
  }
  account.start_step({0}, 64);
  account.fail();
  account.truncate(0, 3000);
  EXPECT_EQ(account.rows.position(0), 3000);
  account.append(0, range(7000, 10));
  EXPECT_EQ(account.compute({0}), 10);
}

TEST(WindowRows, SequenceGoesBackWithinTheRowsThatAreKept) {
  Account account({.windows = {100}, .batch = 64, .blocks = 400});
  account.append(0, range(0, 3000));
  account.compute({0});
  for (const std::int64_t length : {2999, 2990, 2945, 2944, 2943}) {
    account.truncate(0, length + 1);
    account.truncate(0, length);
    account.append(0, {-1});
    EXPECT_EQ(account.compute({0}), 1) << length;
  }
  // Its blocks have been given to others.
  account.truncate(0, 1000);
  account.append(0, {-1});
  EXPECT_EQ(account.compute({0}), 1001);
}

TEST(WindowRows, ForksShareRowsUntilTheyWrite) {
  Account account({.windows = {100, 300}, .sequences = 3, .batch = 64, .blocks = 400});
  account.append(0, range(0, 1000));
  account.compute({0});
  const std::int64_t held = account.rows.held(1);
  account.fork(0, 1, 1000);
  account.fork(0, 2, 930);
  EXPECT_EQ(account.rows.held(1), held + 1);  // one for the rows before those of 1000
  account.append(1, {1});
  account.append(2, {2});
  account.append(0, {3});
  EXPECT_EQ(account.compute({1}), 1);
  EXPECT_EQ(account.compute({2, 0}), 2);
}

TEST(WindowRows, AnotherSequenceGoesOnFromTheRowsOfItsPrefix) {
  Account account({.windows = {100}, .sequences = 2, .batch = 64, .reuse = true, .blocks = 400});
  account.append(0, range(0, 1000));
  account.compute({0});
  Tokens other = range(0, 960);
  other.push_back(-1);
  account.append(1, other);
  EXPECT_EQ(account.compute({1}), 1);
  account.truncate(0, 0);
  account.truncate(1, 0);
  account.append(1, range(0, 961));
  EXPECT_EQ(account.compute({1}), 1);
}

TEST(WindowRows, GoesOnWhereAllWindowsHaveTheirRows) {
  Account account({.windows = {40, 500}, .batch = 64, .blocks = 400});
  account.append(0, range(0, 3000));
  account.compute({0});
  // The small cache has fewer rows that are kept.
  account.truncate(0, 2500);
  account.append(0, {-1});
  EXPECT_EQ(account.compute({0}), 2501);
}

/// A sequence computes shared tokens again, because rows of its window are gone.
TEST(WindowRows, FailedStepTakesRowsFromAllThatShareThem) {
  Account account({.windows = {40, 1000}, .sequences = 2, .batch = 64, .blocks = 400});
  account.append(0, range(0, 3000));
  account.compute({0});
  const std::int64_t first = account.pool.blocks(0)[0];
  EXPECT_EQ(account.rows.find(0, first), -1);
  EXPECT_GE(account.rows.find(1, first), 0);
  account.fork(0, 1, 1000);
  EXPECT_EQ(account.rows.position(1), 0);
  account.open({1});
  account.start_step({1}, 64);
  account.fail();
  EXPECT_EQ(account.rows.find(1, first), -1);
  EXPECT_EQ(account.pool.cached(0), 0);
  EXPECT_EQ(account.rows.position(0), 0);
  // With the rows of the first tokens, those of all are there again.
  account.append(0, {-1});
  EXPECT_EQ(account.compute({0}), 64 + 1);
}

TEST(WindowRows, RestoredSequencesGetTheRowsThatNothingHas) {
  Account account({.windows = {100}, .sequences = 3, .batch = 64, .blocks = 400});
  account.append(0, range(0, 1000));
  account.compute({0});
  account.fork(0, 1, 1000);
  const auto nothing = account.rows.restore(1, 1000);
  ASSERT_TRUE(nothing);
  EXPECT_TRUE((*nothing)[0].empty());
  account.rows.finish(1);
  EXPECT_EQ(account.rows.position(1), 1000);
  // Tokens from 900 on see those from 801 on.
  account.append(2, range(5000, 900));
  account.pool.mark_cached(2, 900);
  for (const bool written : {false, true}) {
    const auto missing = account.rows.restore(2, 900);
    ASSERT_TRUE(missing);
    std::int64_t token = 12 * kBlock;
    for (const MissingRows& rows : (*missing)[0]) {
      EXPECT_EQ(rows.token, token);
      EXPECT_EQ(rows.first, 0);
      token += rows.count;
    }
    EXPECT_EQ(token, 900);
    if (written) {
      account.rows.finish(2);
    } else {
      account.rows.abandon();
    }
    EXPECT_EQ(account.rows.position(2), written ? 900 : 0);
  }
}

TEST(WindowRows, LostContentIsNotUsed) {
  Account account({.windows = {100}, .blocks = 400});
  account.append(0, range(0, 1000));
  account.compute({0});
  account.lose_all();
  EXPECT_EQ(account.rows.position(0), 0);
  EXPECT_EQ(account.rows.held(0), 0);
  account.append(0, {1});
  EXPECT_EQ(account.compute({0}), 1001);
}

TEST(WindowRows, RowsComeBackFromTheHost) {
  Account account({.windows = {40, 500}, .batch = 64, .blocks = 400, .host_slots = 400});
  account.append(0, range(0, 3000));
  account.compute({0});
  for (const std::int64_t length : {2500, 1011, 64, 63, 1}) {
    account.truncate(0, length);
    account.append(0, {-1});
    EXPECT_EQ(account.compute({0}), 1) << length;
  }
}

/// Of a window that is larger than the context, the cache has as many blocks as the pool.
TEST(WindowRows, RowsOutliveTheirBlocksInThePool) {
  for (const std::int64_t window : {40, 2000}) {
    Account account(
        {.windows = {window}, .batch = 64, .reuse = true, .blocks = 20, .host_slots = 400});
    for (int round = 0; round < 3; ++round) {
      for (const std::int32_t text : {1000, 2000, 3000}) {
        account.truncate(0, 0);
        account.append(0, range(text, 15 * kBlock + 1));
        EXPECT_EQ(account.compute({0}), round == 0 ? 15 * kBlock + 1 : 1) << window;
      }
    }
  }
}

/// The host keeps the blocks that were given away last.
TEST(WindowRows, HostWithFewSlotsKeepsTheLastRows) {
  Account account({.windows = {40}, .batch = 64, .blocks = 100, .host_slots = 10});
  account.append(0, range(0, 50 * kBlock));
  account.compute({0});
  account.truncate(0, 42 * kBlock);
  account.append(0, {-1});
  EXPECT_EQ(account.compute({0}), 1);
  account.truncate(0, 20 * kBlock);
  account.append(0, {-1});
  EXPECT_EQ(account.compute({0}), 20 * kBlock + 1);
}

/// Blocks that are given away for those of a text need slots, too.
TEST(WindowRows, TextsInTurnDoNotTakeEachOthersSlotsWhileTheyComeBack) {
  struct Case {
    std::int64_t window;
    std::int64_t blocks;  // of a text
    std::int64_t first_slots, last_slots;
  };
  for (const Case& each : {Case{128, 10, 14, 20}, Case{1024, 40, 60, 64}}) {
    bool came_back = false;
    for (std::int64_t slots = each.first_slots; slots <= each.last_slots; ++slots) {
      SCOPED_TRACE(slots);
      Account account({.windows = {each.window},
                       .batch = 64,
                       .reuse = true,
                       .blocks = 4 * each.blocks,
                       .host_slots = slots});
      for (int round = 0; round < 4; ++round) {
        for (const std::int32_t text : {10000, 20000, 30000}) {
          account.truncate(0, 0);
          account.append(0, range(text, each.blocks * kBlock + 1));
          account.compute({0});
        }
      }
      came_back = came_back || account.brought_back > 0;
    }
    EXPECT_TRUE(came_back);
  }
}

/// With as many blocks as the pool, nothing is ever computed again.
TEST(WindowRows, WholeCachesLoseNothing) {
  Account account({.windows = {3000}, .sequences = 2, .blocks = 64});
  account.append(0, range(0, 3000));
  account.compute({0});
  for (const std::int64_t length : {2000, 1000, 70}) {
    account.truncate(0, length);
    account.fork(0, 1, length);
    account.append(1, {-1});
    EXPECT_EQ(account.compute({1}), 1) << length;
  }
}

TEST(WindowRows, AnyOperationsKeepTheRowsThatStepsRead) {
  struct Case {
    std::vector<std::int64_t> windows;
    std::int64_t batch;
    bool reuse;
    std::int64_t host_slots = 0;
  };
  const std::vector<Case> cases = {{{40}, 64, true},
                                   {{1, 130}, 100, false},
                                   {{65, 66, 400}, 512, true},
                                   {{200}, 1, false},
                                   {{40}, 64, true, 30},
                                   {{1, 130}, 100, false, 500},
                                   {{65, 400}, 200, true, 500},
                                   {{40}, 300, false, 40}};
  for (std::size_t which = 0; which < cases.size(); ++which) {
    std::mt19937 random(static_cast<unsigned>(which) + 1);
    const auto below = [&](std::int64_t n) {
      return std::uniform_int_distribution<std::int64_t>(0, n - 1)(random);
    };
    constexpr std::int64_t kSequences = 5;
    Account account({.windows = cases[which].windows,
                     .sequences = kSequences,
                     .batch = cases[which].batch,
                     .reuse = cases[which].reuse,
                     .blocks = 120,
                     .host_slots = cases[which].host_slots});
    const auto all = first_sequences(kSequences);
    for (int operation = 0; operation < 2500; ++operation) {
      const std::int64_t sequence = below(kSequences);
      const std::int64_t length = account.pool.length(sequence);
      switch (below(9)) {
        case 0:
        case 1:
          // Few different texts, so that blocks are shared.
          if (length < 1000)
            account.append(sequence, range(static_cast<int>(length), below(300) + 1));
          break;
        case 2:
          account.compute({sequence});
          break;
        case 3:
          account.truncate(sequence, below(length + 1));
          break;
        case 4:
          account.truncate(sequence, std::max<std::int64_t>(0, length - below(70)));
          break;
        case 5:
          account.fork(sequence, below(kSequences), below(length + 1));
          break;
        case 6:
          if (length < 1000) account.append(sequence, {static_cast<std::int32_t>(below(3)) - 9});
          account.compute(all);
          break;
        case 7:
          if (below(20) == 0) account.lose_all();
          break;
        default: {
          account.open(all);
          const std::int64_t steps = below(5);
          for (std::int64_t i = 0; i < steps; ++i) {
            account.start_step(all, below(cases[which].batch) + 1);
            if (account.under_way.size() > 2) account.finish_step();
          }
          if (below(3) == 0) account.fail();
          while (!account.under_way.empty()) account.finish_step();
        }
      }
      ASSERT_FALSE(::testing::Test::HasFailure() || account.failed) << "operation " << operation;
      for (const std::int64_t i : all)
        ASSERT_LE(account.rows.position(i), account.pool.length(i)) << "operation " << operation;
    }
    for (const std::int64_t i : all) account.truncate(i, 0);
    EXPECT_EQ(account.saved > 20, cases[which].host_slots > 0) << account.saved;
    EXPECT_EQ(account.brought_back > 20, cases[which].host_slots > 0) << account.brought_back;
    for (std::int64_t i = 0; i < account.rows.windows(); ++i)
      EXPECT_EQ(account.rows.held(i), 0) << "of window " << account.rows.window(i);
  }
}

}  // namespace
}  // namespace shunt::window_rows_test
