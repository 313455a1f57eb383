// Reading the numbers of a model from the keys of its architecture.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shunt/gguf.h"

namespace shunt {

/// Reads the keys ARCHITECTURE.* of a file, and keeps their names. The other keys were not
/// understood.
class ArchitectureKeys {
 public:
  ArchitectureKeys(gguf::File file, std::string architecture)
      : file_(std::move(file)), architecture_(std::move(architecture)) {}

  const gguf::File& file() const { return file_; }
  /// The keys are those of a model that is yet to be made: there are no tensors.
  bool of_new_model() const { return of_new_model_; }
  void describe_new_model() { of_new_model_ = true; }
  /// The whole name of a key: "llama.block_count" of "block_count".
  std::string name(std::string_view key) const { return architecture_ + "." + std::string(key); }
  /// Of those read, the ones that a file must have.
  const std::set<std::string>& needed() const { return needed_; }
  /// The whole names of the keys that were read, also of those that the file lacks.
  const std::set<std::string>& read() const { return read_; }

  /// From 1 to `max`, or BadFile. Without the key `fallback`, or NotFound if there is none.
  Result<std::int64_t> count(std::string_view key, std::int64_t max,
                             std::optional<std::int64_t> fallback = {});
  /// The same for a key that may be 0.
  Result<std::int64_t> count_or_zero(std::string_view key, std::int64_t max);
  /// A number for each of `layers` layers, each from 0 to `max`: the key is one number for all, or
  /// an array of as many. Errors and `fallback` are those of count().
  Result<std::vector<std::int64_t>> count_by_layer(std::string_view key, std::size_t layers,
                                                   std::int64_t max,
                                                   std::optional<std::int64_t> fallback = {});
  /// A truth value for each layer: an array of the file. None: the file lacks the key.
  Result<std::vector<bool>> flag_by_layer(std::string_view key, std::size_t layers);
  /// A finite number. Without the key `fallback`, or NotFound if there is none.
  Result<float> finite(std::string_view key, std::optional<double> fallback = {});
  // As those of gguf::File.
  Result<std::int64_t> integer(std::string_view key) { return file_.get_integer(note_needed(key)); }
  Result<double> number(std::string_view key) { return file_.get_number(note_needed(key)); }
  Result<double> number_or(std::string_view key, double fallback) {
    return file_.get_number_or(note(key), fallback);
  }
  Result<bool> flag_or(std::string_view key, bool fallback) {
    return file_.get_bool_or(note(key), fallback);
  }
  bool has(std::string_view key) { return file_.find(note(key)) != nullptr; }
  /// The texts of an array; none without the key.
  Result<std::vector<std::string>> strings(std::string_view key);
  Result<std::string> string_or(std::string_view key, std::string fallback) {
    return file_.get_string_or(note(key), std::move(fallback));
  }

 private:
  std::string note(std::string_view key) {
    std::string full = name(key);
    read_.insert(full);
    return full;
  }

  std::string note_needed(std::string_view key) {
    std::string full = note(key);
    needed_.insert(full);
    return full;
  }

  gguf::File file_;
  std::string architecture_;
  std::set<std::string> read_;
  std::set<std::string> needed_;
  bool of_new_model_ = false;
};

}  // namespace shunt
