// The format of saved sequences: the documented bytes, written and read, and wrong ones.
#include "engine/session/saved_sequence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "support/gguf_bytes.h"
#include "support/shared.h"

namespace shunt::test::engine_saved_sequence_test {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t k2To40 = std::uint64_t{1} << 40;
constexpr std::uint64_t k2To63 = std::uint64_t{1} << 63;

const SavedSequence& sample() {
  static const SavedSequence kSample = {.model = 0x1122334455667788,
                                        .cached = 2,
                                        .tokens = {1, -2, 300},
                                        .caches = {{"keys", SavedKind::kRows, DType::kF32, 8},
                                                   {"state", SavedKind::kState, DType::kF16, 4}}};
  return kSample;
}

/// Two rows of 8 bytes, and a state.
Bytes sample_data() {
  Bytes data;
  for (std::uint64_t i = 0; i < 20; ++i) data.u8(i);
  return data;
}

/// The file of the sample. The checksums are those of the reference implementation of XXH64.
Bytes sample_file() {
  Bytes file;
  file.text("ShuntSeq").u32(1).u64(137).u64(165);
  file.u64(0x1122334455667788).u64(2);
  file.u64(3).u32(1).u32(0xfffffffe).u32(300);
  file.u64(2);
  file.string("keys").u32(0).u32(0).u64(8);
  file.string("state").u32(1).u32(1).u64(4);
  file.u64(0xa490bee4a79c83c9);
  return file.append(sample_data()).u64(0xa3e3fbe96798d8ac);
}

SavedBytes in_memory(std::span<const std::byte> bytes) {
  return {bytes.size(), [bytes](std::uint64_t offset, std::span<std::byte> to) -> Status {
            EXPECT_LE(offset, bytes.size());
            EXPECT_LE(to.size(), bytes.size() - offset);
            std::ranges::copy(bytes.subspan(offset, to.size()), to.begin());
            return ok();
          }};
}

/// The error of reading all of a file; kInternal if there is none.
Error error_of(std::span<const std::byte> bytes) {
  const SavedBytes file = in_memory(bytes);
  const auto header = read_header(file);
  if (!header) return header.error();
  const Status data = check_data(file, *header);
  return data ? Error(ErrorCode::kInternal, "it was read") : Error(data.error());
}

TEST(SavedSequence, WritesTheDocumentedBytes) {
  const TempFolder folder;
  const std::string path = folder.file("x");
  auto file = SavedSequenceWriter::create(path, sample());
  ASSERT_TRUE(file) << file.error().message();
  const Bytes data = sample_data();
  ASSERT_TRUE(file->add(data.span().first(5)));
  ASSERT_TRUE(file->add(data.span().subspan(5)));
  EXPECT_FALSE(std::ranges::count(folder.list(), "x"));
  ASSERT_TRUE(file->commit());
  const std::string written = read_file(path);
  EXPECT_TRUE(std::ranges::equal(std::as_bytes(std::span(written)), sample_file().span()));
}

TEST(SavedSequence, ReadsTheDocumentedBytes) {
  const Bytes bytes = sample_file();
  const SavedBytes file = in_memory(bytes.span());
  const auto header = read_header(file);
  ASSERT_TRUE(header) << header.error().message();
  EXPECT_EQ(header->sequence, sample());
  EXPECT_EQ(header->data, 137U);
  EXPECT_EQ(data_bytes(header->sequence, header->sequence.caches[0]), 16U);
  EXPECT_EQ(data_bytes(header->sequence, header->sequence.caches[1]), 4U);
  const Status data = check_data(file, *header);
  EXPECT_TRUE(data) << data.error().message();
}

TEST(SavedSequence, WithoutRowsHasNoState) {
  SavedSequence sequence = sample();
  sequence.cached = 0;
  EXPECT_EQ(data_bytes(sequence, sequence.caches[0]), 0U);
  EXPECT_EQ(data_bytes(sequence, sequence.caches[1]), 0U);
}

TEST(SavedSequence, EveryOtherLengthIsRejected) {
  Bytes longer = sample_file();
  const std::size_t size = longer.size();
  longer.zeros(9);
  for (std::size_t length = 0; length < longer.size(); ++length) {
    if (length == size) continue;
    const Error error = error_of(longer.span().first(length));
    EXPECT_EQ(error.code(), ErrorCode::kBadFile) << length << ": " << error.message();
    EXPECT_THAT(error.message(), HasSubstr("byte ")) << length;
  }
}

TEST(SavedSequence, EveryChangedByteIsRejected) {
  const Bytes file = sample_file();
  for (std::size_t at = 0; at < file.size(); ++at) {
    for (const int change : {0x01, 0x80, 0xff}) {
      std::vector<std::byte> bytes(file.span().begin(), file.span().end());
      bytes[at] ^= static_cast<std::byte>(change);
      const Error error = error_of(bytes);
      EXPECT_NE(error.code(), ErrorCode::kInternal) << "byte " << at << " xor " << change;
    }
  }
}

/// A file with right sizes and checksums around a header's content.
Bytes file_of(const Bytes& content, const Bytes& data) {
  const std::uint64_t header = 28 + content.size() + 8;
  Bytes file;
  file.text("ShuntSeq").u32(1).u64(header).u64(header + data.size() + 8).append(content);
  file.u64(xxh64(file.span())).append(data);
  return file.u64(xxh64(data.span()));
}

/// The content of a header up to its caches: two tokens, both with rows.
Bytes two_tokens() {
  return Bytes().u64(7).u64(2).u64(2).u32(1).u32(2);
}

struct WrongFile {
  const char* name;
  Bytes bytes;
  ErrorCode code;
  std::vector<std::string> parts;  ///< of the message
};

void PrintTo(const WrongFile& file, std::ostream* out) {
  *out << file.name;
}

class WrongSavedSequence : public testing::TestWithParam<WrongFile> {};

TEST_P(WrongSavedSequence, IsRejectedWithTheFacts) {
  const WrongFile& file = GetParam();
  const Error error = error_of(file.bytes.span());
  EXPECT_EQ(error.code(), file.code) << error.message();
  for (const std::string& part : file.parts) EXPECT_THAT(error.message(), HasSubstr(part));
}

constexpr ErrorCode kBad = ErrorCode::kBadFile;

INSTANTIATE_TEST_SUITE_P(
    Start, WrongSavedSequence,
    testing::Values(WrongFile{"Empty", Bytes(), kBad, {"byte 0", "cut off in the magic"}},
                    WrongFile{"AnotherFormat",
                              Bytes().text("GGUF").zeros(60),
                              kBad,
                              {"byte 0", "'ShuntSeq'", "GGUF"}},
                    WrongFile{"NewerVersion",
                              Bytes().text("ShuntSeq").u32(2).zeros(60),
                              ErrorCode::kUnsupported,
                              {"byte 8", "version 2", "only version 1"}},
                    WrongFile{"Version0",
                              Bytes().text("ShuntSeq").zeros(60),
                              ErrorCode::kUnsupported,
                              {"byte 8", "version 0"}},
                    WrongFile{"BigEndian",
                              Bytes().text("ShuntSeq").u32(0x01000000).zeros(60),
                              kBad,
                              {"byte 8", "big-endian", "little-endian on every machine"}},
                    WrongFile{"AnotherFileSize",
                              Bytes().text("ShuntSeq").u32(1).u64(36).u64(60).zeros(60),
                              kBad,
                              {"byte 20", "has 88 bytes", "states 60"}},
                    WrongFile{"HeaderShorterThanItsStart",
                              Bytes().text("ShuntSeq").u32(1).u64(35).u64(88).zeros(60),
                              kBad,
                              {"byte 12", "a header of 35 bytes", "36 to 80"}},
                    WrongFile{"HeaderLongerThanTheFile",
                              Bytes().text("ShuntSeq").u32(1).u64(81).u64(88).zeros(60),
                              kBad,
                              {"byte 12", "a header of 81 bytes", "36 to 80"}},
                    WrongFile{"HeaderLongerThanAnyFile",
                              Bytes().text("ShuntSeq").u32(1).u64(k2To63).u64(88).zeros(60),
                              kBad,
                              {"byte 12"}},
                    WrongFile{"ChecksumOfTheHeader",
                              Bytes().text("ShuntSeq").u32(1).u64(60).u64(88).zeros(60),
                              kBad,
                              {"byte 52", "header is damaged"}}),
    [](const auto& file) { return std::string(file.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Content, WrongSavedSequence,
    testing::Values(
        WrongFile{"NothingInIt", file_of({}, {}), kBad, {"byte 28", "fingerprint"}},
        WrongFile{"MoreRowsThanTokens",
                  file_of(Bytes().u64(7).u64(3).u64(2).u32(1).u32(2).u64(0), {}),
                  kBad,
                  {"byte 36", "3 rows of 2 tokens"}},
        WrongFile{"MoreTokensThanBytes",
                  file_of(Bytes().u64(7).u64(0).u64(k2To40).u64(0), {}),
                  kBad,
                  {"byte 44", "the number of tokens"}},
        WrongFile{"ProductOfTokensOverflows",
                  file_of(Bytes().u64(7).u64(0).u64(k2To63).u64(0), {}),
                  kBad,
                  {"byte 44", "the number of tokens"}},
        WrongFile{"MoreCachesThanBytes",
                  file_of(two_tokens().u64(k2To40), {}),
                  kBad,
                  {"byte 60", "the number of caches"}},
        WrongFile{"LongName",
                  file_of(two_tokens().u64(1).u64(k2To63).zeros(16), {}),
                  kBad,
                  {"byte 68", "the name of a cache"}},
        WrongFile{"UnknownKind",
                  file_of(two_tokens().u64(1).string("k").u32(3).u32(0).u64(8), Bytes().zeros(16)),
                  kBad,
                  {"byte 77", "no kind 3"}},
        WrongFile{"UnknownType",
                  file_of(two_tokens().u64(1).string("k").u32(0).u32(99).u64(8), Bytes().zeros(16)),
                  kBad,
                  {"byte 81", "99"}},
        WrongFile{"EmptyRows",
                  file_of(two_tokens().u64(1).string("k").u32(0).u32(0).u64(0), {}),
                  kBad,
                  {"byte 85", "rows of 0 bytes"}},
        WrongFile{"RowsOfBrokenBlocks",
                  file_of(two_tokens().u64(1).string("k").u32(0).u32(8).u64(35), Bytes().zeros(70)),
                  kBad,
                  {"byte 85", "rows of 35 bytes", "Q8_0"}},
        WrongFile{
            "WindowOfNothing",
            file_of(two_tokens().u64(1).string("k").u32(2).u32(0).u64(8).u64(0), Bytes().zeros(16)),
            kBad,
            {"byte 93", "a window of 0 tokens"}},
        WrongFile{"EndlessWindow",
                  file_of(two_tokens().u64(1).string("k").u32(2).u32(0).u64(8).u64(k2To63),
                          Bytes().zeros(16)),
                  kBad,
                  {"byte 93", "a window of 9223372036854775808 tokens"}},
        WrongFile{"WindowIsCutOff",
                  file_of(two_tokens().u64(1).string("k").u32(2).u32(0).u64(8), Bytes().zeros(16)),
                  kBad,
                  {"byte 93", "the tokens of a window"}},
        WrongFile{"DataAreTooFew",
                  file_of(two_tokens().u64(1).string("k").u32(0).u32(0).u64(8), Bytes().zeros(15)),
                  kBad,
                  {"byte 101", "15 bytes of data", "2 rows in 1 cache"}},
        WrongFile{"DataAreTooMany",
                  file_of(two_tokens().u64(1).string("k").u32(0).u32(0).u64(8), Bytes().zeros(17)),
                  kBad,
                  {"byte 101", "17 bytes of data"}},
        WrongFile{"ProductOfRowsOverflows",
                  file_of(two_tokens().u64(1).string("k").u32(0).u32(0).u64(k2To63), {}),
                  kBad,
                  {"byte 101", "0 bytes of data"}},
        WrongFile{"BytesAfterTheCaches",
                  file_of(two_tokens().u64(0).u8(0), {}),
                  kBad,
                  {"byte 68", "1 bytes too many"}}),
    [](const auto& file) { return std::string(file.param.name); });

/// Of 70 tokens a next one would see the last 4, which are in the second block.
TEST(SavedSequence, WindowsHaveTheRowsOfTheirBlocks) {
  Bytes content;
  content.u64(7).u64(70).u64(70);
  for (std::uint32_t i = 0; i < 70; ++i) content.u32(i);
  content.u64(1).string("k").u32(2).u32(0).u64(8).u64(5);
  const Bytes bytes = file_of(content, Bytes().zeros(6 * 8));
  const auto header = read_header(in_memory(bytes.span()));
  ASSERT_TRUE(header) << header.error().message();
  const SavedSequence& sequence = header->sequence;
  const SavedCache expected = {"k", SavedKind::kWindow, DType::kF32, 8, 5};
  ASSERT_THAT(sequence.caches, testing::ElementsAre(expected));
  EXPECT_EQ(first_saved_row(sequence, expected), 64);
  EXPECT_EQ(data_bytes(sequence, expected), 6U * 8);
  EXPECT_TRUE(std::ranges::equal(write_header(sequence), bytes.span().first(header->data)));
  for (const std::uint64_t rows : {5, 7}) {
    const Error error = error_of(file_of(content, Bytes().zeros(rows * 8)).span());
    EXPECT_THAT(error.message(), HasSubstr("bytes of data are not those of")) << rows;
  }
  for (const auto& [window, first] : {std::pair(1, 64), {7, 64}, {8, 0}, {1000, 0}}) {
    SavedCache other = expected;
    other.window = window;
    EXPECT_EQ(first_saved_row(sequence, other), first) << window;
  }
}

TEST(SavedSequence, ErrorsOfReadingAreHandedOn) {
  const SavedBytes broken = {165, [](std::uint64_t, std::span<std::byte>) -> Status {
                               return Error(ErrorCode::kIo, "no disk");
                             }};
  const auto header = read_header(broken);
  ASSERT_FALSE(header);
  EXPECT_EQ(header.error().message(), "no disk");
  const Status data = check_data(broken, {sample(), 137});
  ASSERT_FALSE(data);
  EXPECT_EQ(data.error().message(), "no disk");
}

}  // namespace
}  // namespace shunt::test::engine_saved_sequence_test
