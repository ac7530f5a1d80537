// Expressions, and accessors of the public handles.

#include <algorithm>
#include <utility>

#include "src/base/files/file.h"
#include "src/tensor/expression/expression.h"
#include "src/tuner/data.h"

namespace tilewright::tuner {

Status ToPublic(const ::tilewright::Status& status) {
  if (status.ok()) return {};
  return {static_cast<Code>(status.code()), status.message()};
}

inline namespace v1 {
namespace {

Tensor TensorOf(const std::string& name, const TensorType& type, bool constant) {
  return {name, DataTypeName(type.dtype), type.shape, type.bytes(), constant};
}

Expression FromExpression(::tilewright::Expression expression) {
  auto data = std::make_shared<Expression::Data>();
  for (const ExpressionInput& input : expression.inputs) {
    data->inputs.push_back(TensorOf(input.name, input.type, input.constant));
  }
  data->result = TensorOf(expression.stages.back().name, expression.result(), false);
  data->workload = Workload::FromExpression(expression);
  data->key = data->workload.Key();
  data->expression = std::move(expression);
  return Expression(std::move(data));
}

}  // namespace

Result<Expression> Expression::Parse(std::string_view text, std::string_view name) {
  auto parsed = ParseExpression(text, name);
  if (!parsed.ok()) return ToPublic(parsed.status());
  const auto type = Workload::FromExpression(*parsed).OutputType();
  if (!type.ok()) return ToPublic(type.status().WithContext(std::string(name)));
  return FromExpression(*std::move(parsed));
}

Result<Expression> Expression::Read(const std::string& path) {
  auto text = ReadFile(path, static_cast<std::int64_t>(kMaxExpressionBytes));
  if (!text.ok()) return ToPublic(text.status());
  return Parse(*text, path);
}

Result<Expression> Expression::FromKey(std::string_view key) {
  auto workload = Workload::Parse(key);
  if (!workload.ok()) return ToPublic(workload.status());
  if (workload->op != OpKind::kExpression) {
    return ToPublic(
        InvalidArgument("the key of a " + workload->op_name() + ", expected one of an expression"));
  }
  return FromExpression(std::move(workload->expression));
}

const std::string& Expression::key() const { return data_->key; }
const std::vector<Tensor>& Expression::inputs() const { return data_->inputs; }
const Tensor& Expression::result() const { return data_->result; }
double Expression::operations() const { return data_->expression.operations(); }

const std::string& Config::template_key() const { return data_->candidate.template_key; }
int Config::template_version() const { return data_->candidate.template_version; }
std::int64_t Config::index() const { return data_->candidate.config.index; }
const std::string& Config::json() const { return data_->json; }

const std::string& Measurement::outcome() const { return data_->outcome; }
bool Measurement::ok() const { return data_->trial.outcome == Outcome::kOk; }
const std::string& Measurement::reason() const { return data_->trial.reason; }
double Measurement::seconds() const { return ok() ? data_->trial.value : 0; }
double Measurement::noise() const { return data_->trial.noise; }
bool Measurement::verified() const { return data_->trial.verified; }
double Measurement::max_abs_error() const { return data_->trial.max_abs_error; }

std::int64_t TuneReport::trials() const { return data_->report.trials; }
std::int64_t TuneReport::new_trials() const { return data_->report.trials_this_run; }
std::int64_t TuneReport::failures() const { return data_->failures; }
double TuneReport::best_seconds() const { return data_->task().best_seconds; }
double TuneReport::default_seconds() const { return data_->task().default_seconds; }
const std::string& TuneReport::best_template() const { return data_->task().best_template; }
const std::string& TuneReport::best_config() const { return data_->config; }
const std::string& TuneReport::finish_reason() const { return data_->task().finish_reason; }

const std::string& Answer::kind() const { return data_->kind; }
const std::optional<Config>& Answer::config() const { return data_->config; }
double Answer::seconds() const { return data_->seconds; }
const std::string& Answer::explanation() const { return data_->explanation; }

}  // namespace v1
}  // namespace tilewright::tuner
