// `tilewright tune`: a job from arguments or a file, its display, and its results.

#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <csignal>
#include <thread>

#include "cost_model/xgboost_model.h"
#include "measure/energy.h"
#include "measure/fleet/fleet_measurer.h"
#include "measure/fleet/process_executor.h"
#include "measure/supervisor/process_measurer.h"
#include "python_free_cli/arguments/device_argument.h"
#include "python_free_cli/arguments/fleet_argument.h"
#include "python_free_cli/arguments/float_error.h"
#include "python_free_cli/arguments/task_argument.h"
#include "python_free_cli/command.h"
#include "python_free_cli/commands/exchange_commands.h"
#include "python_free_cli/measurer_setup.h"
#include "python_free_cli/print.h"
#include "python_free_cli/tune_display.h"
#include "python_free_cli/tune_watch.h"
#include "records/package/schedules.h"
#include "records/store.h"
#include "search/deadline.h"
#include "search/job.h"
#include "search/legality.h"
#include "search/space.h"
#include "search/tuner.h"
#include "src/base/files/file.h"
#include "src/base/files/scoped_temp_path.h"
#include "src/base/json.h"
#include "src/plugins/registries.h"
#include "src/report/gather.h"
#include "src/report/machine_peaks.h"
#include "src/session/device_support.h"
#include "src/session/format.h"
#include "src/session/session.h"
#include "src/session/target.h"
#include "src/target/device.h"
#include "src/target/library.h"
#include "src/templates/device.h"
#include "src/templates/text/text_template.h"
#include "src/templates/vta/vta_target.h"

namespace tilewright::cli {
namespace {

// Allocation size from which the heap uses mmap. Each training of a cost model (there is none for
// counted metrics) allocates megabytes for some milliseconds, and more with more trials. Blocks of
// at least this size are returned to the system when freed. Within the heap they would leave holes
// between small blocks, and the memory of a long job would grow.
constexpr int kMmapBytes = 64 << 10;

// A signal handler can access only globals.
std::atomic<bool> stop_requested{false};
std::atomic<int> stop_signal{0};

void RequestStop(int signal) {
  stop_signal = signal;
  stop_requested = true;
  // The second Ctrl-C ends the program at once; the store stays consistent.
  std::signal(signal, SIG_DFL);
  RemoveTempPathsOnSignal();
}

/// Installs handlers; a signal that is ignored (nohup) stays ignored.
void StopAtSignals() {
  for (int signal : {SIGHUP, SIGINT, SIGTERM}) {
    if (std::signal(signal, RequestStop) == SIG_IGN) std::signal(signal, SIG_IGN);
  }
}

class TuneCommand final : public Command {
 public:
  const char* name() const override { return "tune"; }
  const char* summary() const override {
    return "Search for fast schedules of a model's tasks, on this machine or on a board";
  }
  const char* examples() const override {
    return "  tilewright tune resnet18.onnx --records records.db --budget 10m\n"
           "  tilewright tune resnet18.onnx#3 --records records.db --trials 200\n"
           "  tilewright tune resnet18.onnx --libs dnnl --records records.db --budget 10m\n"
           "  tilewright tune --job configs/jobs/overnight_cpu.json\n"
           "  tilewright tune resnet18_v1_vta_packed.relay --target vta --vta-config "
           "sim --records records.db --trials 640\n"
           "  tilewright tune net.relay --target vta --vta-config sim --metric cycles,dram_bytes "
           "--records records.db --trials 2000\n"
           "  tilewright tune resnet18.onnx --runner 'ssh board tilewright-runner' --target "
           "rasp4b64 "
           "--records records.db --budget 2h\n"
           "  tilewright tune resnet18.onnx --records records.db --budget 8h --watch\n"
           "  tilewright tune resnet18.onnx --fleet alice.fleet --records r.db --budget 8h\n"
           "  tilewright tune resnet18.onnx --fleet alice.fleet --records r.db --deadline "
           "2026-11-25T06:00:00Z\n"
           "A job that was stopped, or killed, goes on when the same command is started again.\n";
  }
  void Declare(CLI::App& app) override {
    app_ = &app;
    app.add_option(
        "file", file_,
        "Model file (ONNX or Relay text), FILE#N for one task, FILE.tw, or a workload key");
    app.add_option("--job", job_,
                   "Read the settings from a JSON file; arguments given beside it win");
    app.add_option("--records", records_,
                   "Record store, made if it does not exist (default: the user's)");
    target_option_ = app.add_option("--target", target_, "What code is generated for");
    app.add_option("--libs", libraries_,
                   "Libraries whose functions compete with generated kernels: dnnl; cudnn,cublas");
    app.add_option("--vta-config", vta_config_,
                   "Design of a VTA target: a file, or sim, pynq, ultra96, … (configs/vta)");
    app.add_flag("--no-fuse-residuals", no_fuse_residuals_,
                 "On a VTA, tune additions of residuals by themselves, not behind a convolution");
    device_.Declare(app);
    runner_.Declare(app);
    fleet_.Declare(app);
    threads_option_ = app.add_option("--threads", threads_, "Threads a kernel may use");
    trials_option_ = app.add_option("--trials", trials_, "Trials of the whole job");
    app.add_option("--budget", budget_, "Wall time of the whole job: 90s, 10m, 8h");
    app.add_option(
        "--deadline", deadline_,
        "When the job is to be over, races and all: 2026-11-25T06:00:00Z, or so long from "
        "now: 8h");
    app.add_option("--metric", metrics_,
                   "Search the Pareto front of several metrics: cycles,dram_bytes on a VTA, "
                   "seconds,code_bytes and joules on a CPU, seconds,joules on a GPU")
        ->delimiter(',');
    strategy_option_ =
        app.add_option("--strategy", strategy_,
                       "auto, model, evolve, genetic, random or grid, or one of a plugin");
    seed_option_ = app.add_option("--seed", seed_, "Seed of everything random");
    app.add_option(
           "--template", templates_,
           "Search only this template of the tasks that have it (several times for several)")
        ->allow_extra_args(false);
    app.add_flag("--groups", groups_,
                 "Groups of operators without an anchor (pools, norms, …) are tasks, too, where "
                 "they matter");
    model_.Declare(app);
    float_error_.Declare(app);
    app.add_flag("--watch", watch_,
                 "Serve a page of charts on 127.0.0.1 while the job runs; its address is printed");
    app.add_flag("--json", json_, "End with one line of JSON on standard output");
  }

  Result<int> Run() override {
    TW_ASSIGN_OR_RETURN(auto settings, Settings());
    TW_RETURN_IF_ERROR(ConnectFleet(settings));
    TW_RETURN_IF_ERROR(runner_.Connect(settings.target));
    TW_ASSIGN_OR_RETURN(auto target, session::ParseTarget(settings.target, settings.threads,
                                                          vta_config_, libraries_, PrintNote));
    TW_RETURN_IF_ERROR(ChooseMetric(settings, target));
    TW_RETURN_IF_ERROR(session::CheckResiduals(target, no_fuse_residuals_));
    TW_RETURN_IF_ERROR(CheckThreadsHere(target));
    if (!LibrariesOf(target).empty()) {
      if (runner_.elsewhere() || fleet_.connected()) {
        return InvalidArgument(
            "--libs: libraries are called on this machine, expected no --runner and no --fleet");
      }
      settings.target = target.ToString();  // a different job from one without libraries
    }
    // The name of a board refers to a file of this machine.
    if (!Target::Parse(settings.target).ok()) settings.target = target.ToString();
    if (!fleet_.connected()) TW_RETURN_IF_ERROR(device_.CheckRuns(target));
    const session::ModelOptions model{{settings.shape, settings.dim, settings.value},
                                      settings.requantize};
    TW_ASSIGN_OR_RETURN(const auto sources, model.Sources(settings.graph));
    TW_ASSIGN_OR_RETURN(auto tasks,
                        session::TasksOfShapeVariants(sources, target, !no_fuse_residuals_));
    if (groups_) {
      constexpr double kMinShare = 0.005;  // of the network's time
      for (const ModelSource& source : sources) {
        TW_ASSIGN_OR_RETURN(auto more,
                            session::GroupTasksOfFile(templates(), source, target, kMinShare));
        for (search::TuneTask& task : more) {
          const bool known = std::ranges::any_of(tasks, [&](const search::TuneTask& other) {
            return other.task.workload == task.task.workload;
          });
          if (!known) tasks.push_back(std::move(task));
        }
      }
    }
    if (DeviceTraitsOf(target).has_host_fallback) {
      settings.target = target.ToString();  // includes the design itself
      session::AssignToHost(templates(), tasks, PrintNote);
      if (tasks.empty()) return Unsupported(settings.graph + ": no task for " + target.kind_name());
    }
    float_error_.value = settings.float_error;
    const TemplateRegistry& allowed = float_error_.Choose(templates());
    const std::size_t all_tasks = tasks.size();
    auto searched = search::RestrictTemplates(allowed, templates_, tasks);
    if (!searched.ok()) return searched.status().WithContext("--template");
    if (tasks.size() < all_tasks) {
      PrintErr("{} of {} tasks are left out: no template of --template serves them\n",
               all_tasks - tasks.size(), all_tasks);
    }
    TW_RETURN_IF_ERROR(CheckSchedules(*searched, tasks));
    auto store = records::Store::Open(settings.records, records::Store::Mode::kReadWrite);
    if (store.ok()) TW_RETURN_IF_ERROR(records::StoreScheduleTexts(*store, templates()));
    TW_RETURN_IF_ERROR(store);
    if (!IsSimulated(target)) ::mallopt(M_MMAP_THRESHOLD, kMmapBytes);
    SystemClock clock;
    TW_ASSIGN_OR_RETURN(auto measurer, MakeMeasurer(settings, target, clock));

    std::vector<std::string> names;
    for (const search::TuneTask& task : tasks)
      names.push_back(session::ShortName(task.task.workload));
    TW_ASSIGN_OR_RETURN(const auto bounds, Bounds(tasks, target, *store, measurer->device()));
    TuneDisplay display(MetricOf(target), bounds, names, ::isatty(STDERR_FILENO) == 1, clock);

    if (settings.budget_seconds == 0 && settings.deadline.empty()) {
      display.SetTrials(settings.trials);
    }

    search::TuneContext context;
    context.templates = &*searched;
    context.only_templates = templates_;
    context.strategies = &registries().strategies;
    context.measurer = measurer.get();
    context.store = &*store;
    context.clock = &clock;
    context.observer = &display;
    context.stop = &stop_requested;
    std::optional<TuneWatch> watch;
    if (watch_) {
      TW_ASSIGN_OR_RETURN(auto started,
                          TuneWatch::Start(templates(), settings.records, settings.graph));
      watch.emplace(std::move(started));
      display.SetOpenedCallback([&watch](const std::string& name) { watch->SetJob(name); });
      PrintErr("watch: {}\n", watch->address());
    }
    StopAtSignals();
    TW_ASSIGN_OR_RETURN(auto report, session::Session::Tune(tasks, settings, context));
    const double share_done = display.Finish(report);
    if (watch) watch->Finish();
    if (json_) {
      Json json = *ParseJson(search::ToJson(report));
      if (fleet_measurer_ != nullptr) json["fleet"] = FleetJson(*fleet_measurer_);
      PrintJson(json);
    } else {
      PrintReport(report, names, bounds, share_done);
      if (fleet_measurer_ != nullptr) PrintFleet(*fleet_measurer_);
    }
    if (settings.trials > 0 && report.trials >= settings.trials) {
      PrintErr("the {} trials of --trials are done; more of them go on from here\n",
               settings.trials);
    }
    // If the user stops the job, a script must not run its next commands.
    return stop_signal > 0 ? kExitSignal + stop_signal : kExitDone;
  }

 private:
  /// Checks that each schedule given to the search is usable. Errors: kInvalidArgument with the
  /// reasons if none of its configs is legal for any task.
  Status CheckSchedules(const TemplateRegistry& searched,
                        const std::vector<search::TuneTask>& tasks) const {
    for (const std::string& file : app_->get_option("--schedule")->results()) {
      TW_ASSIGN_OR_RETURN(const auto text, ReadFile(file, kMaxScheduleBytes + 1));
      TW_ASSIGN_OR_RETURN(const auto schedule, ParseScheduleText(text, file));
      const Status legal = search::CheckTemplate(searched, schedule.key, tasks);
      if (!legal.ok()) return legal.WithContext("--schedule " + file);
      const bool serves = std::ranges::any_of(tasks, [&](const search::TuneTask& task) {
        const auto entries = searched.For(task.task.workload, task.task.target);
        return std::ranges::find(entries, schedule.key, &TemplateEntry::key) != entries.end();
      });
      if (!serves) PrintErr("--schedule {}: it serves none of the tasks\n", file);
    }
    return {};
  }

  /// Errors: those of FleetArgument::Connect; kInvalidArgument for options of this machine's
  /// devices.
  Status ConnectFleet(search::JobSettings& settings) {
    if (settings.fleet.empty()) return {};
    if (runner_.elsewhere()) {
      return InvalidArgument(
          "--runner: a worker of the fleet has it, expected no --fleet beside it");
    }
    if (!device_.device.empty()) {
      return InvalidArgument(
          "--device: a worker of the fleet has it, expected no --fleet beside it");
    }
    return fleet_.Connect(settings);
  }

  Result<std::unique_ptr<measure::Measurer>> MakeMeasurer(const search::JobSettings& settings,
                                                          const Target& target, Clock& clock) {
    if (fleet_.connected()) {
      const FleetClass& chosen = fleet_.chosen();
      PrintErr("fleet: class {}, {} device{} ({})\n", chosen.name, chosen.devices,
               chosen.devices == 1 ? "" : "s", chosen.device.model);
      auto dispatcher = fleet_.Settings(settings);
      dispatcher.make_local_executor = [this, target] { return OwnBench(target); };
      TW_ASSIGN_OR_RETURN(auto measurer,
                          measure::fleet::FleetMeasurer::Create(
                              std::move(dispatcher), fleet_.broker(), clock, &stop_requested));
      fleet_measurer_ = measurer.get();
      return std::unique_ptr<measure::Measurer>(std::move(measurer));
    }
    TW_ASSIGN_OR_RETURN(auto local, session::MeasurerSettings(WorkersOf(registries()), target,
                                                              runner_, device_, PrintNote));
    TW_RETURN_IF_ERROR(CountEnergy(settings, target, local));
    TW_ASSIGN_OR_RETURN(auto measurer, measure::ProcessMeasurer::Create(std::move(local)));
    return std::unique_ptr<measure::Measurer>(std::move(measurer));
  }

  /// Creates the executor that rebuilds locally what builders of the fleet built, for verification.
  /// It has builders only, for any device.
  Result<std::unique_ptr<measure::fleet::Executor>> OwnBench(const Target& target) {
    measure::ProcessMeasurerSettings settings =
        session::BuilderSettings(WorkersOf(registries()), target);
    settings.device = fleet_.chosen().device;
    settings.builders = 1;
    measure::fleet::Broker& broker = fleet_.broker();
    TW_ASSIGN_OR_RETURN(auto bench, measure::fleet::ProcessExecutor::Create(
                                        std::move(settings), [&broker] { broker.Wake(); }));
    return std::unique_ptr<measure::fleet::Executor>(std::move(bench));
  }

  /// Enables energy measurement. Errors: kUnsupported if a job measures joules and no counter is
  /// available here.
  Status CountEnergy(const search::JobSettings& settings, const Target& target,
                     measure::ProcessMeasurerSettings& local) const {
    local.runner.joules = !runner_.elsewhere() &&
                          std::ranges::find(settings.metric, kJoules) != settings.metric.end();
    if (!local.runner.joules || IsSimulated(target)) return {};  // rejected later
    return measure::CheckEnergyCounter(target, local.runner).WithContext("--metric: joules");
  }

  static Json FleetJson(const measure::fleet::FleetMeasurer& fleet) {
    const auto counts = fleet.dispatcher().counts();
    Json json = {{"lost", counts.lost},
                 {"late", counts.late},
                 {"doubled", counts.duplicates},
                 {"sent_again", counts.resent},
                 {"refused", counts.refused},
                 {"foreign", counts.foreign},
                 {"revised", counts.revised},
                 {"baselines", counts.baselines},
                 {"checks", counts.checks},
                 {"checks_failed", counts.checks_failed},
                 {"rebuilt", counts.rebuilt},
                 {"unconfirmed", counts.unconfirmed},
                 {"took_workers_down", counts.poisoned},
                 {"longest_loss_seconds", counts.longest_recovery_seconds}};
    json["winners"] = Json::array();
    for (const auto& one : fleet.confirmations()) {
      json["winners"].push_back({{"workload", one.workload},
                                 {"confirmed", one.unconfirmed_reason.empty()},
                                 {"doubt", one.unconfirmed_reason}});
    }
    return json;
  }
  static void PrintFleet(const measure::fleet::FleetMeasurer& fleet) {
    std::map<std::string, int> unconfirmed_reasons;
    int confirmed = 0;
    for (const auto& one : fleet.confirmations()) {
      one.unconfirmed_reason.empty() ? ++confirmed : ++unconfirmed_reasons[one.unconfirmed_reason];
    }
    PrintOut("fleet: {} winners confirmed on a second device\n", confirmed);
    for (const auto& [unconfirmed_reason, count] : unconfirmed_reasons)
      PrintOut("fleet: {} {}\n", count, unconfirmed_reason);
  }

  /// Times with more threads than this machine has processors are meaningless.
  Status CheckThreadsHere(const Target& target) const {
    const auto cores = static_cast<int>(std::thread::hardware_concurrency());
    const bool elsewhere = runner_.elsewhere() || fleet_.connected();
    if (!DeviceTraitsOf(target).machine_code || elsewhere) return {};
    if (cores <= 0 || target.num_threads() <= cores) return {};
    return InvalidArgument(fmt::format("--threads: {}, but this machine has {} processors",
                                       target.num_threads(), cores));
  }

  Result<search::JobSettings> Settings() const {
    search::JobSettings settings;
    if (!job_.empty()) {
      TW_ASSIGN_OR_RETURN(settings, search::LoadJobSettings(registries().strategies, job_));
    }
    if (!file_.empty()) settings.graph = file_;
    if (!model_.bindings.shapes.empty()) settings.shape = model_.bindings.shapes;
    if (!model_.bindings.dims.empty()) settings.dim = model_.bindings.dims;
    if (!model_.bindings.values.empty()) settings.value = model_.bindings.values;
    if (model_.requantize_option->count() > 0) settings.requantize = model_.requantize;
    if (float_error_.option->count() > 0) settings.float_error = float_error_.value;
    if (!records_.empty()) settings.records = records_;
    if (target_option_->count() > 0) settings.target = target_;
    TW_RETURN_IF_ERROR(fleet_.Into(settings));
    if (threads_option_->count() > 0) settings.threads = threads_;
    if (trials_option_->count() > 0) settings.trials = trials_;
    if (!metrics_.empty()) settings.metric = metrics_;
    if (strategy_option_->count() > 0) settings.strategy = strategy_;
    if (seed_option_->count() > 0) settings.seed = seed_;
    if (!budget_.empty()) {
      auto seconds = search::ParseDuration(budget_);
      if (!seconds.ok()) return seconds.status().WithContext("--budget");
      settings.budget_seconds = *seconds;
    }
    if (!deadline_.empty()) settings.deadline = deadline_;
    if (!settings.deadline.empty()) {
      // A relative deadline becomes an absolute time here.
      TW_ASSIGN_OR_RETURN(
          auto moment, search::ParseFutureDeadline(settings.deadline, SystemClock().UnixSeconds()));
      settings.deadline = search::FormatTimestamp(moment);
    }
    if (settings.graph.empty())
      return InvalidArgument("no model file given (FILE, or \"graph\" in the job file)");
    if (settings.records.empty()) {  // the default of `query` and `compile` without --records
      TW_ASSIGN_OR_RETURN(settings.records, DefaultStorePath(true));
      PrintErr("records: {}\n", settings.records);
    }
    TW_RETURN_IF_ERROR(search::CheckJobSettings(registries().strategies, settings));
    if (settings.trials == 0 && settings.budget_seconds == 0 && settings.deadline.empty()) {
      return InvalidArgument("no limit given (--trials, --budget or --deadline)");
    }
    return settings;
  }

  /// Sets the metric of the target: the first metric, which can be chosen for a simulator. A single
  /// metric needs no front.
  static Status ChooseMetric(search::JobSettings& settings, Target& target) {
    if (settings.metric.empty()) return {};
    const std::string& first = settings.metric.front();
    const std::string own = MetricOf(target);
    if (first != own && IsSimulated(target)) {
      if (!target.Option("metric").empty()) {
        return InvalidArgument("--metric: " + first + " first, but the target has -metric=" + own);
      }
      target.SetOption("metric", first);
      const auto known = DeviceFor(target);
      if (!known.ok()) return known.status().WithContext("--metric");
      settings.target = target.ToString();
    }
    if (settings.metric.size() == 1 && first == MetricOf(target)) settings.metric.clear();
    return {};
  }

  /// Returns the roofline of each task if candidates run on this machine or in a simulator;
  /// otherwise it is unknown. The peaks are kept in the store, from which `report` reads them.
  Result<std::vector<RooflineBound>> Bounds(const std::vector<search::TuneTask>& tasks,
                                            const Target& target, records::Store& store,
                                            const DeviceFingerprint& fingerprint) const {
    const session::DeviceSupport* device = session::DeviceSupportOf(target);
    const bool elsewhere = runner_.elsewhere() || fleet_.connected();
    if (device == nullptr || device->bounds == nullptr || (elsewhere && !IsSimulated(target))) {
      return std::vector<RooflineBound>(tasks.size());
    }
    MachinePeaks peaks;
    if (device->peaks != nullptr) {
      const std::string name = report::PeaksFact(fingerprint);
      TW_ASSIGN_OR_RETURN(auto known, store.Fact(name));
      const auto before = report::ParsePeaks(known.value_or(""));
      peaks =
          report::HigherPeaks(report::PeaksHere(target), before.ok() ? *before : MachinePeaks());
      TW_RETURN_IF_ERROR(store.SetFact(name, report::PeaksText(peaks)));
    }
    return device->bounds(tasks, target, peaks);
  }

  CLI::App* app_ = nullptr;
  ModelArguments model_;
  FloatErrorArgument float_error_;
  std::string file_, job_, records_, target_, vta_config_, libraries_, budget_, strategy_;
  std::string deadline_;
  std::vector<std::string> metrics_;
  DeviceArgument device_;
  int threads_ = 1;
  std::vector<std::string> templates_;
  std::int64_t trials_ = 0;
  std::uint64_t seed_ = 1;
  bool no_fuse_residuals_ = false;
  bool groups_ = false, watch_ = false, json_ = false;
  RunnerArguments runner_;
  FleetArgument fleet_;
  const measure::fleet::FleetMeasurer* fleet_measurer_ =
      nullptr;  // overrides the device of this machine; may be null
  CLI::Option* target_option_ = nullptr;
  CLI::Option* threads_option_ = nullptr;
  CLI::Option* trials_option_ = nullptr;
  CLI::Option* strategy_option_ = nullptr;
  CLI::Option* seed_option_ = nullptr;
};

}  // namespace

std::unique_ptr<Command> MakeTuneCommand() { return std::make_unique<TuneCommand>(); }

}  // namespace tilewright::cli
