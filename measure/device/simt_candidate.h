#pragma once

#include <string>

#include "src/space/trial.h"

namespace tilewright {
class TemplateRegistry;
}

namespace tilewright::measure {

/// What the emulator of threads says of a candidate. There is no time in it: an emulated kernel
/// takes as long as this machine's CPU needs.
struct SimtResult {
  Outcome outcome = Outcome::kOk;  ///< ok: verified on all sets of inputs
  std::string reason;              ///< empty when ok
  double max_abs_error = 0;
};

/// Builds a candidate for CUDA and runs it in the emulator on the three sets of inputs: the results
/// must be the reference's, without a race, an access outside of a buffer or a missing barrier.
SimtResult VerifyInSimt(const TemplateRegistry& templates, const Candidate& candidate);

}  // namespace tilewright::measure
