#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tilewright {

/// Error code by the caller's next action.
enum class StatusCode : std::uint8_t {
  kOk = 0,
  kInvalidArgument,  ///< fix the input
  kNotFound,         ///< fall back
  kUnsupported,      ///< choose another way
  kCorrupt,          ///< stop, keep the file
  kUnavailable,      ///< retry
  kInternal,         ///< report it
};

/// Returns the name of a code in lower case, such as "invalid argument".
std::string_view StatusCodeName(StatusCode code);

/// Outcome of an operation that can fail. A message names the item, the actual value and the
/// expected value, in lower case and without a full stop.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }
  /// Returns the same failure with "context: " before its message; an ok status unchanged.
  Status WithContext(std::string_view context) const;
  friend bool operator==(const Status&, const Status&) = default;

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

inline Status InvalidArgument(std::string message) {
  return {StatusCode::kInvalidArgument, std::move(message)};
}
inline Status NotFound(std::string message) { return {StatusCode::kNotFound, std::move(message)}; }
inline Status Unsupported(std::string message) {
  return {StatusCode::kUnsupported, std::move(message)};
}
inline Status Corrupt(std::string message) { return {StatusCode::kCorrupt, std::move(message)}; }
inline Status Unavailable(std::string message) {
  return {StatusCode::kUnavailable, std::move(message)};
}
inline Status Internal(std::string message) { return {StatusCode::kInternal, std::move(message)}; }

[[noreturn]] void CheckFailed(const char* file, int line, const char* condition,
                              std::string_view message = {});

/// Asserts a condition, in release builds too: if it is false, prints condition, location and
/// message, then aborts.
#define TW_CHECK(condition, ...)                                                            \
  do {                                                                                      \
    if (!(condition))                                                                       \
      ::tilewright::CheckFailed(__FILE__, __LINE__, #condition __VA_OPT__(, ) __VA_ARGS__); \
  } while (false)

/// Value, or the Status of a failure.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT: implicit by design
  Result(Status status) : status_(std::move(status)) {  // NOLINT: implicit by design
    TW_CHECK(!status_.ok());
  }
  template <typename U>
  requires(std::is_convertible_v<U&&, T> && !std::is_same_v<std::decay_t<U>, T> &&
           !std::is_same_v<std::decay_t<U>, Status> && !std::is_same_v<std::decay_t<U>, Result>)
      Result(U&& value)
      : value_(std::forward<U>(value)) {}  // NOLINT: implicit by design

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  T& operator*() & { return Get(); }
  const T& operator*() const& { return const_cast<Result*>(this)->Get(); }
  T&& operator*() && { return std::move(Get()); }
  T* operator->() { return &Get(); }
  const T* operator->() const { return &const_cast<Result*>(this)->Get(); }

 private:
  T& Get() {
    TW_CHECK(value_.has_value(), status_.message());
    return *value_;
  }
  std::optional<T> value_;
  Status status_;
};

inline const Status& ToStatus(const Status& status) { return status; }
template <typename T>
const Status& ToStatus(const Result<T>& result) {
  return result.status();
}

/// Returns from the enclosing function with the status of `expression` (a Status or a Result)
/// unless it is ok.
#define TW_RETURN_IF_ERROR(expression)                           \
  do {                                                           \
    if (const auto& tw_status_ = (expression); !tw_status_.ok()) \
      return ::tilewright::ToStatus(tw_status_);                 \
  } while (false)

/// Evaluates an expression that yields a Result. On failure, returns its status from the enclosing
/// function; otherwise moves its value into `declaration`, a new variable ("auto x", "const Graph
/// graph") or an assignable one ("member_"). Expands to two statements: requires a surrounding
/// block. Example: TW_ASSIGN_OR_RETURN(auto graph, LoadGraph(path));
#define TW_ASSIGN_OR_RETURN(declaration, ...) \
  TW_ASSIGN_OR_RETURN_AS_(TW_CONCAT_(tw_result_, __LINE__), declaration, __VA_ARGS__)
#define TW_ASSIGN_OR_RETURN_AS_(result, declaration, ...) \
  auto result = (__VA_ARGS__);                            \
  TW_RETURN_IF_ERROR(result);                             \
  declaration = *std::move(result)
#define TW_CONCAT_(a, b) TW_CONCAT_AGAIN_(a, b)
#define TW_CONCAT_AGAIN_(a, b) a##b

}  // namespace tilewright
