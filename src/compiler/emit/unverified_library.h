#pragma once

#include <string>

#include "src/base/files/scoped_temp_path.h"
#include "src/base/status.h"

namespace tilewright {

/// Library, and parameter file of a bundle, during their check. They are in a folder beside their
/// final place, because the library's soname is its file name and the parameter file must be beside
/// it. Unfinished files are removed.
class UnverifiedLibrary {
 public:
  /// parameter_path: empty without a parameter file.
  UnverifiedLibrary(const std::string& library_path, const std::string& parameter_path);
  /// Call it before the first of the files is written. Errors: kUnavailable if the folder cannot be
  /// created.
  Status MakeFolder() const;
  const std::string& path() const { return library_.path(); }
  const std::string& parameter_path() const { return parameters_.path(); }
  /// Moves both to their names. Errors: those of ScopedTempPath::MoveTo.
  Status Finish();

 private:
  std::string library_path_, parameter_path_;
  ScopedTempPath folder_, library_, parameters_;
};

}  // namespace tilewright
