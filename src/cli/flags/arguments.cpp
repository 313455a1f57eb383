#include "cli/flags/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>
#include <vector>

#include "cli/flags/near_names.h"
#include "shunt/message.h"

namespace shunt::cli {

namespace {

/// The path in an optional value, or none.
FileArguments::Paths paths_of(const std::optional<std::string>& value) {
  return [&value] { return value ? std::vector<std::string>{*value} : std::vector<std::string>(); };
}

FileArguments::Paths paths_of(const std::string& value) {
  return [&value] { return std::vector<std::string>{value}; };
}

/// "--output" of "-o,--output".
std::string label_of(const std::string& names) {
  const std::size_t comma = names.find(',');
  return comma == std::string::npos ? names : names.substr(comma + 1);
}

}  // namespace

Arguments::Arguments(const std::string& command, const std::string& summary,
                     const std::string& footer)
    : app_(std::make_unique<CLI::App>(summary, command)) {
  app_->footer(footer);
  app_->get_formatter()->column_width(30);
  app_->set_help_flag("-h,--help", "Show this help");
}

Arguments::~Arguments() = default;

void Arguments::flag(const std::string& names, bool& value, const std::string& help) {
  app_->add_flag(names, value, help)->disable_flag_override()->group(group_);
}

void Arguments::value(const std::string& names, const std::string& placeholder,
                      const std::string& help, std::function<Status(const std::string&)> set) {
  const auto callback = [names, set = std::move(set)](const CLI::results_t& results) {
    const Status status = set(results.front());
    if (!status) throw CLI::ValidationError(label_of(names), status.error().message());
    return true;
  };
  CLI::Option* option = app_->add_option(names, callback, help);
  option->option_text(names.front() == '-' ? placeholder : " ");
  if (names.front() == '-') option->group(group_);
}

void Arguments::each(const std::string& names, const std::string& placeholder,
                     const std::string& help, std::function<Status(const std::string&)> set) {
  const auto callback = [names, set = std::move(set)](const CLI::results_t& results) {
    for (const std::string& result : results) {
      const Status status = set(result);
      if (!status) throw CLI::ValidationError(label_of(names), status.error().message());
    }
    return true;
  };
  CLI::Option* option = app_->add_option(names, callback, help);
  option->option_text(placeholder + " ...")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(names.front() != '-');  // of an operand
  if (names.front() == '-') option->group(group_);
}

void Arguments::text(const std::string& names, const std::string& placeholder,
                     const std::string& help, std::optional<std::string>& value) {
  this->value(names, placeholder, help, [&value](const std::string& text) {
    value = text;
    return ok();
  });
}

void Arguments::file(const std::string& names, const std::string& help,
                     std::optional<std::string>& value) {
  this->value(names, "FILE", help, [&value](const std::string& text) -> Status {
    if (text.empty()) return invalid("the name of the file is empty");
    value = text;
    return ok();
  });
}

void Arguments::required(const std::string& name, const std::string& help, std::string& value) {
  this->value(name, "", help, [&value](const std::string& text) -> Status {
    if (text.empty()) return invalid("it is empty");
    value = text;
    return ok();
  });
  app_->get_option(name)->required();
}

void Arguments::input(const std::string& names, const std::string& help,
                      std::optional<std::string>& value) {
  file(names, help, value);
  files_.add_input(label_of(names), paths_of(value));
}

void Arguments::stream_input(const std::string& names, const std::string& help,
                             std::optional<std::string>& value) {
  file(names, help, value);
  files_.add_stream_input(label_of(names), paths_of(value));
}

void Arguments::output(const std::string& names, const std::string& help, OutputFormat format,
                       std::optional<std::string>& value) {
  file(names, help, value);
  files_.add_output(label_of(names), format, paths_of(value));
}

void Arguments::required_input(const std::string& name, const std::string& help,
                               std::string& value) {
  required(name, help, value);
  files_.add_input(name, paths_of(value));
}

void Arguments::required_output(const std::string& name, const std::string& help,
                                OutputFormat format, std::string& value) {
  required(name, help, value);
  files_.add_output(name, format, paths_of(value));
}

Result<bool> Arguments::parse(std::span<const std::string> arguments) {
  std::vector<std::string> reversed;  // CLI11 parses from the back
  bool operands_only = false;
  for (const std::string& argument : arguments) {
    operands_only = operands_only || argument == "--";
    // "--prompt=" means an empty value; CLI11 would take the next argument for it.
    if (!operands_only && argument.size() > 3 && argument.starts_with("--") &&
        argument.find('=') == argument.size() - 1) {
      reversed.push_back(argument.substr(0, argument.size() - 1));
      reversed.emplace_back();
    } else {
      reversed.push_back(argument);
    }
  }
  std::ranges::reverse(reversed);
  try {
    app_->parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    return false;
  } catch (const CLI::ExtrasError&) {
    return unexpected(app_->remaining().front());
  } catch (const CLI::ParseError& error) {
    return refused(error, arguments.back());
  }
  return true;
}

Error Arguments::unexpected(const std::string& argument) const {
  if (!argument.starts_with('-')) return invalid("unexpected argument \"{}\"", argument);
  const std::string name = argument.substr(0, argument.find('='));
  std::vector<std::string> known;
  for (const CLI::Option* option : app_->get_options()) {
    for (const std::string& other : option->get_lnames()) known.push_back("--" + other);
  }
  const std::vector<std::string_view> names(known.begin(), known.end());
  return invalid("there is no option \"{}\"{}", name, did_you_mean(name, names));
}

Error Arguments::refused(const std::exception& error, const std::string& last) const {
  for (const CLI::Option* option : app_->get_options()) {
    if (option->count() > 1 && option->get_multi_option_policy() != CLI::MultiOptionPolicy::TakeAll)
      return invalid("{} is given twice", option->get_name());
  }
  // CLI11 says "1 required missing", which can happen only at the end.
  const bool missing = dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr &&
                       std::string_view(error.what()).ends_with("missing");
  if (missing) return invalid("{} needs a value", last);
  return invalid("{}", error.what());
}

std::string Arguments::help() const {
  return app_->help();
}

}  // namespace shunt::cli
