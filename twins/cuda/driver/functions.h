// All exported functions, by number: names, versions, and how often each was called.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/include/cuda_twin/driver.h"

namespace cuda_twin {

struct ExportedFunction {
  const char* name;    ///< "cuMemAlloc", for cuGetProcAddress
  const char* symbol;  ///< "cuMemAlloc_v2"
  int first_driver;    ///< 3020: the first version that has this form
  void* address;
};

inline constexpr std::size_t kNoFunction = ~std::size_t{0};

std::size_t count_functions();
/// By symbol: the place in symbols.txt, from 0.
std::size_t function_index(const char* symbol);
/// The first version of the driver that has the function; 0 for kNoFunction.
int first_driver_of(std::size_t function);
void count_call(std::size_t function);
std::uint64_t calls_of(const char* symbol);
void reset_call_counts();

/// The newest form of `name` for a driver of `version`; null if there is none. `known` is whether
/// any version has it.
const ExportedFunction* function_named(const char* name, int version, bool& known);

}  // namespace cuda_twin
