#include "engine/load/fit_note.h"

#include <fmt/format.h>

#include <algorithm>

#include "shunt/ledger.h"
#include "shunt/message.h"

namespace shunt {

LayersOnDevice layers_on(DeviceIndex device, std::span<const FitLeaf> leaves,
                         std::span<const FitUnit> units, std::span<const DeviceIndex> homes) {
  LayersOnDevice layers;
  for (const FitUnit& unit : units) {
    const bool any = std::any_of(unit.leaves.begin(), unit.leaves.end(), [&](std::size_t leaf) {
      return !leaves[leaf].is_cache() && homes[leaf] == device;
    });
    if (unit.layer < 0) {
      layers.beside += any ? 1 : 0;
      continue;
    }
    ++layers.of;
    if (!any) continue;
    if (layers.count++ == 0) layers.first = unit.layer;
    layers.last = unit.layer;
  }
  return layers;
}

std::string to_line(const DeviceShare& share) {
  const LayersOnDevice& layers = share.layers;
  const DeviceLimit& limit = share.limit;
  std::string text = share.device + ": ";
  if (layers.count > 0) {
    text += fmt::format("layers {} to {} ({} of {})", layers.first, layers.last, layers.count,
                        layers.of);
  } else {
    text += "no layer";
  }
  if (layers.beside > 0) text += fmt::format(" and {}", counted(layers.beside, "other weight"));
  text += ", " + size_text(share.takes.allocated());
  if (share.takes.mapped > 0)
    text += fmt::format(" and {} of the file", size_text(share.takes.mapped));
  if (share.is_cpu) return text;
  if (limit.free > 0) {
    text += fmt::format(" of {} ({} reserved)", size_text(limit.free),
                        size_text(limit.free - std::min(limit.free, limit.usable())));
  }
  if (share.managed) text += fmt::format(" of {}", kManagedText);
  if (share.takes.streamed > 0) {
    text += fmt::format("; {} of it for streamed weights", size_text(share.takes.streamed));
  }
  if (!share.pool_with.empty()) {
    text += fmt::format("; unified memory with {}, together {}", share.pool_with,
                        size_text(share.pool_takes));
  }
  Ledger own;
  own.add_own(share.device, share.own);
  std::string parts;
  for (const LedgerRow& row : own.rows) {
    parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", to_string(row.purpose),
                         size_text(row.bytes));
  }
  if (!parts.empty()) {
    text += fmt::format("; the device itself takes {} ({})", size_text(own.allocated(share.device)),
                        parts);
  }
  return text;
}

}  // namespace shunt
