#include "engine/session/block_pool.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "base/ceil_div.h"
#include "base/to_size.h"
#include "shunt/message.h"

namespace shunt {

namespace {

/// FNV-1a over 64-bit words.
std::uint64_t fnv(std::uint64_t parent, std::span<const std::int32_t> tokens) {
  constexpr std::uint64_t kPrime = 0x100000001b3;
  std::uint64_t hash = (0xcbf29ce484222325 ^ parent) * kPrime;
  for (const std::int32_t token : tokens) {
    hash = (hash ^ static_cast<std::uint32_t>(token)) * kPrime;
    hash ^= hash >> 32;  // tokens differ in their low bits
  }
  return hash;
}

std::int64_t size_of(const auto& all) {
  return static_cast<std::int64_t>(all.size());
}

}  // namespace

BlockPool::BlockPool(BlockPoolOptions options)
    : options_(std::move(options)),
      sequences_(to_size(options_.sequences)),
      blocks_(to_size(options_.blocks)) {
  if (!options_.hash) options_.hash = fnv;
  free_.resize(to_size(options_.blocks));
  std::iota(free_.begin(), free_.end(), 0);  // in order, it is a heap
  pending_.reserve(free_.size());            // at most one for each block
}

void BlockPool::set_host_slots(std::int64_t slots) {
  HostBlocks host(slots);
  pending_.reserve(2 * blocks_.size());
  host_ = std::move(host);
}

void BlockPool::cancel_copies_to(std::int64_t number) {
  std::erase_if(pending_, [&](const BlockCopy& copy) {
    if (!copy.is_to_block(number)) return false;
    if (copy.way == CopyWay::kFromHost) host_.unpin(copy.from, HostBlocks::Order::kLast);
    return true;
  });
}

/// A copy to it was wanted by a sequence that is gone.
void BlockPool::add_to_free(std::int64_t number) {
  cancel_copies_to(number);
  at(number).content = next_content_++;
  at(number).former = {};
  free_.push_back(number);
  std::ranges::push_heap(free_, std::greater());
}

void BlockPool::add_to_unused(std::int64_t number) {
  at(number).before = last_unused_;
  at(number).after = -1;
  (last_unused_ < 0 ? first_unused_ : at(last_unused_).after) = number;
  last_unused_ = number;
  ++unused_;
}

void BlockPool::remove_from_unused(std::int64_t number) {
  const Block& block = at(number);
  (block.before < 0 ? first_unused_ : at(block.before).after) = block.after;
  (block.after < 0 ? last_unused_ : at(block.after).before) = block.before;
  --unused_;
}

std::int64_t BlockPool::length(std::int64_t sequence) const {
  return size_of(sequences_[sequence].tokens);
}

std::int64_t BlockPool::cached(std::int64_t number) {
  Sequence& sequence = sequences_[number];
  const std::int64_t length = size_of(sequence.tokens);
  while (sequence.cached < length) {
    const std::int64_t index = sequence.cached / kBlock;
    const std::int64_t filled = at(sequence.blocks[to_size(index)]).filled;
    const std::int64_t rows = std::min(index * kBlock + filled, length);
    if (rows <= sequence.cached) break;
    sequence.cached = rows;
  }
  return sequence.cached;
}

std::uint64_t BlockPool::hash_of(std::uint64_t parent, std::span<const std::int32_t> tokens) const {
  return options_.hash(parent, tokens);
}

/// The id of all tokens before a block; none if it can't be found by them.
std::uint64_t BlockPool::parent_of(const Sequence& sequence, std::size_t block) const {
  return block == 0 ? 0 : blocks_[sequence.blocks[block - 1]].id;
}

/// The indexed block of these tokens after those of `parent`; -1: there is none.
std::int64_t BlockPool::find(const Sequence& sequence, std::uint64_t parent,
                             std::span<const std::int32_t> tokens) const {
  const auto [first, last] = index_.equal_range(hash_of(parent, tokens));
  for (auto known = first; known != last; ++known) {
    if (blocks_[known->second].is(parent, sequence.scope, tokens)) return known->second;
  }
  return -1;
}

/// A block that the content of these tokens comes back to from the host. -1: the host does not have
/// it, or there is no block.
std::int64_t BlockPool::bring_back(const Sequence& sequence, std::uint64_t parent,
                                   std::span<const std::int32_t> tokens) {
  const std::uint64_t hash = hash_of(parent, tokens);
  const std::int64_t slot = host_.find(hash, parent, sequence.scope, tokens);
  if (slot < 0) return -1;
  // Both need memory; nothing has changed before.
  KnownBlock known = host_[slot];
  const auto entry = index_.emplace(hash, -1);
  host_.pin(slot);  // the block that is taken may need a slot
  const auto taken = take();
  if (!taken) {
    index_.erase(entry);
    host_.unpin(slot, HostBlocks::Order::kLast);
    return -1;
  }
  entry->second = *taken;
  static_cast<KnownBlock&>(at(*taken)) = std::move(known);
  at(*taken).indexed = true;
  pending_.push_back({slot, *taken, kBlock, CopyWay::kFromHost});
  return *taken;
}

void BlockPool::add_to_index(const Sequence& sequence, std::size_t index) {
  const std::int64_t number = sequence.blocks[index];
  Block& block = at(number);
  const std::uint64_t parent = parent_of(sequence, index);
  if (!options_.reuse || (index > 0 && parent == 0)) return;
  const auto tokens = std::span(sequence.tokens).subspan(index * to_size(kBlock), to_size(kBlock));
  if (const std::int64_t same = find(sequence, parent, tokens); same >= 0) {
    block.id = at(same).id;  // the blocks after it are found after either
    return;
  }
  block.scope = parent == 0 ? sequence.scope : std::string();
  block.hash = hash_of(parent, tokens);
  index_.emplace(block.hash, number);
  block.indexed = true;
  block.parent = parent;
  const std::int64_t slot = host_.find(block.hash, parent, block.scope, tokens);
  block.id = slot >= 0 ? host_[slot].id : next_id_++;
  std::ranges::copy(tokens, block.tokens.begin());
}

void BlockPool::remove_from_index(std::int64_t number) {
  Block& block = at(number);
  if (!block.indexed) return;
  const auto [first, last] = index_.equal_range(block.hash);
  for (auto known = first; known != last; ++known) {
    if (known->second != number) continue;
    index_.erase(known);
    break;
  }
  block.indexed = false;
}

void BlockPool::set_used(std::int64_t number, std::int64_t rows) {
  Block& block = at(number);
  taken_ += rows - block.used;
  block.used = rows;
  block.most = std::max(block.most, rows);
}

/// Finds the rows in use again. A block has the same place among the blocks of all its users.
void BlockPool::recount(std::int64_t number, std::size_t index) {
  std::int64_t rows = 0;
  for (const Sequence& sequence : sequences_) {
    if (index >= sequence.blocks.size() || sequence.blocks[index] != number) continue;
    const std::int64_t first = static_cast<std::int64_t>(index) * kBlock;
    rows = std::max(rows, std::min(size_of(sequence.tokens) - first, kBlock));
  }
  set_used(number, rows);
}

/// The others will be written again. They may have been those of another sequence.
void BlockPool::keep_rows(std::int64_t number, std::int64_t rows) {
  set_used(number, rows);
  Block& block = at(number);
  block.filled = std::min(block.filled, rows);
  block.id = 0;
  if (block.most > rows) {
    block.former = {block.content, rows};
    block.content = next_content_++;
    block.most = rows;
  }
  for (BlockCopy& copy : pending_) {
    if (copy.is_to_block(number)) copy.rows = std::min(copy.rows, rows);
  }
}

/// Keeps the content of a block that is given to another user, if the host has a slot.
void BlockPool::move_to_host(std::int64_t number) {
  Block& block = at(number);
  if (const std::int64_t known = host_.find(block); known >= 0)
    return host_.renew(known, block.content);
  const std::int64_t slot = host_.add(std::move(block));
  if (slot >= 0) pending_.push_back({number, slot, kBlock, CopyWay::kToHost});
}

/// A block without content or users: the lowest free one, else the one that was left first.
std::optional<std::int64_t> BlockPool::take() {
  std::int64_t number = -1;
  if (!free_.empty()) {
    std::ranges::pop_heap(free_, std::greater());
    number = free_.back();
    free_.pop_back();
  } else if (first_unused_ >= 0) {
    number = first_unused_;
    remove_from_unused(number);
    remove_from_index(number);
    move_to_host(number);
  } else {
    return std::nullopt;
  }
  at(number) = Block();
  at(number).users = 1;
  at(number).content = next_content_++;
  return number;
}

void BlockPool::use(std::int64_t number) {
  Block& block = at(number);
  if (block.users++ == 0) remove_from_unused(number);
}

/// Of a block that one of its users has left, at this place among the blocks of all of them.
void BlockPool::release(std::int64_t number, std::size_t index) {
  Block& block = at(number);
  if (--block.users > 0) return recount(number, index);
  set_used(number, 0);
  if (block.indexed && block.filled == kBlock) return add_to_unused(number);
  remove_from_index(number);
  add_to_free(number);
}

/// The sequence's last block, which has room, belongs to it alone afterwards, and is not found by
/// its tokens. The block that it was, if the sequence got another one; -1: it is the same.
/// InvalidArgument if there is none.
Result<std::int64_t> BlockPool::make_last_writable(Sequence& sequence) {
  const std::int64_t rows = size_of(sequence.tokens) % kBlock;
  if (rows == 0) return -1;
  const std::int64_t old = sequence.blocks.back();
  if (at(old).users == 1 && !at(old).indexed) {
    keep_rows(old, rows);
    return -1;
  }
  const auto made = take();
  if (!made && at(old).users == 1) {
    remove_from_index(old);
    if (at(old).filled == kBlock) move_to_host(old);
    keep_rows(old, rows);
    return -1;
  }
  if (!made) return invalid("there is no block left to copy a shared one to");
  const std::int64_t filled = std::min(at(old).filled, rows);
  if (filled > 0) pending_.push_back({old, *made, filled});
  sequence.cached = std::min(sequence.cached, size_of(sequence.tokens) - rows);
  sequence.blocks.back() = *made;
  set_used(*made, rows);
  recount(old, sequence.blocks.size() - 1);
  return old;
}

/// Shares the block of the next tokens, if it is known here or in the host.
bool BlockPool::share_next(Sequence& sequence, std::span<const std::int32_t> tokens) {
  const std::size_t index = sequence.blocks.size();
  const std::uint64_t parent = parent_of(sequence, index);
  if (!options_.reuse || (index > 0 && parent == 0)) return false;
  std::int64_t known = find(sequence, parent, tokens);
  if (known >= 0) {
    use(known);
  } else {
    known = bring_back(sequence, parent, tokens);
  }
  if (known < 0) return false;
  set_used(known, kBlock);
  sequence.blocks.push_back(known);
  sequence.tokens.insert(sequence.tokens.end(), tokens.begin(), tokens.end());
  return true;
}

/// Room for more tokens, so that adding them can't fail.
void BlockPool::reserve(Sequence& sequence, std::size_t more) {
  const auto grow = [](auto& vector, std::size_t size) {
    if (vector.capacity() < size) vector.reserve(std::max(size, 2 * vector.capacity()));
  };
  const std::size_t all = sequence.tokens.size() + more;
  grow(sequence.tokens, all);
  grow(sequence.blocks, all / to_size(kBlock) + 1);
}

Status BlockPool::append(std::int64_t number, std::span<const std::int32_t> tokens, bool share) {
  Sequence& sequence = sequences_[number];
  const std::int64_t before = size_of(sequence.tokens);
  const std::int64_t cached = sequence.cached;
  const std::int64_t room = (options_.context + 1) * options_.sequences;
  reserve(sequence, std::min(tokens.size(), to_size(room)));
  SHUNT_ASSIGN(std::int64_t left, make_last_writable(sequence));
  Status added;
  try {
    added = add(sequence, tokens, share, left);
  } catch (...) {  // there is no memory for the index
    take_back(sequence, number, before, left, cached);
    throw;
  }
  if (!added) {
    take_back(sequence, number, before, left, cached);
    return added;
  }
  if (left >= 0) release(left, to_size(before / kBlock));
  return ok();
}

/// Undoes append() of a sequence that had `length` tokens, whose last block was `left`.
void BlockPool::take_back(Sequence& sequence, std::int64_t number, std::int64_t length,
                          std::int64_t left, std::int64_t cached) {
  truncate(number, length);
  if (left < 0) return;
  const std::int64_t made = std::exchange(sequence.blocks.back(), left);
  release(made, sequence.blocks.size() - 1);
  recount(left, sequence.blocks.size() - 1);
  sequence.cached = cached;
}

/// `left`: the sequence's former last block, if it still counts as one of its own; -1 once it is
/// released, because its memory was needed. Copies from it are made before any step.
Status BlockPool::add(Sequence& sequence, std::span<const std::int32_t> tokens, bool share,
                      std::int64_t& left) {
  const auto index_of_left = to_size(size_of(sequence.tokens) / kBlock);
  while (!tokens.empty()) {
    const std::int64_t rows = size_of(sequence.tokens) % kBlock;
    if (rows == 0) {
      const auto whole = to_size(kBlock);
      if (share && tokens.size() > whole && share_next(sequence, tokens.first(whole))) {
        tokens = tokens.subspan(whole);
        continue;
      }
      auto made = take();
      if (!made && left >= 0 && at(left).users == 1) {
        release(std::exchange(left, -1), index_of_left);
        made = take();
      }
      if (!made) return invalid("there is no block left");
      sequence.blocks.push_back(*made);
    }
    const auto count = std::min(tokens.size(), to_size(kBlock - rows));
    sequence.tokens.insert(sequence.tokens.end(), tokens.begin(),
                           tokens.begin() + static_cast<std::ptrdiff_t>(count));
    tokens = tokens.subspan(count);
    const std::int64_t used = rows + static_cast<std::int64_t>(count);
    set_used(sequence.blocks.back(), used);
    if (used == kBlock) add_to_index(sequence, sequence.blocks.size() - 1);
  }
  if (taken_ <= options_.context) return ok();
  return invalid("the context holds {}, and {} would be taken", options_.context, taken_);
}

std::int64_t BlockPool::append_known(std::int64_t number, std::span<const std::int32_t> tokens) {
  Sequence& sequence = sequences_[number];
  const std::size_t all = tokens.size();
  if (size_of(sequence.tokens) % kBlock != 0) return 0;
  reserve(sequence, tokens.size());
  const auto whole = to_size(kBlock);
  // A block that comes back from the host needs memory, which there may be none of.
  struct Undo {
    BlockPool& pool;
    std::int64_t sequence;
    std::int64_t length;
    bool needed = true;
    ~Undo() {
      if (needed) pool.truncate(sequence, length);
    }
  } undo{*this, number, size_of(sequence.tokens)};
  // A block that comes into use again takes room.
  while (taken_ <= options_.context - kBlock && tokens.size() > whole &&
         share_next(sequence, tokens.first(whole)))
    tokens = tokens.subspan(whole);
  undo.needed = false;
  return static_cast<std::int64_t>(all - tokens.size());
}

void BlockPool::truncate(std::int64_t number, std::int64_t length) {
  Sequence& sequence = sequences_[number];
  sequence.tokens.resize(to_size(length));
  sequence.cached = std::min(sequence.cached, length);
  const auto count = to_size(ceil_div(length, kBlock));
  while (sequence.blocks.size() > count) {  // the last ones go first
    const std::int64_t last = sequence.blocks.back();
    sequence.blocks.pop_back();
    release(last, sequence.blocks.size());
  }
  const std::int64_t rows = length % kBlock;
  if (rows == 0) return;
  const std::int64_t last = sequence.blocks.back();
  if (at(last).users == 1 && !at(last).indexed) {
    keep_rows(last, rows);
  } else {
    recount(last, sequence.blocks.size() - 1);
  }
}

void BlockPool::fork(std::int64_t from, std::int64_t to, std::int64_t length) {
  if (from == to) return truncate(to, length);
  const Sequence& source = sequences_[from];
  Sequence& made = sequences_[to];
  std::string scope = source.scope;
  if (const std::int64_t more = length - size_of(made.tokens); more > 0)
    reserve(made, to_size(more));
  truncate(to, 0);
  made.tokens.assign(source.tokens.begin(), source.tokens.begin() + length);
  made.blocks.assign(source.blocks.begin(), source.blocks.begin() + ceil_div(length, kBlock));
  made.cached = std::min(source.cached, length);
  made.scope = std::move(scope);
  for (const std::int64_t block : made.blocks) use(block);
}

void BlockPool::set_scope(std::int64_t sequence, std::string scope) {
  sequences_[sequence].scope = std::move(scope);
}

void BlockPool::mark_cached(std::int64_t number, std::int64_t length) {
  Sequence& sequence = sequences_[number];
  for (std::int64_t index = sequence.cached / kBlock; index * kBlock < length; ++index) {
    Block& block = at(sequence.blocks[to_size(index)]);
    block.filled = std::max(block.filled, std::min(length - index * kBlock, kBlock));
  }
  sequence.cached = std::max(sequence.cached, length);
}

std::int64_t BlockPool::promised_rows(std::int64_t number) const {
  std::int64_t rows = filled(number);
  for (const BlockCopy& copy : pending_) {
    if (copy.is_to_block(number)) rows = std::max(rows, copy.rows);
  }
  return rows;
}

std::int64_t BlockPool::promised(std::int64_t number) {
  const std::int64_t length = this->length(number);
  std::int64_t rows = cached(number);
  while (rows < length) {
    const std::int64_t index = rows / kBlock;
    const std::int64_t block = sequences_[number].blocks[to_size(index)];
    const std::int64_t next = std::min(index * kBlock + promised_rows(block), length);
    if (next <= rows) break;
    rows = next;
  }
  return rows;
}

void BlockPool::mark_copied() {
  const BlockCopy copy = pending_.front();
  pending_.erase(pending_.begin());
  if (copy.way == CopyWay::kToHost) {
    host_.unpin(copy.to, HostBlocks::Order::kLast);
    ++traffic_.saved;
    return;
  }
  at(copy.to).filled = std::max(at(copy.to).filled, copy.rows);
  if (copy.way != CopyWay::kFromHost) return;
  host_.unpin(copy.from, HostBlocks::Order::kFirst);
  ++traffic_.restored;
}

void BlockPool::lose_content() {
  while (first_unused_ >= 0) {
    const std::int64_t block = first_unused_;
    remove_from_unused(block);
    remove_from_index(block);
    add_to_free(block);
  }
  for (const BlockCopy& copy : pending_) {
    if (copy.way == CopyWay::kFromHost) host_.unpin(copy.from, HostBlocks::Order::kLast);
  }
  for (const BlockCopy& copy : pending_) {
    if (copy.way != CopyWay::kToHost) continue;
    host_.unpin(copy.to, HostBlocks::Order::kFirst);
    host_.drop(copy.to);
  }
  pending_.clear();
  for (Block& block : blocks_) block.filled = 0;
  for (Sequence& sequence : sequences_) sequence.cached = 0;
  for (std::int64_t i = 0; i < block_count(); ++i) {
    const std::int64_t slot = at(i).indexed ? host_.find(at(i)) : -1;
    if (slot < 0) continue;
    host_.pin(slot);
    pending_.push_back({slot, i, kBlock, CopyWay::kFromHost});
  }
}

void BlockPool::lose_rows(std::int64_t number, std::int64_t rows) {
  Block& block = at(number);
  if (block.filled <= rows) return;
  block.filled = rows;
  if (block.users == 0 && block.indexed) {  // only whole blocks are kept
    remove_from_unused(number);
    remove_from_index(number);
    add_to_free(number);
  }
  for (Sequence& sequence : sequences_) {
    const auto found = std::ranges::find(sequence.blocks, number);
    if (found == sequence.blocks.end()) continue;
    sequence.cached = std::min(sequence.cached, (found - sequence.blocks.begin()) * kBlock + rows);
  }
}

void BlockPool::go_back(BlockPool snapshot) {
  snapshot.next_content_ = next_content_;
  *this = std::move(snapshot);
}

BlockPool BlockPool::snapshot() const {
  BlockPool copy = *this;
  copy.free_.reserve(blocks_.size());  // a copy has no more room than elements
  copy.pending_.reserve(pending_.capacity());
  return copy;
}

}  // namespace shunt
