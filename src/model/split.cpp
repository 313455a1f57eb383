#include "model/split.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "shunt/message.h"
#include "shunt/parts.h"

namespace shunt {

namespace {

/// Whether parts of a weight are columns of a matrix.
bool adds_columns(const SplitWeight& weight) {
  return weight.dim == 0 && weight.info->tensor.size(1) > 1;
}

/// The largest number of equal pieces of a group, each of whole units and of whole blocks.
std::int64_t pieces_of(const SplitGroup& group) {
  const auto whole_blocks = [&](std::int64_t pieces) {
    return std::ranges::all_of(group.weights, [&](const SplitWeight& weight) {
      if (weight.dim != 0) return true;
      const Tensor& tensor = weight.info->tensor;
      return tensor.size(0) / pieces % trait(tensor.dtype).block_elements == 0;
    });
  };
  std::int64_t pieces = group.units;
  while (pieces > 1 && (group.units % pieces != 0 || !whole_blocks(pieces))) --pieces;
  return pieces;
}

/// A part of a file's tensor: of a matrix's columns it is a view of the matrix.
gguf::TensorInfo part_info(const gguf::TensorInfo& info, std::size_t dim, std::size_t number,
                           std::int64_t start, std::int64_t size) {
  gguf::TensorInfo part = info;
  const DTypeTrait& type = trait(info.tensor.dtype);
  const std::int64_t unit = dim == 0 ? type.block_elements : 1;
  part.name = fmt::format("{}/{}", info.name, number);
  part.tensor.shape[dim] = size;
  part.offset += static_cast<std::uint64_t>(start / unit * info.tensor.strides[dim]);
  part.bytes = static_cast<std::uint64_t>(element_count(part.tensor.shape) / type.block_elements) *
               type.block_bytes;
  return part;
}

class SplitDefinition final : public ModelDefinition {
 public:
  explicit SplitDefinition(std::shared_ptr<const ModelDefinition> model)
      : model_(std::move(model)) {}

  Status split(SplitGroup group, std::span<const std::int64_t> shares) {
    if (group.weights.empty()) return ok();
    const auto count = static_cast<std::int64_t>(shares.size());
    if (group.units < count) {
      return invalid("{} has {} {}, which can't be split among {} devices", group.name, group.units,
                     group.units_name, count);
    }
    if (pieces_of(group) < count) {
      for (const SplitWeight& weight : group.weights) {
        if (adds_columns(weight)) SHUNT_TRY(split(rows_of(group, *weight.info), shares));
      }
      std::erase_if(group.weights, adds_columns);
    }
    const std::int64_t pieces = pieces_of(group);
    if (pieces < count) {
      return invalid("{} has {} of whole blocks, which can't be split among {} devices", group.name,
                     counted(static_cast<std::size_t>(pieces), "piece"), count);
    }
    const std::vector<std::int64_t> sizes = divide(pieces, shares);
    for (const SplitWeight& weight : group.weights) cut(weight, sizes);
    return ok();
  }

  const ModelShape& shape() const override { return model_->shape(); }

  Result<StepGraph> build(const StepShape& shape) const override {
    SHUNT_ASSIGN(StepGraph whole, model_->build(shape));
    if (!whole.windows.empty() || !whole.states.empty())
      return fail(ErrorCode::kUnsupported, "a model with windows or states can't be split");
    std::vector<LeafParts> wanted;
    for (const WeightLeaf& weight : whole.weights) {
      const auto found = cuts_.find(weight.info);
      if (found != cuts_.end()) {
        wanted.push_back({weight.leaf, static_cast<int>(found->second.dim), found->second.sizes});
      }
    }
    SHUNT_ASSIGN(PartedGraph made, with_parts(whole.graph, wanted));
    return in_parts(std::move(whole), std::move(made));
  }

  Result<LossGraph> build_loss(GraphBuilder& g, const LossShape& shape) const override {
    return model_->build_loss(g, shape);
  }
  const std::set<std::string>& keys() const override { return model_->keys(); }
  std::vector<ModelWeight> weights() const override { return model_->weights(); }
  const gguf::TensorInfo* model_weight(WeightSlot slot) const override {
    return model_->model_weight(slot);
  }
  std::shared_ptr<const ModelDefinition> with_output_apart() const override { return nullptr; }

 private:
  struct CutWeight {
    std::size_t dim = 0;
    std::vector<std::int64_t> sizes;
    std::vector<gguf::TensorInfo> infos;  // of the parts
  };

  static SplitGroup rows_of(const SplitGroup& group, const gguf::TensorInfo& matrix) {
    return {fmt::format("{}, {}", group.name, matrix.name),
            "rows",
            matrix.tensor.size(1),
            {{&matrix, 1}}};
  }

  /// `pieces`: of each part, out of the sum.
  void cut(const SplitWeight& weight, std::span<const std::int64_t> pieces) {
    const std::int64_t all = std::accumulate(pieces.begin(), pieces.end(), std::int64_t{0});
    const std::int64_t piece = weight.info->tensor.shape[weight.dim].max / all;
    CutWeight& made = cuts_[weight.info];
    made.dim = weight.dim;
    std::int64_t start = 0;
    for (const std::int64_t count : pieces) {
      const std::int64_t size = count * piece;
      made.infos.push_back(part_info(*weight.info, weight.dim, made.infos.size(), start, size));
      made.sizes.push_back(size);
      start += size;
    }
  }

  /// The step of the graph in parts.
  StepGraph in_parts(StepGraph step, PartedGraph made) const {
    const std::vector<WeightLeaf> weights = std::exchange(step.weights, {});
    const std::vector<NodeId> caches = std::exchange(step.caches, {});
    const Graph whole = std::exchange(step.graph, std::move(made.graph));
    const auto rename = [&](Value& value) {
      if (value.id != kNoNode) value.id = made.nodes[value.id];
    };
    for (Value* value : {&step.tokens, &step.positions, &step.cache_rows, &step.row_numbers,
                         &step.sequences, &step.block_table, &step.adapted_ids, &step.token_types,
                         &step.output_ids, &step.logits}) {
      rename(*value);
    }
    for (AdaptedColumns* adapted : {&step.adapted_tokens, &step.adapted_outputs}) {
      for (Value* value :
           {&adapted->columns, &adapted->ids, &adapted->scales, &adapted->row_scales})
        rename(*value);
    }
    for (const WeightLeaf& weight : weights) {
      const auto& parts = made.parts[weight.leaf];
      if (parts.empty()) {
        step.weights.push_back({made.nodes[weight.leaf], weight.info, weight.layer});
        continue;
      }
      const CutWeight& cut = cuts_.at(weight.info);
      for (std::size_t i = 0; i < parts.size(); ++i) {
        step.weights.push_back({parts[i], &cut.infos[i], weight.layer, weight.info});
        step.parts.push_back({parts[i], i, whole.node(weight.leaf).name});
      }
    }
    for (const NodeId cache : caches) {
      const auto& parts = made.parts[cache];
      if (parts.empty()) step.caches.push_back(made.nodes[cache]);
      for (std::size_t i = 0; i < parts.size(); ++i) {
        step.caches.push_back(parts[i]);
        step.parts.push_back({parts[i], i, whole.node(cache).name});
      }
    }
    return step;
  }

  std::shared_ptr<const ModelDefinition> model_;
  std::map<const gguf::TensorInfo*, CutWeight> cuts_;
};

}  // namespace

std::vector<std::int64_t> divide(std::int64_t units, std::span<const std::int64_t> shares) {
  const std::int64_t all = std::accumulate(shares.begin(), shares.end(), std::int64_t{0});
  std::vector<std::int64_t> parts;
  std::int64_t share = 0;
  std::int64_t given = 0;
  std::int64_t others = static_cast<std::int64_t>(shares.size());  // that follow
  for (const std::int64_t each : shares) {
    share += each;
    --others;
    const std::int64_t wanted = (units * share + all / 2) / all;  // up to here, rounded
    const std::int64_t upto = std::clamp(wanted, given + 1, units - others);
    parts.push_back(upto - given);
    given = upto;
  }
  return parts;
}

Result<std::shared_ptr<const ModelDefinition>> split_model(
    std::shared_ptr<const ModelDefinition> model, std::span<const std::int64_t> shares) {
  if (auto apart = model->with_output_apart()) model = std::move(apart);
  const std::vector<SplitGroup> groups = model->split_groups();
  if (groups.empty()) return fail(ErrorCode::kUnsupported, "this architecture can't be split");
  auto split = std::make_shared<SplitDefinition>(std::move(model));
  for (const SplitGroup& group : groups) SHUNT_TRY(split->split(group, shares));
  return std::shared_ptr<const ModelDefinition>(std::move(split));
}

}  // namespace shunt
