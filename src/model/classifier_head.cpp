#include "model/classifier_head.h"

#include "base/to_size.h"
#include "model/common_numbers.h"
#include "shunt/message.h"

namespace shunt {

namespace {

Result<bool> is_to_rank(ArchitectureKeys& keys) {
  for (const char* key : {"pooling_type", "classifier.pooling_type"}) {
    if (!keys.has(key)) continue;
    SHUNT_ASSIGN(const std::int64_t number, keys.count_or_zero(key, kMostOfCount));
    if (number == kRankPooling) return true;
  }
  return false;
}

bool has(const gguf::File& file, WeightSlot slot) {
  return file.find_tensor(name_of({slot}, 0)) != nullptr;
}

/// Each part of the head needs another one. `with_norm`: Description::normed_head.
Status check_parts(const gguf::File& file, bool with_norm) {
  const std::string norm = name_of({WeightSlot::kHeadNorm}, 0);
  const std::string dense = name_of({WeightSlot::kHead}, 0);
  const bool has_norm = has(file, WeightSlot::kHeadNorm);
  if (has_norm && !with_norm) {
    return fail(ErrorCode::kUnsupported,
                "{}: tensor {} is of a classifier head that models of this architecture lack",
                file.path(), norm);
  }
  if (has(file, WeightSlot::kHead)) {
    if (has_norm || !with_norm) return ok();
    return fail(ErrorCode::kBadFile, "{}: tensor {} is there, but tensor {} is missing",
                file.path(), dense, norm);
  }
  for (const WeightSlot slot : {WeightSlot::kHeadBias, WeightSlot::kHeadNorm}) {
    if (!has(file, slot)) continue;
    return fail(ErrorCode::kBadFile, "{}: tensor {} is there, but tensor {} is missing",
                file.path(), name_of({slot}, 0), dense);
  }
  return ok();
}

}  // namespace

Status read_head(ArchitectureKeys& keys, Description& model) {
  const gguf::File& file = keys.file();
  const std::string output = name_of({WeightSlot::kHeadOutput}, 0);
  const gguf::TensorInfo* info = file.find_tensor(output);
  if (info == nullptr) {
    SHUNT_ASSIGN(const bool ranks, is_to_rank(keys));
    if (!ranks) return ok();
    return fail(ErrorCode::kBadFile,
                "{}: the pooling is that of a classifier, but tensor {} is "
                "missing",
                file.path(), output);
  }
  constexpr const char* kLabels = "classifier.output_labels";
  SHUNT_ASSIGN(std::vector<std::string> labels, keys.strings(kLabels));
  const std::int64_t rows = info->tensor.size(1);
  if (!labels.empty() && std::ssize(labels) != rows) {
    return fail(ErrorCode::kBadFile, "{}: {} has {}, but tensor {} has {}", file.path(),
                keys.name(kLabels), counted(labels.size(), "name"), output,
                counted(to_size(rows), "row"));
  }
  labels.resize(to_size(rows));
  SHUNT_TRY(check_parts(file, model.normed_head));
  add_head(model, std::move(labels));
  return ok();
}

void add_head(Description& model, std::vector<std::string> labels) {
  model.head = ClassifierHead{};
  model.head->labels = std::move(labels);
  model.head->gelu = model.normed_head;
  model.head->norm_eps = model.norm_eps;
  model.add({{WeightSlot::kHead, Need::kOptional},
             {WeightSlot::kHeadBias, Need::kOptional},
             {WeightSlot::kHeadNorm, Need::kOptional},
             {WeightSlot::kHeadOutput},
             {WeightSlot::kHeadOutputBias, Need::kOptional}});
}

}  // namespace shunt
