#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "records/lookup.h"
#include "records/validation/schedules.h"
#include "src/templates/registry.h"

namespace tilewright::capi {

/// Text schedules in the sources of a catalog (docs/schedules.md). They are read once, and again
/// when a source has changed: most sources have none, and a query should not search for them.
/// Thread-safe.
class ScheduleTexts {
 public:
  /// Returns `templates` plus those of the sources that may serve the request; no value if these
  /// have none. A text that does not match its name serves no record and is skipped. generation:
  /// grows whenever a source changes.
  /// Errors: those of reading.
  Result<std::optional<TemplateRegistry>> AddedTo(
      const TemplateRegistry& templates, const std::vector<records::RecordSource*>& sources,
      const records::LookupRequest& request, std::uint64_t generation);

 private:
  struct Known {
    records::KeyedTexts texts;
    TemplateRegistry tasks;  ///< the open tasks among the texts
  };

  std::mutex mutex_;
  std::uint64_t generation_ = 0;
  std::vector<std::optional<Known>> known_;  // by index of the source; empty: not read yet
};

}  // namespace tilewright::capi
