// Interleaved memory of no device: any CPU device reads it.
#pragma once

#include "backends/cpu/weight_memory.h"

namespace shunt::cpu {

/// Two threads rearrange the data of writes and reads.
inline InterleavedMemory& interleaved_memory() {
  static InterleavedMemory type(host_memory(), [] {
    Options options;
    options.threads = 2;
    return share_cpu_threads(options).value();
  }());
  return type;
}

}  // namespace shunt::cpu
