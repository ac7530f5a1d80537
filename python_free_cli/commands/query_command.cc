// `tilewright query`: answers of record sources for one task, for all tasks of a model, or for
// those of a job file.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>

#include "python_free_cli/arguments/command_line.h"
#include "python_free_cli/arguments/float_error.h"
#include "python_free_cli/arguments/reject_options.h"
#include "python_free_cli/arguments/task_argument.h"
#include "python_free_cli/command.h"
#include "python_free_cli/print.h"
#include "python_free_cli/record_sources.h"
#include "records/devices/device_results.h"
#include "records/devices/shares_json.h"
#include "search/job.h"
#include "search/measured/config_results.h"
#include "src/base/files/file.h"
#include "src/base/json.h"
#include "src/base/shell/quote.h"
#include "src/base/strings.h"
#include "src/report/text/answers.h"
#include "src/session/imported/hint.h"
#include "src/session/open_task.h"
#include "src/session/query/questions.h"
#include "src/session/record_sources.h"
#include "src/session/share_text.h"
#include "src/session/tasks.h"
#include "src/target/device.h"
#include "src/templates/device.h"
#include "src/tensor/open_workload.h"

namespace tilewright::cli {
namespace {

using session::Question;

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
    model_.Declare(app, /*with_ranges=*/true);
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
    TW_ASSIGN_OR_RETURN(const auto range, model_.TakeRange(task_));
    if (range) PrintNote(session::RangeNote(*range));
    range_ = range;
    TW_ASSIGN_OR_RETURN(auto accept, sources_.Accept());
    TW_ASSIGN_OR_RETURN(const OpenTask* open, session::FindOpenTask(templates(), task_));
    if (open != nullptr) task_ = open->workload.Key();
    if (open == nullptr) TW_RETURN_IF_ERROR(session::CheckNoOpenTask(templates(), task_));
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
    auto device = session::DeviceAsked(environment_, target);
    if (!device.ok() && !environment_.empty()) return device.status().WithContext("--environment");
    TW_RETURN_IF_ERROR(device);
    records::LookupRequest terms;
    terms.templates = &chosen;
    terms.target = &target;
    terms.device = &*device;
    if (front_) return PrintFronts(asked, terms, catalog);
    if (!over_.empty()) return QueryDevices(asked, chosen, target, catalog);
    if (prefer.has_value() && !prefer->limited.empty() && IsNetwork(asked)) {
      std::vector<search::TuneTask> tasks;
      for (const Question& one : asked) tasks.push_back({{*one.workload, target}, {}, one.uses});
      TW_RETURN_IF_ERROR(
          session::ShareLimitOf(tasks, chosen, target, *device, catalog, *prefer, PrintNote));
    }
    terms.accept = records::DownTo(accept);
    terms.prefer = prefer.has_value() ? &*prefer : nullptr;
    terms.autotvm = autotvm.has_value() ? &*autotvm : nullptr;
    TW_ASSIGN_OR_RETURN(const auto answers, session::AnswerAll(asked, terms, catalog));
    // The sums are those of the records chosen by --prefer.
    const auto sums = prefer.has_value() ? session::SumsOf(asked, answers, target, *prefer)
                                         : session::MetricSums();
    if (json_) {
      Json list =
          report::AnswersJson(asked, answers, own ? target.ToString() : autotvm->target.text);
      for (std::size_t i = 0; kernel_ && i < asked.size(); ++i) {
        report::AddKernelJson(asked[i], answers[i], chosen, target, list[i]);
      }
      Json json = {{"answers", std::move(list)}};
      report::AddSumsJson(sums, json);
      PrintJson(json);
    } else {
      WriteText(report::AnswersText(asked, answers, target, OutputColumns()));
      WriteText(report::SumsText(sums));
      TW_RETURN_IF_ERROR(NoteWhatHelps(asked, answers, target, catalog));
    }
    return std::ranges::count(answers, records::AnswerLevel::kMiss,
                              &records::CatalogAnswer::level) > 0
               ? kExitFailed
               : kExitDone;
  }

 private:
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
    if (!given("--sizes")) model_.sizes = job.sizes;
    if (!given("--value")) model_.bindings.values = job.value;
    if (!given("--requantize")) model_.requantize = job.requantize;
    if (!given("--precision")) model_.precision = job.precision;
    if (!given("--float-error")) float_error_.value = job.float_error;
    if (!job.metric.empty()) job_metric_ = job.metric.front();
    return {};
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

  /// Prints the command that asks for imported records of tasks without a hit, and the one that
  /// tunes these tasks.
  Status NoteWhatHelps(const std::vector<Question>& asked,
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
  std::string TaskToTune(const std::vector<Question>& asked,
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
  bool IsNetwork(const std::vector<Question>& asked) const {
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
  Result<int> QueryDevices(const std::vector<Question>& asked, const TemplateRegistry& chosen,
                           const Target& target, records::Catalog& catalog) const {
    bool all = true;
    Json list = Json::array();
    for (const Question& one : asked) {
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
    const std::string device = over_.empty() ? "here" : over_[0];
    TW_ASSIGN_OR_RETURN(const auto sized, session::ResultsBySize(catalog, chosen, task_, device,
                                                                 [this] { return ParseTarget(); }));
    constexpr std::size_t kMaxShown = 8;
    const records::ShareTable table(sized.results, /*predicts=*/false);
    const auto rules = records::ChooseBySize(table, Score(), kMaxShown);
    if (json_) {
      Json json = {{"task", task_}};
      json.update(records::RulesJson(table, sized.results, Score(), rules));
      PrintJson(json);
    } else {
      WriteText(
          session::RulesText(table, sized.results, Score(), rules, sized.metric, OutputColumns()));
    }
    return rules.empty() ? kExitFailed : kExitDone;
  }

  /// Returns exit code 1 if a task has no front.
  Result<int> PrintFronts(const std::vector<Question>& asked, const records::LookupRequest& terms,
                          records::Catalog& catalog) const {
    TW_ASSIGN_OR_RETURN(const auto fronts, session::FrontsOf(asked, terms, catalog));
    Json list = Json::array();
    bool all = true;
    for (std::size_t i = 0; i < asked.size(); ++i) {
      all = all && !fronts[i].records.empty();
      if (!json_) WriteText(report::FrontText(asked[i], fronts[i], OutputColumns()));
      list.push_back(report::FrontJson(asked[i], fronts[i]));
    }
    if (json_) PrintJson({{"fronts", std::move(list)}});
    return all ? kExitDone : kExitFailed;
  }

  Result<std::vector<Question>> TasksOf(const Target& target) const {
    std::vector<search::TuneTask> tasks;
    if (job_.empty()) {
      TW_ASSIGN_OR_RETURN(const auto source, model_.Source(task_));
      TW_ASSIGN_OR_RETURN(tasks, session::ParseTasks(source, target, !target_.no_fuse_residuals));
    } else {
      TW_ASSIGN_OR_RETURN(const auto sources, model_.Sources(task_));
      TW_ASSIGN_OR_RETURN(
          tasks, session::TasksOfShapeVariants(sources, target, !target_.no_fuse_residuals));
    }
    if (range_) {
      TW_RETURN_IF_ERROR(session::UseRange(model_, task_, *range_, target, tasks));
    }
    if (DeviceTraitsOf(target).has_host_fallback && tasks.size() > 1)
      session::AssignToHost(templates(), tasks, PrintNote);
    return session::QuestionsOf(tasks);
  }

  Result<std::vector<Question>> AutotvmTasksOf(const Target& target) const {
    const bool is_tuple = !task_.empty() && (task_.front() == '(' || task_.front() == '[');
    if (!is_tuple) return TasksOf(target);
    TW_ASSIGN_OR_RETURN(auto question, session::QuestionOfTuple(task_));
    return std::vector<Question>{std::move(question)};
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
