#include "src/capi/answer.h"

#include <cmath>
#include <utility>

#include "src/base/json.h"
#include "src/capi/boundary.h"

namespace tilewright::capi {
namespace {

/// Fills the view in place: it points into `value`, `name` and `knob`, which stay where they are.
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
  } else {
    view.value_type = std::holds_alternative<bool>(value.value) ? TW_VALUE_BOOL : TW_VALUE_INTEGER;
    knob.scalar = value.integer();
    view.integers = &knob.scalar;
  }
}

/// Seconds of this very workload; NaN where another one was measured, or something else than time.
double CostSeconds(const Reply& reply) {
  if (!reply.record.has_value()) return std::nan("");
  const Trial& trial = reply.record->trial;
  const bool same = trial.candidate.task.workload == reply.workload;
  return same && trial.metric == "seconds" ? trial.value : std::nan("");
}

/// null for what is not a number, which JSON lacks.
Json Number(double value) { return std::isfinite(value) ? Json(value) : Json(); }

std::string JsonOf(const tw_answer& answer) {
  const Reply& reply = answer.reply;
  Json out = {{"workload", answer.workload},
              {"target", answer.target},
              {"kind", tw_kind_name(reply.kind)},
              {"cost_seconds", Number(answer.cost_seconds)},
              {"expected_slowdown", Number(reply.expected_slowdown)},
              {"template", reply.template_key},
              {"template_version", reply.template_version},
              {"config", Json()},
              {"record", Json()},
              {"why", reply.explanation},
              {"differs", reply.differences}};
  if (auto config = ParseJson(answer.config); config.ok()) out["config"] = *std::move(config);
  if (reply.record.has_value()) {
    const Trial& trial = reply.record->trial;
    out["record"] = {{"id", reply.record->id},
                     {"source", reply.source},
                     {"workload", answer.record_workload},
                     {"target", answer.record_target},
                     {"device", trial.device.model},
                     {"epilogue", answer.record_epilogue},
                     {"metric", trial.metric},
                     {"value", Number(trial.value)},
                     {"noise", Number(trial.noise)},
                     {"verified", trial.verified},
                     {"codegen_version", trial.codegen_version},
                     {"measured_unix_seconds", Number(trial.finished_unix_seconds)}};
  }
  // A store is no source of trust: bytes that are no UTF-8 are replaced.
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Status FillRecord(const tw_answer& answer, tw_record* out) {
  if (!answer.reply.record.has_value()) {
    return NotFound(std::string("a ") + tw_kind_name(answer.reply.kind) + " has no record");
  }
  const records::Record& record = *answer.reply.record;
  tw_record view = TW_RECORD_INIT;
  view.verified = record.trial.verified ? 1 : 0;
  view.id = record.id.c_str();
  view.source = answer.reply.source.c_str();
  view.workload = answer.record_workload.c_str();
  view.target = answer.record_target.c_str();
  view.device = answer.record_device.c_str();
  view.device_model = record.trial.device.model.c_str();
  view.epilogue = answer.record_epilogue.c_str();
  view.metric = record.trial.metric.c_str();
  view.value = record.trial.value;
  view.noise = record.trial.noise;
  view.measured_unix_seconds = record.trial.finished_unix_seconds;
  view.codegen_version = record.trial.codegen_version;
  view.sample_count = record.trial.samples.size();
  view.samples = record.trial.samples.data();
  return Fill(out, view);
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

AnswerPtr MakeAnswer(Reply reply, const tw_target& asked) {
  AnswerPtr answer(std::make_unique<tw_answer>().release());
  answer->reply = std::move(reply);
  answer->target = asked.text;
  const Reply& made = answer->reply;
  answer->workload = made.workload.Key();
  answer->cost_seconds = CostSeconds(made);
  if (made.kind != TW_KIND_MISS) answer->config = made.config.ToString();
  if (made.record.has_value()) {
    // A hit mostly has the texts of the question: printing them again takes longer than the query.
    const Candidate& candidate = made.record->trial.candidate;
    const Task& task = candidate.task;
    const DeviceFingerprint& device = made.record->trial.device;
    answer->record_workload =
        task.workload == made.workload ? answer->workload : task.workload.Key();
    answer->record_target = task.target == asked.target ? asked.text : task.target.ToString();
    answer->record_device = device == asked.device ? asked.device_text : device.ToString();
    answer->record_epilogue = candidate.epilogue.ToString();
  }
  answer->knobs.resize(made.config.values.size());
  for (std::size_t i = 0; i < answer->knobs.size(); ++i) {
    View(made.config.values[i].first, made.config.values[i].second, made.knob_kinds[i],
         answer->knobs[i]);
  }
  return answer;
}

}  // namespace tilewright::capi

extern "C" {

void tw_answer_free(tw_answer* answer) noexcept {
  const tilewright::capi::AnswerPtr released(answer);
}

tw_kind tw_answer_kind(const tw_answer* answer) noexcept {
  return answer != nullptr ? answer->reply.kind : TW_KIND_MISS;
}

double tw_answer_cost_seconds(const tw_answer* answer) noexcept {
  return answer != nullptr ? answer->cost_seconds : std::nan("");
}

double tw_answer_expected_slowdown(const tw_answer* answer) noexcept {
  return answer != nullptr ? answer->reply.expected_slowdown : std::nan("");
}

const char* tw_answer_workload(const tw_answer* answer) noexcept {
  return answer != nullptr ? answer->workload.c_str() : "";
}

const char* tw_answer_target(const tw_answer* answer) noexcept {
  return answer != nullptr ? answer->target.c_str() : "";
}

const char* tw_answer_explanation(const tw_answer* answer) noexcept {
  return answer != nullptr ? answer->reply.explanation.c_str() : "";
}

size_t tw_answer_difference_count(const tw_answer* answer) noexcept {
  return answer != nullptr ? answer->reply.differences.size() : 0;
}

const char* tw_answer_difference(const tw_answer* answer, size_t index) noexcept {
  if (index >= tw_answer_difference_count(answer)) return nullptr;
  return answer->reply.differences[index].c_str();
}

const char* tw_answer_template(const tw_answer* answer) noexcept {
  return answer != nullptr ? answer->reply.template_key.c_str() : "";
}

int32_t tw_answer_template_version(const tw_answer* answer) noexcept {
  return answer != nullptr ? answer->reply.template_version : 0;
}

int64_t tw_answer_config_index(const tw_answer* answer) noexcept {
  return answer != nullptr ? answer->reply.config.index : -1;
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
    if (name == nullptr) return tilewright::InvalidArgument("no knob name");
    if (answer == nullptr) return tilewright::InvalidArgument("no answer");
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
    if (answer == nullptr) return tilewright::InvalidArgument("no answer");
    return tilewright::capi::FillRecord(*answer, out);
  });
}

tw_code tw_answer_json(const tw_answer* answer, char* buffer, size_t capacity, size_t* needed,
                       tw_error* error) noexcept {
  std::string text;
  const tw_code code = tilewright::capi::Guarded(error, [&]() -> tilewright::Status {
    if (answer == nullptr) return tilewright::InvalidArgument("no answer");
    text = tilewright::capi::JsonOf(*answer);
    return {};
  });
  if (code != TW_OK) return code;
  return tilewright::capi::WriteText(text, buffer, capacity, needed, error);
}

}  // extern "C"
