#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace tilewright {

/// What code is generated for: a kind and options, as in `llvm -mcpu=znver4 -num-threads=1`.
/// Parsed from and printed as TVM-style strings (old -device/-model and new -keys spellings);
/// unknown options are kept. Grammar: reference of AutoTVM records, section 5.
class Target {
 public:
  /// "native" is `llvm` with -mcpu and -mattr of this machine (src/target/cpu.h).
  /// Errors: kInvalidArgument with the token that was not understood.
  static Result<Target> Parse(std::string_view text);

  /// Name of the device that code is made for, which several kinds may be spellings of (device.h);
  /// empty for a kind that only imported records know. For src/target and tables of devices: what
  /// depends on the device is asked of its traits or of a table.
  std::string_view device() const { return device_; }
  const std::string& kind_name() const { return kind_name_; }
  /// Value of option `-name`, or `fallback`.
  std::string Option(std::string_view name, std::string_view fallback = {}) const;
  void SetOption(std::string name, std::string value) {
    options_[std::move(name)] = std::move(value);
  }
  const std::map<std::string, std::string>& options() const { return options_; }
  /// Threads a kernel may use: -num-threads, 1 when absent.
  int num_threads() const;
  /// -keys, then -device, then the kind's own keys; first occurrence kept.
  std::vector<std::string> keys() const;
  /// Canonical text: kind, then options in byte order of their names.
  std::string ToString() const;
  friend bool operator==(const Target&, const Target&) = default;

 private:
  std::string_view device_ = "llvm";  // a literal
  std::string kind_name_ = "llvm";
  std::map<std::string, std::string> options_;
};

}  // namespace tilewright
