// Standard output: results, or an output file that is "-".
#pragma once

#include <string>
#include <string_view>

#include "shunt/error.h"

namespace shunt::cli {

class Output {
 public:
  /// Writes a result at once, without a buffer. False once it has failed; then nothing is written
  /// any more.
  bool write(std::string_view text);
  /// From now on results go to stderr, because a file goes to standard output. A result that can't
  /// be written there is no failure.
  void divert() { diverted_ = true; }
  /// Writes the content of an output file, all of it: to standard output if the path is "-", with
  /// errors as in result(). Otherwise the errors of shunt::write_file().
  Status write_file(const std::string& path, std::string_view text);
  bool failed() const { return error_ != 0; }
  /// Io if something could not be written. A reader that went away (`| head`) is no error: it has
  /// seen all that it wanted.
  Status result() const;

 private:
  int error_ = 0;  // an errno
  bool diverted_ = false;
};

/// Prints one line on stderr, "shunt: MESSAGE".
void print_message(std::string_view message);
/// Prints the text on stderr, unchanged.
void print_stderr(std::string_view text);

}  // namespace shunt::cli
