#pragma once

#include <optional>
#include <string>

#include "records/imported.h"
#include "src/base/status.h"
#include "src/space/trial.h"
#include "src/target/target.h"

namespace tilewright::records {

/// Returns true if a target has the kind of `asked` and every option of it.
bool IsTarget(const Target& target, const Target& asked);

/// Selection of trials and imported records by target and task.
class Selection {
 public:
  /// Selects everything.
  Selection() = default;
  /// target: as IsTarget compares; empty: any. task: a workload key, an AutoTVM tuple, or the name
  /// of an operator ("conv2d") or of a template ("conv2d_nchw.cuda"); empty: any. Errors:
  /// kInvalidArgument as "--target: …" and "--task: …".
  static Result<Selection> Parse(const std::string& target, const std::string& task);

  bool Includes(const ImportedRecord& record) const;
  bool Includes(const Candidate& candidate) const;
  bool all() const { return !target_ && name_.empty() && key_.empty() && tuple_.empty(); }

 private:
  std::optional<Target> target_;
  std::string name_;         // of an operator or a template
  std::string key_, tuple_;  // of one task: either may be empty
};

}  // namespace tilewright::records
