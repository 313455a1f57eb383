// The matrices of all adapters of a model: those of a weight are side by side in two larger
// matrices. A step multiplies by both, and scales each adapter's rows in between by token. So
// tokens of a step use different adapters in the same two products.
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
  const gguf::TensorInfo* a =
      nullptr;  ///< [inputs, ranks, matrices]; of an embedding [ranks, rows]
  const gguf::TensorInfo* b = nullptr;  ///< [ranks, outputs, matrices]
  std::string weight = {};              ///< the name of the model's tensor
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

  /// Rows between the two products: the sum of the largest ranks of all adapters. An adapter has
  /// the same rows for every weight.
  std::int64_t ranks() const { return ranks_; }
  /// The first row of an adapter; one more than there are adapters has ranks().
  std::int64_t first_row(std::size_t adapter) const { return first_rows_[adapter]; }
  std::size_t adapters() const { return first_rows_.size() - 1; }
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

  std::vector<std::int64_t> first_rows_ = {0};
  std::int64_t ranks_ = 0;
  std::list<gguf::TensorInfo> infos_;  // do not move
  std::map<std::pair<WeightSlot, std::int64_t>, std::vector<AdapterStack>> stacks_;
  AlignedBytes memory_;
  std::size_t size_ = 0;
};

}  // namespace shunt
