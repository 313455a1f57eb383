// Placement problems drawn at random, for the tests and the benchmark of the second pass of
// placement.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "schedule/place/optimize/problem.h"

namespace shunt {

enum class GraphKind { kChain, kDiamonds, kFanOut, kLayers, kMixed };

struct ProblemShape {
  GraphKind kind = GraphKind::kMixed;
  std::size_t nodes = 10;
  int devices = 3;
  bool groups = false;  ///< some nodes share a device, some are pinned
};

/// Draws problems; the same seed draws the same ones with every standard library.
class ProblemGenerator {
 public:
  explicit ProblemGenerator(std::uint64_t seed) : random_(seed) {}

  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  double uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  double log_uniform(double low, double high) { return low * std::pow(high / low, uniform()); }

  /// The last device is the host, which computes everything; each of the others, of the eight ops
  /// there are, computes about three in four. An op takes 1 us to 1 ms, independently on each
  /// device, and so does a copy.
  CostProblem draw(const ProblemShape& shape) {
    CostProblem problem;
    problem.devices = shape.devices;
    const auto devices = static_cast<std::size_t>(shape.devices);
    const bool alike = below(2) == 0;  // else links differ in speed, and have a latency
    for (std::size_t l = 0; l < devices * devices; ++l) {
      problem.links.push_back(alike ? CostLink{0, 1e-9}
                                    : CostLink{log_uniform(1e-7, 1e-5), log_uniform(3e-10, 3e-9)});
    }
    std::vector<std::vector<bool>> supports(devices, std::vector<bool>(kOps, true));
    for (std::size_t d = 0; d + 1 < devices; ++d) {
      for (std::size_t op = 0; op < kOps; ++op) supports[d][op] = below(4) != 0;
    }
    is_read_.assign(shape.nodes, false);
    problem.externals.push_back({shape.devices - 1, bytes()});
    for (std::size_t i = 0; i < shape.nodes; ++i) {
      CostNode node;
      const std::size_t op = below(kOps);
      for (std::size_t d = 0; d < devices; ++d) {
        const double seconds = log_uniform(1e-6, 1e-3);
        node.seconds.push_back(supports[d][op] ? seconds : kNever);
      }
      node.bytes = bytes();
      node.sources = sources(shape.kind, i);
      if (i >= kReach && !is_read_[i - kReach]) {  // so that few are read at the end only
        node.sources.push_back({false, static_cast<std::uint32_t>(i - kReach)});
      }
      if (node.sources.empty()) node.sources.push_back({true, 0});
      for (const CostValue& source : node.sources) {
        if (!source.external) is_read_[source.index] = true;
      }
      if (shape.groups && below(4) == 0) node.group = static_cast<int>(below(1 + shape.nodes / 6));
      if (shape.groups && node.group < 0 && below(8) == 0) node.pinned = shape.devices - 1;
      problem.nodes.push_back(std::move(node));
    }
    read_at_the_end(problem);
    return problem;
  }

  /// Each node on some device that computes it; groups on the host.
  Assignment draw_start(const CostProblem& problem) {
    Assignment start;
    for (const CostNode& node : problem.nodes) {
      int device = problem.devices - 1;
      for (int attempt = 0; attempt < 4 && node.group < 0 && node.pinned < 0; ++attempt) {
        const std::size_t d = below(static_cast<std::size_t>(problem.devices));
        if (node.seconds[d] < kNever) device = static_cast<int>(d);
      }
      start.push_back(device);
    }
    return start;
  }

 private:
  static constexpr std::size_t kOps = 8;
  static constexpr std::size_t kReach = 12;

  std::size_t bytes() { return static_cast<std::size_t>(log_uniform(1e3, 1e6)); }

  std::vector<CostValue> sources(GraphKind kind, std::size_t i) {
    const auto node = [](std::size_t index) {
      return CostValue{false, static_cast<std::uint32_t>(index)};
    };
    if (kind == GraphKind::kMixed) {
      constexpr GraphKind kKinds[] = {GraphKind::kChain, GraphKind::kDiamonds, GraphKind::kFanOut};
      kind = kKinds[below(3)];
    }
    if (i == 0) return {};
    switch (kind) {
      case GraphKind::kChain:
        return {node(i - 1)};
      case GraphKind::kDiamonds:  // 0 -> 1, 2 -> 3 -> 4, 5 -> 6
        if (i % 3 == 0) return {node(i - 1), node(i - std::min<std::size_t>(i, 2))};
        return {node(i / 3 * 3)};
      case GraphKind::kLayers: {  // four wide, each node reads two or three of the layer before
        if (i < 4) return {};
        const std::size_t layer = i / 4 * 4 - 4;
        std::vector<CostValue> values;
        for (std::size_t k = 0; k < 4; ++k) {
          if (k == i % 4 || below(2) == 0) values.push_back(node(layer + k));
        }
        return values;
      }
      case GraphKind::kFanOut:
      case GraphKind::kMixed:
        break;
    }
    // One to three of the last dozen, the oldest among them if no other node has read it, and now
    // and then the input.
    std::vector<CostValue> values;
    const std::size_t count = 1 + below(3);
    for (std::size_t k = 0; k < count; ++k) {
      values.push_back(node(i - 1 - below(std::min(i, kReach))));
    }
    if (below(6) == 0) values.push_back({true, 0});
    return values;
  }

  void read_at_the_end(CostProblem& problem) const {
    for (std::size_t i = 0; i < problem.nodes.size(); ++i) {
      if (is_read_[i]) continue;
      problem.final_reads.push_back({{false, static_cast<std::uint32_t>(i)}, problem.devices - 1});
    }
  }

  std::vector<bool> is_read_;  ///< by another node
  std::mt19937_64 random_;
};

}  // namespace shunt
