// What devices may be asked for at most: lowered until what is made of it fits.
#pragma once

#include <cstdint>
#include <vector>

namespace shunt {

/// By device of the model.
struct FitBounds {
  std::vector<bool> used;                    ///< no plan is made for the others
  std::vector<std::uint64_t> room;           ///< bytes of weights and caches
  std::vector<std::uint64_t> most_streamed;  ///< bytes of weights that are sent there for one op

  /// Of what is by device of the model, that of devices that are used.
  template <class Each>
  std::vector<Each> of_used(const std::vector<Each>& all) const {
    std::vector<Each> some;
    for (std::size_t d = 0; d < all.size(); ++d) {
      if (used[d]) some.push_back(all[d]);
    }
    return some;
  }
};

}  // namespace shunt
