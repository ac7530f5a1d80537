#include "src/compiler/emit/unverified_library.h"

#include <filesystem>

#include "src/base/files/temp_name.h"

namespace tilewright {
namespace {

ScopedTempPath FileIn(const std::string& folder, const std::string& path) {
  return ScopedTempPath(folder + "/" + std::filesystem::path(path).filename().string());
}

}  // namespace

UnverifiedLibrary::UnverifiedLibrary(const std::string& library_path,
                                     const std::string& parameter_path)
    : library_path_(FileToReplace(library_path).value_or(library_path)),
      parameter_path_(parameter_path),
      folder_(UniqueTempName(library_path_, ".unverified")),
      library_(FileIn(folder_.path(), library_path)) {
  if (!parameter_path.empty()) parameters_ = FileIn(folder_.path(), parameter_path);
}

Status UnverifiedLibrary::MakeFolder() const {
  const Status made = CreateNewFolder(folder_.path());
  if (made.ok()) return made;
  // The folder is internal: the error must name the library.
  const std::size_t reason = made.message().rfind(": ");
  return Status(made.code(),
                library_path_ + ": cannot be written" +
                    (reason == std::string::npos ? "" : made.message().substr(reason)));
}

Status UnverifiedLibrary::Finish() {
  if (!parameter_path_.empty()) TW_RETURN_IF_ERROR(parameters_.MoveTo(parameter_path_));
  return library_.MoveTo(library_path_);
}

}  // namespace tilewright
