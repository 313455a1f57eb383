// Bitmaps with a bit for each byte of memory.
#include "cuda/memory/space.h"

namespace cuda_twin {

namespace {

constexpr std::uint64_t kWordBits = 64;

/// The bits from `first` on that stand in one word, at most `count`.
std::uint64_t word_mask(std::uint64_t first, std::uint64_t count) {
  const std::uint64_t shift = first % kWordBits;
  const std::uint64_t width = count < kWordBits - shift ? count : kWordBits - shift;
  const std::uint64_t ones =
      width == kWordBits ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
  return ones << shift;
}

template <class Visit>
void each_word(std::uint64_t first, std::uint64_t count, Visit visit) {
  while (count > 0) {
    const std::uint64_t in_word = kWordBits - first % kWordBits;
    const std::uint64_t step = count < in_word ? count : in_word;
    if (!visit(first / kWordBits, word_mask(first, count))) return;
    first += step;
    count -= step;
  }
}

// Host threads that run other blocks may set bits of the same word.
std::atomic_ref<std::uint64_t> shared_word(std::uint64_t* bits, std::uint64_t index) {
  return std::atomic_ref<std::uint64_t>(bits[index]);
}
std::uint64_t load_word(const std::uint64_t* bits, std::uint64_t index) {
  return shared_word(const_cast<std::uint64_t*>(bits), index).load(std::memory_order_relaxed);
}

}  // namespace

bool all_written(const std::uint64_t* bits, std::uint64_t first, std::uint64_t count) {
  if (bits == nullptr) return true;
  bool all = true;
  each_word(first, count, [&](std::uint64_t word, std::uint64_t mask) {
    all = (load_word(bits, word) & mask) == mask;
    return all;
  });
  return all;
}

void set_written(std::uint64_t* bits, std::uint64_t first, std::uint64_t count) {
  if (bits == nullptr) return;
  each_word(first, count, [&](std::uint64_t word, std::uint64_t mask) {
    // Most stores repeat: reading is cheaper than an atomic change.
    if (mask == ~std::uint64_t{0}) {
      shared_word(bits, word).store(mask, std::memory_order_relaxed);
    } else if ((load_word(bits, word) & mask) != mask) {
      shared_word(bits, word).fetch_or(mask, std::memory_order_relaxed);
    }
    return true;
  });
}

void clear_written(std::uint64_t* bits, std::uint64_t first, std::uint64_t count) {
  if (bits == nullptr) return;
  each_word(first, count, [&](std::uint64_t word, std::uint64_t mask) {
    shared_word(bits, word).fetch_and(~mask, std::memory_order_relaxed);
    return true;
  });
}

std::uint64_t first_unwritten(const std::uint64_t* bits, std::uint64_t first, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    if (!all_written(bits, first + i, 1)) return i;
  }
  return count;
}

void copy_written(std::uint64_t* to, std::uint64_t to_first, const std::uint64_t* from,
                  std::uint64_t from_first, std::uint64_t count) {
  if (to == nullptr) return;
  if (all_written(from, from_first, count)) return set_written(to, to_first, count);
  for (std::uint64_t i = 0; i < count; ++i) {
    if (all_written(from, from_first + i, 1)) {
      set_written(to, to_first + i, 1);
    } else {
      clear_written(to, to_first + i, 1);
    }
  }
}

}  // namespace cuda_twin
