#pragma once

#include <string>
#include <vector>

#include "src/space/trial.h"

namespace tilewright {
class TemplateRegistry;
}

namespace tilewright::records {

/// One thing that was otherwise when a record was measured than it is where it is to be used.
struct Difference {
  std::string what;      ///< "workload", "target", "device", "template version", …
  std::string recorded;  ///< empty: only what is asked for has something to say
  std::string asked;

  /// "target: measured 'cuda -model=t4', asked 'cuda -model=1080ti'".
  std::string ToString() const;
  friend bool operator==(const Difference&, const Difference&) = default;
};

/// Adds a difference unless both are the same.
void AddDifference(std::string what, const std::string& recorded, const std::string& asked,
                   std::vector<Difference>& differences);

/// Everything that is not as in the trial: workload, target, device, driver, versions of template
/// and code generator. Of instruction sets, those that only one of the two has.
std::vector<Difference> DifferencesOf(const TemplateRegistry& templates, const Trial& trial,
                                      const Workload& workload, const Target& target,
                                      const DeviceFingerprint& device);

}  // namespace tilewright::records
