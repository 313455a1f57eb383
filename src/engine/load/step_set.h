// The graphs of a model's steps and their placements. Loading a model and opening sessions use the
// same few repeatedly: to fit the model into memory, to judge the fallbacks, to compile the plans.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "model/definition.h"
#include "shunt/placement_policy.h"
#include "shunt/plan.h"

namespace shunt {

/// The graph of a step, without a copy.
inline std::shared_ptr<const Graph> graph_of(std::shared_ptr<const StepGraph> step) {
  const Graph* const graph = &step->graph;
  return {std::move(step), graph};
}

/// All that decides a placement. Memory of leaves is compared by its type: devices see only that
/// (MemoryOfLeaves).
struct PlacementKey {
  std::shared_ptr<const Graph> graph;  ///< of a StepSet
  std::vector<Device*> devices;
  std::vector<std::pair<NodeId, const BufferType*>> memory;
  std::vector<std::uint64_t> stream_bytes;
  std::vector<std::pair<NodeId, const Device*>> parts;
  PlacementPolicy policy;  ///< without a file, which is followed without a search

  /// Whether both give the same placement. Fallback policies judge placements, and make none.
  bool operator==(const PlacementKey& other) const;
};

/// Makes each graph and each placement once, and keeps those that were used last. For many threads.
class StepSet {
 public:
  /// The graph of a step with the types of the file.
  Result<std::shared_ptr<const StepGraph>> graph(
      const std::shared_ptr<const ModelDefinition>& definition, const StepShape& shape);
  /// The same with other element types of some leaves.
  Result<std::shared_ptr<const StepGraph>> with_types(const std::shared_ptr<const StepGraph>& step,
                                                      std::span<const LeafType> types);
  /// The placement of a key. `place` is called if it is not known. Errors are not kept.
  Result<Placement> placement(PlacementKey key, const std::function<Result<Placement>()>& place);

  /// Graphs and placements that were made so far.
  std::size_t graphs_made() const;
  std::size_t placements_made() const;

 private:
  struct Built {
    std::shared_ptr<const ModelDefinition> definition;
    StepShape shape;
    std::shared_ptr<const StepGraph> step;
  };
  struct Typed {
    std::shared_ptr<const StepGraph> of;
    std::vector<LeafType> types;
    std::shared_ptr<const StepGraph> step;
  };
  struct Placed {
    PlacementKey key;
    Placement placement;
  };
  /// Moves a known entry to the front; null if there is none.
  template <class Entry, class Match>
  static const Entry* find(std::list<Entry>& known, const Match& match);
  template <class Entry>
  static void keep(std::list<Entry>& known, Entry entry);

  mutable std::mutex mutex_;
  std::list<Built> built_;  // the one used last comes first
  std::list<Typed> typed_;
  std::list<Placed> placed_;
  std::size_t graphs_made_ = 0;
  std::size_t placements_made_ = 0;
};

}  // namespace shunt
