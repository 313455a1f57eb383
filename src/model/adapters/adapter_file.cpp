#include "model/adapters/adapter_file.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "shunt/message.h"

namespace shunt {

namespace {

constexpr std::string_view kA = ".lora_a";
constexpr std::string_view kB = ".lora_b";
constexpr std::string_view kPrefix = "adapter.";
/// Those that Shunt reads, and a label that changes nothing.
constexpr std::array<std::string_view, 3> kKeys = {"adapter.type", "adapter.lora.alpha",
                                                   "adapter.lora.task_name"};

Status check_kind(const gguf::File& file, std::string_view architecture) {
  SHUNT_ASSIGN(const std::string kind, file.get_string_or("general.type", ""));
  if (kind != "adapter") {
    return fail(ErrorCode::kBadFile,
                "{}: general.type should be \"adapter\", but is {}; it is no adapter", file.path(),
                kind.empty() ? "missing" : gguf::printable(kind));
  }
  SHUNT_ASSIGN(const std::string type, file.get_string("adapter.type"));
  if (type != "lora") {
    return fail(ErrorCode::kUnsupported, "{}: adapter.type is {}; Shunt has adapters of type lora",
                file.path(), gguf::printable(type));
  }
  SHUNT_ASSIGN(const std::string own, file.get_string("general.architecture"));
  if (own != architecture) {
    return fail(ErrorCode::kBadFile,
                "{}: the adapter is for models of architecture {}, but the model's is {}",
                file.path(), gguf::printable(own), architecture);
  }
  for (const gguf::KeyValue& entry : file.metadata()) {
    if (!entry.key.starts_with(kPrefix) || std::ranges::count(kKeys, entry.key) > 0) continue;
    return fail(ErrorCode::kUnsupported,
                "{}: Shunt does not use {} of an adapter, so it would compute another model",
                file.path(), entry.key);
  }
  return ok();
}

Result<double> read_alpha(const gguf::File& file) {
  SHUNT_ASSIGN(const double alpha, file.get_number("adapter.lora.alpha"));
  if (std::isfinite(alpha) && alpha != 0) return alpha;
  return fail(ErrorCode::kBadFile,
              "{}: adapter.lora.alpha is {}; it must be a finite number other than 0", file.path(),
              alpha);
}

Result<std::vector<AdapterPair>> read_pairs(const gguf::File& file) {
  std::vector<AdapterPair> pairs;
  std::map<std::string_view, std::size_t> known;
  for (const gguf::TensorInfo& info : file.tensors()) {
    const std::string_view name = info.name;
    const bool is_a = name.ends_with(kA);
    if (!is_a && !name.ends_with(kB)) {
      return fail(ErrorCode::kUnsupported,
                  "{}: tensor {} is no part of an adapter: names end with {} or {}", file.path(),
                  info.name, kA, kB);
    }
    if (trait(info.tensor.dtype).integer) {
      return fail(ErrorCode::kUnsupported,
                  "{}: tensor {} is {}; matrices of adapters are of "
                  "numbers with fractions",
                  file.path(), info.name, to_string(info.tensor));
    }
    const std::string_view weight = name.substr(0, name.size() - kA.size());
    const auto [at, is_new] = known.try_emplace(weight, pairs.size());
    if (is_new) pairs.push_back({.weight = std::string(weight)});
    (is_a ? pairs[at->second].a : pairs[at->second].b) = &info;
  }
  if (pairs.empty())
    return fail(ErrorCode::kBadFile, "{}: the adapter has no tensors", file.path());
  for (const AdapterPair& pair : pairs) {
    if (pair.a != nullptr && pair.b != nullptr) continue;
    const std::string_view missing = pair.a == nullptr ? kA : kB;
    return fail(ErrorCode::kBadFile, "{}: tensor {}{} is missing, but {}{} is there", file.path(),
                pair.weight, missing, pair.weight, missing == kA ? kB : kA);
  }
  return pairs;
}

}  // namespace

Result<AdapterFile> AdapterFile::open(const std::string& path, std::string_view architecture) {
  SHUNT_ASSIGN(gguf::File file, gguf::File::open(path));
  SHUNT_TRY(check_kind(file, architecture));
  AdapterFile made{.file = file, .info = {}, .pairs = {}};
  made.info.path = path;
  SHUNT_ASSIGN(made.info.name, file.get_string_or("general.name", ""));
  SHUNT_ASSIGN(made.info.alpha, read_alpha(file));
  SHUNT_ASSIGN(made.pairs, read_pairs(made.file));
  made.info.weights = made.pairs.size();
  for (const AdapterPair& pair : made.pairs) {
    made.info.rank = std::max(made.info.rank, pair.rank());
    if (pair.rank() >= 1 && pair.rank() <= kMostRank) continue;
    return fail(ErrorCode::kBadFile, "{}: tensor {} has rank {}; it may be from 1 to {}", path,
                pair.b->name, pair.rank(), kMostRank);
  }
  return made;
}

std::string name_of_all(std::span<const AdapterFile> files) {
  const std::string& first = files.front().info.path;
  return files.size() == 1 ? first : fmt::format("{} and {} more", first, files.size() - 1);
}

}  // namespace shunt
