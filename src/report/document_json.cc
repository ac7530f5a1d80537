// Report as JSON: columns as arrays, numbers rounded to six digits, which exceeds the precision of
// a measurement and takes a third of the text. The Describe function of a struct names its members;
// order and names are those of `report --json`, to which members are only added.

#include <algorithm>
#include <array>
#include <cmath>

#include "src/base/json_fields.h"
#include "src/optimize/report_text.h"
#include "src/report/document.h"

namespace tilewright::report {
namespace {

/// Codec of a number, rounded to six digits; null if it is not finite.
struct NumberCodec {
  Json Write(double value) const {
    if (!std::isfinite(value)) return nullptr;
    if (value == 0) return 0;
    const double scale = std::pow(10.0, 5 - std::floor(std::log10(std::abs(value))));
    const double rounded = std::isfinite(scale) ? std::round(value * scale) / scale : value;
    if (rounded == std::floor(rounded) && std::abs(rounded) < 1e15) {
      return static_cast<std::int64_t>(rounded);
    }
    return rounded;
  }
};
constexpr NumberCodec kNumber;
constexpr ListCodec<NumberCodec> kColumn;
constexpr NullableCodec<NumberCodec> kNullableNumber;

/// Codec of a time of a job, rounded to a hundredth of a second.
struct SecondsCodec {
  Json Write(double value) const { return kNumber.Write(std::round(100 * value) / 100); }
};
constexpr ListCodec<SecondsCodec> kSeconds;

/// Codec of a relative noise, rounded to a hundredth of a percent.
struct NoiseCodec {
  Json Write(double value) const { return kNumber.Write(std::round(1e4 * value) / 1e4); }
};

/// Codec of a whole number as a double.
struct FloorCodec {
  Json Write(double value) const { return std::floor(value); }
};
constexpr FloorCodec kFloor;

/// Codec of values that JSON represents as they are.
struct RawCodec {
  template <typename T>
  Json Write(const T& value) const {
    return value;
  }
};
constexpr RawCodec kRaw;

/// Codec of pairs of a name and a value as an object.
template <typename Item>
struct ObjectOfCodec {
  Item item = {};

  template <typename T>
  Json Write(const T& pairs) const {
    Json json = Json::object();
    for (const auto& [name, value] : pairs) json[name] = item.Write(value);
    return json;
  }
};
template <typename Item>
ObjectOfCodec(Item) -> ObjectOfCodec<Item>;

/// Codec of a text; null if it is empty.
struct NullableTextCodec {
  Json Write(const std::string& text) const { return text.empty() ? Json(nullptr) : Json(text); }
};

/// Returns the values of a config on the front by their metrics.
std::vector<std::pair<std::string, double>> ValuesOf(const TaskPage& task, const FrontRow& row) {
  std::vector<std::pair<std::string, double>> values;
  for (std::size_t i = 0; i < task.metrics.size(); ++i) {
    values.emplace_back(task.metrics[i], row.values[i]);
  }
  return values;
}

Json FrontJson(const TaskPage& task) {
  Json list = Json::array();
  for (const FrontRow& row : task.front) {
    list.push_back({{"template", row.template_key},
                    {"config", row.config},
                    {"values", ObjectOfCodec{kNumber}.Write(ValuesOf(task, row))}});
  }
  return list;
}

Json EnginesJson(const VtaPage& page) {
  Json list = Json::array();
  for (std::size_t i = 0; i < page.engines.size(); ++i) {
    list.push_back(
        {{"name", page.engines[i]}, {"spans", ListCodec<TupleCodec>().Write(page.timeline[i])}});
  }
  return list;
}

}  // namespace

static void Describe(JsonWriter& fields, const BestSteps& steps) {
  fields("trial", steps.trial);
  fields("seconds", steps.seconds, kSeconds);
  fields("value", steps.value, kColumn);
}

static void Describe(JsonWriter& fields, const TrialPoints& points) {
  fields("trial", points.trial);
  fields("seconds", points.seconds, kSeconds);
  fields("value", points.value, kColumn);
  fields("predicted", points.predicted, kColumn);
  fields("template", points.kind);
  fields("disturbed", points.noisy);
}

static void Describe(JsonWriter& fields, const TrialTable& table) {
  fields("all", table.all);
  fields("trial", table.trial);
  fields("attempt", table.attempt);
  fields("seconds", table.seconds, kSeconds);
  fields("value", table.value, kColumn);
  fields("noise", table.noise, ListCodec<NoiseCodec>());
  fields("disturbed", table.noisy);
  fields("outcome", table.outcome);
  fields("knobs", table.knobs);
  fields("levels", table.levels);
  fields("outcomes", table.outcomes);
}

static void Describe(JsonWriter& fields, const KnobTable::Axis& axis) {
  fields("name", axis.name);
  fields("values", axis.values);
}

static void Describe(JsonWriter& fields, const KnobShare& share) {
  std::vector<std::string> knobs = {share.first};
  if (!share.second.empty()) knobs.push_back(share.second);
  fields("knobs", knobs);
  fields("share", share.share, kNumber);
}

static void Describe(JsonWriter& fields, const KnobTable& table) {
  fields("template", table.template_key);
  fields("trials", table.trials);
  fields("axes", table.axes);
  fields("rows", table.rows);
  fields("value", table.value, kColumn);
  fields("importance", table.importance);
}

static void Describe(JsonWriter& fields, const Ranking::Window& window) {
  fields("first", window.first);
  fields("last", window.last);
  fields("tau", window.tau, kNumber);
}

static void Describe(JsonWriter& fields, const Ranking::Bin& bin) {
  fields("predicted", bin.predicted, kNumber);
  fields("measured", bin.measured, kNumber);
  fields("low", bin.low, kNumber);
  fields("high", bin.high, kNumber);
  fields("trials", bin.trials);
}

static void Describe(JsonWriter& fields, const Ranking& ranking) {
  fields("trials", ranking.trials);
  fields("tau", ranking.tau, kNumber);
  fields("windows", ranking.windows);
  fields("calibration", ranking.calibration);
}

static void Describe(JsonWriter& fields, const VtaPage::Span& span) {
  fields("begin", span.begin, kNumber);
  fields("end", span.end, kNumber);
  fields("what", span.what);
}

static void Describe(JsonWriter& fields, const VtaPoint& point) {
  fields("cycles", point.cycles, kNumber);
  fields("bytes", point.bytes, kNumber);
  fields("best", point.best);
  fields("front", point.front);
}

static void Describe(JsonWriter& fields, const VtaPage& page) {
  fields("cycle_model", page.model);
  fields("cycles", page.cycles, kNumber);
  fields("engines", EnginesJson(page), kRaw);
  fields("bytes", page.memories, ObjectOfCodec{kRaw});
  fields("points", page.points);
  fields("points_of", page.points_of);
}

static void Describe(JsonWriter& fields, const GpuPoint& point) {
  fields("value", point.value, kNumber);
  fields("occupancy", point.occupancy, kNumber);
  fields("shared_bytes", point.shared_bytes, kNumber);
  fields("bank_conflict_ways", point.bank_ways, kNumber);
  fields("best", point.best);
}

static void Describe(JsonWriter& fields, const Finalist& row) {
  fields("template", row.template_key);
  fields("config", row.config);
  fields("value", row.value, kNumber);
  fields("noise", row.noise, kNumber);
  fields("winner", row.winner);
  fields("tied", row.tied);
  fields("default", row.standard);
  fields("disturbed", row.noisy);
}

static void Describe(JsonWriter& fields, const CodeListing& code) {
  fields("title", code.title);
  fields("template", code.template_key);
  fields("config", code.config);
  fields("value", code.value, kNumber);
  fields("loops", code.loops);
  fields("assembly", code.assembly);
  fields("hot", std::array{code.hot_first, code.hot_last});
}

static void Describe(JsonWriter& fields, const Roofline& roofline) {
  const double timed = roofline.per == "second" ? 1 : 0;
  fields("operations", roofline.operations, kNumber);
  fields("bytes", roofline.bytes, kNumber);
  fields("int8", roofline.int8);
  fields("peak_operations_per_second", timed * roofline.peak_operations, kNumber);
  fields("near_bytes_per_second", timed * roofline.near_bytes, kNumber);
  fields("far_bytes_per_second", timed * roofline.far_bytes, kNumber);
  fields("per", roofline.per);
  fields("peak_operations", roofline.peak_operations, kNumber);
  fields("near_bytes", roofline.near_bytes, kNumber);
  fields("far_bytes", roofline.far_bytes, kNumber);
  fields("bound", roofline.bound, kNumber);
  fields("peaks", roofline.peaks_of);
}

static void Describe(JsonWriter& fields, const TaskPage& task) {
  fields("key", task.key);
  fields("name", task.name);
  fields("epilogue", task.epilogue);
  fields("target", task.target);
  fields("metric", task.metric);
  fields("occurrences", task.occurrences);
  fields("trials", task.trials);
  fields("ok", task.ok);
  fields("disturbed_trials", task.disturbed_trials);
  fields("race_trials", task.race_trials);
  fields("outcomes", task.outcomes, ObjectOfCodec{kRaw});
  fields("default", task.default_value, kNumber);
  fields("best", task.best_value, kNumber);
  fields("noise", task.best_noise, kNumber);
  fields("raced", task.raced);
  fields("disturbed", task.noisy);
  fields("template", task.best_template);
  fields("config", task.best_config);
  fields("ties", task.ties);
  fields("templates", task.templates);
  fields("best_so_far", task.best);
  fields("points", task.points);
  fields("knobs", task.knobs);
  fields("ranking", task.ranking);
  fields("finalists", task.finalists);
  fields("metrics", task.metrics);
  fields("front", FrontJson(task), kRaw);
  fields("code", task.code);
  fields("roofline", task.roofline);
  fields("vta", task.vta, NullableCodec<>());
  fields("gpu", task.gpu, ObjectOfCodec{kNumber});
  fields("gpu_points", task.gpu_points);
  fields("trial_table", task.table);
}

static void Describe(JsonWriter& fields, const TimePage& time) {
  fields("wall_seconds", time.wall, kNumber);
  fields("timing_seconds", time.timing_seconds, kNumber);
  fields("running_seconds", time.running_seconds, kNumber);
  fields("building_seconds", time.building_seconds, kNumber);
  fields("learning_seconds", time.learning_seconds, kNumber);
  fields("idle_seconds", time.idle_seconds, kNumber);
  fields("seconds", time.seconds, kSeconds);
  fields("timing", time.timing, kColumn);
  fields("running", time.running, kColumn);
  fields("building", time.building, kColumn);
  fields("learning", time.learning, kColumn);
  fields("idle", time.idle, kColumn);
}

static void Describe(JsonWriter& fields, const PacePage& pace) {
  fields("step_seconds", pace.step, kNumber);
  fields("trials", pace.trials);
  fields("failed", pace.failed);
  fields("disturbed", pace.noisy);
  fields("noise", pace.noise, kColumn);
}

static void Describe(JsonWriter& fields, const Failure& failure) {
  fields("outcome", failure.outcome);
  fields("reason", failure.reason);
  fields("trials", failure.trials);
  fields("task", failure.task);
  fields("reproduce", failure.reproduce);
}

static void Describe(JsonWriter& fields, const JobLimits& limits) {
  fields("trials", limits.trials);
  fields("budget_seconds", limits.budget_seconds, kNumber);
  fields("deadline", limits.deadline);
}

static void Describe(JsonWriter& fields, const JobPage& job) {
  const search::NetworkTimes times = job.Times();
  fields("store", job.store);
  fields("name", job.name);
  fields("graph", job.graph);
  fields("target", job.target);
  fields("device", job.device);
  fields("strategy", job.strategy);
  fields("seed", job.seed, kRaw);
  fields("finished", job.finished);
  fields("began_unix", job.began_unix, kFloor);
  fields("ended_unix", job.ended_unix, kFloor);
  fields("wall_seconds", job.wall_seconds, kNumber);
  fields("pause_seconds", job.pause_seconds, kNumber);
  fields("pauses", job.pauses);
  fields("resolution", job.resolution, kNumber);
  fields("trials", job.trials);
  fields("ok", job.ok);
  fields("disturbed", job.noisy);
  fields("default_total", times.standard, kNumber);
  fields("best_total", times.best, kNumber);
  fields("tasks_without_time", times.without);
  fields("trials_per_second", job.TrialsPerSecond(), kNumber);
  fields("time", job.time.known() ? std::optional(job.time) : std::nullopt, NullableCodec<>());
  fields("pace", job.pace);
  fields("failures", job.failures);
  fields("tasks", job.tasks);
  fields("network_best_so_far", job.network_best);
  fields("command", job.command);
  fields("limits", job.limits);
  fields("settings", job.settings, ObjectOfCodec{kRaw});
}

static void Describe(JsonWriter& fields, const ComparedTask& task) {
  fields("name", task.name);
  fields("key", task.key);
  fields("target", task.target);
  fields("device", task.device);
  fields("other_device", task.other_device);
  fields("metric", task.metric);
  fields("occurrences", task.occurrences);
  fields("value", task.value, kNumber);
  fields("noise", task.noise, kNumber);
  fields("other_value", task.other_value, kNumber);
  fields("other_noise", task.other_noise, kNumber);
  fields("ratio", task.ratio, kNumber);
  fields("low", task.low, kNumber);
  fields("high", task.high, kNumber);
  fields("template", task.template_key);
  fields("config", task.config);
  fields("other_template", task.other_template);
  fields("other_config", task.other_config);
  fields("verdict", task.verdict);
}

static void Describe(JsonWriter& fields, const Comparison& comparison) {
  fields("store", comparison.store);
  fields("other", comparison.other);
  fields("metric", comparison.metric);
  fields("total", comparison.total, kNumber);
  fields("other_total", comparison.other_total, kNumber);
  fields("low", comparison.low, kNumber);
  fields("high", comparison.high, kNumber);
  fields("only_here", comparison.only_here);
  fields("only_there", comparison.only_there);
  fields("tasks", comparison.tasks);
}

/// Codec of a step; costs in another metric than seconds have no seconds.
struct StepCodec {
  double timed = 1;  // 0: the metric is not seconds

  Json Write(const NetworkStep& step) const {
    JsonWriter fields;
    fields("value", step.value);
    fields("op", step.op);
    fields("layout", step.layout);
    fields("answer", step.answer);
    fields("where", step.where);
    fields("template", step.template_key);
    fields("config", step.config);
    fields("explanation", step.explanation);
    fields("seconds", timed * step.cost, kNumber);
    fields("cost", step.cost, kNumber);
    fields("estimated", step.estimated);
    fields("miss_seconds", timed * step.miss_cost, kNumber);
    fields("miss_cost", step.miss_cost, kNumber);
    fields("macs", step.macs);
    fields("bytes", step.bytes);
    fields("live_bytes", step.live_bytes);
    fields("layout_change", step.transform);
    fields("layer", step.layer);
    fields("shape", step.shape);
    fields("workload", step.workload);
    return fields.Take();
  }
};

static void Describe(JsonWriter& fields, const NetworkPage& network) {
  fields("graph", network.graph);
  fields("target", network.target);
  fields("metric", network.metric);
  fields("coverage", network.coverage, ObjectOfCodec{kRaw});
  fields("arena_bytes", network.arena_bytes);
  fields("constant_bytes", network.constant_bytes);
  fields("layout_changes", network.layout_changes);
  fields("layout_choices", network.layout_choices);
  fields("layouts_changed", network.layouts_changed);
  fields("layout_seconds", network.layout_seconds, kNumber);
  fields("layout_rule_seconds", network.layout_rule_seconds, kNumber);
  fields("steps", network.steps, ListCodec{StepCodec{network.metric == "seconds" ? 1.0 : 0.0}});
}

/// Codec of a page of number formats: the report of the search, with the costs of bounds.
struct FormatsCodec {
  Json Write(const FormatsPage& page) const {
    Json json = optimize::ReportJson(page.search, "");
    json.erase("library");
    Json bounds = Json::array();
    for (const optimize::BoundCost& cost : page.bounds) {
      bounds.push_back(
          {{"bound", cost.bound.ToString()},
           {"combination", cost.combination ? Json(*cost.combination) : Json()},
           {"time_ratio",
            cost.combination ? Json(page.search.combinations[*cost.combination].ratio) : Json()},
           {"predicted_time_ratio", kNullableNumber.Write(cost.predicted_ratio)}});
    }
    json["bounds"] = std::move(bounds);
    for (const auto& [name, text] :
         {std::pair("store", &page.store), std::pair("job", &page.job),
          std::pair("graph", &page.graph), std::pair("target", &page.target),
          std::pair("device", &page.device)}) {
      json[name] = *text;
    }
    return json;
  }
};

static void Describe(JsonWriter& fields, const BenchRow& row) {
  fields("group", row.group);
  fields("name", row.name);
  fields("unit", row.unit);
  fields("better", row.better);
  fields("value", row.value, kNumber);
  fields("noise", row.noise, kNumber);
  fields("before", row.before, kNullableNumber);
  fields("change", row.change, kNullableNumber);
  fields("verdict", row.verdict);
}

static void Describe(JsonWriter& fields, const BenchPage& bench) {
  fields("file", bench.file);
  fields("cpu", bench.cpu);
  fields("cores", bench.cores);
  fields("date", bench.date);
  fields("commit", bench.commit);
  fields("version", bench.version);
  fields("rounds", bench.rounds);
  fields("load", bench.load, kNullableNumber);
  fields("compared_with", bench.compared_with, NullableTextCodec());
  fields("compared_commit", bench.compared_commit, NullableTextCodec());
  fields("slower", bench.CountOf("slower"));
  fields("faster", bench.CountOf("faster"));
  fields("gone", bench.gone);
  fields("rows", bench.rows);
}

static void Describe(JsonWriter& fields, const LivePage& progress) {
  fields("share", progress.share, kNumber);
  fields("elapsed_seconds", progress.elapsed_seconds, kNumber);
  fields("eta_seconds", progress.eta_seconds, kNumber);
  fields("trials", progress.trials);
  fields("trials_per_second", progress.trials_per_second, kNumber);
  fields("tasks", progress.tasks);
  fields("finished_tasks", progress.finished_tasks);
  fields("task", progress.task);
  fields("epilogue", progress.epilogue);
  fields("target", progress.target);
  fields("template", progress.template_key);
  fields("config", progress.config);
  fields("outcome", progress.outcome);
  fields("value", progress.value, kNumber);
}

static void Describe(JsonWriter& fields, const Document& document) {
  fields("format", 1);
  fields("title", document.title);
  fields("program", document.program);
  fields("made_unix", document.made_unix, kFloor);
  fields("live", document.live);
  fields("missing", document.missing);
  fields("jobs", document.jobs);
  fields("formats", document.formats, ListCodec<FormatsCodec>());
  fields("comparison", document.comparison, NullableCodec<>());
  fields("network", document.network, NullableCodec<>());
  fields("bench", document.bench, NullableCodec<>());
  fields("progress", document.progress, NullableCodec<>());
}

search::NetworkTimes JobPage::Times() const {
  search::NetworkTimes times;
  for (const TaskPage& task : tasks) {
    times.Add(task.default_value, task.best_value, task.occurrences);
  }
  return times;
}

double JobPage::TrialsPerSecond() const {
  if (time.known()) return static_cast<double>(time.trials) / time.wall;
  return wall_seconds > 0 ? static_cast<double>(trials) / wall_seconds : 0;
}

Json ToJson(const Document& document) { return WriteJson(document); }

}  // namespace tilewright::report
