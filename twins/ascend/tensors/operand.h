// A view whose memory was found: the elements of a tensor, for a task in its turn.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ascend/call.h"
#include "ascend/memory/space.h"
#include "ascend/tensors/view.h"

namespace ascend_twin {

struct Operand {
  View view;
  std::byte* host = nullptr;  ///< where the view's base is
  std::shared_ptr<Range> range;
  /// The chip's way, or that of the stream whose turn it was when the memory was found.
  bool saturates = false;
};

enum class Access : std::uint8_t { kRead, kReadInPart, kWrite, kReadAndWrite };

/// Finds the memory that the view reaches. A freed or foreign address is a device exception
/// (507015) with a sentence that names `what`; strict mode objects to bytes that were never
/// written, unless they are read in part.
Status open_operand(const View& view, Access access, const std::string& what, Operand* operand);
/// Strict mode objects if one of these elements, by number in the view, was never written.
Status expect_written(const Operand& operand, std::span<const std::int64_t> elements,
                      const std::string& what);

// Elements in logical order, whatever the layout.
std::vector<double> read(const Operand& operand);
std::vector<float> read_floats(const Operand& operand);  ///< F32 and smaller, exact
std::vector<std::int64_t> read_integers(const Operand& operand);

/// Rounds to the operand's type, as the operand saturates, and marks the bytes as written.
void write(const Operand& operand, std::span<const double> values);
void write_floats(const Operand& operand, std::span<const float> values);
void write_integers(const Operand& operand, std::span<const std::int64_t> values);

/// One element; for operators that touch few (scatter). `place` is View::place_of().
void write_at(const Operand& operand, std::int64_t place, double value);

}  // namespace ascend_twin
