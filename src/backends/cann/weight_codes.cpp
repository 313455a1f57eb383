#include "backends/cann/weight_codes.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <vector>

namespace shunt::cann {

namespace {

constexpr std::size_t kCodedElements = 32;
constexpr std::size_t kCodeScaleBytes = 2;
/// Blocks that are rearranged before they are copied.
constexpr std::size_t kCodedAtOnce = std::size_t{1} << 16;

void copy_bytes(const std::byte* from, std::byte* to) {
  std::memcpy(to, from, kCodedElements);
}

// Q4_0: byte j of a block has element j in its low half and element j + 16 in its high half, each
// 8 above its number. In two's complement that is the number with its upper bit inverted.
constexpr std::size_t kHalfCodes = kCodedElements / 2;
constexpr std::byte kUpperBits{0x88};
constexpr std::byte kLowBits{0x0F};

void split_q4_0(const std::byte* block, std::byte* codes) {
  for (std::size_t i = 0; i < kHalfCodes; i += 2) {
    codes[i / 2] = ((block[i] & kLowBits) | (block[i + 1] << 4)) ^ kUpperBits;
    codes[(kHalfCodes + i) / 2] = ((block[i] >> 4) | (block[i + 1] & ~kLowBits)) ^ kUpperBits;
  }
}

void join_q4_0(const std::byte* codes, std::byte* block) {
  for (std::size_t i = 0; i < kHalfCodes; i += 2) {
    const std::byte low = codes[i / 2] ^ kUpperBits;
    const std::byte high = codes[(kHalfCodes + i) / 2] ^ kUpperBits;
    block[i] = (low & kLowBits) | (high << 4);
    block[i + 1] = (low >> 4) | (high & ~kLowBits);
  }
}

constexpr std::array kCodeFormats = {
    CodeFormat{DType::kQ8_0, DataType::kInt8, kCodedElements, copy_bytes, copy_bytes},
    CodeFormat{DType::kQ4_0, DataType::kInt4, kHalfCodes, split_q4_0, join_q4_0}};

/// Written and read in any range. Blocks of which a part is written are read first.
class RearrangedWeight final : public PackedTensor {
 public:
  RearrangedWeight(const CodeFormat& format, std::size_t blocks, Buffer& memory,
                   std::size_t codes_at, std::size_t scales_at)
      : format_(format),
        block_bytes_(kCodeScaleBytes + format.code_bytes),
        blocks_(blocks),
        memory_(memory),
        codes_at_(codes_at),
        scales_at_(scales_at) {}
  std::size_t plain_bytes() const override { return blocks_ * block_bytes_; }

  Status write(std::size_t offset, std::span<const std::byte> from) override {
    const std::lock_guard lock(mutex_);
    return each_part(
        offset, from.size(),
        [&](std::size_t block, std::size_t at, std::size_t first, std::size_t bytes) -> Status {
          std::vector<std::byte> plain(block_bytes_);
          SHUNT_TRY(read_blocks(block, plain));
          std::ranges::copy(from.subspan(first, bytes),
                            plain.begin() + static_cast<std::ptrdiff_t>(at));
          return write_blocks(block, plain);
        },
        [&](std::size_t block, std::size_t first, std::size_t bytes) {
          return write_blocks(block, from.subspan(first, bytes));
        });
  }

  Status read(std::size_t offset, std::span<std::byte> to) override {
    const std::lock_guard lock(mutex_);
    return each_part(
        offset, to.size(),
        [&](std::size_t block, std::size_t at, std::size_t first, std::size_t bytes) -> Status {
          std::vector<std::byte> plain(block_bytes_);
          SHUNT_TRY(read_blocks(block, plain));
          std::memcpy(to.data() + first, plain.data() + at, bytes);
          return ok();
        },
        [&](std::size_t block, std::size_t first, std::size_t bytes) {
          return read_blocks(block, to.subspan(first, bytes));
        });
  }

 private:
  /// For a range of plain bytes. Calls piece(block, at, first, bytes) for bytes from `at` on of a
  /// block, which are those from `first` on of the range; whole(block, first, bytes) for blocks.
  template <class Piece, class Whole>
  Status each_part(std::size_t offset, std::size_t bytes, const Piece& piece,
                   const Whole& whole) const {
    std::size_t at = offset;
    const std::size_t end = offset + bytes;
    while (at < end) {
      const std::size_t block = at / block_bytes_;
      const std::size_t in_block = at % block_bytes_;
      const std::size_t blocks = in_block != 0 ? 0 : (end - at) / block_bytes_;
      const std::size_t taken = blocks > 0 ? std::min(blocks, kCodedAtOnce) * block_bytes_
                                           : std::min(end - at, block_bytes_ - in_block);
      SHUNT_TRY(blocks > 0 ? whole(block, at - offset, taken)
                           : piece(block, in_block, at - offset, taken));
      at += taken;
    }
    return ok();
  }

  Status write_blocks(std::size_t first, std::span<const std::byte> plain) {
    const std::size_t count = plain.size() / block_bytes_;
    std::vector<std::byte> codes(count * format_.code_bytes);
    std::vector<std::byte> scales(count * kCodeScaleBytes);
    for (std::size_t i = 0; i < count; ++i) {
      const std::byte* const block = plain.data() + i * block_bytes_;
      std::memcpy(scales.data() + i * kCodeScaleBytes, block, kCodeScaleBytes);
      format_.split(block + kCodeScaleBytes, codes.data() + i * format_.code_bytes);
    }
    SHUNT_TRY(memory_.write(codes_at_ + first * format_.code_bytes, codes));
    return memory_.write(scales_at_ + first * kCodeScaleBytes, scales);
  }

  Status read_blocks(std::size_t first, std::span<std::byte> plain) {
    const std::size_t count = plain.size() / block_bytes_;
    std::vector<std::byte> codes(count * format_.code_bytes);
    std::vector<std::byte> scales(count * kCodeScaleBytes);
    SHUNT_TRY(memory_.read(codes_at_ + first * format_.code_bytes, codes));
    SHUNT_TRY(memory_.read(scales_at_ + first * kCodeScaleBytes, scales));
    for (std::size_t i = 0; i < count; ++i) {
      std::byte* const block = plain.data() + i * block_bytes_;
      std::memcpy(block, scales.data() + i * kCodeScaleBytes, kCodeScaleBytes);
      format_.join(codes.data() + i * format_.code_bytes, block + kCodeScaleBytes);
    }
    return ok();
  }

  const CodeFormat& format_;
  const std::size_t block_bytes_;
  const std::size_t blocks_;
  Buffer& memory_;
  const std::size_t codes_at_;
  const std::size_t scales_at_;
  std::mutex mutex_;
};

}  // namespace

const CodeFormat* find_code_format(DType type) {
  const auto* const found = std::ranges::find(kCodeFormats, type, &CodeFormat::type);
  return found == kCodeFormats.end() ? nullptr : found;
}

std::unique_ptr<PackedTensor> make_rearranged(const CodeFormat& format, std::size_t blocks,
                                              Buffer& memory, std::size_t codes_at,
                                              std::size_t scales_at) {
  return std::make_unique<RearrangedWeight>(format, blocks, memory, codes_at, scales_at);
}

}  // namespace shunt::cann
