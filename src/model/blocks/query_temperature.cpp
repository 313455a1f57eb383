// Queries that grow with the position, so that attention stays sharp in long texts.
#include <algorithm>

#include "model/blocks/layers.h"

namespace shunt {

namespace {

Result<Value> make_temperature(BlockContext& c, const QueryTemperature& t) {
  GraphBuilder& g = c.g;
  const Dim tokens = c.memory.tokens();
  const Result<Value> positions = cpy(g, c.memory.positions(), fill(g, {tokens}, 0, DType::kF32));
  // Half a token more, so that rounding moves no step.
  const float per_token = 1 / static_cast<float>(t.length);
  const float offset = (static_cast<float>(t.offset) + 0.5F) * per_token;
  const Result<Value> steps = floor(g, scale(g, positions, {.scale = per_token, .bias = offset}));
  const Result<Value> factor =
      scale(g, log(g, scale(g, steps, {.bias = 1})), {.scale = t.scale, .bias = 1});
  return reshape(g, factor, {1, 1, tokens});
}

}  // namespace

Result<Value> query_temperature(BlockContext& c, const QueryTemperature& temperature) {
  const auto known = std::ranges::find(c.temperatures, temperature,
                                       &std::pair<QueryTemperature, Result<Value>>::first);
  if (known != c.temperatures.end()) return known->second;
  return c.temperatures.emplace_back(temperature, make_temperature(c, temperature)).second;
}

}  // namespace shunt
