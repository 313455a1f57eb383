// What devices say to each node. One that would compute it "if this source comes as that type" gets
// its way where the source is a weight that may be transcoded: see docs/scheduler.md. So all others
// have to do with is yes or no.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "shunt/plan.h"

namespace shunt {

class Answers {
 public:
  /// Asks each device about each computed node. The graph must outlive the answers.
  static Answers ask(const Graph& graph, std::span<Device* const> devices,
                     const PlaceOptions& options);

  std::size_t device_count() const { return devices_.size(); }
  /// Of a computed node: yes, or no with a reason. A yes may hang on weights: see same_type().
  const Support& of(NodeId id, int device) const { return on(device).answers[id]; }
  /// Makes a yes a no.
  void refuse(NodeId id, int device, Support answer) {
    devices_[static_cast<std::size_t>(device)].answers[id] = std::move(answer);
  }
  /// The option that would turn a no into a yes; empty if there is none.
  std::string_view remedy(NodeId id, int device) const;
  /// The graph as a device would have it: the weights it asks for transcoded. Its answers are about
  /// that.
  const Graph& graph_on(int device) const;

  /// What a weight has to be on a device, if that is another type than the graph's; else null.
  const Conversion* conversion(NodeId leaf, int device) const;
  /// Whether a device that reads a leaf from where it is, on device `home`, finds the type that its
  /// answers are about. The CPU takes any.
  bool same_type(NodeId leaf, int device, int home) const;

 private:
  friend class Asker;
  struct OnDevice {
    std::vector<Support> answers;              // by node
    std::map<NodeId, std::string> remedies;    // by node
    std::map<NodeId, Conversion> conversions;  // by leaf
    std::unique_ptr<const Graph> graph;        // null: the one that was asked about
  };
  const OnDevice& on(int device) const { return devices_[static_cast<std::size_t>(device)]; }

  const Graph* graph_ = nullptr;
  std::vector<OnDevice> devices_;
};

/// Weights that have another type where they were put, which their decisions then say. The CPU
/// alone reads them as they are.
std::vector<Conversion> find_conversions(const Answers& answers, const Graph& graph,
                                         std::vector<Decision>& decisions);

}  // namespace shunt
