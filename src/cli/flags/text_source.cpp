#include "cli/flags/text_source.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "cli/flags/text_files.h"
#include "cli/terminal/output.h"
#include "shunt/message.h"
#include "shunt/text.h"

namespace shunt::cli {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 30;  // the limit of a tokenizer

/// `optional`: the text may be empty.
std::string waiting_line(bool optional) {
  return optional ? "waiting for the prompt on standard input; use < /dev/null for an empty prompt"
                  : "waiting for the text on standard input";
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
    return given() || rivals_given() > 0 ? std::vector<std::string>()
                                         : std::vector<std::string>{"-"};
  });
}

std::string TextSource::name() const {
  if (!is_file()) return "command line";
  return file_ && *file_ != "-" ? *file_ : "standard input";
}

void TextSource::add_rival(const std::string& flag, const std::optional<std::string>& value) {
  rivals_.push_back({flag, &value});
}

std::ptrdiff_t TextSource::rivals_given() const {
  return std::ranges::count_if(rivals_,
                               [](const Rival& rival) { return rival.value->has_value(); });
}

Status TextSource::check() const {
  const std::ptrdiff_t count = int{flag_text_.has_value()} + int{operand_text_.has_value()} +
                               int{file_.has_value()} + rivals_given();
  static constexpr std::string_view kTimes[] = {"two", "three", "four", "five"};
  if (count <= 1) return ok();
  std::vector<std::string> sources;
  if (!flag_.empty()) sources.push_back(flag_.substr(flag_.find(',') + 1));
  sources.insert(sources.end(), {operand_, "--file"});
  for (const Rival& rival : rivals_) sources.push_back(rival.flag);
  const std::string last = std::move(sources.back());
  sources.pop_back();
  return invalid("the text is given {} times: {} and {} exclude each other", kTimes[count - 2],
                 fmt::join(sources, ", "), last);
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
    text = read_whole_file(*file_, kMostBytes);
  } else if (!file_ && ::isatty(STDIN_FILENO) == 1) {
    return std::optional<std::string>();
  } else {
    text = read_standard_input(kMostBytes, waiting_line(operand_ == "PROMPT"));
  }
  if (!text) return std::move(text.error());
  return std::optional(std::move(*text));
}

}  // namespace shunt::cli
