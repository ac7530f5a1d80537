#pragma once

#include <cstdlib>
#include <string>

namespace tilewright {

/// Path of a file of the shared data; the tests that need one are skipped where it is absent.
inline std::string SharedData(const std::string& file) {
  const char* folder = std::getenv("TILEWRIGHT_SHARED");
  return std::string(folder != nullptr ? folder : TILEWRIGHT_SOURCE_DIR "/../shared") + "/data/" +
         file;
}

}  // namespace tilewright

/// Skips the test, naming the file, unless it is there.
#define TW_NEEDS_FILE(path) \
  if (!::tilewright::FileExists(path)) GTEST_SKIP() << "needs " << (path)
