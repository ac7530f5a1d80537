#pragma once

#include <optional>
#include <variant>

#include "src/base/status.h"
#include "src/compiler/check/compare.h"
#include "src/compiler/check/verify.h"
#include "src/graph/ir/graph.h"
#include "src/session/device_choice.h"
#include "src/session/inputs.h"
#include "src/session/notes.h"

namespace tilewright::session {

/// Two forms of a model to compare: a model file, and a library or bundle made of it, or another
/// model file.
struct FormComparison {
  ModelSource reference;  ///< model file
  ModelSource other;      ///< library, bundle or model file
  bool seeded = false;    ///< synthetic float constants in both
  InputSources inputs;
  DeviceChoice device;   ///< of a library
  VerifyOptions verify;  ///< tolerance, threads, and progress, which is required
  /// Least signal-to-noise ratio of a layer in dB, instead of equality and tolerance.
  std::optional<double> min_sqnr_db;
  NoteSink note = IgnoreNote;
};

/// Operators of a library compared with the reference on the same operands, or values of two
/// networks compared with each other.
using FormReport = std::variant<VerifyReport, DifferenceReport>;

/// Compares two forms of a model. A library made of the model file is compared operator by operator
/// without a least ratio; everything else value by value.
/// Errors: those of reading both forms and the inputs; those of Verify and CompareTraces;
/// kInvalidArgument for a device with two model files.
Result<FormReport> CompareForms(FormComparison comparison);

}  // namespace tilewright::session
