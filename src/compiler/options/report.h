#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "records/package/catalog.h"

namespace tilewright {

/// Result of checking a library.
struct CompileCheck {
  bool ran = false;
  std::string not_run;  ///< the reason
  std::int64_t operators = 0, compared = 0, elements = 0;
  double seconds = 0;
  /// For each kernel without a compared element: one of its operators, and the reason.
  std::vector<std::pair<std::string, std::string>> not_compared;
  /// Operators whose result may be partly unwritten, as far as the check can tell.
  std::vector<std::string> not_proved;
};

/// Choice of a model's layouts, in estimated seconds (src/compiler/plan/layouts.h).
struct LayoutReport {
  int choices = 0;          ///< groups of operators that can work in several layouts
  int changed = 0;          ///< groups whose layout differs from the rule's
  double rule_seconds = 0;  ///< estimate if each group follows the one before it
  double seconds = 0;       ///< estimate of the chosen layouts
  bool exact = false;       ///< no choice is cheaper; else the search was bounded
};

/// Config of a dense layer for some sizes of an open dimension.
struct BlockReport {
  std::string template_key, config;
  std::int64_t measured_rows = 0;  ///< of the record, which is of this many rows; 0: none
  double seconds = 0;              ///< of the record
  std::int64_t entries = 1;        ///< most of a block
  double gain = 0;  ///< share of the predicted time that it saves beside those before it
  std::vector<std::pair<std::int64_t, std::int64_t>> sizes;  ///< intervals that take it, with ends
};

/// One operator of a compiled model; reports are in execution order.
struct OperatorReport {
  std::string value;         ///< name of the result in the source
  std::string op;            ///< "conv2d + bias, relu", "max_pool2d", "layout_transform", "copy"
  std::string kernel;        ///< symbol; equal kernels share one; empty for "copy"
  std::string workload_key;  ///< empty without an anchor
  std::string template_key;
  std::string config;     ///< Config::ToString
  bool tuned = false;     ///< the config comes from a record
  bool imported = false;  ///< the record was imported and is unverified
  bool verified = false;  ///< imported, and its result equalled the reference's here
  /// Largest error of floats when the record was measured; nothing without a record.
  std::optional<double> max_abs_error = std::nullopt;
  records::AnswerLevel answer = records::AnswerLevel::kMiss;
  std::string source;             ///< store or package of the record; empty without one
  std::string imported_target;    ///< of an imported record, as written there; else empty
  double expected_slowdown = 1;   ///< of a near match
  std::string explanation;        ///< reason for this config; never empty for an anchor
  std::string skipped_record;     ///< as records::Answer has it
  records::MissCause cause = {};  ///< why there is no hit that is used; kNone for a hit
  std::string layout;             ///< of the result in memory
  /// The metric that CompileOptions::prefer limits, of a hit's record. Nothing if unknown.
  std::optional<double> limited = std::nullopt;
  std::vector<BlockReport> blocks = {};  ///< of a dense layer of few rows with an open dimension
  std::int64_t macs = 0;
  std::int64_t bytes = 0;  ///< of inputs, constants and the result, each counted once
};

}  // namespace tilewright
