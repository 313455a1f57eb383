// The weights that are trained, and the optimizer's state of each.
#pragma once

#include <memory>
#include <vector>

#include "model/definition.h"
#include "shunt/device.h"
#include "shunt/plan.h"

namespace shunt {

/// The parts of a parameter, each F32 of its shape.
enum class Part : std::uint8_t {
  kValue,
  kGradient,  ///< summed up over the batches of a step
  kMean,      ///< of gradients
  kSquare,    ///< the mean of their squares
};
inline constexpr std::size_t kParts = 4;

struct Parameter {
  const gguf::TensorInfo* info = nullptr;
  Tensor tensor;
  std::size_t offset = 0;  ///< in the memory of each part

  std::uint64_t count() const { return static_cast<std::uint64_t>(element_count(tensor.shape)); }
};

class Parameters {
 public:
  /// Those of `leaves` that are caches, with their values as the file has them, and all else zero;
  /// and memory for leaves that are weights. Some parts may be absent.
  static Result<Parameters> create(const gguf::File& file, std::span<const WeightLeaf> leaves,
                                   const Graph& graph, std::span<const Part> parts, Device& cpu);

  std::span<const Parameter> all() const { return list_; }
  const Parameter* find(const gguf::TensorInfo* info) const;
  bool has(Part part) const { return buffer(part) != nullptr; }
  Address address(const Parameter& parameter, Part part) const {
    return {buffer(part), parameter.offset};
  }
  std::span<const std::byte> bytes(const Parameter& parameter, Part part) const;
  std::span<std::byte> bytes(const Parameter& parameter, Part part);
  /// Makes a part zeros.
  void clear(Part part);
  /// The memory of the leaves that create() was given, in a graph that has them.
  std::vector<LeafMemory> leaf_memory(std::span<const WeightLeaf> leaves) const;

 private:
  Buffer* buffer(Part part) const { return buffers_[static_cast<std::size_t>(part)].get(); }

  std::vector<Parameter> list_;
  std::array<std::unique_ptr<Buffer>, kParts> buffers_;
  struct Fixed {
    const gguf::TensorInfo* info = nullptr;
    std::unique_ptr<Buffer> buffer;
  };
  std::vector<Fixed> fixed_;
};

}  // namespace shunt
