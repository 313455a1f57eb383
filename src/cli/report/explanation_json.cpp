#include "cli/report/explanation.h"
#include "cli/report/json.h"

namespace shunt::cli {
namespace {

Json seconds_json(const std::optional<double>& seconds) {
  return seconds ? Json(*seconds) : Json();
}

Json when_json(const std::optional<ExplainedTime>& when) {
  return when ? Json({{"start", when->start}, {"end", when->end}}) : Json();
}

Json transfers_json(const Explanation& explanation, std::span<const ExplainedTransfer> transfers) {
  Json json = Json::array();
  for (const ExplainedTransfer& transfer : transfers) {
    json.push_back({{"node", transfer.node},
                    {"name", transfer.name},
                    {"from", device_name(explanation, transfer.from)},
                    {"to", device_name(explanation, transfer.to)},
                    {"bytes", transfer.bytes},
                    {"merged", transfer.merged},
                    {"when", when_json(transfer.when)}});
  }
  return json;
}

Json node_json(const Explanation& explanation, const ExplainedNode& node) {
  Json rejected = Json::array();
  for (const RejectedCandidate& passed : node.rejected) {
    rejected.push_back({{"device", device_name(explanation, passed.device)},
                        {"refusal", to_string(passed.refusal)},
                        {"reason", passed.reason}});
  }
  return {
      {"node", node.id},       {"name", node.name},           {"op", node.op},
      {"reason", node.reason}, {"fell_back", node.fell_back}, {"rejected", std::move(rejected)}};
}

Json segment_json(const Explanation& explanation, const ExplainedSegment& segment) {
  Json nodes = Json::array();
  for (const ExplainedNode& node : segment.nodes) nodes.push_back(node_json(explanation, node));
  return {{"device", device_name(explanation, segment.device)},
          {"reason", segment.reason},
          {"fell_back", segment.fell_back},
          {"bytes_in", segment.bytes_in},
          {"bytes_out", segment.bytes_out},
          {"seconds", seconds_json(segment.seconds)},
          {"when", when_json(segment.when)},
          {"transfers", transfers_json(explanation, segment.transfers)},
          {"nodes", std::move(nodes)}};
}

Json explained_weight_json(const TranscodedWeight& weight) {
  return {{"node", weight.node},        {"name", weight.name},
          {"device", weight.device},    {"from", to_string(weight.from)},
          {"to", to_string(weight.to)}, {"bytes_before", weight.bytes_before},
          {"bytes", weight.bytes},      {"reason", weight.reason}};
}

Json device_json(const ExplainedDevice& device) {
  return {{"name", device.name},
          {"nodes", device.nodes},
          {"operations", device.operations},
          {"segments", device.segments},
          {"fell_back", device.fell_back},
          {"weight_bytes", device.weight_bytes},
          {"cache_bytes", device.cache_bytes},
          {"bytes_in", device.bytes_in},
          {"bytes_out", device.bytes_out},
          {"seconds", seconds_json(device.seconds)}};
}

}  // namespace

std::string to_json(const ExplanationTitle& title, const Explanation& explanation) {
  Json json;
  json["model"] = title.model;
  json["tokens"] = title.tokens;
  json["context"] = title.context;
  json["measured"] = title.measured;
  json["times"] = title.times;
  json["operations"] = explanation.operations;
  json["fell_back"] = explanation.fell_back;
  json["bytes_copied"] = explanation.bytes_copied;
  json["devices"] = Json::array();
  for (const ExplainedDevice& device : explanation.devices) {
    json["devices"].push_back(device_json(device));
  }
  json["seconds"] = seconds_json(explanation.seconds);
  json["notes"] = explanation.notes;
  json["memory"] = title.memory;
  json["transcoded"] = Json::array();
  for (const TranscodedWeight& weight : explanation.transcoded) {
    json["transcoded"].push_back(explained_weight_json(weight));
  }
  json["segments"] = Json::array();
  for (const ExplainedSegment& segment : explanation.segments) {
    json["segments"].push_back(segment_json(explanation, segment));
  }
  json["results"] = transfers_json(explanation, explanation.results);
  return to_text(json);
}

}  // namespace shunt::cli
