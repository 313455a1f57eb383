#include "shunt/verify.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>

#include "base/guarded.h"
#include "base/to_size.h"
#include "device/device_run.h"
#include "device/weight_choice.h"
#include "graph/op.h"
#include "graph/per_node.h"
#include "graph/storage_users.h"
#include "schedule/check/compare.h"
#include "schedule/explain/transcode.h"
#include "schedule/place/answers.h"
#include "schedule/place/facts.h"
#include "shunt/message.h"
#include "tensor/bytes_of.h"

namespace shunt {

namespace {

/// The content of memory before anything has been computed: NaN in every type of float. So an
/// element that is never written, or must not be read, can't be correct by chance.
constexpr std::byte kUnwritten{0xff};

using Bytes = std::vector<std::byte>;

class Verifier {
 public:
  Verifier(std::shared_ptr<const Graph> graph, Device& device, const VerifyOptions& options)
      : graph_(std::move(graph)),
        device_(device),
        device_name_(device.name()),
        options_(options),
        held_(*graph_),
        last_user_(*graph_, 0) {}

  Result<std::vector<NodeCheck>> run(Placement placement) {
    CompileOptions options;
    options.memory = options_.memory;
    for (NodeId id = 0; id < graph_->size(); ++id) {
      if (is_computed(graph_->node(id))) options.observer.nodes.push_back(id);
    }
    total_ = options.observer.nodes.size();
    options.observer.visit = [this](const Observed& observed) {
      // An exception may not pass through the plan.
      stopped_ = guarded([&] { return look(observed); });
      return static_cast<bool>(stopped_);
    };
    SHUNT_ASSIGN(const auto plan, compile(graph_, std::move(placement), options));
    ask(DeviceSet(plan->placement().devices).cpu_device());
    reference_ = &plan->placement();
    if (options_.fill) SHUNT_TRY(options_.fill(*plan));
    dynamic_dims_ = plan->dynamic_dims();
    SHUNT_TRY(hold_leaves(*plan));
    const Status ran = plan->run(options_.cancel);
    if (!stopped_) return Error(stopped_.error());
    if (!ran) return Error(ran.error());
    return std::move(checks_);
  }

 private:
  /// The bytes of a node that owns memory, as the next operation finds them.
  struct Held {
    Bytes own;                              // computed, or written into
    std::span<const std::byte> input = {};  // an input's, which stay where they are
    Address leaf = {};                      // a weight's or cache's, the same
  };

  /// Weights that an operation reads in another type, by their node: in the host's memory.
  using Converted = std::map<NodeId, std::unique_ptr<Buffer>>;

  void ask(Device& cpu) {
    Device* const devices[] = {&device_, &cpu};
    PlaceOptions options;
    options.transcode = options_.transcode;
    answers_ = Answers::ask(*graph_, devices, options, StorageUsers(*graph_));
    cpu_ = &cpu;
  }
  /// The graph with weights in the types of the device under test. Node ids are those of the graph
  /// itself.
  const Graph& graph_there() const { return answers_.graph_on(0); }

  Status hold_leaves(Plan& plan) {
    PerNode<bool> written(*graph_, false);
    for (NodeId id = 0; id < graph_->size(); ++id) {
      if (graph_->node(id).writes_storage) written[graph_->node(id).storage] = true;
    }
    const StorageUsers users(*graph_);
    for (NodeId id = 0; id < graph_->size(); ++id) {
      if (!users[id].empty()) last_user_[id] = users[id].back();
      if (graph_->node(id).role != Role::kInput) continue;
      SHUNT_ASSIGN(held_[id].input, plan.input(Value{id}));
    }
    for (const LeafMemory& leaf : options_.memory) held_[leaf.leaf].leaf = leaf.address;
    for (NodeId id = 0; id < graph_->size(); ++id) {
      if (!written[id] || !graph_->node(id).is_leaf()) continue;
      // Content that will be overwritten is copied before.
      Bytes room;
      SHUNT_ASSIGN(const auto bytes, bytes_of(id, room));
      held_[id] = {.own = Bytes(bytes.begin(), bytes.end())};
    }
    return ok();
  }

  /// The content of an owner of memory; `room` takes the bytes of a leaf that the host can't see.
  Result<std::span<const std::byte>> bytes_of(NodeId owner, Bytes& room) const {
    const Held& held = held_[owner];
    const Address& at = held.leaf;
    if (!at) return held.input.empty() ? std::span(held.own) : held.input;
    const auto bytes = shunt::bytes_of(graph_->node(owner).result);
    if (const std::byte* host = at.buffer->host_data()) return std::span(host + at.offset, bytes);
    room.resize(bytes);
    SHUNT_TRY(at.buffer->read(at.offset, room));
    return std::span<const std::byte>(room);
  }

  /// Called when a node has been computed by the reference device.
  Status look(const Observed& observed) {
    const Node& node = graph_->node(observed.node);
    NodeCheck check = describe(observed);
    Bytes got;
    Bytes expected;  // if weights differ from those of the reference run
    SHUNT_TRY(compute(observed, check, got, expected));
    const Bytes before =
        check.compared() && node.writes_storage ? held_[node.storage].own : Bytes();
    const Bytes& kept = keep(observed);
    if (check.compared()) {
      judge(node, got, expected.empty() ? kept : expected, before, check);
    }
    checks_.push_back(std::move(check));
    forget(observed.node);
    if (options_.progress) options_.progress(checks_.size(), total_);
    return ok();
  }

  /// `before`: of a node that writes into memory, the content before.
  void judge(const Node& node, const Bytes& got, const Bytes& expected, const Bytes& before,
             NodeCheck& check) const {
    const Tensor& tensor = node.writes_storage ? graph_->node(node.storage).result : node.result;
    const Difference found = compare(tensor, actual_sizes(tensor, dynamic_dims_), got.data(),
                                     expected.data(), before.empty() ? nullptr : before.data());
    check.error = found.error;
    check.worst_at = found.at;
    check.got = found.got;
    check.expected = found.expected;
  }

  NodeCheck describe(const Observed& observed) const {
    const Node& node = graph_there().node(observed.node);
    NodeCheck check;
    check.node = observed.node;
    check.name = graph_->describe(observed.node);
    check.op = node.op->info().name;
    const DeviceSpan<Device* const> devices(reference_->devices);
    check.reference_device = devices[reference_->decisions[observed.node].device]->name();
    check.threshold = default_threshold(node.result.dtype);
    const auto text = [&](const Tensor& tensor) {
      const Sizes sizes = actual_sizes(tensor, dynamic_dims_);
      return fmt::format("{} {}", to_string(tensor.dtype),
                         to_string(Shape{sizes[0], sizes[1], sizes[2], sizes[3]}));
    };
    for (NodeId source : node.sources) {
      if (source == kNoNode) continue;
      const Tensor& tensor = graph_there().node(source).result;
      check.threshold = std::max(check.threshold, default_threshold(tensor.dtype));
      if (!check.tensors.empty()) check.tensors += ", ";
      check.tensors += text(tensor);
    }
    check.tensors += " -> " + text(node.result);
    if (options_.threshold) check.threshold = *options_.threshold;
    return check;
  }

  /// The content of a node's memory on the device afterwards, as far as it is compared; or why
  /// there is none. `expected`: the CPU's result with transcoded weights, if there are any. An
  /// error only if it was cancelled, or is one of the host.
  Status compute(const Observed& observed, NodeCheck& check, Bytes& got, Bytes& expected) const {
    if (const Support& answer = answers_.of(check.node, 0); !answer) {
      check.outcome = CheckOutcome::kUnsupported;
      check.message = answer.facts();
      return ok();
    }
    Converted weights;
    SHUNT_TRY(convert_weights(check, weights));
    if (!check.compared()) return ok();
    if (!weights.empty()) {
      Status reference_device = compute_alone(*cpu_, observed, weights, expected);
      if (!reference_device) {
        const std::string where = fmt::format("{} on {}", check.name, cpu_->name());
        return std::move(reference_device.error()).with_context(where);
      }
    }
    Status computed = bring_to_layouts(check, weights);
    if (computed) computed = compute_alone(device_, observed, weights, got);
    if (computed) return ok();
    const Error& error = computed.error();
    if (error.code() == ErrorCode::kCancelled) return Error(error);
    check.outcome = CheckOutcome::kFailed;
    check.message = fmt::format("{} on {}: {}", check.name, device_name_, error.message());
    if (error.vendor()) {
      check.message += fmt::format(" (code {}: {})", error.vendor()->code, error.vendor()->text);
    }
    return ok();
  }

  /// Converts the weights of a node to the types that the device requires.
  Status convert_weights(NodeCheck& check, Converted& weights) const {
    for (NodeId source : graph_->node(check.node).sources) {
      if (source == kNoNode) continue;
      const NodeId owner = graph_->node(source).storage;
      const Conversion* conversion = answers_.conversion(owner, 0);
      if (conversion == nullptr || weights.contains(owner)) continue;
      TranscodedWeight weight = describe_conversion(*graph_, *conversion, device_name_);
      Bytes room;
      SHUNT_ASSIGN(const auto bytes, bytes_of(owner, room));
      auto& buffer = weights[owner];
      SHUNT_ASSIGN(buffer, host_memory().allocate(std::max<std::size_t>(weight.bytes, 1)));
      SHUNT_ASSIGN(weight.error, transcode(bytes, weight.from, order_in_memory(weight.from),
                                           {buffer.get(), 0}, weight.to, [](std::uint64_t) {}));
      if (weight.error->lost > 0) {
        check.outcome = CheckOutcome::kUnsupported;
        check.message = lost_text(weight);
        return ok();
      }
      check.transcoded.push_back(std::move(weight));
    }
    return ok();
  }

  /// Copies the weights of a node to the memory type that the device prefers, as loading does, and
  /// to lossy forms if the device has them and they are allowed. No other device has these forms,
  /// so the threshold includes their error.
  Status bring_to_layouts(NodeCheck& check, Converted& weights) const {
    const bool lossy = options_.transcode == Transcode::kLossy;
    std::vector<const BufferType*> kinds(graph_->size(), nullptr);
    for (NodeId source : graph_->node(check.node).sources) {
      if (source == kNoNode) continue;
      const NodeId owner = graph_->node(source).storage;
      if (!is_weight(graph_->node(owner).role) || weights.contains(owner)) continue;
      SHUNT_ASSIGN(const WeightChoice choice, choose_weight_form(device_, *graph_, owner, lossy));
      BufferType* const memory = choice.memory;
      if (memory == nullptr) continue;
      const Tensor& tensor = graph_->node(owner).result;
      Bytes room;
      SHUNT_ASSIGN(const auto bytes, bytes_of(owner, room));
      const PlacedTensor placed{tensor, 0};
      auto& buffer = weights[owner];
      SHUNT_ASSIGN(buffer, memory->allocate_for(memory->size_of(tensor), {&placed, 1}));
      SHUNT_TRY(buffer->write(0, bytes));
      kinds[owner] = memory;
      if (choice.lossy) note_lossy(check, owner, {buffer.get(), 0});
    }
    if (!options_.threshold) {
      check.threshold += device_.rounding_error(graph_there(), check.node, kinds);
    }
    return ok();
  }

  /// The error of a weight's lossy form, if it has one.
  void note_lossy(NodeCheck& check, NodeId weight, const Address& at) const {
    const auto cost = device_.lossy_cost(at);
    if (!cost) return;
    const Tensor& tensor = graph_->node(weight).result;
    TranscodedWeight lossy = describe_conversion(
        *graph_, {weight, tensor.dtype, cost->form, 0, std::string()}, device_name_);
    lossy.bytes = at.buffer->type().size_of(tensor);
    lossy.error = TranscodeError{cost->squared_error, cost->squares};
    if (!options_.threshold) {
      // Of sums of independent errors; twice that, as they are of few weights or not so.
      check.threshold += 2 * lossy.error->normalised();
    }
    check.transcoded.push_back(std::move(lossy));
  }

  Status compute_alone(Device& device, const Observed& observed, const Converted& weights,
                       Bytes& got) const {
    const Graph& graph = graph_there();
    const Node& node = graph.node(observed.node);
    std::map<NodeId, std::unique_ptr<Buffer>> buffers;  // by owner
    std::vector<Address> addresses(graph.size());
    const auto bring = [&](NodeId id) -> Status {
      const NodeId owner = graph.node(id).storage;
      if (!addresses[owner]) {
        const auto weight = weights.find(owner);
        const bool written = node.storage == owner;
        SHUNT_ASSIGN(addresses[owner],
                     weight == weights.end()
                         ? bring_owner(device, owner, written, buffers[owner])
                         : bring_weight(device, *weight->second, owner, buffers[owner]));
      }
      addresses[id] = addresses[owner];
      addresses[id].offset += to_size(graph.node(id).offset);
      return ok();
    };
    for (NodeId source : node.sources) {
      if (source != kNoNode) SHUNT_TRY(bring(source));
    }
    SHUNT_TRY(bring(observed.node));
    const NodeId nodes[] = {observed.node};
    SHUNT_ASSIGN(DeviceRun alone, DeviceRun::create(device, graph, nodes, addresses));
    SHUNT_TRY(alone.run(dynamic_dims_, options_.cancel));
    const Address& at = addresses[node.storage];
    got.assign(bytes_left(observed), kUnwritten);
    return at.buffer->read(at.offset, got);
  }

  /// The memory of an owner on the device: in place, if the device can read it there, or else in
  /// `buffer`.
  Result<Address> bring_owner(Device& device, NodeId owner, bool written,
                              std::unique_ptr<Buffer>& buffer) const {
    const Address& leaf = held_[owner].leaf;
    if (leaf && !written && device.can_read(leaf.buffer->type())) return leaf;
    Bytes room;
    SHUNT_ASSIGN(const auto held, bytes_of(owner, room));
    return bring_bytes(device, graph_->node(owner).result, held, buffer);
  }
  /// The same for a weight in another type.
  Result<Address> bring_weight(Device& device, Buffer& weight, NodeId owner,
                               std::unique_ptr<Buffer>& buffer) const {
    if (device.can_read(weight.type())) return Address{&weight, 0};
    const std::span<const std::byte> bytes(weight.host_data(), weight.size());
    return bring_bytes(device, graph_there().node(owner).result, bytes, buffer);
  }
  static Result<Address> bring_bytes(Device& device, const Tensor& tensor,
                                     std::span<const std::byte> held,
                                     std::unique_ptr<Buffer>& buffer) {
    BufferType& memory = device.memory();
    const std::size_t bytes =
        std::max({memory.size_of(tensor), shunt::bytes_of(tensor), std::size_t{1}});
    SHUNT_ASSIGN(buffer, filled_buffer(memory, bytes, kUnwritten, held));
    return Address{buffer.get(), 0};
  }

  /// Bytes from the start of the memory that has a node's result, as far as it is compared.
  std::size_t bytes_left(const Observed& observed) const {
    const Node& node = graph_->node(observed.node);
    const std::size_t end = to_size(node.offset) + observed.bytes.size();
    return node.writes_storage ? std::max(held_[node.storage].own.size(), end)
                               : observed.bytes.size();
  }

  /// Takes over the content of a node's memory in the reference run.
  const Bytes& keep(const Observed& observed) {
    const Node& node = graph_->node(observed.node);
    const std::size_t left = bytes_left(observed);
    Bytes& own = held_[node.storage].own;
    own.resize(left, kUnwritten);
    const auto offset = to_size(node.writes_storage ? node.offset : 0);
    if (!observed.bytes.empty()) {
      std::memcpy(own.data() + offset, observed.bytes.data(), observed.bytes.size());
    }
    return own;
  }

  /// Frees content that is never read again.
  void forget(NodeId done) {
    const auto release = [&](NodeId id) {
      const NodeId owner = graph_->node(id).storage;
      if (last_user_[owner] <= done) held_[owner].own = Bytes();
    };
    for (NodeId source : graph_->node(done).sources) {
      if (source != kNoNode) release(source);
    }
    release(done);
  }

  std::shared_ptr<const Graph> graph_;
  Device& device_;
  std::string device_name_;
  const VerifyOptions& options_;
  Answers answers_;                       // of the device under test, and of the CPU
  Device* cpu_ = nullptr;                 // of the reference run
  const Placement* reference_ = nullptr;  // of the reference run, as long as that runs
  DynamicDimValues dynamic_dims_ = {};
  PerNode<Held> held_;         // by owner of memory
  PerNode<NodeId> last_user_;  // by owner of memory
  std::size_t total_ = 0;
  std::vector<NodeCheck> checks_;
  Status stopped_;
};

}  // namespace

Result<std::vector<NodeCheck>> verify(std::shared_ptr<const Graph> graph, Placement placement,
                                      Device& device, const VerifyOptions& options) {
  if (graph == nullptr) return invalid("there is no graph to verify");
  return guarded(
      [&] { return Verifier(std::move(graph), device, options).run(std::move(placement)); });
}

}  // namespace shunt
