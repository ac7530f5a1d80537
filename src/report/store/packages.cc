#include "src/report/store/packages.h"

#include <algorithm>

#include "src/base/format_printable.h"
#include "src/base/json.h"
#include "src/base/printable.h"
#include "src/base/text/plural.h"
#include "src/session/format.h"
#include "src/session/text_table.h"

namespace tilewright::report {
namespace {

Json ManifestJson(const records::PackageManifest& manifest) {
  return *ParseJson(manifest.ToText());
}

Json DifferenceSideJson(const std::optional<records::Record>& record) {
  if (!record.has_value()) return nullptr;
  return {{"template", record->trial.candidate.template_key},
          {"config", *ParseJson(record->trial.candidate.config.ToString())},
          {record->trial.metric, record->trial.value},
          {"record", record->id}};
}

std::string DifferenceSideText(const std::optional<records::Record>& record) {
  if (!record.has_value()) return "-";
  const Trial& trial = record->trial;
  return fmt::format("{} #{}", session::ShortValue(trial.metric, trial.value),
                     trial.candidate.config.index);
}

}  // namespace

Json BuiltPackageJson(const std::string& file, const records::BuiltPackage& package) {
  return {{"file", file},
          {"bytes", package.bytes.size()},
          {"manifest", ManifestJson(package.manifest)}};
}

std::string BuiltPackageText(const std::string& file, const records::BuiltPackage& package,
                             bool is_signed) {
  const records::PackageManifest& m = package.manifest;
  return FormatPrintable("{}: {} of {} on {}, {:.1f} kB, {}\n", file, Counted(m.trials, "trial"),
                         Counted(m.tasks, "task"), Counted(m.devices, "device"),
                         1e-3 * static_cast<double>(package.bytes.size()),
                         is_signed ? "signed" : "unsigned");
}

Json VerifiedPackageJson(const std::string& file, const records::Package& package) {
  return {{"file", file},
          {"ok", true},
          {"digest", package.digest},
          {"signer", package.SignerText()},
          {"manifest", ManifestJson(package.manifest)}};
}

std::string VerifiedPackageText(const std::string& file, const records::Package& package) {
  const records::PackageManifest& m = package.manifest;
  return FormatPrintable(
      "{}: sound\n  target   {}\n  records  {} of {}, newest {}\n"
      "  signer   {}\n  licence  {}\n  digest   {}\n",
      file, fmt::join(m.targets, "; "), Counted(m.trials, "trial"), Counted(m.tasks, "task"),
      m.newest_trial, package.SignerText(), m.license, package.digest);
}

Json RefusedPackageJson(const std::string& file, const Status& why) {
  return {{"file", file}, {"ok", false}, {"reason", why.message()}};
}

Json InstallJson(const std::string& file, const records::InstallResult& result) {
  return {{"file", file},
          {"ok", true},
          {"name", result.package.manifest.name},
          {"digest", result.package.digest},
          {"was_there", result.was_there},
          {"now_signed", result.now_signed},
          {"replaced", result.replaced}};
}

std::string InstallText(const records::InstallResult& result) {
  return FormatPrintable("{}: {}, {}, {}{}\n", PackageTitle(result.package),
                         result.now_signed  ? "was there unsigned, now signed"
                         : result.was_there ? "was there"
                                            : "installed",
                         Counted(result.package.manifest.tasks, "task"),
                         result.package.SignerText(),
                         result.replaced.empty() ? "" : ", replaces an older one");
}

Json InstalledJson(const records::InstalledList& list) {
  Json packages = Json::array();
  for (const records::InstalledPackage& package : list.packages) {
    packages.push_back({{"name", package.manifest.name},
                        {"digest", package.digest},
                        {"signer", package.SignerText()},
                        {"folder", package.folder},
                        {"manifest", ManifestJson(package.manifest)}});
  }
  return {{"packages", std::move(packages)}, {"problems", list.problems}};
}

std::string InstalledText(const records::InstalledList& list, int columns) {
  session::TextTable table({{"package", false, 16},
                            {"digest"},
                            {"tasks", true},
                            {"trials", true},
                            {"newest", false, 10},
                            {"signer", false, 12}},
                           columns);
  for (const records::InstalledPackage& package : list.packages) {
    const records::PackageManifest& m = package.manifest;
    table.AddRow({Printable(m.name), package.digest.substr(0, 12), std::to_string(m.tasks),
                  std::to_string(m.trials), Printable(m.newest_trial),
                  Printable(package.SignerText())});
  }
  return table.Take();
}

std::string PackageTitle(const records::InstalledPackage& package) {
  return package.manifest.name + " (" + package.digest.substr(0, 12) + ")";
}

Json DifferencesJson(const std::vector<records::TaskDifference>& tasks) {
  Json different = Json::array();
  for (const records::TaskDifference& task : tasks) {
    if (task.same()) continue;
    different.push_back({{"workload", task.workload_key},
                         {"target", task.target},
                         {"device", task.device},
                         {"before", DifferenceSideJson(task.before)},
                         {"after", DifferenceSideJson(task.after)}});
  }
  return {{"same", std::ranges::count_if(tasks, &records::TaskDifference::same)},
          {"different", std::move(different)}};
}

std::string DifferencesText(const std::vector<records::TaskDifference>& tasks, int columns) {
  session::TextTable table({{"task", false, 24}, {"before", true}, {"after", true}}, columns);
  for (const records::TaskDifference& task : tasks) {
    if (task.same()) continue;
    const auto workload = Workload::Parse(task.workload_key);
    table.AddRow({Printable(workload.ok() ? session::ShortName(*workload) : task.workload_key),
                  DifferenceSideText(task.before), DifferenceSideText(task.after)});
  }
  const auto same = std::ranges::count_if(tasks, &records::TaskDifference::same);
  return table.Take() + fmt::format("{} the same, {} different\n", Counted(same, "task"),
                                    std::ssize(tasks) - same);
}

}  // namespace tilewright::report
