// Writing parts: one file is open at a time, and an error leaves nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>

#include "shunt/gguf_parts.h"
#include "shunt/message.h"
#include "support/gguf_bytes.h"
#include "support/must.h"

namespace shunt::gguf::gguf_parts_writer_test {
namespace {

using namespace test;  // NOLINT: files are made of its names
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::size_t kTensors = 60;

/// The largest number of an open descriptor. Linux gives out the lowest that is free.
int largest_descriptor() {
  int largest = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    largest = std::max(largest, std::stoi(entry.path().filename().string()));
  return largest;
}

/// Lets the process open this many descriptors more, while it exists.
class FewDescriptors {
 public:
  explicit FewDescriptors(int more) {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    const auto most = static_cast<rlim_t>(largest_descriptor() + 1 + more);
    const struct rlimit limit = {most, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;
  ~FewDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  struct rlimit before_ = {};
};

class PartsWriter : public testing::Test {
 protected:
  PartsWriter() {
    Writer writer;
    for (std::size_t i = 0; i < kTensors; ++i)
      must(writer.add_tensor(std::to_string(i), must(make_tensor(DType::kI8, {1}))));
    std::byte number = {};
    must(writer.write(path_, [&](std::size_t index) -> Result<std::span<const std::byte>> {
      number = static_cast<std::byte>(index);
      return std::span<const std::byte>(&number, 1);
    }));
  }

  TempFolder folder_;
  std::string path_ = folder_.file("whole.gguf");
};

TEST_F(PartsWriter, OpensOnePartAtATime) {
  const File file = must(File::open(path_));
  std::vector<std::string> paths;
  {
    const FewDescriptors limit(6);  // a part, its folder, and some of the system's own
    const auto written = write_split(folder_.file("m"), file, {.tensors = 1});
    ASSERT_TRUE(written) << written.error().message();
    paths = *written;
  }
  ASSERT_EQ(paths.size(), kTensors);
  EXPECT_EQ(folder_.list().size(), kTensors + 1);
  const File parts = must(File::open(paths[0]));
  ASSERT_EQ(parts.tensors().size(), kTensors);
  for (std::size_t i = 0; i < kTensors; ++i) {
    EXPECT_EQ(parts.tensors()[i].name, std::to_string(i));
    EXPECT_THAT(parts.data(parts.tensors()[i]), ElementsAre(static_cast<std::byte>(i)));
  }
}

TEST_F(PartsWriter, AnErrorLeavesNoPart) {
  const File file = must(File::open(path_));
  std::size_t pieces = 0;
  const auto progress = [&](std::uint64_t, std::uint64_t) -> Status {
    if (++pieces < 7) return ok();
    return fail(ErrorCode::kCancelled, "the seventh piece");
  };
  const auto written = write_split(folder_.file("m"), file, {.tensors = 1}, progress);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code(), ErrorCode::kCancelled);
  EXPECT_THAT(written.error().message(), HasSubstr("the seventh piece"));
  EXPECT_THAT(folder_.list(), ElementsAre("whole.gguf"));
}

}  // namespace
}  // namespace shunt::gguf::gguf_parts_writer_test
