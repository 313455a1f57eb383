// Objects that a program knows by a pointer: a handle that was never given out, or is destroyed,
// is found to be so.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace ascend_twin {

template <class Object>
class Handles {
 public:
  /// The handle is the object's address.
  Object* add(std::shared_ptr<Object> object) {
    const std::lock_guard lock(mutex_);
    Object* const handle = object.get();
    objects_[handle] = std::move(object);
    return handle;
  }
  /// Null if there is no such live object.
  std::shared_ptr<Object> find(const void* handle) const {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second;
  }
  std::shared_ptr<Object> remove(const void* handle) {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(handle);
    if (found == objects_.end()) return nullptr;
    std::shared_ptr<Object> object = std::move(found->second);
    objects_.erase(found);
    return object;
  }
  std::vector<std::shared_ptr<Object>> all() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<Object>> live;
    live.reserve(objects_.size());
    for (const auto& [handle, object] : objects_) live.push_back(object);
    return live;
  }
  void clear() {
    std::map<const void*, std::shared_ptr<Object>> dropped;  // destructors run without the lock
    const std::lock_guard lock(mutex_);
    dropped.swap(objects_);
  }

 private:
  mutable std::mutex mutex_;
  std::map<const void*, std::shared_ptr<Object>> objects_;
};

}  // namespace ascend_twin
