#include "backends/cann/scores.h"

#include <bit>
#include <limits>

#include "shunt/message.h"
#include "shunt/ops/attention.h"

namespace shunt::cann {

View slopes_of(Calls& calls, float max_bias, std::int64_t heads) {
  const std::string key =
      fmt::format("slopes of {} heads, {:08x}", heads, std::bit_cast<std::uint32_t>(max_bias));
  const View slopes =
      calls.constant(key, static_cast<std::size_t>(heads), [&](std::span<float> made) {
        for (std::size_t h = 0; h < made.size(); ++h)
          made[h] = static_cast<float>(alibi_slope(max_bias, heads, static_cast<std::int64_t>(h)));
      });
  return slopes.reshaped({1, 1, heads, 1});
}

std::optional<View> sinks_of(Calls& calls, const Operands& node, std::size_t source) {
  if (!node.has_source(source)) return std::nullopt;
  const View sinks = calls.contiguous(node.source(source));
  return sinks.reshaped({1, 1, sinks.size(0), 1});
}

ScoreSums exponentials(Calls& calls, const View& z, const std::optional<View>& sinks,
                       const View& out) {
  const std::vector<std::int64_t> row = {z.vendor_dim(0)};
  View::Dims sizes = z.sizes();
  sizes[0] = 1;
  const View most = calls.temporary(DataType::kFloat, sizes);
  calls(kAmax, z, row, true, most);
  // Below it is minus infinity, which is the least finite number on a chip that saturates.
  const float least = calls.chip().saturates ? -1e38F : std::numeric_limits<float>::lowest();
  calls(kClamp, most, least, std::nullopt, most);
  calls(kSub, z, most, 1.0F, z);
  calls(kExp, z, out);
  const View sums = calls.temporary(DataType::kFloat, sizes);
  calls(kReduceSum, out, row, true, DataType::kFloat, sums);
  // The largest of a row is 1, so that only sums of nothing are below.
  calls(kClamp, sums, 0.5F, std::nullopt, sums);
  if (!sinks) return {sums, sums};
  const View total = calls.temporary(DataType::kFloat, sizes);
  calls(kSub, *sinks, most, 1.0F, total);
  calls(kExp, total, total);
  calls(kInplaceAdd, total, sums, 1.0F);
  return {sums, total};
}

}  // namespace shunt::cann
