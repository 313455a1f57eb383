// The files that a subcommand reads and writes. No output overwrites an input of the same run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shunt/error.h"

namespace shunt::cli {

/// The format of an output. Text may also go to standard output ("-"), a pipe or a device; all
/// others must be regular files.
enum class OutputFormat : std::uint8_t { kText, kGguf, kSequence };

/// The path that stands for standard input or output.
inline constexpr std::string_view kStandardStream = "-";

class FileArguments {
 public:
  /// Gives the paths once the arguments are parsed.
  using Paths = std::function<std::vector<std::string>()>;

  /// `label`: the flag or operand, for errors. A GGUF file in several parts stands for all parts.
  void add_input(std::string label, Paths paths);
  /// The same for a file that is standard input if it is "-".
  void add_stream_input(std::string label, Paths paths);
  void add_output(std::string label, OutputFormat format, Paths paths);

  /// Invalid if an output is the same file as an input or another output, by device and inode or by
  /// path. Also invalid if another format than text, or more than one output, is to go to standard
  /// output.
  Status check() const;
  /// Whether each output can be created: NotFound or Io if not. So long work fails at its start.
  /// Leaves no trace.
  Status probe() const;
  /// Whether an output goes to standard output.
  bool uses_standard_output() const;

 private:
  struct Input {
    std::string label;
    Paths paths;
    bool is_stream = false;
  };
  struct Output {
    std::string label;
    OutputFormat format = OutputFormat::kText;
    Paths paths;
  };
  struct NamedPath {
    std::string label;
    std::string path;
  };
  /// All files that are read, with the parts of GGUF files.
  std::vector<NamedPath> read_paths() const;
  /// check() for one output. Adds it to `written`.
  static Status check_output(const Output& output, const std::string& path,
                             std::span<const NamedPath> read, std::vector<NamedPath>& written);

  std::vector<Input> inputs_;
  std::vector<Output> outputs_;
};

/// The absolute path without links and dots, as far as the path exists. Where the system refuses to
/// look, links stay.
std::filesystem::path resolved_path(const std::string& path);
/// Whether two paths lead to one regular file or block device, or to one name where there is no
/// file yet.
bool is_same_file(const std::string& a, const std::string& b);

}  // namespace shunt::cli
