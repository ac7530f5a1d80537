#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "records/autotvm/export.h"
#include "records/autotvm/import.h"
#include "records/exchange/t4_export.h"
#include "records/exchange/t4_import.h"

// Imports of records from files of other tuners, and exports to them.

namespace tilewright::report {

/// An imported AutoTVM log or TopHub package. dry_run: nothing was stored.
nlohmann::ordered_json ImportedFileJson(const records::ImportedFile& file);
std::string ImportedFileText(const records::ImportedFile& file, bool dry_run);
/// Returns the first rejected lines of a log with their reasons, and the number of the others; or
/// that the file is no log.
std::string ImportRefusalsText(const records::ImportedFile& file);
/// Returns the words that ImportedFileText uses about records, each with its meaning.
std::string ImportFlagsText();

/// An imported T4 file.
nlohmann::ordered_json T4ImportJson(const std::string& file, const records::T4Import& import);
std::string T4ImportText(const std::string& file, const records::T4Import& import, bool dry_run);

/// An export of T4 files.
nlohmann::ordered_json T4ExportJson(const records::T4Export& exported);
std::string T4ExportText(const records::T4Export& exported);

/// An export of an AutoTVM log.
nlohmann::ordered_json AutotvmExportJson(const records::AutotvmExportReport& exported);
/// Returns what is left out, by reason, and tasks whose best record is. best: the log has the best
/// records only.
std::string AutotvmLeftText(const records::AutotvmExportReport& exported, bool best);

}  // namespace tilewright::report
