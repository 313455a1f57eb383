#include "cli/flags/text_source.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "cli/terminal/output.h"
#include "shunt/files.h"
#include "shunt/message.h"
#include "shunt/text.h"

namespace shunt::cli {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 30;  // the limit of a tokenizer

Result<std::string> read_all(int file, const std::string& name) {
  std::string text;
  std::array<char, 1 << 16> chunk;
  while (true) {
    const ssize_t count = ::read(file, chunk.data(), chunk.size());
    if (count == 0) return text;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      return fail(ErrorCode::kIo, "cannot read {}: {}", name, system_message(errno));
    }
    text.append(chunk.data(), static_cast<std::size_t>(count));
    if (text.size() > kMostBytes) {
      return invalid("{}: the text has more than {} bytes, the limit", name, kMostBytes);
    }
  }
}

/// Prints a line if standard input has no data for a second. `optional`: the text may be empty.
void explain_wait(bool optional) {
  constexpr int kMilliseconds = 1000;
  pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  if (::poll(&input, 1, kMilliseconds) == 0) {
    print_message(
        optional ? "waiting for the prompt on standard input; use < /dev/null for an empty prompt"
                 : "waiting for the text on standard input");
  }
}

Result<std::string> read_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) {
    const auto code = errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo;
    return fail(code, "cannot open {}: {}", path, system_message(errno));
  }
  return read_all(file.get(), path);
}

}  // namespace

TextSource::TextSource(std::string operand, std::string flag)
    : operand_(std::move(operand)), flag_(std::move(flag)) {}

void TextSource::declare(Arguments& arguments) {
  const std::string text = operand_ == "PROMPT" ? "prompt" : "text";
  if (!flag_.empty()) arguments.text(flag_, "TEXT", "Use this " + text, flag_text_);
  arguments.text(
      operand_, "",
      fmt::format("Use this {} (default: standard input, unless it is a terminal)", text),
      operand_text_);
  arguments.stream_input("-f,--file",
                         fmt::format("Read the {} from this file; -: standard input", text), file_);
  arguments.files().add_stream_input("standard input", [this] {
    return given() ? std::vector<std::string>() : std::vector<std::string>{"-"};
  });
}

std::string TextSource::name() const {
  if (!is_file()) return "command line";
  return file_ && *file_ != "-" ? *file_ : "standard input";
}

Status TextSource::check() const {
  const int count =
      int{flag_text_.has_value()} + int{operand_text_.has_value()} + int{file_.has_value()};
  if (count <= 1) return ok();
  const std::string flag = flag_.empty() ? "" : flag_.substr(flag_.find(',') + 1) + ", ";
  return invalid("the text is given {} times: {}{} and --file exclude each other",
                 count == 2 ? "two" : "three", flag, operand_);
}

Status TextSource::check_length(std::size_t tokens, std::int64_t chunk) const {
  if (tokens >= static_cast<std::size_t>(std::max<std::int64_t>(chunk, 1))) return ok();
  return invalid("{}: the text has {}, but a chunk has {}; use a longer text or a smaller --ctx",
                 name(), counted(tokens, "token"), chunk);
}

Result<std::optional<std::string>> TextSource::read() const {
  SHUNT_ASSIGN(std::optional<std::string> bytes, read_bytes());
  if (!bytes) return bytes;
  text::SanitizedText sanitized = text::sanitize_utf8(*bytes);
  if (sanitized.changed) {
    print_message("warning: the text is not valid UTF-8; invalid bytes are read as U+FFFD");
  }
  return std::optional(std::move(sanitized.text));
}

Result<std::optional<std::string>> TextSource::read_bytes() const {
  if (flag_text_) return flag_text_;
  if (operand_text_) return operand_text_;
  Result<std::string> text = std::string();
  if (file_ && *file_ != "-") {
    text = read_file(*file_);
  } else if (!file_ && ::isatty(STDIN_FILENO) == 1) {
    return std::optional<std::string>();
  } else {
    explain_wait(operand_ == "PROMPT");
    text = read_all(STDIN_FILENO, "standard input");
  }
  if (!text) return std::move(text.error());
  return std::optional(std::move(*text));
}

}  // namespace shunt::cli
