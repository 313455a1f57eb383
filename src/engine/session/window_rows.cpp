#include "engine/session/window_rows.h"

#include <algorithm>
#include <utility>

#include "base/ceil_div.h"
#include "base/to_size.h"

// A step always finds blocks in a cache of window_rows(). Let n be window_blocks(). For the
// position of each sequence n blocks are held at most, and n for the start of its last call. A step
// needs ceil(t / 64) new blocks for t tokens of a sequence: the block that it is in has its rows
// already. For b tokens of m sequences these are (b + 63 * m) / 64 at most. Blocks of older steps
// are released in pass(), before the next step begins. A copy of a block is made before any step,
// and not held.

namespace shunt {

WindowRows::WindowRows(BlockPool& pool, std::int64_t sequences, std::span<const Window> windows)
    : pool_(pool), sequences_(to_size(sequences)) {
  for (const Window& each : windows)
    caches_.emplace_back(pool, each.tokens, ceil_div(each.rows, kCacheBlock));
  std::size_t most = 0;
  std::size_t most_seen = 0;
  for (const WindowCache& each : caches_) {
    const std::size_t seen = to_size(std::min(window_blocks(each.window()), pool.block_count()));
    most_seen = std::max(most_seen, seen);
    if (!each.has_all()) most = std::max(most, to_size(window_blocks(each.window())));
  }
  spare_.blocks.reserve(most);
  pinned_.reserve(most_seen);
  for (Sequence& sequence : sequences_) {
    sequence.now.resize(windows.size());
    sequence.at_start.resize(windows.size());
    for (Held& held : sequence.now) held.blocks.reserve(most);
    for (Held& held : sequence.at_start) held.blocks.reserve(most);
  }
}

void WindowRows::set_host_slots(std::int64_t slots) {
  for (WindowCache& cache : caches_) cache.set_host_slots(slots);
}

bool WindowRows::writes_pending() const {
  return std::ranges::any_of(caches_, [](const WindowCache& each) {
    return std::ranges::count(each.pending(), CopyWay::kFromHost, &BlockCopy::way) > 0;
  });
}

void WindowRows::follow_to_host() {
  for (const BlockCopy& copy : pool_.pending()) {
    if (copy.way != CopyWay::kToHost) continue;
    for (WindowCache& cache : caches_) cache.follow_to_host(copy.from);
  }
}

/// Whether the rows that covers() asks for are in the caches, or promised to them.
bool WindowRows::has(std::int64_t sequence, std::int64_t position) const {
  const auto blocks = pool_.blocks(sequence);
  return std::ranges::all_of(caches_,
                             [&](const WindowCache& each) { return each.has(blocks, position); });
}

bool WindowRows::covers(std::int64_t sequence, std::int64_t position) const {
  const auto blocks = pool_.blocks(sequence);
  return std::ranges::all_of(
      caches_, [&](const WindowCache& each) { return each.covers(blocks, position); });
}

/// The last position up to `most` that all windows cover; `least` if there is none after that.
std::int64_t WindowRows::find_position(std::int64_t sequence, std::int64_t least,
                                       std::int64_t most) const {
  const auto blocks = pool_.blocks(sequence);
  std::int64_t position = most;
  for (std::int64_t agreed = 0, i = 0; agreed < windows() && position > least;
       i = (i + 1) % windows()) {
    const std::int64_t last = cache(i).last_covered(blocks, least, position);
    agreed = last == position ? agreed + 1 : 1;
    position = last;
  }
  return std::max(position, least);
}

void WindowRows::hold(std::int64_t window, std::int64_t number, std::int64_t position, Held& held) {
  WindowCache& cache = caches_[window];
  const auto blocks = pool_.blocks(number);
  spare_.first = first_window_block(position, cache.window());
  const auto rows_of = [&](std::int64_t i) {
    return std::min(position - i * kCacheBlock, kCacheBlock);
  };
  // A block that is given away takes a slot of the host, which must not be one of these.
  for (std::int64_t i = spare_.first; i * kCacheBlock < position; ++i) {
    const std::int64_t slot = cache.pin_slot(blocks[to_size(i)], rows_of(i));
    if (slot >= 0) pinned_.push_back(slot);
  }
  for (std::int64_t i = spare_.first; !cache.has_all() && i * kCacheBlock < position; ++i) {
    const std::int64_t of = blocks[to_size(i)];
    const bool is_there = cache.promised(of) >= rows_of(i);
    spare_.blocks.push_back(is_there ? cache.bring_back(of, rows_of(i)) : -1);
    if (is_there) cache.hold(spare_.blocks.back());
  }
  std::swap(spare_, held);
  release(window, spare_);
  // Those of the host, once there is room for them.
  for (std::int64_t i = held.first; i * kCacheBlock < position; ++i) {
    const std::int64_t block = cache.bring_back(blocks[to_size(i)], rows_of(i));
    if (cache.has_all() || held.blocks[to_size(i - held.first)] >= 0) continue;
    held.blocks[to_size(i - held.first)] = block;
    cache.hold(block);
  }
  for (const std::int64_t slot : pinned_) cache.unpin_slot(slot);
  pinned_.clear();
}

void WindowRows::release(std::int64_t window, Held& held) {
  for (const std::int64_t block : held.blocks) caches_[window].release(block);
  held.blocks.clear();
  held.first = 0;
}

void WindowRows::go_on(std::int64_t number, std::int64_t position) {
  Sequence& sequence = sequences_[number];
  sequence.position = position;
  for (std::int64_t i = 0; i < windows(); ++i) hold(i, number, position, sequence.now[to_size(i)]);
}

void WindowRows::advance(std::int64_t sequence, std::int64_t most) {
  const std::int64_t now = position(sequence);
  const std::int64_t rows = std::min(most, pool_.promised(sequence));
  if (rows <= now) return;
  follow_to_host();
  const std::int64_t found = find_position(sequence, now, rows);
  if (found > now) go_on(sequence, found);
}

void WindowRows::restart(std::int64_t sequence, std::int64_t most) {
  go_on(sequence, 0);
  advance(sequence, most);
}

void WindowRows::forget_start(std::int64_t number) {
  Sequence& sequence = sequences_[number];
  sequence.start = 0;
  for (std::int64_t i = 0; i < windows(); ++i) release(i, sequence.at_start[to_size(i)]);
}

void WindowRows::open(std::int64_t number, std::int64_t most) {
  const std::int64_t now = position(number);
  if (now > std::min(most, pool_.promised(number)) || !has(number, now)) {
    restart(number, most);
  } else {
    go_on(number, now);  // its last block may be another one
    advance(number, most);
  }
}

void WindowRows::keep_start(std::int64_t number, std::int64_t position) {
  Sequence& sequence = sequences_[number];
  sequence.start = position;
  for (std::int64_t i = 0; i < windows(); ++i)
    hold(i, number, sequence.start, sequence.at_start[to_size(i)]);
}

/// Holds blocks for tokens [start, end) of a sequence that go on from those held.
Status WindowRows::take(std::int64_t window, std::int64_t number, std::int64_t start,
                        std::int64_t end, std::vector<Writing>& writing) {
  WindowCache& cache = caches_[window];
  Held& held = sequences_[number].now[to_size(window)];
  const auto blocks = pool_.blocks(number);
  for (std::int64_t i = start / kCacheBlock; i * kCacheBlock < end; ++i) {
    SHUNT_ASSIGN(const WindowBlock block, cache.take(blocks[to_size(i)]));
    if (!cache.has_all() && i >= held.first + std::ssize(held.blocks)) {
      held.blocks.push_back(block.block);  // may need memory
      cache.hold(block.block);
    }
    const std::int64_t first = i * kCacheBlock;
    writing.push_back({window, block, std::max<std::int64_t>(start - first, 0),
                       std::min(end - first, kCacheBlock)});
  }
  return ok();
}

Status WindowRows::begin(std::int64_t number, std::int64_t end) {
  Step& step = steps_.emplace_back(Step{.sequence = number});
  const std::int64_t start = std::exchange(sequences_[number].position, end);
  for (std::int64_t i = 0; i < windows(); ++i) SHUNT_TRY(take(i, number, start, end, step.writing));
  return ok();
}

WindowTable WindowRows::table(std::int64_t window, std::int64_t sequence) const {
  const Held& held = sequences_[sequence].now[to_size(window)];
  if (!cache(window).has_all()) return {held.first, held.blocks};
  return {held.first, pool_.blocks(sequence).subspan(to_size(held.first))};
}

void WindowRows::pass() {
  for (const Step& step : steps_) {
    Sequence& sequence = sequences_[step.sequence];
    for (std::int64_t i = 0; i < windows(); ++i) {
      Held& held = sequence.now[to_size(i)];
      const std::int64_t first = first_window_block(sequence.position, cache(i).window());
      if (cache(i).has_all()) {
        held.first = first;
        continue;
      }
      const auto passed = held.blocks.begin() + (first - held.first);
      std::for_each(held.blocks.begin(), passed,
                    [&](std::int64_t block) { caches_[i].release(block); });
      held.blocks.erase(held.blocks.begin(), passed);
      held.first = first;
    }
  }
}

void WindowRows::finish(std::int64_t sequence) {
  const auto step = std::ranges::find(steps_, sequence, &Step::sequence);
  if (step == steps_.end()) return;
  for (const Writing& each : step->writing) caches_[each.window].add_rows(each.block, each.end);
  steps_.erase(step);
}

void WindowRows::abandon() {
  for (const Step& step : steps_) {
    for (const Writing& each : step.writing) caches_[each.window].lose_rows(each.block, each.first);
  }
  const std::vector<Step> steps = std::exchange(steps_, {});
  for (const Step& step : steps) restart(step.sequence, pool_.length(step.sequence));
  // Rows that others share may be lost.
  for (std::int64_t i = 0; i < std::ssize(sequences_); ++i) {
    if (position(i) > pool_.promised(i) || !has(i, position(i))) restart(i, pool_.length(i));
  }
}

void WindowRows::truncate(std::int64_t number) {
  const std::int64_t length = pool_.length(number);
  if (const auto blocks = pool_.blocks(number); !blocks.empty()) {
    for (WindowCache& cache : caches_) cache.follow(blocks.back());
  }
  if (position(number) > length || !has(number, position(number))) restart(number, length);
  if (sequences_[number].start > length) forget_start(number);
}

void WindowRows::fork(std::int64_t from, std::int64_t to) {
  if (from == to) return truncate(to);
  forget_start(to);
  restart(to, pool_.length(to));
}

void WindowRows::clear() {
  steps_.clear();
  for (WindowCache& cache : caches_) cache.clear();
  for (Sequence& sequence : sequences_) {
    sequence.position = sequence.start = 0;
    for (auto* all : {&sequence.now, &sequence.at_start}) {
      for (Held& held : *all) {
        held.first = 0;
        held.blocks.clear();
      }
    }
  }
}

std::optional<BlockCopy> WindowRows::copy(std::int64_t window, const BlockCopy& of_pool) {
  WindowCache& cache = caches_[window];
  const std::int64_t from = cache.find(of_pool.from);
  const std::int64_t rows = std::min(cache.rows(of_pool.from), of_pool.rows);
  if (rows == 0) return std::nullopt;
  cache.hold(from);
  const auto to = cache.take(of_pool.to);
  cache.release(from);
  if (!to || cache.rows(of_pool.to) >= rows) return std::nullopt;
  return BlockCopy{from, to->block, rows};
}

void WindowRows::copied(std::int64_t window, const BlockCopy& of_pool) {
  WindowCache& cache = caches_[window];
  const std::int64_t rows = std::min(cache.rows(of_pool.from), of_pool.rows);
  // It has a block already.
  if (const auto to = cache.take(of_pool.to)) cache.add_rows(*to, rows);
}

Result<std::vector<std::vector<MissingRows>>> WindowRows::restore(std::int64_t number,
                                                                  std::int64_t position) {
  forget_start(number);
  go_on(number, 0);
  std::vector<std::vector<MissingRows>> missing(caches_.size());
  Step& step = steps_.emplace_back(Step{.sequence = number});
  sequences_[number].position = position;
  const auto blocks = pool_.blocks(number);
  for (std::int64_t i = 0; i < windows(); ++i) {
    Held& held = sequences_[number].now[to_size(i)];
    held.first = first_window_block(position, cache(i).window());
    const auto before = std::ssize(step.writing);
    SHUNT_TRY(take(i, number, held.first * kCacheBlock, position, step.writing));
    std::int64_t block = held.first;
    for (Writing& each : std::span(step.writing).subspan(to_size(before))) {
      // Others may use the rows that are there.
      each.first = std::min(cache(i).rows(blocks[to_size(block)]), each.end);
      const std::int64_t token = block++ * kCacheBlock + each.first;
      if (each.first == each.end) continue;
      missing[to_size(i)].push_back({each.block.block, each.first, each.end - each.first, token});
    }
  }
  return missing;
}

}  // namespace shunt
