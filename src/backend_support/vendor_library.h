// A vendor's runtime: one or more shared libraries that are opened while the program runs and
// searched as one.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/dynamic_library.h"
#include "shunt/error.h"
#include "shunt/options.h"

namespace shunt {

/// One library of a runtime.
struct LibraryFile {
  /// File names, best first: the first that can be loaded is taken.
  std::span<const char* const> names;
};

class VendorLibrary;

/// How a backend finds its vendor's runtime.
struct VendorRuntime {
  std::string_view backend;      ///< its key in Options::libraries: "zdnn"
  std::string_view description;  ///< for messages: "IBM's library for the accelerator of IBM Z"
  std::string_view remedy = {};  ///< for users who have the hardware, where the library is missing
  /// Opened in this order: a library that others need comes first.
  std::span<const LibraryFile> files;
  /// Never unloaded, even if the last user is gone: for runtimes with threads or exit handlers.
  bool stays_loaded = false;
  /// Whether an opened runtime is a twin, which is used only by explicit path. Null: there is none.
  bool (*is_twin)(const VendorLibrary& library) = nullptr;
};

/// An opened runtime. A process has one object for each set of files, however many registries use
/// it, and whatever name it was found by.
class VendorLibrary {
 public:
  /// With the path that options.libraries has for the backend: a file, which is the whole runtime,
  /// or a folder, in which the names are searched. Without one the loader searches. Functions are
  /// bound lazily. NotFound, with every file tried and the loader's reason, if one of `files` can't
  /// be loaded, and for a twin that was found without its path.
  static Result<std::shared_ptr<VendorLibrary>> open(const VendorRuntime& runtime,
                                                     const Options& options);

  /// The address of a symbol in the first library that has it; null if none has it.
  void* find(const char* symbol) const;
  /// The files, with links resolved, in the order of VendorRuntime::files.
  const std::vector<std::string>& paths() const { return paths_; }
  /// Whether the process had loaded a library of one of these names before this object did: then
  /// its process-wide settings must not be changed.
  bool was_loaded_before() const { return was_loaded_before_; }
  /// For runtimes that take one call at a time. All users of the runtime share it.
  std::mutex& one_at_a_time() { return one_at_a_time_; }
  /// Calls f() the first time, while other callers wait. Process-wide settings are changed there:
  /// later the program may rely on settings of its own.
  template <class F>
  void set_up_once(F f) {
    std::call_once(set_up_, std::move(f));
  }
  /// An object that all users of the runtime share, made when it is first asked for. A runtime has
  /// one type of it.
  template <class State>
  std::shared_ptr<State> shared_state() {
    std::call_once(state_made_, [this] { state_ = std::make_shared<State>(); });
    return std::static_pointer_cast<State>(state_);
  }

 private:
  VendorLibrary(std::vector<DynamicLibrary> libraries, std::vector<std::string> paths,
                bool was_loaded_before)
      : libraries_(std::move(libraries)),
        paths_(std::move(paths)),
        was_loaded_before_(was_loaded_before) {}

  std::vector<DynamicLibrary> libraries_;
  std::vector<std::string> paths_;
  bool was_loaded_before_;
  std::mutex one_at_a_time_;
  std::once_flag set_up_;
  std::once_flag state_made_;
  std::shared_ptr<void> state_;
};

}  // namespace shunt
