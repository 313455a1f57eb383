// The bytes of copies and fills.
#include <algorithm>
#include <cstring>

#include "cuda/call.h"
#include "cuda/counts.h"
#include "cuda/driver/host_access.h"
#include "cuda/driver/kinds.h"
#include "cuda/driver/perform.h"
#include "cuda/races/races.h"
#include "cuda/settings.h"

namespace cuda_twin {
namespace {

/// Where a row begins: in an extent, or in pageable memory of the host.
struct CopyPlace {
  ExtentPtr extent;
  std::uint64_t address = 0;
  std::uint64_t offset() const { return address - extent->begin; }
  std::byte* data() const { return extent->data + offset(); }
  std::uint64_t room() const {
    return extent == nullptr ? ~std::uint64_t{0} : extent->end() - address;
  }
};

bool find(std::uint64_t address, CopyWork::Side side, CopyPlace& place) {
  place.address = address;
  place.extent = driver().space->find(address);
  if (place.extent == nullptr) return side != CopyWork::Side::kDevice;
  return side != CopyWork::Side::kHost || is_of_host(place.extent->kind);
}

/// Pageable memory of the host may be unmapped or protected.
enum class CopiedPart : std::uint8_t { kAll, kNotRead, kNotWritten };

CopiedPart write_pageable(const CopyPlace& to, const std::byte* from, std::uint64_t bytes) {
  return write_host(to.address, from, bytes) ? CopiedPart::kAll : CopiedPart::kNotWritten;
}

CopiedPart move_part(const CopyPlace& to, const CopyPlace& from, std::uint64_t bytes) {
  if (to.extent == nullptr && from.extent == nullptr) {
    std::vector<std::byte> between(bytes);
    if (!read_host(between.data(), from.address, bytes)) return CopiedPart::kNotRead;
    return write_pageable(to, between.data(), bytes);
  }
  if (to.extent == nullptr) return write_pageable(to, from.data(), bytes);
  if (from.extent == nullptr) {
    if (!read_host(to.data(), from.address, bytes)) return CopiedPart::kNotRead;
    if (to.extent->written != nullptr) set_written(to.extent->written, to.offset(), bytes);
    return CopiedPart::kAll;
  }
  std::memmove(to.data(), from.data(), bytes);
  if (to.extent->written != nullptr) {
    copy_written(to.extent->written, to.offset(), from.extent->written,
                 from.extent->written == nullptr ? 0 : from.offset(), bytes);
  }
  return CopiedPart::kAll;
}

/// Device of a place; -1 is the host.
int device_of(const CopyPlace& place) {
  return place.extent == nullptr || !is_of_device(place.extent->kind) ? -1 : place.extent->device;
}

cuda_twin_direction direction_of(const CopyPlace& to, const CopyPlace& from, bool staged) {
  const int target = device_of(to);
  const int source = staged ? -1 : device_of(from);
  if (target < 0) return CUDA_TWIN_TO_HOST;
  if (source < 0) return CUDA_TWIN_TO_DEVICE;
  return target == source ? CUDA_TWIN_WITHIN_DEVICE : CUDA_TWIN_BETWEEN_DEVICES;
}

/// Races of copies and fills with other work. An error if findings end the work.
CUresult check_races(Context& context, const CopyPlace& place, std::uint64_t bytes,
                     std::uint64_t number, bool write) {
  if (place.extent == nullptr || setting(Setting::kCheckRaces) == 0) return CUDA_SUCCESS;
  const std::string text = races::on_copy(*driver().space, number, place.address, bytes, write);
  if (text.empty()) return CUDA_SUCCESS;
  keep_findings({{"work race", text}});
  if (setting(Setting::kFindings) != 0) return CUDA_SUCCESS;
  return fail_work(context, CUDA_ERROR_LAUNCH_FAILED, "work race: " + text);
}

CUresult refuse_read_only(Context& context, const char* work, const CopyPlace& place) {
  return fail_work(context, CUDA_ERROR_ILLEGAL_ADDRESS,
                   std::string("a ") + work + " cannot write its memory, which is read-only: " +
                       Space::place(*place.extent, place.address));
}

class Copier {
 public:
  Copier(Context& context, const CopyWork& work, std::uint64_t number)
      : context_(context), work_(work), number_(number) {}

  CUresult copy() {
    if (work_.row_bytes == 0 || work_.rows == 0 || work_.planes == 0) return CUDA_SUCCESS;
    for (std::uint64_t plane = 0; plane < work_.planes; ++plane) {
      for (std::uint64_t row = 0; row < work_.rows; ++row) {
        const CUresult result = copy_row(plane, row);
        if (result != CUDA_SUCCESS) return result;
      }
    }
    count_copy(direction_, work_.row_bytes * work_.rows * work_.planes);
    return CUDA_SUCCESS;
  }

 private:
  CUresult copy_row(std::uint64_t plane, std::uint64_t row) {
    std::uint64_t to = work_.to + plane * work_.to_plane + row * work_.to_pitch;
    std::uint64_t from = work_.from + plane * work_.from_plane + row * work_.from_pitch;
    for (std::uint64_t left = work_.row_bytes; left > 0;) {
      CopyPlace target;
      CopyPlace source;
      if (!find(to, work_.to_side, target)) return illegal("write", to, left);
      if (target.extent != nullptr && refuses_writes(*target.extent)) {
        return refuse_read_only(context_, "copy", target);
      }
      if (work_.staged == nullptr && !find(from, work_.from_side, source)) {
        return illegal("read", from, left);
      }
      const std::uint64_t part = std::min({left, target.room(), source.room()});
      CUDA_TWIN_TRY(check_races(context_, source, part, number_, false));
      CUDA_TWIN_TRY(check_races(context_, target, part, number_, true));
      CUDA_TWIN_TRY(check_written(target, source, part));
      const CopiedPart moved = move(target, source, part);
      if (moved == CopiedPart::kNotRead) return illegal_host("read", from, part);
      if (moved == CopiedPart::kNotWritten) return illegal_host("write", to, part);
      direction_ = direction_of(target, source, work_.staged != nullptr);
      to += part;
      from += part;
      left -= part;
    }
    return CUDA_SUCCESS;
  }

  /// The host gets bytes that nothing wrote. The first ones of a copy are a finding.
  CUresult check_written(const CopyPlace& target, const CopyPlace& source, std::uint64_t bytes) {
    if (setting(Setting::kCheckCopies) == 0 || setting(Setting::kCheckInitialised) == 0 ||
        unwritten_found_ || device_of(target) >= 0 || source.extent == nullptr ||
        all_written(source.extent->written, source.offset(), bytes)) {
      return CUDA_SUCCESS;
    }
    unwritten_found_ = true;
    const std::uint64_t first = first_unwritten(source.extent->written, source.offset(), bytes);
    const std::string text = "byte " + std::to_string(first) + " of a part of " +
                             std::to_string(bytes) + " of a copy to the host was never written: " +
                             Space::place(*source.extent, source.address + first);
    keep_findings({{"uninitialised read", text}});
    if (setting(Setting::kFindings) != 0) return CUDA_SUCCESS;
    return fail_work(context_, CUDA_ERROR_LAUNCH_FAILED, "uninitialised read: " + text);
  }

  CopiedPart move(const CopyPlace& target, const CopyPlace& source, std::uint64_t bytes) {
    if (work_.staged == nullptr) return move_part(target, source, bytes);
    const std::byte* const data = work_.staged->data() + staged_;
    staged_ += bytes;
    if (target.extent == nullptr) return write_pageable(target, data, bytes);
    std::memcpy(target.data(), data, bytes);
    if (target.extent->written != nullptr) {
      set_written(target.extent->written, target.offset(), bytes);
    }
    return CopiedPart::kAll;
  }

  CUresult illegal_host(const char* what, std::uint64_t address, std::uint64_t bytes) {
    return fail_work(context_, CUDA_ERROR_ILLEGAL_ADDRESS,
                     std::string("a copy cannot ") + what + " " + std::to_string(bytes) +
                         " bytes of the host, which are unmapped or protected: " +
                         driver().space->describe(address, bytes));
  }

  CUresult illegal(const char* what, std::uint64_t address, std::uint64_t bytes) {
    return fail_work(context_, CUDA_ERROR_ILLEGAL_ADDRESS,
                     std::string("a copy cannot ") + what +
                         " its memory: " + driver().space->describe(address, bytes));
  }

  Context& context_;
  const CopyWork& work_;
  std::uint64_t number_;
  std::uint64_t staged_ = 0;  ///< bytes of the staging buffer that are used
  bool unwritten_found_ = false;
  cuda_twin_direction direction_ = CUDA_TWIN_TO_DEVICE;
};

/// A row of whole elements, or a part of it up to the end of an extent. `from` of its bytes are
/// before this part.
void fill_bytes(std::byte* to, const FillWork& work, std::uint64_t from, std::uint64_t bytes) {
  if (work.element_bytes == 1) {
    std::memset(to, static_cast<int>(work.value & 0xFFU), bytes);
    return;
  }
  std::byte element[sizeof work.value];
  std::memcpy(element, &work.value, sizeof element);
  for (std::uint64_t i = 0; i < bytes; ++i) to[i] = element[(from + i) % work.element_bytes];
}

CUresult fill_row(Context& context, const FillWork& work, std::uint64_t row, std::uint64_t number) {
  const std::uint64_t bytes = work.width * work.element_bytes;
  const std::uint64_t begin = work.to + row * work.pitch;
  for (std::uint64_t done = 0; done < bytes;) {
    CopyPlace place;
    const std::uint64_t at = begin + done;
    if (!find(at, CopyWork::Side::kDevice, place)) {
      return fail_work(
          context, CUDA_ERROR_ILLEGAL_ADDRESS,
          "a fill cannot write its memory: " + driver().space->describe(at, bytes - done));
    }
    if (refuses_writes(*place.extent)) return refuse_read_only(context, "fill", place);
    const std::uint64_t part = std::min(bytes - done, place.room());
    CUDA_TWIN_TRY(check_races(context, place, part, number, true));
    fill_bytes(place.data(), work, done, part);
    if (place.extent->written != nullptr) {
      set_written(place.extent->written, place.offset(), part);
    }
    done += part;
  }
  return CUDA_SUCCESS;
}

}  // namespace

CUresult perform_copy(Context& context, const CopyWork& work, std::uint64_t number) {
  return Copier(context, work, number).copy();
}

CUresult perform_fill(Context& context, const FillWork& work, std::uint64_t number) {
  for (std::uint64_t row = 0; row < work.height; ++row) {
    CUDA_TWIN_TRY(fill_row(context, work, row, number));
  }
  return CUDA_SUCCESS;
}

}  // namespace cuda_twin
