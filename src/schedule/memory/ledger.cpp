#include "shunt/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/enum_table.h"
#include "shunt/device.h"
#include "shunt/message.h"

namespace shunt {

std::string_view to_string(Purpose purpose) {
  static constexpr std::array<std::string_view, 12> kNames = {
      "weights", "adapters", "mapped weights", "cache", "host cache", "activations",
      "inputs",  "staging",  "context",        "code",  "workspace",  "graphs"};
  return name_in(kNames, purpose);
}

void Ledger::add(std::string_view device, Purpose purpose, std::uint64_t bytes) {
  if (bytes == 0) return;
  const auto same_device = [&](const LedgerRow& row) { return row.device == device; };
  auto row = std::find_if(rows.begin(), rows.end(), same_device);
  for (; row != rows.end() && same_device(*row); ++row) {
    if (row->purpose == purpose) {
      row->bytes += bytes;
      return;
    }
    if (row->purpose > purpose) break;
  }
  rows.insert(row, {std::string(device), purpose, bytes});
}

void Ledger::add(const Ledger& other) {
  for (const LedgerRow& row : other.rows) add(row.device, row.purpose, row.bytes);
  managed.insert(other.managed.begin(), other.managed.end());
}

void Ledger::add_own(std::string_view device, const OwnMemory& own) {
  add(device, Purpose::kContext, own.context);
  add(device, Purpose::kCode, own.code);
  add(device, Purpose::kWorkspace, own.workspace);
  add(device, Purpose::kGraphs, own.graphs);
}

Ledger Ledger::in_buffers() const {
  Ledger result;
  for (const LedgerRow& row : rows) {
    if (row.purpose < Purpose::kContext) result.rows.push_back(row);
  }
  result.managed = managed;
  return result;
}

std::uint64_t Ledger::bytes(std::string_view device, Purpose purpose) const {
  for (const LedgerRow& row : rows) {
    if (row.device == device && row.purpose == purpose) return row.bytes;
  }
  return 0;
}

std::uint64_t Ledger::allocated(std::string_view device) const {
  std::uint64_t sum = 0;
  for (const LedgerRow& row : rows) {
    if (row.device == device && row.purpose != Purpose::kMappedWeights) sum += row.bytes;
  }
  return sum;
}

std::uint64_t Ledger::total(Purpose purpose) const {
  std::uint64_t sum = 0;
  for (const LedgerRow& row : rows) {
    if (row.purpose == purpose) sum += row.bytes;
  }
  return sum;
}

std::string to_text(const Ledger& ledger) {
  std::size_t width = 0;
  for (const LedgerRow& row : ledger.rows) width = std::max(width, row.device.size());
  std::string text;
  for (std::size_t i = 0; i < ledger.rows.size(); ++i) {
    const LedgerRow& row = ledger.rows[i];
    text += fmt::format("{:<{}}  {:<14}  {}\n", row.device, width, to_string(row.purpose),
                        size_text(row.bytes));
    if (i + 1 == ledger.rows.size() || ledger.rows[i + 1].device != row.device) {
      text += fmt::format("{:<{}}  {:<14}  {}", row.device, width, "allocated",
                          size_text(ledger.allocated(row.device)));
      if (ledger.managed.contains(row.device)) text += fmt::format(" of {}", kManagedText);
      text += "\n";
    }
  }
  return text;
}

std::string to_text(const MemoryNeed& need) {
  std::string text = fmt::format("{} needs {} ({} bytes), but has {} ({} bytes)", need.device,
                                 size_text(need.needs), need.needs, size_text(need.has), need.has);
  if (need.margin > 0) {
    text += fmt::format(", of which {} are reserved", size_text(need.margin));
  }
  return text;
}

std::string size_text(std::uint64_t bytes) {
  static constexpr std::array<std::string_view, 6> kUnits = {"KiB", "MiB", "GiB",
                                                             "TiB", "PiB", "EiB"};
  if (bytes < 1024) return counted(bytes, "byte");
  auto value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1023.95 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

}  // namespace shunt
