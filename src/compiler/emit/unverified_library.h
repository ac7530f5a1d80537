#pragma once

#include <string>

#include "src/base/files/scoped_temp_path.h"
#include "src/base/status.h"

namespace tilewright {

/// A library, and the parameter file of a bundle, that nobody is to find before they were checked:
/// in a folder beside their place, as the library's own name for itself is that of its file and the
/// parameters have to lie beside it. What is not finished is removed.
class UnverifiedLibrary {
 public:
  /// parameter_path: empty without a parameter file.
  UnverifiedLibrary(const std::string& library_path, const std::string& parameter_path);
  /// Before the first of the files is written. Errors: kUnavailable if the folder cannot be made.
  Status MakeFolder() const;
  const std::string& path() const { return library_.path(); }
  const std::string& parameter_path() const { return parameters_.path(); }
  /// Gives both their names. Errors: those of Unfinished::MoveTo.
  Status Finish();

 private:
  std::string library_path_, parameter_path_;
  ScopedTempPath folder_, library_, parameters_;
};

}  // namespace tilewright
