/// \file
/// The version of the library. Include it to report the version in messages.
#pragma once

namespace shunt {

/// "MAJOR.MINOR.PATCH" of the library that is loaded.
const char* version();

}  // namespace shunt
