#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tilewright {

/// Returns a number with its noun: "1 task", "12 tasks", "0 entries". noun: singular, of a regular
/// plural; if it has several words, the last one is inflected.
std::string Counted(std::int64_t count, std::string_view noun);

/// Returns the noun for a number: "task", "tasks".
std::string NounFor(std::int64_t count, std::string_view noun);

}  // namespace tilewright
