#include "cli/terminal/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "cli/terminal/output.h"

namespace shunt::cli {

Progress::Progress(std::string what, std::uint64_t large)
    : what_(std::move(what)), large_(large), terminal_(::isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  clear();
}

void Progress::show(std::uint64_t done, std::uint64_t total) {
  if (!terminal_ || total == 0) return;
  if (total < large_ && Clock::now() - start_ < std::chrono::seconds(1)) return;
  const int percent =
      static_cast<int>(100 * static_cast<double>(done) / static_cast<double>(total));
  if (percent == percent_) return;
  percent_ = percent;
  print_stderr(fmt::format("\r{}: {} %", what_, percent));
}

void Progress::clear() {
  if (percent_ >= 0) print_stderr("\r\033[K");
  percent_ = -1;
}

}  // namespace shunt::cli
