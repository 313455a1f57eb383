#include "cli/flags/text_files.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "cli/terminal/output.h"
#include "shunt/files.h"
#include "shunt/message.h"

namespace shunt::cli {
namespace {

Result<std::string> read_all(int file, const std::string& name, std::size_t most) {
  std::string text;
  std::array<char, 1 << 16> chunk;
  while (true) {
    const ssize_t count = ::read(file, chunk.data(), chunk.size());
    if (count == 0) return text;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(ErrorCode::kIo, "cannot read {}: {}", name, system_message(errno));
    text.append(chunk.data(), static_cast<std::size_t>(count));
    if (text.size() > most) {
      return fail(ErrorCode::kBadFile, "{}: there are more than {} bytes, the limit", name, most);
    }
  }
}

}  // namespace

Result<std::string> read_whole_file(const std::string& path, std::size_t most) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) {
    const auto code = errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo;
    return fail(code, "cannot open {}: {}", path, system_message(errno));
  }
  return read_all(file.get(), path, most);
}

Result<std::string> read_standard_input(std::size_t most, const std::string& waiting) {
  constexpr int kMilliseconds = 1000;
  pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  if (::poll(&input, 1, kMilliseconds) == 0) print_message(waiting);
  return read_all(STDIN_FILENO, "standard input", most);
}

}  // namespace shunt::cli
