#pragma once

namespace shunt {

/// "MAJOR.MINOR.PATCH" of the library that is loaded.
const char* version();

}  // namespace shunt
