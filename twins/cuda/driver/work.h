// One piece of work, as data: a stream executes it in its turn, a capturing stream makes a graph
// node of it, a graph executes its nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "cuda/include/cuda_twin/driver.h"
#include "cuda/machine/block.h"

namespace cuda_twin {

struct Context;
struct Stream;
struct Event;
struct Function;
struct Graph;
struct GraphExec;
struct GraphLaunch;
struct PoolAllocation;
struct FreeClaim;

struct KernelWork {
  std::shared_ptr<Function> function;  ///< its module may be unloaded before it runs
  Dim3 grid, block, cluster;
  std::uint32_t dynamic_shared = 0;
  bool cooperative = false;
  std::vector<std::byte> parameters;  ///< copied when the launch was called
};
/// All copies: rows of bytes, a pitch on each side, planes for 3-D. Addresses are as the caller
/// gave them; they are looked up when it runs.
struct CopyWork {
  std::uint64_t to = 0, from = 0;
  std::uint64_t row_bytes = 0, rows = 1, planes = 1;
  std::uint64_t to_pitch = 0, from_pitch = 0, to_plane = 0, from_plane = 0;
  enum class Side : std::uint8_t { kHost, kDevice, kAny } to_side = Side::kAny, from_side = Side::kAny;
  std::shared_ptr<Context> to_context, from_context;  ///< of a peer copy
  /// Bytes of pageable host memory, copied when the call was made: `from` is not read.
  std::shared_ptr<const std::vector<std::byte>> staged;
};
struct FillWork {
  std::uint64_t to = 0;
  std::uint32_t value = 0;
  std::uint32_t element_bytes = 1;
  std::uint64_t width = 0, height = 1, pitch = 0;  ///< width in elements
};
struct HostWork {
  CUhostFn function = nullptr;
  void* user = nullptr;
};
struct RecordWork {
  std::shared_ptr<Event> event;
  std::uint64_t record = 0;  ///< number of this record; 0 in graphs: taken when it runs
};
struct WaitWork {
  std::shared_ptr<Event> event;
  std::uint64_t record =
      0;  ///< the record that is waited for: an event may be recorded again before this runs
};
struct WriteValueWork {
  std::uint64_t to = 0, value = 0;
  std::uint32_t bytes = 4;
};
struct WaitValueWork {
  std::uint64_t at = 0, value = 0;
  std::uint32_t bytes = 4, flags = 0;
};
struct AllocateWork {  ///< storage of an address that was given out already: driver/pools.h
  std::shared_ptr<PoolAllocation> memory;
};
struct FreeWork {
  std::shared_ptr<PoolAllocation> memory;
  std::shared_ptr<const FreeClaim> claim;  ///< of a node; null: of a stream
};
struct GraphWork {
  std::shared_ptr<GraphExec> graph;     ///< for a capture; null: only `launch`
  std::shared_ptr<GraphLaunch> launch;  ///< its turn, and the nodes as they were then
};
struct ChildGraphWork {  ///< in graphs only
  std::shared_ptr<Graph> graph;
};
struct EmptyWork {};

using Work =
    std::variant<EmptyWork, KernelWork, CopyWork, FillWork, HostWork, RecordWork, WaitWork,
                 WriteValueWork, WaitValueWork, AllocateWork, FreeWork, GraphWork, ChildGraphWork>;

/// In the stream's turn, or a node of the graph that the stream captures. driver/submit.cpp
CUresult submit(Stream& stream, Work work);

/// Executes now, on the calling thread, for a stream's or a graph's worker. The result is an error
/// of the work itself (700, 719, ...). `number` names this piece of work in reports of races.
/// driver/perform_work.cpp
CUresult perform(Context& context, const Work& work, std::uint64_t number);

}  // namespace cuda_twin
