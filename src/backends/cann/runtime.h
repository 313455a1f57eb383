// The vendor's libraries, opened and initialized.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "backend_support/vendor_library.h"
#include "backends/cann/chip.h"
#include "backends/cann/symbols.h"
#include "shunt/error.h"

namespace shunt::cann {

/// The two phases of an operator; null where no library has them.
struct OpFunctions {
  void* first = nullptr;
  Status32 (*second)(void* workspace, std::uint64_t bytes, ExecutorHandle executor,
                     StreamHandle stream) = nullptr;
};

/// Thread-safe.
class Runtime {
 public:
  /// NotFound if the libraries can't be loaded, or lack a function; Device if they can't be
  /// initialized, Unsupported if the chip is not known.
  static Result<std::shared_ptr<Runtime>> open(const Options& options);
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
  ~Runtime();

  const Symbols& symbols() const { return symbols_; }
  bool is_twin() const { return twin_; }
  int device_count() const { return devices_; }
  const std::string& soc_name() const { return soc_; }
  const Chip& chip() const { return *chip_; }
  /// Whether device and host have one memory: the program runs on the chip's own processor.
  bool shares_memory() const { return shares_memory_; }
  /// "1.14", of the interface, not of the toolkit.
  const std::string& version() const { return version_; }
  /// Whether it has all functions of a feature (symbols.h).
  bool has(std::string_view feature) const;
  const std::vector<std::string>& notes() const { return notes_; }
  /// `name`: without "aclnn".
  OpFunctions op(const char* name) const;

  Error error(Status32 status, std::string_view function) const;

 private:
  explicit Runtime(std::shared_ptr<VendorLibrary> library) : library_(std::move(library)) {}
  Status initialize();

  std::shared_ptr<VendorLibrary> library_;
  Symbols symbols_;
  bool twin_ = false;
  bool initialized_ = false;  // counted among the users of the library
  int devices_ = 0;
  std::string soc_;
  std::string version_;
  const Chip* chip_ = nullptr;
  bool shares_memory_ = false;
  std::vector<std::string> notes_;
  std::vector<MissingFeature> missing_;
  mutable std::mutex mutex_;
  mutable std::unordered_map<std::string, OpFunctions> ops_;
};

/// Whether nothing on a device works any more after this status.
bool ends_device(Status32 status);
/// Whether the status of a first phase means that the chip has no such operator, or not with these
/// types and sizes.
bool is_refusal(Status32 status);

}  // namespace shunt::cann
