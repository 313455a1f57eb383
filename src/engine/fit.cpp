#include "engine/fit.h"

#include <algorithm>
#include <memory>

#include "base/fail.h"
#include "engine/fit_assign.h"
#include "engine/fit_by_file.h"
#include "engine/fit_note.h"
#include "engine/fit_predict.h"
#include "engine/memory_pool.h"

namespace shunt {

namespace {

/// Assigns homes within bounds, predicts what they take, and lowers the bounds where that is too
/// much, until it fits.
class Fitter {
 public:
  /// `endless`: buffers have no end.
  Fitter(const ModelState& model, const FitRequest& request, bool endless)
      : model_(model),
        request_(request),
        endless_(endless),
        cpu_(static_cast<int>(model.devices.size()) - 1) {
    for (Device* device : model.devices) names_.push_back(device->info().name);
    bounds_.used = request.used;
    if (bounds_.used.empty()) bounds_.used.resize(names_.size(), true);
    bounds_.most_streamed = request.most_streamed;
    bounds_.most_streamed.resize(names_.size(), kNoLimit);
    bounds_.room.resize(names_.size(), kNoLimit);
  }

  Result<Fit> run() {
    for (const StepShape& shape : request_.steps) {
      SHUNT_ASSIGN(StepGraph step, model_.definition->build(shape));
      steps_.push_back(std::make_shared<const StepGraph>(std::move(step)));
    }
    const StepGraph& step = *steps_.front();
    SHUNT_ASSIGN(const Placement wanted, model_.place_step(step.graph, {}, model_.devices));
    find_pinned(step.graph, wanted);
    leaves_ = find_leaves(model_, request_, step, wanted, endless_);
    units_ = find_units(*steps_.front(), leaves_);
    short_of_room_ = std::any_of(leaves_.begin(), leaves_.end(),
                                 [&](const FitLeaf& leaf) { return misses_a_device(leaf); });
    for (int d = 0; d < cpu_; ++d) bounds_.room[at(d)] = first_room(d);
    while (true) {
      chosen_ = assign_homes(leaves_, units_, bounds_);
      short_of_room_ = short_of_room_ || chosen_.short_of_room;
      const Status predicted = predict_fit(model_, steps_, leaves_, chosen_.homes, bounds_, takes_);
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

  /// Who insists on a device, if anybody does.
  void find_pinned(const Graph& graph, const Placement& wanted) {
    pinned_.resize(names_.size());
    if (model_.pins.empty()) return;
    for (NodeId id = 0; id < graph.size(); ++id) {
      const Decision& decision = wanted.decisions[id];
      std::string& first = pinned_[at(decision.device)];
      if (decision.rule != Rule::kPinned || !first.empty()) continue;
      first = fmt::format("{} can't leave {} ({}): ", graph.describe(id),
                          names_[at(decision.device)], decision.reason);
    }
  }

  /// One that would compute with it has no buffers that large.
  bool misses_a_device(const FitLeaf& leaf) const {
    return std::any_of(leaf.by_device.begin(), leaf.by_device.begin() + cpu_,
                       [](const LeafOnDevice& on) { return on.can && on.too_large; });
  }

  /// Bytes of leaves that a device may have at first: what it can give, and what it has already.
  std::uint64_t first_room(int device) const {
    std::uint64_t room = request_.limits[at(device)].usable();
    if (room == 0) return 0;
    for (const FitLeaf& leaf : leaves_) {
      if (leaf.there == device) room += std::min(leaf.on(device).bytes, kNoLimit - room);
    }
    return room;
  }

  /// What is known of bytes where no device has buffers for the rest.
  void count_leaves() {
    takes_.assign(names_.size(), {});
    for (std::size_t d = 0; d < takes_.size(); ++d) takes_[d].weights = chosen_.taken[d];
  }

  bool may_move(int device) const {
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      if (chosen_.homes[i] == device && !leaves_[i].fixed) return true;
    }
    return false;
  }
  bool holds_any(int device) const { return std::ranges::count(chosen_.homes, device) > 0; }

  /// Less is sent to a device than was. False if nothing was, or it must be (the user wants it so).
  bool stream_less(int device) {
    const std::uint64_t sent = takes_[at(device)].streamed;
    if (sent <= takes_[at(device)].must_stream || sent > bounds_.most_streamed[at(device)])
      return false;
    bounds_.most_streamed[at(device)] = sent - 1;
    bounds_.room[at(device)] = first_room(device);
    rounds_ = 0;
    return true;
  }

  /// Less room for a device's leaves; or, where that does not help, less that is sent there; or no
  /// use of it. False if nothing of that can be.
  bool reduce(int device, std::uint64_t by) {
    short_of_room_ = true;
    std::uint64_t& room = bounds_.room[at(device)];
    // What is loaded makes no room by being used from elsewhere.
    if (request_.loaded != nullptr && stream_less(device)) return true;
    if (room > 0 && may_move(device)) {
      room = std::min(room, chosen_.taken[at(device)]);
      room -= std::min(room, std::max<std::uint64_t>(by, 1));
      return true;
    }
    if (stream_less(device)) return true;
    if (holds_any(device) || !bounds_.used[at(device)]) return false;
    if (model_.placement && names_device(*model_.placement, names_[at(device)])) return false;
    if (!pinned_[at(device)].empty()) return false;
    bounds_.used[at(device)] = false;
    return true;
  }

  /// Mostly the first guess of what is too much is right; if not, a few more are enough.
  std::uint64_t least_step(int device) const {
    return rounds_ < 4 ? 0 : chosen_.taken[at(device)] / 4;
  }

  bool reduce_where_full() {
    bool reduced = false;
    for (int d = 0; d < cpu_; ++d) {
      const std::uint64_t usable = request_.limits[at(d)].usable();
      const std::uint64_t takes = takes_[at(d)].allocated();
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
    return std::any_of(pool.devices.rbegin(), pool.devices.rend(), [&](int device) {
      return reduce(device, std::max(missing, least_step(device)));
    });
  }

  std::vector<std::uint64_t> allocated() const {
    std::vector<std::uint64_t> bytes;
    for (const DeviceBytes& takes : takes_) bytes.push_back(takes.allocated());
    return bytes;
  }

  /// After a plan that can't be: less for the device whose memory does not do; for all if nobody
  /// knows which that is. The CPU has to take what the others do not.
  bool reduce_after(const Error& error) {
    bool reduced = false;
    for (int d = 0; d < cpu_; ++d) {
      if (error.device().empty() || error.device() == names_[at(d)])
        reduced |= reduce(d, chosen_.taken[at(d)] / 2);
    }
    return reduced;
  }

  /// What of that which the user wants on a device is too much for it: the line of a placement
  /// file, or the first pin; empty without. `takes`, `usable`: bytes of its memory, with those of
  /// others that share it.
  std::string wish_at_fault(int device, std::uint64_t takes, std::uint64_t usable) const {
    if (!model_.placement) return pinned_[at(device)];
    std::map<NodeId, std::uint64_t> sizes;
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      const FitLeaf& leaf = leaves_[i];
      if (chosen_.homes[i] != device || leaf.there == device) continue;
      const bool allocated =
          leaf.is_cache() || model_.memory_to_fill(*leaf.info, device) != nullptr;
      if (allocated) sizes[leaf.id] = leaf.on(device).bytes;
    }
    return line_that_is_too_much(*model_.placement, steps_.front()->graph,
                                 {names_[at(device)], takes, usable}, sizes);
  }
  std::string wish_at_fault(const MemoryPool& pool) const {
    for (const int device : pool.devices) {
      std::string wish = wish_at_fault(device, pool.asked, pool.usable());
      if (!wish.empty()) return wish;
    }
    return "";
  }

  Status check() const {
    for (int d = 0; d <= cpu_; ++d) {
      const DeviceLimit& limit = request_.limits[at(d)];
      const std::uint64_t takes = takes_[at(d)].allocated();
      if (takes <= limit.usable()) continue;
      const bool capped = limit.cap < limit.free || limit.free == 0;
      return fail(ErrorCode::kOutOfMemory, "{}{}", wish_at_fault(d, takes, limit.usable()),
                  to_text(MemoryNeed{names_[at(d)], takes, capped ? limit.cap : limit.free,
                                     capped ? 0 : limit.margin}));
    }
    const MemoryPool pool = memory_pool(request_.limits, allocated());
    if (pool.is_short()) {
      return fail(ErrorCode::kOutOfMemory, "{}{}", wish_at_fault(pool),
                  to_text(pool, allocated(), names_));
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
    fit.short_of_room = short_of_room_;
    fit.planned = allocated();
    const std::uint64_t of_pool = memory_pool(request_.limits, fit.planned).asked;
    for (int d = 0; d <= cpu_; ++d) {
      const DeviceBytes& takes = takes_[at(d)];
      add_to(fit.ledger, names_[at(d)], takes);
      const LayersOnDevice layers = layers_on(d, leaves_, units_, chosen_.homes);
      fit.notes.push_back(to_line({names_[at(d)], d == cpu_, layers, takes, request_.limits[at(d)],
                                   names_in_pool(d, request_.limits, names_), of_pool}));
    }
    return fit;
  }

  const ModelState& model_;
  const FitRequest& request_;
  const bool endless_;
  const int cpu_;
  // What there is:
  std::vector<std::string> names_;  // by device
  std::vector<std::shared_ptr<const StepGraph>> steps_;
  std::vector<FitLeaf> leaves_;
  std::vector<FitUnit> units_;
  std::vector<std::string> pinned_;  // by device: "W can't leave test0 (the pin P says so): "
  // The choice at hand:
  FitBounds bounds_;
  Assignment chosen_;
  std::vector<DeviceBytes> takes_;  // by device
  int rounds_ = 0;
  bool short_of_room_ = false;  // something was left out somewhere
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
