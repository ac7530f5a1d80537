#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "records/lookup.h"
#include "src/templates/registry.h"

namespace tilewright::capi {

/// The templates that are texts in the sources of a catalog (docs/schedules.md). What a source has
/// is read once and again when a source has changed: most have none, and a query should not look
/// for them. Thread-safe.
class ScheduleTexts {
 public:
  /// `templates` and those of the sources that may serve the question; nothing where these have
  /// none. A text that is not that of its name serves no record and is left out.
  /// generation: grows whenever a source changes. Errors: those of reading.
  Result<std::optional<TemplateRegistry>> AddedTo(
      const TemplateRegistry& templates, const std::vector<records::RecordSource*>& sources,
      const records::LookupRequest& request, std::uint64_t generation);

 private:
  using Texts = std::vector<std::pair<std::string, std::string>>;  // keys, canonical texts

  std::mutex mutex_;
  std::uint64_t generation_ = 0;
  std::vector<std::optional<Texts>> known_;  // by the source's place; empty: not looked at yet
};

}  // namespace tilewright::capi
