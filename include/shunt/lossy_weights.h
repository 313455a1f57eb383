// Weights in a form of a device's own that is coarser than their type, for room or for speed.
#pragma once

#include <optional>
#include <string_view>

#include "shunt/device.h"

namespace shunt {

/// What became of a weight that was written to such memory.
struct LossyCost {
  DType form = DType::kI8;   ///< what its numbers are now, scales aside
  double squared_error = 0;  ///< against those that were written
  double squares = 0;        ///< of these
};

/// What a Device may be besides. Nobody asks it unless the user allows what is lossy
/// (Transcode::kLossy).
class LossyWeights {
 public:
  LossyWeights() = default;
  LossyWeights(const LossyWeights&) = delete;
  LossyWeights& operator=(const LossyWeights&) = delete;
  virtual ~LossyWeights() = default;

  /// Like Device::weight_memory(). Null: this weight has no such form.
  virtual BufferType* lossy_weight_memory(const Graph& graph, NodeId leaf) = 0;
  /// Why no weight has one, for a person; empty if some do.
  virtual std::string_view why_not_lossy() const = 0;
  /// Nothing, unless a whole weight that has that form starts there.
  virtual std::optional<LossyCost> lossy_cost(const Address& at) const = 0;
  /// Like Device::rounding_error(), with such weights; what these cost themselves is no part of it.
  virtual double lossy_rounding_error(const Graph& graph, NodeId node) const = 0;
};

/// Null: it has no such forms.
inline LossyWeights* lossy_weights(Device& device) {
  return dynamic_cast<LossyWeights*>(&device);
}

}  // namespace shunt
