#include "engine/session/sequence_replacement.h"

#include <algorithm>
#include <utility>

#include "base/to_size.h"

namespace shunt {

SequenceReplacement::SequenceReplacement(BlockPool& pool, std::int64_t sequence)
    : pool_(pool), before_(pool.snapshot()), sequence_(sequence) {}

SequenceReplacement::~SequenceReplacement() {
  if (committed_) return;
  for (const MissingRows& rows : missing_) before_.lose_rows(rows.block, rows.first);
  for (const BlockCopy& copy : copies_) {
    if (copy.way == CopyWay::kToHost) {
      before_.lose_slot(copy.to);
    } else {
      before_.lose_rows(copy.to, 0);
    }
  }
  pool_.go_back(std::move(before_));
}

Status SequenceReplacement::set_tokens(std::span<const std::int32_t> tokens, std::int64_t cached) {
  pool_.truncate(sequence_, 0);
  SHUNT_TRY(pool_.append(sequence_, tokens, true));
  copies_.assign(pool_.pending().begin(), pool_.pending().end());
  cached_ = cached;
  const std::span<const std::int64_t> blocks = pool_.blocks(sequence_);
  for (std::int64_t token = 0; token < cached; token += BlockPool::kBlock) {
    const std::int64_t block = blocks[to_size(token / BlockPool::kBlock)];
    const std::int64_t rows = std::min(cached - token, BlockPool::kBlock);
    const std::int64_t filled = pool_.promised_rows(block);
    if (filled < rows) missing_.push_back({block, filled, rows - filled, token + filled});
  }
  return ok();
}

void SequenceReplacement::commit() {
  pool_.mark_cached(sequence_, cached_);
  committed_ = true;
}

}  // namespace shunt
