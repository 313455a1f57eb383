#include "oracle/case_file.h"

#include <fmt/ranges.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "oracle/params.h"
#include "support/shared.h"
#include "support/tensor_io.h"

namespace shunt::test {

namespace {

using nlohmann::json;

double number(const json& value) {
  if (value.is_number()) return value.get<double>();
  const auto name = value.get<std::string>();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (name == "inf") return kInfinity;
  if (name == "-inf") return -kInfinity;
  if (name == "nan") return std::numeric_limits<double>::quiet_NaN();
  throw std::runtime_error(name + " is no number");
}

/// A number that a type does not have would make the type's rounding part of the test.
void expect_exact(const RefTensor& values, const RefTensor& rounded, DType dtype) {
  const double most = dtype == DType::kF64 ? 0 : std::numeric_limits<float>::epsilon();
  for (std::size_t i = 0; i < values.data.size(); ++i) {
    const double from = values.data[i];
    const double to = rounded.data[i];
    // Decimals of an F32 are as many as it takes to mean that one.
    const bool same = std::isfinite(from) ? std::abs(from - to) <= most * std::abs(to)
                                          : from == to || std::isnan(from) == std::isnan(to);
    if (!same) {
      throw std::runtime_error(fmt::format("{} has no {}, but {}", trait(dtype).name, from, to));
    }
  }
}

OracleTensor read_one(const json& from) {
  OracleTensor tensor;
  const auto dtype = dtype_from_name(from.at("type").get<std::string>());
  if (!dtype) throw std::runtime_error(dtype.error().message());
  tensor.dtype = *dtype;
  Sizes sizes = {1, 1, 1, 1};
  const json& given = from.at("sizes");
  for (std::size_t i = 0; i < given.size(); ++i) sizes.at(i) = given[i].get<std::int64_t>();
  RefTensor values(sizes);
  if (values.data.size() != from.at("values").size()) {
    throw std::runtime_error(
        fmt::format("{} values are not [{}]", from.at("values").size(), fmt::join(sizes, ", ")));
  }
  for (std::size_t i = 0; i < values.data.size(); ++i) values.data[i] = number(from["values"][i]);
  tensor.values = rounded(values, tensor.dtype);
  expect_exact(values, tensor.values, tensor.dtype);
  return tensor;
}

OracleCase read_case(const json& from, std::size_t number_in_file) {
  OracleCase made;
  made.op = from.at("op").get<std::string>();
  made.name = fmt::format("{} #{} {} {}", made.op, number_in_file,
                          from.at("what").get<std::string>(), from.at("params").dump());
  made.params = params_of(made.op, from.at("params"));
  for (const json& source : from.at("sources")) {
    made.sources.push_back(source.is_null() ? std::nullopt : std::optional(read_one(source)));
  }
  made.result = read_one(from.at("result"));
  if (from.contains("written")) {
    for (const auto& [source, values] : from["written"].items()) {
      made.written[std::stoul(source)] = read_one(values);
    }
  }
  made.max_error = from.at("max_error").get<double>();
  return made;
}

std::vector<OracleCase> read_all() {
  std::vector<OracleCase> cases;
  for (const auto& file : std::filesystem::directory_iterator(SHUNT_TEST_ORACLE)) {
    const json content = json::parse(read_file(file.path().string()));
    for (std::size_t i = 0; i < content.size(); ++i) {
      try {
        cases.push_back(read_case(content[i], i));
      } catch (const std::exception& error) {
        throw std::runtime_error(
            fmt::format("{}, case {}: {}", file.path().string(), i, error.what()));
      }
    }
  }
  return cases;
}

}  // namespace

const std::vector<OracleCase>& oracle_cases() {
  static const std::vector<OracleCase> kCases = read_all();
  return kCases;
}

}  // namespace shunt::test
