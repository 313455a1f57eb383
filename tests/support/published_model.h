// Hugging Face folders of the tiny models of recorded_model.h: the files of tests/oracle/published.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace shunt::test {

/// A tensor of a safetensors file.
struct PublishedValues {
  std::string name;
  std::vector<std::int64_t> shape;  ///< outermost first
  std::vector<float> values;
};

/// A folder that is to be written.
struct PublishedFolder {
  nlohmann::json config;
  std::vector<PublishedValues> tensors;
  bool bf16 = false;      ///< the type of elements; else F32
  std::size_t parts = 1;  ///< files
};

/// The models that have a record.
std::vector<std::string> published_models_recorded();
/// The folder of a model. Throws if the record can't be read.
PublishedFolder read_published(const std::string& name);
/// Writes it, with a tokenizer of one token for each row of the embedding.
void write_published(const PublishedFolder& folder, const std::string& path);

/// The bytes of a safetensors file with this header.
std::string safetensors_bytes(const std::string& header, const std::string& data);
/// One of these tensors.
std::string safetensors_of(const std::vector<PublishedValues>& tensors, bool bf16);

}  // namespace shunt::test
