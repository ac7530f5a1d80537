#pragma once

#include <string>
#include <vector>

#include "records/exchange/t4_export.h"
#include "records/exchange/t4_import.h"

namespace tilewright::records {

/// Imports several T4 files; if one is refused, none is imported. Returns the import of each.
/// Errors: those of ImportT4. After an error of writing, files before it may be imported.
Result<std::vector<T4Import>> ImportT4Files(Store& store, const std::vector<std::string>& files,
                                            const T4ImportOptions& options);

/// Returns a space as the contents of a file. format: "t4", "t1" (space of a program) or
/// "cachefile" (of Kernel Tuner).
/// Errors: kInvalidArgument for a task without a T1 file; those of ToCacheFile.
Result<std::string> T4FileText(const T4Space& space, const std::string& format);

/// Writes each space to a file of its own in a folder, which is made, or the only one to a file;
/// compressed if its name ends in .gz. output: a folder if it exists as one or ends with '/'.
/// Errors: those of T4FileText and of writing; kInvalidArgument for several spaces and no folder.
Status WriteT4Files(const T4Export& exported, const std::string& format, const std::string& output);

}  // namespace tilewright::records
