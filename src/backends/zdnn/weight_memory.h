// The memory of weights that are in the machine's layout.
#pragma once

#include "backends/zdnn/weight_sticks.h"
#include "shunt/device.h"

namespace shunt::zdnn {

/// Holds matrices, each with what it takes in the machine's layout; or with what it takes plain, if
/// that is more, as offsets are those of plain bytes (of what is more nobody touches the pages).
class WeightMemory final : public BufferType {
 public:
  WeightMemory(const Machine& machine, WeightForm form) : machine_(machine), form_(form) {}

  WeightForm form() const { return form_; }
  std::string_view name() const override;
  std::size_t alignment() const override { return kPage; }
  bool host_accessible() const override { return false; }
  std::span<const Layout> layouts() const override;
  std::size_t size_of(const Tensor& tensor) const override;
  Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes) override;
  Result<std::unique_ptr<Buffer>> allocate_for(std::size_t bytes,
                                               std::span<const PlacedTensor> tensors) override;

  /// Whether such a weight can lie here.
  bool can_hold(const Tensor& tensor) const;

 private:
  const Machine& machine_;
  WeightForm form_;
};

/// The weight that starts at `at`, in a buffer of such memory; null if none does.
WeightSticks* find_weight(const Address& at);
/// Null: it is other memory.
inline const WeightMemory* as_weight_memory(const BufferType* type) {
  return dynamic_cast<const WeightMemory*>(type);
}

}  // namespace shunt::zdnn
