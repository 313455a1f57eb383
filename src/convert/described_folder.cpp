#include "convert/described_folder.h"

#include <algorithm>
#include <array>

#include "base/to_size.h"
#include "model/architectures/list.h"
#include "shunt/message.h"

namespace shunt {

namespace {

constexpr std::string_view kPattern = "attention.sliding_window_pattern";

bool has_window(const Layer& layer) {
  return layer.attention && layer.attention->span != AttentionSpan::kChunked &&
         layer.attention->window > 0;
}

bool sees_all(const Layer& layer) {
  return layer.latent_attention || (layer.attention && layer.attention->window == 0);
}

/// A kind of layer in config.json.
struct LayerKind {
  std::string_view name;
  bool (*fits)(const Layer& layer);
};
constexpr std::array kLayerKinds = {
    LayerKind{"full_attention", sees_all},
    LayerKind{"attention", sees_all},
    LayerKind{"sliding_attention", has_window},
    LayerKind{"chunked_attention",
              [](const Layer& layer) {
                return layer.attention && layer.attention->span == AttentionSpan::kChunked;
              }},
    LayerKind{"linear_attention",
              [](const Layer& layer) { return layer.delta_net || layer.state_space; }},
    LayerKind{"mamba", [](const Layer& layer) { return layer.state_space.has_value(); }},
    LayerKind{"conv", [](const Layer& layer) { return layer.short_convolution.has_value(); }},
};

/// A description, and whether it depends on the key for layers with windows.
struct Described {
  Description description;
  bool has_pattern = false;
};

Result<Described> describe(const ConvertedFolder& folder, const FileKeys& keys) {
  const std::string architecture(folder.model.architecture);
  gguf::Writer writer;
  writer.add_string("general.architecture", architecture);
  for (const gguf::KeyValue& entry : keys.entries()) writer.add(entry.key, entry.value);
  if (keys.count_of("vocab_size") < 0) {
    SHUNT_ASSIGN(const std::int64_t vocabulary, folder.config.count("vocab_size"));
    writer.add_u32(architecture + ".vocab_size", static_cast<std::uint32_t>(vocabulary));
  }
  SHUNT_ASSIGN(const std::vector<std::byte> bytes, writer.header());
  SHUNT_ASSIGN(const gguf::File file,
               gguf::File::parse(bytes, folder.config.path(), {.metadata_only = true}));
  ArchitectureKeys read(file, architecture);
  read.describe_new_model();
  Described made;
  SHUNT_ASSIGN(made.description, describe_file(read, find_description(architecture)));
  made.has_pattern = read.read().contains(read.name(kPattern));
  return made;
}

/// The first layer of another kind than config.json says; the number of layers if there is none.
Result<std::size_t> first_other(const Config& config, const std::vector<std::string>& types,
                                const Description& description) {
  for (std::size_t i = 0; i < types.size(); ++i) {
    const auto* const kind = std::ranges::find(kLayerKinds, types[i], &LayerKind::name);
    if (kind == kLayerKinds.end()) {
      return fail(ErrorCode::kUnsupported,
                  "{}: layer_types: layer {} is {}, which Shunt does not know", config.path(), i,
                  gguf::printable(types[i]));
    }
    if (!kind->fits(description.layers[i])) return i;
  }
  return types.size();
}

/// Of layers that do not depend on positions.
Status check_rope(const Config& config, const Description& description) {
  const std::size_t layers = description.layers.size();
  if (!config.has("no_rope_layers")) return ok();
  SHUNT_ASSIGN(const auto turned, config.numbers("no_rope_layers", layers));
  for (std::size_t i = 0; i < layers; ++i) {
    const auto& attention = description.layers[i].attention;
    if (!attention || attention->rope.has_value() == (turned[i] != 0)) continue;
    return fail(ErrorCode::kUnsupported,
                "{}: no_rope_layers: layer {} has {}; models of this architecture have {} there",
                config.path(), i, turned[i], attention->rope ? 1 : 0);
  }
  return ok();
}

}  // namespace

Result<Description> describe_folder(const ConvertedFolder& folder, FileKeys& keys) {
  const Config& config = folder.config;
  SHUNT_ASSIGN(Described made, describe(folder, keys));
  const std::size_t layers = made.description.layers.size();
  SHUNT_ASSIGN(const auto types, config.texts("layer_types|layers_block_type", layers));
  SHUNT_ASSIGN(std::size_t other, first_other(config, types, made.description));
  if (other < types.size() && made.has_pattern) {
    std::vector<bool> windowed;
    for (const std::string& type : types) windowed.push_back(type == "sliding_attention");
    keys.flags(kPattern, windowed);
    SHUNT_ASSIGN(made, describe(folder, keys));
    SHUNT_ASSIGN(other, first_other(config, types, made.description));
  }
  if (other < types.size()) {
    return fail(ErrorCode::kUnsupported,
                "{}: layer_types: layer {} is {}; a file of architecture {} has another kind there",
                config.path(), other, gguf::printable(types[other]), folder.model.architecture);
  }
  SHUNT_TRY(check_rope(config, made.description));
  return std::move(made.description);
}

}  // namespace shunt
