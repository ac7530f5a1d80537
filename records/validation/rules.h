#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "src/space/trial.h"
#include "src/tensor/work.h"

namespace tilewright {
class TemplateRegistry;
}

namespace tilewright::records {

/// Validity rules of stored trials. A row may come from any source and may be older than the
/// program. Code that serves, builds, shows or copies rows applies these rules
/// (TrialFilter::valid_for, Store::Query, records/validation/row_validator.h).

/// Returns the reason why the values are invalid; empty if they are valid. least: MinSeconds of the
/// trial's task.
std::string InvalidValuesReason(const Trial& trial, double least);

/// Cache of lower bounds of a workload's time on any machine, in seconds, by the numbers of
/// workload and target in a store.
class MinSecondsCache {
 public:
  /// Returns MinSeconds of the task. workload, target: its numbers in the store.
  double Of(std::int64_t workload, std::int64_t target, const Task& task);
  void clear() { known_.clear(); }

 private:
  std::map<std::pair<std::int64_t, std::int64_t>, double> known_;
};

/// Returns the latest plausible date: a day after now. Infinity if this machine's clock was never
/// set, as on boards without a battery.
double MaxPlausibleDate();
/// Returns a trial's date for comparison. A date in the future is invalid and sorts before all
/// others.
double EffectiveDate(double unix_seconds);
/// Returns the same as SQL. column: such as "trial.finished".
std::string EffectiveDateSql(const std::string& column);

/// Cache of config spaces. It keeps the spaces of the last tasks, because creating a space takes
/// longer than a lookup in it.
class SpaceCache {
 public:
  /// capacity: spaces kept, at least 1.
  explicit SpaceCache(std::size_t capacity = 32) : capacity_(capacity) {}
  SpaceCache(SpaceCache&&) = default;
  SpaceCache& operator=(SpaceCache&&) = default;
  /// Looks up the config in the space of its template, for the task of the candidate.
  /// Errors: kNotFound if this version of the template is missing; kInvalidArgument with the defect
  /// of the config.
  Result<Config> Locate(const TemplateRegistry& templates, const Candidate& candidate);
  /// Returns the reason why the config, with its index, is not in its space. Empty if it is, or if
  /// this version of the template is missing, so that the config cannot be used anyway.
  std::string InvalidReason(const TemplateRegistry& templates, const Candidate& candidate);

 private:
  using Spaces = std::list<std::pair<std::string, ConfigSpace>>;
  std::size_t capacity_;
  Spaces spaces_;                                                  // most recently used first
  std::unordered_map<std::string_view, Spaces::iterator> places_;  // views of the texts in spaces_
};

}  // namespace tilewright::records
