// A LoRA adapter as the library PEFT saves it: two small matrices for some weights of a model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "convert/converted_folder.h"
#include "convert/file_keys.h"
#include "convert/weight_source.h"

namespace shunt {

inline constexpr const char* kAdapterConfig = "adapter_config.json";
inline constexpr const char* kAdapterWeights = "adapter_model.safetensors";

/// The settings of adapter_config.json.
struct AdapterSettings {
  std::vector<gguf::KeyValue> keys;  ///< adapter.*
  std::optional<std::int64_t> rank;  ///< of each pair; none: `rank_pattern` has others
};

/// Unsupported for other kinds than plain LoRA, naming the setting; NotFound or BadFile for a
/// setting that is missing or out of range.
Result<AdapterSettings> adapter_settings(const Config& adapter);

/// The pairs of an adapter for a model: its tensors are those of `folder`, whose config is the
/// model's. `keys` are those of the model. Their rows have the order of the model's weights.
/// BadFile for a tensor without its pair, of another shape than the model's or of another rank;
/// Unsupported, naming it, for one of no weight, or of one that is more than a matrix.
Result<std::vector<WeightSource>> list_adapter(const ConvertedFolder& folder, FileKeys& keys,
                                               std::optional<std::int64_t> rank);

}  // namespace shunt
