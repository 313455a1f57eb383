#include "text/merge.h"

#include <algorithm>

#include "text/merge_queue.h"

namespace shunt::text {
namespace {

const Merge* find_merge(const PairTable& table, std::int32_t left, std::int32_t right) {
  return table.find(static_cast<std::uint32_t>(left), static_cast<std::uint32_t>(right));
}

}  // namespace

/// Notes the merge of a symbol with the next one.
void Merger::rate(std::size_t index, const PairTable& table) {
  Symbol& left = symbols_[index];
  const Merge* merge =
      index + 1 < symbols_.size() ? find_merge(table, left.id, symbols_[index + 1].id) : nullptr;
  left.previous = merge == nullptr ? kNone : merge->rank;
  left.next = merge == nullptr ? kNone : static_cast<std::uint32_t>(merge->id);
}

/// O(n^2) for n symbols.
void Merger::merge_few(const PairTable& table) {
  for (std::size_t i = 0; i < symbols_.size(); ++i) rate(i, table);
  while (symbols_.size() > 1) {
    const auto best = std::ranges::min_element(symbols_, {}, &Symbol::previous);
    if (best->next == kNone) return;
    best->id = static_cast<std::int32_t>(best->next);
    const auto index = static_cast<std::size_t>(best - symbols_.begin());
    symbols_.erase(best + 1);
    rate(index, table);
    if (index > 0) rate(index - 1, table);
  }
}

/// The merge of a symbol with its right neighbour; null if there is none.
const Merge* Merger::merge_at(std::uint32_t left, const PairTable& table) const {
  if (left == kNone || symbols_[left].id == kGone || symbols_[left].next == kNone) return nullptr;
  return find_merge(table, symbols_[left].id, symbols_[symbols_[left].next].id);
}

/// Each merge ends two symbols' pairs and begins two.
void Merger::merge_many(const PairTable& table) {
  const auto count = static_cast<std::uint32_t>(symbols_.size());
  for (std::uint32_t i = 0; i < count; ++i) {
    symbols_[i].previous = i == 0 ? kNone : i - 1;
    symbols_[i].next = i + 1 == count ? kNone : i + 1;
  }
  MergeQueue queue;
  const auto consider = [&](std::uint32_t left) {
    if (const Merge* merge = merge_at(left, table)) queue.push({merge->rank, left});
  };
  for (std::uint32_t i = 0; i < count; ++i) consider(i);
  while (!queue.empty()) {
    const auto [rank, place] = queue.pop();
    // The neighbours may have merged since; if they have the same rank again, it is their turn.
    const Merge* merge = merge_at(place, table);
    if (merge == nullptr || merge->rank != rank) continue;
    Symbol& left = symbols_[place];
    Symbol& right = symbols_[left.next];
    left.id = merge->id;
    left.next = right.next;
    right.id = kGone;
    if (left.next != kNone) symbols_[left.next].previous = place;
    consider(left.previous);
    consider(place);
  }
  drop_gone();
}

void Merger::drop_gone() {
  std::erase_if(symbols_, [](const Symbol& symbol) { return symbol.id == kGone; });
}

}  // namespace shunt::text
