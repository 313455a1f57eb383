// The `shunt` command: finds the subcommand, and turns errors into exit codes.
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/flags/near_names.h"
#include "cli/terminal/interrupt.h"
#include "shunt/version.h"

namespace shunt::cli {
namespace {

enum ExitCode { kDone = 0, kFailed = 1, kWrongUsage = 2 };  // 128 + N: ended by signal N

/// Opens /dev/null for each closed standard file, so that no other file gets its descriptor.
void keep_standard_files_taken() {
  for (int file = STDIN_FILENO; file <= STDERR_FILENO; ++file) {
    if (::fcntl(file, F_GETFD) == -1) [[maybe_unused]]
      const int same = ::open("/dev/null", O_RDONLY);
  }
}

std::string overview() {
  std::string text =
      "Run language models and other tensor graphs on the CPU and the accelerators of this "
      "machine.\n"
      "usage: shunt COMMAND [ARGUMENTS]\n\n";
  for (const MakeCommand make : all_commands()) {
    const auto command = make();
    text += fmt::format("  {:<15} {}\n", command->info().name, command->info().summary);
  }
  return text +
         "\nshunt COMMAND --help lists the flags of a command. "
         "shunt --version prints the version.\n";
}

/// The commands "GROUP NAME" of a group, such as "bench".
std::string group_overview(const std::string& group) {
  std::string text = fmt::format("usage: shunt {} COMMAND [ARGUMENTS]\n\n", group);
  for (const MakeCommand make : all_commands()) {
    const CommandInfo info = make()->info();
    if (info.name.starts_with(group + " "))
      text += fmt::format("  {:<15} {}\n", info.name, info.summary);
  }
  return text;
}

int wrong_usage(const std::string& message, const std::string& help) {
  print_message(message);
  print_message(fmt::format("see {} --help", help));
  return kWrongUsage;
}

int finish(const Output& output, const Status& status) {
  if (!status) {
    const std::optional<int> interrupted = Interrupt::exit_code();
    if (interrupted && status.error().code() == ErrorCode::kCancelled) return *interrupted;
    print_message(to_text(status.error()));
    return kFailed;
  }
  if (const Status written = output.result(); !written) {
    print_message(written.error().message());
    return kFailed;
  }
  return kDone;
}

int run_command(Command& command, std::span<const std::string> rest, Output& output) {
  const CommandInfo& info = command.info();
  const std::string name = fmt::format("shunt {}", info.name);
  Arguments arguments(name, std::string(info.summary), "Examples:\n" + std::string(info.examples));
  command.declare(arguments);
  const Result<bool> parsed = arguments.parse(rest);
  if (!parsed) return wrong_usage(parsed.error().message(), name);
  if (!*parsed) {
    output.write(arguments.help());
    return finish(output, ok());
  }
  if (const Status checked = command.check(); !checked) {
    return wrong_usage(checked.error().message(), name);
  }
  if (const Status files = arguments.files().check(); !files) {
    return wrong_usage(files.error().message(), name);
  }
  if (arguments.files().uses_standard_output()) output.divert();
  if (const Status probed = arguments.files().probe(); !probed) return finish(output, probed);
  return finish(output, command.run(output));
}

/// The names that the first argument may be: commands, and groups of them.
std::vector<std::string_view> first_words() {
  std::vector<std::string_view> words;
  for (const MakeCommand make : all_commands()) {
    const std::string_view name = make()->info().name;
    const std::string_view word = name.substr(0, name.find(' '));
    if (words.empty() || words.back() != word) words.push_back(word);
  }
  return words;
}

/// The commands of a group without its name; none if there is no such group.
std::vector<std::string_view> commands_in(const std::string& group) {
  std::vector<std::string_view> names;
  for (const MakeCommand make : all_commands()) {
    const std::string_view name = make()->info().name;
    if (name.starts_with(group + " ")) names.push_back(name.substr(group.size() + 1));
  }
  return names;
}

/// For arguments that name no command: the overview of a group, or the error.
int without_command(const std::string& first, const std::string& second, Output& output) {
  const std::vector<std::string_view> in_group = commands_in(first);
  if (in_group.empty()) {
    return wrong_usage(
        fmt::format("there is no {} \"{}\"{}", first.starts_with('-') ? "option" : "command", first,
                    did_you_mean(first, first_words())),
        "shunt");
  }
  if (second == "--help" || second == "-h" || second == "help") {
    output.write(group_overview(first));
    return finish(output, ok());
  }
  const bool has_name = !second.empty() && !second.starts_with('-');
  return wrong_usage(has_name
                         ? fmt::format("{} has no command \"{}\"{} (available: {})", first, second,
                                       did_you_mean(second, in_group), fmt::join(in_group, ", "))
                         : fmt::format("{} needs a command: {}", first, fmt::join(in_group, ", ")),
                     fmt::format("shunt {}", first));
}

int run(const std::vector<std::string>& arguments) {
  Output output;
  if (arguments.empty()) {
    print_stderr(overview());
    return kWrongUsage;
  }
  const std::string& first = arguments.front();
  if (first == "--help" || first == "-h" || first == "help") {
    output.write(overview());
    return finish(output, ok());
  }
  if (first == "--version" || first == "-V") {
    output.write(fmt::format("shunt {}\n", version()));
    return finish(output, ok());
  }
  const std::string second = arguments.size() > 1 ? arguments[1] : "";
  for (const MakeCommand make : all_commands()) {
    const auto command = make();
    const std::string_view name = command->info().name;
    const std::size_t words = name.find(' ') == name.npos ? 1 : 2;
    if (words == 1 ? name == first : name == fmt::format("{} {}", first, second)) {
      return run_command(*command, std::span(arguments).subspan(words), output);
    }
  }
  return without_command(first, second, output);
}

}  // namespace
}  // namespace shunt::cli

int main(int count, char** arguments) {
  using namespace shunt::cli;
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error of write(), not the end
  std::signal(SIGXFSZ, SIG_IGN);  // so is a file that reached its size limit
  keep_standard_files_taken();
  try {
    return run(std::vector<std::string>(arguments + (count > 0 ? 1 : 0), arguments + count));
  } catch (const std::exception& error) {
    print_message(fmt::format("internal error: {}", error.what()));
  } catch (...) {
    print_message("internal error");
  }
  return kFailed;
}
