// Saved sequences: any bytes are read or refused. A header that was read is written the same.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "engine/session/saved_sequence.h"
#include "tensor/byte_order.h"

namespace {

using namespace shunt;

/// Ends the run as a finding if a required condition does not hold.
void require(bool condition) {
  if (!condition) std::abort();
}

void store(std::vector<std::byte>& bytes, std::size_t at, std::uint64_t value) {
  if (at <= bytes.size() && bytes.size() - at >= sizeof value)
    store_little(value, bytes.data() + at);
}

/// Makes sizes and checksums right, so that changes of other bytes are read.
void mend(std::vector<std::byte>& bytes) {
  constexpr std::size_t kStart = 28;
  constexpr std::size_t kChecksum = 8;
  if (bytes.size() < kStart + 2 * kChecksum) return;
  store(bytes, 20, bytes.size());
  const auto header = load_little<std::uint64_t>(bytes.data() + 12);
  if (header < kStart + kChecksum || header > bytes.size() - kChecksum) return;
  const std::span<const std::byte> all = bytes;
  const auto start = static_cast<std::size_t>(header);
  store(bytes, start - kChecksum, xxh64(all.first(start - kChecksum)));
  store(bytes, bytes.size() - kChecksum,
        xxh64(all.subspan(start, bytes.size() - kChecksum - start)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto input = std::as_bytes(std::span(data, size)).subspan(1);
  std::vector<std::byte> bytes(input.begin(), input.end());
  if (data[0] % 2 == 1) mend(bytes);
  const SavedBytes file = {
      bytes.size(), [&](std::uint64_t offset, std::span<std::byte> to) -> Status {
        require(offset <= bytes.size() && to.size() <= bytes.size() - offset);
        std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset), to.size(), to.begin());
        return ok();
      }};
  const auto header = read_header(file);
  if (!header) return 0;
  const std::vector<std::byte> again = write_header(header->sequence);
  require(again.size() == header->data);
  require(std::equal(again.begin(), again.end(), bytes.begin()));
  (void)check_data(file, *header);
  return 0;
}
