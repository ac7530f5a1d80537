#include "src/optimize/stored_search.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "src/optimize/job_key.h"
#include "src/optimize/journal.h"
#include "src/optimize/kernel_key.h"
#include "src/optimize/report_text.h"
#include "src/optimize/split.h"
#include "src/session/format.h"

namespace tilewright::optimize {
namespace {

/// Finds the latest result of the network in one store.
Status FindIn(const std::string& path, std::string_view network, StoredChoice& choice,
              bool& found) {
  TW_ASSIGN_OR_RETURN(const auto store,
                      records::Store::Open(path, records::Store::Mode::kReadOnly));
  TW_ASSIGN_OR_RETURN(auto jobs, store.Jobs());
  std::ranges::reverse(jobs);  // those that began last first
  TW_ASSIGN_OR_RETURN(const std::string latest, LatestJobOf(store, network));
  std::ranges::stable_partition(jobs,
                                [&latest](const records::Job& job) { return job.name == latest; });
  for (const records::Job& job : jobs) {
    if (!job.name.starts_with(network)) continue;
    TW_ASSIGN_OR_RETURN(auto report, StoredResult(store, job));
    if (!report) continue;
    if (found) {
      ++choice.other_jobs;
      continue;
    }
    found = true;
    choice.store = path;
    choice.job = job.name;
    choice.report = *std::move(report);
  }
  return {};
}

/// Checks that the held-out part of a stored search decides a bound of the network.
Status CheckDecides(const TensorType& output, const SearchReport& report, const Bound& bound) {
  TW_ASSIGN_OR_RETURN(const std::int64_t rows, RowsOf(output, bound));
  const std::size_t least = LeastHeldOut(bound, rows), held_out = report.split.held_out.size();
  if (held_out >= least) return {};
  return InvalidArgument(fmt::format("{}: the search had {} held-out samples, expected at least {}",
                                     bound.ToString(), held_out, least));
}

/// Makes the graph of the choice, and checks that its library would have the measured kernels.
Status MakeGraph(session::CompileRequest& request, StoredChoice& choice) {
  const SearchReport& report = choice.report;
  TW_ASSIGN_OR_RETURN(auto network, NetworkFormats::Create(std::move(request.graph),
                                                           request.options.target, {}, 1));
  const Combination& combination = choice.combination();
  if (!network.CanHave(combination.formats)) {
    return Corrupt(choice.store + ": job " + choice.job + ": formats of another network");
  }
  network.SetCalibration(report.calibration, report.ranges);
  TW_ASSIGN_OR_RETURN(auto float32, network.Build(network.Uniform(Format::kFloat32)));
  TW_ASSIGN_OR_RETURN(const auto before, KernelKeyOf(std::move(float32), request.options));
  TW_ASSIGN_OR_RETURN(choice.graph, network.Build(combination.formats));
  TW_ASSIGN_OR_RETURN(const auto now, KernelKeyOf(choice.graph.Clone(), request.options));
  if (KernelTag(before, now) == combination.kernels) return {};
  return NotFound(fmt::format(
      "--prefer {}: the record sources choose other kernels than those that job {} measured; "
      "`tilewright optimize` with its samples measures them",
      choice.preference.ToString(), choice.job));
}

}  // namespace

Result<std::optional<SearchReport>> StoredResult(const records::Store& store,
                                                 const records::Job& job) {
  if (!job.name.starts_with(kJobPrefix)) return std::optional<SearchReport>();
  TW_ASSIGN_OR_RETURN(const auto entries, store.LogOfKind(job.id, kStepKind));
  const auto last = std::find_if(entries.rbegin(), entries.rend(),
                                 [](const auto& entry) { return entry.task_key == kResultStep; });
  if (last == entries.rend()) return std::optional<SearchReport>();
  auto report = ParseStoredReport(last->payload);
  if (!report.ok()) return report.status().WithContext(store.path() + ": job " + job.name);
  return std::optional<SearchReport>(*std::move(report));
}

std::string StoredChoice::ToString() const {
  const Combination& one = combination();
  std::string text = fmt::format("{}: {} for {} of float32 ({:.3f}), {}", CountsText(one.formats),
                                 session::ShortSeconds(one.ratio * report.float32_seconds),
                                 session::ShortSeconds(report.float32_seconds), one.ratio,
                                 DecibelText(one.held_out->SqnrDb()));
  const Metric metric = preference.bound.metric;
  if (metric != Metric::kSqnr) {
    text += fmt::format(", {} {:.4g}", MetricName(metric), preference.bound.ValueOf(*one.held_out));
  }
  text += fmt::format(" on the held-out part; --prefer {} on the front of job {}",
                      preference.ToString(), job);
  if (other_jobs > 0) text += fmt::format(", the latest of {}", other_jobs + 1);
  return text;
}

Result<StoredChoice> ChooseStored(session::CompileRequest& request,
                                  const std::vector<std::string>& stores,
                                  std::string_view preference) {
  StoredChoice choice;
  auto parsed = ParseFrontPreference(preference);
  if (!parsed.ok()) return parsed.status().WithContext("--prefer");
  choice.preference = *std::move(parsed);
  const std::string network = NetworkKeyOf(request);
  bool found = false;
  for (const std::string& path : stores) {
    TW_RETURN_IF_ERROR(FindIn(path, network, choice, found));
  }
  if (!found) {
    return NotFound(fmt::format(
        "--prefer {}: no search of this network for this target in {}; `tilewright optimize "
        "--data` makes one",
        choice.preference.ToString(),
        stores.empty() ? "any store" : fmt::format("{}", fmt::join(stores, ", "))));
  }
  const Graph& graph = request.graph;
  const Status decides =
      CheckDecides(graph.node(graph.outputs()[0]).type, choice.report, choice.preference.bound);
  if (!decides.ok()) return decides.WithContext("--prefer");
  auto chosen = ChooseFrom(choice.report, choice.preference);
  if (!chosen.ok()) return chosen.status().WithContext("--prefer");
  choice.chosen = *chosen;
  TW_RETURN_IF_ERROR(MakeGraph(request, choice));
  return choice;
}

}  // namespace tilewright::optimize
