#include "convert/classifier_keys.h"

#include "base/to_size.h"
#include "convert/json_text.h"
#include "convert/pooling_keys.h"
#include "model/classifier_head.h"
#include "model/common_numbers.h"
#include "shunt/message.h"

namespace shunt {

namespace {

/// The first tensor of a slot that the folder has.
const NamedTensor* find_slot(const ConvertedFolder& folder, WeightSlot slot) {
  for (const PublishedTensor& from : published_tensors(folder.model, slot)) {
    if (const NamedTensor* const found = folder.tensors.find(from.name)) return found;
  }
  return nullptr;
}

/// The names of scores; empty texts if config.json does not have all of them.
Result<std::vector<std::string>> labels_of(const Config& config, std::size_t count) {
  constexpr const char* kNames = "id2label";
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < count; ++i) {
    SHUNT_ASSIGN(std::string label, config.text(fmt::format("{}.{}", kNames, i), ""));
    if (label.empty()) return std::vector<std::string>(count);
    labels.push_back(std::move(label));
  }
  return labels;
}

/// Unsupported unless the head classifies whole texts, by its class in config.json.
Status check_class(const Config& config) {
  constexpr const char* kName = "architectures";
  const nlohmann::json* const classes = config.find(kName);
  if (classes == nullptr) return ok();
  const bool good = classes->is_array() && classes->size() == 1 && classes->front().is_string();
  if (!good) return config.wrong(kName, "an array of one text");
  const std::string name = classes->front().get<std::string>();
  if (name.ends_with("ForSequenceClassification")) return ok();
  return fail(ErrorCode::kUnsupported,
              "{}: {} is {}; Shunt has heads of ForSequenceClassification only", config.path(),
              kName, gguf::printable(name));
}

}  // namespace

Status add_classifier(const ConvertedFolder& folder, Description& description, FileKeys& keys) {
  const NamedTensor* const output = find_slot(folder, WeightSlot::kHeadOutput);
  if (output == nullptr) return ok();
  SHUNT_TRY(check_class(folder.config));
  const StoredTensor& tensor = *output->tensor;
  if (tensor.shape.size() != 2 || tensor.shape[0] < 1 || tensor.shape[1] != description.width) {
    return fail(ErrorCode::kBadFile, "{}: tensor {} is {}; rows of {} elements are expected",
                output->file->path(), gguf::printable(tensor.name), to_string(tensor),
                description.width);
  }
  const bool of_mean =
      keys.count_of(kClassifierPoolingKey) == pooling_number(EmbeddingPooling::kMean);
  if (of_mean) return folder.config.wrong("classifier_pooling", "\"cls\", beside a classifier");
  const std::size_t rows = to_size(tensor.shape[0]);
  SHUNT_ASSIGN(std::vector<std::string> labels, labels_of(folder.config, rows));
  if (rows > 1 && !labels.front().empty()) keys.texts("classifier.output_labels", labels);
  const bool has_key = keys.count_of(kClassifierPoolingKey) >= 0;
  keys.count(has_key ? kClassifierPoolingKey : kPoolingKey, kRankPooling);
  add_head(description, std::move(labels));
  return ok();
}

}  // namespace shunt
