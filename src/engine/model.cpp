#include "base/fail.h"
#include "base/guarded.h"
#include "engine/load_weights.h"
#include "engine/model_state.h"
#include "engine/vocabulary_from_gguf.h"

namespace shunt {

std::vector<LeafMemory> ModelState::memory_of(const StepGraph& step) const {
  std::vector<LeafMemory> memory;
  for (const WeightLeaf& weight : step.weights) {
    const auto found = weights.find(weight.info);
    if (found != weights.end()) memory.push_back({weight.leaf, found->second});
  }
  return memory;
}

Model::Model(std::unique_ptr<ModelState> state) : state_(std::move(state)) {}
Model::~Model() = default;
const ModelInfo& Model::info() const {
  return state_->info;
}
const text::Tokenizer& Model::tokenizer() const {
  return state_->tokenizer;
}

Result<std::shared_ptr<const Model>> Model::load(const std::string& path, const Registry& registry,
                                                 const LoadOptions& options) {
  return guarded(
      [&]() -> Result<std::shared_ptr<const Model>> {
        SHUNT_ASSIGN(auto devices, registry.select(options.devices));
        SHUNT_ASSIGN(gguf::File file, gguf::File::open(path));
        SHUNT_ASSIGN(auto definition, read_model(file));
        SHUNT_ASSIGN(text::Vocabulary vocabulary, vocabulary_from_gguf(file));
        auto tokenizer = text::Tokenizer::create(std::move(vocabulary));
        if (!tokenizer) return std::move(tokenizer.error()).with_context(path);
        const ModelShape& shape = definition->shape();
        if (tokenizer->size() > shape.vocabulary) {
          return fail(ErrorCode::kBadFile,
                      "{}: the tokenizer has {} tokens, but there are embeddings for {}", path,
                      tokenizer->size(), shape.vocabulary);
        }
        auto state = std::make_unique<ModelState>(file, *tokenizer);
        state->devices = std::move(devices);
        SHUNT_ASSIGN(state->info.architecture, file.get_string("general.architecture"));
        SHUNT_ASSIGN(state->info.name, file.get_string_or("general.name", ""));
        state->info.layers = shape.layers;
        state->info.width = shape.width;
        state->info.vocabulary = shape.vocabulary;
        state->info.context = shape.context;
        state->definition = std::move(definition);
        Status loaded = load_weights(*state, options);
        if (!loaded) return std::move(loaded.error()).with_context(path);
        return std::make_shared<const Model>(std::move(state));
      },
      path);
}

}  // namespace shunt
