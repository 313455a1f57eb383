// The GGUF file of an adapter (LoRA): pairs of small matrices, each for a weight of a model.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shunt/adapters.h"
#include "shunt/gguf.h"

namespace shunt {

/// The matrices of a weight: its change is `scale * alpha / rank * B A`.
struct AdapterPair {
  std::string weight;  ///< the name of the model's tensor
  /// [inputs, rank], for experts [inputs, rank, experts]. Of an embedding [rank, rows].
  const gguf::TensorInfo* a = nullptr;
  const gguf::TensorInfo* b = nullptr;  ///< [rank, outputs], for experts [rank, outputs, experts]

  std::int64_t rank() const { return b->tensor.size(0); }
};

struct AdapterFile {
  static constexpr std::int64_t kMostRank = 4096;

  gguf::File file;
  AdapterInfo info;
  std::vector<AdapterPair> pairs;  ///< in the order of the file

  /// Opens a file for models of an architecture. The errors of gguf::File::open(). BadFile or
  /// Unsupported, naming file and tensor or key, for a file that is no adapter, of another kind or
  /// architecture, with a tensor alone, or with a part that Shunt does not use.
  static Result<AdapterFile> open(const std::string& path, std::string_view architecture);
  /// The factor of B A at scale 1.
  float factor(const AdapterPair& pair) const {
    return static_cast<float>(info.alpha / static_cast<double>(pair.rank()));
  }
};

/// The path of the first file, and how many more there are. At least one.
std::string name_of_all(std::span<const AdapterFile> files);

}  // namespace shunt
