// The measurements of `shunt bench`, each in a file of its own. Nothing else should run meanwhile.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/model_flags.h"
#include "cli/output.h"
#include "shunt/costs.h"
#include "shunt/device.h"

namespace shunt::cli {

enum class BenchFormat : std::uint8_t { kPlain, kMarkdown, kJson };

/// The peaks of each device that can measure them, for one thread up to all that it computes with.
/// `seconds`: of each peak and number of threads.
Status bench_machine(std::span<Device* const> devices, double seconds, BenchFormat format,
                     Output& output);

struct CostsBenchRequest {
  MeasureOptions measure;
  std::optional<std::string> path;  ///< where the measurements are written as JSON
};
/// The time of ops and copies, for placement by costs.
Status bench_costs(std::span<Device* const> devices, const CostsBenchRequest& request,
                   Output& output);

struct ModelBenchRequest {
  std::vector<std::int64_t> prompts = {512};
  std::vector<std::int64_t> generated = {64};
  std::vector<std::int64_t> depths = {0};
  std::vector<std::int64_t> sequences = {1};  ///< that do the same at once
  int runs = 5;
};
/// Whether the context (0: as large as the tests need) has room for each test; wrong usage if not.
Status check_model_bench(const ModelBenchRequest& request, std::int64_t context);
/// Tokens a second of a model. A context of 0 in the flags is as large as the tests need.
Status bench_model(const ModelFlags& flags, const ModelBenchRequest& request, BenchFormat format,
                   Output& output);

struct OpsBenchRequest {
  std::vector<DType> types;           ///< of weights
  std::vector<std::string_view> ops;  ///< of bench_op_names(); none: all
  std::int64_t width = 2048;          ///< of the smaller weights
  double seconds = 0.2;               ///< that each case is measured, about
};
/// Ops that can be measured, sorted.
std::vector<std::string_view> bench_op_names();
/// Invalid for a width that is none, or of which a type does not have whole blocks.
Status check_ops_bench(const OpsBenchRequest& request);
/// Each op in shapes of language models. `devices`: the one to measure, and the CPU behind it if it
/// is none.
Status bench_ops(std::span<Device* const> devices, const OpsBenchRequest& request,
                 BenchFormat format, Output& output);

struct TrainBenchRequest {
  std::int64_t context = 256;
  std::int64_t rows = 16;
  int runs = 5;
};
/// Invalid for a context or a number of rows that training can't have.
Status check_train_bench(const TrainBenchRequest& request);
/// Steps of training of a model, beside the rate of the products of their shapes alone.
Status bench_train(const std::string& path, const TrainBenchRequest& request, Device& cpu,
                   BenchFormat format, Output& output);

}  // namespace shunt::cli
