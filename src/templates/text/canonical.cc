#include <fmt/format.h>

#include "src/templates/text/keywords.h"
#include "src/templates/text/schedule_text.h"

namespace tilewright {
namespace {

constexpr int kTightest = 8;

std::string TextOf(const ScheduleValue& value, int rank);

std::string JoinValues(const std::vector<ScheduleValue>& values) {
  std::string out;
  for (const ScheduleValue& value : values) out += (out.empty() ? "" : ", ") + TextOf(value, 1);
  return out;
}

/// rank: precedence of the operator around the value.
std::string TextOf(const ScheduleValue& value, int rank) {
  using Kind = ScheduleValue::Kind;
  switch (value.kind) {
    case Kind::kInteger:
      return fmt::format("{}", value.integer);
    case Kind::kText:
      return fmt::format("\"{}\"", value.text);
    case Kind::kName:
    case Kind::kKeyword:
      return value.text;
    case Kind::kCall:
      return fmt::format("{}({})", value.text, JoinValues(value.args));
    case Kind::kItem:
      return fmt::format("{}[{}]", TextOf(value.args[0], kTightest), TextOf(value.args[1], 1));
    case Kind::kList:
      return fmt::format("{{{}}}", JoinValues(value.args));
    case Kind::kOperator:
      break;
  }
  const bool unary = value.args.size() == 1;
  const int own = ScheduleOperatorRank(value.text, unary);
  std::string out;
  if (unary) {
    out = fmt::format("{}{}{}", value.text, own == 3 ? " " : "", TextOf(value.args[0], own));
  } else {
    out = fmt::format("{} {} {}", TextOf(value.args[0], own), value.text,
                      TextOf(value.args[1], own + 1));
  }
  return own < rank ? fmt::format("({})", out) : out;
}

void Append(std::string& out, const std::vector<ScheduleStatement>& statements, int depth);

void AppendOne(std::string& out, const ScheduleStatement& statement, int depth) {
  using Kind = ScheduleStatement::Kind;
  const std::string indent(static_cast<std::size_t>(2 * depth), ' ');
  const std::string value = TextOf(statement.value, 1);
  const std::string second = statement.second.empty() ? "" : TextOf(statement.second[0], 1);
  out += indent;
  switch (statement.kind) {
    case Kind::kKnob:
      out += fmt::format("knob {} = {}{}{}\n", statement.names[0], value,
                         second.empty() ? "" : " default ", second);
      return;
    case Kind::kWhere:
    case Kind::kRequire:
      out += fmt::format("{} {}{}{}\n", statement.kind == Kind::kWhere ? "where" : "require", value,
                         second.empty() ? "" : " else ", second);
      return;
    case Kind::kAssign:
      out += fmt::format("{}{}{}\n", fmt::join(statement.names, ", "),
                         statement.names.empty() ? "" : " = ", value);
      return;
    case Kind::kIf:
      break;
  }
  out += fmt::format("if {} {{\n", value);
  Append(out, statement.inner, depth + 1);
  out += indent + "}";
  if (!statement.otherwise.empty()) {
    out += " else {\n";
    Append(out, statement.otherwise, depth + 1);
    out += indent + "}";
  }
  out += "\n";
}

void Append(std::string& out, const std::vector<ScheduleStatement>& statements, int depth) {
  for (const ScheduleStatement& statement : statements) AppendOne(out, statement, depth);
}

}  // namespace

std::string CanonicalScheduleText(const ScheduleText& schedule) {
  std::string out = fmt::format("schedule {} for {} on {}\n", schedule.name,
                                fmt::join(schedule.operators, ", "), schedule.device);
  Append(out, schedule.statements, 0);
  return out;
}

}  // namespace tilewright
