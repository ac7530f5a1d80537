#pragma once

#include <cstddef>
#include <utility>

namespace tilewright {

template <typename Signature>
class Callback;

/// Reference to a function, or to a function and an object passed in addition to its arguments.
/// Owns nothing: the object must outlive it. Usable in rows of constant tables.
template <typename Returned, typename... Arguments>
class Callback<Returned(Arguments...)> {
 public:
  using Function = Returned (*)(Arguments...);
  using OfObject = Returned (*)(const void* object, Arguments...);

  constexpr Callback() = default;
  constexpr Callback(std::nullptr_t) {}                           // NOLINT: like a pointer
  constexpr Callback(Function function) : function_(function) {}  // NOLINT: like a pointer
  constexpr Callback(const void* object, OfObject function)
      : object_(object), of_object_(function) {}

  Returned operator()(Arguments... arguments) const {
    if (of_object_ != nullptr) return of_object_(object_, std::forward<Arguments>(arguments)...);
    return function_(std::forward<Arguments>(arguments)...);
  }
  friend constexpr bool operator==(const Callback& callback, std::nullptr_t) {
    return callback.function_ == nullptr && callback.of_object_ == nullptr;
  }

 private:
  Function function_ = nullptr;
  const void* object_ = nullptr;
  OfObject of_object_ = nullptr;
};

}  // namespace tilewright
