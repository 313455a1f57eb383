// Pageable memory of the host, which may not be there.
#pragma once

#include <cstdint>
#include <span>

namespace cuda_twin {

/// Copies from or to an address of this process. False, where the system can tell, if not all of
/// it is mapped.
bool read_host(void* to, std::uint64_t from, std::uint64_t bytes);
/// Many small reads in few system calls.
struct HostPiece {
  void* to = nullptr;
  std::uint64_t from = 0;
  std::uint64_t bytes = 0;
};
bool gather_host(std::span<const HostPiece> pieces);
bool write_host(std::uint64_t to, const void* from, std::uint64_t bytes);
/// Whether all pages of the range are mapped, whatever their protection.
bool is_host_memory(std::uint64_t address, std::uint64_t bytes);
/// The access that all pages of the range allow. Where the system does not list the mappings,
/// kReadWrite for all that are there.
enum class HostAccess : std::uint8_t { kNone, kRead, kReadWrite };
HostAccess host_access(std::uint64_t address, std::uint64_t bytes);

}  // namespace cuda_twin
