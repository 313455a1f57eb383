#include "model/description.h"

#include <algorithm>
#include <cmath>

namespace shunt {

float Attention::score_scale() const {
  return scale != 0 ? scale : 1 / std::sqrt(static_cast<float>(key_size));
}

void Description::replace(const WeightRow& row) {
  const auto found = std::ranges::find(weights, row.slot, &WeightRow::slot);
  if (found == weights.end()) {
    weights.push_back(row);
  } else {
    *found = row;
  }
}

void Description::remove(std::initializer_list<WeightSlot> slots) {
  for (const WeightSlot slot : slots)
    std::erase_if(weights, [&](const WeightRow& row) { return row.slot == slot; });
}

std::int64_t state_numbers(const Layer& layer, std::int64_t width) {
  std::int64_t numbers = 0;
  if (layer.delta_net) {
    const DeltaNet& net = *layer.delta_net;
    numbers += net.conv_width() * (net.taps - 1);
    numbers += net.key_size * net.value_size * net.value_heads;
  }
  if (layer.state_space) {
    const StateSpace& space = *layer.state_space;
    numbers += space.conv_width() * (space.taps - 1);
    numbers += space.state_size * space.inner();
  }
  if (layer.short_convolution) numbers += width * (layer.short_convolution->taps - 1);
  return numbers;
}

}  // namespace shunt
