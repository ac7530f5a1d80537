// `tilewright worker`: offers this machine's builders and devices to the jobs of a fleet.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <csignal>

#include "measure/fleet/admin/address.h"
#include "python_free_cli/arguments/fleet_security.h"
#include "python_free_cli/arguments/reject_options.h"
#include "python_free_cli/arguments/task_argument.h"
#include "python_free_cli/command.h"
#include "python_free_cli/measurer_setup.h"
#include "python_free_cli/print.h"
#include "src/base/strings.h"
#include "src/base/text/plural.h"
#include "src/plugins/registries.h"
#include "src/session/fleet/worker.h"
#include "src/session/open_task.h"
#include "src/session/target.h"
#include "src/target/device.h"

namespace tilewright::cli {
namespace {

namespace fleet = measure::fleet;

std::atomic<int> worker_signal{0};
void StopWorker(int signal) { worker_signal.store(signal); }

class WorkerCommand final : public Command {
 public:
  const char* name() const override { return "worker"; }
  const char* summary() const override {
    return "Serve the jobs of a fleet with the builders and devices of this machine";
  }
  const char* examples() const override {
    return "  tilewright worker --fleet lab/bench7.fleet\n"
           "  tilewright worker --fleet lab/bench7.fleet --measure\n"
           "  tilewright worker --fleet lab/farm.fleet --build\n"
           "  tilewright worker --fleet lab/boards.fleet --runner 'ssh board1 tilewright-runner' "
           "--runner 'ssh board2 tilewright-runner' --target rasp4b64\n"
           "  tilewright worker --fleet lab/bench7.fleet --program matmul.json\n";
  }
  void Declare(CLI::App& app) override {
    app.add_option("--fleet", fleet_,
                   "Broker of the fleet: nats://host:4222, or a file that `tilewright fleet` wrote")
        ->required();
    app.add_flag("--insecure", insecure_, kInsecureHelp);
    app.add_flag("--allow-root", allow_root_,
                 "Allow running as root; only the sandbox then protects the files of this machine");
    app.add_option("--name", name_,
                   "Name of this worker (default: from its key, else the host name)");
    app.add_flag("--build", build_, "Build candidates, also for devices of other workers");
    app.add_flag(
        "--measure", measure_,
        "Measure candidates (default without --build and --measure: both, for its own devices)");
    app.add_option("--target", target_, "Target of its device: native, a board, or vta");
    app.add_option("--vta-config", vta_config_,
                   "Design of a VTA target: a file, or a name such as sim or pynq");
    app.add_option("--builders", builders_, "Number of builders (default: one per free core)")
        ->check(CLI::Range(1, 64));
    app.add_option("--made-up", fake_seconds_,
                   "For tests of a fleet: fake devices whose trials take this many seconds")
        ->check(CLI::Range(0.0, 1000.0));
    app.add_option("--made-up-slower", slower_,
                   "With --made-up: slow the devices down by FACTOR after SECONDS: 1.08@120");
    app.add_option("--devices", devices_, "With --made-up: number of fake devices")
        ->check(CLI::Range(1, 4096));
    app.add_option("--program", programs_,
                   "Run this program for open tasks of the fleet, and no other command: a job file "
                   "with space and command; repeatable")
        ->allow_extra_args(false);
    device_.Declare(app);
    runner_.Declare(app);
    app_ = &app;
    fake_option_ = app.get_option("--made-up");
  }

  Result<int> Run() override {
    TW_ASSIGN_OR_RETURN(profile_.address, fleet::ReadAddress(fleet_));
    TW_RETURN_IF_ERROR(CheckBroker(profile_.address, insecure_));
    TW_RETURN_IF_ERROR(CheckUser());
    if (name_.empty()) {
      const fleet::Address& address = profile_.address;
      name_ = address.seed_file.empty() ? session::WorkerNameOfHost() : address.user;
    }
    TW_RETURN_IF_ERROR(fleet::CheckName("--name", name_));
    const bool both = !build_ && !measure_;
    profile_.name = name_;
    profile_.version = TILEWRIGHT_VERSION;
    profile_.measures = measure_ || both;
    profile_.builds = build_ || both;
    profile_.builds_for_others = build_;
    profile_.note = [](const std::string& seat, const std::string& text) {
      PrintErr("{}: {}\n", seat, text);
    };
    for (const int signal : {SIGHUP, SIGINT, SIGTERM}) {
      if (std::signal(signal, StopWorker) == SIG_IGN) std::signal(signal, SIG_IGN);
    }
    std::vector<session::WorkerSeat> seats;
    const bool is_fake = fake_option_->count() > 0;
    const int count =
        is_fake ? devices_ : std::max<int>(1, static_cast<int>(runner_.commands.size()));
    for (int i = 0; i < count; ++i) {
      TW_ASSIGN_OR_RETURN(auto seat, is_fake             ? FakeSeat(i)
                                     : programs_.empty() ? RealSeat(i)
                                                         : ProgramSeat());
      seats.push_back(std::move(seat));
    }
    return Serve(std::move(seats));
  }

 private:
  /// Checks the user. Errors: kInvalidArgument as root, unless root is allowed or only fake devices
  /// run.
  Status CheckUser() const {
    if (::geteuid() != 0 || fake_option_->count() > 0) return {};
    if (!allow_root_) {
      return InvalidArgument(
          "worker: refuses to run as root, because jobs of other users would run with its rights: "
          "use a separate user (docs/fleet.md), or --allow-root");
    }
    PrintErr(
        "worker: runs as root: only the sandbox protects root's files from candidates of other "
        "users\n");
    return {};
  }

  Result<session::WorkerSeat> FakeSeat(int number) {
    std::function<double(double)> slowness;
    if (!slower_.empty()) {
      const auto words = Split(slower_, '@');
      const auto factor = ParseDouble(words.front()), after = ParseDouble(words.back());
      if (words.size() != 2 || !factor.ok() || !after.ok() || !(*factor > 0) || !(*after >= 0)) {
        return InvalidArgument("--made-up-slower: " + slower_ +
                               ", expected FACTOR@SECONDS such as 1.08@120");
      }
      slowness = [factor = *factor, at = clock_.MonotonicSeconds() + *after](double now) {
        return now < at ? 1 : factor;
      };
    }
    return session::OpenFakeSeat(profile_, number, fake_seconds_, std::move(slowness), clock_);
  }

  Result<session::WorkerSeat> RealSeat(int number) {
    std::string text = target_;
    RunnerArguments runner;
    if (runner_.elsewhere()) {
      runner.commands = {runner_.commands[static_cast<std::size_t>(number)]};
      TW_RETURN_IF_ERROR(runner.Connect(text));
    }
    TW_ASSIGN_OR_RETURN(auto target, session::ParseTarget(text, 1, vta_config_, {}, PrintNote));
    TW_RETURN_IF_ERROR(device_.CheckRuns(target));
    TW_ASSIGN_OR_RETURN(auto settings, session::MeasurerSettings(WorkersOf(registries()), target,
                                                                 runner, device_, PrintNote));
    settings.builders = builders_;
    if (!profile_.measures) settings.runner.calibrate = false;
    return session::OpenDeviceSeat(profile_, number, target, std::move(settings));
  }

  /// Seat for the programs of the user, the only commands that it runs.
  Result<session::WorkerSeat> ProgramSeat() const {
    TW_RETURN_IF_ERROR(RejectOptions(
        *app_, {"--build", "--measure", "--target", "--vta-config", "--runner", "--device"},
        "not allowed with --program; start another worker"));
    std::vector<fleet::ProgramExecutor::Program> programs;
    for (const std::string& file : programs_) {
      TW_ASSIGN_OR_RETURN(auto job, session::LoadOpenTaskOfJob(registries().strategies, file));
      if (!job.environment.empty()) {
        return InvalidArgument(file +
                               ": environment: not allowed for a worker, whose records belong to "
                               "its machine");
      }
      measure::ProgramMeasurerSettings settings;
      settings.run.seconds = job.time_limit;
      settings.build.seconds = job.build_limit;
      settings.builders = builders_;
      settings.note = [](const std::string& note) { PrintErr("note: {}\n", note); };
      programs.push_back({std::move(job.task), std::move(settings)});
    }
    TW_ASSIGN_OR_RETURN(auto seat, session::OpenProgramSeat(profile_, std::move(programs)));
    for (const std::string& key : seat.settings.announcement.programs) {
      PrintErr("program {}\n", key);
    }
    return seat;
  }

  Result<int> Serve(std::vector<session::WorkerSeat> seats) {
    PrintErr("worker {}: {} of class {}, {}{}{}\n", name_, Counted(std::ssize(seats), "device"),
             seats.front().settings.device_class, profile_.measures ? "measures" : "",
             profile_.measures && profile_.builds ? " and " : "", profile_.builds ? "builds" : "");
    const bool sound = session::ServeSeats(seats, worker_signal, clock_,
                                           [](const std::string& seat, const Status& why) {
                                             PrintErr("worker {}: {}\n", seat, why.message());
                                           });
    return sound ? kExitDone : kExitFailed;
  }

  const CLI::App* app_ = nullptr;
  std::vector<std::string> programs_;
  std::string fleet_, name_, target_ = "native", vta_config_, slower_;
  bool build_ = false, measure_ = false, insecure_ = false, allow_root_ = false;
  int builders_ = 0, devices_ = 1;
  double fake_seconds_ = 0;
  CLI::Option* fake_option_ = nullptr;
  DeviceArgument device_;
  RunnerArguments runner_;
  session::WorkerProfile profile_;
  SystemClock clock_;
};

}  // namespace

std::unique_ptr<Command> MakeWorkerCommand() { return std::make_unique<WorkerCommand>(); }

}  // namespace tilewright::cli
