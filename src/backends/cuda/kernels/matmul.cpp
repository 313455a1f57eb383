#include "backends/cuda/kernels/matmul.h"

#include <algorithm>

#include "backends/cuda/kernel.h"
#include "base/ceil_div.h"
#include "shunt/ops/matrix.h"

namespace shunt::cuda {

namespace {

bool is_contiguous_f32(const Tensor& tensor) {
  return tensor.dtype == DType::kF32 && tensor.stride(0) == 4;
}

/// Memory that the launches before the product write, in bytes from the start of the scratch.
class MatmulScratch {
 public:
  explicit MatmulScratch(const NodeView& node, std::size_t ids = 0) {
    const Tensor& x = node.source(1);
    const auto elements = static_cast<std::size_t>(element_count(x.shape));
    if (trait(node.source(0).dtype).quantized) {
      columns = take(elements);
      scales = take(elements / gpu::kScaledElements * 4);
    } else if (!is_contiguous_f32(x)) {
      columns = take(elements * 4);
    }
    if (ids == 0) return;
    picks = element_count(node.source(ids).shape);
    const auto count = static_cast<std::size_t>(picks);
    const auto experts = static_cast<std::size_t>(node.source(0).size(2));
    most_tiles = std::min(count, experts) + count / gpu::kMatmulColumns;
    entries = take(count * 4);
    tiles = take(most_tiles * sizeof(gpu::ExpertTile));
    tile_count = take(4);
  }

  std::size_t columns = 0, scales = 0;
  std::size_t entries = 0, tiles = 0, tile_count = 0;  ///< of matmul_id
  std::int64_t picks = 0;                              ///< ids
  std::size_t most_tiles = 0;
  std::size_t bytes = 0;

 private:
  std::size_t take(std::size_t wanted) {
    constexpr std::size_t kAlignment = 256;
    const std::size_t at = bytes;
    bytes += (wanted + kAlignment - 1) / kAlignment * kAlignment;
    return at;
  }
};

/// The file of kernels for a type of weights: kernels/matmul/q4_0.cu.
std::string product_module(DType type) {
  std::string name = "matmul_" + type_suffix({type});
  std::ranges::transform(name, name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return name;
}

/// A tensor of the sizes of another one, whose rows have `length` elements of `size` bytes, at
/// `offset` bytes of the scratch.
gpu::TensorArg rows_in_scratch(const BoundNode& node, std::size_t offset, gpu::TensorArg like,
                               std::int64_t length, std::int64_t size) {
  like.data.address = node.scratch().address + offset;
  like.sizes[0] = {length, 0, 0};
  like.strides[0] = size;
  like.strides[1] = length * size;
  like.strides[2] = like.strides[1] * like.sizes[1].fixed;
  like.strides[3] = like.strides[2] * like.sizes[2].fixed;
  return like;
}

/// The launches of a product, whose last one is a module a type of weights.
std::vector<LaunchPlan> product_launches(const BoundNode& node, gpu::MatmulArgs params,
                                         const MatmulScratch& scratch, std::int64_t tiles) {
  const NodeView& view = node.view();
  const Tensor& x = view.source(1);
  const DType type = view.source(0).dtype;
  const std::int64_t k = x.size(0);
  params.columns.data = params.x;
  std::vector<LaunchPlan> launches;
  const auto add_launch = [&](std::string module, std::string kernel, std::int64_t items,
                              std::int64_t per_block, unsigned threads = 256) {
    launches.push_back({.module = std::move(module),
                        .kernel = std::move(kernel),
                        .items = items,
                        .per_block = per_block,
                        .threads = threads,
                        .parameters = bytes_of(params)});
  };
  if (trait(type).quantized) {
    params.columns.data = rows_in_scratch(node, scratch.columns, params.x, k, 1);
    params.columns.scales =
        rows_in_scratch(node, scratch.scales, params.x, k / gpu::kScaledElements, 4);
    add_launch("matmul_columns", "matmul_round_" + type_suffix({x.dtype}), element_count(x.shape),
               256);
  } else if (!is_contiguous_f32(x)) {
    params.columns.data = rows_in_scratch(node, scratch.columns, params.x, k, 4);
    add_launch("matmul_columns", "matmul_convert_" + type_suffix({x.dtype}), element_count(x.shape),
               256);
  }
  if (params.experts.tile_count.address != 0) {
    add_launch("matmul_experts", "matmul_check_experts", scratch.picks, 256);
    add_launch("matmul_experts", "matmul_sort_experts", std::min<std::int64_t>(tiles, 1), 1,
               gpu::kSortThreads);
  }
  add_launch(product_module(type), "matmul_" + type_suffix({type}),
             ceil_div(view.result().size(0), gpu::kMatmulRows) * tiles, 1, gpu::kMatmulThreads);
  return launches;
}

class Matmul final : public CudaKernel {
 public:
  const Op& op() const override { return matmul_op(); }
  std::vector<std::string> modules(const NodeView& node) const override {
    return {"matmul_columns", product_module(node.source(0).dtype)};
  }
  Support supports(const NodeView&, const CudaTarget&) const override { return Support::yes(); }
  std::size_t scratch(const NodeView& node, const CudaTarget&) const override {
    return MatmulScratch(node).bytes;
  }

  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    const Tensor& y = node.view().result();
    const gpu::MatmulArgs params = {.common = node.common(),
                                    .w = node.source(0),
                                    .x = node.source(1),
                                    .y = node.result(),
                                    .columns = {},
                                    .ids = {},
                                    .experts = {}};
    return product_launches(node, params, MatmulScratch(node.view()),
                            ceil_div(y.size(1), gpu::kMatmulColumns) * y.size(2) * y.size(3));
  }
};

class MatmulId final : public CudaKernel {
 public:
  const Op& op() const override { return matmul_id_op(); }
  std::vector<std::string> modules(const NodeView& node) const override {
    return {"matmul_columns", "matmul_experts", product_module(node.source(0).dtype)};
  }
  Support supports(const NodeView&, const CudaTarget&) const override { return Support::yes(); }
  std::size_t scratch(const NodeView& node, const CudaTarget&) const override {
    return MatmulScratch(node, kIds).bytes;
  }

  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    const MatmulScratch scratch(node.view(), kIds);
    const DevicePointer start = node.scratch().address;
    const gpu::MatmulArgs params = {.common = node.common(),
                                    .w = node.source(0),
                                    .x = node.source(1),
                                    .y = node.result(),
                                    .columns = {},
                                    .ids = node.ids(kIds),
                                    .experts = {.entries = {start + scratch.entries},
                                                .tiles = {start + scratch.tiles},
                                                .tile_count = {start + scratch.tile_count}}};
    return product_launches(node, params, scratch, static_cast<std::int64_t>(scratch.most_tiles));
  }

 private:
  static constexpr std::size_t kIds = 2;
};

}  // namespace

KernelList matmul_kernels() {
  return list_kernels<CudaKernel, Matmul, MatmulId>();
}

}  // namespace shunt::cuda
