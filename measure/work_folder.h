#pragma once

#include <string>

#include "src/base/file.h"
#include "src/base/status.h"

namespace tilewright::measure {

/// The temporary folder of one measurer. Its owner holds a lock on it, which goes with the process:
/// whose folder it is shows in other containers that see it too, where process ids mean nothing.
class WorkFolder {
 public:
  /// Also removes the folders of measurers that were killed.
  /// Errors: kUnavailable if no folder can be made.
  static Result<WorkFolder> Create();
  /// Removes the folders in `root` that have no owner any more.
  static void RemoveAbandoned(const std::string& root);

  WorkFolder(WorkFolder&& other) noexcept;
  WorkFolder& operator=(WorkFolder&&) = delete;
  ~WorkFolder();
  const std::string& path() const { return folder_.path(); }

 private:
  WorkFolder(TemporaryFolder folder, int lock) : lock_(lock), folder_(std::move(folder)) {}

  int lock_;  ///< descriptor of the folder
  TemporaryFolder folder_;
};

}  // namespace tilewright::measure
