#include "records/miss.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tilewright::records {
namespace {

struct Reason {
  MissReason reason;
  std::string_view name, text;
};

constexpr std::array<Reason, 11> kReasons = {{
    {MissReason::kNone, "", ""},
    {MissReason::kNotBuildable, "not_buildable", "records that cannot be used here"},
    {MissReason::kNotAccepted, "not_accepted", "answers only of a level that is not accepted"},
    {MissReason::kUnusable, "unusable", "records that may not be served here"},
    {MissReason::kOtherVersions, "other_versions",
     "records only of other versions of template or code generator"},
    {MissReason::kOtherDevice, "other_device", "records only from another device"},
    {MissReason::kOtherTarget, "other_target", "records only for another target"},
    {MissReason::kNoRecords, "no_records", "no records"},
    {MissReason::kNoTemplate, "no_template", "AutoTVM has no template"},
    {MissReason::kNothingImported, "nothing_imported", "nothing was imported"},
    {MissReason::kNoSources, "no_sources", "no record store or package was found"},
}};

const Reason& Of(MissReason reason) {
  return *std::ranges::find(kReasons, reason, &Reason::reason);
}

}  // namespace

std::string_view MissReasonName(MissReason reason) { return Of(reason).name; }

std::string MissText(const MissCause& cause) {
  std::string text(Of(cause.reason).text);
  return cause.detail.empty() ? text : text + " (" + cause.detail + ")";
}

void PreferCause(MissCause& cause, MissCause other) {
  if (other.reason == MissReason::kNone) return;
  if (cause.reason == MissReason::kNone || other.reason < cause.reason) cause = std::move(other);
}

}  // namespace tilewright::records
