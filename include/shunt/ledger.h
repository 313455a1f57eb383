/// \file
/// The memory ledger: each byte that a model and its sessions allocate through a buffer type, by
/// device and purpose. The prediction before loading and the later allocations are the same table.
/// Include it to read Model::ledger(), Model::predicted() and Session::ledger() (engine.h).
///
/// \code
/// Ledger ledger = model->ledger();
/// ledger.add(session->ledger());
/// std::cout << to_text(ledger) << size_text(ledger.allocated("cpu0")) << " on the CPU\n";
/// \endcode
///
/// Pinned memory is host memory, but it is on the rows of the device that it serves. The two pinned
/// buffers of loading, of at most 8 MiB each, are on no row. Pinning memory that is there already
/// (Device::pin_host()) allocates nothing.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace shunt {

struct OwnMemory;

/// The use of allocated memory.
enum class Purpose : std::uint8_t {
  kWeights,
  kAdapters,       ///< matrices of adapters in host memory
  kMappedWeights,  ///< used in place in the mapped file: nothing is allocated for them
  kCache,
  kHostCache,    ///< blocks of the cache of devices that host memory keeps
  kActivations,  ///< results, copies of tensors of other devices, scratch
  kInputs,       ///< MemoryUse::inputs
  kStaging,      ///< MemoryUse::staging: the host's ends of copies
  // Memory of the device outside of buffers (OwnMemory), as measured:
  kContext,
  kCode,
  kWorkspace,
  kGraphs,
};
/// The purpose as tables have it: "weights", "mapped weights", "cache", "host cache".
std::string_view to_string(Purpose purpose);

/// Bytes of one purpose on one device.
struct LedgerRow {
  std::string device;
  Purpose purpose = Purpose::kWeights;
  std::uint64_t bytes = 0;
  bool operator==(const LedgerRow&) const = default;
};

/// Rows by device in the order they first came, then by purpose; no two of the same kind, and none
/// of 0 bytes. Equal ledgers have the same rows, and the same devices with managed memory.
struct Ledger {
  std::vector<LedgerRow> rows;
  /// Devices with managed memory (DeviceInfo::managed_memory). A session's ledger has none.
  std::set<std::string> managed = {};

  /// Adds bytes to the row of that device and purpose.
  void add(std::string_view device, Purpose purpose, std::uint64_t bytes);
  /// Adds each row of another ledger.
  void add(const Ledger& other);
  /// A row for each kind.
  void add_own(std::string_view device, const OwnMemory& own);
  /// The rows of memory in buffers, without those of add_own().
  Ledger in_buffers() const;
  /// Bytes of one row; 0 if it is not there.
  std::uint64_t bytes(std::string_view device, Purpose purpose) const;
  /// Allocated bytes: of all purposes but kMappedWeights.
  std::uint64_t allocated(std::string_view device) const;
  /// On all devices.
  std::uint64_t total(Purpose purpose) const;
  bool operator==(const Ledger&) const = default;
};

/// A line a row: "test0  weights  1.2 GiB", and the total of each device.
std::string to_text(const Ledger& ledger);

/// The total bytes requested from a device, and the bytes that it can give.
struct MemoryNeed {
  std::string device;
  std::uint64_t needs = 0;
  std::uint64_t has = 0;     ///< free at the time of the request
  std::uint64_t margin = 0;  ///< of that, reserved
};
/// "test0 needs 3.0 MiB (3145728 bytes), but has 2.0 MiB (2097152 bytes), of which 64 KiB are
/// reserved".
std::string to_text(const MemoryNeed& need);

/// "17 bytes", "1.5 MiB".
std::string size_text(std::uint64_t bytes);

}  // namespace shunt
