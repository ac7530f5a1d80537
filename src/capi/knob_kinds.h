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

/// Kinds of the knobs of templates. They are the same in every space of a template, and making a
/// space takes as long as a query. Thread-safe.
class KnobKinds {
 public:
  /// templates: outlives it.
  explicit KnobKinds(const TemplateRegistry& templates) : templates_(templates) {}
  /// TW_KNOB_ of each value of the candidate's config. For templates (or versions of them) that
  /// this library lacks it is guessed from the values.
  std::vector<std::int32_t> Of(const Candidate& candidate);

 private:
  using Kinds = std::map<std::string, std::int32_t, std::less<>>;  // by knob
  static Kinds KindsOfSpace(const TemplateEntry& entry, const Candidate& candidate);

  const TemplateRegistry& templates_;
  std::shared_mutex mutex_;
  std::map<std::string, Kinds, std::less<>> known_;  // by template
};

}  // namespace tilewright::capi
