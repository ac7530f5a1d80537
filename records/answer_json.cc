#include "records/answer_json.h"

#include <cmath>

#include "records/autotvm/space.h"
#include "records/imported.h"
#include "src/base/json.h"

namespace tilewright::records {
namespace {

/// Returns null for NaN and infinity, which JSON lacks.
Json Number(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json TrialJson(const Record& record) {
  const Trial& trial = record.trial;
  return {{"id", record.id},
          {"workload", trial.candidate.task.workload.Key()},
          {"target", trial.candidate.task.target.ToString()},
          {"device", trial.device.model},
          {"epilogue", trial.candidate.epilogue.ToString()},
          {"metric", trial.metric},
          {"value", Number(trial.value)},
          {"others", trial.others},
          {"noise", Number(trial.noise)},
          {"quiet_share", trial.clean_fraction < 0 ? Json() : Json(trial.clean_fraction)},
          {"disturbed", trial.noisy()},
          {"verified", trial.verified},
          {"template_version", trial.candidate.template_version},
          {"codegen_version", trial.codegen_version},
          {"measured_unix_seconds", Number(trial.finished_unix_seconds)}};
}

Json ImportedJson(const ImportedRecord& record) {
  Json flags = Json::array();
  for (const std::string_view flag : ImportedFlagNames(record.flags)) {
    flags.push_back(std::string(flag));
  }
  auto entities = ParseJson(record.entities);
  return {{"id", record.digest},
          {"file", record.file},
          {"line", record.line},
          {"package", record.package},
          {"target", record.target},
          {"task", record.task},
          {"tuple", record.tuple},
          {"index", record.index},
          {"entity", entities.ok() ? *std::move(entities) : Json()},
          {"index_agreement", std::string(AutotvmAgreementName(record.agreement))},
          {"flags", std::move(flags)},
          {"costs_seconds", record.costs},
          {"measured_unix_seconds", Number(record.finished)},
          {"tvm_version", record.tvm_version},
          {"verified", false}};
}

}  // namespace

nlohmann::ordered_json AnswerJson(const CatalogAnswer& answer, const Workload* workload,
                                  const std::string& asked, const std::string& target) {
  Json out = {{"workload", asked},
              {"target", target},
              {"kind", std::string(AnswerLevelName(answer.level))},
              {"rule", answer.autotvm.has_value() ? "autotvm" : "own"},
              {"source", answer.source},
              {"cost_seconds", Number(answer.CostSeconds(workload))},
              {"expected_slowdown", Number(answer.answer.expected_slowdown)},
              {"template", ""},
              {"template_version", 0},
              {"config", Json()},
              {"record", Json()},
              {"why", answer.answer.explanation},
              {"differs", Json::array()}};
  if (const Candidate* candidate = answer.candidate(); candidate != nullptr) {
    out["template"] = candidate->template_key;
    out["template_version"] = candidate->template_version;
    if (auto config = ParseJson(candidate->config.ToString()); config.ok()) {
      out["config"] = *std::move(config);
    }
  }
  if (answer.answer.record.has_value()) out["record"] = TrialJson(*answer.answer.record);
  if (answer.level != AnswerLevel::kHit) {
    out["reason"] = std::string(MissReasonName(answer.answer.cause.reason));
  }
  for (const Difference& one : answer.differences) {
    out["differs"].push_back({{"what", one.what}, {"record", one.recorded}, {"here", one.asked}});
  }
  if (!answer.autotvm.has_value()) return out;
  if (const ImportedRecord* record = answer.imported(); record != nullptr) {
    out["record"] = ImportedJson(*record);
    out["matched_by"] = answer.autotvm->matched_by;
    out["verified"] = false;
  } else {
    out["nearest"] = answer.autotvm->nearest;
  }
  return out;
}

}  // namespace tilewright::records
