// The keys of the file that is made, and the tensors that follow from numbers.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/slot.h"
#include "shunt/gguf.h"

namespace shunt {

class FileKeys {
 public:
  explicit FileKeys(std::string_view architecture) : prefix_(std::string(architecture) + ".") {}

  // Keys of the architecture, without its prefix. A key that is set again gets the new value.
  void count(std::string_view key, std::int64_t value);
  void number(std::string_view key, double value);
  void flag(std::string_view key, bool value);
  void text(std::string_view key, std::string value);
  void texts(std::string_view key, std::vector<std::string> values);
  void counts(std::string_view key, std::vector<std::int64_t> values);
  void flags(std::string_view key, const std::vector<bool>& values);
  void remove(std::string_view key);
  /// A key of no architecture, by its whole name.
  void add_whole(std::string name, gguf::Value value);
  /// The value of a key that was set as a count, or -1.
  std::int64_t count_of(std::string_view key) const;

  /// In the order in which they were set.
  const std::vector<gguf::KeyValue>& entries() const { return entries_; }

  /// Weights that are made of numbers, such as factors of rope.
  std::map<WeightSlot, std::vector<float>> made;
  /// For the user, a line each.
  std::vector<std::string> notes;

 private:
  void set(std::string_view key, gguf::Value value);

  std::string prefix_;
  std::vector<gguf::KeyValue> entries_;
};

}  // namespace shunt
