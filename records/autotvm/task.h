#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "records/autotvm/log_line.h"
#include "records/autotvm/value.h"
#include "src/base/status.h"
#include "src/target/target.h"
#include "src/tensor/workload.h"

namespace tilewright::records {

/// Target as AutoTVM matches it: by keys and model only.
struct AutotvmTarget {
  std::string text;       ///< as written
  std::string canonical;  ///< kind, -keys, the other options in byte order, defaults filled in
  Target target;

  const std::string& kind() const { return target.kind_name(); }
  std::vector<std::string> keys() const { return target.keys(); }
  /// Returns "unknown" if no model is given.
  std::string model() const { return target.Option("model", "unknown"); }
  std::string device() const { return target.Option("device"); }

  /// Parses a target and keeps unknown options.
  /// Errors: kInvalidArgument for an unknown kind or a malformed option.
  static Result<AutotvmTarget> Parse(std::string_view text);
};

/// AutoTVM task: the name of a template and its arguments. Its tuple is the key of section 4.2 of
/// the reference.
struct AutotvmTask {
  std::string name;
  std::vector<AutotvmValue> args;
  std::string tuple;  ///< ('conv2d_nchw.cuda', ('TENSOR', (1, 3, 224, 224), 'float32'), …)
  /// Workload of Tilewright; none if no operator has these arguments.
  std::optional<Workload> workload;
  /// Why no compiler requests these arguments; empty if one does.
  std::string unreachable;
  bool malformed_tensor = false;

  static AutotvmTask Make(std::string name, std::vector<AutotvmValue> args);
  /// Parses a tuple in Python or JSON notation.
  /// Errors: kInvalidArgument.
  static Result<AutotvmTask> Parse(std::string_view tuple);
};

/// Parts of a line's `input`, not interpreted. Many lines share a target.
struct AutotvmInputText {
  std::string target, name;
  AutotvmValue args;
  AutotvmValue workload;  ///< of format 0.1

  /// Splits a line's input.
  /// Errors: kInvalidArgument with the position.
  static Result<AutotvmInputText> Read(const LogLine& line);
  /// Interprets the task. Converts a task of format 0.1 to the names and arguments of 0.2. of: the
  /// target.
  /// Errors: kInvalidArgument; kUnsupported for a task of 0.1 without a successor.
  Result<AutotvmTask> Task(const LogLine& line, const AutotvmTarget& of) &&;
};

/// Target and task of a log line.
struct AutotvmInput {
  AutotvmTarget target;
  AutotvmTask task;
};
/// Parses a line's `input`.
/// Errors: as AutotvmInputText and AutotvmTarget::Parse.
Result<AutotvmInput> ParseAutotvmInput(const LogLine& line);

/// Renames a task of format 0.1 and rewrites its arguments (reference, section 3). `workload` is
/// that of the line; its tensors are flat lists that end in the dtype.
/// Errors: kUnsupported.
Status UpgradeLegacyTask(const AutotvmTarget& target, std::string_view legacy_template,
                         const AutotvmValue& workload, std::string& name,
                         std::vector<AutotvmValue>& args);

}  // namespace tilewright::records
