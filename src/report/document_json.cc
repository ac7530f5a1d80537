// Report as JSON: columns as arrays, numbers rounded to six digits, which exceeds the precision of
// a measurement and takes a third of the text.

#include <algorithm>
#include <cmath>

#include "src/base/json.h"
#include "src/report/document.h"

namespace tilewright::report {
namespace {

/// Rounds to six digits; null for a non-finite number.
Json Number(double value) {
  if (!std::isfinite(value)) return nullptr;
  if (value == 0) return 0;
  const double scale = std::pow(10.0, 5 - std::floor(std::log10(std::abs(value))));
  const double rounded = std::isfinite(scale) ? std::round(value * scale) / scale : value;
  if (rounded == std::floor(rounded) && std::abs(rounded) < 1e15) {
    return static_cast<std::int64_t>(rounded);
  }
  return rounded;
}

Json Column(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(Number(value));
  return list;
}

/// Rounds times of a job to a hundredth of a second.
Json Seconds(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(Number(std::round(100 * value) / 100));
  return list;
}

Json KnobsJson(const KnobTable& table) {
  Json json = {{"template", table.template_key}, {"trials", table.trials}};
  json["axes"] = Json::array();
  for (const KnobTable::Axis& axis : table.axes) {
    json["axes"].push_back({{"name", axis.name}, {"values", axis.values}});
  }
  json["rows"] = table.rows;
  json["value"] = Column(table.value);
  json["importance"] = Json::array();
  for (const KnobShare& share : table.importance) {
    Json knobs = Json::array({share.first});
    if (!share.second.empty()) knobs.push_back(share.second);
    json["importance"].push_back({{"knobs", knobs}, {"share", Number(share.share)}});
  }
  return json;
}

Json RankingJson(const Ranking& ranking) {
  Json json = {{"trials", ranking.trials}, {"tau", Number(ranking.tau)}};
  json["windows"] = Json::array();
  for (const Ranking::Window& window : ranking.windows) {
    json["windows"].push_back(
        {{"first", window.first}, {"last", window.last}, {"tau", Number(window.tau)}});
  }
  json["calibration"] = Json::array();
  for (const Ranking::Bin& bin : ranking.calibration) {
    json["calibration"].push_back({{"predicted", Number(bin.predicted)},
                                   {"measured", Number(bin.measured)},
                                   {"low", Number(bin.low)},
                                   {"high", Number(bin.high)},
                                   {"trials", bin.trials}});
  }
  return json;
}

Json VtaJson(const VtaPage& page) {
  Json json = {{"cycle_model", page.model}, {"cycles", Number(page.cycles)}};
  json["engines"] = Json::array();
  for (std::size_t i = 0; i < page.engines.size(); ++i) {
    Json spans = Json::array();
    for (const VtaPage::Span& span : page.timeline[i]) {
      spans.push_back(Json::array({Number(span.begin), Number(span.end), span.what}));
    }
    json["engines"].push_back({{"name", page.engines[i]}, {"spans", std::move(spans)}});
  }
  json["bytes"] = Json::object();
  for (const auto& [memory, bytes] : page.memories) json["bytes"][memory] = bytes;
  json["points"] = Json::array();
  for (const VtaPoint& point : page.points) {
    json["points"].push_back({{"cycles", Number(point.cycles)},
                              {"bytes", Number(point.bytes)},
                              {"best", point.best},
                              {"front", point.front}});
  }
  json["points_of"] = page.points_of;
  return json;
}

Json FinalistsJson(const std::vector<Finalist>& finalists) {
  Json list = Json::array();
  for (const Finalist& row : finalists) {
    list.push_back({{"template", row.template_key},
                    {"config", row.config},
                    {"value", Number(row.value)},
                    {"noise", Number(row.noise)},
                    {"winner", row.winner},
                    {"tied", row.tied},
                    {"default", row.standard},
                    {"disturbed", row.noisy}});
  }
  return list;
}

Json CodeJson(const std::vector<CodeListing>& code) {
  Json list = Json::array();
  for (const CodeListing& one : code) {
    list.push_back({{"title", one.title},
                    {"template", one.template_key},
                    {"config", one.config},
                    {"value", Number(one.value)},
                    {"loops", one.loops},
                    {"assembly", one.assembly},
                    {"hot", Json::array({one.hot_first, one.hot_last})}});
  }
  return list;
}

Json FrontJson(const TaskPage& task) {
  Json list = Json::array();
  for (const FrontRow& row : task.front) {
    Json values = Json::object();
    for (std::size_t i = 0; i < task.metrics.size(); ++i) {
      values[task.metrics[i]] = Number(row.values[i]);
    }
    list.push_back(
        {{"template", row.template_key}, {"config", row.config}, {"values", std::move(values)}});
  }
  return list;
}

Json TaskJson(const TaskPage& task) {
  Json json = {{"key", task.key},
               {"name", task.name},
               {"epilogue", task.epilogue},
               {"target", task.target},
               {"metric", task.metric},
               {"occurrences", task.occurrences},
               {"trials", task.trials},
               {"ok", task.ok},
               {"disturbed_trials", task.disturbed_trials},
               {"race_trials", task.race_trials},
               {"outcomes", task.outcomes},
               {"default", Number(task.default_value)},
               {"best", Number(task.best_value)},
               {"noise", Number(task.best_noise)},
               {"raced", task.raced},
               {"disturbed", task.noisy},
               {"template", task.best_template},
               {"config", task.best_config},
               {"ties", task.ties},
               {"templates", task.templates}};
  json["best_so_far"] = {{"trial", task.best.trial},
                         {"seconds", Seconds(task.best.seconds)},
                         {"value", Column(task.best.value)}};
  json["points"] = {
      {"trial", task.points.trial},         {"seconds", Seconds(task.points.seconds)},
      {"value", Column(task.points.value)}, {"predicted", Column(task.points.predicted)},
      {"template", task.points.kind},       {"disturbed", task.points.noisy}};
  json["knobs"] = Json::array();
  for (const KnobTable& table : task.knobs) json["knobs"].push_back(KnobsJson(table));
  json["ranking"] = RankingJson(task.ranking);
  json["finalists"] = FinalistsJson(task.finalists);
  json["metrics"] = task.metrics;
  json["front"] = FrontJson(task);
  json["code"] = CodeJson(task.code);
  const Roofline& roofline = task.roofline;
  const double timed = roofline.per == "second" ? 1 : 0;
  json["roofline"] = {{"operations", Number(roofline.operations)},
                      {"bytes", Number(roofline.bytes)},
                      {"int8", roofline.int8},
                      {"peak_operations_per_second", Number(timed * roofline.peak_operations)},
                      {"near_bytes_per_second", Number(timed * roofline.near_bytes)},
                      {"far_bytes_per_second", Number(timed * roofline.far_bytes)},
                      {"per", roofline.per},
                      {"peak_operations", Number(roofline.peak_operations)},
                      {"near_bytes", Number(roofline.near_bytes)},
                      {"far_bytes", Number(roofline.far_bytes)},
                      {"bound", Number(roofline.bound)},
                      {"peaks", roofline.peaks_of}};
  json["vta"] = task.vta ? VtaJson(*task.vta) : Json(nullptr);
  json["gpu"] = Json::object();
  for (const auto& [name, value] : task.gpu) json["gpu"][name] = Number(value);
  json["gpu_points"] = Json::array();
  for (const GpuPoint& point : task.gpu_points) {
    json["gpu_points"].push_back({{"value", Number(point.value)},
                                  {"occupancy", Number(point.occupancy)},
                                  {"shared_bytes", Number(point.shared_bytes)},
                                  {"bank_conflict_ways", Number(point.bank_ways)},
                                  {"best", point.best}});
  }
  return json;
}

Json TimeJson(const TimePage& time) {
  if (!time.known()) return nullptr;
  return {{"wall_seconds", Number(time.wall)},
          {"timing_seconds", Number(time.timing_seconds)},
          {"running_seconds", Number(time.running_seconds)},
          {"building_seconds", Number(time.building_seconds)},
          {"learning_seconds", Number(time.learning_seconds)},
          {"idle_seconds", Number(time.idle_seconds)},
          {"seconds", Seconds(time.seconds)},
          {"timing", Column(time.timing)},
          {"running", Column(time.running)},
          {"building", Column(time.building)},
          {"learning", Column(time.learning)},
          {"idle", Column(time.idle)}};
}

Json JobJson(const JobPage& job) {
  const search::NetworkTimes times = job.Times();
  Json json = {{"store", job.store},
               {"name", job.name},
               {"graph", job.graph},
               {"target", job.target},
               {"device", job.device},
               {"strategy", job.strategy},
               {"seed", job.seed},
               {"finished", job.finished},
               {"began_unix", std::floor(job.began_unix)},
               {"ended_unix", std::floor(job.ended_unix)},
               {"wall_seconds", Number(job.wall_seconds)},
               {"pause_seconds", Number(job.pause_seconds)},
               {"pauses", job.pauses},
               {"resolution", Number(job.resolution)},
               {"trials", job.trials},
               {"ok", job.ok},
               {"disturbed", job.noisy},
               {"default_total", Number(times.standard)},
               {"best_total", Number(times.best)},
               {"tasks_without_time", times.without},
               {"trials_per_second", Number(job.TrialsPerSecond())},
               {"time", TimeJson(job.time)},
               {"pace",
                {{"step_seconds", Number(job.pace.step)},
                 {"trials", job.pace.trials},
                 {"failed", job.pace.failed},
                 {"disturbed", job.pace.noisy},
                 {"noise", Column(job.pace.noise)}}}};
  json["failures"] = Json::array();
  for (const Failure& failure : job.failures) {
    json["failures"].push_back({{"outcome", failure.outcome},
                                {"reason", failure.reason},
                                {"trials", failure.trials},
                                {"task", failure.task},
                                {"reproduce", failure.reproduce}});
  }
  json["tasks"] = Json::array();
  for (const TaskPage& task : job.tasks) json["tasks"].push_back(TaskJson(task));
  return json;
}

Json ComparisonJson(const Comparison& comparison) {
  Json json = {{"store", comparison.store},
               {"other", comparison.other},
               {"metric", comparison.metric},
               {"total", Number(comparison.total)},
               {"other_total", Number(comparison.other_total)},
               {"low", Number(comparison.low)},
               {"high", Number(comparison.high)},
               {"only_here", comparison.only_here},
               {"only_there", comparison.only_there}};
  json["tasks"] = Json::array();
  for (const ComparedTask& task : comparison.tasks) {
    json["tasks"].push_back({{"name", task.name},
                             {"key", task.key},
                             {"target", task.target},
                             {"device", task.device},
                             {"other_device", task.other_device},
                             {"metric", task.metric},
                             {"occurrences", task.occurrences},
                             {"value", Number(task.value)},
                             {"noise", Number(task.noise)},
                             {"other_value", Number(task.other_value)},
                             {"other_noise", Number(task.other_noise)},
                             {"ratio", Number(task.ratio)},
                             {"low", Number(task.low)},
                             {"high", Number(task.high)},
                             {"template", task.template_key},
                             {"config", task.config},
                             {"other_template", task.other_template},
                             {"other_config", task.other_config},
                             {"verdict", task.verdict}});
  }
  return json;
}

Json NetworkJson(const NetworkPage& network) {
  Json json = {{"graph", network.graph},
               {"target", network.target},
               {"metric", network.metric},
               {"coverage", network.coverage},
               {"arena_bytes", network.arena_bytes},
               {"constant_bytes", network.constant_bytes},
               {"layout_changes", network.layout_changes},
               {"layout_choices", network.layout_choices},
               {"layouts_changed", network.layouts_changed},
               {"layout_seconds", Number(network.layout_seconds)},
               {"layout_rule_seconds", Number(network.layout_rule_seconds)}};
  const double timed = network.metric == "seconds" ? 1 : 0;
  json["steps"] = Json::array();
  for (const NetworkStep& step : network.steps) {
    json["steps"].push_back({{"value", step.value},
                             {"op", step.op},
                             {"layout", step.layout},
                             {"answer", step.answer},
                             {"where", step.where},
                             {"template", step.template_key},
                             {"config", step.config},
                             {"explanation", step.explanation},
                             {"seconds", Number(timed * step.cost)},
                             {"cost", Number(step.cost)},
                             {"estimated", step.estimated},
                             {"miss_seconds", Number(timed * step.miss_cost)},
                             {"miss_cost", Number(step.miss_cost)},
                             {"macs", step.macs},
                             {"bytes", step.bytes},
                             {"live_bytes", step.live_bytes},
                             {"layout_change", step.transform}});
  }
  return json;
}

Json BenchJson(const BenchPage& bench) {
  const auto number = [](const std::optional<double>& value) {
    return value ? Number(*value) : Json(nullptr);
  };
  const auto text = [](const std::string& value) {
    return value.empty() ? Json(nullptr) : Json(value);
  };
  Json json = {{"file", bench.file},
               {"cpu", bench.cpu},
               {"cores", bench.cores},
               {"date", bench.date},
               {"commit", bench.commit},
               {"version", bench.version},
               {"rounds", bench.rounds},
               {"load", number(bench.load)},
               {"compared_with", text(bench.compared_with)},
               {"compared_commit", text(bench.compared_commit)},
               {"slower", bench.CountOf("slower")},
               {"faster", bench.CountOf("faster")},
               {"gone", bench.gone}};
  json["rows"] = Json::array();
  for (const BenchRow& row : bench.rows) {
    json["rows"].push_back({{"group", row.group},
                            {"name", row.name},
                            {"unit", row.unit},
                            {"better", row.better},
                            {"value", Number(row.value)},
                            {"noise", Number(row.noise)},
                            {"before", number(row.before)},
                            {"change", number(row.change)},
                            {"verdict", row.verdict}});
  }
  return json;
}

}  // namespace

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

Json ToJson(const Document& document) {
  Json json = {{"format", 1},
               {"title", document.title},
               {"program", document.program},
               {"made_unix", std::floor(document.made_unix)},
               {"live", document.live},
               {"missing", document.missing}};
  json["jobs"] = Json::array();
  for (const JobPage& job : document.jobs) json["jobs"].push_back(JobJson(job));
  json["comparison"] = document.comparison ? ComparisonJson(*document.comparison) : Json(nullptr);
  json["network"] = document.network ? NetworkJson(*document.network) : Json(nullptr);
  json["bench"] = document.bench ? BenchJson(*document.bench) : Json(nullptr);
  return json;
}

}  // namespace tilewright::report
