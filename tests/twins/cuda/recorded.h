// The recorder run on the twin, and its lines.
#pragma once

#include <sys/wait.h>

#include <cstdint>
#include <cstdio>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace twin_test {

inline const std::string kRecordedLibrary = CUDA_TWIN_PATH;

struct Ended {
  int code = -1;
  std::string text;
};

/// `environment`: "NAME=value " and so on.
inline Ended record(const std::string& arguments, const std::string& environment = "") {
  Ended ended;
  const std::string folder = kRecordedLibrary.substr(0, kRecordedLibrary.rfind('/'));
  const std::string command = environment + folder + "/cuda_twin_record " + arguments + " 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return ended;
  char part[4096];
  for (std::size_t n = 0; (n = fread(part, 1, sizeof part, pipe)) > 0;) ended.text.append(part, n);
  const int status = pclose(pipe);
  if (WIFEXITED(status)) ended.code = WEXITSTATUS(status);
  return ended;
}

/// All results, once for all tests.
inline const Ended& recorded() {
  static const Ended all = record(kRecordedLibrary);
  return all;
}

/// A lane: "code  #lane a b c -> result".
struct Lane {
  std::uint64_t operands[3] = {};
  std::uint64_t result = 0;
  std::string line;
};

/// The lanes of each instruction, by its code.
inline const std::map<std::string, std::vector<Lane>>& recorded_lanes() {
  static const std::map<std::string, std::vector<Lane>> all = [] {
    std::map<std::string, std::vector<Lane>> lanes;
    std::istringstream lines(recorded().text);
    for (std::string line; std::getline(lines, line);) {
      const std::size_t end = line.find("  #");
      if (end == std::string::npos) continue;
      Lane lane;
      lane.line = line;
      std::istringstream numbers(line.substr(line.find(' ', end + 3)));
      std::string number;
      for (unsigned k = 0; numbers >> number && number != "->"; ++k) {
        if (k < 3) lane.operands[k] = std::stoull(number, nullptr, 16);
      }
      if (numbers >> number) lane.result = std::stoull(number, nullptr, 16);
      lanes[line.substr(0, end)].push_back(std::move(lane));
    }
    return lanes;
  }();
  return all;
}

}  // namespace twin_test
