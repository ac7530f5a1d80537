// A report of a search as tables and as JSON.

#include "src/optimize/report_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/base/format_printable.h"
#include "src/base/json.h"
#include "src/base/printable.h"
#include "src/session/format.h"
#include "src/session/text_table.h"

namespace tilewright::optimize {
namespace {

Json FiniteOrNull(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json ErrorJson(const OutputError& error) {
  return {{"sqnr_db", FiniteOrNull(error.SqnrDb())},
          {"agreement", FiniteOrNull(error.agreement)},
          {"max_error", FiniteOrNull(error.max_error)},
          {"cosine", FiniteOrNull(error.cosine)},
          {"score", FiniteOrNull(error.score)}};
}

Json SiteJson(const SiteReport& site) {
  Json formats = Json::array();
  for (std::size_t k = 0; k < site.site.formats.size(); ++k) {
    formats.push_back({{"format", FormatName(site.site.formats[k])},
                       {"seconds", site.seconds[k]},
                       {"sqnr_db", FiniteOrNull(DecibelsOf(site.noise[k]))}});
  }
  return {{"value", site.site.name},
          {"operator", site.site.op},
          {"format", FormatName(site.chosen)},
          {"why", site.why},
          {"formats", std::move(formats)}};
}

/// Held-out score, or that of the search part in parentheses.
std::string ScoreCell(const Combination& one) {
  if (!one.refused.empty()) return "refused";
  return one.held_out ? fmt::format("{:.6g}", one.held_out->score)
                      : fmt::format("({:.6g})", one.search.score);
}

std::string SitesText(const SearchReport& report, int width) {
  session::TextTable table({{"value", false, 16},
                            {"operator", false, 8},
                            {"format"},
                            {"float32", true},
                            {"bfloat16", true},
                            {"int8", true},
                            {"why", false, 12}},
                           width);
  for (const SiteReport& site : report.sites) {
    std::vector<std::string> cells = {Printable(site.site.name), Printable(site.site.op),
                                      std::string(FormatName(site.chosen))};
    for (const Format format : kFormats) {
      const auto place = std::ranges::find(site.site.formats, format);
      const auto k = static_cast<std::size_t>(place - site.site.formats.begin());
      cells.push_back(place == site.site.formats.end() ? "-"
                      : k == 0                         ? session::ShortSeconds(site.seconds[k])
                               : fmt::format("{} {:.0f} dB", session::ShortSeconds(site.seconds[k]),
                                             DecibelsOf(site.noise[k])));
    }
    cells.push_back(Printable(site.why));
    table.AddRow(std::move(cells));
  }
  return table.Take();
}

std::string CombinationsText(const SearchReport& report, int width) {
  const bool scored = !report.score.empty();
  std::vector<session::TextTable::Column> columns = {{""},
                                                     {"float32", true},
                                                     {"bfloat16", true},
                                                     {"int8", true},
                                                     {"time", true},
                                                     {"predicted", true},
                                                     {"error", true},
                                                     {"predicted", true},
                                                     {"held out", true}};
  if (scored) columns.push_back({"score", true});
  session::TextTable table(std::move(columns), width);
  for (std::size_t i = 0; i < report.combinations.size(); ++i) {
    const Combination& one = report.combinations[i];
    std::vector<std::string> cells = {i == report.chosen ? "chosen" : one.on_front ? "front" : ""};
    for (const Format format : kFormats) {
      cells.push_back(std::to_string(std::ranges::count(one.formats, format)));
    }
    cells.push_back(fmt::format("{:.3f}", one.ratio));
    cells.push_back(fmt::format("{:.3f}", one.predicted_ratio));
    cells.push_back(DecibelText(one.search.SqnrDb()));
    cells.push_back(DecibelText(DecibelsOf(one.predicted_noise)));
    cells.push_back(one.held_out ? DecibelText(one.held_out->SqnrDb()) : "-");
    if (scored) cells.push_back(ScoreCell(one));
    table.AddRow(std::move(cells));
  }
  return table.Take();
}

}  // namespace

std::string CountsText(const Formats& formats) {
  std::string text;
  for (const Format format : kFormats) {
    const auto count = std::ranges::count(formats, format);
    if (count == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, FormatName(format));
  }
  return text;
}

std::string DecibelText(double decibels) {
  return std::isinf(decibels) && decibels > 0 ? "equal" : fmt::format("{:.1f} dB", decibels);
}

std::string TablesText(const SearchReport& report, int width) {
  std::string text = SitesText(report, width) + "\n" + CombinationsText(report, width);
  for (const Combination& one : report.combinations) {
    if (one.refused.empty()) continue;
    text += FormatPrintable("refused: {}: {}\n", CountsText(one.formats), one.refused);
  }
  return text;
}

std::string ChoiceText(const SearchReport& report) {
  const Combination& chosen = report.combinations[report.chosen];
  return FormatPrintable(
      "{}; {} for {} of float32 ({:.3f}); {} samples calibrate ({}), {} search, {} held out",
      report.reason, session::ShortSeconds(report.seconds),
      session::ShortSeconds(report.float32_seconds), chosen.ratio, report.split.calibration.size(),
      report.has_int8() ? report.calibration.ToString() : "nothing", report.split.search.size(),
      report.split.held_out.size());
}

Json CombinationJson(const Combination& combination) {
  Json json = {{"formats", CodeOf(combination.formats)},
               {"time_ratio", combination.ratio},
               {"time_spread", combination.spread},
               {"predicted_time_ratio", FiniteOrNull(combination.predicted_ratio)},
               {"predicted_sqnr_db", FiniteOrNull(DecibelsOf(combination.predicted_noise))},
               {"search", ErrorJson(combination.search)},
               {"held_out", nullptr},
               {"refused", combination.refused.empty() ? Json() : Json(combination.refused)},
               {"front", combination.on_front}};
  if (combination.held_out) json["held_out"] = ErrorJson(*combination.held_out);
  return json;
}

Json ReportJson(const SearchReport& report, const std::string& library) {
  Json sites = Json::array(), combinations = Json::array(), front = Json::array();
  for (const SiteReport& site : report.sites) sites.push_back(SiteJson(site));
  for (const Combination& one : report.combinations) combinations.push_back(CombinationJson(one));
  Json calibrations = Json::array();
  for (const CalibrationError& one : report.calibrations) {
    calibrations.push_back({{"calibration", one.calibration.ToString()},
                            {"sqnr_db", FiniteOrNull(DecibelsOf(one.noise))}});
  }
  for (const auto& [ratio, noise] : report.predicted_front) {
    front.push_back({{"time_ratio", ratio}, {"sqnr_db", FiniteOrNull(DecibelsOf(noise))}});
  }
  return {{"library", library},
          {"bound", report.bound.ToString()},
          {"samples",
           {{"calibration", report.split.calibration},
            {"search", report.split.search},
            {"held_out", report.split.held_out}}},
          {"calibrate_mode",
           report.has_int8() ? quantize::CalibrateModeName(report.calibration.mode) : ""},
          {"calibrations", std::move(calibrations)},
          {"score", report.score.empty() ? Json() : Json(report.score)},
          {"chosen", report.chosen},
          {"reason", report.reason},
          {"float32_seconds", report.float32_seconds},
          {"seconds", report.seconds},
          {"combinations", std::move(combinations)},
          {"predicted_front", std::move(front)},
          {"sites", std::move(sites)}};
}

}  // namespace tilewright::optimize
