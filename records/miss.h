#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tilewright::records {

/// Reason why a lookup has no hit. If several apply, the first in this order is reported.
enum class MissReason : std::uint8_t {
  kNone,             ///< the lookup has a hit
  kNotBuildable,     ///< the record's config cannot be built, or gives a wrong result, here
  kNotAccepted,      ///< the lookup has an answer of a level that the caller does not accept
  kUnusable,         ///< records of a library or template that is missing here, or invalid rows
  kOtherVersions,    ///< records of other versions of template or code generator
  kOtherDevice,      ///< records of this target, measured on another device
  kOtherTarget,      ///< records for another target
  kNoRecords,        ///< no source has records of this workload
  kNoTemplate,       ///< AutoTVM's rule: AutoTVM has no template for the workload
  kNothingImported,  ///< AutoTVM's rule: the sources have no imported records
  kNoSources,        ///< there is no store and no package
};

/// Reason of a miss or of an answer below a hit, with its details.
struct MissCause {
  MissReason reason = MissReason::kNone;
  /// The other target or device, or why the records cannot be used; may be empty.
  std::string detail;

  friend bool operator==(const MissCause&, const MissCause&) = default;
};

/// Returns "other_target" for kOtherTarget, and so on; "" for kNone.
std::string_view MissReasonName(MissReason reason);

/// Returns the reason as a phrase for several workloads: "records only for another target (llvm
/// -mcpu=znver4)". Empty for kNone.
std::string MissText(const MissCause& cause);

/// Replaces `cause` by `other` if the latter's reason precedes it, or if `cause` has none.
void PreferCause(MissCause& cause, MissCause other);

}  // namespace tilewright::records
