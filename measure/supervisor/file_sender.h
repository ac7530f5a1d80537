#pragma once

#include <set>
#include <string>

#include "measure/messages.h"

namespace tilewright::measure {

/// Files sent to a runner on another machine, which keeps them in a folder of its own
/// (FileReceiver). One object per runner. Included by .cc files of measure/ only.
class FileSender {
 public:
  /// Returns the lines to be written before the order: every file of it that the runner lacks.
  /// The order then names no files of this machine.
  /// Errors: those of reading a file.
  Result<std::string> EncodeMissingFiles(RunOrder& order);
  /// Call when the connection is lost.
  void Forget() { sent_.clear(); }

 private:
  std::set<std::string> sent_;  // references: the runner keeps them; artifacts are used once
};

}  // namespace tilewright::measure
