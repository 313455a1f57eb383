// How the work of paged attention is cut. The numbers of tokens and keys of sequences are values,
// so phase 0 makes a list of items in shared scratch, and the threads of phase 1 take them from it.
#pragma once

#include <atomic>

#include "backends/cpu/kernels/attention_parts.h"
#include "backends/cpu/kernels/integers.h"
#include "shunt/ops/attention.h"
#include "tensor/checked.h"

namespace shunt::cpu {

/// A sequence of a run.
struct PagedSequence {
  std::int64_t first_token = 0;
  std::int64_t tokens = 0;
  std::int64_t keys = 0;
  std::int64_t first_entry = 0;
  std::int64_t position(std::int64_t token) const { return keys - tokens + token - first_token; }
};

/// Some tokens of a sequence, and some neighbouring heads of k with their heads of q.
struct PagedUnit {
  PagedSequence sequence;
  std::int64_t first_token = 0;
  std::int64_t tokens = 0;
  std::int64_t k_head = 0;
  std::int64_t turns = 1;  ///< heads of k
  std::int64_t group = 0;  ///< which of the heads of q that share one of k
  SeenSpan keys = {};      ///< that one of the tokens sees
  std::int64_t stretch = kStretch;
  std::int64_t items = 1;
  std::int64_t first_row = 0;          ///< in the sums of stretches, if there are several items
  std::atomic<std::int64_t> left = 0;  ///< items; the last one adds up

  std::int64_t first_stretch() const { return keys.first / stretch; }
  std::int64_t stretches() const {
    return keys.end <= keys.first ? 0 : (keys.end - 1) / stretch + 1 - first_stretch();
  }
};

/// Some stretches of a unit, in order.
struct PagedItem {
  std::int64_t unit = 0;
  std::int64_t number = 0;  ///< among the unit's
};

/// The keys of a stretch for a query that sees keys up to `end`: a power of two times kStretch, so
/// that there are at most kMostStretches. It depends on nothing else, so the result of a query does
/// not depend on the tokens that are computed with it.
inline std::int64_t stretch_for(std::int64_t end) {
  std::int64_t stretch = kStretch;
  while (stretch * kMostStretches < end) stretch *= 2;
  return stretch;
}

/// The sizes that bound the work. A run's are at most those that memory was planned for.
struct PagedSizes {
  std::int64_t d;
  std::int64_t dv;
  std::int64_t heads;
  std::int64_t k_heads;
  std::int64_t tokens;
  std::int64_t sequences;
  std::int64_t most_keys;  ///< of a sequence

  /// The most rows of a unit; `k_heads` and `tokens` are not 0.
  std::int64_t limit() const { return most_rows(d, dv); }
  std::int64_t shared() const { return heads / k_heads; }
  /// The number of groups of query heads that share a head of k.
  std::int64_t groups() const { return ceil_div(shared(), limit()); }
  std::int64_t group_heads() const { return ceil_div(shared(), groups()); }
  /// Tokens of a unit, at most: fewer where there would be fewer units than kItems.
  std::int64_t unit_tokens() const {
    const std::int64_t all = saturating_multiply(tokens, heads);
    const std::int64_t rows =
        std::clamp(ceil_div(all, kItems), std::min(kFewRows, limit()), limit());
    return std::max<std::int64_t>(1, rows / group_heads());
  }
  /// Units of all heads of k: whole ones, the rest of each sequence, and those that end where a
  /// longer stretch begins.
  std::int64_t most_units() const {
    const std::int64_t least =
        std::max<std::int64_t>(1, std::min(kFewRows, limit()) / group_heads());
    const std::int64_t chunks =
        tokens / least + 2 * std::min(sequences, tokens) + tokens / (kStretch * kMostStretches) + 1;
    return saturating_multiply(chunks, k_heads * groups());
  }
  std::int64_t most_items() const { return saturating_add(most_units(), kMostSplits); }
  /// Rows of sums of stretches: all stretches of two tokens, or of as many as there are.
  std::int64_t most_sums() const {
    const std::int64_t stretches = std::min(kMostStretches, ceil_div(most_keys, kStretch));
    if (stretches <= 1) return 0;
    return saturating_multiply(heads, stretches * std::min<std::int64_t>(tokens, 2));
  }
  /// Items that splitting adds, at most.
  static constexpr std::int64_t kMostSplits = 1024;
};

/// The list of items, in shared scratch.
class PagedPlan {
 public:
  static std::size_t bytes(const PagedSizes& sizes) {
    const std::int64_t stride =
        gathered_stride(sizes.dv) * static_cast<std::int64_t>(sizeof(float));
    std::int64_t bytes = static_cast<std::int64_t>(sizeof(Header));
    for (const auto& [count, each] :
         {std::pair(sizes.most_units(), std::int64_t{sizeof(PagedUnit)}),
          std::pair(sizes.most_items(), std::int64_t{sizeof(PagedItem)}),
          std::pair(sizes.most_sums(), stride + 1)}) {
      bytes = saturating_add(bytes, saturating_multiply(count, each));
    }
    return static_cast<std::size_t>(saturating_add(bytes, kAlignment));
  }

  PagedPlan(const PagedSizes& sizes, std::byte* scratch)
      : sizes_(sizes),
        header_(reinterpret_cast<Header*>(scratch)),
        units_(reinterpret_cast<PagedUnit*>(header_ + 1)),
        items_(reinterpret_cast<PagedItem*>(units_ + sizes.most_units())),
        sums_(after(items_ + sizes.most_items(), scratch)),
        live_(reinterpret_cast<bool*>(sums_ + sizes.most_sums() * gathered_stride(sizes.dv))) {}

  /// Makes the list. False: a value is out of its range.
  bool make(const Call& call, const PagedAttentionParams& params);

  /// Takes an item; null if there is none left. From any thread.
  const PagedItem* take() const {
    const std::int64_t i = header_->next.fetch_add(1, std::memory_order_relaxed);
    return i < header_->items ? items_ + i : nullptr;
  }
  PagedUnit& unit(std::int64_t number) const { return units_[number]; }
  /// The end of tokens that are of a sequence.
  std::int64_t end() const { return header_->end; }

  /// The sums of a stretch of a unit with several items, [turns * rows][stride].
  float* sums(const PagedUnit& unit, std::int64_t rows, std::int64_t stretch) const {
    return sums_ + (unit.first_row + stretch * rows) * gathered_stride(sizes_.dv);
  }
  bool* live(const PagedUnit& unit, std::int64_t rows, std::int64_t stretch) const {
    return live_ + unit.first_row + stretch * rows;
  }

 private:
  struct Header {
    std::atomic<std::int64_t> next = 0;
    std::int64_t items = 0;
    std::int64_t units = 0;
    std::int64_t end = 0;
  };
  static constexpr std::int64_t kAlignment = 64;
  /// The first aligned address after the items, where the sums begin.
  static float* after(const void* end, std::byte* scratch) {
    const std::int64_t bytes = static_cast<const std::byte*>(end) - scratch;
    return reinterpret_cast<float*>(scratch + ceil_div(bytes, kAlignment) * kAlignment);
  }

  void add_units(const PagedSequence& sequence, const PagedAttentionParams& params,
                 std::int64_t together);
  void add_items(int threads);

  PagedSizes sizes_;
  Header* header_;
  PagedUnit* units_;
  PagedItem* items_;
  float* sums_;
  bool* live_;
};

}  // namespace shunt::cpu
