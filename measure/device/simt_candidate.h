#pragma once

#include <string>

#include "src/space/trial.h"

namespace tilewright {
class TemplateRegistry;
}

namespace tilewright::measure {

/// Verdict of the SIMT emulator on a candidate. It contains no time: the duration of an emulated
/// kernel depends on this machine's CPU.
struct SimtResult {
  Outcome outcome = Outcome::kOk;  ///< ok: verified on all input sets
  std::string reason;              ///< empty when ok
  double max_abs_error = 0;
};

/// Builds a candidate for CUDA and runs it in the emulator on the three input sets. The results
/// must equal the reference's, without a race, an out-of-bounds access or a missing barrier.
SimtResult VerifyInSimt(const TemplateRegistry& templates, const Candidate& candidate);

}  // namespace tilewright::measure
