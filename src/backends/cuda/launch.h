// A bound segment: its launches, whose parameters stay as they are.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/cuda/gpu/shared.h"
#include "backends/cuda/symbols.h"
#include "shunt/device.h"

namespace shunt::cuda {

struct Launch {
  FunctionHandle function = nullptr;
  unsigned blocks = 1;
  unsigned threads = 1;
  std::vector<std::byte> parameters;
};

/// The nodes of a segment in order, with their names for errors.
using NodeNames = std::vector<std::pair<NodeId, std::string>>;

class CudaBinding final : public Binding {
 public:
  std::vector<Launch> launches;
  DevicePointer run = 0;  ///< the gpu::Run that the launches read
  std::shared_ptr<const NodeNames> names;
};

}  // namespace shunt::cuda
