#include "engine/fit.h"

#include <algorithm>
#include <memory>

#include "base/counted.h"
#include "base/fail.h"
#include "engine/fit_by_file.h"
#include "engine/promised_memory.h"
#include "engine/weights_in_memory.h"
#include "schedule/answers.h"
#include "schedule/memory_planner.h"
#include "schedule/place_facts.h"
#include "schedule/predict.h"
#include "schedule/storage_users.h"

namespace shunt {

namespace {

constexpr std::uint64_t kLeastMargin = std::uint64_t{64} << 20;

/// A weight or cache of the graph.
struct Leaf {
  NodeId id = 0;
  const gguf::TensorInfo* info = nullptr;  // null for a cache
  std::size_t cache = 0;                   // number of a cache
  int wanted = 0;                          // where placement would have it
  bool for_speed = false;                  // because that is faster, not because it may
  bool fixed = false;                      // the user wants it there, or it is there and stays
  std::vector<Tensor> tensors = {};        // by device: what it is there
};

/// Leaves that go together: those of a layer, or one that is of none.
struct Unit {
  std::int64_t layer = -1;
  std::vector<std::size_t> leaves;
};

/// What a choice of homes takes, by device of the model.
struct Bytes {
  std::uint64_t weights = 0;
  std::uint64_t mapped = 0;
  std::uint64_t cache = 0;
  std::uint64_t activations = 0;
  std::uint64_t inputs = 0;
  std::uint64_t staging = 0;
  std::uint64_t allocated() const { return weights + cache + activations + inputs + staging; }
};

class Fitter {
 public:
  Fitter(const ModelState& model, const FitRequest& request)
      : model_(model),
        request_(request),
        cpu_(static_cast<int>(model.devices.size()) - 1),
        used_(request.used.empty() ? std::vector<bool>(model.devices.size(), true) : request.used),
        promised_(model.devices) {
    for (Device* device : model.devices) names_.push_back(device->info().name);
    most_streamed_ = request.most_streamed;
    most_streamed_.resize(model.devices.size(), kNoLimit);
  }

  /// `endless`: buffers have no end, either.
  Result<Fit> run(bool endless) {
    endless_ = endless;
    for (const StepShape& shape : request_.steps) {
      SHUNT_ASSIGN(StepGraph step, model_.definition->build(shape));
      graphs_.push_back(std::make_shared<const Graph>(std::move(step.graph)));
      steps_.push_back(std::move(step));
    }
    SHUNT_TRY(find_leaves());
    find_units();
    room_.assign(model_.devices.size(), kNoLimit);
    for (int d = 0; d < cpu_; ++d) room_[at(d)] = first_room(d);
    while (true) {
      assign();
      const Status predicted = predict();
      if (predicted) {
        if (!reduce_where_full()) break;
      } else if (predicted.error().code() != ErrorCode::kOutOfMemory) {
        return Error(predicted.error());
      } else if (endless_) {
        count_leaves();
        break;
      } else if (!reduce_after(predicted.error())) {
        return Error(predicted.error());
      }
    }
    SHUNT_TRY(check());
    return result();
  }

 private:
  static std::size_t at(int device) { return static_cast<std::size_t>(device); }
  Device& device(int index) const { return *model_.devices[at(index)]; }
  const Graph& graph() const { return *graphs_.front(); }

  /// Bytes of a leaf on a device, whether it is there already or not.
  std::uint64_t size_on(const Leaf& leaf, int index) const {
    return device(index).memory().size_of(leaf.tensors[at(index)]);
  }
  bool is_loaded(const Leaf& leaf, int index) const {
    if (leaf.info == nullptr) return request_.caches != nullptr;
    return there_already(leaf) == index;
  }
  /// On which device a weight is already; -1: on none.
  int there_already(const Leaf& leaf) const {
    if (leaf.info == nullptr || request_.loaded == nullptr) return -1;
    const auto found = request_.loaded->find(leaf.info);
    return found == request_.loaded->end() ? -1 : found->second;
  }

  Status find_leaves() {
    const StepGraph& step = steps_.front();
    for (const WeightLeaf& weight : step.weights) leaves_.push_back({weight.leaf, weight.info});
    for (std::size_t i = 0; i < step.caches.size(); ++i)
      leaves_.push_back({step.caches[i], nullptr, i});
    std::sort(leaves_.begin(), leaves_.end(),
              [](const Leaf& a, const Leaf& b) { return a.id < b.id; });
    // What the user has decided stays; what follows from rules is decided here.
    SHUNT_ASSIGN(const Placement wanted, model_.place_step(graph(), {}, model_.devices));
    for (Leaf& leaf : leaves_) {
      const Decision& decision = wanted.decisions[leaf.id];
      leaf.wanted = decision.device;
      leaf.fixed = decision.rule == Rule::kPinned;
      leaf.for_speed = decision.rule == Rule::kCosts;
      if (leaf.info != nullptr) continue;
      if (request_.wanted_caches != nullptr && !leaf.fixed) {
        leaf.wanted = (*request_.wanted_caches)[leaf.cache];
        leaf.for_speed = true;
      }
      if (request_.caches != nullptr) {
        leaf.wanted = (*request_.caches)[leaf.cache];
        leaf.fixed = true;
      }
    }
    PlaceOptions options;
    options.transcode = model_.transcode;
    const Answers answers = Answers::ask(graph(), model_.devices, options);
    const auto users = storage_users(graph());
    for (Leaf& leaf : leaves_) {
      find_types(leaf, answers, wanted);
      std::vector<bool> can;
      for (int d = 0; d <= cpu_; ++d) {
        // A user that is pinned elsewhere must find the type that it needs.
        const auto serves = [&](NodeId user) {
          const Decision& decision = wanted.decisions[user];
          return answers.of(user, d) &&
                 (decision.rule != Rule::kPinned || answers.same_type(leaf.id, decision.device, d));
        };
        can.push_back(!users[leaf.id].empty() &&
                      std::all_of(users[leaf.id].begin(), users[leaf.id].end(), serves));
      }
      for (int d = 0; d < cpu_; ++d)
        short_of_room_ = short_of_room_ || (can[at(d)] && is_too_large(leaf, d));
      can_.push_back(std::move(can));
    }
    return ok();
  }

  /// What a leaf is on each device: on that of the model, what it is there already; before that, as
  /// placement wants it, or would.
  void find_types(Leaf& leaf, const Answers& answers, const Placement& wanted) {
    leaf.tensors.assign(model_.devices.size(), graph().node(leaf.id).result);
    if (leaf.info == nullptr) return;
    const auto home = model_.homes.find(leaf.info);
    if (home != model_.homes.end() && !endless_) {
      const auto known = model_.transcoded.find(leaf.info);
      if (known != model_.transcoded.end()) set_type(leaf, home->second, known->second);
      return;
    }
    for (int d = 0; d < cpu_; ++d) {
      const Conversion* conversion = answers.conversion(leaf.id, d);
      if (conversion == nullptr || d == leaf.wanted) continue;
      set_type(leaf, d, describe_conversion(graph(), *conversion, names_[at(d)]));
    }
    for (const Conversion& conversion : wanted.conversions) {
      if (conversion.leaf != leaf.id) continue;
      set_type(leaf, conversion.device,
               describe_conversion(graph(), conversion, names_[at(conversion.device)]));
    }
  }

  void set_type(Leaf& leaf, int index, TranscodedWeight weight) {
    // Rows are whole blocks of the type, or nobody would have asked for it.
    if (auto tensor = make_tensor(weight.to, leaf.info->tensor.shape))
      leaf.tensors[at(index)] = *tensor;
    transcoded_[{leaf.info, index}] = std::move(weight);
  }

  /// What the homes at hand make of weights.
  Transcoded transcoded() const {
    Transcoded weights;
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      const auto found = transcoded_.find({leaves_[i].info, homes_[i]});
      if (found != transcoded_.end()) weights.emplace(leaves_[i].info, found->second);
    }
    return weights;
  }

  /// In the order of the graph. A cache is of the layer whose weights come before it.
  void find_units() {
    std::map<const gguf::TensorInfo*, std::int64_t> layers;
    for (const WeightLeaf& weight : steps_.front().weights) layers[weight.info] = weight.layer;
    std::map<std::int64_t, std::size_t> unit_of;
    std::int64_t current = -1;
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      const gguf::TensorInfo* info = leaves_[i].info;
      const std::int64_t layer = info == nullptr ? current : layers[info];
      if (layer < 0 || !unit_of.contains(layer)) {
        units_.push_back({layer, {}});
        if (layer >= 0) unit_of[layer] = units_.size() - 1;
      }
      if (layer >= 0) current = layer;
      units_[layer >= 0 ? unit_of[layer] : units_.size() - 1].leaves.push_back(i);
    }
  }

  /// Bytes of leaves that a device may have at first: what it can give, and what it has already.
  std::uint64_t first_room(int index) const {
    std::uint64_t room = request_.limits[at(index)].usable();
    if (room == 0) return 0;
    for (const Leaf& leaf : leaves_) {
      if (!is_loaded(leaf, index) || room == kNoLimit) continue;
      room += std::min(size_on(leaf, index), kNoLimit - room);
    }
    return room;
  }

  bool is_too_large(const Leaf& leaf, int index) const {
    return !endless_ && size_on(leaf, index) > device(index).memory().max_size();
  }

  /// `has_weights`: the devices that weights of the same unit lie on.
  int home_of(std::size_t leaf, const std::vector<bool>& open,
              const std::vector<bool>& has_weights) const {
    const Leaf& each = leaves_[leaf];
    if (each.fixed) return each.wanted;
    const auto is_open = [&](int d) { return d == cpu_ || open[at(d)]; };
    if (const int there = there_already(each); there >= 0) return is_open(there) ? there : cpu_;
    const auto suits = [&](int d, bool alone) {
      return d == cpu_ || (is_open(d) && can_[leaf][at(d)] && !is_too_large(each, d) &&
                           (each.info != nullptr || alone || has_weights[at(d)]));
    };
    if (suits(each.wanted, each.for_speed)) return each.wanted;
    for (int d = 0; d < cpu_; ++d) {
      if (suits(d, false)) return d;
    }
    return cpu_;
  }

  /// First what is there already, as nobody else could have its room.
  std::vector<const Unit*> in_order() const {
    std::vector<const Unit*> order;
    for (const bool first : {true, false}) {
      for (const Unit& unit : units_) {
        const bool there =
            std::any_of(unit.leaves.begin(), unit.leaves.end(),
                        [&](std::size_t leaf) { return there_already(leaves_[leaf]) >= 0; });
        if (there == first) order.push_back(&unit);
      }
    }
    return order;
  }

  /// Fills devices unit by unit. One that a unit is too large for is closed to all that follow.
  void assign() {
    homes_.assign(leaves_.size(), cpu_);
    taken_.assign(model_.devices.size(), 0);
    std::vector<bool> open = used_;
    for (const Unit* unit : in_order()) {
      while (true) {
        std::vector<std::uint64_t> more(model_.devices.size(), 0);
        std::vector<bool> has_weights(model_.devices.size(), false);
        // Weights first, as caches follow them.
        for (const bool cache : {false, true}) {
          for (std::size_t leaf : unit->leaves) {
            if ((leaves_[leaf].info == nullptr) != cache) continue;
            const int home = home_of(leaf, open, has_weights);
            homes_[leaf] = home;
            has_weights[at(home)] = has_weights[at(home)] || !cache;
            more[at(home)] += size_on(leaves_[leaf], home);
          }
        }
        bool closed = false;
        for (int d = 0; d < cpu_; ++d) {
          if (!open[at(d)] || more[at(d)] == 0) continue;
          if (more[at(d)] <= room_[at(d)] - std::min(room_[at(d)], taken_[at(d)])) continue;
          open[at(d)] = false;
          closed = short_of_room_ = true;
        }
        if (closed) continue;
        for (int d = 0; d <= cpu_; ++d) taken_[at(d)] += more[at(d)];
        break;
      }
    }
  }

  std::vector<Device*> used_devices() const {
    std::vector<Device*> devices;
    for (int d = 0; d <= cpu_; ++d) {
      if (used_[at(d)]) devices.push_back(&device(d));
    }
    return devices;
  }

  std::vector<std::uint64_t> stream_bytes() const {
    std::vector<std::uint64_t> bytes;
    for (int d = 0; d <= cpu_; ++d) {
      if (used_[at(d)]) bytes.push_back(most_streamed_[at(d)]);
    }
    return bytes;
  }

  /// What these homes take: the layouts that will be allocated.
  Status predict() {
    bytes_.assign(model_.devices.size(), {});
    streamed_.assign(model_.devices.size(), 0);
    for (int d = 0; d <= cpu_; ++d) {
      std::vector<const Tensor*> weights;
      std::vector<const Tensor*> caches;
      for (std::size_t i = 0; i < leaves_.size(); ++i) {
        if (homes_[i] != d || is_loaded(leaves_[i], d)) continue;
        const Tensor* tensor = &leaves_[i].tensors[at(d)];
        if (leaves_[i].info == nullptr) {
          caches.push_back(tensor);
        } else if (uses_mapped_file(device(d))) {
          bytes_[at(d)].mapped += leaves_[i].info->bytes;
        } else {
          weights.push_back(tensor);
        }
      }
      SHUNT_ASSIGN(bytes_[at(d)].weights, bytes_side_by_side(weights, d));
      SHUNT_ASSIGN(bytes_[at(d)].cache, bytes_side_by_side(caches, d));
    }
    for (std::size_t i = 0; i < steps_.size(); ++i) SHUNT_TRY(predict_step(i));
    return ok();
  }

  Result<std::uint64_t> bytes_side_by_side(std::span<const Tensor* const> tensors,
                                           int index) const {
    auto layout = side_by_side(device(index).memory(), tensors);
    if (layout) return layout->total();
    const std::string& name = names_[at(index)];
    return std::move(layout.error()).with_device(name).with_context(name);
  }

  Status predict_step(std::size_t index) {
    const StepGraph& step = steps_[index];
    std::vector<LeafMemory> memory;
    std::map<const gguf::TensorInfo*, int> weights;
    std::vector<int> caches(step.caches.size(), cpu_);
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      if (leaves_[i].info == nullptr) {
        caches[leaves_[i].cache] = homes_[i];
      } else {
        weights[leaves_[i].info] = homes_[i];
      }
    }
    for (const WeightLeaf& weight : step.weights)
      memory.push_back({weight.leaf, promised_.on(weights[weight.info])});
    for (std::size_t i = 0; i < step.caches.size(); ++i)
      memory.push_back({step.caches[i], promised_.on(caches[i])});
    const auto devices = used_devices();
    SHUNT_ASSIGN(const auto graph, graph_of(index));
    SHUNT_ASSIGN(Placement placement, model_.place_step(*graph, memory, devices, stream_bytes()));
    const auto of_model = [&](int used) {
      const auto found = std::find(model_.devices.begin(), model_.devices.end(),
                                   devices[static_cast<std::size_t>(used)]);
      return static_cast<std::size_t>(found - model_.devices.begin());
    };
    find_streamed(*graph, placement, memory, of_model);
    CompileOptions options;
    options.memory = memory;
    options.steps_in_flight = 1;  // as a session compiles it
    SHUNT_ASSIGN(const auto uses, predict_memory(graph, std::move(placement), options));
    for (const MemoryUse& use : uses) {
      Bytes& bytes = bytes_[of_model(use.device)];
      bytes.activations += use.activations;
      bytes.inputs += use.inputs;
      bytes.staging += use.staging;
    }
    return ok();
  }

  /// What is known of bytes where no device has buffers for the rest.
  void count_leaves() {
    bytes_.assign(model_.devices.size(), {});
    for (std::size_t d = 0; d < bytes_.size(); ++d) bytes_[d].weights = taken_[d];
  }

  /// A step's graph with weights as they are at the homes at hand.
  Result<std::shared_ptr<const Graph>> graph_of(std::size_t index) const {
    const auto types = leaf_types(steps_[index].weights, transcoded());
    if (types.empty()) return graphs_[index];
    SHUNT_ASSIGN(Graph graph, with_types(*graphs_[index], types));
    return std::make_shared<const Graph>(std::move(graph));
  }

  /// The most bytes of weights that are sent to a device for one op.
  template <class OfModel>
  void find_streamed(const Graph& graph, const Placement& placement,
                     std::span<const LeafMemory> memory, const OfModel& of_model) {
    std::vector<const BufferType*> types(graph.size(), nullptr);
    for (const LeafMemory& leaf : memory) types[leaf.leaf] = &leaf.address.buffer->type();
    for (NodeId id = 0; id < graph.size(); ++id) {
      if (!is_computed(graph.node(id))) continue;
      const std::size_t d = of_model(placement.decisions[id].device);
      streamed_[d] = std::max(streamed_[d], bytes_to_send(graph, id, *model_.devices[d], types));
    }
  }

  bool may_move(int index) const {
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      if (homes_[i] == index && !leaves_[i].fixed) return true;
    }
    return false;
  }
  bool holds_any(int index) const {
    return std::find(homes_.begin(), homes_.end(), index) != homes_.end();
  }

  /// Less is sent to a device than was. False if nothing was, or it must be (a file wants it so).
  bool stream_less(int index) {
    const std::uint64_t sent = streamed_[at(index)];
    if (sent == 0 || sent > most_streamed_[at(index)]) return false;
    most_streamed_[at(index)] = sent - 1;
    room_[at(index)] = first_room(index);
    rounds_ = 0;
    return true;
  }

  /// Less room for a device's leaves; or, where that does not help, less that is sent there; or no
  /// use of it. False if nothing of that can be.
  bool reduce(int index, std::uint64_t by) {
    short_of_room_ = true;
    std::uint64_t& room = room_[at(index)];
    // What is loaded makes no room by being used from elsewhere.
    if (request_.loaded != nullptr && stream_less(index)) return true;
    if (room > 0 && may_move(index)) {
      room = std::min(room, taken_[at(index)]);
      room -= std::min(room, std::max<std::uint64_t>(by, 1));
      return true;
    }
    if (stream_less(index)) return true;
    if (holds_any(index) || !used_[at(index)]) return false;
    if (model_.placement && names_device(*model_.placement, names_[at(index)])) return false;
    used_[at(index)] = false;
    return true;
  }

  bool reduce_where_full() {
    bool reduced = false;
    for (int d = 0; d < cpu_; ++d) {
      const std::uint64_t usable = request_.limits[at(d)].usable();
      const std::uint64_t takes = bytes_[at(d)].allocated();
      if (takes <= usable) continue;
      // Mostly the first guess is right; if not, a few more are enough.
      const std::uint64_t least = rounds_ < 4 ? 0 : taken_[at(d)] / 4;
      reduced |= reduce(d, std::max(takes - usable, least));
    }
    ++rounds_;
    return reduced;
  }

  /// After a plan that can't be: less for the device whose memory does not do; for all if nobody
  /// knows which that is. The CPU has to take what the others do not.
  bool reduce_after(const Error& error) {
    bool reduced = false;
    for (int d = 0; d < cpu_; ++d) {
      if (error.device().empty() || error.device() == names_[at(d)])
        reduced |= reduce(d, taken_[at(d)] / 2);
    }
    return reduced;
  }

  /// Which line of the user's placement file is too much for a device; empty without a file.
  std::string line_at_fault(int index) const {
    if (!model_.placement) return "";
    std::map<NodeId, std::uint64_t> sizes;
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      const Leaf& leaf = leaves_[i];
      const bool mapped = leaf.info != nullptr && uses_mapped_file(device(index));
      if (homes_[i] != index || is_loaded(leaf, index) || mapped) continue;
      sizes[leaf.id] = size_on(leaf, index);
    }
    return line_that_is_too_much(
        *model_.placement, graph(),
        {names_[at(index)], bytes_[at(index)].allocated(), request_.limits[at(index)].usable()},
        sizes);
  }

  Status check() const {
    for (int d = 0; d <= cpu_; ++d) {
      const DeviceLimit& limit = request_.limits[at(d)];
      const std::uint64_t takes = bytes_[at(d)].allocated();
      if (takes <= limit.usable()) continue;
      const bool capped = limit.cap < limit.free || limit.free == 0;
      return fail(ErrorCode::kOutOfMemory, "{}{}", line_at_fault(d),
                  to_text(MemoryNeed{names_[at(d)], takes, capped ? limit.cap : limit.free,
                                     capped ? 0 : limit.margin}));
    }
    return ok();
  }

  std::string note(int index) const {
    std::int64_t layers = 0;
    std::int64_t here = 0;
    std::optional<std::int64_t> first;
    std::int64_t last = 0;
    std::size_t others = 0;
    for (const Unit& unit : units_) {
      const bool any = std::any_of(unit.leaves.begin(), unit.leaves.end(), [&](std::size_t leaf) {
        return leaves_[leaf].info != nullptr && homes_[leaf] == index;
      });
      if (unit.layer < 0) {
        others += any ? 1 : 0;
        continue;
      }
      ++layers;
      if (!any) continue;
      ++here;
      if (!first) first = unit.layer;
      last = unit.layer;
    }
    const Bytes& bytes = bytes_[at(index)];
    const DeviceLimit& limit = request_.limits[at(index)];
    std::string text = names_[at(index)] + ": ";
    if (here > 0) {
      text += fmt::format("layers {} to {} ({} of {})", *first, last, here, layers);
    } else {
      text += "no layer";
    }
    if (others > 0) text += fmt::format(" and {} beside them", counted(others, "weight"));
    text += ", " + size_text(bytes.allocated());
    if (bytes.mapped > 0) text += fmt::format(" and {} of the file", size_text(bytes.mapped));
    if (index != cpu_ && limit.free > 0) {
      text += fmt::format(" of {} ({} are left alone)", size_text(limit.free),
                          size_text(limit.free - std::min(limit.free, limit.usable())));
    }
    if (const std::uint64_t sent = streamed_[at(index)]; sent > 0 && index != cpu_) {
      text += fmt::format("; {} of it for weights that are sent there", size_text(sent));
    }
    return text;
  }

  Fit result() const {
    Fit fit;
    fit.devices = used_devices();
    fit.transcoded = transcoded();
    fit.most_streamed = most_streamed_;
    fit.stream_bytes = stream_bytes();
    fit.used = used_;
    fit.short_of_room = short_of_room_;
    fit.homes.caches.assign(steps_.front().caches.size(), cpu_);
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      if (leaves_[i].info == nullptr) {
        fit.homes.caches[leaves_[i].cache] = homes_[i];
      } else {
        fit.homes.weights[leaves_[i].info] = homes_[i];
      }
    }
    for (int d = 0; d <= cpu_; ++d) {
      const Bytes& bytes = bytes_[at(d)];
      const std::string& name = names_[at(d)];
      fit.ledger.add(name, Purpose::kWeights, bytes.weights);
      fit.ledger.add(name, Purpose::kMappedWeights, bytes.mapped);
      fit.ledger.add(name, Purpose::kCache, bytes.cache);
      fit.ledger.add(name, Purpose::kActivations, bytes.activations);
      fit.ledger.add(name, Purpose::kInputs, bytes.inputs);
      fit.ledger.add(name, Purpose::kStaging, bytes.staging);
      fit.planned.push_back(bytes.allocated());
      fit.notes.push_back(note(d));
    }
    return fit;
  }

  const ModelState& model_;
  const FitRequest& request_;
  int cpu_;
  std::vector<bool> used_;  // by device: no plan is made for the others
  PromisedMemory promised_;
  std::vector<std::string> names_;
  std::vector<StepGraph> steps_;  // without their graphs, which are here:
  std::vector<std::shared_ptr<const Graph>> graphs_;
  std::vector<Leaf> leaves_;            // by node id
  std::vector<std::vector<bool>> can_;  // by leaf, by device: it computes all that uses the leaf
  // What a weight is on a device where it has another type.
  std::map<std::pair<const gguf::TensorInfo*, int>, TranscodedWeight> transcoded_;
  std::vector<Unit> units_;
  std::vector<std::uint64_t> room_;  // by device: bytes of leaves that it may have
  // The choice at hand:
  std::vector<int> homes_;            // by leaf
  std::vector<std::uint64_t> taken_;  // by device: bytes of its leaves
  std::vector<Bytes> bytes_;          // by device
  // By device, bytes of weights that are sent for one op: what may be at most, and what is.
  std::vector<std::uint64_t> most_streamed_;
  std::vector<std::uint64_t> streamed_;
  int rounds_ = 0;
  bool endless_ = false;        // buffers have no end
  bool short_of_room_ = false;  // something was left out somewhere
};

}  // namespace

std::vector<DeviceLimit> device_limits(std::span<Device* const> devices,
                                       std::optional<std::uint64_t> margin) {
  std::vector<DeviceLimit> limits;
  for (Device* device : devices) {
    const DeviceInfo info = device->info();
    DeviceLimit limit;
    if (info.kind == DeviceKind::kCpu) {
      limit.free = info.memory_total;
    } else {
      limit.free = info.memory_free;
      limit.margin =
          margin.value_or(std::min(std::max(limit.free / 20, kLeastMargin), limit.free / 4));
    }
    limits.push_back(limit);
  }
  return limits;
}

Result<Fit> fit_model(const ModelState& model, const FitRequest& request) {
  return Fitter(model, request).run(false);
}

Result<Fit> fit_endless(const ModelState& model, std::span<const StepShape> steps) {
  FitRequest request;
  request.steps.assign(steps.begin(), steps.end());
  request.limits.resize(model.devices.size());
  return Fitter(model, request).run(true);
}

std::vector<StepShape> session_steps(const ModelInfo& model, const SessionOptions& options) {
  constexpr std::int64_t kDefaultContext = 4096;
  StepShape prompt;
  prompt.context = options.context > 0 ? options.context : std::min(model.context, kDefaultContext);
  prompt.tokens = std::min(options.batch, prompt.context);
  prompt.outputs = 1;
  prompt.cache_type = options.cache_type;
  StepShape single = prompt;
  single.tokens = 1;
  if (prompt.tokens == 1) return {single};
  return {prompt, single};
}

std::uint64_t lower_cap(std::uint64_t planned, int attempt) {
  if (planned < 4096) return 0;
  return planned - (planned >> std::max(3 - attempt, 1));
}

}  // namespace shunt
