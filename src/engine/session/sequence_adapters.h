// The adapters that each sequence of a session uses.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/session/block_pool.h"
#include "model/adapters/adapter_stacks.h"
#include "shunt/adapters.h"

namespace shunt {

/// Invalid for an adapter that the model does not have, and for a scale that is not finite.
Status check_adapters(std::span<const AdapterUse> uses, std::size_t adapters);

/// The scale of each adapter that has an effect, by its number. An adapter that is used twice has
/// the sum.
std::map<std::size_t, float> adapter_sums(std::span<const AdapterUse> uses);

/// The scale of each row between the products of a model's adapters, for uses that
/// check_adapters() accepts; none if no adapter has an effect. `stacks`: null: there are none.
std::vector<float> row_scales(const AdapterStacks* stacks, std::span<const AdapterUse> uses);

/// A text that is the same for uses with the same effect, and empty for none. It has no '|'.
std::string adapters_key(std::span<const AdapterUse> uses);

class SequenceAdapters {
 public:
  /// `stacks`: null: the model has none. It must outlive this.
  SequenceAdapters(const AdapterStacks* stacks, std::int64_t sequences)
      : stacks_(stacks), sequences_(static_cast<std::size_t>(sequences)) {}

  /// The uses as they were set.
  std::span<const AdapterUse> of(std::int64_t sequence) const { return sequences_[sequence].uses; }
  const std::string& key(std::int64_t sequence) const { return sequences_[sequence].key; }
  /// The scale of each row between the products of adapters; none if the sequence uses none.
  std::span<const float> scales(std::int64_t sequence) const { return sequences_[sequence].scales; }

  struct Sequence {
    std::vector<AdapterUse> uses = {};
    std::string key = {};
    std::vector<float> scales = {};
  };
  const Sequence& at(std::int64_t sequence) const { return sequences_[sequence]; }
  /// Of uses that check_adapters() accepts.
  Sequence make(std::span<const AdapterUse> uses) const;
  void set(std::int64_t sequence, Sequence made) noexcept {
    sequences_[sequence] = std::move(made);
  }

 private:
  const AdapterStacks* stacks_;
  PerSequence<Sequence> sequences_;
};

}  // namespace shunt
