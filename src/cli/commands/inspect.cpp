// `shunt inspect`: the content of a GGUF file.
#include <utility>

#include "cli/commands/commands.h"
#include "cli/report/inspection.h"
#include "shunt/message.h"

namespace shunt::cli {
namespace {

class InspectCommand final : public Command {
 public:
  const CommandInfo& info() const override {
    static constexpr CommandInfo kInfo = {"inspect",
                                          "show the metadata and the tensors of a GGUF file",
                                          "  shunt inspect model.gguf\n"
                                          "  shunt inspect model.gguf --tensors\n"
                                          "  shunt inspect model.gguf --json"};
    return kInfo;
  }
  void declare(Arguments& arguments) override {
    arguments.required_input("FILE", "Read this GGUF file", path_);
    arguments.flag("--tensors", tensors_, "List every tensor");
    arguments.flag("--json", json_, "Print JSON, tensors included");
  }
  Status run(Output& output) override {
    auto file = gguf::File::open(path_);
    if (!file && file.error().code() == ErrorCode::kUnsupported) {
      // Tensors of types that this build can't compute with: all else can be shown.
      const std::string reason = file.error().message();
      file = gguf::File::open(path_, {.metadata_only = true});
      if (file) print_message("warning: " + reason + "; tensors of unsupported types are left out");
    }
    if (!file) return std::move(file.error());
    output.write(json_ ? inspection_json(*file) : inspection_text(*file, tensors_));
    return ok();
  }

 private:
  std::string path_;
  bool tensors_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_inspect_command() {
  return std::make_unique<InspectCommand>();
}

}  // namespace shunt::cli
