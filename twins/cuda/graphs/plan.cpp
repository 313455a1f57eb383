// Plans: graphs made executable, and a plan's tasks.
#include <chrono>
#include <unordered_map>
#include <utility>

#include "cuda/graphs/exec.h"

namespace cuda_twin {

std::shared_ptr<Plan> plan_of(const Graph& graph) {
  auto plan = std::make_shared<Plan>();
  std::unordered_map<const Node*, std::size_t> positions;
  for (const auto& node : graph.nodes) positions.emplace(node.get(), positions.size());
  for (const auto& node : graph.nodes) {
    Step& step = plan->steps.emplace_back();
    step.source = node->handle;
    step.type = node->type;
    step.context = node->context;
    if (const Graph* const child = child_of(*node)) {
      step.child = plan_of(*child);
    } else {
      step.work = node->work;
    }
    for (const Edge& edge : node->before) step.before.push_back(positions.at(edge.from));
  }
  return plan;
}

std::shared_ptr<Graph> graph_of(const Plan& plan) {
  auto graph = std::make_shared<Graph>();
  for (const Step& step : plan.steps) {
    Work work = step.work;
    if (step.child) work = ChildGraphWork{graph_of(*step.child)};
    if (!step.enabled) work = EmptyWork{};
    add_node(*graph, std::move(work), step.context, {});
  }
  for (std::size_t i = 0; i < plan.steps.size(); ++i)
    for (const std::size_t from : plan.steps[i].before)
      connect(*graph->nodes[from], *graph->nodes[i], {});
  return graph;
}

const Step* step_of(const Plan& plan, CUgraphNode source) {
  for (const Step& step : plan.steps) {
    if (step.source == source) return &step;
    const Step* const inner = step.child ? step_of(*step.child, source) : nullptr;
    if (inner != nullptr) return inner;
  }
  return nullptr;
}

std::shared_ptr<Plan> with_step(const Plan& plan, CUgraphNode source, const Step& changed) {
  auto copy = std::make_shared<Plan>(plan);
  for (Step& step : copy->steps) {
    if (step.source == source) {
      step = changed;
      break;
    }
    if (step.child && step_of(*step.child, source) != nullptr) {
      step.child = with_step(*step.child, source, changed);
      break;
    }
  }
  return copy;
}

namespace {

class TaskList {
 public:
  explicit TaskList(std::vector<Task>& tasks) : tasks_(tasks) {}

  struct Ends {
    std::size_t first = 0, last = 0;
  };

  /// Adds the steps of a plan between two empty tasks.
  Ends add(const Plan& plan) {
    Ends all = {add_task({}), 0};
    std::vector<Ends> ends;
    ends.reserve(plan.steps.size());
    for (const Step& step : plan.steps) ends.push_back(add(step));
    std::vector<bool> inner(plan.steps.size());
    for (std::size_t i = 0; i < plan.steps.size(); ++i) {
      for (const std::size_t from : plan.steps[i].before) {
        inner[from] = true;
        order(ends[from].last, ends[i].first);
      }
      if (plan.steps[i].before.empty()) order(all.first, ends[i].first);
    }
    all.last = add_task({});
    for (std::size_t i = 0; i < ends.size(); ++i)
      if (!inner[i]) order(ends[i].last, all.last);
    if (ends.empty()) order(all.first, all.last);
    return all;
  }

 private:
  Ends add(const Step& step) {
    if (step.child && step.enabled) return add(*step.child);
    const bool has_work = step.enabled && step.type != CU_GRAPH_NODE_TYPE_EMPTY;
    const std::size_t at =
        add_task({has_work ? &step.work : nullptr, step.context.get(), {}, 0, 0});
    return {at, at};
  }
  std::size_t add_task(Task task) {
    tasks_.push_back(std::move(task));
    return tasks_.size() - 1;
  }
  void order(std::size_t from, std::size_t to) {
    tasks_[from].after.push_back(to);
    ++tasks_[to].before;
  }

  std::vector<Task>& tasks_;
};

}  // namespace

std::vector<Task> tasks_of(const Plan& plan) {
  std::vector<Task> tasks;
  TaskList(tasks).add(plan);
  return tasks;
}

void Turn::end() {
  const std::lock_guard hold(lock_);
  ended_ = true;
  changed_.notify_all();
}

void Turn::wait(const std::atomic<bool>& over) {
  constexpr std::chrono::milliseconds kStep(20);
  std::unique_lock hold(lock_);
  while (!ended_ && !over) changed_.wait_for(hold, kStep);
}

}  // namespace cuda_twin
