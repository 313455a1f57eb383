#include "text/jinja/name_frames.h"

#include <algorithm>
#include <array>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace shunt::text::jinja {

/// How the names of a frame get their first value; or what a branch adds to those of `base`. As in
/// Jinja's idtracking.
class NameFrames::Names {
 public:
  Names() = default;
  static Names inside(const Names* outer) {
    Names names;
    names.outer_ = outer;
    return names;
  }
  static Names branch_of(const Names* base) {
    Names names;
    names.outer_ = base->outer_;
    names.base_ = base;
    return names;
  }

  void load(NameId name) {
    if (!has(name) && !has_outside(name)) origins_[name] = Origin::kOutside;
  }
  void store(NameId name) {
    stored_.insert(name);
    if (!has(name)) origins_[name] = has_outside(name) ? Origin::kOutside : Origin::kMissing;
  }
  void declare(NameId name) {
    stored_.insert(name);
    origins_[name] = Origin::kOutside;
  }
  /// Names that a branch assigns have their value from outside, if they have one.
  void join(const std::array<Names, 3>& branches) {
    std::unordered_set<NameId> assigned;
    for (const Names& branch : branches) {
      for (const NameId name : branch.stored_) {
        if (!is_stored(name)) assigned.insert(name);
      }
    }
    for (const Names& branch : branches) {
      for (const auto& [name, origin] : branch.origins_) origins_[name] = origin;
      stored_.insert(branch.stored_.begin(), branch.stored_.end());
    }
    for (const NameId name : assigned) origins_[name] = Origin::kOutside;
  }

  std::vector<NameId> missing() const {
    std::vector<NameId> names;
    for (const auto& [name, origin] : origins_) {
      if (origin == Origin::kMissing) names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  enum class Origin : std::uint8_t { kOutside, kMissing };

  bool has(NameId name) const {
    for (const Names* each = this; each != nullptr; each = each->base_) {
      if (each->origins_.contains(name)) return true;
    }
    return false;
  }
  bool has_outside(NameId name) const {
    for (const Names* each = outer_; each != nullptr; each = each->outer_) {
      if (each->has(name)) return true;
    }
    return false;
  }
  bool is_stored(NameId name) const {
    for (const Names* each = this; each != nullptr; each = each->base_) {
      if (each->stored_.contains(name)) return true;
    }
    return false;
  }

  const Names* outer_ = nullptr;  ///< of the frame around it
  const Names* base_ = nullptr;   ///< of the same frame
  std::unordered_map<NameId, Origin> origins_;
  std::unordered_set<NameId> stored_;
};

void NameFrames::begin() {
  Frame& frame = frames_.emplace_back();
  frame.around = open_.empty() ? 0 : open_.back();
  open_.push_back(frames_.size() - 1);
  lists_.push_back(&frame.uses);
}

void NameFrames::end(Body& body) {
  Frame& frame = frames_[open_.back()];
  open_.pop_back();
  lists_.pop_back();
  if (!frame.assigns) return;
  auto hidden = std::make_unique<HiddenNames>(0);
  frame.hidden = hidden.get();
  body.insert(body.begin(), std::move(hidden));
}

std::size_t NameFrames::pause() {
  const std::size_t frame = open_.back();
  open_.pop_back();
  lists_.pop_back();
  return frame;
}

void NameFrames::resume(std::size_t frame) {
  open_.push_back(frame);
  lists_.push_back(&frames_[frame].uses);
}

void NameFrames::begin_choice() {
  Use& choice = lists_.back()->emplace_back();
  choice.kind = Use::Kind::kChoice;
  choice.branches.resize(3);
  lists_.push_back(choice.branches.data());
}

void NameFrames::begin_branch(std::size_t number) {
  lists_.pop_back();
  lists_.push_back(&lists_.back()->back().branches[number]);
}

void NameFrames::end_choice() {
  lists_.pop_back();
}

void NameFrames::add(Use::Kind kind, NameId name) {
  lists_.back()->push_back({kind, name, {}});
  if (kind == Use::Kind::kStore) frames_[open_.back()].assigns = true;
}

void NameFrames::walk(const Uses& uses, Names& names) {
  for (const Use& use : uses) {
    switch (use.kind) {
      case Use::Kind::kLoad:
        names.load(use.name);
        break;
      case Use::Kind::kStore:
        names.store(use.name);
        break;
      case Use::Kind::kParameter:
        names.declare(use.name);
        break;
      case Use::Kind::kChoice: {
        std::array<Names, 3> branches;
        for (std::size_t i = 0; i < branches.size(); ++i) {
          branches[i] = Names::branch_of(&names);
          walk(use.branches[i], branches[i]);
        }
        names.join(branches);
        break;
      }
    }
  }
}

void NameFrames::resolve() {
  std::vector<Names> names(frames_.size());
  for (std::size_t i = 0; i < frames_.size(); ++i) {
    if (i > 0) names[i] = Names::inside(&names[frames_[i].around]);
    walk(frames_[i].uses, names[i]);
    if (frames_[i].hidden != nullptr) frames_[i].hidden->names = names[i].missing();
  }
}

}  // namespace shunt::text::jinja
