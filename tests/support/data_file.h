#pragma once

#include <cstdlib>
#include <string>

#include "src/base/files/file.h"

namespace tilewright {

/// Path of a file that tests read: one of our own (tests/fixtures/data, made by
/// bench/peers/own_data.py) or, where there is none of that name, one of the shared data, which may
/// not be there: what needs those is left out by name then (tests/CMakeLists.txt).
inline std::string DataFile(const std::string& file) {
  const std::string own = std::string(TILEWRIGHT_SOURCE_DIR "/tests/fixtures/data/") + file;
  if (FileExists(own)) return own;
  const char* folder = std::getenv("TILEWRIGHT_SHARED");
  return std::string(folder != nullptr ? folder : TILEWRIGHT_SOURCE_DIR "/../shared") + "/data/" +
         file;
}

}  // namespace tilewright
