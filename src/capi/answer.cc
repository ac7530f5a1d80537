// Answers of the C interface: texts and views are created once; the cache and callers share them
// until the last owner releases them.

#include "src/capi/answer.h"

#include <cmath>
#include <utility>

#include "records/answer_json.h"
#include "src/base/json.h"
#include "src/capi/boundary.h"

namespace tilewright::capi {
namespace {

/// Fills the view in place: it points into `value`, `name` and `knob`, which must not move.
void View(const std::string& name, const KnobValue& value, std::int32_t kind,
          tw_answer::Knob& knob) {
  knob.text = value.ToString();
  tw_knob& view = knob.view;
  view = TW_KNOB_INIT;
  view.kind = kind;
  view.name = name.c_str();
  view.text = knob.text.c_str();
  view.count = 1;
  if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&value.value)) {
    view.value_type = TW_VALUE_INTEGERS;
    view.count = integers->size();
    view.integers = integers->data();
  } else if (const auto* strings = std::get_if<std::vector<std::string>>(&value.value)) {
    view.value_type = TW_VALUE_STRINGS;
    for (const std::string& text : *strings) knob.strings.push_back(text.c_str());
    view.count = strings->size();
    view.strings = knob.strings.data();
  } else if (const auto* text = std::get_if<std::string>(&value.value)) {
    view.value_type = TW_VALUE_STRING;
    knob.strings.push_back(text->c_str());
    view.strings = knob.strings.data();
  } else if (std::holds_alternative<double>(value.value)) {
    view.value_type = TW_VALUE_STRING;  // of an open task; the ABI has no real numbers
    knob.strings.push_back(knob.text.c_str());
    view.strings = knob.strings.data();
  } else {
    view.value_type = std::holds_alternative<bool>(value.value) ? TW_VALUE_BOOL : TW_VALUE_INTEGER;
    knob.scalar = value.integer();
    view.integers = &knob.scalar;
  }
}

tw_kind KindOf(const tw_answer& answer) { return static_cast<tw_kind>(answer.reply.level); }

const Workload* AnsweredWorkload(const tw_answer& answer) {
  return answer.asked.has_value() ? &*answer.asked : nullptr;
}

tw_record ViewOf(const records::Record& record) {
  tw_record view = TW_RECORD_INIT;
  view.verified = record.trial.verified ? 1 : 0;
  view.id = record.id.c_str();
  view.device_model = record.trial.device.model.c_str();
  view.metric = record.trial.metric.c_str();
  view.value = record.trial.value;
  view.noise = record.trial.noise;
  view.measured_unix_seconds = record.trial.finished_unix_seconds;
  view.codegen_version = record.trial.codegen_version;
  view.sample_count = record.trial.samples.size();
  view.samples = record.trial.samples.data();
  return view;
}

tw_record ViewOf(const records::ImportedRecord& record) {
  tw_record view = TW_RECORD_INIT;
  view.id = record.digest.c_str();
  view.device_model = "";
  view.metric = "seconds";
  view.value = record.cost;
  view.noise = std::nan("");
  view.measured_unix_seconds = record.finished;
  view.sample_count = record.costs.size();
  view.samples = record.costs.data();
  return view;
}

Status FillRecord(const tw_answer& answer, tw_record* out) {
  const records::ImportedRecord* imported = answer.reply.imported();
  const auto& record = answer.reply.answer.record;
  if (imported == nullptr && !record.has_value()) {
    return NotFound(std::string("a ") + tw_kind_name(KindOf(answer)) + " has no record");
  }
  tw_record view = imported != nullptr ? ViewOf(*imported) : ViewOf(*record);
  view.source = answer.reply.source.c_str();
  view.workload = answer.record_workload.c_str();
  view.target = answer.record_target.c_str();
  view.device = answer.record_device.c_str();
  view.epilogue = answer.record_epilogue.c_str();
  return Fill(out, view);
}

/// Texts of the record. For a hit they are usually those of the query; printing them again would
/// take longer than the query.
void NameRecord(const tw_target& target, tw_answer& answer) {
  if (const records::ImportedRecord* imported = answer.reply.imported()) {
    answer.record_workload =
        imported->workload_key.empty() ? imported->tuple : imported->workload_key;
    answer.record_target = imported->target;
    return;
  }
  if (!answer.reply.answer.record.has_value()) return;
  const Trial& trial = answer.reply.answer.record->trial;
  const Task& task = trial.candidate.task;
  answer.record_workload = task.workload == answer.asked ? answer.workload : task.workload.Key();
  answer.record_target = task.target == target.target ? target.text : task.target.ToString();
  answer.record_device =
      trial.device == target.device ? target.device_text : trial.device.ToString();
  answer.record_epilogue = trial.candidate.epilogue.ToString();
}

}  // namespace

void ReleaseAnswer::operator()(const tw_answer* answer) const {
  if (answer->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    const std::default_delete<const tw_answer> last;
    last(answer);
  }
}

AnswerPtr Share(const AnswerPtr& answer) {
  answer->owners.fetch_add(1, std::memory_order_relaxed);
  return AnswerPtr(answer.get());
}

AnswerPtr MakeAnswer(records::CatalogAnswer reply, ParsedQuery asked,
                     const std::vector<std::int32_t>& kinds, const tw_target& target) {
  AnswerPtr answer(std::make_unique<tw_answer>().release());
  answer->reply = std::move(reply);
  answer->asked = std::move(asked.workload);
  answer->target = target.text;
  const Workload* workload = AnsweredWorkload(*answer);
  answer->workload = workload != nullptr ? workload->Key() : asked.autotvm->task->tuple;
  answer->cost_seconds = answer->reply.CostSeconds(workload);
  NameRecord(target, *answer);
  for (const records::Difference& one : answer->reply.differences) {
    answer->differences.push_back(one.ToString());
  }
  const Candidate* candidate = answer->reply.candidate();
  if (candidate == nullptr) return answer;
  answer->config = candidate->config.ToString();
  const auto& values = candidate->config.values;
  answer->knobs.resize(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    View(values[i].first, values[i].second, kinds[i], answer->knobs[i]);
  }
  return answer;
}

}  // namespace tilewright::capi

extern "C" {

void tw_answer_free(tw_answer* answer) noexcept {
  const tilewright::capi::AnswerPtr released(answer);
}

tw_kind tw_answer_kind(const tw_answer* answer) noexcept {
  return answer != nullptr ? tilewright::capi::KindOf(*answer) : TW_KIND_MISS;
}

double tw_answer_cost_seconds(const tw_answer* answer) noexcept {
  return answer != nullptr ? answer->cost_seconds : std::nan("");
}

double tw_answer_expected_slowdown(const tw_answer* answer) noexcept {
  return answer != nullptr ? answer->reply.answer.expected_slowdown : std::nan("");
}

const char* tw_answer_workload(const tw_answer* answer) noexcept {
  return answer != nullptr ? answer->workload.c_str() : "";
}

const char* tw_answer_target(const tw_answer* answer) noexcept {
  return answer != nullptr ? answer->target.c_str() : "";
}

const char* tw_answer_explanation(const tw_answer* answer) noexcept {
  return answer != nullptr ? answer->reply.answer.explanation.c_str() : "";
}

size_t tw_answer_difference_count(const tw_answer* answer) noexcept {
  return answer != nullptr ? answer->differences.size() : 0;
}

const char* tw_answer_difference(const tw_answer* answer, size_t index) noexcept {
  if (index >= tw_answer_difference_count(answer)) return nullptr;
  return answer->differences[index].c_str();
}

const char* tw_answer_template(const tw_answer* answer) noexcept {
  const auto* candidate = answer != nullptr ? answer->reply.candidate() : nullptr;
  return candidate != nullptr ? candidate->template_key.c_str() : "";
}

int32_t tw_answer_template_version(const tw_answer* answer) noexcept {
  const auto* candidate = answer != nullptr ? answer->reply.candidate() : nullptr;
  return candidate != nullptr ? candidate->template_version : 0;
}

int64_t tw_answer_config_index(const tw_answer* answer) noexcept {
  const auto* candidate = answer != nullptr ? answer->reply.candidate() : nullptr;
  return candidate != nullptr ? candidate->config.index : -1;
}

const char* tw_answer_config(const tw_answer* answer) noexcept {
  return answer != nullptr ? answer->config.c_str() : "";
}

size_t tw_answer_knob_count(const tw_answer* answer) noexcept {
  return answer != nullptr ? answer->knobs.size() : 0;
}

tw_code tw_answer_knob(const tw_answer* answer, size_t index, tw_knob* out,
                       tw_error* error) noexcept {
  return tilewright::capi::Guarded(error, [&]() -> tilewright::Status {
    if (index >= tw_answer_knob_count(answer)) {
      return tilewright::InvalidArgument("knob " + std::to_string(index) + ", the answer has " +
                                         std::to_string(tw_answer_knob_count(answer)));
    }
    return tilewright::capi::Fill(out, answer->knobs[index].view);
  });
}

tw_code tw_answer_find_knob(const tw_answer* answer, const char* name, tw_knob* out,
                            tw_error* error) noexcept {
  return tilewright::capi::Guarded(error, [&]() -> tilewright::Status {
    if (name == nullptr) return tilewright::InvalidArgument("the knob name is null");
    if (answer == nullptr) return tilewright::InvalidArgument("the answer is null");
    for (const tw_answer::Knob& knob : answer->knobs) {
      if (std::string_view(knob.view.name) == name) {
        return tilewright::capi::Fill(out, knob.view);
      }
    }
    return tilewright::NotFound("the config has no knob '" + std::string(name) + "'");
  });
}

tw_code tw_answer_record(const tw_answer* answer, tw_record* out, tw_error* error) noexcept {
  return tilewright::capi::Guarded(error, [&]() -> tilewright::Status {
    if (answer == nullptr) return tilewright::InvalidArgument("the answer is null");
    return tilewright::capi::FillRecord(*answer, out);
  });
}

tw_code tw_answer_json(const tw_answer* answer, char* buffer, size_t capacity, size_t* needed,
                       tw_error* error) noexcept {
  std::string text;
  const tw_code code = tilewright::capi::Guarded(error, [&]() -> tilewright::Status {
    if (answer == nullptr) return tilewright::InvalidArgument("the answer is null");
    text = tilewright::DumpJson(
        tilewright::records::AnswerJson(answer->reply, tilewright::capi::AnsweredWorkload(*answer),
                                        answer->workload, answer->target));
    return {};
  });
  if (code != TW_OK) return code;
  return tilewright::capi::WriteText(text, buffer, capacity, needed, error);
}

}  // extern "C"
