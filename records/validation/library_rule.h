#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "records/row.h"
#include "records/store.h"
#include "src/base/plugin_key.h"
#include "src/base/strings.h"
#include "src/target/library.h"
#include "src/templates/registry.h"

namespace tilewright::records {

/// Filter that skips records of missing templates and records whose library must not be called for
/// the workload. It reports the best skipped one.
class LibraryRule {
 public:
  LibraryRule(const TemplateRegistry& templates, const Workload& workload, const Target& target,
              const LibraryCallFilter& library_call_filter)
      : templates_(templates),
        workload_(workload),
        target_(target),
        refuses_call_(library_call_filter) {}
  const TemplateRegistry& templates() const { return templates_; }
  bool IsCurrent(std::string_view template_key, std::int64_t template_version,
                 std::int64_t codegen_version) {
    if (VersionsAreCurrent(templates_, template_key, template_version, codegen_version)) {
      return true;
    }
    if (not_loaded_.empty() && (IsPluginKey(template_key) || templates_.IsExcluded(template_key))) {
      not_loaded_ =
          TemplateUnavailableReason(templates_, template_key, static_cast<int>(template_version));
    }
    return false;
  }
  /// Records an invalid row.
  void LeaveOut(std::string why) {
    if (left_out_++ == 0) exclusion_reason_ = std::move(why);
  }
  /// Returns the number of invalid rows and the reason of the first; empty if there were none.
  std::string left_out() const {
    if (left_out_ == 0) return {};
    const std::string others = std::to_string(left_out_ - 1) + " more (`tilewright records check`)";
    return exclusion_reason_ + (left_out_ > 1 ? "; " + others : std::string());
  }
  bool Allows(const Trial& trial) {
    const KernelLibrary* library = LibraryOfTemplate(trial.candidate.template_key);
    if (library == nullptr) return true;
    const std::string reason = Refuses(*library, trial.candidate);
    if (reason.empty()) return true;
    if (skipped_.empty()) skipped_ = SkippedRecordText(trial, reason);
    if (refused_ != nullptr) refused_->push_back({trial, SkippedRecordText(trial, reason)});
    return false;
  }
  /// Record that must not call its library, and its description.
  struct Refused {
    Trial trial;
    std::string told;
  };
  /// Also appends every record that Allows rejects to `refused`.
  void KeepRefused(std::vector<Refused>& refused) { refused_ = &refused; }
  /// Describes the first rejected record; empty if none was rejected.
  const std::string& skipped_record() const { return skipped_; }
  /// Returns the reason why records of a plugin's or an excluded template were skipped; empty if
  /// none were.
  const std::string& not_loaded() const { return not_loaded_; }

 private:
  static std::string SkippedRecordText(const Trial& trial, const std::string& reason) {
    return trial.candidate.template_key + " in " + ShortestDouble(trial.value) + " " +
           trial.metric + " (" + trial.device.extra + "), as " + reason;
  }
  std::string Refuses(const KernelLibrary& library, const Candidate& candidate) const {
    if (std::string reason = UnusableLibraryReason(library, target_); !reason.empty())
      return reason;
    const TemplateEntry* entry = templates_.Find(candidate.template_key);
    if (entry == nullptr) return "there is no such template";
    if (std::string reason = entry->refuses(workload_, target_); !reason.empty()) return reason;
    return refuses_call_ != nullptr ? refuses_call_(candidate) : std::string();
  }

  const TemplateRegistry& templates_;
  const Workload& workload_;
  const Target& target_;
  const LibraryCallFilter& refuses_call_;
  std::string skipped_, not_loaded_, exclusion_reason_;
  std::int64_t left_out_ = 0;
  std::vector<Refused>* refused_ = nullptr;
};

}  // namespace tilewright::records
