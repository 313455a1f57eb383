// The results of `shunt verify`, for people and for programs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shunt/verify_model.h"

namespace shunt::cli {

struct Verification {
  std::string model;
  std::string device;
  std::string against;
  std::vector<std::int64_t> steps = {};       ///< tokens of each
  std::vector<NodeCheck> checks = {};         ///< of all steps, one after the other
  std::vector<std::int64_t> tokens = {};      ///< of the step of each check
  std::vector<std::size_t> worst_first = {};  ///< see shunt::worst_first()
  bool has_no_logits = false;  ///< they were asked for, but the model computes embeddings
  std::optional<LogitsComparison> logits = {};
  std::vector<std::string> logits_devices = {};  ///< that computed them

  std::size_t compared() const;
  std::size_t wrong() const;
  /// The devices of the reference run, and how many operations each computed there; the one
  /// that was asked for, if it computed any, first.
  std::vector<std::pair<std::string, std::size_t>> reference_devices() const;
  /// Each weight that the device has in another type, once.
  std::vector<TranscodedWeight> transcoded() const;
};

/// The counts, a table by op, the worst `top` operations, and the comparison of logits.
std::string to_plain_text(const Verification& found, std::size_t top);
std::string to_json(const Verification& found);
/// The error of a verification without a compared operation.
std::string nothing_compared(const Verification& found);
/// A line for each unusual fact, such as a reference device that computed nothing.
std::vector<std::string> remarks(const Verification& found);
/// One line: how many are wrong, and the worst. There must be one.
std::string complaint(const Verification& found);

}  // namespace shunt::cli
