#include "cli/runtime_flags.h"

#include <algorithm>

#include "base/fail.h"
#include "cli/output.h"

namespace shunt::cli {

void RuntimeFlags::declare(Arguments& arguments) {
  arguments.number("-t,--threads",
                   "threads of the CPU; 0: one a physical core (also SHUNT_THREADS)", threads_, 0,
                   kMaxThreads);
  arguments.value("--pin", "auto|on|off",
                  "whether they are bound to a core each; auto: if there is one for each, and "
                  "cores don't all share one cache (also SHUNT_PIN)",
                  [this](const std::string& text) -> Status {
                    SHUNT_ASSIGN(pin_, parse_pin_threads(text));
                    return ok();
                  });
  arguments.each(
      "--set", "BACKEND.OPTION=VALUE",
      "set an option of a backend, as in cpu.fuse=off (also SHUNT_BACKEND_OPTION, as in "
      "SHUNT_CPU_FUSE; shunt devices --options lists them)",
      [this](const std::string& text) -> Status {
        const std::size_t dot = text.find('.');
        const std::size_t equals = text.find('=');
        if (equals == std::string::npos || dot == 0 || dot >= equals || dot + 1 == equals) {
          return invalid("\"{}\" is not a setting such as cpu.fuse=off", text);
        }
        backend_options_[text.substr(0, dot)][text.substr(dot + 1, equals - dot - 1)] =
            text.substr(equals + 1);
        return ok();
      });
  arguments.value("--out-of-range", "saturate|exact",
                  "the same as --set *.out_of_range=VALUE: every backend that has the option "
                  "(also SHUNT_OUT_OF_RANGE)",
                  [this](const std::string& text) -> Status {
                    backend_options_["*"]["out_of_range"] = text;
                    return ok();
                  });
  arguments.each("--library", "BACKEND=PATH",
                 "the library of a backend's vendor, or a twin of it (also SHUNT_BACKEND_LIBRARY, "
                 "as in SHUNT_ZDNN_LIBRARY)",
                 [this](const std::string& text) -> Status {
                   const std::size_t equals = text.find('=');
                   if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
                     return invalid("\"{}\" is not a backend and a path, as in zdnn=libzdnn.so.0",
                                    text);
                   }
                   libraries_[text.substr(0, equals)] = text.substr(equals + 1);
                   return ok();
                 });
  arguments.files().add_input("--library", [this] {
    std::vector<std::string> paths;
    for (const auto& [backend, path] : libraries_) paths.push_back(path);
    return paths;
  });
}

Result<Options> RuntimeFlags::options() const {
  SHUNT_ASSIGN(Options options, options_from_environment());
  if (threads_) options.threads = *threads_;
  if (pin_) options.pin_threads = *pin_;
  for (const auto& [backend, path] : libraries_) options.libraries[backend] = path;
  options.backend_options = backend_options_;
  SHUNT_TRY(check_backend_options(options));
  return options;
}

Result<std::unique_ptr<Registry>> open_registry(const Options& options) {
  SHUNT_ASSIGN(auto registry, Registry::create(options));
  for (const BackendStatus& backend : registry->backends()) {
    if (backend.loaded) continue;
    const bool library = options.libraries.contains(backend.name);
    if (!library && !options.backend_options.contains(backend.name)) continue;
    say(fmt::format("{} is off, although {} for it: {}", backend.name,
                    library ? "a library is given" : "an option is set", backend.note));
  }
  return registry;
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
