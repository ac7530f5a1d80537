#pragma once

#include <string>
#include <string_view>

#include "python_free_cli/record_sources.h"
#include "src/base/status.h"
#include "src/target/device.h"
#include "src/target/target.h"

namespace CLI {
class App;
}

namespace tilewright::cli {

/// Options that select the device and the records with which `run` and `verify` execute a model
/// file: `--target`, `--vta-config` and the record options.
struct NetworkTarget {
  std::string target, vta_config;
  RecordArguments sources;

  void Declare(CLI::App& app);
  bool given() const { return !target.empty() || !vta_config.empty(); }
  /// Returns the traits of the device that --target names; those of no device without a valid
  /// target.
  const DeviceTraits& device() const;
  /// Parses --target; a VTA if only a design is given.
  Result<Target> Parse() const;
  /// True if the command line names record sources.
  bool asks_for_records() const;
  /// Errors: kInvalidArgument if the command line has record options, which a library does not use.
  Status CheckUnused() const;
  /// As CheckUnused, also for a target. bundle: folder of a VTA, which contains target, design and
  /// configs.
  Status CheckUnusedBy(const std::string& bundle) const;

 private:
  Status RefuseRecords(std::string_view why) const;

  const CLI::App* app_ = nullptr;
};

}  // namespace tilewright::cli
