// Messages for people on stderr. A Logger is a value that is handed to the code that needs it. A
// library that is embedded must not write where its host did not ask it to, so the default one
// writes nothing.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <string>

namespace shunt {

enum class LogLevel : unsigned char { kDebug, kInfo, kWarning, kError };

/// Cheap to copy; may be used from many threads if its sink may.
class Logger {
 public:
  using Sink = std::function<void(LogLevel, const std::string&)>;
  Logger() = default;
  explicit Logger(Sink sink) : sink_(std::move(sink)) {}

  void write(LogLevel level, const std::string& message) const {
    if (sink_) sink_(level, message);
  }
  template <class... Args>
  void info(fmt::format_string<Args...> format, Args&&... args) const {
    if (sink_) sink_(LogLevel::kInfo, fmt::format(format, std::forward<Args>(args)...));
  }
  template <class... Args>
  void warn(fmt::format_string<Args...> format, Args&&... args) const {
    if (sink_) sink_(LogLevel::kWarning, fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  Sink sink_;
};

/// A logger that writes lines of at least `level` to stderr.
Logger stderr_logger(LogLevel level);

}  // namespace shunt
