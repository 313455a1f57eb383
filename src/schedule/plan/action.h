// One entry of a plan's list of work.
#pragma once

#include "schedule/plan/blocks.h"

namespace shunt {

enum class ActionKind : std::uint8_t {
  kRun,      ///< a segment
  kWrite,    ///< a copy from host memory
  kRead,     ///< a copy to host memory
  kCopy,     ///< a copy between memories of two devices
  kObserve,  ///< the observer sees a node
  kGather,   ///< the host reads the numbers of the slices that the next action copies
};

/// The streams of a device.
enum class Queue : std::uint8_t {
  kCompute,   ///< segments, and reads of their results; all work of a device with one queue
  kTransfer,  ///< other copies, if Device::has_transfer_queue()
};

inline constexpr int kHostAction = -1;  // the host does it itself, in no stream
inline constexpr std::size_t kNoCopy = ~std::size_t{0};

/// A tensor that an action copies.
struct CopyPart {
  NodeId node = 0;
  std::size_t copy = kNoCopy;
  std::size_t offset = 0;  ///< from Action::from, and from Action::to
};

struct Action {
  ActionKind kind = ActionKind::kRun;
  int device = kHostAction;          ///< whose stream it goes through
  Queue queue = Queue::kCompute;     ///< which of them
  std::size_t segment = 0;           ///< that it is, or comes before
  NodeId node = 0;                   ///< that is copied or observed; of several, the first
  std::size_t copy = kNoCopy;        ///< that it is, or is a part of; of several, the first
  PlanAddress from = {};             ///< source of a copy, or of a read by the host
  PlanAddress to = {};               ///< destination of a copy
  std::vector<CopyPart> parts = {};  ///< of a copy: its tensors, by ascending offset
};

/// A number for each stream of a plan, from 0; kHostAction for the host.
inline int stream_number(const Action& action) {
  return action.device == kHostAction
             ? kHostAction
             : 2 * action.device + (action.queue == Queue::kTransfer ? 1 : 0);
}

inline bool is_copy(ActionKind kind) {
  return kind == ActionKind::kWrite || kind == ActionKind::kRead || kind == ActionKind::kCopy;
}

}  // namespace shunt
