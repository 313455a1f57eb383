/// \file
/// Adapters: trained changes of a model's weights in small files (LoRA, arXiv 2106.09685). Several
/// are loaded beside one model, and each sequence of a session uses its own. engine.h has the calls
/// that take them.
///
/// \code
/// LoadOptions load = {.adapters = {"poems.gguf", "law.gguf"}};
/// SHUNT_ASSIGN(const auto model, Model::load("model.gguf", registry, load));
/// SHUNT_ASSIGN(const auto session, Session::create(model, {.sequences = 2}));
/// const AdapterUse poems = {.index = 0, .scale = 0.5F};
/// SHUNT_TRY(session->set_adapters(1, {&poems, 1}));
/// \endcode
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace shunt {

/// An adapter that was loaded beside a model. A weight W of the model acts as
/// `W + scale * alpha / rank * B A`, with two small matrices A and B for each weight.
struct AdapterInfo {
  std::string path;
  std::string name;         ///< general.name of its file; may be empty
  double alpha = 0;         ///< adapter.lora.alpha
  std::int64_t rank = 0;    ///< the largest rank of its matrices
  std::size_t weights = 0;  ///< of the model that it changes
};

/// The use of an adapter by a sequence.
struct AdapterUse {
  std::size_t index = 0;  ///< of LoadOptions::adapters
  float scale = 1;        ///< 0: none of it
  bool operator==(const AdapterUse&) const = default;
};

}  // namespace shunt
