/// \file
/// Devices: the interfaces that a backend implements, and all types that it gets. Nothing here
/// depends on the scheduler. Include it to implement a backend
/// (docs/internals/adding-a-backend.md), to ask a device for its properties, or to allocate its
/// memory.
///
/// \code
/// std::cout << device.name() << ": " << device.info().description << "\n";
/// SHUNT_ASSIGN(const auto buffer, device.memory().allocate(1024));
/// SHUNT_TRY(buffer->fill(0, 1024, std::byte{0}));
/// \endcode
///
/// Threads: a Backend, a Device and a BufferType may be used from many threads; a Buffer's memory,
/// a Stream and a Binding belong to one at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shunt/error.h"
#include "shunt/graph.h"

namespace shunt {

class Buffer;
class BufferType;
class Device;
class PeakMeter;

// ---- memory
// ----------------------------------------------------------------------------------------

/// The layout of a placed tensor in memory.
enum class LayoutKind : std::uint8_t {
  kPlain,
  kPacked,  ///< in an order of the device's own: tiles, interleaved rows, sticks
};

/// A layout that a buffer type can hold. An exact one reads back the bytes that were written; a
/// lossy one states its cost.
struct Layout {
  LayoutKind kind = LayoutKind::kPlain;
  bool exact = true;
  std::string note;
};

/// A tensor, and the offset in a buffer where it starts.
struct PlacedTensor {
  Tensor tensor;
  std::size_t offset = 0;
};

/// A kind of memory. Lives as long as its device. host_memory() lives as long as the process.
class BufferType {
 public:
  BufferType() = default;
  BufferType(const BufferType&) = delete;
  BufferType& operator=(const BufferType&) = delete;
  virtual ~BufferType() = default;

  virtual std::string_view name() const = 0;
  /// Bytes; a power of two. Tensors in a buffer start at multiples of it.
  virtual std::size_t alignment() const = 0;
  /// Bytes of the largest single buffer.
  virtual std::size_t max_size() const { return std::numeric_limits<std::size_t>::max(); }
  /// Whether the host may read and write it through Buffer::host_data().
  virtual bool host_accessible() const = 0;
  /// The layouts that it can hold; by default the plain one.
  virtual std::span<const Layout> layouts() const;
  /// Bytes that a tensor takes, padding included.
  virtual std::size_t size_of(const Tensor& tensor) const;
  /// OutOfMemory if there is none left; never more than max_size(). The content is undefined. A
  /// buffer of 0 bytes takes no memory.
  virtual Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes) = 0;
  /// The same for tensors whose places are known, each with size_of() bytes to itself. Memory that
  /// has a layout other than plain needs the tensors of an allocation; it is written and read as if
  /// it were plain.
  virtual Result<std::unique_ptr<Buffer>> allocate_for(std::size_t bytes,
                                                       std::span<const PlacedTensor> tensors);
  /// Memory whose buffers can hold buffers of this type (place_in()); null: there is none. Zero
  /// bytes there must be zeros in this type's layout.
  virtual BufferType* container() { return nullptr; }
  /// A buffer of this type over all bytes of a buffer of container() memory, which must outlive it.
  /// Offsets are the same in both, and the bytes keep their values. Unsupported without a
  /// container.
  virtual Result<std::unique_ptr<Buffer>> place_in(Buffer& memory,
                                                   std::span<const PlacedTensor> tensors);
};

/// The shape of a 2-D copy: `rows` ranges of `bytes` bytes. A pitch is the distance in bytes from
/// the start of a row to the start of the next, on one side. With more than one row it is at least
/// `bytes`.
struct CopyShape {
  std::size_t rows = 0;
  std::size_t bytes = 0;
  std::size_t to_pitch = 0;
  std::size_t from_pitch = 0;
};

/// One allocation. Freed when destroyed.
class Buffer {
 public:
  Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  virtual ~Buffer() = default;

  /// The kind of memory that it was allocated from.
  virtual const BufferType& type() const = 0;
  /// Bytes that were asked for.
  virtual std::size_t size() const = 0;
  /// Its address on the host; null if the host can't access it.
  virtual std::byte* host_data() { return nullptr; }
  /// Copies from and to the host, complete when they return. Invalid if the range is not inside the
  /// buffer.
  virtual Status write(std::size_t offset, std::span<const std::byte> from) = 0;
  /// The same from the buffer to the host.
  virtual Status read(std::size_t offset, std::span<std::byte> to) = 0;
  /// 2-D copies from and to the host: rows of this buffer start at `offset`. Invalid if a row is
  /// not inside the buffer, or a pitch is too small; then nothing has been copied. By default a
  /// write or a read for each row.
  virtual Status write_2d(std::size_t offset, const std::byte* from, const CopyShape& shape);
  /// The same from the buffer to the host.
  virtual Status read_2d(std::byte* to, std::size_t offset, const CopyShape& shape);
  /// Sets every byte of a range. Invalid if it is not inside the buffer. By default writes of
  /// pieces of 64 KiB.
  virtual Status fill(std::size_t offset, std::size_t bytes, std::byte value);
};

/// Where a tensor's bytes start. Does not own the buffer.
struct Address {
  Buffer* buffer = nullptr;
  std::size_t offset = 0;
  explicit operator bool() const { return buffer != nullptr; }
};

/// Copies between any two buffers, or within one: directly from a buffer that the host can access,
/// else in pieces of 1 MiB through host memory. The copy is complete when this returns. The ranges
/// may overlap, also where two buffers of host memory share bytes. Waits for no stream: work on
/// either range must have ended. Invalid if a range is not inside its buffer. OutOfMemory without a
/// piece of host memory.
Status copy(Address to, Address from, std::size_t bytes);

/// Plain host memory: the CPU computes in it, and inputs start there.
BufferType& host_memory();
/// A host buffer over existing memory, without a copy; `keep_alive` is held as long as the buffer
/// lives.
std::unique_ptr<Buffer> wrap_host_memory(std::span<std::byte> bytes,
                                         std::shared_ptr<void> keep_alive);
/// The same over memory that may only be read (a mapped file): writing to it is Invalid.
std::unique_ptr<Buffer> wrap_read_only_memory(std::span<const std::byte> bytes,
                                              std::shared_ptr<const void> keep_alive);

/// By node id: the type of memory of leaves that are already allocated; null for all other nodes.
/// Empty: all leaves are in plain memory.
using MemoryOfLeaves = std::span<const BufferType* const>;

// ---- capabilities of a device
// -------------------------------------------------------------------------

/// Why a device can't, or won't, compute a node.
enum class Refusal : std::uint8_t {
  kOp,
  kType,
  kShape,
  kLayout,
  kParameter,
  kVendorFunction,
  kMemory,
  kCost,
};
/// The refusal as messages have it: "op", "missing vendor function".
std::string_view to_string(Refusal refusal);

/// A device's answer whether it computes a node: yes; yes if one source comes as another type; or
/// no with a reason.
class [[nodiscard]] Support {
 public:
  /// Yes, for all sources as they are.
  static Support yes() { return Support(); }
  /// Yes, if source number `source` comes as `dtype`. Weights are transcoded for that; for other
  /// sources it counts as no.
  static Support yes_if(int source, DType dtype);
  /// No; `facts` name the property of the node that causes it, for users.
  static Support no(Refusal refusal, std::string facts);

  /// Whether it computes the node with all sources as they are.
  explicit operator bool() const { return !refused_ && source_ < 0; }
  /// Whether it is no.
  bool refused() const { return refused_; }
  /// The kind of the reason, if refused().
  Refusal refusal() const { return refusal_; }
  /// The property of the node that causes the refusal, for users. Empty if it is not refused.
  const std::string& facts() const { return facts_; }
  /// The source that is to come as converted_dtype(), from 0; -1: none.
  int converted_source() const { return source_; }
  /// The type that converted_source() is to have; of no meaning without one.
  DType converted_dtype() const { return dtype_; }

 private:
  bool refused_ = false;
  Refusal refusal_ = Refusal::kOp;
  int source_ = -1;
  DType dtype_ = DType::kF32;
  std::string facts_;
};

/// The kind of a device. Costs that are not measured are estimated by it.
enum class DeviceKind : std::uint8_t { kCpu, kGpu, kNpu, kAccelerator, kNull };
/// "CPU", "GPU", "NPU", "accelerator", "null".
std::string_view to_string(DeviceKind kind);

/// A form in which a device can use a weight, other than plain in its memory().
struct WeightCandidate {
  BufferType* memory = nullptr;  ///< Device::can_read() is true of it
  /// Coarser than the numbers that the device computes with: taken only if the user allows it
  /// (Transcode::kLossy).
  bool lossy = false;
  /// Time to read the weight in a step, relative to plain in memory(). The cheapest one is taken.
  double cost = 1;
  std::string note;  ///< describes the form to users
};

/// The error of a weight that was written in a lossy form.
struct LossyCost {
  DType form = DType::kI8;   ///< type of its numbers now, scales aside
  double squared_error = 0;  ///< against those that were written
  double squares = 0;        ///< of these
};

/// The assumed speed of a device that has not been measured, from its data sheet or its vendor's
/// library. Placement by costs uses it. A rate that is not above 0, and seconds below 0, are
/// unknown: the estimate for the device's kind is used instead.
struct DeviceSpeed {
  double operations_per_second = 0;  ///< arithmetic, of products of matrices
  double bytes_per_second = 0;       ///< of its own memory
  double launch_seconds = 0;         ///< overhead of a node, in addition to its work
  double copy_latency = 0;           ///< seconds, of a copy to or from the host
  double copy_bytes_per_second = 0;
};

/// The properties of a device, for users and for the scheduler.
struct DeviceInfo {
  std::string name;         ///< Device::name()
  std::string description;  ///< "NVIDIA H200", with details for users
  DeviceKind kind = DeviceKind::kAccelerator;
  int priority = 0;                ///< higher gets work first; below 0: only if it is named
  std::uint64_t memory_total = 0;  ///< bytes; 0 if not known
  bool host_memory = false;        ///< no memory of its own: unified memory with the CPU
  bool managed_memory = false;     ///< buffers may exceed its memory: the driver moves pages
  bool twin = false;               ///< a stand-in for the hardware: correct, never fast
  bool asynchronous = false;       ///< streams work while the host does something else
  /// A dynamic dimension that grows from run to run (cache rows) should be a multiple of this, so
  /// that a captured graph can be replayed. 1 or less: any value will do.
  std::int64_t dynamic_dim_granularity = 1;
  std::optional<DeviceSpeed> speed = {};  ///< if known; else estimates for its kind are used
};

/// DeviceInfo::managed_memory in descriptions, ledgers and notes.
inline constexpr std::string_view kManagedText = "managed memory, which may exceed the device's";

/// Memory that a device uses outside of buffers, in bytes, as measured.
struct OwnMemory {
  std::uint64_t context = 0;    ///< the driver's, of this process
  std::uint64_t code = 0;       ///< compiled kernels
  std::uint64_t workspace = 0;  ///< of the vendor's library
  std::uint64_t graphs = 0;     ///< captured ones
};

/// Kernels that the vendor's library has made ready for a device: compiled, or read from its cache.
struct LoadedKernels {
  std::uint64_t modules = 0;
  double seconds = 0;
};

/// A repeated problem that a device handled by itself, for users.
struct DeviceWarning {
  std::string text;  ///< the problem, and the node
  std::uint64_t count = 0;
};

// ---- running work
// ---------------------------------------------------------------------------------

/// When work began and ended: seconds of std::chrono::steady_clock.
struct WorkTimes {
  double begin = 0;
  double end = 0;
  /// The largest error of either, in seconds; 0 on the host's own clock.
  double error = 0;
};

/// A point in a stream. Reused by every run of a plan: submitting work that signals it makes it
/// pending again. Something must wait for it before it is signalled again.
class Event {
 public:
  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  virtual ~Event() = default;
  /// Blocks until the work is done; returns at once if there never was any. Returns an error of
  /// that work, also one that was found late.
  virtual Status wait() = 0;
  /// When the device did that work, without the time that the work waited. Valid once wait() has
  /// returned. Only events of Stream::create_timed_event() have it, and only if the device can
  /// measure it.
  virtual std::optional<WorkTimes> times() const { return std::nullopt; }
};

/// A program with its addresses: ready to run. Keep it as long as it may be running.
class Binding {
 public:
  Binding() = default;
  Binding(const Binding&) = delete;
  Binding& operator=(const Binding&) = delete;
  virtual ~Binding() = default;
};

/// The arguments of a run. They are gone when Stream::run returns: an asynchronous stream copies
/// them.
struct RunArgs {
  const DynamicDimValues& dynamic_dims;
  /// Once true, launches that have not begun are left out, and the run ends with Cancelled; may be
  /// null. Stays valid until the event.
  const std::atomic<bool>* cancel = nullptr;
  /// The largest number of the device's host threads that compute; 0: all of them.
  int threads = 0;
};

/// A queue of work in order. Every call waits for a list of events (of any device) and then signals
/// one; `signal` may be null. Nothing here allocates once the stream has been used.
///
/// If work fails, or an event that it waits for has an error, its results and those of all later
/// work of the stream are absent until synchronize(). Work that was submitted already may still
/// execute. Each event that is signalled after the failure, and each event of work that waited for
/// such an event, on any stream or device, returns the first error, with node, device and vendor
/// code. A lost device returns its error from then on.
class Stream {
 public:
  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  virtual ~Stream() = default;

  /// An event that work of this stream can signal. The device must outlive it.
  virtual Result<std::unique_ptr<Event>> create_event() = 0;
  /// An event that may cost more, and has Event::times().
  virtual Result<std::unique_ptr<Event>> create_timed_event() { return create_event(); }
  /// Runs a bound program. The binding must stay until the event.
  virtual Status run(Binding& binding, const RunArgs& args, std::span<Event* const> waits,
                     Event* signal) = 0;
  /// Copies host memory into a buffer of this device; `from` must stay until the event.
  virtual Status write(Address to, std::span<const std::byte> from, std::span<Event* const> waits,
                       Event* signal) = 0;
  /// Copies a buffer of this device into host memory; `to` must stay until the event.
  virtual Status read(std::span<std::byte> to, Address from, std::span<Event* const> waits,
                      Event* signal) = 0;
  /// Copies a buffer of another device directly into one of this device; only if
  /// Device::can_copy_from() is true of its memory.
  virtual Status copy(Address to, Address from, std::size_t bytes, std::span<Event* const> waits,
                      Event* signal);
  /// The same for rows, as one piece of work. Invalid if a row is not inside its buffer, or a pitch
  /// is too small. By default a call of the above for each row: the first waits and the last
  /// signals. The default checks the rows before it submits anything: its Invalid does not fail the
  /// stream.
  virtual Status write_2d(Address to, const std::byte* from, const CopyShape& shape,
                          std::span<Event* const> waits, Event* signal);
  /// The same from a buffer of this device to the host.
  virtual Status read_2d(std::byte* to, Address from, const CopyShape& shape,
                         std::span<Event* const> waits, Event* signal);
  /// The same from a buffer of another device; only as copy().
  virtual Status copy_2d(Address to, Address from, const CopyShape& shape,
                         std::span<Event* const> waits, Event* signal);
  /// Blocks until all work is done. Afterwards new work starts without the error. If the device
  /// can't continue, this returns the reason.
  virtual Status synchronize() = 0;
};

/// A segment: nodes that one device computes as a unit.
struct SegmentView {
  const Graph& graph;
  std::span<const NodeId> nodes;  ///< in order; no leaves, no views
  /// By node id: whether the result is needed in memory outside the segment.
  std::span<const bool> live_out;
  MemoryOfLeaves memory = {};
};

/// A node whose result may take the memory of one of its sources, if that has no other reader left.
struct InPlace {
  NodeId node = 0;
  int source = 0;
};

/// A node that is computed together with a later node, or with itself. Its sources stay until then.
struct FusedNode {
  NodeId node = 0;
  NodeId with = 0;
  bool in_memory = false;  ///< else its result is not in memory
};

/// The needs of a program before it is bound.
struct Needs {
  std::vector<FusedNode> fused;
  std::vector<InPlace> in_place;
  std::size_t scratch_bytes = 0;  ///< in the device's memory, while the segment runs
};

/// The addresses of a segment's tensors.
struct Addresses {
  std::span<const Address> nodes;  ///< by node id; empty ones are not used by the segment
  Address scratch;
};

/// A segment made ready by its device: kernels chosen, fusions matched, launches prepared.
class Program {
 public:
  Program() = default;
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  virtual ~Program() = default;
  /// The fusions, reuse and scratch that bind() expects.
  virtual const Needs& needs() const = 0;
  /// May be called several times, where steps overlap. The program must outlive its bindings.
  virtual Result<std::unique_ptr<Binding>> bind(const Addresses& addresses) = 0;
};

/// A device that computes: its memory, its streams, the nodes it supports and the programs it makes
/// of them. A backend implements it. Owned by the backend.
class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  /// "cuda0": its name for users and placements. Constant.
  virtual std::string_view name() const = 0;
  /// Constant, so it does not ask the system: placements call it for each graph.
  virtual DeviceInfo info() const = 0;
  /// Bytes that can be allocated now, without those in own_memory(); 0 if not known. May ask the
  /// system. By default the host's if the device computes in the host's memory, else 0.
  virtual std::uint64_t memory_free() const;
  /// Whether it can compute the node with leaves in that memory, or the reason why not. Derived
  /// from the table that launches kernels. A leaf in memory that can_read() refuses comes as a
  /// plain copy.
  virtual Support supports(const Graph& graph, NodeId node, MemoryOfLeaves memory = {}) const = 0;
  /// Whether its kernels can read memory of that type in place.
  virtual bool can_read(const BufferType& type) const = 0;
  /// Whether its streams copy directly to its own memory from that memory, which the host can't
  /// access.
  virtual bool can_copy_from(const BufferType&) const { return false; }
  /// Whether streaming the node's weights to this device pays.
  virtual bool offload_op(const Graph&, NodeId) const { return false; }
  /// The memory that it computes in.
  virtual BufferType& memory() = 0;
  /// The forms in which it uses a weight of a graph faster, or in less memory, than plain in
  /// memory(): packed, in huge pages. A device that uses weights in the mapped file lists those
  /// that are worth a copy. A form that supports() refuses for one user of the weight is not taken.
  virtual std::vector<WeightCandidate> weight_forms(const Graph&, NodeId) { return {}; }
  /// The reason why it has no lossy forms although other machines of its kind do; else empty.
  virtual std::string_view why_not_lossy() const { return {}; }
  /// The error of the lossy weight that starts at an address. Nothing if no whole weight in a lossy
  /// form does.
  virtual std::optional<LossyCost> lossy_cost(const Address&) const { return std::nullopt; }
  /// The largest normalised mean square error of a node that this device's number format may add to
  /// the tolerance of the op's own test cases, with leaves in that memory. Above 0 for formats
  /// coarser than F32. The error of a lossy weight form is not included.
  virtual double rounding_error(const Graph&, NodeId, MemoryOfLeaves = {}) const { return 0; }
  /// The largest number of a node's result, if larger finite ones become that; else infinity.
  virtual double largest_number(const Graph&, NodeId) const {
    return std::numeric_limits<double>::infinity();
  }
  /// Memory that the device uses now outside of buffers. memory_free() does not contain it.
  virtual OwnMemory own_memory() const { return {}; }
  /// Since the device was opened. None where the kernels are part of the backend. May wait while
  /// another thread loads some.
  virtual LoadedKernels loaded_kernels() const { return {}; }
  /// Problems so far that a user should know of although the results are correct.
  virtual std::vector<DeviceWarning> warnings() const { return {}; }
  /// Pinned host memory, if it has any.
  virtual BufferType* staging_memory() { return nullptr; }
  /// Pins host memory that is already allocated, such as a part of a mapped file, so that this
  /// device copies from it as from staging memory. It stays pinned until the last copy of the
  /// handle is gone, and must stay allocated until then. The device rounds to pages. Ranges may
  /// share pages and overlap. Unsupported by default. Any error leaves the memory as it was.
  virtual Result<std::shared_ptr<const void>> pin_host(std::span<const std::byte> range);
  /// A new queue of work. The device must outlive it.
  virtual Result<std::unique_ptr<Stream>> open_stream() = 0;
  /// Whether it can copy while it computes: then open_transfer_stream() opens a second queue.
  virtual bool has_transfer_queue() const { return false; }
  /// A stream for copies alone, in no order with other streams but by events. A plan opens one in
  /// addition to that of open_stream() if has_transfer_queue().
  virtual Result<std::unique_ptr<Stream>> open_transfer_stream() { return open_stream(); }
  /// Makes a segment ready to be bound. All its nodes are ones that supports() accepted. The device
  /// must outlive the program. OutOfMemory or Device.
  virtual Result<std::unique_ptr<Program>> prepare(const SegmentView& segment) = 0;
  /// A meter of its peak rates (peaks.h), with `threads` threads; 0: as many as it
  /// computes with. Unsupported if the device has no such meter.
  virtual Result<std::unique_ptr<PeakMeter>> open_peak_meter(int threads);
};

/// A family of devices. Owned by the registry; its devices live as long as it.
class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;
  /// "cpu": its name in options and for users. Constant.
  virtual std::string_view name() const = 0;
  /// Its devices, which it owns; none if it can't be used on this machine.
  virtual std::span<Device* const> devices() = 0;
  /// The reason why there are no devices, or the name of a missing part; empty if there is no
  /// problem.
  virtual std::string_view note() const { return {}; }
};

}  // namespace shunt
