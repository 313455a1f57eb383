// A kernel of this backend: operations of the machine on tensors in its layout.
#pragma once

#include <span>
#include <vector>

#include "backend_support/blocked_layout.h"
#include "backend_support/capability_rows.h"
#include "backends/zdnn/launch.h"
#include "device/kernel_table.h"

namespace shunt::zdnn {

using SourcePlaces = std::array<SourcePlace, kMaxSources>;

/// The node that a kernel is to compute, and how it will get its sources.
struct KernelUse {
  const NodeView& view;
  const Machine& machine;
  const SourceForms& forms;
};

/// In the place of a temporary that a use does not need.
inline constexpr Dims kNoTemporary = {0, 0, 0};

/// A requirement of a kernel on a node and on the machine.
using Need = CapabilityRow<Machine>;
/// A function of the machine.
template <Feature F>
inline constexpr Need kHas = {
    Refusal::kVendorFunction,
    [](const NodeView&, const Machine& machine) { return machine.why_not(F); }};

class ZdnnKernel : public Kernel<Machine> {
 public:
  /// Checks needs(); and that the machine takes whole tensors, unless it computes in pieces.
  Support supports(const NodeView& view, const Machine& machine) const final;
  virtual std::span<const Need> needs(const NodeView& view) const = 0;
  /// Whether a result of another type, and tensors of any size, are fine.
  virtual bool computes_in_pieces() const { return false; }
  /// The form that it needs of a source; not called for weights.
  virtual SourceForm form(const NodeView&, const Machine&, std::size_t, const SourcePlaces&) const {
    return SourceForm::kSticks;
  }
  /// If it is not 0, heads differ in the slope with which they multiply the mask.
  virtual float max_bias(const NodeView&) const { return 0; }
  /// The factor that is applied to rows before they are levelled.
  virtual float scale(const NodeView&) const { return 1; }
  /// Whether finite numbers of a source that are too large are limited. Else it takes them as they
  /// are.
  virtual bool limits(std::size_t, SourceForm) const { return true; }
  /// Whether it writes its result plain. Else it gives it in the machine's layout.
  virtual bool gives_plain(const NodeView&, const Machine&) const { return false; }
  /// Whether a source may be a weight in the machine's layout (weight_sticks.h), if it is a leaf.
  virtual bool takes_weight(const NodeView&, std::size_t) const { return false; }
  /// Whether it adds a row to its result at no cost: then that is its third source, in the
  /// machine's layout.
  virtual bool adds_row(const NodeView&, const Machine&) const { return false; }
  /// Tensors in the machine's layout that it needs in addition to its own, at the dynamic
  /// dimensions' maximum.
  virtual std::vector<Dims> temporaries(const KernelUse&) const { return {}; }
  /// Bytes of plain memory that it needs while it runs, at the dynamic dimensions' maximum.
  virtual std::size_t staging(const KernelUse&) const { return 0; }
  /// Computes. Nothing is empty. The status of a failed call of the library is in the launch.
  virtual void run(Launch& launch) const = 0;
  /// Normalised mean square error of a result of many elements, in squares of the unit roundoff.
  /// A rounding costs less than a third of one: errors are spread evenly up to it.
  virtual double roundings(const NodeView& view, const Machine& machine) const = 0;
  /// The normalised mean square error of a result of many elements with 8-bit weights, without the
  /// error of the weights.
  virtual double int8_error() const { return 0; }
  /// Whether a result may be so small (below 5e-10) that DLFLOAT16 has 0 for it, while its sources
  /// are not.
  virtual bool vanishes() const { return false; }
};

/// The kernels of one file kernels/OP.cpp, which defines `KernelList OP_kernels();`.
using KernelList = std::span<const ZdnnKernel* const>;

/// Sizes at the dynamic dimensions' maximum.
Dims max_dims(const Tensor& tensor);

/// Whether the library reads a tensor directly from its memory, with any dynamic dimensions. Its
/// type is one of the host's, and there are no gaps, as strides are those of the maximum.
bool goes_in_directly(const Tensor& tensor);

}  // namespace shunt::zdnn
