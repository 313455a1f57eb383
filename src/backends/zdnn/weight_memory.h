// The memory of weights that are in the machine's layout.
#pragma once

#include "backends/zdnn/weight_sticks.h"
#include "device/kernel_table.h"
#include "shunt/device.h"

namespace shunt::zdnn {

/// Holds matrices. Each takes its bytes in the machine's layout, or its plain bytes if those are
/// more, as offsets are those of plain bytes. The pages of the surplus are never touched.
class WeightMemory final : public PackedMemory {
 public:
  WeightMemory(const Machine& machine, WeightForm form);

  WeightForm form() const { return form_; }
  std::size_t alignment() const override { return kPage; }
  bool packs(const Tensor& tensor) const override;

 protected:
  std::size_t packed_bytes(const Tensor& tensor) const override;
  std::unique_ptr<PackedTensor> place(const Tensor& tensor, Buffer& bytes,
                                      std::size_t offset) const override;
  Status check_place(const PlacedTensor& placed) const override;

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

/// Whether a source of a node is a weight of 8-bit numbers.
bool has_int8_weight(const NodeView& view);

}  // namespace shunt::zdnn
