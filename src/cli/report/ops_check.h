// The results of `shunt check-ops`, for people and for programs.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "shunt/check_ops.h"

namespace shunt::cli {

struct OpsCheck {
  std::string device;
  std::vector<OpCasesCheck> ops = {};

  std::size_t cases() const;
  std::size_t passed() const;
  std::size_t failed() const;
  std::size_t unsupported() const;
};

/// The table, which comes op by op as these are checked; `width` is that of the longest name. The
/// reason for unsupported cases ends an op's line. Several reasons are on lines below it, each with
/// its number of cases.
std::string table_head(std::size_t width);
std::string table_line(const OpCasesCheck& op, std::size_t width);
/// The text below the table: the first `top` cases that failed, and the counts.
std::string summary(const OpsCheck& found, std::size_t top);
std::string to_json(const OpsCheck& found);
/// One line: how many failed, and the first. There must be one.
std::string complaint(const OpsCheck& found);

}  // namespace shunt::cli
