#include "model/synth_keys.h"

#include <algorithm>
#include <array>
#include <functional>
#include <variant>
#include <vector>

#include "model/architectures/list.h"
#include "shunt/message.h"

namespace shunt {

namespace {

using Number = std::variant<std::int64_t, float, std::vector<std::int64_t>>;

/// A key, behind the architecture's name.
struct Key {
  std::string_view name;
  Number number;
  /// Only if the architecture can't do without it.
  bool if_needed = false;
};

constexpr std::array<std::string_view, 3> kWithListsOfHeads = {"lfm2", "lfm2moe", "granitehybrid"};

/// Heads of keys of each layer: in these architectures, one of three layers has attention.
Number kv_heads(const SynthOptions& options) {
  if (std::ranges::count(kWithListsOfHeads, options.architecture) == 0) return options.kv_heads;
  std::vector<std::int64_t> heads;
  heads.reserve(static_cast<std::size_t>(options.layers));
  for (std::int64_t layer = 0; layer < options.layers; ++layer)
    heads.push_back(layer % 3 == 2 ? options.kv_heads : 0);
  return heads;
}

/// All that architectures may read; each reads some of them.
std::vector<Key> all_keys(const SynthOptions& options) {
  const std::int64_t head = options.width / options.heads;
  const std::int64_t expert_rows = options.expert_feed_forward > 0
                                       ? options.expert_feed_forward
                                       : std::max<std::int64_t>(options.feed_forward / 4, 1);
  const std::int64_t experts_used = options.experts_used > 0 ? options.experts_used : 2;
  const std::int64_t experts =
      options.experts > 0 ? options.experts : std::max<std::int64_t>(experts_used, 8);
  const bool latent = options.architecture == "deepseek2";
  std::vector<Key> keys = {
      {"vocab_size", options.vocabulary},
      {"context_length", options.context},
      {"embedding_length", options.width},
      {"block_count", options.layers},
      {"feed_forward_length", options.feed_forward},
      {"attention.head_count", options.heads},
      {"attention.head_count_kv", latent ? Number(std::int64_t{1}) : kv_heads(options)},
      {"rope.dimension_count", latent ? head / 2 : head},
      {"rope.freq_base", 10000.0F},
      {"attention.layer_norm_rms_epsilon", 1e-5F},
      {"attention.layer_norm_epsilon", 1e-5F, true},
      {"expert_count", experts},
      {"expert_used_count", experts_used},
      {"attention.q_lora_rank", std::max<std::int64_t>(options.width / 2, 1)},
      {"attention.kv_lora_rank", 2 * head, true},
      {"attention.key_length_mla", head + head / 2, true},
      {"attention.value_length_mla", head, true},
      {"ssm.conv_kernel", std::int64_t{4}, true},
      {"ssm.state_size", head, true},
      {"ssm.group_count", options.kv_heads, true},
      {"ssm.time_step_rank", options.heads, true},
      {"ssm.inner_size", options.width, true},
      {"shortconv.l_cache", std::int64_t{3}, true},
      {"interleave_moe_layer_step", std::int64_t{1}, true},
  };
  // Windows where layers differ by them.
  constexpr std::int64_t kWindow = 512;
  constexpr std::array<std::string_view, 8> kWithWindows = {
      "gemma2",  "gemma3",  "gemma4",      "gpt-oss",
      "cohere2", "exaone4", "modern-bert", "gemma-embedding"};
  if (std::ranges::count(kWithWindows, options.architecture) > 0)
    keys.push_back({"attention.sliding_window", kWindow});
  keys.push_back({"expert_feed_forward_length", expert_rows});
  keys.push_back({"expert_shared_feed_forward_length", expert_rows});
  return keys;
}

void add(gguf::Writer& writer, const std::string& name, const Number& number) {
  if (const auto* count = std::get_if<std::int64_t>(&number)) {
    writer.add_u32(name, static_cast<std::uint32_t>(*count));
  } else if (const auto* real = std::get_if<float>(&number)) {
    writer.add_f32(name, *real);
  } else {
    gguf::Array array = {.type = gguf::ValueType::kI32,
                         .strings = {},
                         .floats = {},
                         .integers = std::get<std::vector<std::int64_t>>(number)};
    writer.add_array(name, std::move(array));
  }
}

/// The keys of a file that has all of them, and those that its description reads.
struct Described {
  Description model;
  std::vector<std::pair<std::string, Number>> keys;
};

Result<Described> describe(const SynthOptions& options, const std::vector<Key>& keys) {
  gguf::Writer writer;
  const auto whole = [&](const Key& key) {
    return fmt::format("{}.{}", options.architecture, key.name);
  };
  for (const Key& key : keys) add(writer, whole(key), key.number);
  SHUNT_ASSIGN(const std::vector<std::byte> bytes, writer.header());
  SHUNT_ASSIGN(const gguf::File file,
               gguf::File::parse(bytes, "a model of random weights", {.metadata_only = true}));
  ArchitectureKeys reader(file, options.architecture);
  reader.describe_new_model();
  Described made;
  SHUNT_ASSIGN(made.model, describe_file(reader, find_description(options.architecture)));
  for (const Key& key : keys) {
    const std::string name = whole(key);
    const auto& wanted = key.if_needed ? reader.needed() : reader.read();
    if (wanted.contains(name)) made.keys.emplace_back(name, key.number);
  }
  return made;
}

Result<Described> describe_synth(const SynthOptions& options) {
  std::vector<Key> keys = all_keys(options);
  if (options.experts == 0) {
    // Without experts, if the architecture can do that.
    std::vector<Key> dense = keys;
    std::erase_if(dense, [](const Key& key) { return key.name.starts_with("expert_"); });
    if (describe(options, dense)) keys = std::move(dense);
  }
  SHUNT_ASSIGN(const Described first, describe(options, keys));
  // Without the keys that were not kept, the description may be another one.
  std::erase_if(keys, [&](const Key& key) {
    const std::string name = fmt::format("{}.{}", options.architecture, key.name);
    return std::ranges::find(first.keys, name, &std::pair<std::string, Number>::first) ==
           first.keys.end();
  });
  return describe(options, keys);
}

}  // namespace

Status check_synth_experts(const SynthOptions& options) {
  if (options.experts == 0 && options.experts_used == 0 && options.expert_feed_forward == 0)
    return ok();
  SHUNT_ASSIGN(const Described made, describe_synth(options));
  const auto has_experts = [](const Layer& layer) { return layer.experts.has_value(); };
  if (std::ranges::any_of(made.model.layers, has_experts)) return ok();
  if (options.experts > 0) {
    return invalid("{} experts, but models of architecture {} have none", options.experts,
                   options.architecture);
  }
  if (options.experts_used > 0)
    return invalid("experts-used {}, but the model has no experts", options.experts_used);
  return invalid("expert-ff {}, but the model has no experts", options.expert_feed_forward);
}

Result<Description> add_synth_keys(gguf::Writer& writer, const SynthOptions& options) {
  SHUNT_ASSIGN(Described made, describe_synth(options));
  for (const auto& [name, number] : made.keys) add(writer, name, number);
  return std::move(made.model);
}

}  // namespace shunt
