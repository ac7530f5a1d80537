#include "src/capi/boundary.h"

#include <algorithm>
#include <array>
#include <string>

namespace tilewright::capi {

static_assert(static_cast<int>(StatusCode::kInvalidArgument) == TW_INVALID_ARGUMENT);
static_assert(static_cast<int>(StatusCode::kNotFound) == TW_NOT_FOUND);
static_assert(static_cast<int>(StatusCode::kUnsupported) == TW_UNSUPPORTED);
static_assert(static_cast<int>(StatusCode::kCorrupt) == TW_CORRUPT);
static_assert(static_cast<int>(StatusCode::kUnavailable) == TW_UNAVAILABLE);
static_assert(static_cast<int>(StatusCode::kInternal) == TW_INTERNAL);

tw_code CodeOf(StatusCode code) { return static_cast<tw_code>(code); }

tw_code Report(tw_error* error, tw_code code, std::string_view message) noexcept {
  constexpr std::size_t kMessage = offsetof(tw_error, message);
  if (error == nullptr || error->struct_size <= kMessage) return code;
  error->code = code;
  const std::size_t most = error->struct_size - kMessage - 1;
  std::size_t size = 0;
  bool blank = false;  // before the next character: a line break and the indentation after it
  for (const char c : message) {
    const bool breaks = c == '\n' || (blank && c == ' ');
    if (blank && !breaks && size > 0 && size < most) error->message[size++] = ' ';
    blank = breaks;
    if (breaks) continue;
    if (size == most) break;
    error->message[size++] = c;
  }
  error->message[size] = '\0';
  return code;
}

tw_code WriteText(std::string_view text, char* buffer, std::size_t capacity, std::size_t* needed,
                  tw_error* error) noexcept {
  if (needed != nullptr) *needed = text.size() + 1;
  if (buffer == nullptr) {
    if (needed == nullptr) return Report(error, TW_INVALID_ARGUMENT, "buffer and needed are null");
    return Report(error, TW_OK, {});
  }
  if (capacity < text.size() + 1) {
    return Report(error, TW_TOO_SMALL, "the buffer is too small");
  }
  text.copy(buffer, text.size());
  buffer[text.size()] = '\0';
  return Report(error, TW_OK, {});
}

}  // namespace tilewright::capi

extern "C" {

// Current version of the interface; raised with every addition to the header.
uint32_t tw_api_version(void) noexcept { return TW_API_VERSION; }

const char* tw_version(void) noexcept { return TILEWRIGHT_VERSION; }

const char* tw_code_name(tw_code code) noexcept {
  static constexpr std::array kNames = {
      "ok",          "invalid argument", "not found",
      "unsupported", "corrupt",          "unavailable",
      "internal",    "no memory",        "the buffer is too small"};
  if (code < 0 || static_cast<std::size_t>(code) >= kNames.size()) return "unknown code";
  return kNames[static_cast<std::size_t>(code)];
}

const char* tw_kind_name(tw_kind kind) noexcept {
  static constexpr std::array kNames = {"hit", "near", "model", "default", "miss"};
  if (kind < 0 || static_cast<std::size_t>(kind) >= kNames.size()) return "unknown kind";
  return kNames[static_cast<std::size_t>(kind)];
}

}  // extern "C"
