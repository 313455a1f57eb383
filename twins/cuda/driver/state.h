// The objects of the driver: devices, contexts, streams, events, modules, functions.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "cuda/driver/handles.h"
#include "cuda/driver/work.h"
#include "cuda/include/cuda_twin/driver.h"
#include "cuda/memory/space.h"
#include "cuda/profiles.h"
#include "cuda/program/program.h"

namespace cuda_twin {

struct Capture;   // graphs/captures.h: a capture under way
struct Node;      // graphs/graph.h
struct Pool;      // driver/pools.h
struct Physical;  // driver/virtual_memory.h: memory without an address
struct Reservation;

inline constexpr int kGreatestPriority = -5;  ///< of streams; the least is 0

struct Device {
  int ordinal = 0;
  Profile own_profile = {};  ///< that of the table, as changed by settings
  const Profile* profile = nullptr;
  std::uint64_t memory_bytes = 0;
  std::atomic<std::uint64_t> small_bytes{0};  ///< in use by allocations that share blocks
  std::atomic<std::uint64_t> large_bytes{0};  ///< in use by allocations of whole blocks
  std::mutex mutex;                           ///< guards the primary context
  std::shared_ptr<Context> primary;
  unsigned primary_retained = 0;
  unsigned primary_flags = 0;
  std::shared_ptr<Pool> default_pool, current_pool;  ///< set by pools.cpp on first use
  int sm() const { return profile->major * 10 + profile->minor; }
};

struct Context : std::enable_shared_from_this<Context> {
  Device* device = nullptr;
  CUcontext handle = nullptr;
  std::uint64_t id = 0;
  std::atomic<unsigned> flags{0};
  bool is_primary = false;
  std::atomic<bool> destroyed{false};
  /// An error of work that no call has reported yet; 0 if none. Work after it is not executed.
  std::atomic<int> late_error{0};
  /// The error that every call returns from now on; 0 if none.
  std::atomic<int> error{0};

  std::mutex mutex;   ///< guards all below, and the order of submissions to the context's streams
  std::string fault;  ///< text of the late error
  std::vector<std::shared_ptr<Stream>> streams;  ///< created ones, and those of threads
  std::shared_ptr<Stream> legacy;                ///< the default stream
  /// Last pieces of work of destroyed streams that no wait covers yet: blocking and non-blocking.
  std::vector<std::uint64_t> ended_blocking, ended_non_blocking;
  std::map<std::thread::id, std::shared_ptr<Stream>> of_threads;
  std::set<std::uint64_t> peers;               ///< ids of contexts whose memory this one may use
  std::atomic<std::uint32_t> peer_devices{0};  ///< bit d: device d is one of these
  std::array<std::size_t, 8> limits{};
  std::uint64_t own_bytes = 0;    ///< of the device, for the context itself
  std::uint64_t stack_bytes = 0;  ///< of the device, for stacks of threads
};

struct Stream : std::enable_shared_from_this<Stream> {
  std::weak_ptr<Context> context;
  CUstream handle = nullptr;
  std::uint64_t id = 0;
  unsigned flags = 0;
  int priority = 0;
  bool is_legacy = false;
  bool non_blocking() const { return (flags & CU_STREAM_NON_BLOCKING) != 0; }

  /// Work of another stream that must end before this stream's next piece.
  struct Dependency {
    std::shared_ptr<Stream> stream;
    std::uint64_t ticket = 0;
  };
  struct Item {
    Work work;
    std::uint64_t ticket = 0, number = 0;
    std::vector<Dependency> after;
  };
  std::mutex mutex;  ///< guards all below. Locked after Context::mutex
  std::condition_variable changed;
  std::deque<Item> queue;
  std::uint64_t submitted = 0;  ///< ticket of the last piece of work
  std::uint64_t completed = 0;
  std::uint64_t urgent = 0;       ///< ticket up to which work is not held back: something waits
  bool closing = false;           ///< no more work comes: the thread ends when the queue is empty
  bool started = false;           ///< it has a thread
  std::uint64_t last_number = 0;  ///< of its last piece of work, for races

  std::shared_ptr<Capture> capture;  ///< null: not capturing. Guarded by Driver::graphs_mutex
};

/// A record is numbered by its submission. Waits name the record, as the event may be recorded
/// again before they run.
struct Event {
  std::weak_ptr<Context> context;
  CUevent handle = nullptr;
  unsigned flags = 0;
  mutable std::mutex mutex;  ///< guards all below
  std::condition_variable changed;
  std::uint64_t recorded = 0;         ///< number of the last record; 0: never
  std::set<std::uint64_t> pending;    ///< records submitted, not executed
  std::uint64_t nanoseconds = 0;      ///< when the last record was executed
  std::uint64_t number = 0;           ///< of the last record as a piece of work, for races
  std::weak_ptr<Stream> stream;       ///< of the last record
  std::uint64_t ticket = 0;           ///< of the last record in `stream`
  std::shared_ptr<Capture> capture;   ///< recorded in a capture since. Driver::graphs_mutex
  std::vector<Node*> captured_nodes;  ///< that a wait depends on. Driver::graphs_mutex
};

struct Module {
  std::weak_ptr<Context> context;
  CUmodule handle = nullptr;
  Device* device = nullptr;
  std::shared_ptr<const Program> program;
  struct Global {
    std::uint64_t address = 0, bytes = 0;
  };
  std::unordered_map<std::string, Global> globals;
  std::uint64_t code_bytes = 0;  ///< of the device, for machine code
  std::mutex mutex;              ///< guards `functions`
  std::unordered_map<std::string, std::shared_ptr<Function>> functions;  ///< with handles
};

struct Function {
  std::weak_ptr<Context> context;
  CUfunction handle = nullptr;
  CUmodule module = nullptr;
  std::shared_ptr<const Program> program;
  const KernelInfo* kernel = nullptr;
  std::atomic<int> dynamic_shared{0};  ///< CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
  std::atomic<int> carveout{-1};
};

/// Memory of a device that is counted: by its address.
struct Allocation {
  std::uint64_t bytes = 0;  ///< as asked for
  MemoryKind kind = MemoryKind::kDevice;
  Device* device = nullptr;
  std::uint64_t context = 0;  ///< id of the owner; 0: a pool's
};

/// Pinned and registered host memory, by its first byte.
struct HostRange {
  std::uint64_t bytes = 0;
  unsigned flags = 0;
  bool registered = false;    ///< by cuMemHostRegister
  std::uint64_t context = 0;  ///< id
  /// Pinned memory of an integrated device is the device's memory, too. Null: it takes none.
  Device* charged = nullptr;
};

/// Everything the library knows. There is one; it is never destroyed, as calls come while a process
/// exits.
struct Driver {
  std::mutex mutex;  ///< guards initialisation
  std::mutex values_mutex;
  /// The last work that was submitted to write a word, by its address: cuStreamWriteValue32.
  std::unordered_map<std::uint64_t, std::uint64_t> value_writes;
  std::mutex memory_mutex;  ///< guards `allocations` and `hosts`
  std::atomic<bool> initialised{false};
  std::atomic<bool> lost{false};
  std::vector<std::unique_ptr<Device>> devices;
  std::shared_ptr<Space> space;
  std::map<std::uint64_t, Allocation> allocations;
  std::map<std::uint64_t, HostRange> hosts;
  std::atomic<std::uint64_t> next_id{1};  ///< of contexts and streams

  Handles<Context> contexts{1};
  Handles<Stream> streams{2};
  Handles<Event> events{3};
  Handles<Module> modules{4};
  Handles<Function> functions{5};
  Handles<Graph> graphs{6};
  Handles<Node> graph_nodes{7};  ///< not owned: the graph owns them
  Handles<GraphExec> graph_execs{8};
  Handles<Pool> pools{9};
  Handles<Physical> physicals{10};
  Handles<Graph> child_graphs{11};  ///< not owned: their nodes own them

  /// Guards graphs, nodes and captures. Taken with no other lock of the driver held, except
  /// GraphExec::launching.
  std::mutex graphs_mutex;
  std::vector<std::shared_ptr<Capture>> captures;  ///< begun and not ended
  std::atomic<bool> has_captured{false};           ///< false: no stream or event has a capture

  /// Guards pools and their memory. Taken after graphs_mutex, with no other lock of the driver
  /// inside.
  std::mutex pools_mutex;
  std::map<std::uint64_t, std::weak_ptr<PoolAllocation>> pool_allocations;  ///< by address

  std::mutex virtual_mutex;  ///< guards virtual memory. With no other lock of the driver inside
  std::map<std::uint64_t, std::shared_ptr<Reservation>>
      reservations;  ///< by address: driver/virtual_memory.h
};
Driver& driver();

/// The calling thread's context and the checks before a call may use it: 3 without cuInit, 201
/// without a context, 709 for a destroyed one, and the context's error. driver/contexts.cpp
CUresult current_context(std::shared_ptr<Context>& context);
/// The context of a handle; null is the current one. 201 for anything else.
CUresult context_of(CUcontext handle, std::shared_ptr<Context>& context);
/// The stream of a handle in the current context; null is the legacy default stream.
/// driver/streams.cpp
CUresult stream_of(CUstream handle, std::shared_ptr<Context>& context,
                   std::shared_ptr<Stream>& stream);
/// That of a null handle: the legacy stream, or the thread's in a form for that (per_thread.h).
std::shared_ptr<Stream> default_stream(Context& context);
CUresult device_of(CUdevice ordinal, Device*& device);
/// Whether kernels of one device may get to use the memory of the other: CUDA_TWIN_PEERS.
bool are_peers(const Device& one, const Device& other);
/// The context with this Context::id, or null.
std::shared_ptr<Context> context_with(std::uint64_t id);

/// The context's late error, if there is one, becomes the error of all its calls. For calls that
/// synchronize.
CUresult surface(Context& context);
/// Work failed with `code`.
void fail_late(Context& context, CUresult code, const std::string& reason);

/// A piece of work that was handed to a stream's thread.
struct Submitted {
  std::uint64_t ticket = 0;  ///< in its stream
  std::uint64_t number = 0;  ///< in Space::works()
};
/// Hands work to the stream's thread, whether or not it captures. driver/submit.cpp
Submitted enqueue(Context& context, Stream& stream, Work work);
/// Submits to the stream, waits for its end, and surfaces errors: synchronous copies and fills.
CUresult submit_and_wait(Context& context, Stream& stream, Work work);
/// Waits until the stream's work up to `ticket` is done.
void wait_for(Stream& stream, std::uint64_t ticket);
/// Waits for all work of the stream, or of all streams of the context, then surface().
CUresult synchronize(Stream& stream);
CUresult synchronize(Context& context);
/// Waits for all work, without telling the race checks: a driver may wait so, and need not.
void wait_without_order(Context& context);
/// Waits for all work of the context, and of the one that owns memory: before memory is freed.
CUresult synchronize_with_owner(Context& context, std::uint64_t owner);

/// Memory of a device: counted against its size, and against the fault CUDA_TWIN_FAIL_ALLOCATION.
/// CUDA_ERROR_OUT_OF_MEMORY if it is full. A context's memory is freed with it; a null owner is a
/// pool. driver/allocations.cpp
CUresult allocate(Device& device, const Context* owner, std::uint64_t bytes, MemoryKind kind,
                  ExtentPtr& extent);
/// The id of the context that owns the memory that begins there, on a device or pinned; 0: none.
std::uint64_t owner_of(std::uint64_t address);
/// 1 if no allocation of that kind begins there.
CUresult release(std::uint64_t address, MemoryKind kind);
/// Only the accounting, for memory without an address.
bool charge(Device& device, std::uint64_t bytes);
void refund(Device& device, std::uint64_t bytes);
std::uint64_t free_bytes(const Device& device);

}  // namespace cuda_twin
