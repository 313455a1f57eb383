#include "ascend/tensors/operand.h"

#include "ascend/profiles.h"
#include "ascend/runtime/thread.h"

namespace ascend_twin {
namespace {

/// Bytes of elements [begin, end) from the base.
struct Bytes {
  std::uint64_t begin = 0, count = 0;
};
Bytes bytes_of_reach(const View& view) {
  const View::Reach reach = view.reach();
  const std::uint64_t bits = bits_of(view.type);
  const std::uint64_t begin = static_cast<std::uint64_t>(reach.begin) * bits / 8;
  return {begin, (static_cast<std::uint64_t>(reach.end) * bits + 7) / 8 - begin};
}

/// The chip's way, or that of the stream whose thread this is.
bool saturates() {
  return (profile() != nullptr && profile()->saturates) || this_thread().saturates;
}

template <class Visit>
void for_each_place(const View& view, Visit visit) {
  const std::int64_t count = view.elements();
  if (view.is_contiguous() && !view.is_nz()) {
    for (std::int64_t i = 0; i < count; ++i) visit(i, view.offset + i);
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) visit(i, view.place_of(i));
}

/// NZ is always written whole.
void mark_written(const Operand& operand) {
  const View& view = operand.view;
  if (operand.range == nullptr || view.elements() == 0) return;
  const auto base = static_cast<std::uint64_t>(operand.host - operand.range->host);
  if (view.is_contiguous() || view.is_nz()) {
    const Bytes bytes = bytes_of_reach(view);
    operand.range->written->mark(base + bytes.begin, bytes.count);
    return;
  }
  const std::uint64_t bits = bits_of(view.type);
  for_each_place(view, [&](std::int64_t, std::int64_t place) {
    operand.range->written->mark(base + static_cast<std::uint64_t>(place) * bits / 8,
                                 (bits + 7) / 8);
  });
}

/// Offset in the range of a byte that is read and was never written; Written::kNone if there is
/// none.
std::uint64_t find_unwritten(const Operand& operand) {
  const View& view = operand.view;
  const Written& written = *operand.range->written;
  const auto base = static_cast<std::uint64_t>(operand.host - operand.range->host);
  if (view.is_contiguous() || view.is_nz()) {
    const Bytes bytes = bytes_of_reach(view);
    return written.first_unwritten(base + bytes.begin, bytes.count);
  }
  std::uint64_t found = Written::kNone;
  const std::uint64_t bits = bits_of(view.type);
  for_each_place(view, [&](std::int64_t, std::int64_t place) {
    if (found != Written::kNone) return;
    found = written.first_unwritten(base + static_cast<std::uint64_t>(place) * bits / 8,
                                    (bits + 7) / 8);
  });
  return found;
}

/// `byte`: of find_unwritten().
Status object_to_unwritten(const Operand& operand, std::uint64_t byte, const std::string& what) {
  if (byte == Written::kNone) return ACL_SUCCESS;
  return object_late(ACL_ERROR_RT_AICORE_EXCEPTION,
                     what + ": byte " + std::to_string(byte) + " of allocation " +
                         std::to_string(operand.range->number) + " was never written");
}

}  // namespace

Status open_operand(const View& view, Access access, const std::string& what, Operand* operand) {
  operand->view = view;
  operand->saturates = saturates();
  if (view.elements() == 0) return ACL_SUCCESS;
  const Bytes bytes = bytes_of_reach(view);
  const auto* const base = static_cast<const std::byte*>(view.base);
  const Found found = space().find(base + bytes.begin, bytes.count);
  if (found.range == nullptr) return refuse(ACL_ERROR_RT_AICORE_EXCEPTION, what + ": " + found.why);
  operand->range = found.range;
  operand->host = found.host - bytes.begin;
  const bool is_read = access == Access::kRead || access == Access::kReadAndWrite;
  return is_strict() && is_read ? object_to_unwritten(*operand, find_unwritten(*operand), what)
                                : ACL_SUCCESS;
}

Status expect_written(const Operand& operand, std::span<const std::int64_t> elements,
                      const std::string& what) {
  if (!is_strict() || operand.range == nullptr) return ACL_SUCCESS;
  const auto base = static_cast<std::uint64_t>(operand.host - operand.range->host);
  const std::uint64_t bits = bits_of(operand.view.type);
  for (const std::int64_t element : elements) {
    const auto place = static_cast<std::uint64_t>(operand.view.place_of(element));
    const std::uint64_t byte =
        operand.range->written->first_unwritten(base + place * bits / 8, (bits + 7) / 8);
    ASCEND_TWIN_TRY(object_to_unwritten(operand, byte, what));
  }
  return ACL_SUCCESS;
}

std::vector<double> read(const Operand& operand) {
  std::vector<double> values(static_cast<std::size_t>(operand.view.elements()));
  for_each_place(operand.view, [&](std::int64_t i, std::int64_t place) {
    values[static_cast<std::size_t>(i)] =
        decode(operand.view.type, operand.host, static_cast<std::uint64_t>(place));
  });
  return values;
}

std::vector<float> read_floats(const Operand& operand) {
  std::vector<float> values(static_cast<std::size_t>(operand.view.elements()));
  for_each_place(operand.view, [&](std::int64_t i, std::int64_t place) {
    values[static_cast<std::size_t>(i)] = static_cast<float>(
        decode(operand.view.type, operand.host, static_cast<std::uint64_t>(place)));
  });
  return values;
}

std::vector<std::int64_t> read_integers(const Operand& operand) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(operand.view.elements()));
  for_each_place(operand.view, [&](std::int64_t i, std::int64_t place) {
    values[static_cast<std::size_t>(i)] =
        decode_integer(operand.view.type, operand.host, static_cast<std::uint64_t>(place));
  });
  return values;
}

void write(const Operand& operand, std::span<const double> values) {
  for_each_place(operand.view, [&](std::int64_t i, std::int64_t place) {
    encode(operand.view.type, operand.host, static_cast<std::uint64_t>(place),
           values[static_cast<std::size_t>(i)], operand.saturates);
  });
  mark_written(operand);
}

void write_floats(const Operand& operand, std::span<const float> values) {
  for_each_place(operand.view, [&](std::int64_t i, std::int64_t place) {
    encode(operand.view.type, operand.host, static_cast<std::uint64_t>(place),
           static_cast<double>(values[static_cast<std::size_t>(i)]), operand.saturates);
  });
  mark_written(operand);
}

void write_integers(const Operand& operand, std::span<const std::int64_t> values) {
  for_each_place(operand.view, [&](std::int64_t i, std::int64_t place) {
    encode_integer(operand.view.type, operand.host, static_cast<std::uint64_t>(place),
                   values[static_cast<std::size_t>(i)]);
  });
  mark_written(operand);
}

void write_at(const Operand& operand, std::int64_t place, double value) {
  encode(operand.view.type, operand.host, static_cast<std::uint64_t>(place), value,
         operand.saturates);
  if (operand.range == nullptr) return;
  const std::uint64_t bits = bits_of(operand.view.type);
  const auto base = static_cast<std::uint64_t>(operand.host - operand.range->host);
  operand.range->written->mark(base + static_cast<std::uint64_t>(place) * bits / 8, (bits + 7) / 8);
}

}  // namespace ascend_twin
