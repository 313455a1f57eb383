#include "engine/load/fit.h"

#include <algorithm>
#include <memory>

#include "base/host_memory_facts.h"
#include "base/to_size.h"
#include "engine/load/fit_assign.h"
#include "engine/load/fit_by_file.h"
#include "engine/load/fit_note.h"
#include "engine/load/fit_predict.h"
#include "engine/load/memory_pool.h"
#include "shunt/message.h"

namespace shunt {

namespace {

/// Assigns homes within bounds, predicts the bytes that they take, and lowers the bounds where that
/// is too much, until it fits.
class Fitter {
 public:
  /// `endless`: buffers have no size limit.
  Fitter(const ModelState& model, const FitRequest& request, bool endless)
      : model_(model), request_(request), endless_(endless), cpu_(model.devices.cpu()) {
    for (Device* device : model.devices) names_.emplace_back(device->name());
    bounds_.used = request.used;
    if (bounds_.used.empty()) bounds_.used.resize(names_.size(), true);
    bounds_.lone_tokens = request.lone_tokens;
    bounds_.most_streamed = request.most_streamed;
    bounds_.most_streamed.resize(names_.size(), kNoLimit);
    bounds_.room.resize(names_.size(), kNoLimit);
  }

  Result<Fit> run() {
    for (const StepShape& shape : request_.steps) {
      SHUNT_ASSIGN(auto step, model_.build(shape));
      steps_.push_back(std::move(step));
    }
    const StepGraph& step = *steps_.front();
    SHUNT_ASSIGN(const Placement wanted, model_.place_freely(steps_.front()));
    find_pinned(step.graph, wanted);
    leaves_ = find_leaves(model_, request_, step, wanted, endless_);
    units_ = find_units(*steps_.front(), leaves_);
    short_of_room_ = std::any_of(leaves_.begin(), leaves_.end(),
                                 [&](const FitLeaf& leaf) { return misses_a_device(leaf); });
    for (const DeviceIndex d : model_.devices.accelerators()) bounds_.room[d] = first_room(d);
    while (true) {
      chosen_ = assign_homes(leaves_, units_, bounds_);
      short_of_room_ = short_of_room_ || chosen_.short_of_room;
      const Status predicted = predict_fit(model_, steps_, leaves_, chosen_.homes, bounds_, takes_);
      if (predicted) {
        if (!reduce_where_full()) break;
        continue;
      }
      const bool out_of_memory = predicted.error().code() == ErrorCode::kOutOfMemory;
      if (out_of_memory && endless_) {
        count_leaves();
        break;
      }
      if (!out_of_memory || !reduce_after(predicted.error())) return Error(predicted.error());
    }
    SHUNT_TRY(check());
    add_host_cache();
    if (!endless_ && request_.may_overlap) SHUNT_TRY(try_to_overlap());
    return result();
  }

 private:
  /// The pin or file line that fixes the device, if there is one.
  void find_pinned(const Graph& graph, const Placement& wanted) {
    pinned_.resize(names_.size());
    if (model_.placement.pins.empty()) return;
    for (NodeId id = 0; id < graph.size(); ++id) {
      const Decision& decision = wanted.decisions[id];
      std::string& first = pinned_[decision.device];
      if (decision.rule != Rule::kPinned || !first.empty()) continue;
      first = fmt::format("{} can't leave {} ({}): ", graph.describe(id), names_[decision.device],
                          decision.reason);
    }
  }

  /// One that would compute with it has no buffers that large.
  bool misses_a_device(const FitLeaf& leaf) const {
    return std::any_of(leaf.by_device.begin(), leaf.by_device.begin() + cpu_,
                       [](const LeafOnDevice& on) { return on.can && on.too_large; });
  }

  /// Bytes of leaves that a device may have at first: those that it can give, and those that it has
  /// already.
  std::uint64_t first_room(DeviceIndex device) const {
    std::uint64_t room = request_.limits[device].usable();
    if (room == 0) return 0;
    for (const FitLeaf& leaf : leaves_) {
      if (leaf.there == device) room += std::min(leaf.on(device).bytes, kNoLimit - room);
    }
    return room;
  }

  /// The known bytes where no device has buffers for the rest.
  void count_leaves() {
    takes_.assign(names_.size(), {});
    for (const DeviceIndex d : takes_.indices()) takes_[d].weights = chosen_.taken[d];
  }

  bool may_move(DeviceIndex device) const {
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      if (chosen_.homes[i] == device && !leaves_[i].fixed) return true;
    }
    return false;
  }
  bool holds_any(DeviceIndex device) const { return std::ranges::count(chosen_.homes, device) > 0; }

  /// Lowers the bytes streamed to a device. False if there were none, or if the user's pins require
  /// them.
  bool stream_less(DeviceIndex device) {
    const std::uint64_t sent = takes_[device].streamed;
    if (sent <= takes_[device].must_stream || sent > bounds_.most_streamed[device]) return false;
    bounds_.most_streamed[device] = sent - 1;
    bounds_.room[device] = first_room(device);
    rounds_ = 0;
    return true;
  }

  /// Reduces the room for a device's leaves. If that does not help, it reduces the bytes streamed
  /// there, and then drops the device. False if none of these is possible.
  bool reduce(DeviceIndex device, std::uint64_t by) {
    short_of_room_ = true;
    std::uint64_t& room = bounds_.room[device];
    // Using loaded weights from another device would free no memory.
    if (request_.loaded != nullptr && stream_less(device)) return true;
    if (room > 0 && may_move(device)) {
      room = std::min(room, chosen_.taken[device]);
      room -= std::min(room, std::max<std::uint64_t>(by, 1));
      return true;
    }
    if (stream_less(device)) return true;
    if (holds_any(device) || !bounds_.used[device]) return false;
    if (model_.placement.file && names_device(*model_.placement.file, names_[device])) return false;
    if (!pinned_[device].empty()) return false;
    bounds_.used[device] = false;
    return true;
  }

  /// Mostly the first guess of the excess is right; if not, a few more are enough.
  std::uint64_t least_step(DeviceIndex device) const {
    return rounds_ < 4 ? 0 : chosen_.taken[device] / 4;
  }

  bool reduce_where_full() {
    bool reduced = false;
    for (const DeviceIndex d : model_.devices.accelerators()) {
      const std::uint64_t usable = request_.limits[d].usable();
      const std::uint64_t takes = takes_[d].own();
      if (takes <= usable) continue;
      reduced |= reduce(d, std::max(takes - usable, least_step(d)));
    }
    reduced = reduced || reduce_where_pool_is_short();
    ++rounds_;
    return reduced;
  }

  /// Less for the last of those that share memory with the CPU, as that is filled last.
  bool reduce_where_pool_is_short() {
    const MemoryPool pool = memory_pool(request_.limits, allocated());
    if (!pool.is_short()) return false;
    const std::uint64_t missing = pool.asked - pool.usable();
    return std::any_of(pool.devices.rbegin(), pool.devices.rend(), [&](DeviceIndex device) {
      return reduce(device, std::max(missing, least_step(device)));
    });
  }

  /// Bytes of each device's memory. Pinned memory is host memory: the CPU's.
  PerDevice<std::uint64_t> allocated() const {
    PerDevice<std::uint64_t> bytes;
    std::uint64_t pinned = 0;
    for (const DeviceBytes& takes : takes_) {
      bytes.push_back(takes.own());
      pinned += takes.pinned;
    }
    bytes[cpu_] += pinned;
    return bytes;
  }

  /// After a plan that can't be: less for the device whose memory is too small; for all
  /// devices if the error names none. The CPU takes the rest.
  bool reduce_after(const Error& error) {
    bool reduced = false;
    for (const DeviceIndex d : model_.devices.accelerators()) {
      if (error.device().empty() || error.device() == names_[d])
        reduced |= reduce(d, chosen_.taken[d] / 2);
    }
    return reduced;
  }

  /// The user's request that exceeds a device's memory: the line of a placement file, or the first
  /// pin; empty without one. `takes`, `usable`: bytes of its memory, with those of others that
  /// share it.
  std::string wish_at_fault(DeviceIndex device, std::uint64_t takes, std::uint64_t usable) const {
    if (!model_.placement.file) return pinned_[device];
    std::map<NodeId, std::uint64_t> sizes;
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      const FitLeaf& leaf = leaves_[i];
      if (chosen_.homes[i] != device || leaf.there == device) continue;
      const bool allocated =
          leaf.is_cache() || model_.memory_to_fill(*leaf.info, device) != nullptr;
      if (allocated) sizes[leaf.id] = leaf.on(device).bytes;
    }
    return line_that_is_too_much(*model_.placement.file, steps_.front()->graph,
                                 {names_[device], takes, usable}, sizes);
  }
  std::string wish_at_fault(const MemoryPool& pool) const {
    for (const DeviceIndex device : pool.devices) {
      std::string wish = wish_at_fault(device, pool.asked, pool.usable());
      if (!wish.empty()) return wish;
    }
    return "";
  }

  /// Whether a device that computes with rows of the cache has them in memory of its own.
  bool has_cache_of_device() const {
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      const DeviceIndex home = chosen_.homes[i];
      if (leaves_[i].is_cache() && home != cpu_ && !model_.devices[home]->info().host_memory)
        return true;
    }
    return false;
  }

  /// Host memory for blocks of the cache, if it is of use and there is room. It never moves a leaf.
  void add_host_cache() {
    if (request_.host_cache == 0) return;
    const auto leave_out = [&](const std::string& reason) {
      host_note_ = fmt::format("no host memory for blocks of the KV cache: {}", reason);
    };
    if (!has_cache_of_device()) return leave_out("all of the cache is in host memory");
    host_ = host_layout(*steps_.front(), request_.host_cache);
    if (host_.slots == 0) {
      return leave_out(fmt::format("a block takes {}, and {} are given",
                                   counted(host_.slot_bytes(), "byte"), request_.host_cache));
    }
    bounds_.host_cache = takes_[cpu_].host_cache = host_.bytes();
    if (const Status fits = host_cache_fits(); !fits) {
      bounds_.host_cache = takes_[cpu_].host_cache = 0;
      host_.slots = 0;
      return leave_out(fits.error().message());
    }
    host_note_ = fmt::format("{}: {} for {} of the KV cache", names_[cpu_],
                             size_text(host_.bytes()), counted(to_size(host_.slots), "block"));
  }

  /// The tier is optional: it uses only memory that is free now.
  Status host_cache_fits() const {
    SHUNT_TRY(check());
    const std::uint64_t wanted = allocated()[cpu_];
    const std::uint64_t free = host_memory_free();
    if (wanted <= free) return ok();
    return fail(ErrorCode::kOutOfMemory, "{} with all else are wanted, and {} are free",
                size_text(wanted), size_text(free));
  }

  /// Steps of a prompt overlap if there is memory for that. It never moves a weight.
  Status try_to_overlap() {
    const PerDevice<DeviceBytes> without = takes_;
    const PerDevice<std::uint64_t> before = allocated();
    bounds_.overlap = true;
    Status predicted = predict_fit(model_, steps_, leaves_, chosen_.homes, bounds_, takes_);
    if (!predicted && predicted.error().code() != ErrorCode::kOutOfMemory) return predicted;
    const bool overlaps = predicted && allocated() != before;  // else all plans are for one step
    if (overlaps && check()) return ok();
    bounds_.overlap = false;
    takes_ = without;
    return ok();
  }

  Status check() const {
    const PerDevice<std::uint64_t> asked = allocated();
    for (const DeviceIndex d : model_.devices.indices()) {
      const DeviceLimit& limit = request_.limits[d];
      const std::uint64_t takes = asked[d];
      if (takes <= limit.usable()) continue;
      const bool capped = limit.cap < limit.free || limit.free == 0;
      return fail(ErrorCode::kOutOfMemory, "{}{}", wish_at_fault(d, takes, limit.usable()),
                  to_text(MemoryNeed{names_[d], takes, capped ? limit.cap : limit.free,
                                     capped ? 0 : limit.margin}));
    }
    const MemoryPool pool = memory_pool(request_.limits, asked);
    if (pool.is_short()) {
      return fail(ErrorCode::kOutOfMemory, "{}{}", wish_at_fault(pool),
                  to_text(pool, asked, names_));
    }
    return ok();
  }

  Fit result() const {
    Fit fit;
    fit.homes = homes_of(leaves_, chosen_.homes);
    fit.transcoded = transcoded_at(leaves_, chosen_.homes);
    fit.devices = bounds_.of_used(model_.devices);
    fit.used = bounds_.used;
    fit.most_streamed = bounds_.most_streamed;
    fit.stream_bytes = bounds_.of_used(bounds_.most_streamed);
    fit.host = host_;
    fit.overlap = bounds_.overlap;
    fit.short_of_room = short_of_room_;
    fit.planned = allocated();
    const std::uint64_t of_pool = memory_pool(request_.limits, fit.planned).asked;
    for (const DeviceIndex d : model_.devices.indices()) {
      const DeviceBytes& takes = takes_[d];
      add_to(fit.ledger, names_[d], takes);
      const OwnMemory own = model_.devices[d]->own_memory();
      fit.ledger.add_own(names_[d], own);
      const bool managed = model_.devices[d]->info().managed_memory;
      if (managed) fit.ledger.managed.insert(names_[d]);
      const LayersOnDevice layers = layers_on(d, leaves_, units_, chosen_.homes);
      fit.notes.push_back(
          to_line({names_[d], d == cpu_, layers, takes, request_.limits[d],
                   names_in_pool(d, request_.limits, names_), of_pool, own, managed}));
    }
    if (!host_note_.empty()) fit.notes.push_back(host_note_);
    return fit;
  }

  const ModelState& model_;
  const FitRequest& request_;
  const bool endless_;
  const DeviceIndex cpu_;
  // The request:
  PerDevice<std::string> names_;
  std::vector<std::shared_ptr<const StepGraph>> steps_;
  std::vector<FitLeaf> leaves_;
  std::vector<FitUnit> units_;
  PerDevice<std::string> pinned_;  // "W can't leave test0 (set by the pin P): "
  // The current choice:
  FitBounds bounds_;
  HomeAssignment chosen_;
  PerDevice<DeviceBytes> takes_;
  int rounds_ = 0;
  bool short_of_room_ = false;  // something was left out somewhere
  HostLayout host_;
  std::string host_note_;
};

}  // namespace

Result<Fit> fit_model(const ModelState& model, const FitRequest& request) {
  return Fitter(model, request, false).run();
}

Result<Fit> fit_endless(const ModelState& model, std::span<const StepShape> steps) {
  FitRequest request;
  request.steps.assign(steps.begin(), steps.end());
  request.limits.resize(model.devices.size());
  return Fitter(model, request, true).run();
}

}  // namespace shunt
