#pragma once

#include <cstdlib>
#include <string>

#include "src/base/files/file.h"

namespace tilewright {

/// Returns the path of a data file of tests: in tests/fixtures/data (created by
/// bench/peers/own_data.py) or, if no file of that name exists there, in the shared data. The
/// shared data may be absent: then tests/CMakeLists.txt excludes the tests that need it by name.
inline std::string DataFile(const std::string& file) {
  const std::string own = std::string(TILEWRIGHT_SOURCE_DIR "/tests/fixtures/data/") + file;
  if (FileExists(own)) return own;
  const char* folder = std::getenv("TILEWRIGHT_SHARED");
  return std::string(folder != nullptr ? folder : TILEWRIGHT_SOURCE_DIR "/../shared") + "/data/" +
         file;
}

}  // namespace tilewright
