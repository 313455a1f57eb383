#include "cli/flags/runtime_flags.h"

#include <algorithm>
#include <filesystem>
#include <ranges>

#include "cli/terminal/output.h"
#include "shunt/message.h"

namespace shunt::cli {

void RuntimeFlags::declare_threads(Arguments& arguments) {
  arguments.number("-t,--threads",
                   "Use N CPU threads; 0: one per physical core (also SHUNT_THREADS)", threads_, 0,
                   kMaxThreads);
}

void RuntimeFlags::declare(Arguments& arguments) {
  declare_threads(arguments);
  arguments.value(
      "--pin", "auto|on|off",
      "Bind CPU threads to cores. auto binds them only if there is one thread per physical "
      "core and the cores do not all share one cache (default auto; also SHUNT_PIN)",
      [this](const std::string& text) -> Status {
        SHUNT_ASSIGN(pin_, parse_pin_threads(text));
        return ok();
      });
  arguments.each(
      "--set", "BACKEND.OPTION=VALUE",
      "Set an option of a backend, such as cpu.fuse=off. Repeatable. shunt devices --options lists "
      "all options (also SHUNT_BACKEND_OPTION, such as SHUNT_CPU_FUSE)",
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
                  "Set out_of_range of every backend that has this option, as --set "
                  "'*.out_of_range=VALUE' does (also SHUNT_OUT_OF_RANGE)",
                  [this](const std::string& text) -> Status {
                    backend_options_["*"]["out_of_range"] = text;
                    return ok();
                  });
  arguments.flag("--deterministic", deterministic_,
                 "Compute the same results for a token whatever else a step computes, as --set "
                 "'*.deterministic=on' does. Slower for few sequences. Backends that cannot do it "
                 "are left out");
  arguments.each(
      "--library", "BACKEND=PATH",
      "Load the vendor library of BACKEND, or its emulator (twin), from PATH. Repeatable "
      "(also SHUNT_BACKEND_LIBRARY, such as SHUNT_ZDNN_LIBRARY)",
      [this](const std::string& text) -> Status {
        const std::size_t equals = text.find('=');
        if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
          return invalid("\"{}\" is not BACKEND=PATH, such as zdnn=libzdnn.so.0", text);
        }
        libraries_[text.substr(0, equals)] = text.substr(equals + 1);
        return ok();
      });
  arguments.files().add_input("a backend library or plugin", [this] { return code_files(); });
}

std::vector<std::string> RuntimeFlags::code_files() const {
  const auto options = this->options();
  if (!options) return {};
  std::vector<std::string> paths;
  const auto add = [&](const std::string& path) {
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) {
      paths.push_back(path);
      return;
    }
    for (std::filesystem::directory_iterator entry(path, error), end; !error && entry != end;
         entry.increment(error)) {
      if (entry->path().filename().string().find(".so") != std::string::npos) {
        paths.push_back(entry->path().string());
      }
    }
  };
  for (const auto& [backend, path] : options->libraries) add(path);
  for (const auto folder : std::views::split(options->backend_path, ':')) {
    if (!folder.empty()) add(std::string(folder.begin(), folder.end()));
  }
  return paths;
}

Result<Options> RuntimeFlags::options() const {
  SHUNT_ASSIGN(Options options, options_from_environment());
  if (threads_) options.threads = *threads_;
  if (pin_) options.pin_threads = *pin_;
  for (const auto& [backend, path] : libraries_) options.libraries[backend] = path;
  options.backend_options = backend_options_;
  if (deterministic_) {
    for (auto& [backend, settings] : options.backend_options) {
      const auto own = settings.find("deterministic");
      if (own != settings.end() && own->second != "on")
        return invalid("--deterministic contradicts --set {}.deterministic={}", backend,
                       own->second);
    }
    options.backend_options["*"]["deterministic"] = "on";
  }
  SHUNT_TRY(check_backend_options(options));
  return options;
}

Result<std::unique_ptr<Registry>> open_registry(const Options& options) {
  SHUNT_ASSIGN(auto registry, Registry::create(options));
  for (const BackendStatus& backend : registry->backends()) {
    if (backend.loaded) continue;
    const bool library = options.libraries.contains(backend.name);
    if (!library && !options.backend_options.contains(backend.name)) continue;
    print_message(fmt::format("backend {} is not available, so {}: {}", backend.name,
                              library ? "its library is not used" : "its options have no effect",
                              backend.note));
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
