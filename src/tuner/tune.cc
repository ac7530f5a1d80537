// Measures one config, and tunes expressions.

#include <algorithm>
#include <atomic>
#include <limits>
#include <utility>

#include "records/validation/schedules.h"
#include "search/job.h"
#include "search/space.h"
#include "search/tuner.h"
#include "src/base/clock.h"
#include "src/session/session.h"
#include "src/templates/device.h"
#include "src/tuner/data.h"
#include "src/tuner/tune_job.h"
#include "src/tuner/worker.h"

namespace tilewright::tuner {
namespace {

namespace inner = ::tilewright;

constexpr double kMeasureLimitSeconds = 1200;  // the measurer's own limits are far below

/// Settings of one tuning run, converted from TuneOptions.
struct TuneOrder {
  search::JobSettings job;
  std::vector<std::string> templates;
  std::function<bool(const Progress&)> progress;
};

inner::Result<TuneOrder> OrderOf(const Tuner::Data& tuner, const std::string& graph,
                                 const TuneOptions& options) {
  TuneOrder order;
  order.job.graph = graph;
  order.job.target = tuner.target_text;
  order.job.threads = tuner.target.num_threads();
  order.job.records = options.store;
  order.job.trials = options.trials;
  order.job.budget_seconds = options.seconds;
  order.job.strategy = options.strategy;
  order.job.seed = options.seed;
  order.templates = options.templates;
  order.progress = options.progress;
  if (options.store.empty()) return InvalidArgument("no store, expected a path");
  if (options.trials <= 0 && !(options.seconds > 0)) {
    return InvalidArgument("neither trials nor seconds, expected a limit");
  }
  const inner::Status good = search::CheckJobSettings(tuner.strategies, order.job);
  TW_RETURN_IF_ERROR(good);
  return order;
}

class Watcher final : public search::TuneObserver {
 public:
  explicit Watcher(const std::function<bool(const Progress&)>& progress) : progress_(progress) {}
  const std::atomic<bool>& stop() const { return stop_; }

  void TrialDone(const search::TaskReport& task, int /*task_index*/, const Trial& trial,
                 double eta_seconds) override {
    if (!progress_) return;
    Progress told;
    told.trials = task.trials;
    told.best_seconds = task.best_seconds;
    told.newest_seconds = trial.outcome == Outcome::kOk ? trial.value : 0;
    told.eta_seconds = eta_seconds;
    if (!progress_(told)) stop_ = true;
  }

 private:
  const std::function<bool(const Progress&)>& progress_;
  std::atomic<bool> stop_{false};
};

inner::Result<TuneReport> RunTune(const Tuner::Data& tuner, const Workload& workload,
                                  const TuneOptions& options) {
  auto data = std::make_shared<TuneReport::Data>();
  const std::vector<search::TuneTask> tasks = {{{workload, tuner.target}, {}, 1}};
  TW_ASSIGN_OR_RETURN(data->report, RunTuneJob(tuner, "expression", tasks, options));
  for (const auto& [outcome, count] : data->task().failures) data->failures += count;
  if (data->task().best_seconds > 0) data->config = data->task().best_config.ToString();
  return TuneReport(std::move(data));
}

inner::Result<Measurement> RunMeasure(Tuner::Data tuner, const Config& config) {
  const Candidate& candidate = config.data().candidate;
  if (candidate.task.target != tuner.target) {
    return InvalidArgument("a config for " + candidate.task.target.ToString() +
                           ", expected one for " + tuner.target_text);
  }
  const std::string* text = config.data().templates->TextOf(candidate.template_key);
  if (text != nullptr && std::ranges::count(tuner.texts, *text) == 0) tuner.texts.push_back(*text);
  TW_ASSIGN_OR_RETURN(auto measurer, StartMeasurer(tuner));
  measure::Request request;
  request.candidate = candidate;
  TW_RETURN_IF_ERROR(measurer->Submit(std::move(request)));
  TW_ASSIGN_OR_RETURN(auto reply, measurer->Next(kMeasureLimitSeconds));
  if (!reply.has_value()) return Unavailable("no answer from the measurer");
  auto data = std::make_shared<Measurement::Data>();
  data->trial = std::move(reply->trial);
  data->outcome = OutcomeName(data->trial.outcome);
  return Measurement(std::move(data));
}

inner::Result<Answer> RunQuery(const Tuner::Data& tuner, const Workload& workload,
                               const std::string& path) {
  if (path.empty()) return InvalidArgument("no store, expected a path");
  TW_ASSIGN_OR_RETURN(auto records, OpenRecords(tuner, path));
  TW_ASSIGN_OR_RETURN(auto device, DeviceFor(tuner.target));
  records::LookupRequest request;
  request.templates = records.templates.get();
  request.workload = &workload;
  request.target = &tuner.target;
  request.device = &device;
  request.accept = records::DownTo(records::AnswerLevel::kDefault);
  TW_ASSIGN_OR_RETURN(auto answer, records.catalog.Query(request));
  auto data = std::make_shared<Answer::Data>();
  data->kind = records::AnswerLevelName(answer.level);
  data->explanation = answer.answer.explanation;
  data->seconds = answer.CostSeconds(&workload);
  if (const Candidate* candidate = answer.candidate()) {
    // A fallback record has the config of another workload or target, adapted to this one.
    Candidate own = *candidate;
    own.task = {workload, tuner.target};
    data->config = MakeConfig(std::move(own), records.templates);
  }
  return Answer(std::move(data));
}

}  // namespace

inner::Result<search::TuneReport> RunTuneJob(const Tuner::Data& tuner, const std::string& graph,
                                             std::vector<search::TuneTask> tasks,
                                             const TuneOptions& options) {
  TW_ASSIGN_OR_RETURN(auto order, OrderOf(tuner, graph, options));
  TW_ASSIGN_OR_RETURN(auto chosen,
                      search::RestrictTemplates(*tuner.templates, order.templates, tasks));
  TW_ASSIGN_OR_RETURN(auto store,
                      records::Store::Open(order.job.records, records::Store::Mode::kReadWrite));
  TW_RETURN_IF_ERROR(records::StoreScheduleTexts(store, chosen));
  TW_ASSIGN_OR_RETURN(auto measurer, StartMeasurer(tuner));
  SystemClock clock;
  Watcher watcher(order.progress);
  search::TuneContext context;
  context.templates = &chosen;
  context.strategies = &tuner.strategies;
  context.measurer = measurer.get();
  context.store = &store;
  context.clock = &clock;
  context.only_templates = order.templates;
  context.observer = &watcher;
  context.stop = &watcher.stop();
  return session::Session::Tune(tasks, order.job, std::move(context));
}

inline namespace v1 {

Result<Measurement> Tuner::Measure(const Config& config) {
  return ToPublic(RunMeasure(*data_, config));
}

Result<TuneReport> Tuner::Tune(const Expression& expression, const TuneOptions& options) {
  return ToPublic(RunTune(*data_, expression.data().workload, options));
}

Result<Answer> Tuner::Query(const Expression& expression, const std::string& store) const {
  return ToPublic(RunQuery(*data_, expression.data().workload, store));
}

}  // namespace v1
}  // namespace tilewright::tuner
