#include "engine/session/window_cache.h"

#include <algorithm>

#include "base/ceil_div.h"
#include "base/to_size.h"
#include "shunt/message.h"

namespace shunt {

WindowCache::WindowCache(const BlockPool& pool, std::int64_t window, std::int64_t blocks)
    : pool_(pool),
      window_(window),
      blocks_(to_size(std::min(blocks, pool.block_count()))),
      block_of_(to_size(pool.block_count()), -1) {
  clear();
}

void WindowCache::clear() {
  std::ranges::fill(block_of_, -1);
  first_ = last_ = -1;
  for (std::int64_t i = 0; i < block_count(); ++i) {
    blocks_[i] = {.stamp = next_stamp_++};
    add_to_list(i, false);
  }
}

void WindowCache::add_to_list(std::int64_t number, bool is_next) {
  Block& block = blocks_[number];
  block.before = is_next ? -1 : last_;
  block.after = is_next ? first_ : -1;
  (block.before < 0 ? first_ : blocks_[block.before].after) = number;
  (block.after < 0 ? last_ : blocks_[block.after].before) = number;
}

void WindowCache::remove_from_list(std::int64_t number) {
  const Block& block = blocks_[number];
  (block.before < 0 ? first_ : blocks_[block.before].after) = block.after;
  (block.after < 0 ? last_ : blocks_[block.after].before) = block.before;
}

std::int64_t WindowCache::rows(std::int64_t of) const {
  const std::int64_t number = block_of_[of];
  if (number < 0) return 0;
  const Block& block = blocks_[number];
  if (block.content == pool_.content(of)) return block.rows;
  const FormerContent former = pool_.former(of);
  return block.content == former.number ? std::min(block.rows, former.rows) : 0;
}

std::int64_t WindowCache::last_covered(std::span<const std::int64_t> blocks, std::int64_t least,
                                       std::int64_t most) const {
  std::int64_t position = most;
  // Blocks from here up to the position have their rows.
  for (std::int64_t i = ceil_div(most, kCacheBlock); position > least; --i) {
    if (i <= first_window_block(position, window_)) return position;
    const std::int64_t first = (i - 1) * kCacheBlock;
    const std::int64_t needed = std::min(position - first, kCacheBlock);
    if (rows(blocks[to_size(i - 1)]) < needed) position = first;
  }
  return least;
}

Result<WindowBlock> WindowCache::take(std::int64_t of) {
  if (block_of_[of] >= 0) {
    follow(of);
    return WindowBlock{block_of_[of], blocks_[block_of_[of]].stamp};
  }
  const std::int64_t number = has_all() ? of : first_;
  if (number < 0) {
    return invalid("all {} of the cache for a window of {} are in use",
                   counted(blocks_.size(), "block"), window_);
  }
  Block& block = blocks_[number];
  if (block.of >= 0) block_of_[block.of] = -1;
  block_of_[of] = number;
  block.of = of;
  block.content = pool_.content(of);
  block.rows = 0;
  block.stamp = next_stamp_++;
  if (block.users == 0) {  // the last to be given away, as it is about to be held
    remove_from_list(number);
    add_to_list(number, false);
  }
  return WindowBlock{number, block.stamp};
}

void WindowCache::follow(std::int64_t of) {
  if (block_of_[of] < 0) return;
  Block& block = blocks_[block_of_[of]];
  if (block.content == pool_.content(of)) return;
  block.rows = rows(of);
  block.content = pool_.content(of);
  block.stamp = next_stamp_++;
}

void WindowCache::hold(std::int64_t block) {
  if (blocks_[block].users++ == 0) remove_from_list(block);
}

/// Whether a block's content is lost. One without rows may be about to get them.
bool WindowCache::is_stale(const Block& block) const {
  if (block.of < 0) return true;
  return block.content != pool_.content(block.of) && block.content != pool_.former(block.of).number;
}

void WindowCache::release(std::int64_t block) {
  if (--blocks_[block].users == 0) add_to_list(block, is_stale(blocks_[block]));
}

void WindowCache::add_rows(const WindowBlock& of, std::int64_t rows) {
  Block& block = blocks_[of.block];
  if (block.stamp == of.stamp) block.rows = std::max(block.rows, rows);
}

void WindowCache::lose_rows(const WindowBlock& of, std::int64_t rows) {
  Block& block = blocks_[of.block];
  if (block.stamp == of.stamp) block.rows = std::min(block.rows, rows);
}

std::int64_t WindowCache::held() const {
  return std::ranges::count_if(blocks_, [](const Block& block) { return block.users > 0; });
}

}  // namespace shunt
