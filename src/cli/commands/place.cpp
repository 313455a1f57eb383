// `shunt place`: a model's placement as a file that a person can edit, and the differences between
// two of them.
#include "cli/commands/commands.h"
#include "cli/flags/placement_files.h"
#include "cli/flags/step_flags.h"
#include "cli/report/json.h"
#include "shunt/message.h"

namespace shunt::cli {
namespace {

std::string to_json(std::span<const PlacementChange> changes) {
  Json json = Json::array();
  for (const PlacementChange& change : changes) {
    const auto device = [](const std::string& name) { return name.empty() ? Json() : Json(name); };
    json.push_back({{"node", change.node},
                    {"name", change.name},
                    {"op", change.op},
                    {"before", device(change.before)},
                    {"after", device(change.after)}});
  }
  return to_text(json);
}

class PlaceCommand final : public Command {
 public:
  const CommandInfo& info() const override {
    static constexpr CommandInfo kInfo = {
        "place", "write a model's placement to a file to edit, for run --placement",
        "  shunt place --model model.gguf -o model.placement\n"
        "  shunt run --model model.gguf --placement model.placement\n"
        "  shunt place --diff before.placement after.placement"};
    return kInfo;
  }

  void declare(Arguments& arguments) override {
    step_.declare(arguments);
    arguments.group("Output");
    arguments.output("-o,--output", "Write the placement to this file (default: standard output)",
                     OutputFormat::kText, output_);
    arguments.flag("--diff", diff_, "Show the differences between two placement files");
    arguments.text("A", "", "With --diff: compare this placement file", before_);
    arguments.text("B", "", "With --diff: compare with this placement file", after_);
    arguments.flag("--json", json_, "With --diff: print JSON");
  }

  Status check() override {
    if (!diff_ && before_) {
      return invalid("unexpected argument \"{}\"; only --diff takes files", *before_);
    }
    if (!diff_ && json_) return invalid("--json needs --diff");
    if (!diff_) return step_.check();
    if (!after_) return invalid("--diff needs two placement files");
    if (step_.has_model()) return invalid("--diff and --model exclude each other");
    if (step_.has_placement()) return invalid("--diff and --placement exclude each other");
    if (output_) return invalid("--diff and --output exclude each other");
    return ok();
  }

  Status run(Output& output) override { return diff_ ? compare(output) : write(output); }

 private:
  Status write(Output& output) const {
    SHUNT_ASSIGN(const PlacedModel model, step_.place());
    const PlacedStep& placed = model.step;
    std::vector<std::string> notes = {
        fmt::format("{}, a step of {}, context {}", step_.path(),
                    counted(static_cast<std::uint64_t>(placed.tokens), "token"), placed.context),
        fmt::format("Predicted: {:.3f} ms per step, from {}",
                    placed.placement.predicted_seconds * 1e3,
                    placed.measured ? "measurements" : "estimates"),
        "Edit the devices, then use shunt run --placement FILE. A view (=) follows its memory."};
    if (placed.measured) notes.insert(notes.end(), placed.times.begin(), placed.times.end());
    std::vector<TranscodedWeight> transcoded;
    for (const Conversion& conversion : placed.placement.conversions) {
      const auto device = static_cast<std::size_t>(conversion.device);
      transcoded.push_back(describe_conversion(
          *placed.graph, conversion, std::string(placed.placement.devices[device]->name())));
    }
    for (std::string& line : to_lines(transcoded)) notes.push_back(std::move(line));
    const std::string text = write_placement(*placed.graph, placed.placement, notes);
    if (output_) return output.write_file(*output_, text);
    output.write(text);
    return ok();
  }

  Status compare(Output& output) const {
    SHUNT_ASSIGN(const PlacementFile before, load_placement(*before_));
    SHUNT_ASSIGN(const PlacementFile after, load_placement(*after_));
    const auto changes = compare_placements(before, after);
    if (json_) {
      output.write(to_json(changes));
      return ok();
    }
    std::string text;
    for (const PlacementChange& change : changes) text += to_line(change) + "\n";
    output.write(text + fmt::format("{} of {} nodes differ\n", changes.size(),
                                    std::max(before.lines.size(), after.lines.size())));
    return ok();
  }

  StepFlags step_;
  std::optional<std::string> output_;
  std::optional<std::string> before_;
  std::optional<std::string> after_;
  bool diff_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_place_command() {
  return std::make_unique<PlaceCommand>();
}

}  // namespace shunt::cli
