// The inner part of attention kernels: some queries and heads that share a head of k and v, and the
// keys that they see, block by block.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "backends/cpu/kernels/attention_parts.h"
#include "shunt/ops/attention.h"

namespace shunt::cpu {

inline constexpr std::int64_t kCacheLine = 64;
inline constexpr float kLog2E = std::numbers::log2e_v<float>;

/// Where the keys of a part are.
struct KeyRows {
  std::int64_t sequence = 0;         ///< dimension 3 of k and v
  const TensorArg* table = nullptr;  ///< I32: blocks of keys; null: key n is row n
  std::int64_t first_entry = 0;      ///< of the table: the block with key 0
  std::int64_t block = 1;            ///< rows of a block, a multiple of kKeyGroup
  int shift = 0;                     ///< block is 2^shift; 0: it is no power of two

  std::int64_t number(std::int64_t key) const {
    if (table == nullptr) return key;
    // Division takes longer than all else here, and most blocks are powers of two.
    const std::int64_t entry = shift > 0 ? key >> shift : key / block;
    std::int32_t number = 0;
    std::memcpy(&number, table->data + (first_entry + entry) * table->strides[0], sizeof number);
    return (number - entry) * block + key;
  }
  std::byte* row(const TensorArg& tensor, std::int64_t head, std::int64_t key) const {
    return tensor.row(head, number(key), sequence);
  }
  /// How many keys from the first of a group on have rows that follow each other.
  std::int64_t contiguous() const {
    return table == nullptr || block % simd::kKeyBlock == 0 ? simd::kKeyBlock : simd::kKeyGroup;
  }
};

/// The keys that are worked on next. Their memory is asked for while others are decoded.
/// Neighbouring heads take turns at a block, and each asks for its share. The data of these heads
/// for one key is adjacent.
struct Ahead {
  std::int64_t first = 0;  ///< key
  std::int64_t end = 0;
  std::int64_t turn = 0;
  std::int64_t turns = 1;
};

/// The parameters of scores.
struct ScoreParams {
  float scale = 1;
  float max_bias = 0;
  float softcap = 0;
};

/// A row and zeros up to the padded size.
inline void read_padded(const TensorArg& from, std::byte* row, float* to) {
  const std::int64_t n = from.sizes[0];
  read_f32(from, row, 0, n, to);
  std::fill(to + n, to + padded(n), 0.0F);
}

inline void prefetch(const std::byte* from, std::int64_t bytes) {
  for (std::int64_t at = 0; at < bytes; at += kCacheLine) __builtin_prefetch(from + at);
  asm volatile("");  // g++ leaves out calls of functions that do nothing but this
}

/// Reads a byte of each line, so that the hardware sees the next accesses: it fetches more at a
/// time than software can ask for.
inline void touch(const std::byte* from, std::int64_t bytes) {
  for (std::int64_t at = 0; at < bytes; at += kCacheLine) {
    static_cast<void>(*static_cast<const volatile std::byte*>(from + at));
  }
}

/// A part as one worker computes it. Its rows are those from `first_row` on in the room. `live`,
/// one for each row, says which of them see anything of a stretch.
///
/// A Mask has the visible keys of each row, and the numbers that are added to their scores.
/// `SeenKeys look_at_stretch(part, first, count, live)` is hidden or plain if all rows are.
/// `std::int64_t rows_alike(part)` is the number of rows in order that see the same.
/// `SeenKeys look_at_block(part, row, first, count)` is for these rows.
/// `void read(part, row, first, count, to)` gives the numbers to add, before alibi_slope().
template <class Mask>
class AttentionRows {
 public:
  AttentionRows(const Call& call, const ScoreParams& params, const AttentionPart& part,
                const KeyRows& keys, const Mask& mask, const AttentionRoom& room,
                std::int64_t first_row, bool* live)
      : call_(call),
        params_(params),
        part_(part),
        keys_(keys),
        mask_(mask),
        room_(room),
        q_(room.q + first_row * room.q_stride),
        slopes_(room.slopes + first_row),
        live_(live) {}

  void read_queries() const {
    const TensorArg& q = call_.sources[0];
    const float scale = params_.softcap == 0 ? params_.scale * kLog2E : params_.scale;
    for (std::int64_t r = 0; r < part_.rows(); ++r) {
      float* row = q_ + r * room_.q_stride;
      float* scaled = room_.pairs ? room_.decoded : row;
      read_padded(q, q.row(part_.head(r), part_.query(r), part_.sequence), scaled);
      simd::mul(room_.level, scaled, scale, scaled, padded(room_.d));
      if (room_.pairs) {
        simd::encode(room_.level, scaled, DType::kBF16, reinterpret_cast<std::byte*>(row), room_.d);
      }
      slopes_[r] = kLog2E * static_cast<float>(alibi_slope(params_.max_bias, call_.result.sizes[1],
                                                           part_.head(r)));
    }
  }

  SeenKeys look_at_stretch(std::int64_t first, std::int64_t count) const {
    return mask_.look_at_stretch(part_, first, count, live_);
  }

  /// Makes those rows of `gathered` ready that look_at_stretch() saw live. The others are not read.
  void start(float* gathered) const {
    for (std::int64_t r = 0; r < part_.rows(); ++r) {
      if (live_[r]) row_of(gathered, r).clear();
    }
  }

  /// Adds the contribution of keys from `first` on to `gathered`, [rows][stride].
  void add_block(std::int64_t first, std::int64_t count, bool masked, const Ahead& ahead,
                 float* gathered) const {
    if (masked) count = look_at_masks(first, count);
    bool decoded = false;
    // Some queries may see nothing here.
    const auto hidden = [&](std::int64_t row) { return masked && room_.seen[row].hidden(); };
    for (std::int64_t begin = 0, end = 0; begin < part_.rows(); begin = end) {
      end = begin + 1;
      if (hidden(begin)) continue;
      while (end < part_.rows() && !hidden(end)) ++end;
      if (!decoded && !uses_rows()) decode(first, count, ahead);
      decoded = true;
      add_rows(begin, end, first, count, masked, ahead, gathered);
    }
  }

  Gathered row_of(float* gathered, std::int64_t r) const {
    return {room_.level, gathered + r * room_.stride, room_.dv};
  }

 private:
  /// The same for some rows, of which each sees something.
  void add_rows(std::int64_t begin, std::int64_t end, std::int64_t first, std::int64_t count,
                bool masked, const Ahead& ahead, float* gathered) const {
    // Tiles of about the same size.
    const std::int64_t tiles = ceil_div(end - begin, simd::kTileRows);
    for (std::int64_t t = 0; t < tiles; ++t) {
      const std::int64_t row = begin + (end - begin) * t / tiles;
      simd::QueryRows rows = {.count = begin + (end - begin) * (t + 1) / tiles - row,
                              .q = q_ + row * room_.q_stride,
                              .q_stride = room_.q_stride,
                              .mask = {},
                              .slopes = {},
                              .softcap = params_.softcap,
                              .gathered = gathered + row * room_.stride,
                              .gathered_stride = room_.stride};
      const std::int64_t seen = masked ? read_masks(row, first, rows) : count;
      simd::attend(room_.level, block_of(first, ahead), rows, seen);
    }
  }

  /// Returns how many of the keys any row sees.
  std::int64_t look_at_masks(std::int64_t first, std::int64_t count) const {
    const std::int64_t step = mask_.rows_alike(part_);
    std::int64_t seen = 0;
    for (std::int64_t r = 0; r < part_.rows(); r += step) {
      SeenKeys keys = {0, false};
      if (live_[r]) keys = mask_.look_at_block(part_, r, first, count);
      std::fill_n(room_.seen + r, step, keys);
      seen = std::max(seen, keys.count);
    }
    return seen;
  }

  /// The masks of rows from `row` on, each of which sees something; how many keys one of them sees.
  std::int64_t read_masks(std::int64_t row, std::int64_t first, simd::QueryRows& rows) const {
    std::int64_t seen = 0;
    for (std::int64_t r = row; r < row + rows.count; ++r)
      seen = std::max(seen, room_.seen[r].count);
    bool read = false;  // whether the row before has a mask
    for (std::int64_t r = row; r < row + rows.count; ++r) {
      const auto i = static_cast<std::size_t>(r - row);
      const SeenKeys& keys = room_.seen[r];
      if (keys.plain && keys.count == seen) {
        read = false;
        continue;
      }
      rows.slopes[i] = slopes_[r];
      if (read && r % mask_.rows_alike(part_) != 0) {
        rows.mask[i] = rows.mask[i - 1];
        continue;
      }
      float* to = room_.mask + (r - row) * simd::kKeyBlock;
      mask_.read(part_, r, first, seen, to);
      rows.mask[i] = to;
      read = true;
    }
    return seen;
  }

  /// Asks for memory of k, or of v, while a group of keys from number n of a block on is decoded.
  void prefetch_group(const TensorArg& tensor, std::int64_t bytes, const Ahead& ahead,
                      std::int64_t n) const {
    const std::int64_t head = part_.k_head - ahead.turn;
    const std::int64_t piece = ahead.turn * simd::kKeyBlock + n;
    const std::int64_t begin = ahead.first + piece / ahead.turns;
    const std::int64_t end =
        std::min(ahead.end, ahead.first + (piece + simd::kKeyGroup) / ahead.turns);
    for (std::int64_t key = begin; key < end; ++key)
      prefetch(keys_.row(tensor, head, key), bytes * ahead.turns);
  }

  /// `group` keys whose rows follow each other, from number n of a block on.
  void decode_keys(std::int64_t first, std::int64_t n, std::int64_t group) const {
    const TensorArg& k = call_.sources[1];
    const std::byte* from = keys_.row(k, part_.k_head, first + n);
    if (room_.pairs) {
      simd::pack_keys(room_.level, DType::kF32, from, k.strides[2], n, group, room_.d / 2,
                      room_.keys);
    } else if (room_.packs_keys) {
      simd::pack_keys(room_.level, k.dtype, from, k.strides[2], n, group, room_.d, room_.keys);
    } else {
      const std::int64_t d = padded(room_.d);
      for (std::int64_t i = 0; i < group; ++i) {
        read_padded(k, keys_.row(k, part_.k_head, first + n + i), room_.decoded + i * d);
      }
      simd::pack_keys(room_.level, DType::kF32, reinterpret_cast<const std::byte*>(room_.decoded),
                      d * static_cast<std::int64_t>(sizeof(float)), n, group, d, room_.keys);
    }
  }

  void decode_values(std::int64_t first, std::int64_t n, std::int64_t group) const {
    const TensorArg& v = call_.sources[2];
    const std::byte* from = keys_.row(v, part_.k_head, first + n);
    float* values = room_.values + (room_.pairs ? n / 2 : n) * room_.value_stride;
    if (room_.pairs) {
      simd::pair_values(room_.level, from, v.strides[2], group, room_.dv, values,
                        room_.value_stride);
    } else if (room_.packs_values) {
      simd::unpack_values(room_.level, v.dtype, from, v.strides[2], group, room_.dv, values,
                          room_.value_stride);
    } else {
      for (std::int64_t i = 0; i < group; ++i) {
        read_padded(v, keys_.row(v, part_.k_head, first + n + i), values + i * room_.value_stride);
      }
    }
  }

  /// Whether rows of k and v are used as they are: by one tile, which needs them once.
  bool uses_rows() const {
    return room_.rows_of_f16 && part_.rows() <= simd::kTileRows &&
           keys_.contiguous() == simd::kKeyBlock;
  }

  /// Rows of less than a line share theirs with other heads and keys: the hardware is fast enough.
  bool asks_for(const Ahead& ahead) const {
    return ahead.first < ahead.end && std::max(room_.key_bytes, room_.value_bytes) >= kCacheLine;
  }

  /// The rows of a tensor that a turn asks for.
  simd::RowsAhead rows_ahead(const TensorArg& tensor, std::int64_t bytes,
                             const Ahead& ahead) const {
    const std::int64_t begin = ahead.first + simd::kKeyBlock * ahead.turn / ahead.turns;
    const std::int64_t end =
        std::min(ahead.end, ahead.first + simd::kKeyBlock * (ahead.turn + 1) / ahead.turns);
    if (!asks_for(ahead) || begin >= end) return {};
    return {keys_.row(tensor, part_.k_head - ahead.turn, begin), tensor.strides[2],
            bytes * ahead.turns, end - begin};
  }

  simd::KeyBlock block_of(std::int64_t first, const Ahead& ahead) const {
    simd::KeyBlock block = {.keys = room_.keys,
                            .d = padded(room_.d),
                            .values = room_.values,
                            .value_stride = room_.value_stride,
                            .dv = padded(room_.dv),
                            .pairs = room_.pairs};
    if (!uses_rows()) return block;
    const TensorArg& k = call_.sources[1];
    const TensorArg& v = call_.sources[2];
    block.key_rows = keys_.row(k, part_.k_head, first);
    block.key_row_stride = k.strides[2];
    block.value_rows = keys_.row(v, part_.k_head, first);
    block.value_row_stride = v.strides[2];
    block.keys_ahead = rows_ahead(k, room_.key_bytes, ahead);
    block.values_ahead = rows_ahead(v, room_.value_bytes, ahead);
    return block;
  }

  void decode(std::int64_t first, std::int64_t count, const Ahead& ahead) const {
    const bool asks = asks_for(ahead);
    const std::int64_t step = asks || !room_.packs_keys ? simd::kKeyGroup : keys_.contiguous();
    for (std::int64_t n = 0; n < count; n += step) {
      const std::int64_t group = std::min(step, count - n);
      if (asks) prefetch_group(call_.sources[1], room_.key_bytes, ahead, n);
      decode_keys(first, n, group);
      if (asks) prefetch_group(call_.sources[2], room_.value_bytes, ahead, n);
      decode_values(first, n, group);
    }
  }

  const Call& call_;
  const ScoreParams& params_;
  const AttentionPart part_;
  const KeyRows& keys_;
  const Mask& mask_;
  const AttentionRoom& room_;
  float* q_;
  float* slopes_;
  bool* live_;
};

/// Row r of the result, from the sums over all keys. `sinks` may have no data.
inline void finish_row(const Call& call, const TensorArg& sinks, const AttentionPart& part,
                       std::int64_t r, const Gathered& all) {
  const float sink = sinks.data == nullptr ? -std::numeric_limits<float>::infinity()
                                           : kLog2E * number(sinks, part.head(r));
  all.mean(sink, as_f32(call.result.row(part.head(r), part.query(r), part.sequence)),
           call.result.sizes[0]);
}

/// `turns` parts of neighbouring heads of k, from `k_head` on.
struct Turns {
  std::int64_t k_head = 0;
  std::int64_t turns = 1;
  bool touches = false;   ///< the first block is read before, so that the hardware sees the order
  std::int64_t keys = 0;  ///< memory is asked for up to this key
};

/// Gathers the sums of keys [first, end), a stretch or a part of one, for parts that take turns at
/// each block, so that memory is read in order. `part_of(turn)` gives a part as AttentionRows, and
/// `gathered(turn)` the memory of its sums. Queries are read first unless `ready`. False: no row
/// sees anything, and `gathered` is not read.
template <class PartOf, class GatheredOf>
bool gather_stretch(const Call& call, const AttentionRoom& room, const KeyRows& keys,
                    const Turns& with, std::int64_t first, std::int64_t end, bool& ready,
                    const PartOf& part_of, const GatheredOf& gathered) {
  SeenKeys seen = {0, true};
  for (std::int64_t turn = 0; turn < with.turns; ++turn) {
    const SeenKeys of_part = part_of(turn).look_at_stretch(first, end - first);
    seen = {std::max(seen.count, of_part.count), seen.plain && of_part.plain};
  }
  for (std::int64_t turn = 0; turn < with.turns; ++turn) part_of(turn).start(gathered(turn));
  if (seen.hidden()) return false;
  for (std::int64_t turn = 0; turn < with.turns && !ready; ++turn) part_of(turn).read_queries();
  const bool touches = with.touches && !ready;  // others have been asked for
  ready = true;
  const std::int64_t last = first + seen.count;
  for (const auto& [source, bytes] : {std::pair(&call.sources[1], room.key_bytes),
                                      std::pair(&call.sources[2], room.value_bytes)}) {
    for (std::int64_t n = first; touches && n < std::min(first + simd::kKeyBlock, last); ++n) {
      for (std::int64_t turn = 0; turn < with.turns; ++turn)
        touch(keys.row(*source, with.k_head + turn, n), bytes);
    }
  }
  for (std::int64_t n = first; n < last; n += simd::kKeyBlock) {
    for (std::int64_t turn = 0; turn < with.turns; ++turn) {
      part_of(turn).add_block(n, std::min(simd::kKeyBlock, last - n), !seen.plain,
                              {n + simd::kKeyBlock, with.keys, turn, with.turns}, gathered(turn));
    }
  }
  return true;
}

}  // namespace shunt::cpu
