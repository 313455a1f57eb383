#include <fmt/format.h>

#include "cli/report/bench_reports.h"
#include "cli/report/rates.h"
#include "cli/report/table.h"

namespace shunt::cli {

std::string to_text(const TrainBenchReport& report, const std::string& path,
                    const TrainBenchRequest& request, BenchFormat format) {
  const double reached = report.operations_per_second();
  const double possible = report.products_alone_per_second;
  if (format == BenchFormat::kJson) {
    return to_text({{"model", path},
                    {"parameters", report.parameters},
                    {"context", request.context},
                    {"rows", request.rows},
                    {"step_seconds", report.step_seconds},
                    {"tokens_per_second", report.tokens_per_second()},
                    {"operations_per_second", reached},
                    {"products_alone_per_second", possible},
                    {"share", reached / possible}});
  }
  Table table({{"parameters"},
               {"rows", false},
               {"step ms"},
               {"tokens/s"},
               {"Gop/s"},
               {"products alone"},
               {"share"}});
  table.add(
      {fmt::to_string(report.parameters), fmt::format("{} of {}", request.rows, request.context),
       fmt::format("{:.1f}", report.step_seconds * 1e3),
       fmt::format("{:.0f}", report.tokens_per_second()), fmt::format("{:.1f}", reached * 1e-9),
       fmt::format("{:.1f}", possible * 1e-9), format_share(reached / possible)});
  return format == BenchFormat::kMarkdown ? table.markdown() : table.plain();
}

}  // namespace shunt::cli
