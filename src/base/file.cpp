#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

#include "base/aligned_bytes.h"
#include "shunt/message.h"

namespace shunt {

Result<InputFile> InputFile::open(const std::string& path) {
  // Not blocking, so that a pipe without a writer is refused below where it would hang here.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) {
    const bool missing = errno == ENOENT || errno == ENOTDIR;
    return fail(missing ? ErrorCode::kNotFound : ErrorCode::kIo, "cannot open {}: {}", path,
                system_message(errno));
  }
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0) {
    return fail(ErrorCode::kIo, "cannot examine {}: {}", path, system_message(errno));
  }
  if (!S_ISREG(status.st_mode)) {
    return fail(ErrorCode::kIo, "cannot read {}: it is {}, not a regular file", path,
                S_ISDIR(status.st_mode) ? "a directory" : "a device, pipe or socket");
  }
  return InputFile(path, std::move(file), static_cast<std::uint64_t>(status.st_size));
}

Status InputFile::read(std::uint64_t offset, std::span<std::byte> to) const {
  constexpr std::size_t kMost = std::size_t{1} << 30;  // systems give no more than 2 GiB at once
  while (!to.empty()) {
    const ssize_t count =
        ::pread(file_.get(), to.data(), std::min(to.size(), kMost), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(ErrorCode::kIo, "cannot read {}: {}", path_, system_message(errno));
    if (count == 0) {
      return fail(ErrorCode::kIo, "cannot read {}: it ends at byte {} now, {} bytes too early",
                  path_, offset, to.size());
    }
    offset += static_cast<std::uint64_t>(count);
    to = to.subspan(static_cast<std::size_t>(count));
  }
  return ok();
}

Result<MappedFile> MappedFile::open(const std::string& path) {
  SHUNT_ASSIGN(const InputFile file, InputFile::open(path));
  if (file.size() == 0) return MappedFile({});  // which mmap refuses
  if (file.size() > SIZE_MAX) {
    return fail(ErrorCode::kIo, "cannot map {}: its {} bytes exceed the address space", path,
                file.size());
  }
  const auto size = static_cast<std::size_t>(file.size());
  void* start = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.descriptor(), 0);
  if (start == MAP_FAILED) {
    return fail(ErrorCode::kIo, "cannot map {}: {}", path, system_message(errno));
  }
  return MappedFile({static_cast<const std::byte*>(start), size});
}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  // munmap takes the pointer that mmap returned, which was not const.
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

namespace {

/// Bytes from the start of the page that the first byte is in.
std::size_t bytes_before(std::span<const std::byte> mapped) {
  return reinterpret_cast<std::uintptr_t>(mapped.data()) % page_size();
}

/// Advice about all pages that a part touches.
[[maybe_unused]] void advise_all_pages(std::span<const std::byte> mapped, int advice) {
  if (mapped.empty()) return;
  const std::size_t before = bytes_before(mapped);
  // madvise takes a pointer that is not const; the mapping may only be read, and stays so.
  (void)::madvise(const_cast<std::byte*>(mapped.data()) - before, before + mapped.size(), advice);
}

}  // namespace

void read_ahead(std::span<const std::byte> mapped) {
#ifdef MADV_POPULATE_READ
  advise_all_pages(mapped, MADV_POPULATE_READ);
#else
  (void)mapped;
#endif
}

void set_apart(std::span<const std::byte> mapped) {
#ifdef MADV_NOHUGEPAGE
  // Linux brings in all of the same large page of its cache within the same area of memory. With
  // other advice than its neighbours' a part becomes an area of its own.
  advise_all_pages(mapped, MADV_NOHUGEPAGE);
#else
  (void)mapped;
#endif
}

void let_go(std::span<const std::byte> mapped) {
  const std::size_t before = bytes_before(mapped);
  const std::size_t skipped = before == 0 ? 0 : page_size() - before;
  if (mapped.size() < skipped + page_size()) return;
  auto* start = const_cast<std::byte*>(mapped.data()) + skipped;
  forget_pages(start, mapped.size() - skipped);
}

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

std::string system_message(int error_number) {
  return std::error_code(error_number, std::generic_category()).message();
}

}  // namespace shunt
