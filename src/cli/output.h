// Standard output, where results go and nothing else.
#pragma once

#include <string_view>

#include "shunt/error.h"

namespace shunt::cli {

class Output {
 public:
  /// Writes at once, without a buffer. False once it has failed; then nothing is written any more.
  bool write(std::string_view text);
  bool failed() const { return error_ != 0; }
  /// Io if something could not be written. That the reader went away (`| head`) is no error: it has
  /// seen what it wanted.
  Status result() const;

 private:
  int error_ = 0;  // an errno
};

/// One line on stderr, "shunt: MESSAGE".
void say(std::string_view message);
/// The text as it is on stderr.
void say_plain(std::string_view text);

}  // namespace shunt::cli
