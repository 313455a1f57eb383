// The reports of `shunt bench`: a table for a terminal, a table in Markdown, or JSON.
#pragma once

#include <cstdint>
#include <string>

#include "shunt/bench_model.h"
#include "shunt/bench_ops.h"
#include "shunt/bench_train.h"

namespace shunt::cli {

enum class BenchFormat : std::uint8_t { kPlain, kMarkdown, kJson };

/// `path`: of the model. `session`: the options that it was measured with.
std::string to_text(const ModelBenchReport& report, const std::string& path,
                    const SessionOptions& session, BenchFormat format);
std::string to_text(const OpsBenchReport& report, BenchFormat format);
/// `path`: of the model.
std::string to_text(const TrainBenchReport& report, const std::string& path,
                    const TrainBenchRequest& request, BenchFormat format);

}  // namespace shunt::cli
