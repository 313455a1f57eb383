// What a loaded model is made of.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "model/definition.h"
#include "shunt/engine.h"

namespace shunt {

struct ModelState {
  ModelState(gguf::File opened, text::Tokenizer made)
      : file(std::move(opened)), tokenizer(std::move(made)) {}

  gguf::File file;
  text::Tokenizer tokenizer;
  std::unique_ptr<ModelDefinition> definition;
  ModelInfo info;
  std::vector<Device*> devices;  ///< by falling priority, the CPU last
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::map<const gguf::TensorInfo*, Address> weights;  ///< where each lies

  /// The memory of a step graph's weights.
  std::vector<LeafMemory> memory_of(const StepGraph& step) const;
};

}  // namespace shunt
