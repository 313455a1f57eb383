#include "shunt/llm.h"

#include "base/guarded.h"
#include "schedule/place/pins.h"
#include "shunt/message.h"
#include "shunt/select_devices.h"

namespace shunt {

Engine& Engine::operator=(Engine&& other) noexcept {
  session_ = std::move(other.session_);
  model_ = std::move(other.model_);
  runtime_ = std::move(other.runtime_);
  return *this;
}

Result<Engine> Engine::open(const std::string& path, const LoadOptions& options) {
  return guarded([&]() -> Result<Engine> {
    SHUNT_ASSIGN(const Options from_environment, options_from_environment());
    SHUNT_ASSIGN(auto created, Registry::create(from_environment));
    const std::shared_ptr<const Registry> registry = std::move(created);
    SHUNT_ASSIGN(auto devices,
                 select_with_cpu(*registry, options.devices, devices_of(options.placement.pins)));
    return open(path, Runtime(registry, std::move(devices)), options);
  });
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
    if (session_ == nullptr) return invalid("this engine has been moved from");
    SHUNT_ASSIGN(const auto tokens, model_->tokenizer().encode(prompt));
    if (tokens.empty()) return invalid("the prompt has no tokens");
    SHUNT_TRY(session_->truncate(0));
    return shunt::generate(*session_, tokens, options, on_text);
  });
}

}  // namespace shunt
