// How much of a file is in a process's memory.
#pragma once

#include <cstddef>
#include <fstream>
#include <sstream>
#include <string>

namespace shunt::test {

/// Bytes of mappings of the file at `path` that are in this process's memory now.
inline std::size_t resident_bytes(const std::string& path) {
  std::ifstream maps("/proc/self/smaps");
  std::size_t bytes = 0;
  bool of_file = false;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::string first;
    words >> first;
    if (!first.ends_with(':')) of_file = line.ends_with(" " + path);  // "7f00-7f08 r--s ... /path"
    std::size_t kilobytes = 0;
    if (of_file && first == "Rss:" && words >> kilobytes) bytes += kilobytes * 1024;
  }
  return bytes;
}

}  // namespace shunt::test
