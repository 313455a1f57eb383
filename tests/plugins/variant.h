// One source of plugins makes several plugins, each compiled once. The variants have names.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "shunt/registry.h"

namespace shunt::test {

/// The name of this plugin's variant; variant.cpp defines it for each plugin.
[[gnu::visibility("hidden")]] extern const char* const plugin_variant;

/// The result of the plugin's entry point. Each source of plugins defines it.
[[gnu::visibility("hidden")]] const BackendEntry* plugin_entry();

/// The row of a table of variants whose `name` is this plugin's. Throws if there is none.
template <typename Table>
const typename Table::value_type& find_variant(const Table& table) {
  for (const auto& row : table) {
    if (row.name == std::string_view(plugin_variant)) return row;
  }
  throw std::logic_error(std::string("no variant of the plugin is called ") + plugin_variant);
}

}  // namespace shunt::test
