#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/base/json.h"
#include "src/base/status.h"

// Fields of messages. Included by .cc files of measure/ only.

namespace tilewright::measure {

/// Reads the fields of one object and remembers the first that was not as expected.
class Fields {
 public:
  explicit Fields(const Json& json);
  const Json& Get(const char* name, Json::value_t type);
  bool Has(const char* name) const { return json_.contains(name); }
  std::string Text(const char* name);
  double Number(const char* name);
  std::optional<double> NumberOrNull(const char* name);
  std::int64_t Integer(const char* name);
  bool Flag(const char* name);
  std::vector<double> Numbers(const char* name);
  std::vector<std::int64_t> Integers(const char* name);
  /// Positive numbers by name; none where the field is missing, as in messages of earlier versions.
  std::map<std::string, double> Positives(const char* name);
  /// The field "threads": more than any machine has is no order.
  int Threads();
  void Fail(const Status& status) {
    if (status_.ok()) status_ = status;
  }
  const Status& status() const { return status_; }

 private:
  const Json& json_;
  Status status_;
};

/// JSON has no infinities: the largest number stands for them.
double Finite(double value);

/// The value, unless a field was not as expected.
template <typename T>
Result<T> Finish(const Fields& fields, T value) {
  TW_RETURN_IF_ERROR(fields.status());
  return value;
}

}  // namespace tilewright::measure
