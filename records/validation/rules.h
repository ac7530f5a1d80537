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

/// What must hold of a stored trial before anything of it is used. A row may come from anybody, and
/// may be older than the program: whoever reads one that is to be served, built, shown as code or
/// handed on goes by these rules (TrialFilter::valid_for, Store::Query,
/// records/validation/row_validator.h).

/// What is wrong with the values; empty: nothing. least: MinSeconds of the trial's task.
std::string InvalidValuesReason(const Trial& trial, double least);

/// Lower bounds of a workload's time on any machine, in seconds, one for each number of a workload
/// and number of a target in a store.
class MinSecondsCache {
 public:
  /// MinSeconds of the task; workload, target: its numbers in the store.
  double Of(std::int64_t workload, std::int64_t target, const Task& task);
  void clear() { known_.clear(); }

 private:
  std::map<std::pair<std::int64_t, std::int64_t>, double> known_;
};

/// Dates beyond this are in the future: a day after now. Infinite where this machine's clock was
/// never set, as on boards without a battery.
double MaxPlausibleDate();
/// A trial's date as it is compared: what is dated in the future was measured at no time that
/// counts, and goes before everything else.
double EffectiveDate(double unix_seconds);
/// The same as SQL. column: such as "trial.finished".
std::string EffectiveDateSql(const std::string& column);

/// Looks configs up in the spaces of their templates. Keeps the spaces of the last tasks, because
/// making one takes longer than looking in it.
class SpaceCache {
 public:
  /// most: spaces kept, at least 1.
  explicit SpaceCache(std::size_t capacity = 32) : capacity_(capacity) {}
  SpaceCache(SpaceCache&&) = default;
  SpaceCache& operator=(SpaceCache&&) = default;
  /// The config as the space of its template has it, for the task of the candidate.
  /// Errors: kNotFound if there is no such template of this version; kInvalidArgument with what is
  /// wrong with the config.
  Result<Config> Locate(const TemplateRegistry& templates, const Candidate& candidate);
  /// Empty if the config is in its space, index and all, or its template is not there in this
  /// version, so that nothing can be made of it.
  std::string InvalidReason(const TemplateRegistry& templates, const Candidate& candidate);

 private:
  using Spaces = std::list<std::pair<std::string, ConfigSpace>>;
  std::size_t capacity_;
  Spaces spaces_;                                                  // the last one used first
  std::unordered_map<std::string_view, Spaces::iterator> places_;  // views of the texts in spaces_
};

}  // namespace tilewright::records
