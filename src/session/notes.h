#pragma once

#include <functional>
#include <string>
#include <vector>

namespace tilewright::session {

/// Receives notes for the user: one message each, without an end of line, already printable
/// (src/base/format_printable.h). Called on the thread that called the library.
using NoteSink = std::function<void(const std::string&)>;

/// Drops every note.
inline void IgnoreNote(const std::string& /*text*/) {}

/// Passes on the notes of one source, "note: HEAD: TEXT" each. Texts that differ only in names in
/// quotation marks are one note: the first of them, with their number. Texts are escaped here.
void NoteAlike(const std::string& head, const std::vector<std::string>& texts,
               const NoteSink& note);

/// Returns a sink that passes on each note once. Copies share what they have passed on.
NoteSink EachNoteOnce(NoteSink note);

}  // namespace tilewright::session
