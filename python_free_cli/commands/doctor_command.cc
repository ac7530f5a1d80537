// `tilewright doctor`: checks this machine for conditions that affect measurements, and recommends
// commands.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

#include "python_free_cli/command.h"
#include "python_free_cli/doctor/doctor.h"
#include "python_free_cli/print.h"
#include "src/base/json.h"
#include "src/base/text/plural.h"
#include "src/session/user_paths.h"

namespace tilewright::cli {
namespace {

class DoctorCommand final : public Command {
 public:
  const char* name() const override { return "doctor"; }
  const char* summary() const override {
    return "Check this machine and this program for problems, and print the commands that fix them";
  }
  const char* examples() const override {
    return "  tilewright doctor\n"
           "  tilewright doctor --records /data/records.db --json\n"
           "The exit code is 1 if there is a problem.\n";
  }
  void Declare(CLI::App& app) override {
    app.add_option("--records", records_,
                   "Record store whose disk is checked (default: the user's store)");
    app.add_flag("--json", json_, "Print JSON");
  }
  Result<int> Run() override {
    if (records_.empty()) {
      TW_ASSIGN_OR_RETURN(const auto paths, session::FindUserPaths());
      records_ = paths.records;
    }
    std::error_code failed;
    const auto path = std::filesystem::absolute(records_, failed);
    if (failed) return InvalidArgument(records_ + ": " + failed.message());
    const std::vector<Finding> findings = RunChecks("", ProbeMachine(path.parent_path().string()));
    const auto problems = std::ranges::count(findings, Severity::kProblem, &Finding::verdict);
    if (json_) {
      Json list = Json::array();
      for (const Finding& finding : findings) {
        list.push_back({{"name", finding.name},
                        {"verdict", std::string(SeverityName(finding.verdict))},
                        {"is", finding.is},
                        {"why", finding.why},
                        {"do", finding.command.empty() ? Json() : Json(finding.command)}});
      }
      PrintJson({{"ok", problems == 0}, {"findings", list}});
    } else {
      Print(findings);
    }
    return problems == 0 ? kExitDone : kExitFailed;
  }

 private:
  static void Print(const std::vector<Finding>& findings) {
    int counts[4] = {};
    for (const Finding& finding : findings) {
      ++counts[static_cast<int>(finding.verdict)];
      PrintAfterHead(fmt::format("{:<8} {:<16} ", SeverityName(finding.verdict), finding.name),
                     finding.is);
      if (finding.verdict == Severity::kGood) continue;
      PrintAfterHead(std::string(26, ' '), finding.why);
      if (!finding.command.empty()) PrintOut("{:<25} do: {}\n", "", finding.command);
    }
    PrintOut("{} good, {}, {} to improve, {}\n", counts[0], Counted(counts[1], "note"), counts[2],
             Counted(counts[3], "problem"));
  }

  std::string records_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeDoctorCommand() { return std::make_unique<DoctorCommand>(); }

}  // namespace tilewright::cli
