#pragma once

#include <functional>
#include <string>

namespace tilewright::session {

/// Receives notes for the user: one message each, without an end of line, already printable
/// (src/base/format_printable.h). Called on the thread that called the library.
using NoteSink = std::function<void(const std::string&)>;

/// Drops every note.
inline void IgnoreNote(const std::string& /*text*/) {}

}  // namespace tilewright::session
