#include "engine/session/window_cache.h"

#include <algorithm>
#include <utility>

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

void WindowCache::set_host_slots(std::int64_t slots) {
  HostBlocks host(slots);
  pending_.reserve(2 * blocks_.size());
  slots_ = std::move(host);
}

void WindowCache::clear() {
  for (const BlockCopy& copy : pending_) {
    if (copy.way == CopyWay::kFromHost) slots_.unpin(copy.from, HostBlocks::Order::kLast);
  }
  for (const BlockCopy& copy : pending_) {
    if (copy.way != CopyWay::kToHost) continue;
    slots_.unpin(copy.to, HostBlocks::Order::kFirst);
    slots_.drop(copy.to);
  }
  pending_.clear();
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

/// How many of the first `rows` rows of some content a block of the pool has still.
std::int64_t WindowCache::rows_of(std::int64_t of, std::uint64_t content, std::int64_t rows) const {
  if (content == pool_.content(of)) return rows;
  const FormerContent former = pool_.former(of);
  return content == former.number ? std::min(rows, former.rows) : 0;
}

std::int64_t WindowCache::rows(std::int64_t of) const {
  const std::int64_t number = block_of_[of];
  return number < 0 ? 0 : rows_of(of, blocks_[number].content, blocks_[number].rows);
}

std::int64_t WindowCache::promised(std::int64_t of) const {
  const std::int64_t number = block_of_[of];
  if (number < 0) return 0;
  const Block& block = blocks_[number];
  return rows_of(of, block.content, std::max(block.rows, block.promised));
}

WindowCache::HostCopy WindowCache::in_host(std::int64_t of) const {
  if (slots_.used() == 0) return {};
  if (const std::int64_t slot = slots_.find_content(pool_.content(of)); slot >= 0)
    return {slot, kCacheBlock};
  const FormerContent former = pool_.former(of);
  if (former.number == 0) return {};
  const std::int64_t slot = slots_.find_content(former.number);
  return slot < 0 ? HostCopy() : HostCopy{slot, former.rows};
}

std::int64_t WindowCache::within_reach(std::int64_t of) const {
  const std::int64_t rows = promised(of);
  return rows == kCacheBlock ? rows : std::max(rows, in_host(of).rows);
}

bool WindowCache::has(std::span<const std::int64_t> blocks, std::int64_t position) const {
  for (std::int64_t i = first_window_block(position, window_); i * kCacheBlock < position; ++i) {
    if (promised(blocks[to_size(i)]) < std::min(position - i * kCacheBlock, kCacheBlock))
      return false;
  }
  return true;
}

std::int64_t WindowCache::last_covered(std::span<const std::int64_t> blocks, std::int64_t least,
                                       std::int64_t most) const {
  std::int64_t position = most;
  // Blocks from here up to the position have their rows.
  for (std::int64_t i = ceil_div(most, kCacheBlock); position > least; --i) {
    if (i <= first_window_block(position, window_)) return position;
    const std::int64_t first = (i - 1) * kCacheBlock;
    const std::int64_t needed = std::min(position - first, kCacheBlock);
    if (within_reach(blocks[to_size(i - 1)]) < needed) position = first;
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
  save(number);
  cancel_copy_to(number);
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

std::int64_t WindowCache::bring_back(std::int64_t of, std::int64_t rows) {
  if (promised(of) >= rows) return block_of_[of];
  const HostCopy from = in_host(of);
  if (from.rows < rows) return -1;
  slots_.pin(from.slot);  // the block that is taken may need a slot
  const auto taken = take(of);
  if (!taken) {
    slots_.unpin(from.slot, HostBlocks::Order::kLast);
    return -1;
  }
  cancel_copy_to(taken->block);
  blocks_[taken->block].promised = from.rows;
  pending_.push_back({from.slot, taken->block, from.rows, CopyWay::kFromHost});
  return taken->block;
}

std::int64_t WindowCache::pin_slot(std::int64_t of, std::int64_t rows) {
  if (promised(of) >= rows) return -1;
  const HostCopy from = in_host(of);
  if (from.rows < rows) return -1;
  slots_.pin(from.slot);
  return from.slot;
}

void WindowCache::mark_copied() {
  const BlockCopy copy = pending_.front();
  pending_.erase(pending_.begin());
  if (copy.way == CopyWay::kToHost) return slots_.unpin(copy.to, HostBlocks::Order::kLast);
  Block& block = blocks_[copy.to];
  block.rows = std::max(block.rows, std::exchange(block.promised, 0));
  slots_.unpin(copy.from, HostBlocks::Order::kFirst);
}

void WindowCache::cancel_copy_to(std::int64_t number) {
  if (std::exchange(blocks_[number].promised, 0) == 0) return;
  const auto copy = std::ranges::find_if(
      pending_, [&](const BlockCopy& each) { return each.is_to_block(number); });
  slots_.unpin(copy->from, HostBlocks::Order::kLast);
  pending_.erase(copy);
}

/// Keeps the rows of a whole block that are about to be lost, if the pool or the host has the
/// others of it.
void WindowCache::save(std::int64_t number) {
  const Block& block = blocks_[number];
  if (slots_.slot_count() == 0 || block.of < 0 || block.rows < kCacheBlock) return;
  if (block.content != pool_.content(block.of) && !pool_.host().has(block.content)) return;
  if (const std::int64_t known = slots_.find_content(block.content); known >= 0)
    return slots_.renew(known, block.content);
  const std::int64_t slot =
      slots_.add({.content = block.content, .hash = block.content, .id = block.content});
  if (slot >= 0) pending_.push_back({number, slot, kCacheBlock, CopyWay::kToHost});
}

void WindowCache::follow_to_host(std::int64_t of) {
  const std::int64_t number = block_of_[of];
  if (number >= 0 && blocks_[number].content != pool_.content(of)) save(number);
}

void WindowCache::follow(std::int64_t of) {
  if (block_of_[of] < 0) return;
  Block& block = blocks_[block_of_[of]];
  if (block.content == pool_.content(of)) return;
  save(block_of_[of]);
  if (const std::int64_t promised = rows_of(of, block.content, block.promised); promised > 0) {
    block.promised = promised;
  } else {
    cancel_copy_to(block_of_[of]);
  }
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
