#pragma once

#include <set>
#include <string>

#include "measure/messages.h"

namespace tilewright::measure {

/// Sender of files to a runner on another machine, which keeps them in its own folder
/// (FileReceiver). One object per runner. Included by .cc files of measure/ only.
class FileSender {
 public:
  /// Returns the lines to write before the order: each of its files that the runner lacks. Replaces
  /// the file names of this machine in the order. Errors: those of reading a file.
  Result<std::string> EncodeMissingFiles(RunOrder& order);
  /// Forgets what was sent. Call it when the connection is lost.
  void Forget() { sent_.clear(); }

 private:
  std::set<std::string> sent_;  // references: the runner keeps them; artifacts are used once
};

}  // namespace tilewright::measure
