// Settings of backends: the settings that a table of options allows, and the value of each option.
#pragma once

#include <chrono>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shunt/registry.h"

namespace shunt {

/// Invalid, with the words, if `text` is none of them: '"0" is not on or off'.
Status check_word(std::string_view text, std::initializer_list<std::string_view> words);

Status check_on_off(std::string_view text);

/// 0 unless the text is a whole number from 1 to `most`.
int parse_whole(std::string_view text, int most);
/// Invalid, with the bounds, unless it is.
Status check_whole(std::string_view text, int most);

/// Invalid unless the text is a number of seconds for a timeout: a whole one, at least 1.
Status check_timeout(std::string_view text);
/// Of a text that check_timeout() accepts.
std::chrono::milliseconds parse_timeout(std::string_view text);

/// Invalid, naming the row, if a name is malformed, reserved or there twice, if a row has no check,
/// or if the check refuses the default.
Status check_option_table(std::span<const BackendOption> table);

/// Invalid if an entry has no name or a malformed one, or no function that creates the backend, or
/// as check_option_table() for its options.
Status check_entry(const BackendEntry& entry);

/// A backend and its table, which is in order.
struct BackendOptions {
  std::string_view backend;
  std::span<const BackendOption> table;
};

/// Invalid if a setting is of no backend or option in the list, or has a value that is refused.
Status check_settings(const Options& options, std::span<const BackendOptions> backends);

/// The variable of the environment that sets an option: "SHUNT_CPU_LEVEL".
std::string variable_of(std::string_view backend, std::string_view option);

/// The value of each option of a backend. From the lowest rank to the highest: its default, the
/// environment, the setting of every backend, that of this one.
std::map<std::string, std::string> settings_of(const Options& options,
                                               const BackendOptions& backend);

}  // namespace shunt
