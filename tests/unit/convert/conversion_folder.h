// A Hugging Face folder that a test writes, changes and converts.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "shunt/convert.h"
#include "support/models.h"
#include "support/must.h"
#include "support/published_model.h"

namespace shunt::test {

class FolderConversionTest : public ::testing::Test {
 protected:
  /// The error's message, with DIR for the folder.
  std::string message(const PublishedFolder& folder, const FolderOptions& options = {}) {
    write_published(folder, path_);
    const auto conversion = FolderConversion::open(path_, options);
    if (conversion) return "opened";
    std::string text = conversion.error().message();
    for (std::size_t at = 0; (at = text.find(path_)) != std::string::npos;)
      text.replace(at, path_.size(), "DIR");
    return text;
  }

  std::vector<std::byte> converted(const PublishedFolder& folder, const std::string& type) {
    write_published(folder, path_);
    return converted_folder(type);
  }

  std::vector<std::byte> converted_folder(const std::string& type) {
    const auto conversion = must(FolderConversion::open(path_));
    QuantizeOptions options;
    options.type = type;
    must(conversion.write(out_, must(conversion.plan(options)), options));
    return read(out_);
  }

  static std::vector<std::byte> read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
  }

  void write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories(path_);
    std::ofstream(std::filesystem::path(path_) / name, std::ios::binary) << text;
  }

  TempFolder temporary_;
  std::string path_ = temporary_.file("folder");
  std::string out_ = temporary_.file("out.gguf");
};

}  // namespace shunt::test
