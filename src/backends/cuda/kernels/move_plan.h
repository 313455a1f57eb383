// The launch that moves elements of one type.
#pragma once

#include <algorithm>

#include "backends/cuda/kernel.h"
#include "backends/cuda/kernels/move_args.h"

namespace shunt::cuda {

/// Sizes along dimension 0 in blocks of a type.
inline gpu::Size in_units(gpu::Size size, DType type) {
  const std::int64_t elements = trait(type).block_elements;
  return {size.fixed / elements, size.factor / elements, size.dim};
}

inline gpu::TensorArg in_units(gpu::TensorArg tensor, DType type) {
  tensor.sizes[0] = in_units(tensor.sizes[0], type);
  return tensor;
}

/// All of a source into a window of the result that has its shape and begins at its start.
inline gpu::MoveArgs move_args(const BoundNode& node, std::size_t source) {
  gpu::MoveArgs args = {};
  args.common = node.common();
  args.x = in_units(node.source(source), node.view().source(source).dtype);
  args.to.y = in_units(node.result(), node.view().result().dtype);
  std::ranges::copy(args.x.sizes, args.sizes);
  return args;
}

/// The launch, of module "move"; `type` is that of both sides.
inline LaunchPlan move_plan(gpu::MoveArgs args, DType type) {
  // The widest word that the address of every unit is a multiple of.
  const std::uint64_t unit = trait(type).block_bytes;
  std::uint64_t multiples = unit | sizeof(gpu::u64);
  for (const gpu::TensorArg* tensor : {&args.x, &args.to.y}) {
    multiples |= tensor->data.address;
    for (const gpu::i64 stride : tensor->strides) multiples |= static_cast<std::uint64_t>(stride);
  }
  const std::uint64_t word = multiples & (~multiples + 1);
  args.words = unit / word;
  std::int64_t items = static_cast<std::int64_t>(args.words);
  for (const gpu::Size& size : args.sizes) items *= size.fixed;
  return {.kernel = "move_" + std::to_string(word),
          .items = items,
          .per_block = 256,
          .parameters = bytes_of(args)};
}

}  // namespace shunt::cuda
