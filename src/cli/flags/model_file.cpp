#include "cli/flags/model_file.h"

#include "cli/terminal/output.h"
#include "shunt/engine.h"
#include "shunt/message.h"

namespace shunt::cli {

void ModelFile::declare(Arguments& arguments, const std::string& help) {
  arguments.input("-m,--model", help + " (default: the model that comes with Shunt)", given_);
  arguments.files().add_input("the model that comes with Shunt", [this] {
    return given_ || path_.empty() ? std::vector<std::string>() : std::vector{path_};
  });
}

Status ModelFile::check() {
  if (given_) {
    path_ = *given_;
    return ok();
  }
  auto own = default_model();
  if (!own) {
    return fail(own.error().code(),
                "no model is given, and {}. Use --model FILE with a GGUF file of architecture "
                "llama, or write a model with random weights: shunt synth random.gguf",
                own.error().message());
  }
  path_ = std::move(*own);
  return ok();
}

void ModelFile::tell_default() const {
  if (!given_) print_message("no --model is given; the model that comes with Shunt is used");
}

}  // namespace shunt::cli
