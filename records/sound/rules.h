#pragma once

#include <cstddef>
#include <list>
#include <string>
#include <unordered_map>
#include <utility>

#include "src/space/trial.h"

namespace tilewright {
class TemplateRegistry;
}

namespace tilewright::records {

/// What must hold of a stored trial before anything of it is used. A row may come from anybody, and
/// may be older than the program: whoever reads one that is to be served, built, shown as code or
/// handed on goes by these rules (TrialFilter::sound_for, Store::Query, records/sound/inspect.h).

/// What is wrong with the values; empty: nothing. least: LeastSeconds of the trial's task.
std::string WrongValues(const Trial& trial, double least);

/// Seconds that no machine needs less for a workload: the arithmetic at a rate beyond any device of
/// the target's kind, and a nanosecond. workload: may be one that nothing is known of.
double LeastSeconds(const Workload& workload, const Target& target);
/// Of work that is not known.
inline constexpr double kLeastSeconds = 1e-9;

/// Dates beyond this are in the future: a day after now. Infinite where this machine's clock was
/// never set, as on boards without a battery.
double LatestDate();
/// A trial's date as it is compared: what is dated in the future was measured at no time that
/// counts, and goes before everything else.
double CountedDate(double unix_seconds);
/// The same as SQL. column: such as "trial.finished".
std::string CountedDateSql(const std::string& column);

/// Looks configs up in the spaces of their templates, and keeps the spaces of the last few tasks:
/// making one takes longer than looking in it.
class SpaceIndex {
 public:
  /// The config as the space of its template has it, for the task of the candidate.
  /// Errors: kNotFound if there is no such template of this version; kInvalidArgument with what is
  /// wrong with the config.
  Result<Config> Locate(const TemplateRegistry& templates, const Candidate& candidate);
  /// Empty if the config is in its space, index and all, or its template is not there in this
  /// version, so that nothing can be made of it.
  std::string WrongWith(const TemplateRegistry& templates, const Candidate& candidate);

 private:
  static constexpr std::size_t kMost = 32;
  std::list<std::pair<std::string, ConfigSpace>> spaces_;  // the last one used first
};

}  // namespace tilewright::records
