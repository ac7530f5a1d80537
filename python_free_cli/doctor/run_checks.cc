#include <algorithm>
#include <filesystem>

#include "python_free_cli/doctor/checks.h"
#include "src/base/files/file.h"
#include "src/base/strings.h"

namespace tilewright::cli {

std::string_view SeverityName(Severity verdict) {
  switch (verdict) {
    case Severity::kGood:
      return "good";
    case Severity::kNote:
      return "note";
    case Severity::kAdvice:
      return "advice";
    case Severity::kProblem:
      return "problem";
  }
  return "note";
}

std::optional<std::string> MachineFiles::Read(std::string_view path) const {
  constexpr std::int64_t kMaxBytes = 1 << 22;  // /proc/mounts of a machine with many containers
  auto text = ReadFile(root_ + std::string(path), kMaxBytes);
  if (!text.ok()) return std::nullopt;
  return std::string(Trim(*text));
}

std::vector<std::string> MachineFiles::Names(std::string_view folder,
                                             std::string_view begin) const {
  std::vector<std::string> names;
  std::error_code failed;
  std::filesystem::directory_iterator entry(root_ + std::string(folder), failed), end;
  for (; !failed && entry != end; entry.increment(failed)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with(begin)) names.push_back(name);
  }
  std::ranges::sort(names, [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  return names;
}

bool MachineFiles::Has(std::string_view path) const {
  return FileExists(root_ + std::string(path));
}

std::vector<Finding> RunChecks(const std::string& root, const MachineProbe& probe) {
  const MachineFiles files(root);
  std::vector<Finding> findings;
  for (const auto& checks :
       {ProgramChecks(), ProcessorChecks(), SystemChecks(), InstalledChecks()}) {
    for (const Check& check : checks) {
      Finding& finding = findings.emplace_back();
      finding.name = check.name;
      finding.why = check.why;
      check.inspect({files, probe}, finding);
    }
  }
  return findings;
}

}  // namespace tilewright::cli
