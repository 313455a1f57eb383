// The matrices of all adapters of a model. Those of a weight are stacked, so that tokens of a step
// use different adapters in the same two products: A, then B. A stack has a slice for each adapter,
// as experts have, and only slices that tokens use are read. Matrices of experts, of heads and of
// embeddings are side by side in two larger matrices instead, with scales for the rows in between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/aligned_bytes.h"
#include "model/adapters/adapter_file.h"
#include "model/slot.h"

namespace shunt {

/// The weight of a model that an adapter names.
struct AdaptedWeight {
  WeightSlot slot = WeightSlot::kCount;
  std::int64_t layer = 0;
  Sizes sizes = {};
  bool is_embedding = false;  ///< its rows are looked up
  bool is_output = false;     ///< an embedding that makes the logits, too
};
/// NotFound if the model has no weight of that name.
using FindAdapted = std::function<Result<AdaptedWeight>(std::string_view name)>;

/// A weight's matrices of all adapters.
struct AdapterStack {
  /// [inputs, rank, adapters]; side by side: [inputs, ranks, matrices], of an embedding
  /// [ranks, rows].
  const gguf::TensorInfo* a = nullptr;
  const gguf::TensorInfo* b =
      nullptr;              ///< [rank, outputs, adapters], or [ranks, outputs, matrices]
  std::string weight = {};  ///< the name of the model's tensor
  bool by_adapter = false;  ///< has a slice for each adapter
};

/// Const: may be used from many threads.
class AdapterStacks {
 public:
  /// `part`: the part of the model's file that the matrices will be. The errors name file and
  /// tensor. A tensor of another shape than the model's, or with a number that is not finite, is
  /// BadFile.
  static Result<std::shared_ptr<const AdapterStacks>> make(std::span<const AdapterFile> files,
                                                           const FindAdapted& find,
                                                           std::uint32_t part);

  /// Rows between the two products of one adapter: the largest rank of all. Rows that an adapter
  /// does not need are 0.
  std::int64_t rank() const { return rank_; }
  /// The same of all adapters. An adapter has the same rows for every weight: the first one is its
  /// number times rank().
  std::int64_t ranks() const { return rank_ * static_cast<std::int64_t>(adapters_); }
  std::size_t adapters() const { return adapters_; }
  /// Whether a weight's matrices are side by side.
  bool any_side_by_side() const { return any_side_by_side_; }
  /// Those of a weight; none if no adapter changes it.
  std::span<const AdapterStack> of(WeightSlot slot, std::int64_t layer) const;
  /// All of them.
  const std::map<std::pair<WeightSlot, std::int64_t>, std::vector<AdapterStack>>& all() const {
    return stacks_;
  }
  /// The data of all matrices.
  std::span<const std::byte> bytes() const { return {memory_.get(), size_}; }

 private:
  friend class StackMaker;
  AdapterStacks() = default;

  std::int64_t rank_ = 0;
  std::size_t adapters_ = 0;
  bool any_side_by_side_ = false;
  std::list<gguf::TensorInfo> infos_;  // do not move
  std::map<std::pair<WeightSlot, std::int64_t>, std::vector<AdapterStack>> stacks_;
  AlignedBytes memory_;
  std::size_t size_ = 0;
};

}  // namespace shunt
