#include "model/unused_parts.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "shunt/message.h"

namespace shunt {

namespace {

/// A key that no architecture has to read.
struct Harmless {
  std::string_view key;  ///< behind the architecture's prefix
  /// With these values it changes nothing; none: with any.
  std::vector<double> values;
  std::string_view reason;
};

const std::vector<Harmless>& harmless_keys() {
  static const std::vector<Harmless> keys = {
      {"vocab_size", {}, "the embedding has a row for each token"},
      {"tensor_data_layout", {}, "the name of the program whose weights were converted"},
      {"rope.scaling.finetuned", {}, "whether the model was trained with the scaling"},
      {"attention.causal", {1}, "tokens see those before them"},
      {"attention.sliding_window", {0}, "no window"},
      {"attention.clamp_kqv", {0}, "no limit"},
      {"attention.max_alibi_bias", {0}, "no bias"},
      {"attn_logit_softcapping", {0}, "no cap"},
      {"final_logit_softcapping", {0}, "no cap"},
      {"expert_count", {0, 1}, "no experts; one would have tensors that are not used"},
      {"expert_used_count", {0, 1}, "no experts"},
      {"expert_feed_forward_length", {0}, "no experts"},
      {"expert_shared_count", {0}, "no shared expert"},
      {"expert_shared_feed_forward_length", {0}, "no shared expert"},
      {"leading_dense_block_count", {0}, "no dense layers before those with experts"},
      {"nextn_predict_layers", {0}, "no layer predicts further tokens"},
      {"expert_group_count", {0, 1}, "one group is none"},
      {"expert_group_used_count", {0, 1}, "one group is none"},
      {"logit_scale", {0, 1}, "no scale"},
      {"embedding_scale", {0, 1}, "no scale"},
      {"residual_scale", {0, 1}, "no scale"},
      {"use_parallel_residual", {0}, "attention comes before the feed-forward part"},
  };
  return keys;
}

/// Beginnings of keys and tensors of pictures and sound, which some files have beside the text
/// part. A text does not depend on them.
constexpr std::string_view kOtherKeys[] = {"vision.", "audio.", "mm."};
constexpr std::string_view kOtherTensors[] = {"v.", "a.", "mm."};

bool begins_with_one(std::string_view name, std::span<const std::string_view> beginnings) {
  return std::ranges::any_of(beginnings,
                             [&](std::string_view begin) { return name.starts_with(begin); });
}

std::optional<double> number_of(const gguf::Value& value) {
  return std::visit(
      [](const auto& data) -> std::optional<double> {
        if constexpr (std::is_arithmetic_v<std::decay_t<decltype(data)>>) {
          return static_cast<double>(data);
        } else {
          return std::nullopt;
        }
      },
      value.data);
}

std::string to_text(const gguf::Value& value) {
  if (const auto* const text = std::get_if<std::string>(&value.data)) return "\"" + *text + "\"";
  if (const auto* const flag = std::get_if<bool>(&value.data)) return *flag ? "true" : "false";
  if (const auto number = number_of(value)) return fmt::format("{}", *number);
  return "an array";
}

bool is_harmless(std::string_view key, const gguf::Value& value) {
  const auto& known = harmless_keys();
  const auto found = std::ranges::find(known, key, &Harmless::key);
  if (found == known.end()) return false;
  const auto number = number_of(value);
  return found->values.empty() || (number && std::ranges::count(found->values, *number) > 0);
}

/// A tensor, or a key with its value.
struct Part {
  std::string name;
  std::string text;
};

std::vector<Part> unused_parts(const gguf::File& file, const ModelDefinition& model,
                               const std::string& prefix) {
  std::vector<Part> unused;
  std::set<const gguf::TensorInfo*> used;
  for (const ModelWeight& weight : model.weights()) used.insert(weight.info);
  for (const gguf::TensorInfo& info : file.tensors()) {
    if (!used.contains(&info) && !model.may_leave(info.name) &&
        !begins_with_one(info.name, kOtherTensors))
      unused.push_back({info.name, "tensor " + info.name});
  }
  for (const gguf::KeyValue& entry : file.metadata()) {
    if (!entry.key.starts_with(prefix) || model.keys().contains(entry.key)) continue;
    const std::string_view key = std::string_view(entry.key).substr(prefix.size());
    if (begins_with_one(key, kOtherKeys) || is_harmless(key, entry.value)) continue;
    unused.push_back({entry.key, fmt::format("{} = {}", entry.key, to_text(entry.value))});
  }
  return unused;
}

}  // namespace

Status check_unused_parts(const gguf::File& file, const ModelDefinition& model,
                          const ReadModel& how) {
  SHUNT_ASSIGN(const std::string architecture, file.get_string("general.architecture"));
  std::vector<Part> unused = unused_parts(file, model, architecture + ".");
  for (const std::string& name : how.ignored) {
    const auto found = std::ranges::find(unused, name, &Part::name);
    if (found == unused.end()) {
      return invalid("{}: \"{}\" can't be ignored: it is no tensor or key that Shunt does not use",
                     file.path(), name);
    }
    unused.erase(found);
  }
  if (unused.empty()) return ok();
  const std::string others =
      unused.size() == 1 ? "" : fmt::format(" and {}", counted(unused.size() - 1, "other part"));
  const std::string remedy =
      how.can_ignore ? fmt::format("; --ignore {} leaves the first one aside", unused[0].name) : "";
  return fail(ErrorCode::kUnsupported,
              "{}: Shunt does not use {}{} in a model of architecture {}, so it would compute "
              "another model{}",
              file.path(), unused[0].text, others, architecture, remedy);
}

}  // namespace shunt
