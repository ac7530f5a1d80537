// Records of tasks, as C structs.

#include <array>
#include <deque>
#include <memory>
#include <vector>

#include "records/row.h"
#include "src/capi/boundary.h"
#include "src/capi/handles.h"
#include "src/capi/task.h"
#include "src/templates/open/environment.h"

/// Records with their texts.
struct tw_records {
  struct Row {
    tilewright::records::Record record;
    std::string config, environment, others;
  };
  std::vector<Row> rows;
};

namespace tilewright::capi {
namespace {

std::int32_t VerdictOf(Outcome outcome) {
  constexpr std::array kOutcomeVerdicts = {
      TW_VERDICT_OK,      TW_VERDICT_CONSTRAINTS, TW_VERDICT_COMPILE,     TW_VERDICT_TIMEOUT,
      TW_VERDICT_RUNTIME, TW_VERDICT_TIMEOUT,     TW_VERDICT_CORRECTNESS, TW_VERDICT_RUNTIME};
  static_assert(kOutcomeVerdicts.size() == static_cast<std::size_t>(Outcome::kDeviceLost) + 1);
  return kOutcomeVerdicts[static_cast<std::size_t>(outcome)];
}

Status Read(const tw_tuning* handle, tw_records** out) {
  if (out == nullptr) return InvalidArgument("the output pointer for the records is null");
  *out = nullptr;
  TW_ASSIGN_OR_RETURN(const auto task, Handles<tw_tuning>::Table().Get(handle, "task"));
  TW_ASSIGN_OR_RETURN(auto list, task->search->Records());
  auto records = std::make_shared<tw_records>();
  for (records::Record& record : list) {
    tw_records::Row row;
    // Not ConfigJson: it may be of another space than the task has now.
    row.config = record.trial.candidate.config.ValuesText();
    row.environment = EnvironmentJson(record.trial.device);
    row.others = records::ExtraMetricsJson(record.trial.others);
    row.record = std::move(record);
    records->rows.push_back(std::move(row));
  }
  *out = Handles<tw_records>::Table().Add(std::move(records));
  return {};
}

Status ViewAt(const tw_records* handle, std::size_t index, tw_trial* out) {
  TW_ASSIGN_OR_RETURN(const auto records,
                      Handles<tw_records>::Table().Get(handle, "list of records"));
  if (index >= records->rows.size()) {
    return InvalidArgument("record " + std::to_string(index) + ", there are " +
                           std::to_string(records->rows.size()));
  }
  const tw_records::Row& row = records->rows[index];
  const Trial& trial = row.record.trial;
  tw_trial view = TW_TRIAL_INIT;
  view.verdict = VerdictOf(trial.outcome);
  view.id = row.record.id.c_str();
  view.config = row.config.c_str();
  view.environment = row.environment.c_str();
  view.reason = trial.reason.c_str();
  view.metric = trial.metric.c_str();
  view.others = row.others.c_str();
  view.value = trial.value;
  view.noise = trial.noise;
  view.max_abs_error = trial.max_abs_error;
  view.measured_unix_seconds = trial.finished_unix_seconds;
  view.sample_count = trial.samples.size();
  view.samples = trial.samples.data();
  return Fill(out, view);
}

}  // namespace
}  // namespace tilewright::capi

extern "C" {

tw_code tw_tuning_records(tw_tuning* task, tw_records** out, tw_error* error) noexcept {
  return tilewright::capi::Guarded(error, [&] {
    const tilewright::capi::CallScope call;
    return tilewright::capi::Read(task, out);
  });
}

void tw_records_free(tw_records* records) noexcept {
  const tilewright::capi::CallScope call;
  tilewright::capi::Handles<tw_records>::Table().Remove(records);
}

size_t tw_records_count(const tw_records* records) noexcept {
  const tilewright::capi::CallScope call;
  const auto found = tilewright::capi::Handles<tw_records>::Table().Find(records);
  return found != nullptr ? found->rows.size() : 0;
}

tw_code tw_records_at(const tw_records* records, size_t index, tw_trial* out,
                      tw_error* error) noexcept {
  return tilewright::capi::Guarded(error, [&] {
    const tilewright::capi::CallScope call;
    return tilewright::capi::ViewAt(records, index, out);
  });
}

}  // extern "C"
