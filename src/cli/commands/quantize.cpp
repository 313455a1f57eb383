// `shunt quantize`: quantizes the weights of a model.
#include "shunt/quantize.h"

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
#include "shunt/plan.h"

namespace shunt::cli {
namespace {

constexpr std::uint64_t kLargeToEncode = std::uint64_t{64} << 20;  // bytes; takes a while to encode

class QuantizeCommand final : public Command {
 public:
  const CommandInfo& info() const override {
    static const std::string examples = fmt::format(
        "  shunt quantize model-f16.gguf model-q4.gguf Q4_K_M\n"
        "  shunt quantize model-f16.gguf model-iq2.gguf IQ2_XS --imatrix imatrix.gguf\n"
        "  shunt quantize model-f16.gguf model-q8.gguf Q8_0 --keep 'output\\.weight'\n"
        "Types:\n"
        "  {}",
        fmt::join(quantization_names(), " "));
    static const CommandInfo kInfo = {"quantize", "quantize the weights of a model", examples};
    return kInfo;
  }

  void declare(Arguments& arguments) override {
    arguments.required_input("IN", "Quantize this GGUF file (the first file of a split model)",
                             in_);
    arguments.required_output("OUT", "Write the quantized model to this file", OutputFormat::kGguf,
                              out_);
    arguments.required("TYPE", "Convert weights to this type, such as Q8_0 or Q4_K_M", type_);
    arguments.input("--imatrix", "Weight errors by this importance matrix of shunt imatrix",
                    imatrix_);
    arguments.flag("--pure", options_.pure, "Use the same type for every matrix");
    arguments.each(
        "--keep", "PATTERN",
        "Keep the type of tensors whose whole name matches this regular expression. Repeatable",
        [this](const std::string& pattern) -> Status {
          SHUNT_TRY(check_pattern(pattern));
          options_.keep.push_back(pattern);
          return ok();
        });
    declare_split(arguments, options_.parts);
    runtime_.declare_threads(arguments);
    arguments.flag("--json", json_, "Print JSON");
  }

  Status check() override {
    SHUNT_ASSIGN(const Options options, runtime_.options());
    options_.threads = options.threads;
    const auto found = find_quantization(type_);
    if (!found) {
      return invalid("there is no type \"{}\" to quantize to{}", type_,
                     did_you_mean(type_, quantization_names()));
    }
    options_.type = *found;
    return ok();
  }

  Status run(Output& output) override {
    Interrupt interrupt;
    ImportanceMatrix importance;
    if (imatrix_) {
      SHUNT_ASSIGN(importance, read_importance(*imatrix_));
      options_.importance = &importance;
      options_.importance_file = *imatrix_;
    }
    SHUNT_ASSIGN(const gguf::File file, gguf::File::open(in_));
    auto plan = plan_quantization(file, options_);
    if (!plan) return std::move(plan.error()).with_context(in_);
    for (const std::string& note : plan->notes) print_message(note);
    interrupt.defer();
    Progress progress("writing " + out_, kLargeToEncode);
    const auto show = [&](std::uint64_t done, std::uint64_t total) -> Status {
      if (interrupt.stop()) return fail(ErrorCode::kCancelled, "interrupted");
      progress.show(done, total);
      return ok();
    };
    auto result = write_quantized(out_, file, *plan, options_, show);
    progress.clear();
    if (!result) return Error(std::move(result.error()));
    output.write(json_ ? to_json(*result) : to_plain_text(*result));
    return ok();
  }

 private:
  std::string to_plain_text(const QuantizeResult& result) const {
    std::string text = fmt::format(
        "{}: {}, {} instead of {} ({:.1f} %)\n"
        "type      tensors        bytes     error\n",
        name_of_files(result), options_.type, format_bytes(result.bytes_after),
        format_bytes(result.bytes_before),
        100 * static_cast<double>(result.bytes_after) / static_cast<double>(result.bytes_before));
    for (const TypeSummary& type : result.types) {
      text += fmt::format("{:<8} {:>8} {:>12} {:>9}\n", to_string(type.dtype), type.tensors,
                          format_bytes(type.bytes),
                          type.squares > 0 ? fmt::format("{:.5f}", type.error()) : "-");
    }
    return text;
  }

  std::string to_json(const QuantizeResult& result) const {
    Json json = written_model_json(result);
    json["type"] = options_.type;
    return to_text(json);
  }

  std::string in_;
  std::string out_;
  std::string type_;
  std::optional<std::string> imatrix_;
  QuantizeOptions options_;
  RuntimeFlags runtime_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_quantize_command() {
  return std::make_unique<QuantizeCommand>();
}

}  // namespace shunt::cli
