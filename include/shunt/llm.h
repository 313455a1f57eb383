/// \file
/// A language model in three lines. Include it to generate text. engine.h has the parts: models,
/// sessions, sampling.
///
/// \code
/// SHUNT_ASSIGN(Engine engine, Engine::open("model.gguf"));
/// const auto print = [](std::string_view text) { std::cout << text; };
/// SHUNT_TRY(engine.generate("Once upon a time", print));
/// \endcode
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "shunt/engine.h"
#include "shunt/runtime.h"

namespace shunt {

/// A model with one session, on the devices of a Runtime. Belongs to one thread at a time.
class Engine {
 public:
  /// Loads a GGUF file with the options of the environment. LoadOptions::session is that of the
  /// engine. LoadOptions::devices restricts and orders the devices. An empty path is the default
  /// model (default_model()). Errors are those of Runtime::create(), Model::load() and
  /// Session::create().
  static Result<Engine> open(const std::string& path, const LoadOptions& options = {});
  /// The same on the devices of `runtime`. LoadOptions::devices chooses none of them:
  /// it must be empty, or name them in the order of their shares (LoadOptions::split).
  static Result<Engine> open(const std::string& path, const Runtime& runtime,
                             const LoadOptions& options = {});

  /// Forgets earlier text, reads the prompt and generates. `on_text` gets the text as it comes,
  /// whole characters only. The prompt is encoded as the model's vocabulary requires
  /// (begin-of-sequence token). An empty prompt needs a model with such a token: InvalidArgument
  /// otherwise. Errors leave the engine usable.
  Result<GenerateResult> generate(std::string_view prompt,
                                  const std::function<void(std::string_view)>& on_text,
                                  const GenerateOptions& options = {});

  Engine(Engine&&) noexcept = default;
  /// The old session goes before the devices that it uses.
  Engine& operator=(Engine&& other) noexcept;

  /// The devices. Valid as long as the engine is neither moved nor destroyed.
  const Runtime& runtime() const { return runtime_; }
  /// The model, for its properties and its tokenizer. Valid as long as runtime().
  const Model& model() const { return *model_; }
  /// The session, for logits and lengths. Valid as long as runtime().
  Session& session() { return *session_; }

 private:
  Engine(Runtime runtime, std::shared_ptr<const Model> model, std::unique_ptr<Session> session)
      : runtime_(std::move(runtime)), model_(std::move(model)), session_(std::move(session)) {}
  Runtime runtime_;  // goes last
  std::shared_ptr<const Model> model_;
  std::unique_ptr<Session> session_;
};

}  // namespace shunt
