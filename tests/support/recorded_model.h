// Tiny models of architectures with the logits that transformers computes: the files of
// tests/oracle/architectures, whose weights come from a seeded generator.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/models.h"

namespace shunt::test {

struct RecordedModel {
  std::string name;          ///< of the file
  std::string architecture;  ///< general.architecture
  std::vector<std::int32_t> tokens;
  std::int64_t vocabulary = 0;
  std::vector<float> logits;      ///< of each token, computed in F64
  std::vector<float> hidden;      ///< of an encoder instead: the last layer's results
  std::vector<float> scores;      ///< of a model with a classifier head instead: those of the text
  std::int64_t second_text = -1;  ///< the first token of the second type; -1: none
  /// The largest difference of transformers' own F32 logits from them.
  float float32_difference = 0;
};

/// The names of all models that make logits, of all encoders, and of all rerankers.
std::vector<std::string> recorded_models();
std::vector<std::string> recorded_encoders();
std::vector<std::string> recorded_rerankers();
/// The name of a test of one.
std::string recorded_name(const ::testing::TestParamInfo<std::string>& info);
/// The record, without weights. Throws if it can't be read.
RecordedModel read_recorded(const std::string& name);
/// A tensor of a recorded model.
struct RecordedTensor {
  std::string name;
  std::vector<std::int64_t> sizes;  ///< innermost first
  std::vector<float> values;
};
/// All tensors, in the order of the record. Throws if it can't be read.
std::vector<RecordedTensor> recorded_tensors(const std::string& name);
/// The keys of the architecture, without its prefix. Throws if the record can't be read.
std::vector<gguf::KeyValue> recorded_keys(const std::string& name);

/// Writes the model as a GGUF file, after a change of its keys and tensors. Throws if it can't be
/// done.
void write_recorded(const std::string& name, const std::string& path,
                    const std::function<void(EditedFile&)>& edit = {});
/// The same in memory, with zeros as the data of tensors.
std::vector<std::byte> recorded_zeros(const std::string& name,
                                      const std::function<void(EditedFile&)>& edit);

}  // namespace shunt::test
