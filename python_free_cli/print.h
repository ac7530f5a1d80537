#pragma once

#include <fmt/format.h>

#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <utility>

// The only way that text gets to standard output and standard error: what a terminal obeys becomes
// `?` (see Printable), whatever store, package, model or log it comes from.

namespace tilewright::cli {

/// To standard output. Throws what fmt::print throws if it cannot be written.
void WriteText(std::string_view text);
/// To standard error; what cannot be written is lost: no message is worth a job.
void WriteMessage(std::string_view text);
/// To standard error as it is, to move the cursor of a terminal; texts of others are in it as
/// Printable makes them.
void WriteToTerminal(std::string_view text);

template <typename... Args>
void PrintOut(fmt::format_string<Args...> format, Args&&... args) {
  WriteText(fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void PrintErr(fmt::format_string<Args...> format, Args&&... args) {
  WriteMessage(fmt::format(format, std::forward<Args>(args)...));
}

/// To standard output, on one line. What a terminal obeys is escaped, which means the same.
void PrintJson(const nlohmann::ordered_json& json);
/// The same of JSON that is text already.
void PrintJsonText(std::string_view json);

}  // namespace tilewright::cli
