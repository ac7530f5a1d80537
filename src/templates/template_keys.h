#pragma once

#include <string_view>

namespace tilewright {

// Prefixes of template keys. Keys of built-in templates have no '/', those of plugins have another
// prefix (src/base/plugin_key.h).

inline constexpr std::string_view kScheduleKeyPrefix = "schedule/";
inline constexpr std::string_view kOpenTaskKeyPrefix = "open/";

/// Whether a template's key is that of a schedule text.
inline bool IsScheduleTextKey(std::string_view key) { return key.starts_with(kScheduleKeyPrefix); }

/// Whether a template's key is that of an open task.
inline bool IsOpenTaskKey(std::string_view key) { return key.starts_with(kOpenTaskKeyPrefix); }

}  // namespace tilewright
