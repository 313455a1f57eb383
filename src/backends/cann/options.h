// The options of CANN: "cann.graph", "cann.graphs", "cann.matmul", "cann.pinned", "cann.fuse",
// "cann.attention", "cann.deterministic", "cann.executors", "cann.nz",
// "cann.peers", "cann.prefill_graph", "cann.timeout".
#pragma once

#include <chrono>
#include <cstddef>
#include <span>

#include "backends/cann/acl.h"
#include "shunt/registry.h"

namespace shunt::cann {

struct CannOptions {
  bool graph = true;              ///< capture steps and replay them
  bool prefill_graph = false;     ///< those of many tokens, too
  std::size_t graphs = 12;        ///< captured ones of a stream
  std::size_t executors = 16384;  ///< of a run that are kept to be used again
  CubeMath f32_products = CubeMath::kKeep;
  bool fuses_attention = true;   ///< into one operator
  bool fractal_weights = false;  ///< where the chip multiplies them faster
  bool pinned = true;            ///< copies by way of pinned host memory
  bool fuse = true;              ///< nodes into one operator
  bool peers = true;             ///< direct copies between devices
  bool deterministic = true;
  /// A device that makes the host wait longer is lost.
  std::chrono::milliseconds timeout{};
};

std::span<const BackendOption> option_table();
/// Of options whose settings were checked.
CannOptions parse_options(const Options& options);

}  // namespace shunt::cann
