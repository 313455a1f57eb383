// The folder of helper files that belongs to an output file of training: ".NAME.shunt-train" beside
// NAME. One process at a time holds it, where the file system has locks.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "shunt/error.h"
#include "shunt/files.h"

namespace shunt::cli {

class TrainFolder {
 public:
  /// Creates and locks the folder of an output file, and removes files that a killed process left
  /// in it, but for checkpoints. Io if another process trains to the same file, or if the folder
  /// cannot be created.
  static Result<TrainFolder> open(const std::string& output);
  /// The name of the file that a training begins with.
  static constexpr std::string_view kStart = "start.gguf";
  /// The path of such a folder.
  static std::string path_of(const std::string& output);

  TrainFolder(TrainFolder&&) noexcept = default;
  TrainFolder& operator=(TrainFolder&&) = delete;
  TrainFolder(const TrainFolder&) = delete;
  TrainFolder& operator=(const TrainFolder&) = delete;
  /// Unlocks the folder, and removes it if nothing is left in it.
  ~TrainFolder();

 private:
  TrainFolder(std::string path, Descriptor lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  std::string path_;
  Descriptor lock_;
};

}  // namespace shunt::cli
