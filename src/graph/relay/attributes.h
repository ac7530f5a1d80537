#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/graph/relay/syntax.h"
#include "src/ir/dtype.h"
#include "src/tensor/tensor.h"

namespace tilewright::relay {

/// Typed reader of the attributes of one call; records which attributes were read. The first
/// invalid value becomes the status; later reads return the fallback.
class AttributeReader {
 public:
  explicit AttributeReader(const Expr& call) : call_(call), read_(call.attributes.size(), false) {}

  bool Has(std::string_view name) const;
  std::int64_t Integer(std::string_view name, std::int64_t fallback);
  double Number(std::string_view name, double fallback);
  bool Bool(std::string_view name, bool fallback);
  std::string String(std::string_view name, std::string fallback);
  std::optional<DataType> ElementType(std::string_view name);
  /// Reads "[1, 2]", "[[0, 0], [1, 1]]" (flattened) or a single number; `fallback` if absent or
  /// None.
  std::vector<std::int64_t> Integers(std::string_view name, std::vector<std::int64_t> fallback);
  /// Reads "[0.5, 0.25]" or a single number; empty if absent.
  std::vector<double> Numbers(std::string_view name);
  /// Checks the value of an attribute. Errors (in status()): another value.
  void ExpectInteger(std::string_view name, std::int64_t expected);
  void ExpectString(std::string_view name, std::string_view expected);
  void Fail(std::string message);
  /// Returns the first error or the first attribute that was not read.
  /// Returns kInvalidArgument for an invalid value; kUnsupported for an unknown attribute.
  Status Finish() const;

 private:
  const std::string* Find(std::string_view name);

  const Expr& call_;
  std::vector<bool> read_;
  Status status_;
};

/// Parses a number in Relay's spelling: "16f" is float32, "64i64" is int64, "3" is int32, "True" is
/// bool.
/// Returns kInvalidArgument for anything else, or a value out of its type's range.
Result<Tensor> ParseLiteral(std::string_view spelling);

}  // namespace tilewright::relay
