#pragma once

#include <optional>
#include <string>

#include "measure/messages.h"
#include "src/base/files/locked_temp_dir.h"

namespace tilewright::measure {

/// Receiver of files from a supervisor on another machine (FileSender), in a folder of this
/// process. Included by .cc files of measure/ only.
class FileReceiver {
 public:
  /// Errors: kCorrupt for a name that is not a plain file name, or a part that does not continue
  /// the previous one; kUnavailable if writing fails.
  Status Receive(const FileChunk& part);
  /// Returns the path of an order's file: received files have names without a slash.
  std::string PathOf(const std::string& name) const;
  /// Removes a received file; ignores others.
  void Remove(const std::string& name) const;

 private:
  std::optional<LockedTempDir> folder_;
  std::string open_;  // name of the file of the last part
};

}  // namespace tilewright::measure
