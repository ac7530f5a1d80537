#pragma once

#include <cmath>
#include <limits>
#include <string>

#include "src/base/json_fields.h"
#include "src/optimize/journal.h"

// Results of steps as JSON. Included by .cc files only.

namespace tilewright::optimize {

/// Codec of numbers that JSON cannot have: null, read as NaN, for which no bound holds.
struct AnyNumberCodec {
  static Json Write(double value) { return std::isfinite(value) ? Json(value) : Json(); }
  static void Read(JsonReader& reader, const char* name, const Json& json, double& value) {
    if (json.is_null()) {
      value = std::numeric_limits<double>::quiet_NaN();
    } else if (reader.Expect(name, json.is_number())) {
      value = json.get<double>();
    }
  }
};

/// Returns the result of a step, which is run unless it is stored. Errors: those of the step, which
/// are not stored; kCorrupt for a stored result of another form.
template <typename T, typename Work>
Result<T> RunStep(Journal& journal, const std::string& step, const Work& work) {
  if (const std::string* stored = journal.Find(step)) {
    TW_ASSIGN_OR_RETURN(const auto json, ParseJson(*stored));
    return ReadJson<T>(json, "step of optimize");
  }
  TW_ASSIGN_OR_RETURN(T value, work());
  TW_RETURN_IF_ERROR(journal.Put(step, WriteJson(value)));
  return value;
}

}  // namespace tilewright::optimize
