// `shunt ops`: the operations there are, as they document themselves.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/fail.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/near_names.h"
#include "ops/list.h"
#include "shunt/check_ops.h"

namespace shunt::cli {
namespace {

std::string joined_sources(const OpInfo& info) {
  return fmt::format("{}", fmt::join(info.sources, ", "));
}

std::string_view storage_of(const OpInfo& info) {
  switch (info.storage) {
    case Storage::kOwn:
      return "own";
    case Storage::kView:
      return "view";
    case Storage::kIntoFirst:
      return "into first source";
  }
  return "unknown";
}

std::string_view gradient_of(const Op& op) {
  return op.has_gradient() ? "yes" : "no";
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

std::string to_plain_text(std::span<const Op* const> ops) {
  std::string text;
  std::size_t cases = 0;
  std::string_view family;
  for (const Op* op : ops) {
    const OpInfo& info = op->info();
    if (info.family != family) {
      text += fmt::format("{}{}\n", family.empty() ? "" : "\n", info.family);
    }
    family = info.family;
    const std::string parameters = op->describe_defaults();
    text += fmt::format("  {}({}{}{})\n", info.name, joined_sources(info),
                        parameters.empty() ? "" : "; ", parameters);
    text += fmt::format("      {}\n", info.summary);
    cases += case_count(info.name);
  }
  return text + fmt::format("\n{} ops, {} test cases (shunt check-ops)\n", ops.size(), cases);
}

std::string to_markdown(std::span<const Op* const> ops) {
  std::string text =
      "| op | family | sources | parameters | gradient | function |\n"
      "| --- | --- | --- | --- | --- | --- |\n";
  for (const Op* op : ops) {
    const OpInfo& info = op->info();
    text += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", info.name, info.family,
                        cell(joined_sources(info)), cell(op->describe_defaults()), gradient_of(*op),
                        cell(info.summary));
  }
  return text;
}

std::string in_full(const Op& op) {
  const OpInfo& info = op.info();
  const std::string parameters = op.describe_defaults();
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
      info.name, info.family, joined_sources(info), parameters.empty() ? "none" : parameters,
      info.storage == Storage::kOwn    ? "in memory of its own"
      : info.storage == Storage::kView ? "a view of the first source"
                                       : "written into the first source",
      gradient_of(op), case_count(info.name), info.summary);
}

Json to_json(const Op& op) {
  const OpInfo& info = op.info();
  Json sources = Json::array();
  for (std::string_view source : info.sources) {
    const bool optional = source.ends_with('?');
    if (optional) source.remove_suffix(1);
    sources.push_back({{"name", source}, {"optional", optional}});
  }
  return {{"name", info.name},
          {"family", info.family},
          {"sources", sources},
          {"parameters", op.describe_defaults()},
          {"storage", storage_of(info)},
          {"summary", info.summary},
          {"gradient", op.has_gradient()},
          {"cases", case_count(info.name)}};
}

class OpsCommand final : public Command {
 public:
  const CommandInfo& info() const override {
    static constexpr CommandInfo kInfo = {"ops", "list the operations, or show one in full",
                                          "  shunt ops\n"
                                          "  shunt ops rms_norm\n"
                                          "  shunt ops --markdown > ops.md"};
    return kInfo;
  }
  void declare(Arguments& arguments) override {
    arguments.text("NAME", "", "Show this op in full", name_);
    arguments.flag("--json", json_, "Print JSON");
    arguments.flag("--markdown", markdown_, "Print a table in Markdown");
  }
  Status check() override {
    if (json_ && markdown_) return invalid("--json and --markdown exclude each other");
    if (!name_) {
      ops_.assign(all_ops().begin(), all_ops().end());
      return ok();
    }
    if (const Op* op = find_op(*name_)) {
      ops_ = {op};
      return ok();
    }
    std::vector<std::string_view> names;
    for (const Op* op : all_ops()) names.push_back(op->info().name);
    return invalid("there is no op \"{}\"{}", *name_, did_you_mean(*name_, names));
  }
  Status run(Output& output) override {
    if (json_) {
      Json json = Json::array();
      for (const Op* op : ops_) json.push_back(to_json(*op));
      output.write(to_text(name_ ? json.front() : json));
    } else if (markdown_) {
      output.write(to_markdown(ops_));
    } else {
      output.write(name_ ? in_full(*ops_.front()) : to_plain_text(ops_));
    }
    return ok();
  }

 private:
  std::optional<std::string> name_;
  bool json_ = false;
  bool markdown_ = false;
  std::vector<const Op*> ops_;
};

}  // namespace

std::unique_ptr<Command> make_ops_command() {
  return std::make_unique<OpsCommand>();
}

}  // namespace shunt::cli
