#include "support/run_command.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "base/file.h"
#include "test_paths.h"

extern char** environ;

namespace shunt::test {
namespace {

using Clock = std::chrono::steady_clock;

void require(bool condition, const char* what) {
  if (!condition) throw std::runtime_error(std::string(what) + ": " + std::strerror(errno));
}

struct Pipe {
  Descriptor read{-1};
  Descriptor write{-1};
};

void close_end(Descriptor& end) {
  if (end.get() >= 0) ::close(end.release());
}

Pipe make_pipe() {
  int ends[2];
  require(::pipe2(ends, O_CLOEXEC) == 0, "pipe2");
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

/// A terminal: `write` is the person's side, `read` the program's.
Pipe make_terminal() {
  Descriptor person(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  require(person.get() >= 0 && ::grantpt(person.get()) == 0 && ::unlockpt(person.get()) == 0,
          "posix_openpt");
  std::array<char, 128> name;
  require(::ptsname_r(person.get(), name.data(), name.size()) == 0, "ptsname_r");
  Descriptor program(::open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC));
  require(program.get() >= 0, "open");
  return {std::move(program), std::move(person)};
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> merged_environment(const std::map<std::string, std::string>& added) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (!added.contains(std::string(text.substr(0, text.find('='))))) result.emplace_back(text);
  }
  for (const auto& [name, value] : added) result.push_back(name + "=" + value);
  return result;
}

/// How many times longer a command may take where an emulator runs it.
constexpr int kPatience = std::string_view(SHUNT_TEST_EMULATOR).empty() ? 1 : 20;

/// The words that start the command: its path, after an emulator and its arguments if it was built
/// for another machine.
std::vector<std::string> command_words() {
  std::vector<std::string> words;
  std::istringstream emulator(SHUNT_TEST_EMULATOR);
  for (std::string word; std::getline(emulator, word, '|');) words.push_back(word);
  words.push_back(SHUNT_TEST_COMMAND);
  return words;
}

/// Ignores a signal for as long as it lives, and lets a child that is made meanwhile inherit that.
class Ignored {
 public:
  explicit Ignored(int signal) : signal_(signal) {
    if (signal_ != 0) before_ = std::signal(signal_, SIG_IGN);
  }
  ~Ignored() {
    if (signal_ != 0) std::signal(signal_, before_);
  }
  Ignored(const Ignored&) = delete;
  Ignored& operator=(const Ignored&) = delete;

 private:
  int signal_;
  void (*before_)(int) = SIG_DFL;
};

class Child {
 public:
  Child(const std::vector<std::string>& arguments, const RunOptions& options)
      : options_(options), in_(options.terminal_input ? make_terminal() : make_pipe()) {
    std::signal(SIGPIPE, SIG_IGN);  // a child that does not read its input is an error of write()
    std::vector<std::string> words = command_words();
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::map<std::string, std::string> added = options.environment;
    // Predictions depend on no measurement, and no file is left behind.
    added.try_emplace("SHUNT_CPU_CALIBRATE", "off");
    std::vector<std::string> environment = merged_environment(added);
    spawn(pointers(words), pointers(environment));
    close_end(in_.read);
    close_end(out_.write);
    close_end(err_.write);
    if (!options.terminal_input && options.input.empty()) close_end(in_.write);
    if (in_.write.get() >= 0) ::fcntl(in_.write.get(), F_SETFL, O_NONBLOCK);
  }

  RunResult wait() {
    const auto end = Clock::now() + kPatience * options_.timeout;
    while (out_.read.get() >= 0 || err_.read.get() >= 0) {
      if (Clock::now() > end) {
        result_.timed_out = true;
        ::kill(pid_, SIGKILL);
        break;
      }
      step();
    }
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    result_.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return std::move(result_);
  }

 private:
  void spawn(std::vector<char*> words, std::vector<char*> environment) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
    ::posix_spawn_file_actions_adddup2(&actions, in_.read.get(), STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, out_.write.get(), STDOUT_FILENO);
    if (!options_.output_file.empty()) {
      ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, options_.output_file.c_str(),
                                         O_WRONLY | O_CREAT, 0666);
    }
    ::posix_spawn_file_actions_adddup2(&actions, err_.write.get(), STDERR_FILENO);
    sigset_t signals;
    ::sigemptyset(&signals);
    for (const int signal : {SIGPIPE, SIGINT, SIGTERM, SIGHUP}) {
      if (signal != options_.ignored_signal) ::sigaddset(&signals, signal);
    }
    ::posix_spawnattr_setsigdefault(&attributes, &signals);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    const Ignored ignored(options_.ignored_signal);
    errno =
        ::posix_spawnp(&pid_, words[0], &actions, &attributes, words.data(), environment.data());
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
    require(errno == 0, "posix_spawn");
  }

  bool gets_input() const {
    return !options_.terminal_input && (!options_.input_once_it_complains || !result_.err.empty());
  }

  void step() {
    std::array<pollfd, 3> files = {{{out_.read.get(), POLLIN, 0},
                                    {err_.read.get(), POLLIN, 0},
                                    {gets_input() ? in_.write.get() : -1, POLLOUT, 0}}};
    ::poll(files.data(), files.size(), 100);
    if (files[0].revents != 0) {
      read_some(out_.read, result_.out);
      react_to_output();
    }
    if (files[1].revents != 0) {
      read_some(err_.read, result_.err);
      react_to_complaints();
    }
    if (files[2].revents != 0) write_some();
  }

  static void read_some(Descriptor& from, std::string& to) {
    std::array<char, 1 << 16> chunk;
    const ssize_t count = ::read(from.get(), chunk.data(), chunk.size());
    if (count > 0) to.append(chunk.data(), static_cast<std::size_t>(count));
    if (count == 0) close_end(from);
  }

  void write_some() {
    const std::string_view rest = std::string_view(options_.input).substr(written_);
    const ssize_t count = ::write(in_.write.get(), rest.data(), rest.size());
    if (count > 0) written_ += static_cast<std::size_t>(count);
    if ((count < 0 && errno != EAGAIN) || written_ == options_.input.size()) close_end(in_.write);
  }

  void interrupt() {
    if (sent_ < options_.signals.size()) ::kill(pid_, options_.signals[sent_++]);
  }

  void react_to_output() {
    const std::size_t size = result_.out.size();
    if (options_.interrupt_after > 0 && size >= options_.interrupt_after && !has_output_) {
      has_output_ = true;
      interrupt();
    }
    if (options_.close_output_after > 0 && size >= options_.close_output_after) {
      close_end(out_.read);
    }
  }

  void react_to_complaints() {
    const auto lines = std::count(result_.err.begin(), result_.err.end(), '\n');
    for (; options_.interrupt_when_it_complains && complaints_ < lines; ++complaints_) interrupt();
  }

  const RunOptions& options_;
  Pipe in_;
  Pipe out_ = make_pipe();
  Pipe err_ = make_pipe();
  pid_t pid_ = -1;
  std::size_t written_ = 0;
  std::size_t sent_ = 0;           // signals
  bool has_output_ = false;        // as much as a signal waits for
  std::ptrdiff_t complaints_ = 0;  // lines on stderr that have been seen
  RunResult result_;
};

}  // namespace

bool has_terminals() {
  try {
    make_terminal();
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

RunResult run_command(const std::vector<std::string>& arguments, const RunOptions& options) {
  return Child(arguments, options).wait();
}

}  // namespace shunt::test
