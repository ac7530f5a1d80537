#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "records/package/catalog.h"

namespace tilewright {

/// What was seen of a library that was checked.
struct CompileCheck {
  bool ran = false;
  std::string not_run;  ///< why
  std::int64_t operators = 0, compared = 0, elements = 0;
  double seconds = 0;
  /// An operator of each kernel of which no element was compared, and why.
  std::vector<std::pair<std::string, std::string>> not_compared;
  /// Operators of which nobody can say whether all of their result is written.
  std::vector<std::string> not_proved;
};

/// How the layouts of a model were chosen, in estimated seconds (src/compiler/plan/layouts.h).
struct LayoutReport {
  int choices = 0;          ///< groups of operators that can work in several layouts
  int changed = 0;          ///< those for which another one was chosen than by the rule
  double rule_seconds = 0;  ///< of the network if each group follows the one before it
  double seconds = 0;       ///< as chosen
  bool exact = false;       ///< nothing is cheaper; else the search was bounded
};

/// One operator of a compiled model, in the order in which they run.
struct OperatorReport {
  std::string value;         ///< name of the result in the source
  std::string op;            ///< "conv2d + bias, relu", "max_pool2d", "layout_transform", "copy"
  std::string kernel;        ///< symbol; equal kernels share one; empty for "copy"
  std::string workload_key;  ///< empty if it is no anchor
  std::string template_key;
  std::string config;     ///< Config::ToString
  bool tuned = false;     ///< the config comes from a record
  bool imported = false;  ///< of another program, which nobody verified
  bool verified = false;  ///< imported, and its result here was the reference's
  /// Of the record: how far floats were from the reference when it was measured. Nothing without
  /// one.
  std::optional<double> max_abs_error = std::nullopt;
  records::AnswerLevel answer = records::AnswerLevel::kMiss;
  std::string source;            ///< store or package the record came from; empty without one
  double expected_slowdown = 1;  ///< of a near hit
  std::string explanation;       ///< why this config; never empty for an anchor
  std::string skipped_record;    ///< as records::Answer has it
  std::string layout;            ///< of the result in memory
  /// Of a hit's record: the metric that CompileOptions::prefer limits. Nothing if it is not known.
  std::optional<double> limited = std::nullopt;
  std::int64_t macs = 0;
  std::int64_t bytes = 0;  ///< of inputs, constants and the result, each once
};

}  // namespace tilewright
