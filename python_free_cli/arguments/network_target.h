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

/// What `run` and `verify` put a model file on, where it is not a library already: `--target`,
/// `--vta-config` and where records come from.
struct NetworkTarget {
  std::string target, vta_config;
  RecordArguments sources;

  void Declare(CLI::App& app);
  bool given() const { return !target.empty() || !vta_config.empty(); }
  /// Of the device that --target means; those of none without a target that is understood.
  const DeviceTraits& device() const;
  /// --target; a VTA where only its design is given.
  Result<Target> Parse() const;
  /// True if the command line says where records are to come from.
  bool asks_for_records() const;
  /// Errors: kInvalidArgument if the command line says where records come from, or how they are
  /// chosen, which a library has no use for.
  Status CheckUnused() const;
  /// Errors: as CheckUnused, also for a target. bundle: a VTA's folder, which has all that in it.
  Status CheckUnusedBy(const std::string& bundle) const;

 private:
  Status RefuseRecords(std::string_view why) const;

  const CLI::App* app_ = nullptr;
};

}  // namespace tilewright::cli
