#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "records/devices/shares.h"
#include "records/package/catalog.h"
#include "src/space/config.h"
#include "src/tensor/workload.h"

namespace tilewright::records {

/// Returns a text that identifies a config on all devices: `TEMPLATE {"values"}` with the names in
/// order; without the template for an open task, whose spaces may differ.
std::string ConfigText(std::string_view template_key, const Config& config);

/// Function that calls its argument with each store of some sources, until it fails, and returns
/// its error.
using EachStore = std::function<Status(const std::function<Status(const Store&)>&)>;

/// Results of one task, by device and target.
class TaskResults {
 public:
  /// Reads the trials of a task from all sources: verified ones that may be served, and failed ones
  /// of the same versions. Of several measurements of a config the one that counts is taken
  /// (Supersedes). metric: others are left out.
  /// Errors: those of the sources.
  static Result<TaskResults> Read(const EachStore& stores, const TemplateRegistry& templates,
                                  const Workload& workload, std::string_view metric);
  static Result<TaskResults> Read(Catalog& catalog, const TemplateRegistry& templates,
                                  const Workload& workload, std::string_view metric);

  /// Returns the results on the device of a name: the model of a device, a field's value of an
  /// environment or NAME=VALUE, a target's text, its short text, its -model or -mcpu, "here" for
  /// this machine, or "MODEL: TARGET".
  /// Errors: kNotFound, with all devices; kInvalidArgument if several fit, with their names.
  Result<ConfigResults> On(std::string_view name) const;
  /// Returns the results on several devices. names: each a name, or names separated by commas.
  /// Errors: those of On; kInvalidArgument for a device that occurs twice.
  Result<std::vector<ConfigResults>> OnAll(std::span<const std::string> names) const;
  bool empty() const { return devices_.empty(); }

 private:
  struct Device {
    std::string model, target;
    std::vector<std::string> names;  // of an environment
    ConfigResults results;
    std::string FullName() const;
  };
  /// As On. here: the name, or this machine's model in place of "here".
  Result<const Device*> Find(const std::string& here) const;
  std::string NamesOf(std::span<const Device* const> devices) const;
  std::vector<Device> devices_;
};

/// Task of one size, and its name.
struct SizedTask {
  std::int64_t size = 0;
  Workload workload;
};
/// Returns the tasks of all sources whose key, or name of an open task, is the pattern with one
/// number in place of each "?". Sorted by the number; of several open tasks of one name the first.
/// Errors: those of the sources; kInvalidArgument for a pattern without "?".
Result<std::vector<SizedTask>> FindSizes(Catalog& catalog, std::string_view pattern);

}  // namespace tilewright::records
