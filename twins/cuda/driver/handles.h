// Handles that programs hold. A handle is a number that is never given out again, so that a null,
// foreign, made-up or freed one is noticed.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace cuda_twin {

/// The objects of one kind. Thread-safe. `T` may be incomplete.
template <class T>
class Handles {
 public:
  /// `kind` differs between tables, so that an event is no stream.
  explicit Handles(std::uint64_t kind) : kind_(kind) {}

  std::uint64_t add(std::shared_ptr<T> object) {
    const std::lock_guard lock(mutex_);
    const std::uint64_t handle = kind_ << 44 | ++serial_ << 4;
    objects_.emplace(handle, std::move(object));
    return handle;
  }
  /// Null if there is no such object.
  std::shared_ptr<T> find(std::uint64_t handle) const {
    const std::lock_guard lock(mutex_);
    const auto at = objects_.find(handle);
    return at == objects_.end() ? nullptr : at->second;
  }
  std::shared_ptr<T> find(const void* handle) const {
    return find(reinterpret_cast<std::uint64_t>(handle));
  }
  /// The object, and its handle is forgotten. Null if there is no such object.
  std::shared_ptr<T> take(std::uint64_t handle) {
    const std::lock_guard lock(mutex_);
    const auto at = objects_.find(handle);
    if (at == objects_.end()) return nullptr;
    std::shared_ptr<T> object = std::move(at->second);
    objects_.erase(at);
    return object;
  }
  std::shared_ptr<T> take(const void* handle) {
    return take(reinterpret_cast<std::uint64_t>(handle));
  }
  std::vector<std::shared_ptr<T>> all() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<T>> list;
    list.reserve(objects_.size());
    for (const auto& [handle, object] : objects_) list.push_back(object);
    return list;
  }
  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return objects_.size();
  }
  void clear() {
    std::unordered_map<std::uint64_t, std::shared_ptr<T>> objects;
    const std::lock_guard lock(mutex_);
    objects.swap(objects_);  // the objects go when the lock is open again
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::shared_ptr<T>> objects_;
  std::uint64_t kind_;
  std::uint64_t serial_ = 0;
};

/// The handle of an object as its C type: as_handle<CUstream>(stream.handle).
template <class Handle>
Handle as_handle(std::uint64_t value) {
  return reinterpret_cast<Handle>(value);
}

}  // namespace cuda_twin
