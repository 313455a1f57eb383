// `shunt convert`: makes a GGUF file of a Hugging Face folder.
#include "shunt/convert.h"

#include <fmt/ranges.h>

#include "cli/commands/commands.h"
#include "cli/flags/near_names.h"
#include "cli/flags/part_flags.h"
#include "cli/flags/runtime_flags.h"
#include "cli/report/sizes.h"
#include "cli/report/written_model.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/progress.h"
#include "shunt/message.h"

namespace shunt::cli {
namespace {

class ConvertCommand final : public Command {
 public:
  const CommandInfo& info() const override {
    static const CommandInfo kInfo = {
        "convert", "convert a Hugging Face folder, or an old GGUF file, to GGUF",
        "  shunt convert Qwen3-0.6B qwen3.gguf\n"
        "  shunt convert Qwen3-0.6B qwen3-q4.gguf --type Q4_K_M\n"
        "  shunt convert Qwen3-0.6B qwen3-iq2.gguf --type IQ2_XS --imatrix imatrix.gguf\n"
        "  shunt convert Qwen3-32B qwen3.gguf --split 4GiB\n"
        "  shunt convert my-adapter adapter.gguf --base Qwen3-0.6B"};
    return kInfo;
  }

  void declare(Arguments& arguments) override {
    arguments.required_input("DIR",
                             "Convert the model in this folder (config.json, safetensors, a "
                             "tokenizer), in this safetensors file of one, or in this GGUF file "
                             "of 2023 or 2024; or the LoRA adapter in this folder "
                             "(adapter_config.json)",
                             in_);
    arguments.required_output("OUT", "Write the model to this file", OutputFormat::kGguf, out_);
    arguments.text("--type", "TYPE",
                   "Quantize weights to this type of shunt quantize; without it they keep theirs",
                   type_);
    arguments.input("--imatrix", "Weight errors by this importance matrix of shunt imatrix",
                    imatrix_);
    arguments.each("--ignore", "NAME",
                   "Convert a folder although Shunt does not use this tensor of it; the result is "
                   "another model. Repeatable",
                   [this](const std::string& name) -> Status {
                     conversion_.ignored.push_back(name);
                     return ok();
                   });
    arguments.value("--base", "DIR",
                    "Take names and shapes of an adapter's weights from the config.json of its "
                    "model in this folder",
                    [this](const std::string& folder) -> Status {
                      conversion_.base = folder;
                      return ok();
                    });
    declare_split(arguments, quantize_.parts);
    runtime_.declare_threads(arguments);
    arguments.flag("--json", json_, "Print JSON");
  }

  Status check() override {
    SHUNT_ASSIGN(const Options options, runtime_.options());
    quantize_.threads = options.threads;
    if (imatrix_ && !type_) return invalid("--imatrix needs --type");
    if (!type_) return ok();
    const auto found = find_quantization(*type_);
    if (!found) {
      return invalid("there is no type \"{}\" to convert to{}", *type_,
                     did_you_mean(*type_, quantization_names()));
    }
    quantize_.type = *found;
    return ok();
  }

  Status run(Output& output) override {
    Interrupt interrupt;
    ImportanceMatrix importance;
    if (imatrix_) {
      SHUNT_ASSIGN(importance, read_importance(*imatrix_));
      quantize_.importance = &importance;
      quantize_.importance_file = *imatrix_;
    }
    SHUNT_ASSIGN(const FolderConversion conversion, FolderConversion::open(in_, conversion_));
    for (const std::string& note : conversion.notes()) print_message(note);
    auto plan = conversion.plan(quantize_);
    if (!plan) return std::move(plan.error()).with_context(in_);
    for (const std::string& note : plan->notes) print_message(note);
    interrupt.defer();
    Progress progress("writing " + out_, kLargeModel);
    const auto show = [&](std::uint64_t done, std::uint64_t total) -> Status {
      if (interrupt.stop()) return fail(ErrorCode::kCancelled, "interrupted");
      progress.show(done, total);
      return ok();
    };
    auto result = conversion.write(out_, *plan, quantize_, show);
    progress.clear();
    if (!result) return Error(std::move(result.error()));
    output.write(json_ ? to_text(written_model_json(*result)) : to_plain_text(conversion, *result));
    return ok();
  }

 private:
  std::string to_plain_text(const FolderConversion& conversion,
                            const QuantizeResult& result) const {
    const std::string architecture =
        conversion.file().get_string_or("general.architecture", "").value_or("");
    std::string types;
    for (const TypeSummary& type : result.types) {
      types += fmt::format("{}{} {}", types.empty() ? "" : ", ", to_string(type.dtype),
                           format_bytes(type.bytes));
    }
    return fmt::format("{}: {}, {}, {} ({})\n", name_of_files(result), architecture,
                       counted(conversion.file().tensors().size(), "tensor"),
                       format_bytes(result.bytes_after), types);
  }

  std::string in_;
  std::string out_;
  std::optional<std::string> type_;
  std::optional<std::string> imatrix_;
  FolderOptions conversion_;
  QuantizeOptions quantize_;
  RuntimeFlags runtime_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_convert_command() {
  return std::make_unique<ConvertCommand>();
}

}  // namespace shunt::cli
