#include "convert/left_tensors.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include "shunt/gguf.h"
#include "shunt/message.h"

namespace shunt {

namespace {

struct Left {
  std::string_view begin;  ///< of the plain name
  std::string_view end;
  std::string_view reason;
};

constexpr std::string_view kPredictor = "the head that predicts tokens";

/// The layers of encoders that do not belong to the embedding.
constexpr std::array kLeftOfEncoders = {
    Left{"pooler.", "", "the layer after the first token's vector, for classifiers"},
    Left{"cls.", "", kPredictor},
    Left{"lm_head.", "", kPredictor},
    Left{"head.", "", kPredictor},
    Left{"bias", "bias", kPredictor},
    Left{"weight", "weight", kPredictor},
    Left{"embeddings.position_ids", "", "the numbers 0, 1, 2, ..."},
};

constexpr std::array kLeft = {
    Left{"", "rotary_emb.inv_freq", "frequencies of rope, which follow from config.json"},
    Left{"", ".masked_bias", "the mask of attention"},
    Left{"", ".input_scale", "scales of activations"},
    Left{"", ".activation_scale", "scales of activations"},
    Left{"", ".k_scale", "scales of the KV cache"},
    Left{"", ".v_scale", "scales of the KV cache"},
    Left{"visual.", "", "the part for images"},
    Left{"vision_tower.", "", "the part for images"},
    Left{"vision_model.", "", "the part for images"},
    Left{"vision_encoder.", "", "the part for images"},
    Left{"embed_vision.", "", "the part for images"},
    Left{"multi_modal_projector.", "", "the part for images"},
    Left{"patch_merger.", "", "the part for images"},
    Left{"audio_tower.", "", "the part for sound"},
    Left{"embed_audio.", "", "the part for sound"},
    Left{"mtp.", "", "layers that predict further tokens"},
};
constexpr std::string_view kPrediction = "layers that predict further tokens";
constexpr std::string_view kTied = "a copy of the embedding";

/// The number of the layer in a name; -1: it belongs to none.
std::int64_t layer_of(std::string_view name) {
  constexpr std::string_view kLayers = "layers.";
  if (!name.starts_with(kLayers)) return -1;
  name.remove_prefix(kLayers.size());
  std::int64_t layer = -1;
  std::from_chars(name.data(), name.data() + name.size(), layer);
  return layer;
}

/// Empty: it may not be left aside.
std::string_view reason_to_leave(const ConvertedFolder& folder, const std::string& name,
                                 std::int64_t layers) {
  const auto fits = [&](const Left& left) {
    return name.starts_with(left.begin) && name.ends_with(left.end);
  };
  const auto* const found = std::ranges::find_if(kLeft, fits);
  if (found != kLeft.end()) return found->reason;
  if (is_encoder(folder.model)) {
    const auto* const head = std::ranges::find_if(kLeftOfEncoders, fits);
    if (head != kLeftOfEncoders.end()) return head->reason;
  }
  // The first ones after the others; a config.json with too few layers is an error.
  const auto predicting = folder.config.count("num_nextn_predict_layers|mtp_num_hidden_layers", 0);
  const std::int64_t more = predicting ? *predicting : 0;
  const std::int64_t layer = layer_of(name);
  if (layer >= layers && layer < layers + more) return kPrediction;
  const auto tied = folder.config.flag("tie_word_embeddings", false);
  if (name == "lm_head.weight" && tied && *tied) return kTied;
  return {};
}

}  // namespace

Status check_left_tensors(const ConvertedFolder& folder, const std::set<const StoredTensor*>& used,
                          std::int64_t layers, std::vector<std::string>& notes) {
  std::vector<std::string> ignored(folder.ignored.begin(), folder.ignored.end());
  std::map<std::string_view, std::vector<const StoredTensor*>> left;
  std::vector<const NamedTensor*> unknown;
  for (const auto& [name, named] : folder.tensors.tensors()) {
    if (used.contains(named.tensor)) continue;
    const std::string_view reason = reason_to_leave(folder, name, layers);
    if (!reason.empty()) {
      left[reason].push_back(named.tensor);
    } else if (std::erase(ignored, named.tensor->name) == 0) {
      unknown.push_back(&named);
    } else {
      notes.push_back(fmt::format("ignored: tensor {}", gguf::printable(named.tensor->name)));
    }
  }
  if (!ignored.empty()) {
    return invalid("\"{}\" can't be ignored: it is no tensor that Shunt does not use",
                   ignored.front());
  }
  for (const auto& [reason, tensors] : left) {
    notes.push_back(fmt::format("left aside: {}: {}, such as {}", reason,
                                counted(tensors.size(), "tensor"),
                                gguf::printable(tensors.front()->name)));
  }
  if (unknown.empty()) return ok();
  const StoredTensor& first = *unknown.front()->tensor;
  const std::string others =
      unknown.size() == 1 ? "" : fmt::format(" and {}", counted(unknown.size() - 1, "other"));
  return fail(ErrorCode::kUnsupported,
              "{}: Shunt does not use tensor {}, {}{}, in a model of type {}; --ignore {} leaves "
              "the first one aside",
              unknown.front()->file->path(), gguf::printable(first.name), to_string(first), others,
              folder.config.text("model_type", "?").value_or("?"), first.name);
}

}  // namespace shunt
