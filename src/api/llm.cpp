#include "shunt/llm.h"

#include "base/fail.h"
#include "base/guarded.h"

namespace shunt {

Result<Engine> Engine::open(const std::string& path, const LoadOptions& options) {
  SHUNT_ASSIGN(const Options from_environment, options_from_environment());
  SHUNT_ASSIGN(const Runtime runtime, Runtime::create(from_environment, options.devices));
  return open(path, runtime, options);
}

Result<Engine> Engine::open(const std::string& path, const Runtime& runtime,
                            const LoadOptions& options) {
  return guarded([&]() -> Result<Engine> {
    std::string file = path;
    if (file.empty()) {
      SHUNT_ASSIGN(file, default_model());
    }
    SHUNT_ASSIGN(auto model, Model::load(file, runtime.devices(), options));
    SHUNT_ASSIGN(auto session, Session::create(model, options.session));
    return Engine(runtime, std::move(model), std::move(session));
  });
}

Result<GenerateResult> Engine::generate(std::string_view prompt,
                                        const std::function<void(std::string_view)>& on_text,
                                        const GenerateOptions& options) {
  return guarded([&]() -> Result<GenerateResult> {
    SHUNT_ASSIGN(const auto tokens, model_->tokenizer().encode(prompt));
    if (tokens.empty()) return invalid("the prompt has no tokens");
    SHUNT_TRY(session_->truncate(0));
    return shunt::generate(*session_, tokens, options, on_text);
  });
}

}  // namespace shunt
