// Documents packed into rows of tokens.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "shunt/train.h"

namespace shunt {

/// Rows of tokens for a step: documents one after the other, none of which sees another.
struct TrainingRows {
  std::int64_t context = 0;  ///< tokens of a row
  std::int64_t rows = 0;
  std::vector<std::int32_t> tokens;  ///< [context * rows]
  std::vector<std::int32_t> next;    ///< the token after each; -1: nothing is to be learned
  std::vector<std::int32_t> starts;  ///< of each token: where in its row its document begins
  std::int64_t scored = 0;           ///< how many have a next one
};

/// Puts documents into rows. One that is longer than a row is cut, and the rest begins anew. Which
/// comes when is settled by the order of the documents alone: of the next kPool pieces, a row gets
/// the longest that fits, until none does.
class RowPacker {
 public:
  /// The number of the next document; none: there are no more.
  using Order = std::function<std::optional<std::size_t>()>;

  RowPacker(const TrainingText& text, Order order, std::int64_t context, std::int64_t rows);
  /// False if there are no more documents. The last rows may be empty.
  bool fill(TrainingRows& to);

 private:
  /// Tokens, and the one behind them.
  using Piece = std::span<const std::int32_t>;
  static constexpr std::size_t kPool = 64;

  void fill_pool();
  std::optional<Piece> take(std::int64_t room);

  const TrainingText& text_;
  Order order_;
  std::int64_t context_;
  std::int64_t rows_;
  std::vector<Piece> pool_;  // in the order they came
};

/// The documents from the first to the last.
RowPacker::Order in_order(const TrainingText& text);
/// All documents in epochs, each in another order that depends on `seed`.
RowPacker::Order shuffled(const TrainingText& text, std::uint64_t seed);

}  // namespace shunt
