#include "engine/session/state_slots.h"

#include <algorithm>
#include <utility>

#include "base/to_size.h"

namespace shunt {

namespace {

/// Calls visit(tokens) for the ends of the last whole blocks of a prompt and its messages. The last
/// token of a prompt is always computed.
template <class Visit>
void each_last_block(const TextEnds& ends, const Visit& visit) {
  if (ends.prompt > 0) visit((ends.prompt - 1) / kCacheBlock * kCacheBlock);
  for (const std::int64_t end : ends.messages) visit(end / kCacheBlock * kCacheBlock);
}

}  // namespace

StateSlots::StateSlots(BlockPool& pool, std::int64_t sequences, std::int64_t checkpoints)
    : pool_(pool),
      sequences_(to_size(sequences)),
      slots_(to_size(state_slots_for(sequences, checkpoints))),
      slot_of_block_(to_size(pool.block_count())),
      most_pending_(checkpoints) {
  slots_[kZero].users = sequences;
}

std::int64_t StateSlots::step_end(std::int64_t position, std::int64_t length,
                                  const TextEnds& ends) {
  std::int64_t end = std::min(length, (position / kDistance + 1) * kDistance);
  each_last_block(ends, [&](std::int64_t last) {
    if (last > position) end = std::min(end, last);
  });
  return end;
}

bool StateSlots::is_valid(const Place& place) const {
  return place.block >= 0 && pool_.has_content(place.block, place.content);
}

bool StateSlots::is_of(std::int64_t slot, std::int64_t block) const {
  const Place& place = slots_[slot].place;
  return place.block >= 0 && place.content == pool_.content(block);
}

/// The slot with the states at the end of a block. Content that comes back from the host may be in
/// another block.
std::optional<std::int64_t> StateSlots::find(std::int64_t block) const {
  if (is_of(slot_of_block_[block], block)) return slot_of_block_[block];
  if (pool_.host().slot_count() == 0) return std::nullopt;
  for (std::int64_t slot = kZero + 1; slot < std::ssize(slots_); ++slot) {
    if (is_of(slot, block)) return slot;
  }
  return std::nullopt;
}

/// A slot that no sequence continues from: an empty one, else the oldest checkpoint.
std::int64_t StateSlots::take() {
  std::int64_t best = -1;
  for (std::int64_t slot = kZero + 1; slot < std::ssize(slots_); ++slot) {
    if (slots_[slot].users > 0) continue;
    if (!is_valid(slots_[slot].place)) {
      best = slot;
      break;
    }
    if (best < 0 || slots_[slot].used < slots_[best].used) best = slot;
  }
  slots_[best] = {};  // there is one more than sequences and pending checkpoints can use
  return best;
}

void StateSlots::use(Sequence& sequence, std::int64_t position, std::int64_t slot) {
  ++slots_[slot].users;
  slots_[slot].used = ++time_;
  --slots_[sequence.slot].users;
  sequence = {position, slot};
}

/// Whether the states at `end` are kept: at regular distances, and at the last whole blocks of a
/// prompt and its messages.
bool StateSlots::is_checkpoint(std::int64_t end, const TextEnds& ends) const {
  if (end % kCacheBlock != 0 || pending_ == most_pending_) return false;
  bool is_one = end % kDistance == 0;
  each_last_block(ends, [&](std::int64_t last) { is_one = is_one || end == last; });
  return is_one;
}

SlotPair StateSlots::begin(std::int64_t number, std::int64_t end, const TextEnds& ends) {
  Step& step = steps_.emplace_back(Step{.sequence = number});
  Sequence& sequence = sequences_[number];
  const std::int64_t source = sequence.slot;
  const bool alone =
      source != kZero && slots_[source].users == 1 && !is_valid(slots_[source].place);
  const std::int64_t target = alone ? source : take();
  slots_[target].place = {};
  use(sequence, end, target);
  if (is_checkpoint(end, ends)) {
    const std::int64_t block = pool_.blocks(number)[to_size(end / kCacheBlock - 1)];
    step.slot = target;
    step.place = {block, pool_.content(block)};
    ++slots_[target].users;  // the next step must not write it
    ++pending_;
  }
  return {source, target};
}

void StateSlots::release(const Step& step) {
  if (step.slot < 0) return;
  --slots_[step.slot].users;
  --pending_;
}

void StateSlots::finish(std::int64_t sequence) {
  const auto step = std::ranges::find(steps_, sequence, &Step::sequence);
  if (step == steps_.end()) return;
  release(*step);
  if (step->slot >= 0) {
    if (const auto old = find(step->place.block); old) slots_[*old].place = {};
    slots_[step->slot].place = step->place;
    slot_of_block_[step->place.block] = step->slot;
  }
  steps_.erase(step);
}

void StateSlots::abandon() {
  for (const Step& step : steps_) release(step);
  for (const Step& step : steps_) restart(step.sequence);
  steps_.clear();
  for (std::int64_t i = 0; i < std::ssize(sequences_); ++i) {
    if (position(i) > pool_.cached(i)) restart(i);
  }
}

void StateSlots::restart(std::int64_t number) {
  use(sequences_[number], 0, kZero);
  advance(number, pool_.length(number));
}

/// The last checkpoint of more than `least` tokens of a sequence; of none if there is none.
StateSlots::Sequence StateSlots::find_last(std::int64_t number, std::int64_t least,
                                           std::int64_t most) const {
  const auto blocks = pool_.blocks(number);
  const std::int64_t rows = std::min(most, pool_.promised(number));
  for (std::int64_t i = rows / kCacheBlock; i * kCacheBlock > least; --i) {
    const auto slot = find(blocks[to_size(i - 1)]);
    if (!slot || (condition_ && !condition_(number, i * kCacheBlock))) continue;
    return {i * kCacheBlock, *slot};
  }
  return {};
}

std::int64_t StateSlots::last_checkpoint(std::int64_t sequence) const {
  return find_last(sequence, 0, pool_.length(sequence)).position;
}

void StateSlots::advance(std::int64_t number, std::int64_t most) {
  const Sequence found = find_last(number, position(number), most);
  if (found.position == 0) return;
  const std::int64_t block = pool_.blocks(number)[to_size(found.position / kCacheBlock - 1)];
  slots_[found.slot].place.block = block;
  slot_of_block_[block] = found.slot;
  use(sequences_[number], found.position, found.slot);
}

void StateSlots::truncate(std::int64_t sequence) {
  if (position(sequence) > pool_.length(sequence)) restart(sequence);
}

void StateSlots::fork(std::int64_t from, std::int64_t to) {
  if (from == to) return truncate(to);
  const Sequence& source = sequences_[from];
  if (source.position <= pool_.length(to)) return use(sequences_[to], source.position, source.slot);
  restart(to);
}

void StateSlots::clear() {
  steps_.clear();
  pending_ = 0;
  for (Slot& slot : slots_) slot = {};
  for (Sequence& sequence : sequences_) sequence = {};
  slots_[kZero].users = std::ssize(sequences_);
}

std::int64_t StateSlots::checkpoints() const {
  return std::ranges::count_if(slots_, [this](const Slot& slot) { return is_valid(slot.place); });
}

}  // namespace shunt
