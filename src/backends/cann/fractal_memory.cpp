#include "backends/cann/fractal_memory.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "backends/cann/calls.h"

namespace shunt::cann {

namespace {

constexpr std::string_view kFractalNote = "FRACTAL_NZ";

/// Rows and columns of a fractal.
constexpr std::size_t kSide = 16;
constexpr std::size_t kElementBytes = 2;
/// 16 elements of a row, which are together in a fractal.
constexpr std::size_t kPartBytes = kSide * kElementBytes;
constexpr std::size_t kFractalBytes = kSide * kPartBytes;
/// Bytes of plain rows that are rearranged before they are copied.
constexpr std::size_t kBytesAtOnce = std::size_t{8} << 20;

/// Sides in fractals.
struct Fractals {
  std::size_t across, down;
  std::size_t bytes() const { return across * down * kFractalBytes; }
};
Fractals fractals_of(const Tensor& tensor) {
  const auto count = [&](int dim) { return static_cast<std::size_t>(tensor.size(dim)) / kSide; };
  return {count(0), count(1)};
}

/// Written and read in any range. A group is 16 rows; one of which a part is written is read first.
class FractalWeight final : public PackedTensor {
 public:
  FractalWeight(const Tensor& tensor, Buffer& memory, std::size_t at)
      : row_bytes_(static_cast<std::size_t>(tensor.size(0)) * kElementBytes),
        group_bytes_(kSide * row_bytes_),
        plain_bytes_(static_cast<std::size_t>(byte_span(tensor))),
        fractals_(fractals_of(tensor)),
        memory_(memory),
        at_(at) {}
  std::size_t plain_bytes() const override { return plain_bytes_; }

  Status write(std::size_t offset, std::span<const std::byte> from) override {
    const std::lock_guard lock(mutex_);
    return each_part(offset, from.size(), [&](const Part& part) -> Status {
      const std::span<const std::byte> given = from.subspan(part.first - offset, part.bytes);
      if (part.is_whole()) return write_groups(part, given);
      std::vector<std::byte> plain(part.plain_bytes);
      SHUNT_TRY(read_groups(part, plain));
      std::memcpy(plain.data() + (part.first - part.begin), given.data(), given.size());
      return write_groups(part, plain);
    });
  }

  Status read(std::size_t offset, std::span<std::byte> to) override {
    const std::lock_guard lock(mutex_);
    return each_part(offset, to.size(), [&](const Part& part) -> Status {
      std::vector<std::byte> plain(part.plain_bytes);
      SHUNT_TRY(read_groups(part, plain));
      std::memcpy(to.data() + (part.first - offset), plain.data() + (part.first - part.begin),
                  part.bytes);
      return ok();
    });
  }

 private:
  /// Groups that a range of plain bytes reaches into.
  struct Part {
    std::size_t group = 0, count = 1;
    std::size_t begin = 0, plain_bytes = 0;  ///< of the groups
    std::size_t first = 0, bytes = 0;        ///< of the range in them
    bool is_whole() const { return bytes == plain_bytes; }
  };

  /// As many whole groups at once as kBytesAtOnce allows, and each other one by itself.
  template <class Use>
  Status each_part(std::size_t offset, std::size_t bytes, const Use& use) const {
    const std::size_t most = std::max<std::size_t>(kBytesAtOnce / group_bytes_, 1);
    const std::size_t end = offset + bytes;
    for (std::size_t at = offset; at < end;) {
      Part part;
      part.first = at;
      part.group = at / group_bytes_;
      part.begin = part.group * group_bytes_;
      const std::size_t last = end / group_bytes_;
      if (at == part.begin && last > part.group) part.count = std::min(last - part.group, most);
      part.plain_bytes = part.count * group_bytes_;
      part.bytes = std::min(end, part.begin + part.plain_bytes) - at;
      SHUNT_TRY(use(part));
      at += part.bytes;
    }
    return ok();
  }

  /// Calls copy(plain, packed) for the places of the 16 elements of each row of the part that are
  /// in column `across` of fractals; `packed` counts from the part's first fractal there.
  template <class Copy>
  void each_row(const Part& part, std::size_t across, const Copy& copy) const {
    for (std::size_t row = 0; row < part.count * kSide; ++row)
      copy(row * row_bytes_ + across * kPartBytes, row * kPartBytes);
  }
  std::size_t place_of(const Part& part, std::size_t across) const {
    return at_ + (across * fractals_.down + part.group) * kFractalBytes;
  }

  Status write_groups(const Part& part, std::span<const std::byte> plain) {
    std::vector<std::byte> packed(part.count * kFractalBytes);
    for (std::size_t across = 0; across < fractals_.across; ++across) {
      each_row(part, across, [&](std::size_t from, std::size_t to) {
        std::memcpy(packed.data() + to, plain.data() + from, kPartBytes);
      });
      SHUNT_TRY(memory_.write(place_of(part, across), packed));
    }
    return ok();
  }

  Status read_groups(const Part& part, std::span<std::byte> plain) {
    std::vector<std::byte> packed(part.count * kFractalBytes);
    for (std::size_t across = 0; across < fractals_.across; ++across) {
      SHUNT_TRY(memory_.read(place_of(part, across), packed));
      each_row(part, across, [&](std::size_t to, std::size_t from) {
        std::memcpy(plain.data() + to, packed.data() + from, kPartBytes);
      });
    }
    return ok();
  }

  const std::size_t row_bytes_;
  const std::size_t group_bytes_;
  const std::size_t plain_bytes_;
  const Fractals fractals_;
  Buffer& memory_;
  const std::size_t at_;
  std::mutex mutex_;
};

const FractalMemory* as_fractal_memory(const BufferType* type) {
  return dynamic_cast<const FractalMemory*>(type);
}

}  // namespace

FractalMemory::FractalMemory(std::string name, BufferType& memory, bool used)
    : PackedInMemory(std::move(name),
                     {Layout{}, {LayoutKind::kPacked, true, std::string(kFractalNote)}}, memory),
      used_(used) {}

bool FractalMemory::packs(const Tensor& tensor) const {
  // The vendor's documentation does not cover matrices that have to be padded.
  const auto has_fractals = [&](int dim) {
    return tensor.size(dim) > 0 && tensor.size(dim) % static_cast<std::int64_t>(kSide) == 0;
  };
  return used_ && tensor.dtype == DType::kF16 && is_contiguous(tensor) &&
         std::ranges::all_of(tensor.shape, &Dim::is_fixed) && has_fractals(0) && has_fractals(1) &&
         tensor.size(2) == 1 && tensor.size(3) == 1;
}

std::size_t FractalMemory::packed_bytes(const Tensor& tensor) const {
  return padded(fractals_of(tensor).bytes());
}

std::unique_ptr<PackedTensor> FractalMemory::place(const Tensor& tensor, Buffer& bytes,
                                                   std::size_t offset) const {
  return std::make_unique<FractalWeight>(tensor, bytes, offset);
}

std::vector<WeightCandidate> fractal_forms(FractalMemory& memory, const Graph& graph, NodeId leaf) {
  // Plain ones are read, written as FRACTAL_NZ, and read again.
  constexpr double kCost = 1.0 / 3;
  if (!memory.packs(graph.node(leaf).result)) return {};
  return {{&memory, false, kCost, std::string(kFractalNote)}};
}

bool is_fractal(const NodeView& view, std::size_t source) {
  if (view.owner(source).dtype != DType::kF16) return false;
  const FractalMemory* const memory = as_fractal_memory(view.source_memory(source));
  return memory != nullptr && memory->packs(view.owner(source));
}

}  // namespace shunt::cann
