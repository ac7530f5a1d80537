#include "src/base/files/folder.h"

#include <filesystem>
#include <system_error>

namespace tilewright {

Status MakeFolder(const std::string& path) {
  std::error_code failed;
  std::filesystem::create_directories(path, failed);
  return failed ? Unavailable(path + ": cannot be made: " + failed.message()) : Status();
}

}  // namespace tilewright
