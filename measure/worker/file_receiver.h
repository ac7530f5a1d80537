#pragma once

#include <optional>
#include <string>

#include "measure/messages.h"
#include "src/base/files/locked_temp_dir.h"

namespace tilewright::measure {

/// Files that a supervisor on another machine sent (FileSender), in a folder of this process.
/// Included by .cc files of measure/ only.
class FileReceiver {
 public:
  /// Errors: kCorrupt for a name that is no plain file name, or a part that does not follow the one
  /// before; kUnavailable if it cannot be written.
  Status Receive(const FileChunk& part);
  /// Path of a file of an order: received ones have names without a slash.
  std::string PathOf(const std::string& name) const;
  /// Removes a received file; does nothing to others.
  void Remove(const std::string& name) const;

 private:
  std::optional<LockedTempDir> folder_;
  std::string open_;  // name of the file of the last part
};

}  // namespace tilewright::measure
