#include "cli/terminal/output.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "cli/flags/file_arguments.h"
#include "shunt/files.h"
#include "shunt/message.h"

namespace shunt::cli {
namespace {

/// All of it, or an errno.
int write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {  // the terminal was made non-blocking
      pollfd wait = {file, POLLOUT, 0};
      ::poll(&wait, 1, -1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

}  // namespace

bool Output::write(std::string_view text) {
  if (diverted_) {
    write_all(STDERR_FILENO, text);
  } else if (error_ == 0) {
    error_ = write_all(STDOUT_FILENO, text);
  }
  return error_ == 0;
}

Status Output::write_file(const std::string& path, std::string_view text) {
  if (path != kStandardStream) return shunt::write_file(path, text, WriteTo::kAnything);
  if (error_ == 0) error_ = write_all(STDOUT_FILENO, text);
  return result();
}

Status Output::result() const {
  if (error_ == 0 || error_ == EPIPE) return ok();
  return fail(ErrorCode::kIo, "cannot write to standard output: {}", system_message(error_));
}

void print_message(std::string_view message) {
  print_stderr("shunt: " + std::string(message) + "\n");
}

void print_stderr(std::string_view text) {
  write_all(STDERR_FILENO, text);
}

}  // namespace shunt::cli
