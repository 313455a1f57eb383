// A kernel of this backend: a product on plain host memory, in panels that threads take as
// they come. Weights are decoded to floats in a thread's scratch, then multiplied by the library.
#pragma once

#include <memory>
#include <span>

#include "backend_support/cpu_threads.h"
#include "backend_support/node_program.h"
#include "backends/blas/symbols.h"

namespace shunt::blas {

struct Context {  ///< the data that launches share
  std::unique_ptr<Library> library;
  std::shared_ptr<CpuThreads> threads;
};

/// The largest panel: rows of w, columns of x and terms of the sum, each whole blocks of every
/// type. Panels, and so results, do not depend on the number of threads.
inline constexpr std::int64_t kPanelRows = 256;
inline constexpr std::int64_t kPanelColumns = 512;
inline constexpr std::int64_t kPanelDepth = 256;

/// Panels of products with few columns have fewer rows, so that all threads get some.
constexpr std::int64_t panel_rows(std::int64_t columns) {
  return columns < 64 ? kPanelRows / 4 : kPanelRows;
}

/// The scratch of one thread.
struct Scratch {
  float w[kPanelRows * kPanelDepth];
  float x[kPanelColumns * kPanelDepth];
  float y[kPanelRows * kPanelColumns];  ///< for columns that are not adjacent in the result
  std::int64_t columns[kPanelColumns];  ///< the numbers of these columns
};

class BlasKernel : public NodeKernel<Context> {
 public:
  Support supports(const NodeView& node, const NoTarget&) const override {
    const std::int64_t rows = node.result().size(0);
    if (rows <= kMaxSize) return Support::yes();
    return Support::no(Refusal::kShape, fmt::format("{} rows: CBLAS has sizes of 32 bits", rows));
  }
};

/// The kernels of one file kernels/OP.cpp, which defines `KernelList OP_kernels();`.
using KernelList = std::span<const BlasKernel* const>;

}  // namespace shunt::blas
