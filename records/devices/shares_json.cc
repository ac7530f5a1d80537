#include "records/devices/shares_json.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "src/base/json.h"

namespace tilewright::records {
namespace {

/// Adds the parts of a ConfigText.
void AddConfig(Json& json, const std::string& text) {
  const auto [key, config] = PartsOfConfigText(text);
  json["template"] = key;
  const auto values = ParseJson(config);
  json["config"] = values.ok() ? *values : Json();
}

Json ShareJson(std::span<const ConfigResults> results, const Share& share) {
  switch (share.evidence) {
    case ShareEvidence::kNone:
      return {{"share", Json()}, {"evidence", "none"}};
    case ShareEvidence::kMeasured:
      return {{"share", share.share}, {"evidence", "measured"}};
    case ShareEvidence::kPredicted:
      break;
  }
  return {{"share", share.share},
          {"evidence", "predicted"},
          {"low", share.low},
          {"high", share.high},
          {"from", results[static_cast<std::size_t>(share.from)].name},
          {"measured_on_both", share.common}};
}

Json ConfigSharesJson(const ShareTable& table, std::span<const ConfigResults> results,
                      const ConfigShares& one) {
  Json json = {{"score", one.score}};
  AddConfig(json, table.configs()[one.config]);
  json["shares"] = Json::array();
  for (std::size_t d = 0; d < one.shares.size(); ++d) {
    Json share = {{"device", results[d].name}};
    share.update(ShareJson(results, one.shares[d]));
    json["shares"].push_back(std::move(share));
  }
  return json;
}

const char* ScoreName(ShareScore by) { return by == ShareScore::kWorst ? "worst" : "mean"; }

}  // namespace

std::pair<std::string, std::string> PartsOfConfigText(const std::string& text) {
  const std::size_t brace = text.find('{');
  return {brace == 0 ? "" : text.substr(0, brace - 1), text.substr(brace)};
}

Json ChoiceJson(const ShareTable& table, std::span<const ConfigResults> results, ShareScore by,
                const SharedChoice& choice) {
  Json json = {{"by", ScoreName(by)}, {"measured_on_all", table.MeasuredOnAll()}};
  json["devices"] = Json::array();
  for (std::size_t d = 0; d < results.size(); ++d) {
    const auto failed = std::ranges::count_if(
        results[d].values, [](const auto& one) { return !std::isfinite(one.second); });
    Json device = {
        {"device", results[d].name}, {"measured", results[d].values.size()}, {"failed", failed}};
    if (const int best = table.BestOn(d); best >= 0) {
      device["best_value"] = table.BestValueOn(d);
      AddConfig(device, table.configs()[static_cast<std::size_t>(best)]);
    }
    json["devices"].push_back(std::move(device));
  }
  json["answer"] =
      choice.measured.empty() ? Json() : ConfigSharesJson(table, results, choice.measured.front());
  json["others"] = json["predicted"] = Json::array();
  for (std::size_t i = 1; i < choice.measured.size(); ++i) {
    json["others"].push_back(ConfigSharesJson(table, results, choice.measured[i]));
  }
  for (const ConfigShares& one : choice.predicted) {
    json["predicted"].push_back(ConfigSharesJson(table, results, one));
  }
  json["transfers"] = Json::array();
  for (std::size_t of = 0; of < results.size(); ++of) {
    for (std::size_t on = 0; on < results.size(); ++on) {
      if (of == on || table.BestOn(of) < 0) continue;
      Json transfer = {{"best_of", results[of].name}, {"on", results[on].name}};
      transfer.update(
          ShareJson(results, table.ShareOf(static_cast<std::size_t>(table.BestOn(of)), on)));
      json["transfers"].push_back(std::move(transfer));
    }
  }
  return json;
}

Json RulesJson(const ShareTable& table, std::span<const ConfigResults> results, ShareScore by,
               std::span<const SizeRule> rules) {
  Json json = {{"by", ScoreName(by)}};
  json["sizes"] = json["rules"] = Json::array();
  for (std::size_t s = 0; s < results.size(); ++s) {
    json["sizes"].push_back({{"size", results[s].name},
                             {"best_value", table.BestValueOn(s)},
                             {"measured", results[s].values.size()}});
  }
  for (const SizeRule& rule : rules) {
    Json intervals = Json::array();
    for (const SizeInterval& interval : rule.intervals) {
      Json one = {{"from", results[interval.first].name},
                  {"to", results[interval.last].name},
                  {"score", interval.score}};
      AddConfig(one, table.configs()[interval.config]);
      intervals.push_back(std::move(one));
    }
    json["rules"].push_back({{"score", rule.score}, {"intervals", std::move(intervals)}});
  }
  return json;
}

}  // namespace tilewright::records
