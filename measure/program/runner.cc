// Runs of a user's program. An answer counts only if it came within the time, once, and for the
// config that was asked for; everything else is a failure of the config with its reason.

#include "measure/program/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "measure/program/build_cache.h"
#include "src/base/json.h"
#include "src/base/printable.h"

namespace tilewright::measure {
namespace {

// A preemption costs a program about one time slice of another one.
constexpr double kSliceSeconds = 3e-3;
constexpr double kMaxStolenShare = 0.03;
constexpr double kStopSeconds = 1;
constexpr std::size_t kShownBytes = 80;

bool IsClean(const CommandResult& result) {
  const double stolen = kSliceSeconds * static_cast<double>(result.preemptions);
  return stolen <= kMaxStolenShare * std::max(result.seconds, result.cpu_seconds);
}

ProgramRun FailedProgram(Outcome outcome, std::string reason) {
  ProgramRun run;
  run.outcome = outcome;
  run.reason = std::move(reason);
  return run;
}

/// Failure of a config whose process was ended, or ended, before its answer.
ProgramRun Unanswered(const Command::Line& line, const CommandResult& result) {
  if (line.too_long) {
    return FailedProgram(Outcome::kRunFailed, "it wrote more to standard output than allowed");
  }
  if (line.disk_full)
    return FailedProgram(Outcome::kRunFailed, "it wrote more to the disk than allowed");
  std::string reason = "it ended without an answer";
  const std::string why = result.Reason();
  if (!why.empty()) reason += ": " + why;
  ProgramRun run = FailedProgram(Outcome::kRunFailed, std::move(reason));
  if (result.end == CommandEnd::kNoResource) run.error = Unavailable(run.reason);
  return run;
}

/// Line of a command that reads no more input.
Command::Line EndedLine() {
  Command::Line line;
  line.ended = true;
  return line;
}

}  // namespace

ProgramRun FailedRun(const CommandResult& result, Outcome failed, Outcome timeout) {
  ProgramRun run =
      FailedProgram(result.end == CommandEnd::kTimeout ? timeout : failed, result.Reason());
  run.seconds = result.seconds;
  if (result.end == CommandEnd::kNoResource) run.error = Unavailable(run.reason);
  return run;
}

CommandSpec ProgramRunner::SpecOf(const std::vector<std::string>& words, const Config& config,
                                  const std::string& out) const {
  CommandSpec spec;
  spec.words = ExpandWords(task_, words, config, out);
  spec.environment = EnvironmentOf(task_, config, out);
  if (task_.input != OpenInput::kWords) spec.input = ConfigJson(task_, config) + "\n";
  spec.scratch = folder_ + "/run";
  spec.limits = limits_;
  spec.stop = stop_;
  return spec;
}

CommandResult ProgramRunner::RunSpec(const CommandSpec& spec) const {
  std::error_code ignored;
  std::filesystem::create_directories(spec.scratch, ignored);
  CommandResult result = RunCommand(spec);
  std::filesystem::remove_all(spec.scratch, ignored);
  return result;
}

void ProgramRunner::CheckSource(Source source, const Config& config, ProgramRun& run) {
  if (run.outcome != Outcome::kOk || source == source_) return;
  if (source_ == Source::kUnknown) {
    source_ = source;
    source_config_ = Printable(ConfigJson(task_, config));
    return;
  }
  run = FailedProgram(
      Outcome::kRunFailed,
      (source == Source::kWallTime ? "it printed no answer, but it printed one for the config "
                                   : "it printed an answer, but none for the config ") +
          source_config_);
}

void ProgramRunner::TakeAnswer(Answer answer, const Config& config, ProgramRun& run) {
  run.outcome = answer.outcome;
  run.reason = std::move(answer.reason);
  run.samples = std::move(answer.samples);
  run.max_abs_error = answer.max_abs_error;
  CheckSource(Source::kAnswer, config, run);
}

ProgramRun ProgramRunner::RunOnce(const Config& config, const std::string& out,
                                  double limit_seconds) {
  CommandSpec spec = SpecOf(task_.command, config, out);
  if (limit_seconds > 0) spec.limits.seconds = limit_seconds;
  const CommandResult result = RunSpec(spec);
  ProgramRun run;
  run.seconds = result.seconds;
  run.clean = IsClean(result);
  auto answer = FindAnswer(result.output, task_.metrics);
  const bool reports_failure =
      answer.ok() && answer->has_value() && (*answer)->outcome != Outcome::kOk;
  if (!result.ok() && !(reports_failure && result.end == CommandEnd::kExited)) {
    return FailedRun(result, Outcome::kRunFailed, Outcome::kRunTimeout);
  }
  if (!answer.ok()) return FailedProgram(Outcome::kRunFailed, answer.status().message());
  if (answer->has_value()) {
    TakeAnswer(**std::move(answer), config, run);
    return run;
  }
  if (task_.metrics != std::vector<std::string>{"seconds"}) {
    return FailedProgram(Outcome::kRunFailed, "it printed no answer with " + task_.metrics[0]);
  }
  run.samples["seconds"] = {result.seconds};
  CheckSource(Source::kWallTime, config, run);
  return run;
}

Status ProgramRunner::StartServer() {
  if (server_ && server_->HasMoreOutput()) {
    note_("the program printed more than one line for a config; it is started again");
    server_.reset();
  }
  if (server_ && server_->Ended()) {
    note_("the program ended between two configs; it is started again");
    server_.reset();
  }
  if (server_) return {};
  CommandSpec spec;
  spec.words = ExpandWords(task_, task_.command, Config(), {});  // it names no parameter
  for (const auto& [name, value] : task_.environment) {
    spec.environment.push_back(name + "=" + ExpandWord(value, Config(), {}));
  }
  spec.scratch = folder_ + "/server";
  std::error_code ignored;
  std::filesystem::create_directories(spec.scratch, ignored);
  spec.limits = limits_;
  spec.stop = stop_;
  server_answered_ = false;
  TW_ASSIGN_OR_RETURN(server_, Command::Start(spec));
  return {};
}

ProgramRun ProgramRunner::EndServer(ProgramRun failed) {
  server_.reset();
  return failed;
}

ProgramRun ProgramRunner::AskServer(const Config& config, const std::string& out,
                                    double limit_seconds) {
  if (const Status started = StartServer(); !started.ok()) {
    ProgramRun run = FailedProgram(Outcome::kRunFailed, started.message());
    run.error = started;
    return run;
  }
  const std::int64_t id = next_id_++;
  std::string request = fmt::format("{{\"id\":{},\"config\":{}", id, ConfigJson(task_, config));
  if (!out.empty()) request += ",\"out\":" + DumpJson(Json(out));
  const Status sent = server_->Write(request + "}\n");
  const Command::Line line = sent.ok() ? server_->ReadLine(limit_seconds) : EndedLine();
  if (!line.complete && line.timeout) {
    ProgramRun run =
        FailedProgram(Outcome::kRunTimeout, fmt::format("no answer within {:.3g} s", line.seconds));
    run.seconds = line.seconds;
    return EndServer(std::move(run));
  }
  if (!line.complete) {
    const CommandResult result = server_->Stop(line.ended ? kStopSeconds : 0);
    if (line.ended && result.ok() && server_answered_) {
      // It may have ended after its last answer, before this config.
      note_("the program ended between two configs; it is started again");
      server_.reset();
      return AskServer(config, out, limit_seconds);
    }
    return EndServer(Unanswered(line, result));
  }
  if (!LooksLikeAnswer(line.text)) {
    return EndServer(FailedProgram(Outcome::kRunFailed,
                                   "it printed '" + Printable(line.text.substr(0, kShownBytes)) +
                                       "', expected one line of JSON"));
  }
  auto answer = ParseAnswer(line.text, task_.metrics);
  if (!answer.ok()) return EndServer(FailedProgram(Outcome::kRunFailed, answer.status().message()));
  if (answer->id != id) {
    return EndServer(FailedProgram(
        Outcome::kRunFailed,
        answer->id < 0 ? fmt::format("answer: no \"id\", expected {}", id)
                       : fmt::format("it answered config {}, expected {}", answer->id, id)));
  }
  if (server_->HasMoreOutput()) {
    return EndServer(
        FailedProgram(Outcome::kRunFailed, "it answered twice, expected one line of JSON"));
  }
  server_answered_ = true;
  ProgramRun run;
  run.seconds = line.seconds;
  TakeAnswer(*std::move(answer), config, run);
  return run;
}

ProgramRun ProgramRunner::Run(const Config& config, const std::string& out, double limit_seconds) {
  const double limit =
      limits_.seconds > 0 && (limit_seconds <= 0 || limit_seconds > limits_.seconds)
          ? limits_.seconds
          : limit_seconds;
  return task_.input == OpenInput::kServer ? AskServer(config, out, limit)
                                           : RunOnce(config, out, limit);
}

ProgramRun ProgramRunner::Check(const Config& config, const std::string& out) {
  if (task_.check.empty()) return {};
  const CommandResult result = RunSpec(SpecOf(task_.check, config, out));
  if (result.ok()) return {};
  ProgramRun run = FailedRun(result, Outcome::kWrongResult, Outcome::kRunTimeout);
  if (result.end == CommandEnd::kNotStarted) run.outcome = Outcome::kRunFailed;
  run.reason = "check: " + run.reason;
  return run;
}

}  // namespace tilewright::measure
