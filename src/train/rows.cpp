#include "train/rows.h"

#include <algorithm>
#include <numeric>

#include "model/synth_noise.h"

namespace shunt {

RowPacker::RowPacker(const TrainingText& text, Order order, std::int64_t context, std::int64_t rows)
    : text_(text), order_(std::move(order)), context_(context), rows_(rows) {}

void RowPacker::fill_pool() {
  const auto longest = static_cast<std::size_t>(context_) + 1;
  while (pool_.size() < kPool) {
    const std::optional<std::size_t> number = order_();
    if (!number) return;
    Piece document = text_.document(*number);
    // The last token of a piece is the first of the next: it is learned, then learned from.
    for (; document.size() > longest; document = document.subspan(longest - 1)) {
      pool_.push_back(document.first(longest));
    }
    pool_.push_back(document);
  }
}

std::optional<RowPacker::Piece> RowPacker::take(std::int64_t room) {
  fill_pool();
  auto best = pool_.end();
  for (auto piece = pool_.begin(); piece != pool_.end(); ++piece) {
    if (static_cast<std::int64_t>(piece->size()) - 1 > room) continue;
    if (best == pool_.end() || piece->size() > best->size()) best = piece;
  }
  if (best == pool_.end()) return {};
  const Piece piece = *best;
  pool_.erase(best);
  return piece;
}

bool RowPacker::fill(TrainingRows& to) {
  const auto size = static_cast<std::size_t>(context_ * rows_);
  to.context = context_;
  to.rows = rows_;
  to.tokens.assign(size, 0);
  to.next.assign(size, -1);
  to.starts.assign(size, 0);
  to.scored = 0;
  for (std::int64_t row = 0; row < rows_; ++row) {
    std::int64_t used = 0;
    while (const std::optional<Piece> piece = take(context_ - used)) {
      const auto count = static_cast<std::int64_t>(piece->size()) - 1;
      const auto at = static_cast<std::ptrdiff_t>(row * context_ + used);
      std::copy_n(piece->begin(), count, to.tokens.begin() + at);
      std::copy_n(piece->begin() + 1, count, to.next.begin() + at);
      std::fill_n(to.starts.begin() + at, count, static_cast<std::int32_t>(used));
      used += count;
      to.scored += count;
    }
    // The rest of the row is a document of its own that has no labels.
    std::fill(to.starts.begin() + static_cast<std::ptrdiff_t>(row * context_ + used),
              to.starts.begin() + static_cast<std::ptrdiff_t>((row + 1) * context_),
              static_cast<std::int32_t>(used));
  }
  return to.scored > 0;
}

RowPacker::Order in_order(const TrainingText& text) {
  return [next = std::size_t{0}, count = text.documents()]() mutable -> std::optional<std::size_t> {
    if (next == count) return {};
    return next++;
  };
}

RowPacker::Order shuffled(const TrainingText& text, std::uint64_t seed) {
  std::vector<std::size_t> order(text.documents());
  std::iota(order.begin(), order.end(), std::size_t{0});
  return [order = std::move(order), seed, next = std::size_t{0},
          draws = std::uint64_t{0}]() mutable -> std::optional<std::size_t> {
    if (next == 0) {  // Fisher and Yates
      for (std::size_t left = order.size(); left > 1; --left) {
        std::swap(order[left - 1], order[random_bits(seed, draws++) % left]);
      }
    }
    const std::size_t number = order[next];
    next = next + 1 == order.size() ? 0 : next + 1;
    return number;
  };
}

}  // namespace shunt
