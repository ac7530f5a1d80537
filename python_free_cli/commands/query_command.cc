// `tilewright query`: answers of record sources for one task, for all tasks of a model, or for
// those of a job file.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <optional>

#include "python_free_cli/arguments/command_line.h"
#include "python_free_cli/arguments/float_error.h"
#include "python_free_cli/arguments/reject_options.h"
#include "python_free_cli/arguments/task_argument.h"
#include "python_free_cli/command.h"
#include "python_free_cli/print.h"
#include "python_free_cli/record_sources.h"
#include "records/answer_json.h"
#include "records/devices/device_results.h"
#include "records/devices/shares_json.h"
#include "search/job.h"
#include "search/measured/config_results.h"
#include "src/base/files/file.h"
#include "src/base/json.h"
#include "src/base/printable.h"
#include "src/base/shell/quote.h"
#include "src/base/strings.h"
#include "src/base/text/plural.h"
#include "src/report/text/answer_text.h"
#include "src/session/device_choice.h"
#include "src/session/format.h"
#include "src/session/imported/hint.h"
#include "src/session/names.h"
#include "src/session/open_task.h"
#include "src/session/record_sources.h"
#include "src/session/share_text.h"
#include "src/session/tasks.h"
#include "src/session/text_table.h"
#include "src/target/device.h"
#include "src/target/short_target.h"
#include "src/templates/device.h"
#include "src/templates/open/environment.h"
#include "src/templates/open/open_template.h"
#include "src/templates/text/kernel_json.h"
#include "src/tensor/open_workload.h"

namespace tilewright::cli {
namespace {

class QueryCommand final : public Command {
 public:
  const char* name() const override { return "query"; }
  const char* summary() const override {
    return "Show the best known config of a task, or the coverage of a model by records";
  }
  const char* examples() const override {
    return "  tilewright query resnet18.onnx --records records.db\n"
           "  tilewright query resnet18.onnx#3 --records records.db --json\n"
           "  tilewright query --job configs/jobs/overnight_cpu.json\n"
           "  tilewright query resnet18.onnx --package llvm-znver5.twpkg --accept default\n"
           "  tilewright query resnet18.onnx --records records.db --rule autotvm\n"
           "  tilewright query \"('dense_small_batch.gpu', ('TENSOR', (1, 512), 'float16'), "
           "('TENSOR', (1000, 512), 'float16'), None, 'float16')\" --rule autotvm "
           "--target 'opencl -device=adreno' --records records.db\n"
           "  tilewright query resnet18.onnx#3 --records records.db --json --kernel\n"
           "  tilewright query conv --records records.db --over A100,A4000 --by mean\n"
           "  tilewright query --over conv.A100.T4.json.gz,conv.A4000.T4.json.gz\n"
           "  tilewright query 'matmul_?' --records records.db\n"
           "Searches the stores, then the packages, then all of them for near matches. Exit code 1 "
           "on a miss.\n";
  }
  void Declare(CLI::App& app) override {
    app_ = &app;
    app.add_option(
        "task", task_,
        "Workload key, AutoTVM tuple, FILE.tw, FILE#N for one task, or FILE for all tasks");
    app.add_option("--job", job_,
                   "Job file that gives the model, target and record store; options given on the "
                   "command line take precedence");
    sources_.Declare(app, "near");
    float_error_.Declare(app);
    target_.DeclareWithResiduals(app);
    model_.Declare(app);
    app.add_option("--environment", environment_,
                   "Where a program of yours runs, as in tune --environment");
    app.add_flag("--front", front_, "Print the Pareto front instead of the best record");
    app.add_option("--over", over_,
                   "Best config for several devices, as records name them, or 'here', separated by "
                   "commas; without TASK: T4 files");
    app.add_option("--by", by_, "With --over or a range of sizes: share to maximize")
        ->check(CLI::IsMember({"worst", "mean"}))
        ->capture_default_str();
    auto* json = app.add_flag("--json", json_, "Print JSON");
    app.add_flag("--kernel", kernel_,
                 "Add each answer's kernel: layouts, schedule, loop nest and meaning of knobs")
        ->needs(json);
  }
  Result<int> Run() override {
    if (task_.empty() && job_.empty() && !over_.empty()) return QueryFiles();
    TW_RETURN_IF_ERROR(ReadJob());
    TW_ASSIGN_OR_RETURN(const auto range, model_.TakeRange());
    if (range) PrintNote(session::RangeNote(*range));
    range_ = range;
    TW_ASSIGN_OR_RETURN(auto accept, sources_.Accept());
    TW_ASSIGN_OR_RETURN(const OpenTask* open, session::FindOpenTask(templates(), task_));
    if (open != nullptr) task_ = open->workload.Key();
    if (open == nullptr) TW_RETURN_IF_ERROR(CheckOpenName());
    TW_ASSIGN_OR_RETURN(const auto target, open != nullptr ? open->target() : ParseTarget());
    const TemplateRegistry& chosen = float_error_.Choose(templates());
    TW_ASSIGN_OR_RETURN(auto catalog, sources_.Open(chosen, target, PrintNote));
    TW_ASSIGN_OR_RETURN(auto autotvm, sources_.Autotvm(target));
    TW_ASSIGN_OR_RETURN(auto prefer, sources_.Preferred(target));
    const bool own = sources_.rule == "own";
    if (front_ && !own) return InvalidArgument("--front: imported records say one metric only");
    const bool sizes = task_.find('?') != std::string::npos && !FileExists(task_);
    if ((!over_.empty() || sizes) && (front_ || !own)) {
      return InvalidArgument("--over and sizes: not allowed with --front or --rule autotvm");
    }
    if (sizes) return QuerySizes(chosen, catalog);
    TW_ASSIGN_OR_RETURN(auto asked, own ? TasksOf(target) : AutotvmTasksOf(target));
    if (open == nullptr && !environment_.empty()) {
      return InvalidArgument("--environment: expected the name of a program's task with it");
    }
    TW_ASSIGN_OR_RETURN(const auto device, DeviceAsked(target));
    if (front_) return PrintFronts(asked, chosen, target, device, catalog);
    if (!over_.empty()) return QueryDevices(asked, chosen, target, catalog);
    if (prefer.has_value() && !prefer->limited.empty() && IsNetwork(asked)) {
      std::vector<search::TuneTask> tasks;
      for (const Asked& one : asked) tasks.push_back({{*one.workload, target}, {}, one.uses});
      TW_RETURN_IF_ERROR(
          session::ShareLimitOf(tasks, chosen, target, device, catalog, *prefer, PrintNote));
    }
    Json list = Json::array();
    std::vector<records::CatalogAnswer> answers;
    MetricSums sums;  // of the records chosen by --prefer
    for (Asked& one : asked) {
      records::LookupRequest request;
      request.templates = &chosen;
      request.workload = one.workload.has_value() ? &*one.workload : nullptr;
      request.target = &target;
      request.device = &device;
      request.accept = records::DownTo(accept);
      request.prefer = prefer.has_value() ? &*prefer : nullptr;
      if (autotvm.has_value()) {
        autotvm->task = one.task;
        request.autotvm = &*autotvm;
      }
      TW_ASSIGN_OR_RETURN(auto answer, catalog.Query(request));
      if (request.prefer != nullptr) AddTo(sums, answer, target, one.uses);
      list.push_back(records::AnswerJson(answer, request.workload, one.text,
                                         own ? target.ToString() : autotvm->target.text));
      if (kernel_) AddKernel(one, answer, chosen, target, list.back());
      answers.push_back(std::move(answer));
    }
    // Metrics without a measured value that were not requested are not printed.
    std::erase_if(sums, [&](const auto& one) {
      const bool asked_for = one.first == prefer->minimized || one.first == prefer->limited;
      return one.second.unknown == static_cast<int>(asked.size()) && !asked_for;
    });
    if (json_) {
      PrintAsJson(std::move(list), sums);
    } else {
      PrintAnswers(asked, answers, target);
      PrintSums(sums);
      TW_RETURN_IF_ERROR(NoteWhatHelps(asked, answers, target, catalog));
    }
    return std::ranges::count(answers, records::AnswerLevel::kMiss,
                              &records::CatalogAnswer::level) > 0
               ? kExitFailed
               : kExitDone;
  }

 private:
  struct Asked {
    std::string text;  ///< key or tuple
    std::string name;  ///< for display
    std::optional<Workload> workload;
    std::optional<records::AutotvmTask> task;
    std::int64_t uses = 1;
    Epilogue epilogue = {};  ///< of the task in its network
  };

  /// Errors: kInvalidArgument with the names of all open tasks if the task is neither one of them
  /// nor a file.
  Status CheckOpenName() const {
    if (task_.find_first_of("(#?[") != std::string::npos || FileExists(task_)) return {};
    std::string names;
    for (const TemplateEntry& entry : templates().all()) {
      if (entry.open == nullptr) continue;
      const std::string problem = ProblemText(entry.open->problem);
      names += "\n  " + entry.open->name + (problem.empty() ? "" : " " + problem);
    }
    if (names.empty()) return {};
    return InvalidArgument(
        "'" + task_ + "': no such task in the record stores, and no such file; they have:" + names);
  }

  /// Adds the member "kernel" to an answer; null with the reason in "no_kernel" if it has none.
  static void AddKernel(const Asked& asked, const records::CatalogAnswer& answer,
                        const TemplateRegistry& templates, const Target& target, Json& out) {
    const auto kernel = [&]() -> Result<Json> {
      const Candidate* candidate = answer.candidate();
      if (candidate == nullptr) return NotFound("a miss has no kernel");
      if (!asked.workload) return Unsupported("no template builds the task");
      TW_ASSIGN_OR_RETURN(const TemplateEntry* entry, EntryToBuild(templates, *candidate));
      return KernelJson(*entry, *asked.workload, asked.epilogue, target, candidate->config);
    }();
    out["kernel"] = kernel.ok() ? *kernel : Json();
    if (!kernel.ok()) out["no_kernel"] = kernel.status().message();
  }

  /// Sum over all uses of a network's tasks.
  struct MetricSum {
    double value = 0;
    int unknown = 0;  ///< number of tasks without a value
  };
  using MetricSums = std::map<std::string, MetricSum>;

  /// Takes the settings of `--job` that were not given as arguments.
  Status ReadJob() {
    if (job_.empty()) {
      return task_.empty() ? InvalidArgument("no task given (TASK, or --job FILE)") : Status();
    }
    TW_ASSIGN_OR_RETURN(const auto job, search::LoadJobSettings(registries().strategies, job_));
    const auto given = [this](const char* option) { return app_->count(option) > 0; };
    if (task_.empty() && !job.space.empty()) {
      TW_ASSIGN_OR_RETURN(const auto program,
                          session::LoadOpenTaskOfJob(registries().strategies, job_));
      task_ = program.task.workload.Key();
    }
    if (task_.empty()) task_ = job.graph;
    if (task_.empty())
      return InvalidArgument("--job " + job_ + ": no \"graph\", and no TASK given");
    if (!given("--environment")) environment_ = job.environment;
    if (!given("--target")) target_.target = job.target;
    if (!given("--threads")) target_.threads = job.threads;
    if (!given("--records") && !job.records.empty()) sources_.stores = {job.records};
    if (!given("--shape")) model_.bindings.shapes = job.shape;
    if (!given("--dim")) model_.bindings.dims = job.dim;
    if (!given("--value")) model_.bindings.values = job.value;
    if (!given("--requantize")) model_.requantize = job.requantize;
    if (!given("--precision")) model_.precision = job.precision;
    if (!given("--float-error")) float_error_.value = job.float_error;
    if (!job.metric.empty()) job_metric_ = job.metric.front();
    return {};
  }

  /// Returns the device of the question: an environment, a device of grids of this machine, or any
  /// that runs the code.
  Result<DeviceFingerprint> DeviceAsked(const Target& target) const {
    if (!environment_.empty()) {
      auto device = ParseEnvironment(environment_);
      return device.ok() ? device
                         : Result<DeviceFingerprint>(device.status().WithContext("--environment"));
    }
    auto here = session::DeviceChoice().Fingerprint(target);
    return here.ok() ? here : DeviceFor(target);
  }

  Result<Target> ParseTarget() const {
    // AutoTVM's rule also serves targets and tasks without code generation.
    const bool as_written = sources_.rule != "own" && target_.vta_config.empty();
    if (as_written) {
      TW_RETURN_IF_ERROR(RejectOptions(
          *app_, {"--threads", "--libs"},
          "--rule autotvm asks for the target as it is written, expected the option in it"));
    }
    auto target = as_written ? session::ParseWrittenTarget(target_.target) : target_.Parse();
    if (!target.ok()) return target.status().WithContext("--target");
    TW_RETURN_IF_ERROR(session::CheckResiduals(*target, target_.no_fuse_residuals));
    // As in the job, the first metric is that of a simulator's records.
    if (!job_metric_.empty() && IsSimulated(*target) && target->Option("metric").empty() &&
        job_metric_ != MetricOf(*target)) {
      target->SetOption("metric", job_metric_);
    }
    return target;
  }

  /// Only a hit is a record of the task itself.
  static void AddTo(MetricSums& sums, const records::CatalogAnswer& answer, const Target& target,
                    std::int64_t uses) {
    for (const std::string& metric : MetricsOf(target)) {
      std::optional<double> value;
      if (answer.level == records::AnswerLevel::kHit && answer.answer.record.has_value()) {
        value = answer.answer.record->trial.ValueOf(metric);
      }
      MetricSum& sum = sums[metric];
      if (!value) ++sum.unknown;
      sum.value += static_cast<double>(uses) * value.value_or(0);
    }
  }

  static void PrintAsJson(Json list, const MetricSums& sums) {
    Json json = {{"answers", std::move(list)}};
    for (const auto& [metric, sum] : sums) {
      // A partial sum would look like a complete one.
      json["sums"][metric] = sum.unknown == 0 ? Json(sum.value) : Json();
      if (sum.unknown > 0) json["sums_unknown"][metric] = sum.unknown;
    }
    PrintJson(json);
  }

  static void PrintAnswers(const std::vector<Asked>& asked,
                           const std::vector<records::CatalogAnswer>& answers,
                           const Target& target) {
    const auto workload = [](const Asked& one) {
      return one.workload.has_value() ? &*one.workload : nullptr;
    };
    if (asked.size() == 1) {
      return WriteText(report::AnswerText(asked[0].name, workload(asked[0]), target, answers[0]));
    }
    report::AnswerTable table;
    for (std::size_t i = 0; i < asked.size(); ++i) {
      table.Add(asked[i].name, workload(asked[i]), answers[i]);
    }
    WriteText(table.Text(target, OutputColumns()));
  }

  static void PrintSums(const MetricSums& sums) {
    if (sums.empty()) return;
    PrintOut("as often as they are used:");
    for (const auto& [metric, sum] : sums) {
      PrintOut(" {}", session::ShortValue(metric, sum.value));
      if (sum.unknown > 0) PrintOut(" ({} of {} unknown)", metric, Counted(sum.unknown, "task"));
    }
    PrintOut("\n");
  }

  /// Prints the command that asks for imported records of tasks without a hit, and the one that
  /// tunes these tasks.
  Status NoteWhatHelps(const std::vector<Asked>& asked,
                       const std::vector<records::CatalogAnswer>& answers, const Target& target,
                       records::Catalog& catalog) const {
    (void)std::fflush(stdout);  // the notes are about the table
    const bool own = sources_.rule == "own";
    std::size_t missing = 0;
    bool nothing_imported = false;
    std::vector<const Workload*> workloads;
    for (std::size_t i = 0; i < asked.size(); ++i) {
      if (answers[i].level == records::AnswerLevel::kHit) continue;
      ++missing;
      const records::MissReason reason = answers[i].answer.cause.reason;
      nothing_imported |= reason == records::MissReason::kNothingImported ||
                          reason == records::MissReason::kNoSources;
      if (asked[i].workload.has_value()) workloads.push_back(&*asked[i].workload);
    }
    if (missing == 0) return {};
    if (own) {
      TW_RETURN_IF_ERROR(NoteImported(workloads, target, catalog));
    } else if (nothing_imported) {
      const std::string store =
          sources_.stores.empty() ? "" : " --records " + ShellWord(sources_.stores[0]);
      const std::string& package = sources_.tophub;
      NoteCommand(package.empty()
                      ? "to import AutoTVM logs or TopHub packages"
                      : "--tophub " + package + ": the package is not imported; to import it",
                  "tilewright records import " + (package.empty() ? "FILE" : package + "_v*") +
                      ".log" + store);
    }
    // AutoTVM's rule also takes targets that no code is generated for.
    const auto complete = target_.Parse();
    if (workloads.empty() || !complete.ok()) return {};
    // An open task is tuned by its command, or by its program.
    if (IsOpen(*workloads.front())) return {};
    const std::string command = TuneCommandHere(
        *app_, TaskToTune(asked, answers, *workloads.front(), *complete), *complete);
    if (command.empty()) return {};
    const std::string what = missing == 1 ? "to tune it" : "to tune them";
    NoteCommand(own ? what : "own records are used without --rule autotvm; " + what, command);
    return {};
  }

  /// Returns the task or file to tune: one task if it alone has no hit.
  std::string TaskToTune(const std::vector<Asked>& asked,
                         const std::vector<records::CatalogAnswer>& answers,
                         const Workload& first_missing, const Target& target) const {
    if (task_.starts_with('(') || task_.starts_with('[')) return first_missing.Key();
    if (app_->count("task") == 0) return "";
    const auto is_missing = [](const records::CatalogAnswer& answer) {
      return answer.level != records::AnswerLevel::kHit;
    };
    // A VTA leaves tasks to the host, so numbers differ from those of the file.
    if (asked.size() == 1 || std::ranges::count_if(answers, is_missing) != 1 ||
        DeviceTraitsOf(target).has_host_fallback) {
      return task_;
    }
    return fmt::format("{}#{}", task_, std::ranges::find_if(answers, is_missing) - answers.begin());
  }

  static void NoteCommand(const std::string& what, const std::string& command) {
    const std::string note = what + ":\n  " + command;
    PrintNote(FormatPrintable("{}", MultilineText{note}));
  }

  /// Prints how many of the workloads have imported records, and the command that asks for them.
  Status NoteImported(const std::vector<const Workload*>& workloads, const Target& target,
                      records::Catalog& catalog) const {
    TW_ASSIGN_OR_RETURN(const auto hint,
                        session::FindImported(workloads, templates(), target, catalog));
    // The own rule's options of code generation are no part of AutoTVM's targets.
    constexpr std::array<std::string_view, 8> kOptions = {
        "--job", "--records", "--vta-config", "--shape",
        "--dim", "--value",   "--requantize", "--precision"};
    const std::string file = app_->count("task") > 0 ? task_ : "";
    const std::string command = CommandLine(*app_, "query", file, kOptions) + " --rule autotvm";
    const std::string text =
        session::ImportedHintText(hint, command, target_.target == "native" ? "" : target_.target);
    if (!text.empty()) PrintNote(FormatPrintable("{}", MultilineText{text}));
    return {};
  }

  /// A limit applies to all uses of a network's tasks together, also for a network with one task.
  bool IsNetwork(const std::vector<Asked>& asked) const {
    return asked.size() > 1 ||
           (task_.find_first_of("(#") == std::string::npos && !task_.ends_with(".tw"));
  }

  records::ShareScore Score() const {
    return by_ == "mean" ? records::ShareScore::kMean : records::ShareScore::kWorst;
  }

  /// Prints the best config for all devices, or adds it to `list` for JSON. Returns false if no
  /// config was measured on all.
  bool AddChoice(const std::string& name, const std::vector<records::ConfigResults>& results,
                 const std::string& metric, Json& list) const {
    constexpr std::size_t kMaxShown = 5;
    const records::ShareTable table(results);
    const records::SharedChoice choice = records::ChooseShared(table, Score(), kMaxShown);
    if (json_) {
      Json json = {{"task", name}};
      json.update(records::ChoiceJson(table, results, Score(), choice));
      list.push_back(std::move(json));
    } else {
      PrintOut("{}\n", name);
      WriteText(session::ChoiceText(table, results, Score(), choice, metric, OutputColumns()));
    }
    return !choice.measured.empty();
  }

  /// Prints one document: of one task, or of a list of tasks.
  void PrintChoices(Json list) const {
    if (json_) PrintJson(list.size() == 1 ? list[0] : Json{{"tasks", std::move(list)}});
  }

  /// `--over` with T4 files.
  Result<int> QueryFiles() const {
    std::vector<records::ConfigResults> results;
    for (const std::string& files : over_) {
      for (const std::string& file : Split(files, ',')) {
        TW_ASSIGN_OR_RETURN(const auto space, search::MeasuredSpace::Load(file));
        results.push_back(search::ResultsOf(space));
      }
    }
    Json list = Json::array();
    const bool found = AddChoice("results of files", results, "", list);
    PrintChoices(std::move(list));
    return found ? kExitDone : kExitFailed;
  }

  /// `--over` with names of devices.
  Result<int> QueryDevices(const std::vector<Asked>& asked, const TemplateRegistry& chosen,
                           const Target& target, records::Catalog& catalog) const {
    bool all = true;
    Json list = Json::array();
    for (const Asked& one : asked) {
      TW_ASSIGN_OR_RETURN(const auto read, records::TaskResults::Read(
                                               catalog, chosen, *one.workload, MetricOf(target)));
      auto results = read.OnAll(over_);
      if (!results.ok()) return results.status().WithContext("--over: " + one.name);
      all = AddChoice(one.name, *results, MetricOf(target), list) && all;
    }
    PrintChoices(std::move(list));
    return all ? kExitDone : kExitFailed;
  }

  /// A task with "?" in place of a size.
  Result<int> QuerySizes(const TemplateRegistry& chosen, records::Catalog& catalog) const {
    if (over_.size() > 1) return InvalidArgument("--over: one device for a range of sizes");
    TW_ASSIGN_OR_RETURN(const auto tasks, records::FindSizes(catalog, task_));
    const std::string device = over_.empty() ? "here" : over_[0];
    std::vector<records::ConfigResults> results;
    std::string metric;
    for (const records::SizedTask& task : tasks) {
      const OpenTask* open = FindOpenTask(chosen, task.workload);
      TW_ASSIGN_OR_RETURN(const Target target,
                          open != nullptr ? Result<Target>(open->target()) : ParseTarget());
      metric = MetricOf(target);
      TW_ASSIGN_OR_RETURN(const auto read,
                          records::TaskResults::Read(catalog, chosen, task.workload, metric));
      auto on = read.On(device);
      if (!on.ok()) return on.status().WithContext(task.workload.Key());
      results.push_back(*std::move(on));
      results.back().name = std::to_string(task.size);
    }
    if (results.empty()) return NotFound("'" + task_ + "': no task with records matches");
    constexpr std::size_t kMaxShown = 8;
    const records::ShareTable table(results, /*predicts=*/false);
    const auto rules = records::ChooseBySize(table, Score(), kMaxShown);
    if (json_) {
      Json json = {{"task", task_}};
      json.update(records::RulesJson(table, results, Score(), rules));
      PrintJson(json);
    } else {
      WriteText(session::RulesText(table, results, Score(), rules, metric, OutputColumns()));
    }
    return rules.empty() ? kExitFailed : kExitDone;
  }

  /// Returns exit code 1 if a task has no front.
  Result<int> PrintFronts(const std::vector<Asked>& asked, const TemplateRegistry& chosen,
                          const Target& target, const DeviceFingerprint& device,
                          records::Catalog& catalog) const {
    Json list = Json::array();
    bool all = true;
    for (const Asked& one : asked) {
      records::LookupRequest request;
      request.templates = &chosen;
      request.workload = &*one.workload;
      request.target = &target;
      request.device = &device;
      TW_ASSIGN_OR_RETURN(auto front, catalog.TaskFront(request));
      all = all && !front.records.empty();
      if (!json_) PrintFront(one, front);
      Json records = Json::array();
      for (const records::Record& record : front.records) {
        const Candidate& candidate = record.trial.candidate;
        Json values = Json::object();
        for (const std::string& metric : front.metrics) {
          values[metric] = *record.trial.ValueOf(metric);
        }
        records.push_back({{"id", record.id},
                           {"values", std::move(values)},
                           {"template", candidate.template_key},
                           {"config", *ParseJson(candidate.config.ToString())}});
      }
      list.push_back({{"workload", one.text},
                      {"uses", one.uses},
                      {"metrics", front.metrics},
                      {"records", std::move(records)}});
    }
    if (json_) PrintJson({{"fronts", std::move(list)}});
    return all ? kExitDone : kExitFailed;
  }

  static void PrintFront(const Asked& one, const records::FrontByMetrics& front) {
    std::string by;
    std::vector<session::TextTable::Column> columns;
    for (const std::string& metric : front.metrics) {
      by += (by.empty() ? " by " : ",") + metric;
      columns.push_back({"  " + metric, true});
    }
    PrintOut("{}: {}, {} on the front{}\n", one.name, Counted(one.uses, "use"),
             front.records.size(), by);
    columns.push_back({"config", true});
    columns.push_back({"template", false, 8});
    session::TextTable table(std::move(columns));
    for (const records::Record& record : front.records) {
      std::vector<std::string> cells;
      for (const std::string& metric : front.metrics) {
        cells.push_back(session::ShortValue(metric, *record.trial.ValueOf(metric)));
      }
      cells.push_back(fmt::format("#{}", record.trial.candidate.config.index));
      cells.push_back(Printable(record.trial.candidate.template_key));
      table.AddRow(std::move(cells));
    }
    PrintTable(table);
  }

  Result<std::vector<Asked>> TasksOf(const Target& target) const {
    std::vector<search::TuneTask> tasks;
    if (job_.empty()) {
      TW_ASSIGN_OR_RETURN(const auto source, model_.Source(task_));
      TW_ASSIGN_OR_RETURN(tasks, session::ParseTasks(source, target, !target_.no_fuse_residuals));
    } else {
      TW_ASSIGN_OR_RETURN(const auto sources, model_.Sources(task_));
      TW_ASSIGN_OR_RETURN(
          tasks, session::TasksOfShapeVariants(sources, target, !target_.no_fuse_residuals));
    }
    if (range_) session::UseBlocks(*range_, tasks);
    if (DeviceTraitsOf(target).has_host_fallback && tasks.size() > 1)
      session::AssignToHost(templates(), tasks, PrintNote);
    const std::vector<std::string> names = session::DistinctNames(tasks);
    std::vector<Asked> asked;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      const search::TuneTask& task = tasks[i];
      asked.push_back({task.task.workload.Key(),
                       names[i],
                       task.task.workload,
                       {},
                       task.occurrences,
                       task.epilogue});
    }
    return asked;
  }

  /// A tuple is looked up as written: it may name a task without an operator in this program.
  Result<std::vector<Asked>> AutotvmTasksOf(const Target& target) const {
    const bool is_tuple = !task_.empty() && (task_.front() == '(' || task_.front() == '[');
    if (!is_tuple) return TasksOf(target);
    TW_ASSIGN_OR_RETURN(auto task, records::AutotvmTask::Parse(task_));
    const std::string name =
        task.workload.has_value() ? session::ShortName(*task.workload) : task.tuple;
    return std::vector<Asked>{{task.tuple, name, task.workload, task, 1}};
  }

  const CLI::App* app_ = nullptr;
  std::string task_, job_, job_metric_, environment_, by_ = "worst";
  std::vector<std::string> over_;
  ModelArguments model_;
  std::optional<SizeRange> range_;
  FloatErrorArgument float_error_;
  RecordArguments sources_;
  TargetArguments target_;
  bool json_ = false, front_ = false, kernel_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeQueryCommand() { return std::make_unique<QueryCommand>(); }

}  // namespace tilewright::cli
