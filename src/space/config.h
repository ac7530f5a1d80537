#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/space/knob.h"

namespace tilewright {

/// Point of a config space: an index and one value per knob. The values identify the point; the
/// index is its number in the space that created it.
struct Config {
  std::int64_t index = -1;
  std::vector<std::pair<std::string, KnobValue>> values;  ///< in knob order

  /// Returns the value of a knob; null if there is no knob of that name.
  const KnobValue* Find(std::string_view knob) const;
  /// Shorthands for templates. Require that the knob exists and has such values (a bug otherwise).
  const std::vector<std::int64_t>& Factors(std::string_view knob) const;
  std::int64_t Integer(std::string_view knob) const;
  const std::string& Word(std::string_view knob) const;
  const std::vector<std::string>& Words(std::string_view knob) const;
  /// Formats JSON text {"index":188,"values":{"tile_ic":[1,64],…}}, which can be parsed again.
  std::string ToString() const;
  /// Formats the values alone: {"tile_ic":[1,64],…}.
  std::string ValuesText() const;
  static Result<Config> Parse(std::string_view json);
  friend bool operator==(const Config&, const Config&) = default;
};

/// Ordered list of knobs. index = d0 + n0*(d1 + n1*(d2 + …)): the first knob is the fastest digit.
class ConfigSpace {
 public:
  ConfigSpace() = default;
  /// Adds a knob. Errors: kInvalidArgument for a second knob of the same name, or if size() would
  /// exceed 63 bits.
  Status Add(Knob knob);
  const std::vector<Knob>& knobs() const { return knobs_; }
  std::int64_t size() const { return size_; }  ///< 1 if there is no knob
  /// Returns a config. Requires 0 <= index < size().
  Config At(std::int64_t index) const;
  std::vector<std::int64_t> Digits(std::int64_t index) const;
  std::int64_t IndexOf(const std::vector<std::int64_t>& digits) const;
  /// Returns the config with these values (matched by knob name) and sets its index.
  /// Errors: kNotFound naming the knob and the value that the space does not have.
  Result<Config> Locate(const Config& values) const;

 private:
  std::vector<Knob> knobs_;
  std::int64_t size_ = 1;
};

}  // namespace tilewright
