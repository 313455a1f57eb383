#include "engine/session/layer_content.h"

namespace shunt {

void LayerContent::add_states(std::int64_t checkpoints) {
  states_.emplace(pool_, sequences_, checkpoints);
  states_->set_condition([this](std::int64_t sequence, std::int64_t position) {
    return !windows_ || windows_->covers(sequence, position);
  });
}

void LayerContent::add_windows(std::span<const WindowRows::Window> windows) {
  windows_.emplace(pool_, sequences_, windows);
}

void LayerContent::set_host_slots(std::int64_t slots) {
  if (windows_) windows_->set_host_slots(slots);
}

std::int64_t LayerContent::position(std::int64_t sequence) const {
  if (states_) return states_->position(sequence);
  return windows_ ? windows_->position(sequence) : pool_.cached(sequence);
}

void LayerContent::open(std::int64_t sequence, std::int64_t most) {
  if (windows_) windows_->open(sequence, most);
  align(sequence);
}

std::int64_t LayerContent::advance(std::int64_t sequence, std::int64_t most) {
  if (!repeats_tokens()) return pool_.cached(sequence);
  if (!states_) {
    windows_->advance(sequence, most);
    return windows_->position(sequence);
  }
  const std::int64_t before = states_->position(sequence);
  if (windows_) windows_->follow_to_host();
  states_->advance(sequence, most);
  const std::int64_t start = states_->position(sequence);
  if (windows_ && start > before) windows_->go_on(sequence, start);
  return start;
}

void LayerContent::keep_start(std::int64_t sequence) {
  if (!windows_) return;
  windows_->keep_start(sequence,
                       states_ ? states_->last_checkpoint(sequence) : windows_->position(sequence));
}

void LayerContent::align(std::int64_t sequence) {
  if (!states_ || !windows_) return;
  if (!windows_->covers(sequence, states_->position(sequence))) states_->restart(sequence);
  windows_->go_on(sequence, states_->position(sequence));
}

Status LayerContent::begin(std::int64_t sequence, std::int64_t end, const TextEnds& ends,
                           StepPart& part) {
  if (states_) part.slots = states_->begin(sequence, end, ends);
  if (!windows_) return ok();
  SHUNT_TRY(windows_->begin(sequence, end));
  for (std::int64_t i = 0; i < windows_->windows(); ++i)
    part.windows.push_back(windows_->table(i, sequence));
  return ok();
}

void LayerContent::pass() {
  if (windows_) windows_->pass();
}

void LayerContent::finish(std::int64_t sequence) {
  if (states_) states_->finish(sequence);
  if (windows_) windows_->finish(sequence);
}

void LayerContent::abandon() {
  if (windows_) windows_->abandon();
  if (states_) states_->abandon();
  for (std::int64_t i = 0; i < sequences_; ++i) align(i);
}

void LayerContent::truncate(std::int64_t sequence) {
  if (windows_) windows_->truncate(sequence);
  if (states_) states_->truncate(sequence);
  align(sequence);
}

void LayerContent::fork(std::int64_t from, std::int64_t to) {
  if (windows_) windows_->fork(from, to);
  if (states_) states_->fork(from, to);
  align(to);
}

void LayerContent::clear() {
  if (windows_) windows_->clear();
  if (states_) states_->clear();
}

}  // namespace shunt
