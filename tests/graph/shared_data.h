#pragma once

#include "tests/support/data_file.h"

namespace tilewright {

inline std::string SharedData(const std::string& file) { return DataFile(file); }

}  // namespace tilewright

/// Skips the test with a message that names the file if the file does not exist.
#define TW_NEEDS_FILE(path) \
  if (!::tilewright::FileExists(path)) GTEST_SKIP() << "needs " << (path)
