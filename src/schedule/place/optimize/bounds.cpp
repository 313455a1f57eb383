#include "schedule/place/optimize/bounds.h"

#include <algorithm>

namespace shunt {

CostBounds::CostBounds(const CostTables& tables)
    : after_(tables.nodes(), tables.devices(), 0), work_from_(tables.nodes() + 1, 0) {
  for (std::size_t i = tables.nodes(); i-- > 0;) {
    double least = kNever;
    for (const DeviceIndex d : tables.indices()) {
      least = std::min(least, tables.seconds(i, d));
      double& after = after_(i, d);
      for (std::uint32_t user : tables.users(i)) {
        double best = kNever;
        for (const DeviceIndex e : tables.indices()) {
          const double there = tables.seconds(user, e) + after_(user, e);
          const double way = d == e ? 0 : tables.transfer_seconds(i, tables.link(d, e));
          best = std::min(best, way + there);
        }
        after = std::max(after, best);
      }
    }
    work_from_[i] = work_from_[i + 1] + least;
  }
}

}  // namespace shunt
