// Objects that the backends of one registry share (Options::shared).
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "shunt/error.h"

namespace shunt {

class SharedParts {
 public:
  /// The object of that name. If no backend holds it, make() gives a new one: a
  /// Result<std::shared_ptr<T>>. A name always has the same type. From any thread.
  template <class T, class Make>
  Result<std::shared_ptr<T>> find_or_make(const std::string& name, const Make& make) {
    const std::lock_guard lock(mutex_);
    std::weak_ptr<void>& known = parts_[name];
    if (auto part = std::static_pointer_cast<T>(known.lock())) return part;
    Result<std::shared_ptr<T>> made = make();
    if (made) known = *made;
    return made;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<void>> parts_;  // kept alive by backends only
};

}  // namespace shunt
