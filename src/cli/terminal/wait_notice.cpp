#include "cli/terminal/wait_notice.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "cli/terminal/interrupt.h"
#include "cli/terminal/output.h"

namespace shunt::cli {
namespace {

constexpr int kNoTimeout = -1;
constexpr int kDelay = 1000;  // milliseconds

/// Which of two files can be read from, or is closed at its other end; neither once the time is up.
/// A file of -1 never is.
std::array<bool, 2> wait_for(int first, int second, int milliseconds) {
  std::array<pollfd, 2> files = {{{first, POLLIN, 0}, {second, POLLIN, 0}}};
  while (::poll(files.data(), files.size(), milliseconds) < 0 && errno == EINTR) {
  }
  return {files[0].revents != 0, files[1].revents != 0};
}

}  // namespace

WaitNotice::Over WaitNotice::make_over() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return {Descriptor(-1), Descriptor(-1)};
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

WaitNotice::WaitNotice(std::string what) : what_(std::move(what)) {
  if (over_.read.get() < 0) return;
  try {
    thread_ = std::thread([this] { watch(); });
  } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch): work goes on without it
  }
}

WaitNotice::~WaitNotice() {
  if (over_.write.get() >= 0) ::close(over_.write.release());
  if (thread_.joinable()) thread_.join();
}

void WaitNotice::watch() const {
  const auto [over, signalled] =
      wait_for(over_.read.get(), Interrupt::signalled_file(), kNoTimeout);
  if (over || !signalled) return;
  if (wait_for(over_.read.get(), -1, kDelay)[0]) return;
  if (::isatty(STDERR_FILENO) == 1) print_stderr("\n");  // after a text or a progress, and "^C"
  print_message(
      fmt::format("waiting for {} to end; a second Ctrl-C ends the process at once", what_));
}

}  // namespace shunt::cli
