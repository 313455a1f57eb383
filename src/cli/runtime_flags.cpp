#include "cli/runtime_flags.h"

#include <algorithm>

#include "base/fail.h"

namespace shunt::cli {

void RuntimeFlags::declare(Arguments& arguments) {
  constexpr int kMostThreads = 4096;
  arguments.number("-t,--threads",
                   "threads of the CPU; 0: one a physical core (also SHUNT_THREADS)", threads_, 0,
                   kMostThreads);
}

Result<Options> RuntimeFlags::options() const {
  SHUNT_ASSIGN(Options options, options_from_environment());
  if (threads_) options.threads = *threads_;
  return options;
}

Result<std::vector<std::string>> split_list(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    if (end == start) return invalid("\"{}\" is not a list of names such as cuda0,cpu0", text);
    parts.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

}  // namespace shunt::cli
