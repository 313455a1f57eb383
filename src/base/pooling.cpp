#include "shunt/pooling.h"

#include <algorithm>
#include <array>
#include <utility>

#include "shunt/message.h"

namespace shunt {

namespace {

constexpr std::array<std::pair<EmbeddingPooling, std::string_view>, 4> kNames = {{
    {EmbeddingPooling::kNone, "none"},
    {EmbeddingPooling::kMean, "mean"},
    {EmbeddingPooling::kFirst, "cls"},
    {EmbeddingPooling::kLast, "last"},
}};

}  // namespace

std::string_view to_string(EmbeddingPooling pooling) {
  const auto* const found =
      std::ranges::find(kNames, pooling, &std::pair<EmbeddingPooling, std::string_view>::first);
  return found == kNames.end() ? "?" : found->second;
}

Result<EmbeddingPooling> pooling_from_name(std::string_view name) {
  const auto* const found =
      std::ranges::find(kNames, name, &std::pair<EmbeddingPooling, std::string_view>::second);
  if (found != kNames.end()) return found->first;
  return invalid("pooling \"{}\" is unknown; there are none, mean, cls and last", name);
}

}  // namespace shunt
