#include "backend_support/vendor_library.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "shunt/message.h"

namespace shunt {

namespace {

/// Runtimes of the process by their files. The loader has one instance of each file, with one set
/// of settings and threads, so that their owner must be one as well: the only global state of this
/// folder. Never destroyed, as other statics may still use a runtime at exit.
struct OpenRuntimes {
  struct Entry {
    std::weak_ptr<VendorLibrary> current;
    std::shared_ptr<VendorLibrary> kept;  // of one that stays loaded
    bool was_loaded_before = false;
    int alive = 0;  // objects whose files are open: a new one may come before an old one is closed
  };
  std::mutex mutex;  // held while libraries are opened and closed
  std::map<std::vector<std::string>, Entry> by_paths;
};

OpenRuntimes& open_runtimes() {
  static auto* const runtimes = new OpenRuntimes();
  return *runtimes;
}

void close_runtime(VendorLibrary* library) {
  OpenRuntimes& runtimes = open_runtimes();
  const std::lock_guard lock(runtimes.mutex);
  const auto entry = runtimes.by_paths.find(library->paths());
  if (entry != runtimes.by_paths.end() && --entry->second.alive == 0) {
    runtimes.by_paths.erase(entry);
  }
  delete library;
}

/// The file to try for each name.
std::vector<std::string> candidates(const LibraryFile& file, const std::string& folder) {
  std::vector<std::string> paths;
  for (const char* const name : file.names) {
    paths.push_back(folder.empty() ? name : (std::filesystem::path(folder) / name).string());
  }
  return paths;
}

/// Where the files are searched: one list of candidates for each library.
struct Search {
  std::vector<std::vector<std::string>> files;
  std::string failure;  ///< the beginning of a message
};

Search search_of(const VendorRuntime& runtime, const std::optional<std::string>& given) {
  std::error_code unreadable;
  const bool is_folder = given && std::filesystem::is_directory(*given, unreadable);
  if (given && !is_folder) {
    return {{{*given}}, fmt::format("{} can't be loaded", runtime.description)};
  }
  Search search{{},
                is_folder ? fmt::format("{} is not in {}", runtime.description, *given)
                          : fmt::format("{} was not found", runtime.description)};
  for (const LibraryFile& file : runtime.files) {
    search.files.push_back(candidates(file, is_folder ? *given : ""));
  }
  return search;
}

struct OpenedFile {
  DynamicLibrary library;
  bool was_loaded_before;
};

Result<OpenedFile> open_first(const std::vector<std::string>& paths, const Search& search,
                              const std::set<std::string>& loaded_before, std::string_view remedy) {
  std::vector<std::string> reasons;
  for (const std::string& path : paths) {
    auto library = DynamicLibrary::open(path, DynamicLibrary::Binding::kLazy);
    if (library) return OpenedFile{std::move(*library), loaded_before.contains(path)};
    const std::string& why = library.error().message();
    // The loader names the file as a rule.
    reasons.push_back(why.find(path) == std::string::npos ? fmt::format("{}: {}", path, why) : why);
  }
  return fail(ErrorCode::kNotFound, "{}: {}{}{}", search.failure, fmt::join(reasons, "; "),
              remedy.empty() ? "" : "; ", remedy);
}

}  // namespace

Result<std::shared_ptr<VendorLibrary>> VendorLibrary::open(const VendorRuntime& runtime,
                                                           const Options& options) {
  const auto found = options.libraries.find(std::string(runtime.backend));
  const auto given = found == options.libraries.end() ? std::optional<std::string>()
                                                      : std::optional(found->second);
  const Search search = search_of(runtime, given);
  std::shared_ptr<VendorLibrary> opened;
  {
    OpenRuntimes& runtimes = open_runtimes();
    const std::lock_guard lock(runtimes.mutex);
    // Asked before any is opened, which may load others of them.
    std::set<std::string> loaded_before;
    for (const std::vector<std::string>& file : search.files) {
      std::ranges::copy_if(file, std::inserter(loaded_before, loaded_before.end()),
                           DynamicLibrary::is_loaded);
    }
    bool was_loaded_before = false;
    std::vector<DynamicLibrary> libraries;
    std::vector<std::string> paths;
    for (const std::vector<std::string>& file : search.files) {
      SHUNT_ASSIGN(OpenedFile opened_file,
                   open_first(file, search, loaded_before, given ? "" : runtime.remedy));
      was_loaded_before = was_loaded_before || opened_file.was_loaded_before;
      paths.push_back(opened_file.library.path());
      libraries.push_back(std::move(opened_file.library));
    }
    const auto [entry, is_new] = runtimes.by_paths.try_emplace(paths);
    // A library that is loaded because of us was not loaded before us.
    if (is_new) entry->second.was_loaded_before = was_loaded_before;
    opened = entry->second.current.lock();
    if (opened == nullptr) {
      opened.reset(new VendorLibrary(std::move(libraries), std::move(paths),
                                     entry->second.was_loaded_before),
                   close_runtime);
      entry->second.current = opened;
      ++entry->second.alive;
    }
    if (runtime.stays_loaded) entry->second.kept = opened;
  }
  if (!given && runtime.is_twin != nullptr && runtime.is_twin(*opened)) {
    return fail(ErrorCode::kNotFound,
                "the system's {} is a twin, and a twin is used only if its path is given: "
                "--library {}=PATH",
                std::filesystem::path(opened->paths().front()).filename().string(),
                runtime.backend);
  }
  return opened;
}

void* VendorLibrary::find(const char* symbol) const {
  for (const DynamicLibrary& library : libraries_) {
    if (void* const address = library.find(symbol); address != nullptr) return address;
  }
  return nullptr;
}

}  // namespace shunt
