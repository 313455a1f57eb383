// A module: the text that a program gave, checked for its device, and its variables in memory.
#pragma once

#include <string>

#include "cuda/driver/state.h"

namespace cuda_twin {

/// Memory, and the values of the module's variables. Text of an error goes to `log`.
CUresult place_variables(Context& context, const ptx::Module& parsed, Module& module,
                         std::string& log);
/// Frees the module's variables, and forgets its functions.
void unload(Module& module);

/// The newest PTX that a driver of this version reads: 13000 reads 9.0.
ptx::Version newest_ptx(int driver_version);

/// Copies a text that ends with 0 from the program. False if it is not readable or longer than
/// `most`.
bool read_text(const void* image, std::size_t most, std::string& text);

}  // namespace cuda_twin
