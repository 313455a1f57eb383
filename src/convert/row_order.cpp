#include "convert/row_order.h"

#include <utility>

#include "base/to_size.h"

namespace shunt {

namespace {

using Numbers = std::vector<std::int64_t>;

template <class Map>
Numbers mapped(std::int64_t count, const Map& map) {
  Numbers numbers;
  numbers.reserve(to_size(count));
  for (std::int64_t i = 0; i < count; ++i) numbers.push_back(map(i));
  return numbers;
}

/// Element i of the first half of a head is followed by element i of the second.
Numbers rope_pairs(const Layer& layer, std::int64_t rows) {
  if (!layer.attention) return {};
  const std::int64_t head = layer.attention->key_size;
  const std::int64_t turned = layer.attention->rope ? layer.attention->rope->dims : head;
  return mapped(rows, [=](std::int64_t row) {
    const std::int64_t in_head = row % head;
    if (in_head >= turned) return row;
    return row - in_head + in_head / 2 + in_head % 2 * (turned / 2);
  });
}

/// The rows of a head of keys: its queries, its keys, then values and gates of its heads of values.
struct DeltaHead {
  explicit DeltaHead(const DeltaNet& net)
      : keys(net.key_size), values(net.value_width() / net.key_heads) {}
  std::int64_t keys;
  std::int64_t values;
  std::int64_t rows() const { return 2 * keys + 2 * values; }
};

Numbers delta_input(const DeltaNet& net, std::int64_t rows) {
  const DeltaHead head(net);
  const std::int64_t width = net.key_width();
  return mapped(rows, [=](std::int64_t row) {
    if (row < 2 * width) {
      const std::int64_t kind = row / width;  // queries, keys
      const std::int64_t at = row % width;
      return at / head.keys * head.rows() + kind * head.keys + at % head.keys;
    }
    const std::int64_t at = row - 2 * width;
    return at / head.values * head.rows() + 2 * head.keys + at % head.values;
  });
}

Numbers delta_gate(const DeltaNet& net, std::int64_t rows) {
  const DeltaHead head(net);
  return mapped(rows, [=](std::int64_t row) {
    return row / head.values * head.rows() + 2 * head.keys + head.values + row % head.values;
  });
}

/// Of rows of heads of values, after those of queries and keys if there are more.
Numbers delta_tiles(const DeltaNet& net, std::int64_t rows) {
  const std::int64_t start = rows == net.conv_width() ? 2 * net.key_width() : 0;
  const std::int64_t size = rows == net.value_heads ? 1 : net.value_size;
  const std::int64_t share = net.value_heads / net.key_heads;
  return mapped(rows, [=](std::int64_t row) {
    if (row < start) return row;
    const std::int64_t at = row - start;
    const std::int64_t head = at / size;
    const std::int64_t there = head % net.key_heads * share + head / net.key_heads;
    return start + there * size + at % size;
  });
}

Numbers selected(Rows which, std::int64_t rows) {
  switch (which) {
    case Rows::kAll:
    case Rows::kFirstHalf:
      return {};
    case Rows::kSecondHalf:
      return mapped(rows, [=](std::int64_t row) { return rows + row; });
    case Rows::kEven:
      return mapped(rows, [](std::int64_t row) { return 2 * row; });
    case Rows::kOdd:
      return mapped(rows, [](std::int64_t row) { return 2 * row + 1; });
    case Rows::kAllButTwo:
      return mapped(rows, [](std::int64_t row) { return row + 2; });
  }
  return {};
}

/// Rows of a head of latent attention: those for its keys, then those for its values.
std::int64_t latent_rows(const LatentAttention& latent) {
  return latent.plain_size() + latent.value_size;
}

}  // namespace

Numbers row_order(const PublishedTensor& from, const Layer& layer, std::int64_t rows) {
  if (from.rows != Rows::kAll) return selected(from.rows, rows);
  switch (from.order) {
    case Order::kRopePairs:
      return rope_pairs(layer, rows);
    case Order::kLatentValues:
      return mapped(rows, [start = layer.latent_attention->plain_size()](std::int64_t row) {
        return start + row;
      });
    case Order::kDeltaInput:
      return delta_input(*layer.delta_net, rows);
    case Order::kDeltaGate:
      return delta_gate(*layer.delta_net, rows);
    case Order::kDeltaTiles:
      return delta_tiles(*layer.delta_net, rows);
    case Order::kSame:
    case Order::kLatentKeys:
    case Order::kDeltaTileColumns:
      break;
  }
  return {};
}

Numbers column_order(const PublishedTensor& from, const Layer& layer, std::int64_t columns) {
  if (from.order != Order::kDeltaTileColumns) return {};
  return delta_tiles(*layer.delta_net, columns);
}

std::int64_t published_rows(const PublishedTensor& from, const Layer& layer, std::int64_t rows) {
  if (from.rows == Rows::kAllButTwo) return rows + 2;
  if (from.rows != Rows::kAll) return 2 * rows;
  if (from.order == Order::kLatentValues) return latent_rows(*layer.latent_attention);
  const bool both = from.order == Order::kDeltaInput || from.order == Order::kDeltaGate;
  if (both) return layer.delta_net->key_heads * DeltaHead(*layer.delta_net).rows();
  return rows;
}

std::int64_t published_columns(const PublishedTensor& from, const Layer& layer,
                               std::int64_t columns) {
  return from.order == Order::kLatentKeys ? latent_rows(*layer.latent_attention) : columns;
}

}  // namespace shunt
