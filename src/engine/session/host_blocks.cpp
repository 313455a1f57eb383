#include "engine/session/host_blocks.h"

#include <algorithm>
#include <utility>

namespace shunt {

bool KnownBlock::is(std::uint64_t of_parent, std::string_view of_scope,
                    std::span<const std::int32_t> of_tokens) const {
  return parent == of_parent && std::ranges::equal(tokens, of_tokens) &&
         (parent != 0 || scope == of_scope);
}

void SlotIndex::add(std::uint64_t number, std::int64_t slot) {
  std::int64_t& head = heads_[place_of(number)];
  next_[slot] = std::exchange(head, slot);
}

void SlotIndex::remove(std::uint64_t number, std::int64_t slot) {
  std::int64_t* at = &heads_[place_of(number)];
  while (*at != slot) at = &next_[*at];
  *at = next_[slot];
}

HostBlocks::HostBlocks(std::int64_t slots)
    : slots_(to_size(slots)), by_hash_(slots), by_content_(slots) {
  for (std::int64_t slot = slots - 1; slot >= 0; --slot)
    slots_[slot].after = std::exchange(empty_, slot);
}

std::int64_t HostBlocks::find(std::uint64_t hash, std::uint64_t parent, std::string_view scope,
                              std::span<const std::int32_t> tokens) const {
  return by_hash_.find(
      hash, [&](std::int64_t slot) { return slots_[slot].block.is(parent, scope, tokens); });
}

std::int64_t HostBlocks::find(const KnownBlock& block) const {
  return by_hash_.find(block.hash,
                       [&](std::int64_t slot) { return slots_[slot].block.id == block.id; });
}

std::int64_t HostBlocks::find_content(std::uint64_t content) const {
  return by_content_.find(content,
                          [&](std::int64_t slot) { return slots_[slot].block.content == content; });
}

std::int64_t HostBlocks::add(KnownBlock&& block) {
  const std::int64_t slot = empty_ >= 0 ? empty_ : first_;
  if (slot < 0) return -1;
  if (empty_ >= 0) {
    empty_ = slots_[slot].after;
  } else {
    remove(slot);
    clear(slot);
  }
  slots_[slot].pins = 1;
  slots_[slot].block = std::move(block);
  by_hash_.add(slots_[slot].block.hash, slot);
  by_content_.add(slots_[slot].block.content, slot);
  ++used_;
  return slot;
}

void HostBlocks::renew(std::int64_t slot, std::uint64_t content) {
  std::uint64_t& known = slots_[slot].block.content;
  by_content_.remove(known, slot);
  known = content;
  by_content_.add(known, slot);
  if (slots_[slot].pins > 0) return;
  remove(slot);
  insert(slot, Order::kLast);
}

void HostBlocks::drop(std::int64_t slot) {
  if (slots_[slot].block.id == 0) return;
  remove(slot);
  clear(slot);
  slots_[slot].after = std::exchange(empty_, slot);
}

void HostBlocks::pin(std::int64_t slot) {
  if (slots_[slot].pins++ == 0) remove(slot);
}

void HostBlocks::unpin(std::int64_t slot, Order order) {
  if (--slots_[slot].pins == 0) insert(slot, order);
}

/// Without its place in the order.
void HostBlocks::clear(std::int64_t slot) {
  KnownBlock& block = slots_[slot].block;
  by_hash_.remove(block.hash, slot);
  by_content_.remove(block.content, slot);
  block = {};
  --used_;
}

void HostBlocks::insert(std::int64_t slot, Order order) {
  Slot& inserted = slots_[slot];
  inserted.before = order == Order::kLast ? last_ : -1;
  inserted.after = order == Order::kLast ? -1 : first_;
  (inserted.before < 0 ? first_ : slots_[inserted.before].after) = slot;
  (inserted.after < 0 ? last_ : slots_[inserted.after].before) = slot;
}

void HostBlocks::remove(std::int64_t slot) {
  const Slot& removed = slots_[slot];
  (removed.before < 0 ? first_ : slots_[removed.before].after) = removed.after;
  (removed.after < 0 ? last_ : slots_[removed.after].before) = removed.before;
}

}  // namespace shunt
