#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/optimize/bound.h"
#include "src/optimize/search_report.h"

namespace tilewright::optimize {

/// Sets on_front of the combinations that no other one beats in time, noise and score.
void MarkFront(std::vector<Combination>& combinations);

/// Returns true if the held-out error of a combination is still to be measured. Scores, which can
/// take long, are measured for the chosen combination and for those of the front that were not
/// refused.
bool NeedsHeldOut(const SearchReport& report, std::size_t combination);

/// Preferred combination of a search: the fastest that keeps a bound, or the most exact one within
/// a time.
struct FrontPreference {
  Bound bound;  ///< with max_seconds: only its metric counts
  std::optional<double> max_seconds;

  std::string ToString() const;
};

/// Returns true if a preference (`--prefer`) names an error of outputs, so that it chooses number
/// formats, not records.
bool NamesOutputError(std::string_view preference);

/// Parses "seconds,sqnr>=40" or "sqnr,seconds<=2.5ms".
/// Errors: kInvalidArgument with what was expected.
Result<FrontPreference> ParseFrontPreference(std::string_view text);

/// Returns the preferred combination by the errors on the held-out part, which have to be known.
/// Errors: kNotFound if none keeps the limit, with the nearest value.
Result<std::size_t> ChooseFrom(const SearchReport& report, const FrontPreference& preference);

/// Time that one bound costs.
struct BoundCost {
  Bound bound;
  std::optional<std::size_t>
      combination;                        ///< the fastest measured one that keeps it; none: unknown
  std::optional<double> predicted_ratio;  ///< of the predicted front; for sqnr only
};

/// Returns the costs of several bounds: of sqnr in steps of 5 dB, and of the search's own metric at
/// the values of its combinations.
std::vector<BoundCost> BoundCosts(const SearchReport& report);

}  // namespace tilewright::optimize
