#include "convert/adapter.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>

#include "base/to_size.h"
#include "convert/described_folder.h"
#include "convert/row_order.h"
#include "model/adapters/adapter_file.h"
#include "model/weight_slots.h"
#include "shunt/message.h"

namespace shunt {

namespace {

constexpr std::string_view kFirstFactor = ".lora_A.weight";
constexpr std::string_view kSecondFactor = ".lora_B.weight";

/// A setting of adapter_config.json that changes what an adapter computes.
struct AdapterLimit {
  const char* name;
  const char* allowed;  ///< JSON; the member may be missing or null, too
};
constexpr std::array kAdapterLimits = {
    AdapterLimit{"peft_type", R"("LORA")"},
    AdapterLimit{"bias", R"("none")"},
    AdapterLimit{"use_dora", "false"},
    AdapterLimit{"fan_in_fan_out", "false"},
    AdapterLimit{"lora_bias", "false"},
    AdapterLimit{"use_qalora", "false"},
    AdapterLimit{"modules_to_save", "[]"},
    AdapterLimit{"layer_replication", "[]"},
    AdapterLimit{"alpha_pattern", "{}"},
    AdapterLimit{"target_parameters", "[]"},
    AdapterLimit{"trainable_token_indices", "[]"},
};

/// A weight of the model that is made of a tensor of its folder.
struct Target {
  WeightRow row;
  PublishedTensor from;
  std::int64_t layer = 0;
};

/// Takes "layers.N." from the start of a name. -1: it belongs to no layer.
std::int64_t take_layer(std::string_view* name) {
  constexpr std::string_view kLayers = "layers.";
  if (!name->starts_with(kLayers)) return -1;
  std::int64_t layer = -1;
  const char* const begin = name->data() + kLayers.size();
  const auto [end, error] = std::from_chars(begin, name->data() + name->size(), layer);
  if (error != std::errc() || layer < 0) return -1;
  name->remove_prefix(std::min(name->size(), to_size(end - name->data()) + 1));
  return layer;
}

class AdapterLister {
 public:
  AdapterLister(const ConvertedFolder& folder, const Description& description,
                std::optional<std::int64_t> rank)
      : folder_(folder), description_(description), rank_(rank) {}

  Result<std::vector<WeightSource>> run() {
    for (const auto& [name, named] : folder_.tensors.tensors()) {
      if (name.ends_with(kSecondFactor)) continue;
      if (!name.ends_with(kFirstFactor)) return not_used(*named.tensor);
      const std::string weight = name.substr(0, name.size() - kFirstFactor.size());
      SHUNT_TRY(add(weight, *named.tensor));
    }
    for (const auto& [name, named] : folder_.tensors.tensors()) {
      if (!used_.contains(named.tensor)) return not_used(*named.tensor);
    }
    if (weights_.empty()) return fail(ErrorCode::kBadFile, "{}: no tensors", path());
    return std::move(weights_);
  }

 private:
  const std::string& path() const { return folder_.tensors.files()[0].path(); }

  Error not_used(const StoredTensor& tensor) const {
    return fail(ErrorCode::kUnsupported,
                "{}: Shunt does not use tensor {}, {}; expected pairs of lora_A and lora_B", path(),
                gguf::printable(tensor.name), to_string(tensor));
  }

  /// All weights that are made of a tensor of the model's folder.
  std::vector<Target> targets_of(std::string_view plain) const {
    const std::int64_t layer = take_layer(&plain);
    if (layer >= std::ssize(description_.layers)) return {};
    std::vector<Target> targets;
    for (const WeightRow& row : description_.weights) {
      const SlotFacts& facts = facts_of(row.slot);
      if ((facts.is_in == nullptr) != (layer < 0)) continue;
      if (layer >= 0 && !facts.is_in(description_.layers[to_size(layer)])) continue;
      for (const PublishedTensor& from : published_tensors(folder_.model, row.slot))
        if (from.name == plain) targets.push_back({row, from, std::max<std::int64_t>(layer, 0)});
    }
    return targets;
  }

  Status add(const std::string& weight, const StoredTensor& first) {
    const NamedTensor* const second = folder_.tensors.find(weight + std::string(kSecondFactor));
    if (second == nullptr) {
      return fail(ErrorCode::kBadFile, "{}: tensor {} has no lora_B beside it", path(),
                  gguf::printable(first.name));
    }
    const auto targets = targets_of(weight + ".weight");
    if (targets.empty()) {
      return fail(ErrorCode::kUnsupported,
                  "{}: tensor {}: a model of {} has no weight of this name", path(),
                  gguf::printable(first.name), folder_.model.architecture);
    }
    used_.insert(&first);
    used_.insert(second->tensor);
    for (const Target& target : targets) SHUNT_TRY(add_pair(target, first, *second->tensor));
    return ok();
  }

  Status add_pair(const Target& target, const StoredTensor& first, const StoredTensor& second) {
    const PublishedTensor& from = target.from;
    const Layer& layer = description_.layers[to_size(target.layer)];
    const Sizes sizes = facts_of(target.row.slot).sizes(description_, layer);
    const bool is_matrix = sizes[1] > 1 && sizes[2] * sizes[3] == 1;
    const bool is_plain = !from.transposed && from.order != Order::kLatentKeys &&
                          from.order != Order::kLatentValues && from.element == Element::kSame;
    SHUNT_ASSIGN(const bool tied, folder_.config.flag("tie_word_embeddings", false));
    const bool is_there = target.row.slot != WeightSlot::kOutput || !tied;
    if (!is_matrix || !is_plain || !is_there || target.row.slot == WeightSlot::kEmbedding) {
      return fail(ErrorCode::kUnsupported,
                  "{}: tensor {} changes {}, which an adapter of Shunt can't", path(),
                  gguf::printable(first.name), name_of(target.row, target.layer));
    }
    SHUNT_TRY(check_rank(first));
    const std::int64_t rank = first.shape[0];
    const std::int64_t inputs = published_columns(from, layer, sizes[0]);
    const std::int64_t outputs = published_rows(from, layer, sizes[1]);
    SHUNT_TRY(check_shape(first, {rank, inputs}));
    SHUNT_TRY(check_shape(second, {outputs, rank}));
    const std::string name = name_of(target.row, target.layer);
    SourceView of_first = view_of_matrix(rank, sizes[0]);
    of_first.published_columns = inputs;
    of_first.column_order = column_order(from, layer, sizes[0]);
    SHUNT_TRY(add_factor(name + ".lora_a", first, std::move(of_first)));
    SourceView of_second = view_of_matrix(sizes[1], rank);
    of_second.published_rows = outputs;
    of_second.row_order = row_order(from, layer, sizes[1]);
    return add_factor(name + ".lora_b", second, std::move(of_second));
  }

  static SourceView view_of_matrix(std::int64_t rows, std::int64_t columns) {
    return {.rows = rows,
            .columns = columns,
            .published_rows = rows,
            .published_columns = columns,
            .row_order = {},
            .column_order = {}};
  }

  Status check_rank(const StoredTensor& first) const {
    const std::int64_t rank = first.shape.empty() ? 0 : first.shape[0];
    const bool good = rank_ ? rank == *rank_ : rank >= 1 && rank <= AdapterFile::kMostRank;
    if (good) return ok();
    const std::string expected = rank_ ? fmt::format("by r in {}, rank {}", kAdapterConfig, *rank_)
                                       : fmt::format("a rank from 1 to {}", AdapterFile::kMostRank);
    return fail(ErrorCode::kBadFile, "{}: tensor {} is {}; {} is expected", path(),
                gguf::printable(first.name), to_string(first), expected);
  }

  Status check_shape(const StoredTensor& tensor, std::vector<std::int64_t> expected) const {
    if (tensor.shape == expected && expected[0] > 0 && expected[1] > 0) return ok();
    return fail(ErrorCode::kBadFile, "{}: tensor {} is {}; [{}] is expected, by {}", path(),
                gguf::printable(tensor.name), to_string(tensor), fmt::join(expected, ", "),
                folder_.config.path());
  }

  Status add_factor(const std::string& name, const StoredTensor& tensor, SourceView view) {
    constexpr std::array kTypes = {StoredType::kF32, StoredType::kF16, StoredType::kBF16};
    if (std::ranges::count(kTypes, tensor.type) == 0) {
      return fail(ErrorCode::kUnsupported, "{}: tensor {} is {}; F32, F16 or BF16 is expected",
                  path(), gguf::printable(tensor.name), to_string(tensor));
    }
    WeightSource source;
    source.info.name = name;
    source.type = tensor.type;
    source.matrices = {{&tensor, nullptr}};
    SHUNT_ASSIGN(source.info.tensor,
                 make_tensor(*facts_of(tensor.type).dtype, {view.columns, view.rows}));
    source.info.bytes = static_cast<std::uint64_t>(byte_span(source.info.tensor));
    source.view = std::move(view);
    weights_.push_back(std::move(source));
    return ok();
  }

  const ConvertedFolder& folder_;
  const Description& description_;
  std::optional<std::int64_t> rank_;  // none: pairs have their own
  std::vector<WeightSource> weights_;
  std::set<const StoredTensor*> used_;
};

Status check_limits(const Config& adapter) {
  for (const AdapterLimit& limit : kAdapterLimits) {
    const nlohmann::json* const found = adapter.find(limit.name);
    if (found == nullptr || *found == nlohmann::json::parse(limit.allowed)) continue;
    return fail(ErrorCode::kUnsupported, "{}; Shunt has plain LoRA only",
                adapter.wrong(limit.name, limit.allowed).message());
  }
  return ok();
}

}  // namespace

Result<AdapterSettings> adapter_settings(const Config& adapter) {
  SHUNT_TRY(check_limits(adapter));
  SHUNT_ASSIGN(double alpha, adapter.number("lora_alpha"));
  SHUNT_ASSIGN(const bool by_root, adapter.flag("use_rslora", false));
  SHUNT_ASSIGN(const std::int64_t rank, adapter.count("r"));
  if (rank < 1 || rank > AdapterFile::kMostRank)
    return adapter.wrong("r", fmt::format("a rank from 1 to {}", AdapterFile::kMostRank));
  const nlohmann::json* const ranks = adapter.find("rank_pattern");
  const bool alike = ranks == nullptr || ranks->empty();
  // Then an adapter is scaled by alpha / sqrt(rank), where files have alpha / rank.
  if (by_root && !alike) return adapter.wrong("rank_pattern", "none, beside use_rslora");
  if (by_root) alpha *= std::sqrt(static_cast<double>(rank));
  const auto text = [](const char* key, const char* value) {
    return gguf::KeyValue{key, {gguf::ValueType::kString, std::string(value)}};
  };
  const auto number = static_cast<double>(static_cast<float>(alpha));
  if (number == 0 || !std::isfinite(number))
    return adapter.wrong("lora_alpha", "a number other than 0 that 32 bits can hold");
  AdapterSettings settings;
  settings.keys = {text("adapter.type", "lora"),
                   {"adapter.lora.alpha", {gguf::ValueType::kF32, number}}};
  if (alike) settings.rank = rank;
  return settings;
}

Result<std::vector<WeightSource>> list_adapter(const ConvertedFolder& folder, FileKeys& keys,
                                               std::optional<std::int64_t> rank) {
  constexpr std::int64_t kMostLayers = 10'000;  // far more than any model has
  if (keys.count_of("block_count") > kMostLayers) {
    return fail(ErrorCode::kBadFile, "{}: {} layers; at most {} are expected", folder.config.path(),
                keys.count_of("block_count"), kMostLayers);
  }
  SHUNT_ASSIGN(const Description description, describe_folder(folder, keys));
  return AdapterLister(folder, description, rank).run();
}

}  // namespace shunt
