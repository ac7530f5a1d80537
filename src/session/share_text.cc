#include "src/session/share_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/base/printable.h"
#include "src/base/text/plural.h"
#include "src/session/format.h"
#include "src/session/text_table.h"

namespace tilewright::session {
namespace {

using records::ConfigResults;
using records::ConfigShares;
using records::Share;
using records::ShareEvidence;
using records::ShareScore;
using records::ShareTable;

using Results = std::span<const ConfigResults>;

std::string ValueOf(std::string_view metric, double value) {
  return metric.empty() ? fmt::format("{:.5g}", value) : ShortValue(std::string(metric), value);
}

/// Returns a share as a cell; predicted ones begin with "~".
std::string Cell(const Share& share) {
  if (share.evidence == ShareEvidence::kNone) return "?";
  return fmt::format("{}{:.3f}", share.evidence == ShareEvidence::kPredicted ? "~" : "",
                     share.share);
}

std::string EvidenceOf(Results results, const Share& share) {
  if (share.evidence == ShareEvidence::kNone) return "unknown";
  if (share.evidence == ShareEvidence::kMeasured) return share.share > 0 ? "measured" : "fails";
  return fmt::format("predicted, {:.3f} to {:.3f}, from {} measured on {} too", share.low,
                     share.high, Counted(share.common, "config"),
                     Printable(results[static_cast<std::size_t>(share.from)].name));
}

const char* ScoreName(ShareScore by) { return by == ShareScore::kWorst ? "worst" : "mean"; }

std::string DevicesText(const ShareTable& table, Results results, std::string_view metric,
                        const char* title, int width) {
  TextTable devices({{title}, {"best", true}, {"configs", true}, {"failed", true}}, width);
  for (std::size_t d = 0; d < results.size(); ++d) {
    const auto failed = std::ranges::count_if(
        results[d].values, [](const auto& one) { return !std::isfinite(one.second); });
    devices.AddRow({Printable(results[d].name),
                    table.BestOn(d) < 0 ? "none" : ValueOf(metric, table.BestValueOn(d)),
                    std::to_string(results[d].values.size()), std::to_string(failed)});
  }
  return devices.Take();
}

std::string ConfigSharesText(const ShareTable& table, Results results, const ConfigShares& one,
                             int width) {
  std::string text = "  " + Printable(table.configs()[one.config]) + "\n";
  TextTable shares({{"  device"}, {"share", true}, {"evidence"}}, width);
  for (std::size_t d = 0; d < one.shares.size(); ++d) {
    shares.AddRow({"  " + Printable(results[d].name), Cell(one.shares[d]),
                   EvidenceOf(results, one.shares[d])});
  }
  return text + shares.Take();
}

/// Returns the share of each device's best config on the others.
std::string TransfersText(const ShareTable& table, Results results, int width) {
  std::vector<TextTable::Column> columns = {{"best config of"}};
  for (const ConfigResults& one : results) columns.push_back({"on " + Printable(one.name), true});
  TextTable transfers(std::move(columns), width);
  bool predicted = false;
  for (std::size_t of = 0; of < results.size(); ++of) {
    std::vector<std::string> cells = {Printable(results[of].name)};
    for (std::size_t on = 0; on < results.size() && table.BestOn(of) >= 0; ++on) {
      const Share share = table.ShareOf(static_cast<std::size_t>(table.BestOn(of)), on);
      predicted |= share.evidence != ShareEvidence::kMeasured;
      cells.push_back(Cell(share));
    }
    transfers.AddRow(std::move(cells));
  }
  return transfers.Take() +
         (predicted ? "~ predicted from configs measured on both devices; ? unknown\n" : "");
}

}  // namespace

std::string ChoiceText(const ShareTable& table, Results results, ShareScore by,
                       const records::SharedChoice& choice, std::string_view metric, int width) {
  std::string text = DevicesText(table, results, metric, "device", width);
  text += fmt::format("{} measured on all\n\n",
                      Counted(static_cast<std::int64_t>(table.MeasuredOnAll()), "config"));
  if (choice.measured.empty()) {
    text += "no config that runs on all devices was measured on all\n";
  } else {
    const ConfigShares& best = choice.measured.front();
    text += fmt::format("best for all, {} share {:.3f}:\n", ScoreName(by), best.score);
    text += ConfigSharesText(table, results, best, width);
  }
  if (!choice.predicted.empty()) {
    const ConfigShares& best = choice.predicted.front();
    text += fmt::format("\nworth measuring, {} share {:.3f} by the lower predictions:\n",
                        ScoreName(by), best.score);
    text += ConfigSharesText(table, results, best, width);
  }
  return text + "\n" + TransfersText(table, results, width);
}

std::string RulesText(const ShareTable& table, Results results, ShareScore by,
                      std::span<const records::SizeRule> rules, std::string_view metric,
                      int width) {
  std::string text = DevicesText(table, results, metric, "size", width) + "\n";
  if (rules.empty()) return text + "some size has no config\n";
  TextTable gains({{"configs", true}, {fmt::format("{} share", ScoreName(by)), true}}, width);
  for (const records::SizeRule& rule : rules) {
    gains.AddRow({std::to_string(rule.intervals.size()), fmt::format("{:.3f}", rule.score)});
  }
  text += gains.Take() + "\n";
  TextTable intervals({{"sizes"}, {"share", true}, {"config"}}, width);
  for (const records::SizeInterval& one : rules.back().intervals) {
    const std::string& first = results[one.first].name;
    const std::string& last = results[one.last].name;
    intervals.AddRow({first == last ? first : first + " to " + last,
                      fmt::format("{:.3f}", one.score), Printable(table.configs()[one.config])});
  }
  return text + intervals.Take();
}

}  // namespace tilewright::session
