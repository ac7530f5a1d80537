// `tilewright tune`: a job from arguments or a file, its display, and its results.

#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <map>

#include "cost_model/xgboost_model.h"
#include "measure/energy.h"
#include "measure/fleet/fleet_measurer.h"
#include "measure/fleet/process_executor.h"
#include "measure/program/program_measurer.h"
#include "measure/supervisor/process_measurer.h"
#include "python_free_cli/arguments/device_argument.h"
#include "python_free_cli/arguments/display_arguments.h"
#include "python_free_cli/arguments/fleet_argument.h"
#include "python_free_cli/arguments/float_error.h"
#include "python_free_cli/arguments/open_argument.h"
#include "python_free_cli/arguments/store_argument.h"
#include "python_free_cli/arguments/task_argument.h"
#include "python_free_cli/command.h"
#include "python_free_cli/measurer_setup.h"
#include "python_free_cli/print.h"
#include "records/store.h"
#include "records/validation/schedules.h"
#include "search/deadline.h"
#include "search/job.h"
#include "search/legality.h"
#include "search/space.h"
#include "search/tuner.h"
#include "src/base/files/file.h"
#include "src/base/files/scoped_temp_path.h"
#include "src/base/format_printable.h"
#include "src/base/json.h"
#include "src/base/process/subprocess.h"
#include "src/base/text/plural.h"
#include "src/plugins/registries.h"
#include "src/report/fleet/fleet.h"
#include "src/report/terminal/tune_display.h"
#include "src/report/tune/plan.h"
#include "src/report/tune/text.h"
#include "src/report/tune/watch.h"
#include "src/runtime/cpu_limit.h"
#include "src/session/format.h"
#include "src/session/names.h"
#include "src/session/open/tile_trials.h"
#include "src/session/open_task.h"
#include "src/session/session.h"
#include "src/session/target.h"
#include "src/session/tune_job.h"
#include "src/session/user_paths.h"
#include "src/target/device.h"
#include "src/target/library.h"
#include "src/templates/device.h"
#include "src/templates/text/text_template.h"

namespace tilewright::cli {
namespace {

// Allocation size from which the heap uses mmap, so that trainings of cost models leave no holes.
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
    return "Search for fast schedules of a model's tasks, on this machine, a board or a fleet";
  }
  const char* examples() const override {
    return "  tilewright tune resnet18.onnx --records records.db --budget 10m\n"
           "  tilewright tune resnet18.onnx --records records.db --budget 10m --plan\n"
           "  tilewright tune resnet18.onnx#3 --records records.db --trials 200\n"
           "  tilewright tune resnet18.onnx --libs dnnl --records records.db --budget 10m\n"
           "  tilewright tune --job configs/jobs/overnight_cpu.json\n"
           "  tilewright tune resnet18_v1_vta_packed.relay --target vta --vta-config sim --records "
           "records.db --trials 640\n"
           "  tilewright tune net.relay --target vta --vta-config sim --metric cycles,dram_bytes "
           "--records records.db --trials 2000\n"
           "  tilewright tune resnet18.onnx --runner 'ssh board tilewright-runner' --target "
           "rasp4b64 --records records.db --budget 2h\n"
           "  tilewright tune resnet18.onnx --records records.db --budget 8h --watch\n"
           "  tilewright tune resnet18.onnx --fleet alice.fleet --records r.db --budget 8h\n"
           "  tilewright tune resnet18.onnx --fleet alice.fleet --records r.db --deadline "
           "2026-11-25T06:00:00Z\n"
           "  tilewright tune --space conv.json --command './bench.sh {block} {unroll}' --records "
           "records.db --trials 200\n"
           "To resume a job that was interrupted, run the same command again.\n";
  }
  void Declare(CLI::App& app) override {
    app_ = &app;
    app.add_option("file", file_,
                   "Model file (ONNX or Relay text), FILE#N for task N of it, an expression "
                   "FILE.tw, or a workload key");
    app.add_option(
        "--job", job_,
        "Read the settings from a JSON file; options on the command line take precedence");
    app.add_option("--records", records_,
                   "Record store, created if it does not exist (default: the user's store)");
    target_option_ =
        app.add_option("--target", target_, "Target: native, a board, or a target string");
    app.add_option("--libs", libraries_,
                   "Libraries whose functions compete with generated kernels: dnnl; cudnn,cublas");
    app.add_option("--vta-config", vta_config_,
                   "Design of a VTA target: a file, or a name such as sim or pynq");
    app.add_flag("--no-fuse-residuals", no_fuse_residuals_,
                 "On a VTA, tune residual additions as separate tasks");
    device_.Declare(app);
    runner_.Declare(app);
    fleet_.Declare(app);
    open_.Declare(app);
    threads_option_ =
        app.add_option("--threads", threads_, "Maximum number of threads of a kernel");
    trials_option_ = app.add_option("--trials", trials_, "Maximum number of trials of the job");
    app.add_option("--budget", budget_, "Maximum wall time of the job: 90s, 10m, 8h");
    app.add_option("--deadline", deadline_,
                   "Time at which the job has to be finished: 2026-11-25T06:00:00Z, or in 8h");
    app.add_option("--metric", metrics_,
                   "Search the Pareto front of several metrics: cycles,dram_bytes (VTA); "
                   "seconds,code_bytes,joules (CPU); seconds,joules (GPU)")
        ->delimiter(',');
    strategy_option_ = app.add_option(
        "--strategy", strategy_,
        "Search strategy: auto, model, evolve, surrogate, genetic, random, grid, or one of a "
        "plugin");
    seed_option_ = app.add_option("--seed", seed_, "Random seed");
    app.add_option("--template", templates_,
                   "Search only this template of the tasks that have it; repeatable")
        ->allow_extra_args(false);
    app.add_flag("--groups", groups_,
                 "Also tune groups of operators without an anchor (pooling, normalization) that "
                 "take a relevant share of the time");
    model_.Declare(app, /*with_ranges=*/true);
    float_error_.Declare(app);
    app.add_flag("--watch", watch_,
                 "Serve a page with charts on 127.0.0.1 while the job runs, and print its address");
    app.add_flag(
        "--plan", plan_,
        "Only print the tasks, what there is to gain and how long it takes; measure nothing");
    display_.Declare(app);
    app.add_flag("--json", json_, "Print a summary as one line of JSON at the end");
  }

  Result<int> Run() override {
    TW_ASSIGN_OR_RETURN(auto settings, Settings());
    dims_ = settings.dim;
    TW_ASSIGN_OR_RETURN(range_, session::TakeRange(settings, PrintNote));
    open_.Take(settings);
    if (open_.given()) return TuneOpenTask(settings);
    TW_RETURN_IF_ERROR(open_.CheckUnused());
    TW_RETURN_IF_ERROR(ConnectFleet(settings));
    TW_RETURN_IF_ERROR(runner_.Connect(settings.target));
    command_target_ = settings.target;
    TW_ASSIGN_OR_RETURN(auto target, ChooseTarget(settings));
    TW_ASSIGN_OR_RETURN(
        auto tasks,
        session::TasksOfJob(templates(), settings, target,
                            {.fuse_residuals = !no_fuse_residuals_, .groups = groups_}, PrintNote));
    if (range_) {
      entry_tasks_ = tasks;
      TW_RETURN_IF_ERROR(session::UseRange(settings, *range_, target, tasks));
      // Layers with tasks of several sizes have tiles.
      if (tasks.size() > entry_tasks_.size()) tile_limits_ = session::ReserveForTiles(settings);
    }
    TW_RETURN_IF_ERROR(CheckLimit(settings));
    float_error_.value = settings.float_error;
    const TemplateRegistry& allowed = float_error_.Choose(templates());
    const std::size_t all_tasks = tasks.size();
    auto searched = search::RestrictTemplates(allowed, templates_, tasks);
    if (!searched.ok()) return searched.status().WithContext("--template");
    if (tasks.size() < all_tasks) {
      PrintNote(FormatPrintable("{} of {} skipped: no template of --template supports them",
                                all_tasks - tasks.size(),
                                Counted(static_cast<std::int64_t>(all_tasks), "task")));
    }
    TW_RETURN_IF_ERROR(CheckSchedules(*searched, tasks));
    names_ = session::DistinctNames(tasks);
    if (plan_) return Plan(settings, target, *searched, tasks);
    return Tune(settings, target, *searched, tasks);
  }

 private:
  /// Tunes a program of the user.
  Result<int> TuneOpenTask(search::JobSettings& settings) {
    TW_ASSIGN_OR_RETURN(auto task, open_.Load());
    TW_RETURN_IF_ERROR(CheckLimit(settings));
    if (!settings.graph.empty()) return InvalidArgument("graph: not allowed with space");
    TW_RETURN_IF_ERROR(open_.ReadEnvironment(settings));
    TW_ASSIGN_OR_RETURN(auto job, session::MakeOpenJob(std::move(task), templates(), settings));
    open_task_ = job.task;
    templates_ = {open_task_->key};
    command_target_ = search::JobSettings().target;  // follows from the task
    TW_RETURN_IF_ERROR(ConnectFleet(settings));
    TW_ASSIGN_OR_RETURN(const auto searched,
                        search::RestrictTemplates(job.templates, templates_, job.tasks));
    names_ = session::DistinctNames(job.tasks);
    return Tune(settings, job.tasks.front().task.target, searched, job.tasks);
  }

  /// Parses the target of the job; settings get its text where the job depends on it.
  Result<Target> ChooseTarget(search::JobSettings& settings) const {
    std::vector<std::string> notes;  // an error says the same about threads
    const auto keep = [&notes](const std::string& note) { notes.push_back(note); };
    TW_ASSIGN_OR_RETURN(auto target, session::ParseTarget(settings.target, settings.threads,
                                                          vta_config_, libraries_, keep));
    TW_RETURN_IF_ERROR(session::ChooseMetric(settings, target));
    TW_RETURN_IF_ERROR(session::CheckResiduals(target, no_fuse_residuals_));
    TW_RETURN_IF_ERROR(CheckThreadsHere(target));
    for (const std::string& note : notes) PrintNote(note);
    if (!LibrariesOf(target).empty()) {
      if (elsewhere()) {
        return InvalidArgument(
            "--libs: not allowed with --runner or --fleet; libraries are called on this machine");
      }
      settings.target = target.ToString();  // a different job from one without libraries
    }
    // The name of a board refers to a file of this machine.
    if (!Target::Parse(settings.target).ok()) settings.target = target.ToString();
    if (!fleet_.connected()) TW_RETURN_IF_ERROR(device_.CheckRuns(target));
    return target;
  }

  bool elsewhere() const { return runner_.elsewhere() || fleet_.connected(); }

  /// Sets the rooflines of the tasks and returns what a plan depends on. store: read; may be null.
  /// kept: stores the machine's peaks; may be null.
  Result<report::PlanSources> Sources(const Target& target, const TemplateRegistry& searched,
                                      const DeviceFingerprint& device, records::Store* store,
                                      records::Store* kept, std::vector<search::TuneTask>& tasks) {
    const int builders =
        fleet_.connected() ? fleet_.of_job().device_class().devices : TwUsableCpus() - 1;
    report::PlanSources sources{
        &searched, store, device, {}, std::max(1, builders), templates_, !fleet_.connected()};
    bounds_ = std::vector<RooflineBound>(tasks.size());
    // The rooflines of another machine and of a program are unknown.
    if (open_task_ != nullptr || (elsewhere() && !IsSimulated(target))) return sources;
    TW_ASSIGN_OR_RETURN(sources.peaks, report::PeaksOfStore(target, device, store, kept));
    bounds_ = report::BoundsOf(tasks, target, sources.peaks);
    for (std::size_t i = 0; i < tasks.size(); ++i) tasks[i].bound = bounds_[i];
    return sources;
  }

  /// Prints the plan of the job. Nothing is measured and nothing is stored.
  Result<int> Plan(const search::JobSettings& settings, const Target& target,
                   const TemplateRegistry& searched, std::vector<search::TuneTask>& tasks) {
    auto store = records::Store::Open(settings.records, records::Store::Mode::kReadOnly);
    if (!store.ok() && store.status().code() != StatusCode::kNotFound) return store.status();
    DeviceFingerprint device;
    if (fleet_.connected()) {
      device = fleet_.of_job().device_class().device;
    } else {
      TW_ASSIGN_OR_RETURN(device, DeviceFor(target));
    }
    TW_ASSIGN_OR_RETURN(
        const auto sources,
        Sources(target, searched, device, store.ok() ? &*store : nullptr, nullptr, tasks));
    TW_ASSIGN_OR_RETURN(const auto plan, report::MakeTunePlan(tasks, names_, settings, sources));
    json_ ? PrintJson(report::PlanJson(plan)) : WriteText(report::PlanText(plan, OutputColumns()));
    return kExitDone;
  }

  Result<int> Tune(const search::JobSettings& settings, const Target& target,
                   const TemplateRegistry& searched, std::vector<search::TuneTask>& tasks) {
    auto store = records::Store::Open(settings.records, records::Store::Mode::kReadWrite);
    const TemplateRegistry& known = open_task_ != nullptr ? searched : templates();
    if (store.ok()) TW_RETURN_IF_ERROR(records::StoreScheduleTexts(*store, known));
    TW_RETURN_IF_ERROR(store);
    if (!IsSimulated(target)) ::mallopt(M_MMAP_THRESHOLD, kMmapBytes);
    SystemClock clock;
    const double begun = clock.MonotonicSeconds();
    TW_ASSIGN_OR_RETURN(auto measurer, MakeMeasurer(settings, target, clock));
    TW_ASSIGN_OR_RETURN(const auto sources,
                        Sources(target, searched, measurer->device(), &*store, &*store, tasks));
    if (DeviceTraitsOf(target).launches_grids && !fleet_.connected()) {
      PrintNote(FormatPrintable("device: {}", measurer->device().model));
    }
    if (!IsQuiet()) {
      TW_ASSIGN_OR_RETURN(const auto plan, report::MakeTunePlan(tasks, names_, settings, sources));
      WriteMessage(report::HeadroomText(plan));
    }
    report::TuneDisplay display(DisplaySettings(settings, target), clock);
    search::TuneContext context;
    context.templates = &searched;
    context.only_templates = templates_;
    context.strategies = &registries().strategies;
    context.measurer = measurer.get();
    context.store = &*store;
    context.clock = &clock;
    context.command = ShellCommand(OwnArguments());
    context.begun_seconds = begun;
    context.observer = &display;
    context.stop = &stop_requested;
    std::optional<report::TuneWatch> watch;
    if (watch_) {
      TW_ASSIGN_OR_RETURN(auto started,
                          report::TuneWatch::Start(known, settings.records, settings.graph,
                                                   "tilewright " TILEWRIGHT_VERSION));
      watch.emplace(std::move(started));
      context.observer = &watch->Observe(display, tasks.size(), settings.trials);
      PrintErr("watch: {}\n", watch->address());
    }
    StopAtSignals();
    display.StartThread();
    TW_ASSIGN_OR_RETURN(auto report, session::Session::Tune(tasks, settings, context));
    if (tile_limits_) {
      TW_ASSIGN_OR_RETURN(const auto tiles, session::MeasureTiles(*range_, entry_tasks_, settings,
                                                                  *tile_limits_, context));
      if (tiles > 0) PrintNote(FormatPrintable("note: {} trials of tiles", tiles));
    }
    const double share_done = display.Finish(report);
    if (watch) watch->Finish();
    PrintResults({&report, &settings, names_, bounds_, share_done});
    // If the user stops the job, a script must not run its next commands.
    return stop_signal > 0 ? kExitSignal + stop_signal : kExitDone;
  }

  report::TuneDisplay::Settings DisplaySettings(const search::JobSettings& settings,
                                                const Target& target) const {
    report::TuneDisplay::Settings display;
    display.metric = MetricOf(target);
    display.bounds = bounds_;
    display.names = names_;
    display.mode = IsQuiet()                      ? report::DisplayMode::kQuiet
                   : ::isatty(STDERR_FILENO) == 1 ? report::DisplayMode::kTerminal
                                                  : report::DisplayMode::kLog;
    display.color = report::UsesColor(display_.mode());
    display.rewraps = report::TerminalRewraps();
    if (settings.budget_seconds == 0 && settings.deadline.empty()) display.trials = settings.trials;
    return display;
  }

  /// Prints the table or the JSON of the results on standard output; why the job ended and what to
  /// do next, on standard error.
  void PrintResults(const report::ClosingReport& closing) const {
    if (json_) {
      Json json = *ParseJson(search::ToJson(*closing.report));
      if (fleet_measurer_ != nullptr) json["fleet"] = report::FleetJobJson(*fleet_measurer_);
      PrintJson(json);
    } else {
      WriteText(report::ClosingText(closing, OutputColumns()));
      if (fleet_measurer_ != nullptr) WriteText(report::FleetJobText(*fleet_measurer_));
    }
    (void)std::fflush(stdout);  // before standard error, which may be the same terminal
    if (IsQuiet()) return;
    WriteMessage(report::OutcomeText(closing));
    if (search::TimesOfNetwork(closing.report->tasks).with > 0) {
      WriteMessage(report::NextStepsText(CommandOf(*closing.settings)));
    }
  }

  /// Returns the job's model and options as words of commands that use its results.
  report::JobCommand CommandOf(const search::JobSettings& settings) const {
    report::JobCommand command;
    const std::string file = settings.graph.substr(0, settings.graph.rfind('#'));
    std::error_code ignored;
    const bool model = std::filesystem::exists(file, ignored);
    command.model = model ? file : "";
    command.task = settings.graph;
    command.records = settings.records;
    const auto add = [&command](const char* option, const std::string& value) {
      command.options.insert(command.options.end(), {option, value});
    };
    if (command_target_ != search::JobSettings().target) add("--target", command_target_);
    if (settings.threads > 1) add("--threads", std::to_string(settings.threads));
    if (!libraries_.empty()) add("--libs", libraries_);
    if (!vta_config_.empty()) add("--vta-config", vta_config_);
    if (model) {
      for (const std::string& shape : settings.shape) add("--shape", shape);
      for (const std::string& dim : dims_) add("--dim", dim);
      if (!settings.sizes.empty()) add("--sizes", settings.sizes);
      for (const std::string& value : settings.value) add("--value", value);
      if (settings.requantize != "float") add("--requantize", settings.requantize);
      if (settings.precision != "model") add("--precision", settings.precision);
      if (settings.float_error != "bounded") add("--float-error", settings.float_error);
    }
    for (const char* option : {"--plugin", "--schedule"}) {
      for (const std::string& value : app_->get_option(option)->results()) add(option, value);
    }
    const auto target = Target::Parse(settings.target);
    command.folder = target.ok() && DeviceTraitsOf(*target).has_host_fallback;
    return command;
  }

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
      if (!serves) PrintErr("--schedule {}: supports none of the tasks\n", file);
    }
    return {};
  }

  /// Errors: those of FleetArgument::Connect; kInvalidArgument for options of this machine's
  /// devices.
  Status ConnectFleet(search::JobSettings& settings) {
    if (settings.fleet.empty()) return {};
    if (runner_.elsewhere()) {
      return InvalidArgument("--runner: not allowed with --fleet; give it to `tilewright worker`");
    }
    if (!device_.device.empty()) {
      return InvalidArgument(
          "--device: not allowed with --fleet; the devices belong to the workers");
    }
    return fleet_.Connect(settings, open_task_);
  }

  Result<std::unique_ptr<measure::Measurer>> MakeMeasurer(const search::JobSettings& settings,
                                                          const Target& target, Clock& clock) {
    if (open_task_ != nullptr && !fleet_.connected()) {
      measure::ProgramMeasurerSettings local = open_.Settings();
      local.stop = &stop_requested;
      TW_ASSIGN_OR_RETURN(auto measurer,
                          measure::ProgramMeasurer::Create(*open_task_, std::move(local)));
      return std::unique_ptr<measure::Measurer>(std::move(measurer));
    }
    if (fleet_.connected()) {
      const auto& chosen = fleet_.of_job().device_class();
      PrintNote(FormatPrintable("fleet: class {}, {} ({})", chosen.name,
                                Counted(chosen.devices, "device"), chosen.device.model));
      auto dispatcher = fleet_.of_job().DispatcherFor(
          settings, [](const std::string& text) { PrintErr("fleet: {}\n", text); });
      dispatcher.make_local_executor = [this, target] { return OwnBench(target); };
      TW_ASSIGN_OR_RETURN(auto measurer, measure::fleet::FleetMeasurer::Create(
                                             std::move(dispatcher), fleet_.of_job().broker(), clock,
                                             &stop_requested));
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
    settings.device = fleet_.of_job().device_class().device;
    settings.builders = 1;
    measure::fleet::Broker& broker = fleet_.of_job().broker();
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

  /// Times with more threads than the process has processors are meaningless.
  Status CheckThreadsHere(const Target& target) const {
    const int cores = TwUsableCpus();
    if (!DeviceTraitsOf(target).machine_code || elsewhere()) return {};
    if (target.num_threads() <= cores) return {};
    return InvalidArgument(fmt::format(
        "--threads: {}, but this process may use {} (of its affinity and the CPU quota of "
        "its container)",
        target.num_threads(), Counted(cores, "processor")));
  }

  Result<search::JobSettings> Settings() const {
    search::JobSettings settings;
    if (!job_.empty()) {
      TW_ASSIGN_OR_RETURN(settings, search::LoadJobSettings(registries().strategies, job_));
    }
    if (!file_.empty()) settings.graph = file_;
    if (!model_.bindings.shapes.empty()) settings.shape = model_.bindings.shapes;
    if (!model_.bindings.dims.empty()) settings.dim = model_.bindings.dims;
    if (!model_.sizes.empty()) settings.sizes = model_.sizes;
    if (!model_.bindings.values.empty()) settings.value = model_.bindings.values;
    if (model_.requantize_option->count() > 0) settings.requantize = model_.requantize;
    if (model_.precision_option->count() > 0) settings.precision = model_.precision;
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
      if (!seconds.ok()) {
        const bool number = budget_.find_first_not_of("0123456789") == std::string::npos;
        const Status status = seconds.status().WithContext("--budget");
        if (!number) return status;
        return InvalidArgument(status.message() + "\n  For a number of trials: --trials " +
                               budget_);
      }
      settings.budget_seconds = *seconds;
    }
    if (!deadline_.empty()) settings.deadline = deadline_;
    if (!settings.deadline.empty()) {
      // A relative deadline becomes an absolute time here.
      TW_ASSIGN_OR_RETURN(
          auto moment, search::ParseFutureDeadline(settings.deadline, SystemClock().UnixSeconds()));
      settings.deadline = search::FormatTimestamp(moment);
    }
    if (settings.graph.empty() && settings.space.empty() && !open_.given())
      return InvalidArgument("no model file given (FILE, or \"graph\" in the job file)");
    if (settings.records.empty()) {  // the default of `query` and `compile` without --records
      TW_ASSIGN_OR_RETURN(settings.records, session::UserStorePath(!plan_));
      PrintNote(FormatPrintable("records: {}", settings.records));
    }
    TW_RETURN_IF_ERROR(search::CheckJobSettings(registries().strategies, settings));
    return settings;
  }

  /// Errors: kInvalidArgument with a command that has a limit, if the job has none.
  Status CheckLimit(const search::JobSettings& settings) const {
    if (plan_ || settings.trials > 0 || settings.budget_seconds > 0 || !settings.deadline.empty()) {
      return {};
    }
    return InvalidArgument("no limit given (--trials, --budget or --deadline), for example:\n  " +
                           ShellCommand(OwnArguments()) + " --budget 10m");
  }

  CLI::App* app_ = nullptr;
  ModelArguments model_;
  FloatErrorArgument float_error_;
  std::string file_, job_, records_, target_, vta_config_, libraries_, budget_, strategy_;
  std::string deadline_;
  std::vector<std::string> metrics_;
  std::vector<std::string> dims_;              // as given, with a range
  std::vector<search::TuneTask> entry_tasks_;  // of one entry, with a range
  std::optional<session::TileLimits> tile_limits_;
  std::optional<SizeRange> range_;  // of sizes of an open dimension
  DeviceArgument device_;
  int threads_ = 1;
  std::vector<std::string> templates_;
  std::int64_t trials_ = 0;
  std::uint64_t seed_ = 1;
  bool no_fuse_residuals_ = false;
  bool groups_ = false, watch_ = false, json_ = false, plan_ = false;
  DisplayArguments display_;
  std::string command_target_;         // as given, or the fleet's or the board's
  std::vector<std::string> names_;     // of the tasks
  std::vector<RooflineBound> bounds_;  // of the tasks
  RunnerArguments runner_;
  FleetArgument fleet_;
  OpenArgument open_;
  const OpenTask* open_task_ = nullptr;  // of a job with --space
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
