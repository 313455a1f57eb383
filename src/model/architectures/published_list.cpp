#include "model/architectures/published_list.h"

namespace shunt {

namespace {

#define SHUNT_NAME(name) publish_##name,
constexpr std::vector<Published> (*kPublishers[])() = {SHUNT_PUBLISHERS(SHUNT_NAME)};
#undef SHUNT_NAME

/// Whether a name is one of those in a list separated by "|".
bool is_among(std::string_view name, std::string_view list) {
  while (!list.empty()) {
    const std::size_t end = list.find('|');
    if (list.substr(0, end) == name) return true;
    list = end == std::string_view::npos ? std::string_view() : list.substr(end + 1);
  }
  return false;
}

}  // namespace

std::span<const Published> published_models() {
  static const std::vector<Published> models = [] {
    std::vector<Published> all;
    for (const auto& make : kPublishers) {
      for (Published& model : make()) all.push_back(std::move(model));
    }
    return all;
  }();
  return models;
}

const Published* find_published(std::string_view type,
                                const std::function<bool(std::string_view flag)>& is_true) {
  const Published* usual = nullptr;
  for (const Published& model : published_models()) {
    if (!is_among(type, model.types)) continue;
    if (model.only_with.empty()) {
      usual = &model;
    } else if (is_true(model.only_with)) {
      return &model;
    }
  }
  return usual;
}

}  // namespace shunt
