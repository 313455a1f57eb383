#include "cli/report/written_model.h"

#include <fmt/format.h>

namespace shunt::cli {

std::string name_of_files(const QuantizeResult& result) {
  const std::size_t parts = result.files.size();
  return result.files.front() + (parts == 1 ? "" : fmt::format(" ({} parts)", parts));
}

Json written_model_json(const QuantizeResult& result) {
  Json types = Json::array();
  for (const TypeSummary& type : result.types) {
    types.push_back({{"type", to_string(type.dtype)},
                     {"tensors", type.tensors},
                     {"bytes", type.bytes},
                     {"error", type.error()}});
  }
  return {{"file", result.files.front()},
          {"files", result.files},
          {"bytes_before", result.bytes_before},
          {"bytes_after", result.bytes_after},
          {"types", types}};
}

}  // namespace shunt::cli
