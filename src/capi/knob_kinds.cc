#include "src/capi/knob_kinds.h"

#include <algorithm>
#include <mutex>
#include <utility>

namespace tilewright::capi {
namespace {

static_assert(static_cast<int>(KnobKind::kSplit) == TW_KNOB_SPLIT);
static_assert(static_cast<int>(KnobKind::kReorder) == TW_KNOB_REORDER);
static_assert(static_cast<int>(KnobKind::kAnnotate) == TW_KNOB_ANNOTATE);
static_assert(static_cast<int>(KnobKind::kOther) == TW_KNOB_OTHER);

/// Returns the kind of a knob of an unknown space. A list of integers may be a split or a reorder;
/// only a permutation contains a 0, because every loop has at least one iteration.
std::int32_t GuessKind(const KnobValue& value) {
  if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&value.value)) {
    return std::ranges::find(*integers, 0) != integers->end() ? TW_KNOB_REORDER : TW_KNOB_SPLIT;
  }
  return std::holds_alternative<std::vector<std::string>>(value.value) ? TW_KNOB_ANNOTATE
                                                                       : TW_KNOB_OTHER;
}

}  // namespace

KnobKinds::Kinds KnobKinds::KindsOfSpace(const TemplateEntry& entry, const Candidate& candidate) {
  auto space = entry.define_space(candidate.task.workload, candidate.task.target);
  Kinds kinds;
  if (!space.ok()) return kinds;
  for (const Knob& knob : space->knobs()) {
    kinds.emplace(knob.name(), static_cast<std::int32_t>(knob.kind()));
  }
  return kinds;
}

std::vector<std::int32_t> KnobKinds::Of(const Candidate& candidate) {
  std::vector<std::int32_t> kinds;
  kinds.reserve(candidate.config.values.size());
  const auto fill = [&](const Kinds* known) {
    for (const auto& [name, value] : candidate.config.values) {
      const auto found = known != nullptr ? known->find(name) : Kinds::const_iterator();
      const bool told = known != nullptr && found != known->end();
      kinds.push_back(told ? found->second : GuessKind(value));
    }
  };
  const TemplateEntry* entry = templates_.Find(candidate.template_key);
  if (entry == nullptr || entry->version != candidate.template_version) {
    fill(nullptr);
    return kinds;
  }
  {
    const std::shared_lock lock(mutex_);
    if (const auto found = known_.find(candidate.template_key); found != known_.end()) {
      fill(&found->second);
      return kinds;
    }
  }
  Kinds made = KindsOfSpace(*entry, candidate);
  const std::unique_lock lock(mutex_);
  fill(&known_.emplace(candidate.template_key, std::move(made)).first->second);
  return kinds;
}

}  // namespace tilewright::capi
