// The flags and operands of a subcommand, each declared with the variable for its value. CLI11 does
// the parsing. Only arguments.cpp includes it, because it compiles slowly.
#pragma once

#include <fmt/format.h>

#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "cli/flags/file_arguments.h"
#include "cli/flags/parse_number.h"
#include "shunt/error.h"

namespace CLI {
class App;
}

namespace shunt::cli {

class Arguments {
 public:
  /// `footer` stands at the end of the help.
  Arguments(const std::string& command, const std::string& summary, const std::string& footer);
  ~Arguments();
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  /// The heading in the help of the flags that are declared next; operands have their own.
  void group(std::string_view name = "Options") { group_ = name; }

  // `names` is "-n,--number" for a flag, "TEXT" for an operand; `placeholder` stands for the value
  // in the help. The variables for the values must outlive parse().

  void flag(const std::string& names, bool& value, const std::string& help);
  /// A value that `set` parses. An error of `set` is wrong usage.
  void value(const std::string& names, const std::string& placeholder, const std::string& help,
             std::function<Status(const std::string&)> set);
  /// The same for a repeatable flag, or for any number of operands.
  void each(const std::string& names, const std::string& placeholder, const std::string& help,
            std::function<Status(const std::string&)> set);
  void text(const std::string& names, const std::string& placeholder, const std::string& help,
            std::optional<std::string>& value);
  /// The name of a file to read, which is not empty.
  void input(const std::string& names, const std::string& help, std::optional<std::string>& value);
  /// The same for a file that is standard input if it is "-".
  void stream_input(const std::string& names, const std::string& help,
                    std::optional<std::string>& value);
  /// The name of a file to write, which is not empty.
  void output(const std::string& names, const std::string& help, OutputFormat format,
              std::optional<std::string>& value);
  /// An operand that must be there, and is not empty.
  void required(const std::string& name, const std::string& help, std::string& value);
  void required_input(const std::string& name, const std::string& help, std::string& value);
  void required_output(const std::string& name, const std::string& help, OutputFormat format,
                       std::string& value);

  /// A number from `low` to `high`. The help tells the default, which is the current content of
  /// `value`.
  template <class T>
  void number(const std::string& names, const std::string& help, T& value,
              T low = std::numeric_limits<T>::lowest(), T high = std::numeric_limits<T>::max()) {
    this->value(names, "N", fmt::format("{} (default {})", help, value),
                number_setter(value, low, high));
  }
  /// The same without a default.
  template <class T>
  void number(const std::string& names, const std::string& help, std::optional<T>& value,
              T low = std::numeric_limits<T>::lowest(), T high = std::numeric_limits<T>::max()) {
    this->value(names, "N", help, number_setter(value, low, high));
  }

  /// Fills in all values. True if there is work to do; false if the help was asked for, which is
  /// then in help(). Invalid for an argument that was not declared or makes no sense.
  Result<bool> parse(std::span<const std::string> arguments);
  std::string help() const;

  /// The files that the arguments name. A subcommand adds files that no argument names.
  FileArguments& files() { return files_; }
  const FileArguments& files() const { return files_; }

 private:
  template <class Value, class T>
  static std::function<Status(const std::string&)> number_setter(Value& value, T low, T high) {
    return [&value, low, high](const std::string& text) -> Status {
      SHUNT_ASSIGN(value, parse_number<T>(text, low, high));
      return ok();
    };
  }

  Error unexpected(const std::string& argument) const;
  Error refused(const std::exception& error, const std::string& last) const;

  void file(const std::string& names, const std::string& help, std::optional<std::string>& value);

  std::unique_ptr<CLI::App> app_;
  std::string group_ = "Options";
  FileArguments files_;
};

}  // namespace shunt::cli
