// The adapters that each sequence of a session uses.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/session/block_pool.h"
#include "shunt/adapters.h"
#include "shunt/error.h"

namespace shunt {

/// Invalid for an adapter that the model does not have, and for a scale that is not finite.
Status check_adapters(std::span<const AdapterUse> uses, std::size_t adapters);

/// The scale of each adapter that has an effect, by its number. An adapter that is used twice has
/// the sum.
std::map<std::size_t, float> adapter_sums(std::span<const AdapterUse> uses);

/// The same as uses, each adapter once.
std::vector<AdapterUse> uses_with_effect(std::span<const AdapterUse> uses);

/// A text that is the same for uses with the same effect, and empty for none. It has no '|'.
std::string adapters_key(std::span<const AdapterUse> uses);

class SequenceAdapters {
 public:
  explicit SequenceAdapters(std::int64_t sequences)
      : sequences_(static_cast<std::size_t>(sequences)) {}

  /// The uses as they were set.
  std::span<const AdapterUse> of(std::int64_t sequence) const { return sequences_[sequence].uses; }
  const std::string& key(std::int64_t sequence) const { return sequences_[sequence].key; }
  /// Those with an effect, each adapter once.
  std::span<const AdapterUse> with_effect(std::int64_t sequence) const {
    return sequences_[sequence].with_effect;
  }

  struct Sequence {
    std::vector<AdapterUse> uses = {};
    std::string key = {};
    std::vector<AdapterUse> with_effect = {};
  };
  const Sequence& at(std::int64_t sequence) const { return sequences_[sequence]; }
  /// Of uses that check_adapters() accepts.
  static Sequence make(std::span<const AdapterUse> uses);
  void set(std::int64_t sequence, Sequence made) noexcept {
    sequences_[sequence] = std::move(made);
  }

 private:
  PerSequence<Sequence> sequences_;
};

}  // namespace shunt
