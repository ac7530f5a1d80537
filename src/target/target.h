#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace tilewright {

/// Target of code generation: a kind and options, as in `llvm -mcpu=znver4 -num-threads=1`. Parsed
/// from and printed as TVM-style strings (old -device/-model and new -keys spellings). Unknown
/// options are kept. Grammar: reference of AutoTVM records, section 5.
class Target {
 public:
  /// Parses a target. "native" is `llvm` with -mcpu and -mattr of this machine (src/target/cpu.h).
  /// Errors: kInvalidArgument with the invalid token.
  static Result<Target> Parse(std::string_view text);

  /// Returns the name of the device (device.h), which several kinds can denote; empty for a kind
  /// that only imported records have. Only for src/target and device tables: other code queries the
  /// traits or a table.
  std::string_view device() const { return device_; }
  const std::string& kind_name() const { return kind_name_; }
  /// Returns the value of option `-name`, or `fallback`.
  std::string Option(std::string_view name, std::string_view fallback = {}) const;
  void SetOption(std::string name, std::string value) {
    options_[std::move(name)] = std::move(value);
  }
  const std::map<std::string, std::string>& options() const { return options_; }
  /// Returns the number of threads a kernel may use: -num-threads, or 1.
  int num_threads() const;
  /// Returns -keys, then -device, then the kind's own keys, without duplicates.
  std::vector<std::string> keys() const;
  /// Returns the canonical text: kind, then options in byte order of their names.
  std::string ToString() const;
  friend bool operator==(const Target&, const Target&) = default;

 private:
  std::string_view device_ = "llvm";  // points to a literal
  std::string kind_name_ = "llvm";
  std::map<std::string, std::string> options_;
};

}  // namespace tilewright
