#include "search/measured/config_results.h"

#include <limits>
#include <map>

#include "src/base/json.h"
#include "src/space/open/value_json.h"

namespace tilewright::search {

records::ConfigResults ResultsOf(const MeasuredSpace& space) {
  records::ConfigResults results{space.name(), {}};
  const OpenSpace& open = space.space().open();
  for (const std::int64_t index : space.indices()) {
    const OpenConfig config = space.space().ConfigOf({0, index});
    std::map<std::string, Json> sorted;
    for (std::size_t p = 0; p < config.size(); ++p) {
      const int parameter = static_cast<int>(p);
      sorted[open.parameters()[p].name] = ToJson(open.ValueOf(config, parameter));
    }
    const double value = space.ValueOf({0, index});
    results.values[DumpJson(Json(sorted))] =
        value > 0 ? value : std::numeric_limits<double>::infinity();
  }
  return results;
}

}  // namespace tilewright::search
