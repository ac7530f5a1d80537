#pragma once

#include <string>
#include <vector>

#include "src/space/trial.h"

namespace tilewright {
class TemplateRegistry;
}

namespace tilewright::records {

/// Property of a record that differs from the query.
struct Difference {
  std::string what;      ///< "workload", "target", "device", "template version", …
  std::string recorded;  ///< empty: only the query states the property
  std::string asked;

  /// "target: measured 'cuda -model=t4', asked 'cuda -model=1080ti'".
  std::string ToString() const;
  friend bool operator==(const Difference&, const Difference&) = default;
};

/// Adds a difference unless the two texts are equal.
void AddDifference(std::string what, const std::string& recorded, const std::string& asked,
                   std::vector<Difference>& differences);

/// Returns every property in which the trial and the query differ: workload, target, device,
/// driver, template version and codegen version. Of instruction sets, it lists those that only one
/// side has.
std::vector<Difference> DifferencesOf(const TemplateRegistry& templates, const Trial& trial,
                                      const Workload& workload, const Target& target,
                                      const DeviceFingerprint& device);

}  // namespace tilewright::records
