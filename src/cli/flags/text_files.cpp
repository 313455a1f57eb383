#include "cli/flags/text_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "shunt/files.h"
#include "shunt/message.h"

namespace shunt::cli {

Result<std::string> read_whole_file(const std::string& path, std::size_t most) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) {
    const auto code = errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo;
    return fail(code, "cannot open {}: {}", path, system_message(errno));
  }
  std::string text;
  std::array<char, 1 << 16> chunk;
  while (true) {
    const ssize_t count = ::read(file.get(), chunk.data(), chunk.size());
    if (count == 0) return text;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(ErrorCode::kIo, "cannot read {}: {}", path, system_message(errno));
    text.append(chunk.data(), static_cast<std::size_t>(count));
    if (text.size() > most) {
      return fail(ErrorCode::kBadFile, "{}: the file has more than {} bytes", path, most);
    }
  }
}

}  // namespace shunt::cli
