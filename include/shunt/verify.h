/// \file
/// Is a device right? A graph is run once, on reference devices; and each operation once more,
/// alone, on the device in question, with the very inputs that it had there. So errors don't add up
/// from one operation to the next, and a wrong kernel is named. Include it to check a device with a
/// graph of your own. engine.h has the same for a model.
///
/// \code
/// // leaves: LeafMemory of each weight and cache. fill: a function that fills inputs of a Plan.
/// SHUNT_ASSIGN(const Placement placement, place(*graph, cpu_only, {.memory = leaves}));
/// SHUNT_ASSIGN(const auto checks,
///              verify(graph, placement, device, {.memory = leaves, .fill = fill}));
/// for (const OpCheck& each : check_by_op(checks)) {
///   std::cout << each.op << ": " << each.over << " of " << each.compared << " are wrong\n";
/// }
/// \endcode
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shunt/explain.h"

namespace shunt {

/// The outcome of an operation on the device under test.
enum class CheckOutcome : std::uint8_t {
  kCompared,     ///< computed, and compared with the reference result
  kUnsupported,  ///< the device refuses it, which is allowed
  kFailed,       ///< the device accepted it, and then returned an error
};
/// "compared", "unsupported", "failed".
std::string_view to_string(CheckOutcome outcome);

/// One operation of a graph.
struct NodeCheck {
  NodeId node = 0;
  std::string name;  ///< "blk.0.attention (attention)"
  std::string op;    ///< "attention"
  /// "F32 [64, 64], F32 [64, 5] -> F32 [64, 5]": types on the device, sizes of this run.
  std::string tensors;
  std::string reference_device;  ///< the device that computed it in the reference run
  CheckOutcome outcome = CheckOutcome::kCompared;
  std::string message;  ///< why it is not compared
  /// Weights that the device has in another type, each with its error: no part of `error`, as
  /// the CPU then computes with the same; or, of lossy forms (WeightCandidate::lossy), part of
  /// `threshold`.
  std::vector<TranscodedWeight> transcoded;
  /// Normalised mean square error against the other result: sum (a - b)^2 / sum b^2 over all
  /// elements; where b is zero all over, the sum of squares itself. Where both are the same
  /// infinity, or neither is a number, they are equal; if only one is, the error is infinite.
  /// Numbers too small for a normal F32 count as 0. Of integers: the share of the elements that
  /// differ. An operation that writes into memory is judged by all of that memory, and b is its
  /// change there.
  double error = 0;
  double threshold = 0;  ///< most that `error` may be
  Sizes worst_at = {};   ///< the element that is furthest off (in that memory, if it writes)
  double got = 0;        ///< its value on the device
  double expected = 0;   ///< its value in the reference run

  /// Whether `error` and the numbers behind it are valid.
  bool compared() const { return outcome == CheckOutcome::kCompared; }
  /// Whether something is wrong with the device.
  bool wrong() const {
    return outcome == CheckOutcome::kFailed || (compared() && !(error <= threshold));
  }
};

/// All operations of one kind.
struct OpCheck {
  std::string op;
  std::size_t compared = 0;
  std::size_t over = 0;  ///< of those compared, over the threshold
  std::size_t failed = 0;
  std::size_t unsupported = 0;
  double worst = 0;     ///< error of those compared
  double mean = 0;      ///< the same
  std::string message;  ///< the first reason why one is not compared
};

/// Where the threshold is not given: the coarsest of an operation's types, sources and result,
/// decides. A kernel may round its factors to the type in which it multiplies.
double default_threshold(DType dtype);

/// Options of verify().
struct VerifyOptions {
  /// Of every weight and cache of the graph. The content of the caches counts: zeros, or the
  /// results of the step before.
  std::span<const LeafMemory> memory = {};
  /// Fills the inputs of the plan and states its dynamic dimensions; may be empty if there are
  /// none.
  std::function<Status(Plan& plan)> fill = {};
  std::optional<double> threshold = {};  ///< for all operations
  /// The types that a weight may be transcoded to if the device lacks its own.
  Transcode transcode = Transcode::kPrecise;
  const std::atomic<bool>* cancel = nullptr;
  /// Called after each operation, with the number done and the total; may be empty.
  std::function<void(std::size_t done, std::size_t total)> progress = {};
};

/// Runs the graph as it is placed, and each computed node (no leaf, no view) again, alone, on
/// `device`. A weight whose type the device lacks comes to it in another one, as it does when a
/// model is loaded. A node that the device refuses, or fails at, has the reason in its check; the
/// others continue. The memory of caches is written as by any run. Takes one node's sources and
/// result on the device at a time, and on the host the values that later nodes still read. Checks
/// come in the order of the graph. An error is one of the reference run, or Cancelled.
Result<std::vector<NodeCheck>> verify(std::shared_ptr<const Graph> graph, Placement placement,
                                      Device& device, const VerifyOptions& options = {});

/// Numbers of those that were computed or failed, worst first: by how many times its threshold an
/// error is; a failed node is worse than any error.
std::vector<std::size_t> worst_first(std::span<const NodeCheck> checks);
/// A line for each op, worst first in the same sense.
std::vector<OpCheck> check_by_op(std::span<const NodeCheck> checks);

}  // namespace shunt
