// namespace(): the only value that a template can change.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "text/jinja/object.h"

namespace shunt::text::jinja {

class NamespaceObject final : public Object {
 public:
  std::string_view type_name() const override { return "Namespace"; }
  std::optional<Value> attribute(Run&, std::string_view name) override {
    const auto found = attributes_.find(name);
    if (found == attributes_.end()) return std::nullopt;
    return found->second;
  }
  void set(std::string_view name, Value value) {
    const auto found = attributes_.find(name);
    if (found == attributes_.end()) {
      attributes_.emplace(name, std::move(value));
    } else {
      found->second = std::move(value);
    }
  }
  void release() override { attributes_.clear(); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const {
      return std::hash<std::string_view>()(name);
    }
  };
  std::unordered_map<std::string, Value, Hash, std::equal_to<>> attributes_;
};

}  // namespace shunt::text::jinja
