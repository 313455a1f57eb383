#include "cli/report/inspection.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "cli/report/chat_template_facts.h"
#include "cli/report/json.h"
#include "cli/report/sizes.h"
#include "cli/report/tokenizer_facts.h"
#include "shunt/gguf.h"
#include "shunt/message.h"

namespace shunt::cli {
namespace {

constexpr std::size_t kShownElements = 6;  // of an array
constexpr std::size_t kShownBytes = 200;   // of a string

template <class... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};

/// A key or a name, fit for a terminal.
std::string clean(const std::string& name) {
  const std::string quoted = gguf::printable(name, name.size());
  return quoted.substr(1, quoted.size() - 2);
}

using ArrayPointer = std::shared_ptr<const gguf::Array>;

/// Calls `show` with each of the first elements.
template <class Show>
void each_shown(const gguf::Array& array, Show show) {
  const auto first = [](const auto& all) {
    return std::span(all).first(std::min(all.size(), kShownElements));
  };
  for (const std::string& text : first(array.strings)) show(text);
  for (const double number : first(array.floats)) {
    if (array.type == gguf::ValueType::kF32) {
      show(static_cast<float>(number));
    } else {
      show(number);
    }
  }
  for (const std::int64_t number : first(array.integers)) {
    if (array.type == gguf::ValueType::kBool) {
      show(number != 0);
    } else {
      show(number);
    }
  }
}

std::string element_text(const std::string& text) {
  return gguf::printable(text, kShownBytes);
}
template <class T>
std::string element_text(const T& number) {
  return fmt::format("{}", number);
}

std::string array_text(const gguf::Array& array) {
  std::string text;
  each_shown(array, [&](const auto& element) {
    text += (text.empty() ? "" : ", ") + element_text(element);
  });
  return array.size() > kShownElements ? text + ", ..." : text;
}

std::string type_text(const gguf::Value& value) {
  const auto* array = std::get_if<ArrayPointer>(&value.data);
  if (array == nullptr) return std::string(to_string(value.type));
  return fmt::format("{}[{}]", to_string((*array)->type), (*array)->size());
}

std::string value_text(const gguf::Value& value) {
  if (value.type == gguf::ValueType::kF32) {
    return element_text(static_cast<float>(std::get<double>(value.data)));
  }
  return std::visit(Overloaded{[](const ArrayPointer& array) { return array_text(*array); },
                               [](const auto& element) { return element_text(element); }},
                    value.data);
}

Json value_json(const gguf::Value& value) {
  return std::visit(Overloaded{[](const ArrayPointer& array) {
                                 Json first = Json::array();
                                 each_shown(*array, [&](const auto& e) { first.push_back(e); });
                                 return first;
                               },
                               [](const auto& element) { return Json(element); }},
                    value.data);
}

struct Total {
  std::uint64_t tensors = 0;
  std::uint64_t elements = 0;
  std::uint64_t bytes = 0;
};

std::map<DType, Total> totals_by_type(const gguf::File& file) {
  std::map<DType, Total> totals;
  for (const gguf::TensorInfo& info : file.tensors()) {
    Total& total = totals[info.tensor.dtype];
    ++total.tensors;
    total.elements += static_cast<std::uint64_t>(element_count(info.tensor.shape));
    total.bytes += info.bytes;
  }
  return totals;
}

std::string tensors_text(const gguf::File& file) {
  std::size_t width = 0;
  for (const gguf::TensorInfo& info : file.tensors()) {
    width = std::max(width, clean(info.name).size());
  }
  std::string text = "tensors\n";
  for (const gguf::TensorInfo& info : file.tensors()) {
    const std::string part =
        file.part_count() > 1 ? fmt::format(" of part {}", info.part + 1) : std::string();
    text += fmt::format("  {:<{}}  {:<5} {:<20} {:>12} bytes at {}{}\n", clean(info.name), width,
                        to_string(info.tensor.dtype), to_string(info.tensor.shape), info.bytes,
                        info.offset, part);
  }
  return text;
}

}  // namespace

std::string inspection_text(const gguf::File& file, bool with_tensors) {
  std::string text = fmt::format("{}: GGUF version {}, {}", file.path(), file.version(),
                                 format_bytes(file.file_bytes()));
  if (file.part_count() > 1) text += fmt::format(" in {} parts", file.part_count());
  text +=
      fmt::format(", {}, alignment {}{}\n", counted(file.tensors().size(), "tensor"),
                  file.alignment(), file.byte_order() == std::endian::big ? ", big-endian" : "");
  text += "metadata\n";
  for (const gguf::KeyValue& entry : file.metadata()) {
    text += fmt::format("  {:<42} {:<14} {}\n", clean(entry.key), type_text(entry.value),
                        value_text(entry.value));
  }
  text += tokenizer_text(file);
  text += chat_templates_text(file);
  text += "types\n";
  for (const auto& [dtype, total] : totals_by_type(file)) {
    text += fmt::format("  {:<5} {:>6} {}, {} elements, {}\n", to_string(dtype), total.tensors,
                        noun_for(total.tensors, "tensor"), format_count(total.elements),
                        format_bytes(total.bytes));
  }
  return with_tensors ? text + tensors_text(file) : text;
}

std::string inspection_json(const gguf::File& file) {
  Json json;
  json["path"] = file.path();
  json["version"] = file.version();
  json["byte_order"] = file.byte_order() == std::endian::big ? "big" : "little";
  json["file_bytes"] = file.file_bytes();
  json["parts"] = file.part_count();
  json["alignment"] = file.alignment();
  json["metadata"] = Json::array();
  for (const gguf::KeyValue& entry : file.metadata()) {
    Json item = {{"key", entry.key}, {"type", to_string(entry.value.type)}};
    if (const auto* array = std::get_if<ArrayPointer>(&entry.value.data)) {
      item["element_type"] = to_string((*array)->type);
      item["size"] = (*array)->size();
      item["first"] = value_json(entry.value);
    } else {
      item["value"] = value_json(entry.value);
    }
    json["metadata"].push_back(std::move(item));
  }
  json["tokenizer"] = tokenizer_json(file);
  json["chat_templates"] = chat_templates_json(file);
  json["types"] = Json::array();
  for (const auto& [dtype, total] : totals_by_type(file)) {
    json["types"].push_back({{"type", to_string(dtype)},
                             {"tensors", total.tensors},
                             {"elements", total.elements},
                             {"bytes", total.bytes}});
  }
  json["tensors"] = Json::array();
  for (const gguf::TensorInfo& info : file.tensors()) {
    Json shape = Json::array();
    int dims = kMaxDims;
    while (dims > 1 && info.tensor.size(dims - 1) == 1) --dims;
    for (int dim = 0; dim < dims; ++dim) shape.push_back(info.tensor.size(dim));
    json["tensors"].push_back({{"name", info.name},
                               {"type", to_string(info.tensor.dtype)},
                               {"shape", std::move(shape)},
                               {"bytes", info.bytes},
                               {"offset", info.offset},
                               {"part", info.part}});
  }
  return to_text(json);
}

}  // namespace shunt::cli
