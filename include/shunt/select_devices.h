/// \file
/// Selecting devices by the names that a user gave. The error for a missing device has the reasons
/// of the backends that stayed off.
///
/// \code
/// const std::vector<std::string> names = {"cuda0", "cpu0"};
/// SHUNT_ASSIGN(const std::vector<Device*> devices, select_with_cpu(*registry, names));
/// \endcode
#pragma once

#include <span>
#include <string>
#include <vector>

#include "shunt/registry.h"

namespace shunt {

/// "cpu is not available: NOTE; zdnn is not available: NOTE"; empty if none did.
std::string stayed_off(const Registry& registry);

/// As registry.select(names), but NotFound, with the notes of unavailable backends, if there is no
/// CPU at the end of the list: it computes all nodes that others can't. Without names, devices that
/// `pinned` names are selected as well: those that are used only if they are named.
Result<std::vector<Device*>> select_with_cpu(const Registry& registry,
                                             std::span<const std::string> names,
                                             std::span<const std::string> pinned = {});

/// The CPU of devices that select_with_cpu() returned.
Device& cpu_of_selected(std::span<Device* const> devices);

}  // namespace shunt
