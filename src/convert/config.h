// config.json of a Hugging Face folder.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shunt/error.h"

namespace shunt {

/// The numbers of a model of text. Names are alternatives, separated by "|"; the first that is
/// there and not null counts. Dots separate levels of objects. Errors name file, member and what
/// was expected: NotFound for a missing one without `otherwise`, else BadFile.
class Config {
 public:
  static Result<Config> read(const std::string& path);
  /// Of a text. The part "text_config" comes first, if there is one.
  static Result<Config> parse(std::string_view text, const std::string& path);

  const std::string& path() const { return path_; }
  /// Null if none of the names is there.
  const nlohmann::json* find(std::string_view names) const;
  bool has(std::string_view names) const { return find(names) != nullptr; }

  /// From 0 to 2^30.
  Result<std::int64_t> count(std::string_view names,
                             std::optional<std::int64_t> otherwise = {}) const;
  /// Of the range of 32-bit floats.
  Result<double> number(std::string_view names, std::optional<double> otherwise = {}) const;
  Result<bool> flag(std::string_view names, std::optional<bool> otherwise = {}) const;
  Result<std::string> text(std::string_view names, std::optional<std::string> otherwise = {}) const;
  /// Finite numbers, `size` of them.
  Result<std::vector<float>> numbers(std::string_view names, std::size_t size) const;
  /// A text for each layer; none if the member is missing.
  Result<std::vector<std::string>> texts(std::string_view names, std::size_t size) const;

  /// The error for a member of another value than expected.
  Error wrong(std::string_view names, std::string_view expected) const;

 private:
  Config(nlohmann::json root, std::string path) : root_(std::move(root)), path_(std::move(path)) {}
  const nlohmann::json* find_one(std::string_view name) const;
  Error missing(std::string_view names) const;

  nlohmann::json root_;
  std::string path_;
};

}  // namespace shunt
