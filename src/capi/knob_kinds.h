#pragma once

#include <cstdint>
#include <map>
#include <shared_mutex>
#include <string>
#include <vector>

#include "include/tilewright/tilewright.h"
#include "src/space/trial.h"
#include "src/templates/registry.h"

namespace tilewright::capi {

/// Cache of the knob kinds of templates. They are the same in every space of a template, and
/// creating a space takes as long as a query. Thread-safe.
class KnobKinds {
 public:
  /// templates: must outlive the object.
  explicit KnobKinds(const TemplateRegistry& templates) : templates_(templates) {}
  /// Returns the TW_KNOB_ kind of each value of the candidate's config. For templates (or versions
  /// of them) that this library lacks, derives it from the values.
  std::vector<std::int32_t> Of(const Candidate& candidate);

 private:
  using Kinds = std::map<std::string, std::int32_t, std::less<>>;  // by knob
  static Kinds KindsOfSpace(const TemplateEntry& entry, const Candidate& candidate);

  const TemplateRegistry& templates_;
  std::shared_mutex mutex_;
  std::map<std::string, Kinds, std::less<>> known_;  // by template
};

}  // namespace tilewright::capi
