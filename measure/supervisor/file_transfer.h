#pragma once

#include <set>
#include <string>
#include <vector>

#include "measure/messages.h"
#include "src/base/files/file.h"
#include "src/base/files/locked_temp_dir.h"

// A runner on another machine: its supervisor sends the files that orders name, and it keeps them
// in a folder of its own. Included by .cc files of measure/ only.

namespace tilewright::measure {

/// The supervisor's side. One object per runner; Forget when its connection is lost.
class FileSender {
 public:
  /// Lines to be written before the order: every file of it the runner has not got yet. From then
  /// on the order names no files of this machine.
  /// Errors: those of reading a file.
  Result<std::string> EncodeMissingFiles(RunOrder& order);
  void Forget() { sent_.clear(); }

 private:
  std::set<std::string> sent_;  // references: they are kept there; artifacts are used once
};

/// The runner's side.
class FileReceiver {
 public:
  /// Errors: kCorrupt for a name that is no plain file name, or a part that does not follow the one
  /// before; kUnavailable if it cannot be written.
  Status Receive(const FileChunk& part);
  /// Where the file of an order is: received ones have names without a slash.
  std::string PathOf(const std::string& name) const;
  /// Removes a received file; does nothing to others.
  void Remove(const std::string& name) const;

 private:
  std::optional<LockedTempDir> folder_;
  std::string open_;  // name of the file whose parts are coming
};

}  // namespace tilewright::measure
