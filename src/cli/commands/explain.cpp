// `shunt explain`: which device computes which part of a model, and why.
#include "cli/commands/commands.h"
#include "cli/flags/step_flags.h"
#include "cli/report/explanation.h"

namespace shunt::cli {
namespace {

class ExplainCommand final : public Command {
 public:
  const CommandInfo& info() const override {
    static constexpr CommandInfo kInfo = {
        "explain", "show the device of each op of a model, with the reason",
        "  shunt explain --model model.gguf\n"
        "  shunt explain --model model.gguf --devices cuda0,cpu0 --tokens 1 --json\n"
        "  shunt explain --model model.gguf --placement edited.placement\n"
        "  shunt explain --model model.gguf --html explanation.html"};
    return kInfo;
  }

  void declare(Arguments& arguments) override {
    step_.declare(arguments);
    arguments.group("Output");
    arguments.output("--html", "Write an HTML page with a timeline for each device",
                     OutputFormat::kText, html_);
    arguments.flag("--json", json_, "Print JSON");
  }

  Status check() override { return step_.check(); }

  Status run(Output& output) override {
    SHUNT_ASSIGN(const PlacedModel model, step_.place());
    const PlacedStep& placed = model.step;
    const Explanation explanation =
        shunt::explain(*placed.graph, placed.placement, placed.segments);
    const ExplanationTitle title = {step_.path(), placed.tokens, placed.context,
                                    placed.notes, placed.times,  placed.measured};
    if (html_) SHUNT_TRY(output.write_file(*html_, to_html(title, explanation)));
    if (json_) {
      output.write(to_json(title, explanation));
    } else if (!html_) {
      output.write(to_plain_text(title, explanation));
    }
    return ok();
  }

 private:
  StepFlags step_;
  std::optional<std::string> html_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_explain_command() {
  return std::make_unique<ExplainCommand>();
}

}  // namespace shunt::cli
