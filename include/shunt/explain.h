/// \file
/// Placements for users: explanations of a placed graph, operations that fell back and whether that
/// is acceptable, and placements as files that users can edit. Include it to show or to check the
/// decisions of place() (plan.h).
///
/// \code
/// const FallbackReport report = report_fallback(plan->graph(), plan->placement());
/// std::cout << report.fell_back << " of " << report.operations << " operations fell back\n";
/// std::cout << write_placement(plan->graph(), plan->placement());
/// \endcode
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shunt/plan.h"

namespace shunt {

// ---- explanations
// ---------------------------------------------------------------------------------

/// A time span in the predicted step: seconds from its start.
struct ExplainedTime {
  double start = 0;
  double end = 0;
};

/// An operation of a segment.
struct ExplainedNode {
  NodeId id = 0;
  std::string name;  ///< "blk.0.attention (attention)"
  std::string op;
  std::string reason;  ///< the rule, and the case: "weights: its weight ... is on cuda0"
  std::vector<RejectedCandidate> rejected;  ///< all devices that could have been better
  bool fell_back = false;                   ///< a device with memory of its own refused it
};

/// A tensor that is copied to another device. Bytes are at the dynamic dimensions' maximum.
struct ExplainedTransfer {
  NodeId node = 0;
  std::string name;
  int from = 0;
  int to = 0;
  std::uint64_t bytes = 0;
  bool merged = false;  ///< in one copy with the transfer before it
  /// Predicted. A value crosses once, so that of several transfers of it (of views) only the first
  /// has a time.
  std::optional<ExplainedTime> when;
};

/// A run of nodes on one device, with its operations. Bytes are at the dynamic dimensions' maximum.
struct ExplainedSegment {
  int device = 0;
  std::string reason;  ///< why it starts: the reason of its first operation
  std::vector<ExplainedNode> nodes;
  std::vector<ExplainedTransfer> transfers;  ///< made before it starts
  std::uint64_t bytes_in = 0;                ///< copied to it
  std::uint64_t bytes_out = 0;               ///< of its results, copied to other devices
  std::size_t fell_back = 0;                 ///< operations that a better device refused
  std::optional<double> seconds;             ///< predicted, without copies
  std::optional<ExplainedTime>
      when;  ///< predicted: its first operation's start, its last one's end
};

/// A device's part of a run. Bytes are at the dynamic dimensions' maximum.
struct ExplainedDevice {
  std::string name;
  std::size_t nodes = 0;       ///< with leaves and views
  std::size_t operations = 0;  ///< nodes that it computes
  std::size_t segments = 0;
  std::size_t fell_back = 0;  ///< operations that it computes because a better device refused
  std::uint64_t weight_bytes = 0;
  std::uint64_t cache_bytes = 0;
  std::uint64_t bytes_in = 0;     ///< copied to it in a step
  std::uint64_t bytes_out = 0;    ///< copied from it in a step
  std::optional<double> seconds;  ///< predicted, without copies
};

/// The error of converting a weight to another type: sums over its values.
struct TranscodeError {
  double squared_error = 0;
  double squares = 0;      ///< of the values themselves
  std::uint64_t lost = 0;  ///< values that the other type can't hold at all

  /// Adds the sums of another weight.
  void add(const TranscodeError& other);
  /// Normalised mean square error: 0 is none.
  double normalised() const;
};

/// A weight that a device has in another type than the file.
struct TranscodedWeight {
  NodeId node = 0;
  std::string name;
  std::string device;
  DType from = DType::kF32;
  DType to = DType::kF32;
  std::uint64_t bytes_before = 0;
  std::uint64_t bytes = 0;
  std::string reason;                   ///< the op that needs the weight in this type
  std::optional<TranscodeError> error;  ///< once it has been measured
};
/// The conversion of a weight of a graph, given in its type before or after.
TranscodedWeight describe_conversion(const Graph& graph, const Conversion& conversion,
                                     std::string device);
/// "blk.0.ffn_up.weight has 3 values that F16 can't hold". Its error must have been measured.
std::string lost_text(const TranscodedWeight& weight);
/// A line for each device, pair of types and reason. After loading: "test0: 12 weights came as Q8_0
/// instead of Q4_0: error 1.3e-06 (normalised mean square), 3.2 MiB more". Before: "test0: 12
/// weights come as Q8_0 instead of Q4_0 (test0 supports w of matmul only in this type), 3.2 MiB
/// more".
std::vector<std::string> to_lines(std::span<const TranscodedWeight> weights);

/// One run of a placed graph that is cut into segments. Devices are in the placement's order.
struct Explanation {
  std::vector<ExplainedDevice> devices;
  std::vector<ExplainedSegment> segments;
  std::vector<ExplainedTransfer> results;  ///< outputs that are brought to the host at the end
  std::size_t operations = 0;
  std::size_t fell_back = 0;
  std::uint64_t bytes_copied = 0;
  std::optional<double> seconds;   ///< predicted for all of it, copies included
  std::vector<std::string> notes;  ///< of the placement: pins that match nothing
  std::vector<TranscodedWeight> transcoded;
};

/// `segments` must be those of this graph and placement.
Explanation explain(const Graph& graph, const Placement& placement,
                    std::span<const Segment> segments);

// ---- fallback
// -------------------------------------------------------------------------------

/// Operations of one kind that a device refused for one reason, and that run elsewhere.
struct Fallback {
  std::string op;
  int refused_by = 0;
  int instead = 0;
  Refusal refusal = Refusal::kOp;
  std::string reason;
  std::string remedy;  ///< an option that would change it; may be empty
  std::vector<NodeId> nodes;
};

/// Operations that run elsewhere because a better device refused them. A device without memory of
/// its own (BLAS) helps the CPU: its refusals do not count. Nor do operations that a better device
/// could run, but whose data are elsewhere.
struct FallbackReport {
  std::vector<std::string> devices;  ///< names, as the placement counts them
  std::size_t operations = 0;        ///< of the graph
  std::size_t fell_back = 0;
  std::vector<Fallback> fallbacks;  ///< in the order of their first nodes
  double cpu_share = 0;             ///< share of fallbacks to the CPU, from 0 to 1
  bool share_of_time = false;       ///< whether that is of predicted time, or else of operations
  std::uint64_t bytes_copied =
      0;  ///< between devices in one run, at the dynamic dimensions' maximum
};

/// The operations of a placed graph that fell back. `placement` must be of `graph`.
FallbackReport report_fallback(const Graph& graph, const Placement& placement);
/// One line, without its end: the number of operations that fell back, their device, the first
/// reason and its remedy. Empty if none did.
std::string to_line(const FallbackReport& report);

/// The reaction to operations that fall back.
enum class FallbackMode : std::uint8_t {
  kAllow,  ///< no message
  kWarn,   ///< one line
  kDeny,   ///< it is an error
};

/// Whether it is acceptable that operations fall back. The limits hold in every mode.
struct FallbackPolicy {
  FallbackMode mode = FallbackMode::kWarn;
  std::optional<double> max_cpu_share = {};             ///< of FallbackReport::cpu_share
  std::optional<std::uint64_t> max_copy_bytes = {};     ///< of FallbackReport::bytes_copied
  std::function<void(std::string_view line)> log = {};  ///< gets the line; may be empty

  /// Operations that fall back are neither reported nor denied.
  bool accepts_all() const {
    return mode == FallbackMode::kAllow && !max_cpu_share && !max_copy_bytes;
  }
};

/// Reports the operations that fell back and the placement's notes. Unsupported, listing operations
/// and reasons, if the policy denies it.
Status apply_fallback_policy(const Graph& graph, const Placement& placement,
                             const FallbackPolicy& policy);

// ---- placements as files
// --------------------------------------------------------------------------

/// A line of such a file: the device of a node or leaf.
struct PlacementLine {
  std::size_t line = 0;  ///< its number in the file, from 1
  NodeId node = 0;
  std::string name;    ///< may be empty
  std::string op;      ///< of a leaf its role
  std::string device;  ///< "=" for a view: the device of its memory
};

/// A placement that a user wrote. It is checked when a graph is placed by it.
struct PlacementFile {
  std::string path;  ///< for messages
  std::vector<PlacementLine> lines;
};

/// A line for each node, `ID NAME OP DEVICE # REASON`, with `notes` in front of them as comments.
std::string write_placement(const Graph& graph, const Placement& placement,
                            std::span<const std::string> notes = {});
/// BadFile, with path and line, for text that is no placement file.
Result<PlacementFile> read_placement(std::string_view text, std::string path);
/// The placement that the file states, exactly. `devices`, `memory` and `transcode` as for place();
/// `costs` predict its times; null: no prediction. BadFile, with the line, if it is of another
/// graph, names a missing device, or asks a device for an operation that it can't do.
Result<Placement> place_by_file(const PlacementFile& file, const Graph& graph,
                                std::span<Device* const> devices,
                                std::span<const LeafMemory> memory = {},
                                const CostModel* costs = nullptr,
                                Transcode transcode = Transcode::kNone);

/// A node that two files place on different devices; empty where a file lacks it.
struct PlacementChange {
  NodeId node = 0;
  std::string name;
  std::string op;
  std::string before;
  std::string after;
};
/// By node. Nodes with another name or op are different nodes: one is gone, one is new.
std::vector<PlacementChange> compare_placements(const PlacementFile& before,
                                                const PlacementFile& after);
/// "12  blk.0.ffn_up  matmul  cuda0 -> cpu0": words as in a placement file, "(not there)" for a
/// node that one file lacks.
std::string to_line(const PlacementChange& change);

}  // namespace shunt
