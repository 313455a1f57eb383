// EmbeddingGemma (arXiv 2509.20354): Gemma 3 whose tokens see those after them, with two matrices
// after the pooling.
#include "model/architectures/describe.h"
#include "shunt/message.h"

namespace shunt {

namespace {

/// Files without these keys lack the matrices.
Status read_dense(ArchitectureKeys& keys, Description& model) {
  if (!keys.has("dense_2_feat_in") && !keys.has("dense_3_feat_in")) return ok();
  const auto expect = [&](const char* key, std::int64_t size) -> Status {
    SHUNT_ASSIGN(const std::int64_t found, keys.count(key, kMostOfSize));
    if (found == size) return ok();
    return fail(ErrorCode::kBadFile, "{}: {} is {}; it must be {}, what is before it",
                keys.file().path(), keys.name(key), found, size);
  };
  SHUNT_TRY(expect("dense_2_feat_in", model.width));
  SHUNT_ASSIGN(model.dense_size, keys.count("dense_2_feat_out", kMostOfSize));
  SHUNT_TRY(expect("dense_3_feat_in", model.dense_size));
  SHUNT_ASSIGN(model.dense_outputs, keys.count("dense_3_feat_out", kMostOfSize));
  model.add({{WeightSlot::kDenseUp}, {WeightSlot::kDenseDown}});
  return ok();
}

}  // namespace

Status describe_gemma_embedding(ArchitectureKeys& keys, Description& model) {
  SHUNT_TRY(describe_gemma3(keys, model));
  SHUNT_TRY(become_encoder(keys, model));
  model.remove({WeightSlot::kOutput});
  return read_dense(keys, model);
}

std::vector<Published> publish_gemma_embedding() {
  Published model = publish_like_gemma3();
  model.architecture = "gemma-embedding";
  model.only_with = "use_bidirectional_attention";
  model.rules.push_back(ConfigRule::kEncoder);
  model.tensors.push_back({WeightSlot::kDenseUp, "dense.0.linear.weight"});
  model.tensors.push_back({WeightSlot::kDenseDown, "dense.1.linear.weight"});
  return {std::move(model)};
}

}  // namespace shunt
