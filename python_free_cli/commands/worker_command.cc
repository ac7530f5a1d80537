// `tilewright worker`: offers this machine's builders and devices to the jobs of a fleet.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <atomic>
#include <csignal>
#include <filesystem>

#include "measure/fleet/fake_executor.h"
#include "measure/fleet/open/program_executor.h"
#include "measure/fleet/process_executor.h"
#include "measure/fleet/worker_core.h"
#include "python_free_cli/arguments/fleet_argument.h"
#include "python_free_cli/arguments/fleet_security.h"
#include "python_free_cli/arguments/reject_options.h"
#include "python_free_cli/arguments/task_argument.h"
#include "python_free_cli/command.h"
#include "python_free_cli/measurer_setup.h"
#include "python_free_cli/print.h"
#include "src/base/hash.h"
#include "src/base/strings.h"
#include "src/base/text/plural.h"
#include "src/base/thread.h"
#include "src/plugins/registries.h"
#include "src/session/open_task.h"
#include "src/session/target.h"
#include "src/target/device.h"

namespace tilewright::cli {
namespace {

namespace fleet = measure::fleet;

std::atomic<int> worker_signal{0};
void StopWorker(int signal) { worker_signal.store(signal); }

/// Connection of one device, or of the builders, of a worker.
struct Seat {
  fleet::WorkerSettings settings;
  std::unique_ptr<fleet::Broker> broker;
  std::unique_ptr<fleet::Executor> executor;
};

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
    TW_ASSIGN_OR_RETURN(address_, FleetAddress(fleet_));
    TW_RETURN_IF_ERROR(CheckBroker(address_, insecure_));
    TW_RETURN_IF_ERROR(CheckUser());
    if (name_.empty()) name_ = address_.seed_file.empty() ? HostName() : address_.user;
    TW_RETURN_IF_ERROR(fleet::CheckName("--name", name_));
    if (!build_ && !measure_) both_ = measure_ = true;
    for (const int signal : {SIGHUP, SIGINT, SIGTERM}) {
      if (std::signal(signal, StopWorker) == SIG_IGN) std::signal(signal, SIG_IGN);
    }
    std::vector<Seat> seats;
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

  static std::string HostName() {
    std::array<char, 65> name{};
    if (::gethostname(name.data(), name.size() - 1) != 0) return "worker";
    std::string text = name.data();
    for (char& c : text) {
      if (!fleet::IsName(std::string(1, c))) c = '-';
    }
    return text.empty() ? "worker" : text.substr(0, 64);
  }

  Result<Seat> SeatOf(int number) const {
    Seat seat;
    TW_ASSIGN_OR_RETURN(seat.broker, fleet::Connect(address_, "tilewright worker " + name_));
    seat.settings.name = {name_, "d" + std::to_string(number)};
    fleet::Announcement& announcement = seat.settings.announcement;
    // Distinguishes processes with the same name.
    const double now = SystemClock().UnixSeconds();
    announcement.instance =
        HexOf(Mix64(Fnv1a64(std::to_string(::getpid()) + "/" + std::to_string(now))));
    announcement.version = TILEWRIGHT_VERSION;
    announcement.measures = measure_;
    announcement.builds = build_ || both_;
    seat.settings.builds_for_others = build_;
    const std::string who = seat.settings.name.ToString();
    seat.settings.on_note = [who](const std::string& text) { PrintErr("{}: {}\n", who, text); };
    return seat;
  }

  /// Parses --made-up-slower. Errors: kInvalidArgument.
  Status MakeSlower(fleet::FakeExecutor::Settings& settings) {
    if (slower_.empty()) return {};
    const auto words = Split(slower_, '@');
    const auto factor = ParseDouble(words.front()), after = ParseDouble(words.back());
    if (words.size() != 2 || !factor.ok() || !after.ok() || !(*factor > 0) || !(*after >= 0)) {
      return InvalidArgument("--made-up-slower: " + slower_ +
                             ", expected FACTOR@SECONDS such as 1.08@120");
    }
    settings.slowness = [factor = *factor, at = clock_.MonotonicSeconds() + *after](double now) {
      return now < at ? 1 : factor;
    };
    return {};
  }

  Result<Seat> FakeSeat(int number) {
    TW_ASSIGN_OR_RETURN(auto seat, SeatOf(number));
    fleet::FakeExecutor::Settings settings;
    settings.seconds = fake_seconds_;
    settings.device = fleet::FakeExecutor::Device();
    settings.verified = true;
    TW_RETURN_IF_ERROR(MakeSlower(settings));
    fleet::Announcement& announcement = seat.settings.announcement;
    announcement.fingerprint = settings.device.ToString();
    announcement.target = "llvm";
    // A fake device without delay takes many orders at a time.
    constexpr int kTwo = 2, kMany = 32;
    announcement.build_slots = announcement.measure_slots = fake_seconds_ > 0 ? kTwo : kMany;
    seat.settings.device_class = fleet::ClassOf(settings.device);
    seat.executor = std::make_unique<fleet::FakeExecutor>(std::move(settings), clock_);
    return seat;
  }

  Result<Seat> RealSeat(int number) {
    TW_ASSIGN_OR_RETURN(auto seat, SeatOf(number));
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
    if (!measure_) settings.runner.calibrate = false;
    const DeviceFingerprint device = *settings.device;
    fleet::Broker* broker = seat.broker.get();
    TW_ASSIGN_OR_RETURN(auto executor, fleet::ProcessExecutor::Create(
                                           std::move(settings), [broker] { broker->Wake(); }));
    fleet::Announcement& announcement = seat.settings.announcement;
    announcement.fingerprint = device.ToString();
    announcement.target = target.ToString();
    announcement.resolution = measure_ ? executor->measurer().resolution() : 0;
    const int capacity = executor->measurer().capacity();
    constexpr int kBehind = 2;  // one order runs, one is ready
    announcement.build_slots = std::max(1, capacity - kBehind);
    announcement.measure_slots = announcement.builds ? capacity : kBehind;
    seat.settings.device_class = fleet::ClassOf(device);
    seat.executor = std::move(executor);
    return seat;
  }

  /// Seat for the programs of the user, the only commands that it runs.
  Result<Seat> ProgramSeat() const {
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
    if (programs.size() > fleet::kMaxPrograms) return InvalidArgument("--program: too many");
    TW_ASSIGN_OR_RETURN(auto seat, SeatOf(0));
    fleet::Broker* broker = seat.broker.get();
    TW_ASSIGN_OR_RETURN(auto executor, fleet::ProgramExecutor::Create(
                                           std::move(programs), [broker] { broker->Wake(); }));
    fleet::Announcement& announcement = seat.settings.announcement;
    announcement.fingerprint = executor->device().ToString();
    announcement.target = "program";
    announcement.programs = executor->keys();
    announcement.build_slots = announcement.measure_slots = executor->capacity();
    seat.settings.device_class = fleet::ClassOf(executor->device());
    for (const std::string& key : announcement.programs) PrintErr("program {}\n", key);
    seat.executor = std::move(executor);
    return seat;
  }

  Result<int> Serve(std::vector<Seat> seats) {
    std::vector<std::thread> threads;
    std::atomic<int> failed{0};
    PrintErr("worker {}: {} of class {}, {}{}{}\n", name_, Counted(std::ssize(seats), "device"),
             seats.front().settings.device_class, measure_ ? "measures" : "",
             measure_ && (build_ || both_) ? " and " : "", build_ || both_ ? "builds" : "");
    const auto serve = [&](Seat& seat) {
      const Status status = ServeSeat(seat);
      if (status.ok()) return;
      PrintErr("worker {}: {}\n", seat.settings.name.ToString(), status.message());
      failed.store(1);
    };
    for (std::size_t i = 1; i < seats.size(); ++i) {
      auto thread = StartThread([&serve, seat = &seats[i]] { serve(*seat); });
      if (thread.ok()) threads.push_back(*std::move(thread));
    }
    serve(seats.front());
    for (std::thread& thread : threads) thread.join();
    return failed.load() != 0 ? kExitFailed : kExitDone;
  }

  Status ServeSeat(Seat& seat) {
    fleet::WorkerCore core(seat.settings, *seat.executor, *seat.broker, clock_);
    TW_RETURN_IF_ERROR(core.Open());
    constexpr double kPollSeconds = 0.1;
    bool draining = false;
    while (!core.drained()) {
      core.Poll(kPollSeconds);
      TW_RETURN_IF_ERROR(seat.executor->status());
      if (worker_signal.load() == 0) continue;
      // After the first signal the worker finishes its orders; SIGTERM or a second signal ends it
      // at once.
      if (draining || worker_signal.load() == SIGTERM) break;
      draining = true;
      worker_signal.store(0);
      core.Drain();
    }
    core.Close();
    return {};
  }

  const CLI::App* app_ = nullptr;
  std::vector<std::string> programs_;
  std::string fleet_, name_, target_ = "native", vta_config_, slower_;
  bool build_ = false, measure_ = false, both_ = false, insecure_ = false, allow_root_ = false;
  int builders_ = 0, devices_ = 1;
  double fake_seconds_ = 0;
  CLI::Option* fake_option_ = nullptr;
  DeviceArgument device_;
  RunnerArguments runner_;
  fleet::Address address_;
  SystemClock clock_;
};

}  // namespace

std::unique_ptr<Command> MakeWorkerCommand() { return std::make_unique<WorkerCommand>(); }

}  // namespace tilewright::cli
