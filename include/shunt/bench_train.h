/// \file
/// Measuring training steps of a model, beside the rate of their matrix products alone.
///
/// \code
/// SHUNT_ASSIGN(const TrainBenchReport report, bench_train("small.gguf", {.rows = 16}, cpu));
/// std::cout << report.tokens_per_second() << " tokens/s\n";
/// \endcode
#pragma once

#include <cstdint>
#include <string>

#include "shunt/device.h"

namespace shunt {

struct TrainBenchRequest {
  std::int64_t context = 256;  ///< tokens of a row
  std::int64_t rows = 16;      ///< rows of a step
  int runs = 5;                ///< timed runs, after one warm-up
};

/// Invalid for a context or a number of rows that training can't have, and for less than one run.
Status check_train_bench(const TrainBenchRequest& request);

struct TrainBenchReport {
  std::uint64_t parameters = 0;
  std::int64_t tokens = 0;               ///< of a step
  double step_seconds = 0;               ///< the median
  double operations = 0;                 ///< of the products of a step, forward and backward
  double products_alone_per_second = 0;  ///< operations a second of products of the same shapes

  double operations_per_second() const { return operations / step_seconds; }
  double tokens_per_second() const { return static_cast<double>(tokens) / step_seconds; }
};

/// Trains the model on random tokens. The file stays as it is. Nothing else should run meanwhile.
/// The errors of Trainer::create() and of the CPU.
Result<TrainBenchReport> bench_train(const std::string& path, const TrainBenchRequest& request,
                                     Device& cpu);

}  // namespace shunt
