// The vendor's operators that compute a node. A kernel calls them in order. The same calls are made
// without addresses when a program is made ready, to learn whether the chip has them and how much
// memory they take, and with addresses in each run.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "backends/cann/device_context.h"
#include "backends/cann/recording.h"
#include "backends/cann/vendor_ops.h"
#include "shunt/device.h"

namespace shunt::cann {

/// A check of a run, which fails if its counter is not 0.
struct FaultText {
  NodeId node = 0;
  std::string text;
  bool operator==(const FaultText&) const = default;
};

/// The needs of the calls of a segment, at all sizes that it was asked for.
struct CallPlan {
  std::size_t shared = 0;     ///< bytes of results that several nodes use
  std::size_t temporary = 0;  ///< bytes of the temporaries of a node
  std::size_t workspace = 0;  ///< bytes of a call
  std::vector<FaultText> faults;
  std::vector<float> constants;
  std::map<std::string, std::size_t> constant_at;  ///< first element of each, by key
};

/// From a counter of a check to the next.
inline constexpr std::size_t kFaultBytes = 64;
/// The vendor's operators may read beyond an operand.
inline constexpr std::size_t kTailBytes = 32;
/// Operands and workspaces start at multiples of it.
inline constexpr std::size_t kAlignment = 64;
/// Bytes of memory for an operand.
constexpr std::size_t padded(std::size_t bytes) {
  return (bytes + kTailBytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// Memory for calls that need more than was planned. Belongs to a stream.
class WorkspaceReserve {
 public:
  virtual ~WorkspaceReserve() = default;
  /// Memory of at least `bytes`, for one call. May wait until the stream is idle.
  virtual Result<DevicePointer> at_least(std::size_t bytes) = 0;
  /// Memory of `bytes` until the run has ended.
  virtual Result<DevicePointer> until_end(std::size_t bytes) = 0;
};

/// Memory of a run for its calls.
struct CallMemory {
  DevicePointer shared = nullptr;
  DevicePointer temporary = nullptr;
  DevicePointer workspace = nullptr;
  std::size_t workspace_bytes = 0;
  DevicePointer constants = nullptr;
  DevicePointer faults = nullptr;  ///< Int32, a counter for each check, kFaultBytes apart
  WorkspaceReserve* reserve = nullptr;
  Recording* recording = nullptr;  ///< keeps the launches; null: they are made once
};

/// Calls for the nodes of a segment, one after another. After a failed call the others are left
/// out, and status() has the error.
class Calls {
 public:
  /// Without launches: adds their needs to the plan.
  Calls(const DeviceContext& context, CallPlan& plan) : context_(context), plan_(plan) {}
  /// Launches them on a stream. `plan` was made by the same calls.
  Calls(const DeviceContext& context, CallPlan& plan, StreamHandle stream, const CallMemory& memory)
      : context_(context), plan_(plan), stream_(stream), memory_(memory), launches_(true) {}

  /// The node whose calls follow. Temporaries of the one before are free.
  void begin(NodeId node);
  const Status& status() const { return status_; }
  /// The error of a call that launches is that of a failed device or a full one.
  void fail(Error error);
  /// Without launches: the kind of an error.
  Refusal refusal() const { return refusal_; }
  /// Whether calls are only asked for. Calls that sizes of a run may need belong to the plan.
  bool is_plan() const { return !launches_; }
  const Chip& chip() const { return context_.runtime().chip(); }

  /// Calls an operator. Left out if a result has no elements. A result with gaps must not be one
  /// that the operator reads as well.
  template <class... P>
  void operator()(const VendorOp<P...>& op, const typename P::Given&... given) {
    if (!status_ || (is_empty_result<P>(given) || ...)) return;
    if (!op.takes_strides && (has_gaps(given) || ...)) return call_without_gaps(op, given...);
    Call call(*this, op.name);
    (call.template describe<P>(given), ...);
    if (call.is_answered()) return;
    const std::tuple<typename P::Abi...> made{call.template make<P>(given)...};
    call.finish([&](void* first, std::uint64_t* bytes, ExecutorHandle* executor) {
      const auto function =
          reinterpret_cast<Status32 (*)(typename P::Abi..., std::uint64_t*, ExecutorHandle*)>(
              first);
      return std::apply([&](auto... each) { return function(each..., bytes, executor); }, made);
    });
  }

  /// Whether the chip has the operator for such operands. Nothing is called.
  template <class... P>
  bool has(const VendorOp<P...>& op, const typename P::Given&... given) {
    if (!status_) return true;
    CallPlan plan;
    Calls asked(context_, plan);
    asked(op, without_memory(given)...);
    return asked.status() || asked.refusal() != Refusal::kVendorFunction;
  }
  /// Calls the operator if the chip has it for such operands. False: nothing was called.
  template <class... P>
  bool attempt(const VendorOp<P...>& op, const typename P::Given&... given) {
    if (!has(op, given...)) return false;
    (*this)(op, given...);
    return true;
  }

  /// Temporaries that are made while one lives are free afterwards, as calls run in order.
  class Scope {
   public:
    explicit Scope(Calls& calls) : calls_(calls), before_(calls.temporary_) {}
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() { calls_.temporary_ = before_; }

   private:
    Calls& calls_;
    std::size_t before_;
  };

  /// Memory for a contiguous result within the node.
  View temporary(DataType type, View::Dims sizes);
  /// Memory for a contiguous result that later nodes of the segment use as well. `key` names the
  /// content: the first caller gets true, and fills it.
  std::pair<View, bool> shared(const std::string& key, DataType type, View::Dims sizes);
  /// Numbers that the host computes once, F32 [size]. `key` names the content within the segment;
  /// `make` fills them when the plan is made.
  View constant(const std::string& key, std::size_t size,
                const std::function<void(std::span<float>)>& make);

  // Calls that several kernels need.
  /// `from` as another type; itself if it has it.
  View cast(const View& from, DataType type);
  /// `from` without gaps; itself if it has none.
  View contiguous(const View& from);
  /// Copies and converts: sizes are equal.
  void copy(const View& to, const View& from);
  /// Indices as Int32 in [0, count). Others become the nearest, and fail the run. `content`:
  /// Operands::content().
  View indices(const View& ids, const std::string& content, std::int64_t count);
  /// Fails the run if an element of `bad`, Bool or Int32 0 and 1, is not 0. `text`: the reason; the
  /// same at all sizes.
  void check_none(const View& bad, const std::string& text);
  /// Sets all elements.
  void fill(const View& to, const Scalar& value);

 private:
  /// One call on its way.
  class Call {
   public:
    Call(Calls& calls, const char* name) : calls_(calls), name_(name) {
      if (!calls.launches_) key_.append(name).push_back('(');
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    ~Call();

    template <class P>
    void describe(const typename P::Given& given) {
      add_text(given);
    }
    /// Whether nothing is left to do: without launches, if the answer of the first phase is known.
    bool is_answered();
    template <class P>
    typename P::Abi make(const typename P::Given& given) {
      if constexpr (std::is_same_v<typename P::Abi, typename P::Given>) {
        return given;
      } else {
        return create(given);
      }
    }
    using First = std::function<Status32(void*, std::uint64_t*, ExecutorHandle*)>;
    void finish(const First& first);

   private:
    void use(const PhaseAnswer& answer);
    void add_text(const View& view);
    void add_text(const std::optional<View>& view);
    void add_text(const std::vector<View>& views);
    void add_text(const std::optional<std::vector<View>>& views);
    void add_text(const Scalar& scalar);
    void add_text(const std::optional<Scalar>& scalar);
    void add_text(const std::vector<std::int64_t>& values);
    void add_text(const std::optional<std::vector<std::int64_t>>& values);
    void add_text(const char* text);
    void add_text(std::int64_t value);
    void add_text(std::int32_t value);
    void add_text(double value);
    void add_text(bool value);
    void add_text(DataType value);
    void add_text(CubeMath value);
    TensorHandle create(const View& view);
    TensorHandle create(const std::optional<View>& view);
    TensorListHandle create(const std::vector<View>& views);
    TensorListHandle create(const std::optional<std::vector<View>>& views);
    ScalarHandle create(const Scalar& scalar);
    ScalarHandle create(const std::optional<Scalar>& scalar);
    IntArrayHandle create(const std::vector<std::int64_t>& values);
    IntArrayHandle create(const std::optional<std::vector<std::int64_t>>& values);
    /// The vendor's functions only read it.
    static char* create(const char* text) { return const_cast<char*>(text); }
    TensorHandle create_tensor(const View& view);
    template <class Handle>
    Handle keep(Handle handle, Status32 (*destroy)(const std::remove_pointer_t<Handle>*));
    void destroy_descriptors();

    Calls& calls_;
    const char* name_;
    OpFunctions functions_;
    std::string key_;
    bool has_int64_ = false;
    bool created_ = true;  // all descriptors
    std::vector<std::function<void()>> destroy_;
  };

  // An operand as it is given when a program is made ready.
  template <class Given>
  static Given without_memory(const Given& given) {
    return given;
  }
  static View without_memory(const View& view) {
    return View(view.type(), view.sizes(), view.strides(), nullptr).in_format(view.format());
  }
  static std::optional<View> without_memory(const std::optional<View>& view) {
    return view ? without_memory(*view) : view;
  }
  static std::vector<View> without_memory(const std::vector<View>& views) {
    std::vector<View> made;
    made.reserve(views.size());
    for (const View& view : views) made.push_back(without_memory(view));
    return made;
  }

  template <class P>
  static constexpr bool kIsResult = std::is_same_v<P, Out> || std::is_same_v<P, InOut>;

  // Of operands that are no views.
  template <class Given>
  static bool has_gaps(const Given&) {
    return false;
  }
  static bool has_gaps(const View& view) { return !view.is_contiguous(); }
  static bool has_gaps(const std::optional<View>& view) { return view && has_gaps(*view); }
  static bool has_gaps(const std::vector<View>& views);
  template <class P>
  typename P::Given without_gaps(const typename P::Given& given) {
    if constexpr (std::is_same_v<P, In> || std::is_same_v<P, InOut>) {
      return contiguous(given);
    } else if constexpr (std::is_same_v<P, Out>) {
      return has_gaps(given) ? temporary(given.type(), given.sizes()) : given;
    } else if constexpr (std::is_same_v<P, MaybeIn>) {
      return has_gaps(given) ? contiguous(*given) : given;
    } else if constexpr (std::is_same_v<P, ListIn>) {
      std::vector<View> made;
      for (const View& view : given) made.push_back(contiguous(view));
      return made;
    } else {
      return given;
    }
  }
  template <class P>
  void copy_back(const typename P::Given& given, const typename P::Given& made) {
    if constexpr (kIsResult<P>) {
      if (has_gaps(given)) copy(given, made);
    }
  }
  template <class... P>
  void call_without_gaps(const VendorOp<P...>& op, const typename P::Given&... given) {
    const std::tuple<typename P::Given...> made{without_gaps<P>(given)...};
    std::apply([&](const auto&... each) { (*this)(op, each...); }, made);
    std::apply([&](const auto&... each) { (copy_back<P>(given, each), ...); }, made);
  }

  template <class P>
  static bool is_empty_result(const typename P::Given& given) {
    if constexpr (kIsResult<P>) {
      return given.is_empty();
    } else {
      return false;
    }
  }

  /// The next `bytes` of a part of the scratch, whose plan has `planned` bytes and whose calls have
  /// taken `taken` before.
  DevicePointer take(DevicePointer start, std::size_t& taken, std::size_t& planned,
                     std::size_t bytes);

  const DeviceContext& context_;
  CallPlan& plan_;
  StreamHandle stream_ = nullptr;
  CallMemory memory_;
  bool launches_ = false;
  Status status_;
  Refusal refusal_ = Refusal::kVendorFunction;
  NodeId node_ = 0;
  std::size_t temporary_ = 0;     // bytes of this node so far
  std::size_t shared_bytes_ = 0;  // so far
  std::map<std::string, View> shared_;
};

}  // namespace shunt::cann
