#include "cli/flags/placement_flags.h"

#include "cli/flags/number_list.h"
#include "cli/flags/parse_units.h"
#include "cli/flags/placement_files.h"
#include "shunt/message.h"

namespace shunt::cli {
namespace {

Status read_transcode(const std::string& text, Transcode& transcode) {
  for (const Transcode each : {Transcode::kNone, Transcode::kPrecise, Transcode::kLossy}) {
    if (to_string(each) != text) continue;
    transcode = each;
    return ok();
  }
  return invalid("\"{}\" is not never, precise or lossy", text);
}

Status read_split(const std::string& text, SplitMode& mode) {
  for (const SplitMode each : {SplitMode::kLayers, SplitMode::kRows}) {
    if (to_string(each) != text) continue;
    mode = each;
    return ok();
  }
  return invalid("\"{}\" is not layers or rows", text);
}

Status read_weights(const std::string& text, WeightMode& mode) {
  for (const WeightMode each : {WeightMode::kAuto, WeightMode::kMapped, WeightMode::kCopied}) {
    if (to_string(each) != text) continue;
    mode = each;
    return ok();
  }
  return invalid("\"{}\" is not auto, mapped or copied", text);
}

/// Declares --split and --shares.
void declare_split(Arguments& arguments, SplitOptions& split) {
  arguments.value(
      "--split", "MODE",
      "Split the model among devices by layers or by rows. rows is tensor parallelism: "
      "each device gets a part of every matrix and some attention heads (default layers)",
      [&](const std::string& text) { return read_split(text, split.mode); });
  arguments.value(
      "--shares", "LIST",
      "Set the share of each device for --split rows, such as 3,1. The order is that of "
      "--devices, cpu0 last (default: equal shares for all devices but the CPU)",
      [&](const std::string& text) -> Status {
        SHUNT_ASSIGN(split.shares, parse_number_list(text, 1, SplitOptions::kMostShare));
        return ok();
      });
}

constexpr std::int64_t kMostRows = std::int64_t{1} << 40;

}  // namespace

void declare_transcode(Arguments& arguments, Transcode& transcode) {
  arguments.value(
      "--transcode", "MODE",
      "Convert weights whose type a device lacks: never, precise (only to a type that is "
      "at least as precise) or lossy (default precise)",
      [&](const std::string& text) { return read_transcode(text, transcode); });
}

void declare_weights(Arguments& arguments, WeightMode& mode) {
  arguments.value(
      "--weights", "MODE",
      "Keep the CPU's weights in the mapped file (mapped), or copy them to memory "
      "(copied; faster). auto copies them if the CPU is the only device and half of the "
      "available memory suffices (default auto)",
      [&](const std::string& text) { return read_weights(text, mode); });
}

void PlacementFlags::declare(Arguments& arguments) {
  arguments.each(
      "--place", "PATTERN=DEVICE",
      "Pin every node whose whole name matches the regular expression PATTERN to DEVICE, "
      "such as 'blk.[0-9].*=cuda0'. The first match wins. Repeatable",
      [this](const std::string& text) -> Status {
        const std::size_t equals = text.rfind('=');
        if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
          return invalid("\"{}\" is not PATTERN=DEVICE", text);
        }
        SHUNT_TRY(check_pattern(text.substr(0, equals)));
        policy_.pins.push_back({text.substr(0, equals), text.substr(equals + 1)});
        return ok();
      });
  declare_split(arguments, split_);
  arguments.input(
      "--costs",
      "Predict run times from this file of shunt bench costs. Without it Shunt measures "
      "the devices once if it needs times (see --set cpu.calibrate)",
      costs_);
  declare_transcode(arguments, policy_.transcode);
  declare_weights(arguments, weights_);
  arguments.value(
      "--memory-margin", "SIZE",
      "Keep this much memory free on each device but the CPU, such as 512MiB (default 5% "
      "of its free memory, at least 64MiB, at most a quarter)",
      [this](const std::string& text) -> Status {
        SHUNT_ASSIGN(memory_margin_, parse_bytes(text));
        return ok();
      });
  arguments.number<std::int64_t>("--stream-rows",
                                 "Stream weights from host memory to a device for ops with at "
                                 "least N result rows (tokens); 0: never (default " +
                                     std::to_string(PlacementPolicy{}.stream_rows) + ")",
                                 stream_rows_, 0, kMostRows);
  arguments.flag("--rules-only", policy_.rules_only, "Place nodes by rules alone, not by costs");
  arguments.input(
      "--placement",
      "Follow this placement file of shunt place exactly. Excludes --place, --rules-only "
      "and --stream-rows",
      placement_);
}

Status PlacementFlags::check() const {
  if (split_.mode != SplitMode::kRows && !split_.shares.empty()) {
    return invalid("--shares needs --split rows");
  }
  if (!placement_) return ok();
  const std::pair<const char*, bool> deciders[] = {
      {"--place", !policy_.pins.empty()},
      {"--rules-only", policy_.rules_only},
      {"--stream-rows", stream_rows_.has_value()},
  };
  for (const auto& [flag, given] : deciders) {
    if (given) {
      return invalid("--placement and {} exclude each other: the file sets every device", flag);
    }
  }
  return ok();
}

Status PlacementFlags::apply(LoadOptions& options) const {
  options.placement = policy_;
  if (stream_rows_) options.placement.stream_rows = *stream_rows_;
  if (placement_) {
    SHUNT_ASSIGN(options.placement.file, load_placement(*placement_));
  }
  if (costs_) {
    SHUNT_ASSIGN(CostModel costs, CostModel::load(*costs_));
    options.placement.costs = std::make_shared<const CostModel>(std::move(costs));
  }
  options.split = split_;
  options.weights = weights_;
  options.memory_margin = memory_margin_;
  return ok();
}

}  // namespace shunt::cli
