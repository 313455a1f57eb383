// Weights that have another type than in their file, for people.
#include <limits>

#include "shunt/explain.h"
#include "shunt/ledger.h"
#include "shunt/message.h"

namespace shunt {

void TranscodeError::add(const TranscodeError& other) {
  squared_error += other.squared_error;
  squares += other.squares;
  lost += other.lost;
}

double TranscodeError::normalised() const {
  if (squared_error == 0) return 0;
  return squares > 0 ? squared_error / squares : std::numeric_limits<double>::infinity();
}

TranscodedWeight describe_conversion(const Graph& graph, const Conversion& conversion,
                                     std::string device) {
  const Node& node = graph.node(conversion.leaf);
  const auto bytes = [&](DType dtype) -> std::uint64_t {
    const auto tensor = make_tensor(dtype, node.result.shape);
    return tensor ? static_cast<std::uint64_t>(byte_span(*tensor)) : 0;
  };
  TranscodedWeight weight;
  weight.node = conversion.leaf;
  weight.name = node.name;
  weight.device = std::move(device);
  weight.from = conversion.from;
  weight.to = conversion.to;
  weight.bytes_before = bytes(conversion.from);
  weight.bytes = bytes(conversion.to);
  weight.reason = conversion.reason;
  return weight;
}

std::string lost_text(const TranscodedWeight& weight) {
  const std::uint64_t lost = weight.error ? weight.error->lost : 0;
  return fmt::format("{} has {} that {} can't hold", weight.name, counted(lost, "value"),
                     to_string(weight.to));
}

namespace {

struct Group {
  TranscodedWeight first;
  std::size_t weights = 0;
  std::uint64_t before = 0;
  std::uint64_t after = 0;
  TranscodeError error;
};

std::string difference(const Group& group) {
  if (group.after >= group.before) return size_text(group.after - group.before) + " more";
  return size_text(group.before - group.after) + " less";
}

std::string line(const Group& group) {
  const TranscodedWeight& first = group.first;
  const bool measured = first.error.has_value();
  const double error = group.error.normalised();
  std::string cost = fmt::format(" ({})", first.reason);
  if (measured) {
    cost = error == 0 ? ", exactly" : fmt::format(": error {:.1e} (normalised mean square)", error);
  }
  return fmt::format("{}: {} weight{} {} as {} instead of {}{}, {}", first.device, group.weights,
                     group.weights == 1 ? "" : "s",
                     measured             ? "came"
                     : group.weights == 1 ? "comes"
                                          : "come",
                     to_string(first.to), to_string(first.from), cost, difference(group));
}

}  // namespace

std::vector<std::string> to_lines(std::span<const TranscodedWeight> weights) {
  std::vector<Group> groups;
  for (const TranscodedWeight& weight : weights) {
    Group* group = nullptr;
    for (Group& known : groups) {
      const TranscodedWeight& first = known.first;
      const bool same = first.device == weight.device && first.from == weight.from &&
                        first.to == weight.to &&
                        first.error.has_value() == weight.error.has_value();
      if (same && (weight.error || first.reason == weight.reason)) group = &known;
    }
    if (group == nullptr) {
      group = &groups.emplace_back();
      group->first = weight;
    }
    ++group->weights;
    group->before += weight.bytes_before;
    group->after += weight.bytes;
    if (weight.error) group->error.add(*weight.error);
  }
  std::vector<std::string> lines;
  lines.reserve(groups.size());
  for (const Group& group : groups) lines.push_back(line(group));
  return lines;
}

}  // namespace shunt
