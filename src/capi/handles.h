#pragma once

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>

#include "src/base/status.h"

namespace tilewright::capi {

/// Live objects of one opaque type. A pointer from a caller is only compared with them, so that one
/// that was freed, or never existed, is an error. Thread-safe: an object that is freed while
/// another thread uses it lives until that call ends.
template <typename Object>
class Handles {
 public:
  /// Table of this type, never destroyed: threads may be in calls while the process exits.
  static Handles& Table() {
    static Handles& table = *new Handles;  // NOLINT: see above
    return table;
  }

  Object* Add(std::shared_ptr<Object> object) {
    Object* handle = object.get();
    const std::unique_lock lock(mutex_);
    objects_.emplace(handle, std::move(object));
    return handle;
  }
  /// Returns null if there is no such object.
  std::shared_ptr<Object> Find(const Object* handle) const {
    const std::shared_lock lock(mutex_);
    const auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second;
  }
  /// what: name of the type, for messages. Errors: kInvalidArgument.
  Result<std::shared_ptr<Object>> Get(const Object* handle, const char* what) const {
    if (handle == nullptr) return InvalidArgument(std::string("the ") + what + " is null");
    std::shared_ptr<Object> object = Find(handle);
    if (object != nullptr) return object;
    return InvalidArgument(std::string("the ") + what + " does not exist, or was freed");
  }
  void Remove(const Object* handle) {
    std::shared_ptr<Object> removed;  // destroyed without the lock
    const std::unique_lock lock(mutex_);
    const auto found = objects_.find(handle);
    if (found == objects_.end()) return;
    removed = std::move(found->second);
    objects_.erase(found);
  }

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<const Object*, std::shared_ptr<Object>> objects_;
};

}  // namespace tilewright::capi
