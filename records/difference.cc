#include "records/difference.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "src/target/device.h"
#include "src/target/library.h"
#include "src/templates/open/environment.h"
#include "src/templates/registry.h"

namespace tilewright::records {
namespace {

/// Returns the items that only `from` has, joined; both lists are sorted.
std::string Without(const std::vector<std::string>& from, const std::vector<std::string>& what) {
  std::vector<std::string> left;
  std::ranges::set_difference(from, what, std::back_inserter(left));
  std::string text;
  for (const std::string& word : left) text += (text.empty() ? "" : ",") + word;
  return text;
}

void CompareDevices(const DeviceFingerprint& measured, const DeviceFingerprint& here,
                    std::vector<Difference>& differences) {
  if (measured == here || here.is_generic()) return;
  if (IsEnvironment(measured) && IsEnvironment(here)) {
    return AddDifference("environment", measured.model, here.model, differences);
  }
  AddDifference("device", measured.model, here.model, differences);
  AddDifference("instruction sets", Without(measured.isa, here.isa),
                Without(here.isa, measured.isa), differences);
  AddDifference("driver", measured.extra, here.extra, differences);
}

}  // namespace

std::string Difference::ToString() const {
  return what + ": measured '" + recorded + "', asked '" + asked + "'";
}

void AddDifference(std::string what, const std::string& recorded, const std::string& asked,
                   std::vector<Difference>& differences) {
  if (recorded != asked) differences.push_back({std::move(what), recorded, asked});
}

std::vector<Difference> DifferencesOf(const TemplateRegistry& templates, const Trial& trial,
                                      const Workload& workload, const Target& target,
                                      const DeviceFingerprint& device) {
  std::vector<Difference> differences;
  const Candidate& candidate = trial.candidate;
  // Comparing them is faster than printing them, and usually they are equal.
  if (candidate.task.workload != workload) {
    AddDifference("workload", candidate.task.workload.Key(), workload.Key(), differences);
  }
  if (candidate.task.target != target) {
    AddDifference("target", candidate.task.target.ToString(), target.ToString(), differences);
  }
  const KernelLibrary* library = LibraryOfTemplate(candidate.template_key);
  CompareDevices(trial.device, library != nullptr ? WithLibrary(device, *library) : device,
                 differences);
  const TemplateEntry* entry = templates.Find(candidate.template_key);
  const int version = entry != nullptr ? entry->version : 0;
  if (version != candidate.template_version) {
    AddDifference("template version", std::to_string(candidate.template_version),
                  std::to_string(version), differences);
  }
  const int codegen_version = DeviceTraitsOf(target).codegen_version;
  if (trial.codegen_version != codegen_version) {
    AddDifference("code generator version", std::to_string(trial.codegen_version),
                  std::to_string(codegen_version), differences);
  }
  return differences;
}

}  // namespace tilewright::records
