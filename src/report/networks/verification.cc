#include "src/report/networks/verification.h"

#include <fmt/format.h>

#include <cmath>

#include "src/base/format_printable.h"
#include "src/base/json.h"
#include "src/base/printable.h"
#include "src/report/networks/compiled.h"
#include "src/session/text_table.h"

namespace tilewright::report {
namespace {

const char* ScaleSourceName(ScaleSource scale_source) {
  switch (scale_source) {
    case ScaleSource::kAsIs:
      return "as is";
    case ScaleSource::kSource:
      return "source";
    case ScaleSource::kFit:
      return "fit";
  }
  return "";
}

Json DifferenceRowJson(const LayerDifference& layer) {
  Json row = {{"value", layer.value},
              {"other", layer.other},
              {"op", layer.op},
              {"type", layer.type},
              {"other_type", layer.other_type},
              {"scale", layer.scale},
              {"scale_from", ScaleSourceName(layer.scale_source)},
              {"max_abs_error", layer.max_abs_error},
              {"rms_error", layer.rms_error},
              {"reference_rms", layer.reference_rms},
              {"sqnr_db", std::isfinite(layer.sqnr_db) ? Json(layer.sqnr_db) : Json(nullptr)},
              {"factor", layer.factor},
              {"unlike", layer.non_finite_mismatches},
              {"equal", layer.sqnr_db > 0 && std::isinf(layer.sqnr_db)},
              {"ok", layer.ok}};
  if (layer.same_top) row["same_top"] = *layer.same_top;
  return row;
}

std::string DifferenceTable(const std::vector<LayerDifference>& layers, int columns) {
  constexpr int kAllColumns = 130;
  const bool all = columns == 0 || columns >= kAllColumns;
  std::vector<session::TextTable::Column> titles = {
      {""}, {"value", false, 16}, {"operator", false, 12}};
  if (all) titles.insert(titles.end(), {{"scale from"}, {"type"}, {"max error", true}});
  titles.insert(titles.end(), {{"RMS error", true}, {"RMS", true}, {"SQNR", true}});
  session::TextTable table(std::move(titles), columns);
  for (const LayerDifference& layer : layers) {
    const bool equal = std::isinf(layer.sqnr_db) && layer.sqnr_db > 0;
    std::vector<std::string> cells = {layer.ok ? "ok" : "BAD", Printable(layer.value),
                                      Printable(layer.op)};
    if (all) {
      const std::string scale =
          layer.scale_source == ScaleSource::kAsIs
              ? ScaleSourceName(layer.scale_source)
              : fmt::format("{} {:.3g}", ScaleSourceName(layer.scale_source), layer.scale);
      cells.insert(cells.end(), {scale, Printable(layer.other_type),
                                 fmt::format("{:.2e}", layer.max_abs_error)});
    }
    cells.insert(cells.end(), {fmt::format("{:.2e}", layer.rms_error),
                               fmt::format("{:.2e}", layer.reference_rms),
                               equal ? "equal" : fmt::format("{:.1f} dB", layer.sqnr_db)});
    table.AddRow(std::move(cells));
    std::string note;
    if (layer.IsOffScale()) note = fmt::format("  off by x{:.3g}", layer.factor);
    if (layer.same_top) note += *layer.same_top ? "  top-1 same" : "  top-1 DIFFERS";
    if (!note.empty()) table.AddLines("   " + note);
  }
  return table.Take();
}

}  // namespace

Json VerificationJson(const VerifyReport& report) {
  Json rows = Json::array();
  for (const OperatorCheck& check : report.checks) {
    rows.push_back({{"value", check.value},
                    {"op", check.op},
                    {"ok", check.comparison.ok},
                    {"max_abs_error", check.comparison.max_abs_error},
                    {"unlike", check.non_finite_mismatches},
                    {"reference_rms", check.comparison.reference_rms}});
  }
  return {{"ok", report.ok()},
          {"summary", report.Summary()},
          {"made_up_constants", SyntheticConstantsJson(report.synthetic_constants)},
          {"operators", std::move(rows)}};
}

std::string VerificationText(const VerifyReport& report, int columns) {
  session::TextTable table({{""}, {"value", false, 16}, {"operator", false, 16}, {"error"}},
                           columns);
  for (const OperatorCheck& check : report.checks) {
    table.AddRow({check.comparison.ok ? "ok" : "BAD", Printable(check.value), Printable(check.op),
                  fmt::format("{:.2e} of {:.2e}", check.comparison.max_abs_error,
                              check.comparison.reference_rms)});
  }
  return table.Take() + FormatPrintable("{}\n", report.Summary());
}

Json VerificationJson(const DifferenceReport& report) {
  Json rows = Json::array();
  for (const LayerDifference& layer : report.layers) rows.push_back(DifferenceRowJson(layer));
  Json out = {{"ok", report.ok()},
              {"summary", report.Summary()},
              {"by_position", report.by_position},
              {"unmatched", report.unmatched},
              {"made_up_constants", SyntheticConstantsJson(report.synthetic_constants)},
              {"first_divergence", nullptr},
              {"layers", std::move(rows)}};
  if (report.first_bad) out["first_divergence"] = *report.first_bad;
  return out;
}

std::string VerificationText(const DifferenceReport& report, int columns) {
  return DifferenceTable(report.layers, columns) + FormatPrintable("{}\n", report.Summary());
}

}  // namespace tilewright::report
