// Measured costs of devices in files that later processes read.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "shunt/costs.h"

namespace shunt {

/// Costs of one device, and the day they were measured: "2026-11-23".
struct KeptCosts {
  CostModel costs;
  std::string date;
};

/// One file for each device, in a folder. It is a costs file with a key: the device, the machine,
/// the build of Shunt and the version of the format. The name is a hash of the
/// key, so machines that share the folder keep their own files. Failures are notes.
class CostCache {
 public:
  /// An empty folder: nothing is kept. `machine` describes the host of the devices and the
  /// settings of backends.
  CostCache(std::string folder, std::string machine,
            std::chrono::sys_days today =
                std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now()))
      : folder_(std::move(folder)), machine_(std::move(machine)), today_(today) {}

  std::string path_of(const DeviceInfo& device) const;
  /// As KeptCosts::date.
  std::string today() const;
  /// Nothing if there is no file, or one that is older than 30 days or has a date in the future.
  /// The same, with a note, for one that can't be read, has another key or entries of another
  /// device.
  std::optional<KeptCosts> read(const DeviceInfo& device, std::vector<std::string>& notes) const;
  /// False, with a note, if that is not possible. Replaces the file as a whole. Missing folders are
  /// created with access for their owner only.
  bool write(const DeviceInfo& device, const KeptCosts& kept,
             std::vector<std::string>& notes) const;

 private:
  std::string key_of(const DeviceInfo& device) const;

  std::string folder_;
  std::string machine_;
  std::chrono::sys_days today_;
};

}  // namespace shunt
