#include "src/space/open/knobs.h"

#include <utility>

namespace tilewright {

KnobValue ToKnobValue(const ParameterValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return {*integer};
  if (const auto* flag = std::get_if<bool>(&value)) return {*flag};
  if (const auto* number = std::get_if<double>(&value)) return {*number};
  return {std::get<std::string>(value)};
}

ConfigSpace KnobsOf(const OpenSpace& space) {
  ConfigSpace knobs;
  for (const Parameter& parameter : space.parameters()) {
    std::vector<KnobValue> values;
    for (const ParameterValue& value : parameter.values) values.push_back(ToKnobValue(value));
    // Names and the number of combinations were checked with the space.
    const Status added =
        knobs.Add(Knob::Candidates(parameter.name, KnobKind::kOther, std::move(values)));
    TW_CHECK(added.ok(), added.message());
  }
  return knobs;
}

}  // namespace tilewright
