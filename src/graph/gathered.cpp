#include "graph/gathered.h"

#include <algorithm>

#include "graph/op.h"
#include "shunt/message.h"
#include "tensor/integer.h"

namespace shunt {

namespace {

/// The slices of a weight that one user reads.
Gathered gathered_by(const Graph& graph, NodeId weight, NodeId user) {
  const Node& node = graph.node(user);
  const auto& picks = node.op->info().picks;
  if (!picks || node.sources.front() != weight) return {};
  const auto reads = [&](NodeId source) {
    return source != kNoNode && graph.node(source).storage == weight;
  };
  if (std::count_if(node.sources.begin(), node.sources.end(), reads) != 1) return {};
  return {node.sources[static_cast<std::size_t>(picks->ids)], picks->dim};
}

}  // namespace

Gathered gathered_of(const Graph& graph, NodeId weight, const StorageUsers& users) {
  Gathered common;
  for (NodeId user : users[weight]) {
    const Gathered gathered = gathered_by(graph, weight, user);
    if (!gathered || (common && (gathered.ids != common.ids || gathered.dim != common.dim)))
      return {};
    common = gathered;
  }
  if (!common) return {};
  // Slices must follow one after another in memory, and their numbers must not change.
  const Tensor& tensor = graph.node(weight).result;
  for (int dim = common.dim + 1; dim < kMaxDims; ++dim) {
    if (tensor.size(dim) != 1) return {};
  }
  const DType type = graph.node(common.ids).result.dtype;
  if (!is_contiguous(tensor) || (type != DType::kI32 && type != DType::kI64)) return {};
  const NodeId owner = graph.node(common.ids).storage;
  const auto writes = [&](NodeId user) {
    return graph.node(user).writes_storage && graph.node(user).storage == owner;
  };
  if (std::any_of(users[owner].begin(), users[owner].end(), writes)) return {};
  return common;
}

double gathered_share(const Tensor& source, const Tensor& ids, int dim) {
  const auto slices = static_cast<double>(source.size(dim));
  const auto numbers = static_cast<double>(element_count(ids.shape));
  return slices == 0 ? 0 : std::min(slices, numbers) / slices;
}

std::uint64_t gathered_bytes(const Graph& graph, NodeId weight, const Gathered& gathered) {
  const Tensor& tensor = graph.node(weight).result;
  const std::int64_t numbers = element_count(graph.node(gathered.ids).result.shape);
  const std::int64_t slices = std::min(tensor.size(gathered.dim), numbers);
  return static_cast<std::uint64_t>(slices * tensor.stride(gathered.dim));
}

GatheredSlices::GatheredSlices(const Graph& graph, NodeId weight, const Gathered& gathered)
    : graph_(graph),
      weight_(weight),
      gathered_(gathered),
      stride_(static_cast<std::size_t>(graph.node(weight).result.stride(gathered.dim))) {
  const auto most = static_cast<std::size_t>(element_count(graph.node(gathered.ids).result.shape));
  numbers_.reserve(most);
  runs_.reserve(most);
}

Status GatheredSlices::collect(const std::byte* ids, const DynamicDimValues& dynamic_dims) {
  const Tensor& tensor = graph_.node(gathered_.ids).result;
  const std::int64_t slices = graph_.node(weight_).result.size(gathered_.dim);
  Sizes sizes = {};
  for (std::size_t i = 0; i < kMaxDims; ++i) sizes[i] = actual_size(tensor.shape[i], dynamic_dims);
  Sizes at = {};
  for (at[3] = 0; at[3] < sizes[3]; ++at[3]) {
    for (at[2] = 0; at[2] < sizes[2]; ++at[2]) {
      for (at[1] = 0; at[1] < sizes[1]; ++at[1]) {
        for (at[0] = 0; at[0] < sizes[0]; ++at[0]) {
          std::int64_t offset = 0;
          for (std::size_t i = 0; i < kMaxDims; ++i) offset += at[i] * tensor.strides[i];
          const std::int64_t number = read_integer(tensor.dtype, ids + offset);
          if (number < 0 || number >= slices) {
            return invalid("{} holds {} at [{}, {}, {}, {}], but {} has slices 0 to {}",
                           graph_.describe(gathered_.ids), number, at[0], at[1], at[2], at[3],
                           graph_.describe(weight_), slices - 1);
          }
          numbers_.push_back(number);
        }
      }
    }
  }
  return ok();
}

Status GatheredSlices::find(const std::byte* ids, const DynamicDimValues& dynamic_dims) {
  numbers_.clear();
  runs_.clear();
  SHUNT_TRY(collect(ids, dynamic_dims));
  std::sort(numbers_.begin(), numbers_.end());
  numbers_.erase(std::unique(numbers_.begin(), numbers_.end()), numbers_.end());
  for (std::int64_t number : numbers_) {
    const std::size_t offset = static_cast<std::size_t>(number) * stride_;
    if (!runs_.empty() && runs_.back().offset + runs_.back().bytes == offset) {
      runs_.back().bytes += stride_;  // neighbours are one
    } else {
      runs_.push_back({offset, stride_});
    }
  }
  return ok();
}

}  // namespace shunt
