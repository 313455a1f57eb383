// An executable graph: the nodes of a graph as they were when it was made, and the order of its
// launches.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda/driver/work.h"
#include "cuda/graphs/graph.h"

namespace cuda_twin {

struct Plan;

/// A node of an executable graph, in the order of the graph's nodes.
struct Step {
  CUgraphNode source = nullptr;  ///< node that it was made from
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  std::shared_ptr<Context> context;
  Work work;
  std::vector<std::size_t> before;  ///< indices of steps, in the order of the node's edges
  std::shared_ptr<const Plan> child;
  bool enabled = true;
};
struct Plan {
  std::vector<Step> steps;
};
std::shared_ptr<Plan> plan_of(const Graph& graph);
/// A graph with these steps: a launch that is captured becomes a child graph.
std::shared_ptr<Graph> graph_of(const Plan& plan);
/// Every step of this kind, also of child graphs.
template <class Kind, class Visit>
void each_step(const Plan& plan, const Visit& visit) {
  for (const Step& step : plan.steps) {
    if (const auto* const work = std::get_if<Kind>(&step.work)) visit(*work);
    if (step.child) each_step<Kind>(*step.child, visit);
  }
}

/// The step that was made from this node, also of a child graph; null if there is none.
const Step* step_of(const Plan& plan, CUgraphNode source);
/// A copy of the plan in which one step, also of a child graph, has other work.
std::shared_ptr<Plan> with_step(const Plan& plan, CUgraphNode source, const Step& step);

/// The end of a launch, for the next one of the same executable graph to wait for. It has also
/// ended when it never ran, because its stream was lost or destroyed.
class Turn {
 public:
  void end();
  /// Returns before the end if `over` becomes true.
  void wait(const std::atomic<bool>& over);
  std::uint64_t number = 0;  ///< of the launch's last piece of work. Under GraphExec::launching

 private:
  std::mutex lock_;
  std::condition_variable changed_;
  bool ended_ = false;
};

/// A piece of a launch: a step, or the begin or end of a child graph (no work).
struct Task {
  const Work* work = nullptr;
  Context* context = nullptr;
  std::vector<std::size_t> after;  ///< indices of tasks that wait for this one
  std::size_t before = 0;          ///< how many this one waits for
  std::uint64_t number = 0;        ///< of the race checks
};

struct GraphLaunch {
  GraphLaunch() = default;
  GraphLaunch(const GraphLaunch&) = delete;
  GraphLaunch& operator=(const GraphLaunch&) = delete;
  ~GraphLaunch();  ///< its events and its turn end, whether it ran or not

  std::shared_ptr<const Plan> plan;
  std::vector<Task> tasks;
  std::list<Work> events;  ///< records and waits, with the numbers of this launch
  std::shared_ptr<Turn> turn = std::make_shared<Turn>();
  std::shared_ptr<Turn> previous;  ///< of the launch before this one; null: none
  std::uint64_t seed = 0;          ///< of the order; 0: that of the steps
};

struct GraphExec {
  /// Held from taking a turn until the stream has the launch. Taken before Driver::graphs_mutex.
  std::mutex launching;

  // Under Driver::graphs_mutex:
  std::shared_ptr<const Plan> plan;  ///< replaced, never changed: launches keep theirs
  unsigned long long flags = 0;

  // Under `launching`:
  std::shared_ptr<Turn> last_turn;  ///< of the last launch; null: none
  std::uint64_t launches = 0;
};

/// The tasks of a plan, child graphs between two empty ones.
std::vector<Task> tasks_of(const Plan& plan);

}  // namespace cuda_twin
