// Parameters of nodes, as callers give them and as Work.
#pragma once

#include <memory>

#include "cuda/driver/state.h"
#include "cuda/driver/work.h"

namespace cuda_twin {

/// A node in the making.
struct NewNode {
  Work work;
  std::shared_ptr<Context> context;  ///< null: that of the stream that runs the graph
};

/// They refuse null pointers, handles that are none, and sizes that the driver refuses. A null
/// `context` is the calling thread's.
/// `like`: a kernel whose cooperative launch and clusters the new one has; null: neither.
CUresult kernel_node(const CUDA_KERNEL_NODE_PARAMS* params, NewNode& node,
                     const KernelWork* like = nullptr);
CUresult copy_node(const CUDA_MEMCPY3D* params, CUcontext context, NewNode& node);
CUresult fill_node(const CUDA_MEMSET_NODE_PARAMS* params, CUcontext context, NewNode& node);
CUresult host_node(const CUDA_HOST_NODE_PARAMS* params, NewNode& node);
CUresult record_node(CUevent event, NewNode& node);
CUresult wait_node(CUevent event, NewNode& node);

CUDA_MEMCPY3D copy_params(const CopyWork& work);
CUDA_MEMSET_NODE_PARAMS fill_params(const FillWork& work);

}  // namespace cuda_twin
