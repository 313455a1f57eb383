// Where a text comes from: a flag, an operand, a file, or standard input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/flags/arguments.h"
#include "shunt/error.h"

namespace shunt::cli {

class TextSource {
 public:
  /// `operand` is its name in the help, "PROMPT"; `flag` another way to give it, or empty.
  TextSource(std::string operand, std::string flag);
  void declare(Arguments& arguments);
  /// Another flag that excludes this source. If it has a value, standard input is not read for this
  /// one. `value` must outlive this. May be called several times.
  void add_rival(const std::string& flag, const std::optional<std::string>& value);
  /// Invalid if it is given twice, or together with a rival.
  Status check() const;
  bool given() const { return flag_text_ || operand_text_ || file_; }

  /// The text as valid UTF-8. Invalid bytes become U+FFFD, and a warning tells so. Standard input
  /// is read if no source is given and it is not a terminal; if it is, there is no text.
  Result<std::optional<std::string>> read() const;
  /// Invalid, with the remedy, if a text of `tokens` tokens is no whole chunk.
  Status check_length(std::size_t tokens, std::int64_t chunk) const;
  /// Whether the text comes from a file or standard input. Its last line end is no part of a
  /// prompt then.
  bool is_file() const { return !flag_text_ && !operand_text_; }
  /// The name of the file, or of another source.
  std::string name() const;

 private:
  struct Rival {
    std::string flag;
    const std::optional<std::string>* value;
  };
  std::ptrdiff_t rivals_given() const;
  Result<std::optional<std::string>> read_bytes() const;

  std::string operand_;
  std::string flag_;
  std::optional<std::string> flag_text_;
  std::optional<std::string> operand_text_;
  std::optional<std::string> file_;
  std::vector<Rival> rivals_;
};

}  // namespace shunt::cli
