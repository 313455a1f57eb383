// Memory with interleaved matrices. Writers and readers see plain bytes, for any pieces; kernels
// see groups.
#include "backends/cpu/weight_memory.h"

#include <gtest/gtest.h>

#include <time.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <future>
#include <random>
#include <vector>

#include "backends/cpu/interleaved.h"
#include "backends/cpu/interleaved_kind.h"

namespace shunt::cpu::interleaved_memory_test {
namespace {

using Bytes = std::vector<std::byte>;

PlacedTensor placed(DType type, const Shape& shape, std::size_t offset) {
  return {*make_tensor(type, shape), offset};
}

/// With the rows that fill up a last group.
std::size_t bytes_of(const Tensor& tensor) {
  return interleaved_memory().size_of(tensor);
}

Bytes random_bytes(std::size_t count, std::mt19937& random) {
  Bytes bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

std::unique_ptr<Buffer> allocate(std::size_t bytes, const std::vector<PlacedTensor>& tensors) {
  auto buffer = interleaved_memory().allocate_for(bytes, tensors);
  EXPECT_TRUE(buffer) << buffer.error().message();
  return buffer ? std::move(*buffer) : nullptr;
}

Bytes read_all(Buffer& buffer) {
  Bytes bytes(buffer.size());
  const Status read = buffer.read(0, bytes);
  EXPECT_TRUE(read) << read.error().message();
  return bytes;
}

/// Matrices of several types, some that stay plain, gaps before, between and behind, one right
/// behind another; not in order.
const std::vector<PlacedTensor>& tensors() {
  static const std::vector<PlacedTensor> kTensors = [] {
    std::vector<PlacedTensor> made;
    std::size_t at = 24;
    const auto add = [&](DType type, const Shape& shape, std::size_t gap) {
      made.push_back(placed(type, shape, at));
      at += bytes_of(made.back().tensor) + gap;
    };
    add(DType::kQ4_0, {64, 32}, 0);
    add(DType::kQ6_K, {256, 16}, 8);
    add(DType::kF32, {7, 5, 2}, 12);  // not in groups
    add(DType::kBF16, {6, 48}, 0);
    add(DType::kMXFP4, {32, 16, 2}, 5);
    add(DType::kI32, {16, 16}, 3);  // never interleaved
    add(DType::kF16, {3, 16}, 0);
    add(DType::kQ4_1, {96, 21}, 7);  // 11 rows fill up the last group
    add(DType::kF32, {5, 1}, 0);
    add(DType::kQ4_K, {256, 8, 3}, 0);  // not in groups
    add(DType::kQ8_0, {96, 16}, 100);
    std::ranges::rotate(made, made.begin() + 4);
    return made;
  }();
  return kTensors;
}

std::size_t buffer_bytes() {
  std::size_t end = 0;
  for (const PlacedTensor& each : tensors())
    end = std::max(end, each.offset + bytes_of(each.tensor));
  return end + 40;
}

/// The bytes in memory where the plain bytes are these.
Bytes as_it_lies(Bytes plain, const std::vector<PlacedTensor>& placed_tensors) {
  const Bytes before = plain;
  for (const PlacedTensor& each : placed_tensors) {
    if (!can_interleave(each.tensor)) continue;
    const std::int64_t k = each.tensor.size(0);
    const auto group =
        static_cast<std::size_t>(kGroupRows * interleaved_row_bytes(each.tensor.dtype, k));
    for (std::size_t at = 0; at < bytes_of(each.tensor); at += group) {
      interleave_rows(each.tensor.dtype, k, before.data() + each.offset + at,
                      plain.data() + each.offset + at);
    }
  }
  return plain;
}

TEST(InterleavedMemory, DescribesItsLayoutsAndAlignment) {
  BufferType& type = interleaved_memory();
  EXPECT_FALSE(type.host_accessible());
  EXPECT_EQ(type.alignment(), host_memory().alignment());
  ASSERT_EQ(type.layouts().size(), 2U);
  EXPECT_EQ(type.layouts()[0].kind, LayoutKind::kPlain);
  EXPECT_EQ(type.layouts()[1].kind, LayoutKind::kPacked);
  for (const Layout& layout : type.layouts()) EXPECT_TRUE(layout.exact);
  const Tensor tensor = *make_tensor(DType::kQ6_K, {512, 32});
  EXPECT_EQ(type.size_of(tensor), 32U * 420) << "no more than plain rows take";
  EXPECT_EQ(type.size_of(*make_tensor(DType::kQ6_K, {512, 17})), 32U * 420);
  EXPECT_EQ(type.size_of(*make_tensor(DType::kF32, {7, 5, 2})), 280U);
  const auto buffer = allocate(buffer_bytes(), tensors());
  EXPECT_EQ(&buffer->type(), &type);
  EXPECT_EQ(buffer->size(), buffer_bytes());
  EXPECT_EQ(buffer->host_data(), nullptr);
  EXPECT_NE(packed_data(*buffer), nullptr);
}

TEST(InterleavedMemory, MatricesAreInterleavedAndOtherBytesPlain) {
  std::mt19937 random(1);
  const auto buffer = allocate(buffer_bytes(), tensors());
  const Bytes plain = random_bytes(buffer_bytes(), random);
  ASSERT_TRUE(buffer->write(0, plain));
  const Bytes expected = as_it_lies(plain, tensors());
  EXPECT_NE(expected, plain);
  EXPECT_EQ(std::memcmp(packed_data(*buffer), expected.data(), expected.size()), 0);
  EXPECT_EQ(read_all(*buffer), plain);
}

/// In a buffer of zeros, and after they are written.
TEST(InterleavedMemory, MayBePlacedInABufferOfPlainMemory) {
  std::mt19937 random(9);
  BufferType& type = interleaved_memory();
  ASSERT_EQ(type.container(), &host_memory());
  const auto container = *host_memory().allocate(buffer_bytes());
  ASSERT_TRUE(container->fill(0, buffer_bytes(), std::byte{0}));
  const auto buffer = type.place_in(*container, tensors());
  ASSERT_TRUE(buffer) << buffer.error().message();
  EXPECT_EQ(read_all(**buffer), Bytes(buffer_bytes()));
  const Bytes plain = random_bytes(buffer_bytes(), random);
  ASSERT_TRUE((*buffer)->write(0, plain));
  EXPECT_EQ(read_all(*container), as_it_lies(plain, tensors()));
  EXPECT_EQ(read_all(**buffer), plain);
}

TEST(InterleavedMemory, RowsThatPadTheLastGroupAreZeros) {
  std::mt19937 random(8);
  const auto tensor = placed(DType::kQ8_0, {64, 21}, 0);
  const std::size_t row = 2 * 34;
  const auto buffer = allocate(32 * row, {tensor});
  Bytes plain = random_bytes(21 * row, random);
  ASSERT_TRUE(buffer->write(0, plain));
  Bytes back(plain.size());
  ASSERT_TRUE(buffer->read(0, back));
  EXPECT_EQ(back, plain);
  plain.resize(32 * row);
  const Bytes expected = as_it_lies(plain, {tensor});
  EXPECT_EQ(std::memcmp(packed_data(*buffer), expected.data(), expected.size()), 0);
}

TEST(InterleavedMemory, IsPlainWithoutPlacedTensors) {
  std::mt19937 random(2);
  auto buffer = interleaved_memory().allocate(1000);
  ASSERT_TRUE(buffer);
  const Bytes plain = random_bytes(1000, random);
  ASSERT_TRUE((*buffer)->write(0, plain));
  EXPECT_EQ(std::memcmp(packed_data(**buffer), plain.data(), 1000), 0);
  EXPECT_EQ(read_all(**buffer), plain);
}

TEST(InterleavedMemory, PartialReadsAndWritesEqualThoseOfPlainBytes) {
  std::mt19937 random(3);
  const auto buffer = allocate(buffer_bytes(), tensors());
  Bytes model = random_bytes(buffer_bytes(), random);
  ASSERT_TRUE(buffer->write(0, model));
  for (int turn = 0; turn < 600; ++turn) {
    const std::size_t offset = random() % (model.size() + 1);
    const std::size_t left = model.size() - offset;
    // Mostly some bytes; sometimes as far as over several tensors.
    const std::size_t most = turn % 4 == 0 ? left : std::min<std::size_t>(left, 700);
    const std::size_t count = random() % (most + 1);
    const auto at = model.begin() + static_cast<std::ptrdiff_t>(offset);
    const auto end = at + static_cast<std::ptrdiff_t>(count);
    if (turn % 2 == 0) {
      const Bytes piece = random_bytes(count, random);
      ASSERT_TRUE(buffer->write(offset, piece));
      std::ranges::copy(piece, at);
    } else {
      Bytes piece(count, std::byte{0x5a});
      ASSERT_TRUE(buffer->read(offset, piece));
      ASSERT_TRUE(std::equal(piece.begin(), piece.end(), at, end))
          << count << " bytes from " << offset;
    }
  }
  EXPECT_EQ(read_all(*buffer), model);
  const Bytes expected = as_it_lies(model, tensors());
  EXPECT_EQ(std::memcmp(packed_data(*buffer), expected.data(), expected.size()), 0);
}

TEST(InterleavedMemory, PiecesMayBeginOrEndAtAGroup) {
  std::mt19937 random(4);
  const std::size_t group = 16 * 2 * 18;  // two blocks of Q4_0
  const std::size_t first = 32;
  const auto buffer = allocate(first + 3 * group + 7, {placed(DType::kQ4_0, {64, 48}, first)});
  Bytes model = random_bytes(buffer->size(), random);
  ASSERT_TRUE(buffer->write(0, model));
  std::vector<std::size_t> borders = {0, buffer->size()};
  for (std::size_t g = 0; g <= 3; ++g) {
    for (const std::size_t at : {first + g * group - 1, first + g * group, first + g * group + 1}) {
      borders.push_back(at);
    }
  }
  for (const std::size_t begin : borders) {
    for (const std::size_t end : borders) {
      if (begin > end) continue;
      const Bytes piece = random_bytes(end - begin, random);
      ASSERT_TRUE(buffer->write(begin, piece));
      std::ranges::copy(piece, model.begin() + static_cast<std::ptrdiff_t>(begin));
      Bytes back(end - begin);
      ASSERT_TRUE(buffer->read(begin, back));
      ASSERT_EQ(back, piece) << "from " << begin << " to " << end;
      ASSERT_EQ(read_all(*buffer), model) << "from " << begin << " to " << end;
    }
  }
}

/// Large enough that each of several threads gets some.
TEST(InterleavedMemoryThreads, LargeMatricesRoundTrip) {
  std::mt19937 random(5);
  const std::vector<PlacedTensor> large = {placed(DType::kQ8_0, {1024, 4096}, 64),
                                           placed(DType::kBF16, {512, 1600}, 8 << 20)};
  const std::size_t bytes = large[1].offset + bytes_of(large[1].tensor) + 3;
  ASSERT_LE(large[0].offset + bytes_of(large[0].tensor), large[1].offset);
  const auto buffer = allocate(bytes, large);
  Bytes model = random_bytes(bytes, random);
  // In two pieces that meet in the middle of a group.
  const std::size_t middle = (3 << 20) + 12345;
  ASSERT_TRUE(buffer->write(0, std::span(model).first(middle)));
  ASSERT_TRUE(buffer->write(middle, std::span(model).subspan(middle)));
  const Bytes expected = as_it_lies(model, large);
  EXPECT_EQ(std::memcmp(packed_data(*buffer), expected.data(), expected.size()), 0);
  EXPECT_TRUE(read_all(*buffer) == model);
}

TEST(InterleavedMemory, RangesOutsideAreInvalid) {
  const auto buffer = allocate(buffer_bytes(), tensors());
  std::mt19937 random(6);
  const Bytes before = random_bytes(buffer_bytes(), random);
  ASSERT_TRUE(buffer->write(0, before));
  struct Range {
    std::size_t offset, bytes;
  };
  const std::size_t size = buffer_bytes();
  for (const Range& range : {Range{0, size + 1}, Range{1, size}, Range{size, 1}, Range{size + 1, 0},
                             Range{static_cast<std::size_t>(-4), 8}}) {
    Bytes piece(range.bytes);
    const Status written = buffer->write(range.offset, piece);
    ASSERT_FALSE(written) << range.offset << ", " << range.bytes;
    EXPECT_EQ(written.error().code(), ErrorCode::kInvalidArgument);
    const Status read = buffer->read(range.offset, piece);
    ASSERT_FALSE(read) << range.offset << ", " << range.bytes;
    EXPECT_EQ(read.error().code(), ErrorCode::kInvalidArgument);
  }
  EXPECT_EQ(read_all(*buffer), before);
  EXPECT_TRUE(buffer->write(size, {}));
}

void expect_invalid(std::size_t bytes, const std::vector<PlacedTensor>& tensors) {
  const auto buffer = interleaved_memory().allocate_for(bytes, tensors);
  ASSERT_FALSE(buffer);
  EXPECT_EQ(buffer.error().code(), ErrorCode::kInvalidArgument) << buffer.error().message();
}

TEST(InterleavedMemory, TensorsThatOverlapOrAreOutsideAreInvalid) {
  const Shape shape = {32, 16};  // 288 bytes of Q4_0
  const DType type = DType::kQ4_0;
  EXPECT_TRUE(interleaved_memory().allocate_for(
      576, std::vector{placed(type, shape, 288), placed(type, shape, 0)}));
  expect_invalid(575, {placed(type, shape, 0), placed(type, shape, 288)});
  expect_invalid(576, {placed(type, shape, 0), placed(type, shape, 289)});
  expect_invalid(576, {placed(type, shape, static_cast<std::size_t>(-288))});
  expect_invalid(576, {placed(type, shape, 0), placed(type, shape, 287)});
  expect_invalid(576, {placed(type, shape, 0), placed(type, shape, 0)});
  expect_invalid(576, {placed(type, shape, 100), placed(DType::kI32, {10}, 80)});
  expect_invalid(576, {placed(DType::kI32, {10}, 280), placed(type, shape, 0)});
  expect_invalid(39, {placed(DType::kI32, {10}, 0)});
}

TEST(InterleavedMemory, AcceptsEmptyBuffersAndTensors) {
  const auto none = allocate(0, {});
  EXPECT_EQ(none->size(), 0U);
  EXPECT_TRUE(none->write(0, {}));
  EXPECT_TRUE(none->read(0, {}));
  // Tensors without bytes do not get in the way of others.
  std::mt19937 random(7);
  const auto buffer =
      allocate(288, {placed(DType::kQ4_0, {32, 0}, 100), placed(DType::kQ4_0, {32, 16}, 0),
                     placed(DType::kQ4_0, {0, 16}, 288)});
  const Bytes plain = random_bytes(288, random);
  ASSERT_TRUE(buffer->write(0, plain));
  EXPECT_EQ(read_all(*buffer), plain);
}

TEST(InterleavedMemory, IsPlacedChecksOffsetShapeAndType) {
  const PlacedTensor q4 = placed(DType::kQ4_0, {64, 32}, 128);
  const auto buffer = allocate(4096, {q4, placed(DType::kF32, {8, 8, 2}, 2048)});
  EXPECT_TRUE(is_placed(*buffer, 128, q4.tensor));
  EXPECT_TRUE(is_placed(*buffer, 2048, *make_tensor(DType::kF32, {8, 8, 2})));
  EXPECT_TRUE(is_placed(*buffer, 0, *make_tensor(DType::kI32, {32}))) << "right before it";
  EXPECT_FALSE(is_placed(*buffer, 0, *make_tensor(DType::kI32, {33})));
  EXPECT_FALSE(is_placed(*buffer, 0, q4.tensor)) << "at another place";
  EXPECT_FALSE(is_placed(*buffer, 2048, q4.tensor)) << "the buffer was not told of it";
  EXPECT_FALSE(is_placed(*buffer, 2048, *make_tensor(DType::kF32, {4, 16})));
  EXPECT_FALSE(is_placed(*buffer, 128, *make_tensor(DType::kIQ4_NL, {64, 32})));
  EXPECT_FALSE(is_placed(*buffer, 128, *make_tensor(DType::kQ4_0, {32, 64})));
  EXPECT_FALSE(is_placed(*buffer, 128, *make_tensor(DType::kQ4_0, {64, 16})));
  EXPECT_FALSE(is_placed(*buffer, 128, *make_tensor(DType::kQ4_0, {64, 31})));
  EXPECT_FALSE(is_placed(*buffer, 128, *make_tensor(DType::kI32, {4})));
}

double seconds_of(clockid_t clock) {
  timespec time = {};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// The part of the process's work that other threads do meanwhile.
template <class Work>
double part_of_others(const Work& work) {
  const double process = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
  const double own = seconds_of(CLOCK_THREAD_CPUTIME_ID);
  work();
  const double all = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - process;
  return (all - (seconds_of(CLOCK_THREAD_CPUTIME_ID) - own)) / all;
}

/// One thread where the device has one. In a function that a run calls, that function's.
TEST(InterleavedMemory, IsInterleavedByTheThreadsOfItsDevice) {
  const Tensor tensor = *make_tensor(DType::kF32, {1024, 4096});  // 16 MiB: many pieces
  std::mt19937 random(3);
  const Bytes plain = random_bytes(static_cast<std::size_t>(byte_span(tensor)), random);
  Bytes expected;
  for (const int count : {1, 3}) {
    Options options;
    options.threads = count;
    const auto threads = share_cpu_threads(options);
    ASSERT_TRUE(threads);
    InterleavedMemory memory(host_memory(), *threads);
    const auto buffer = memory.allocate_for(plain.size(), std::array{PlacedTensor{tensor, 0}});
    ASSERT_TRUE(buffer) << buffer.error().message();
    const double others = part_of_others([&] {
      for (int i = 0; i < 5; ++i) EXPECT_TRUE((*buffer)->write(0, plain));
    });
    if (count == 1) {
      EXPECT_LT(others, 0.1) << "it starts no threads";
    }
    EXPECT_EQ(read_all(**buffer), plain);
    const std::byte* const packed = packed_data(**buffer);
    const Bytes here(packed, packed + plain.size());
    if (expected.empty()) expected = here;
    EXPECT_EQ(here, expected);
    Status inside;
    const auto write = [&](std::int64_t, std::byte*) { inside = (*buffer)->write(0, plain); };
    ASSERT_TRUE(for_each_item(*(*threads)->pool, 1, write));
    EXPECT_TRUE(inside) << "it does not wait for itself";
    EXPECT_EQ(read_all(**buffer), plain);
  }
}

/// A run may take long: the calling thread rearranges alone meanwhile. One piece and several.
TEST(InterleavedMemory, DoesNotWaitForARunOfItsDeviceConcurrently) {
  Options options;
  options.threads = 2;
  const auto threads = share_cpu_threads(options);
  ASSERT_TRUE(threads);
  InterleavedMemory memory(host_memory(), *threads);
  std::mt19937 random(9);
  for (const std::int64_t rows : {64, 4096}) {
    const PlacedTensor tensor = placed(DType::kF32, {256, rows}, 0);
    const Bytes plain = random_bytes(static_cast<std::size_t>(byte_span(tensor.tensor)), random);
    const auto buffer = memory.allocate_for(plain.size(), std::array{tensor});
    ASSERT_TRUE(buffer) << buffer.error().message();
    std::future<Bytes> back;
    {
      const auto running = (*threads)->pool->lock();
      back = std::async(std::launch::async, [&] {
        EXPECT_TRUE((*buffer)->write(0, plain));
        return read_all(**buffer);
      });
      EXPECT_EQ(back.wait_for(std::chrono::seconds(20)), std::future_status::ready);
    }
    EXPECT_EQ(back.get(), plain);
    const Bytes expected = as_it_lies(plain, {tensor});
    EXPECT_EQ(std::memcmp(packed_data(**buffer), expected.data(), expected.size()), 0);
  }
}

}  // namespace
}  // namespace shunt::cpu::interleaved_memory_test
