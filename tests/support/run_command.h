// Runs the `shunt` command as a user does: arguments, environment, standard input; exit code and
// output.
#pragma once

#include <chrono>
#include <csignal>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace shunt::test {

struct RunOptions {
  std::string input = {};                               ///< its standard input, which then ends
  std::map<std::string, std::string> environment = {};  ///< added to that of the test, and to
                                                        ///< SHUNT_CPU_CALIBRATE=off
  std::chrono::seconds timeout{120};     ///< then it is killed; under an emulator, later
  bool input_once_it_complains = false;  ///< not before a line on stderr
  bool terminal_input = false;           ///< standard input is a terminal without typed input
  std::string output_file = {};          ///< where standard output goes instead
  std::size_t interrupt_after = 0;       ///< a signal once it has printed that many bytes; 0: never
  bool interrupt_when_it_complains = false;  ///< a signal at each line on stderr
  std::vector<int> signals = {SIGINT};       ///< the first, the second; then no more
  int ignored_signal = 0;                    ///< ignored from the start, as nohup does; 0: none
  std::size_t close_output_after = 0;        ///< reading stops after that many bytes; 0: never
};

struct RunResult {
  int exit_code = -1;  ///< 128 + signal if one ended it
  std::string out;
  std::string err;
  bool timed_out = false;
};

/// Whether this system has pseudo-terminals, which `terminal_input` needs.
bool has_terminals();

/// Runs it and waits. Throws if the system does not let us.
RunResult run_command(const std::vector<std::string>& arguments, const RunOptions& options = {});

}  // namespace shunt::test
