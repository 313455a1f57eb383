// `shunt ops`: the operations there are, as they document themselves.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/flags/near_names.h"
#include "cli/report/json.h"
#include "shunt/check_ops.h"
#include "shunt/message.h"
#include "shunt/op_list.h"

namespace shunt::cli {
namespace {

/// "x, weight?"
std::string joined_sources(const OpDescription& op) {
  std::string text;
  for (const OpSource& source : op.sources) {
    text +=
        fmt::format("{}{}{}", text.empty() ? "" : ", ", source.name, source.optional ? "?" : "");
  }
  return text;
}

std::string_view gradient_of(const OpDescription& op) {
  return op.has_gradient ? "yes" : "no";
}

std::string_view result_of(const OpDescription& op) {
  return op.storage == "own"    ? "a new tensor"
         : op.storage == "view" ? "a view of the first source"
                                : "written into the first source";
}

/// Text in a cell of a Markdown table.
std::string cell(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '|') result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result;
}

std::string to_plain_text(std::span<const OpDescription> ops) {
  std::string text;
  std::size_t cases = 0;
  std::string_view family;
  for (const OpDescription& op : ops) {
    if (op.family != family) {
      text += fmt::format("{}{}\n", family.empty() ? "" : "\n", op.family);
    }
    family = op.family;
    text += fmt::format("  {}({}{}{})\n", op.name, joined_sources(op),
                        op.parameters.empty() ? "" : "; ", op.parameters);
    text += fmt::format("      {}\n", op.summary);
    cases += case_count(op.name);
  }
  return text + fmt::format("\n{} ops, {} test cases (shunt check-ops)\n", ops.size(), cases);
}

std::string to_markdown(std::span<const OpDescription> ops) {
  std::string text =
      "| op | family | sources | parameters | gradient | function |\n"
      "| --- | --- | --- | --- | --- | --- |\n";
  for (const OpDescription& op : ops) {
    text += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", op.name, op.family,
                        cell(joined_sources(op)), cell(op.parameters), gradient_of(op),
                        cell(op.summary));
  }
  return text;
}

std::string in_full(const OpDescription& op) {
  return fmt::format(
      "{}\n"
      "  family      {}\n"
      "  sources     {}\n"
      "  parameters  {}\n"
      "  result      {}\n"
      "  gradient    {}\n"
      "  test cases  {}\n"
      "\n"
      "  {}\n",
      op.name, op.family, joined_sources(op), op.parameters.empty() ? "none" : op.parameters,
      result_of(op), gradient_of(op), case_count(op.name), op.summary);
}

Json to_json(const OpDescription& op) {
  Json sources = Json::array();
  for (const OpSource& source : op.sources) {
    sources.push_back({{"name", source.name}, {"optional", source.optional}});
  }
  return {{"name", op.name},
          {"family", op.family},
          {"sources", sources},
          {"parameters", op.parameters},
          {"storage", op.storage},
          {"summary", op.summary},
          {"gradient", op.has_gradient},
          {"cases", case_count(op.name)}};
}

class OpsCommand final : public Command {
 public:
  const CommandInfo& info() const override {
    static constexpr CommandInfo kInfo = {"ops", "list the ops, or describe one",
                                          "  shunt ops\n"
                                          "  shunt ops rms_norm\n"
                                          "  shunt ops --markdown > ops.md"};
    return kInfo;
  }
  void declare(Arguments& arguments) override {
    arguments.text("NAME", "", "Describe this op", name_);
    arguments.flag("--json", json_, "Print JSON");
    arguments.flag("--markdown", markdown_, "Print a table in Markdown");
  }
  Status check() override {
    if (json_ && markdown_) return invalid("--json and --markdown exclude each other");
    ops_ = describe_ops();
    if (!name_) return ok();
    const auto found = std::ranges::find(ops_, *name_, &OpDescription::name);
    if (found != ops_.end()) {
      ops_ = {*found};
      return ok();
    }
    std::vector<std::string_view> names;
    names.reserve(ops_.size());
    for (const OpDescription& op : ops_) names.push_back(op.name);
    return invalid("there is no op \"{}\"{}", *name_, did_you_mean(*name_, names));
  }
  Status run(Output& output) override {
    if (json_) {
      Json json = Json::array();
      for (const OpDescription& op : ops_) json.push_back(to_json(op));
      output.write(to_text(name_ ? json.front() : json));
    } else if (markdown_) {
      output.write(to_markdown(ops_));
    } else {
      output.write(name_ ? in_full(ops_.front()) : to_plain_text(ops_));
    }
    return ok();
  }

 private:
  std::optional<std::string> name_;
  bool json_ = false;
  bool markdown_ = false;
  std::vector<OpDescription> ops_;
};

}  // namespace

std::unique_ptr<Command> make_ops_command() {
  return std::make_unique<OpsCommand>();
}

}  // namespace shunt::cli
