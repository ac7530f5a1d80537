// Reads the texts of schedules:
//   file      = "schedule" name "for" name {"," name} "on" name {statement}
//   statement = "knob" name "=" (values | value) ["default" value]
//             | ("where" | "require") value ["else" text]
//             | "if" value block ["else" (block | if)]
//             | [name {"," name} "="] value            (without names: a call)
//   block     = "{" {statement} "}";  values = "{" value {"," value} "}"
//   value     = operators over: number | text | name | word | name "(" values ")" | value "[" value
//   "]" | "(" value ")"; or, and, not, comparisons, + -, * / %, - before a value; tightest last
// Line ends are blanks, "#" begins a comment. There are no loops and no recursion, so applying a
// text always ends. The parser marks which statements depend on knobs: a space has to be the same
// for all of its configs.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "src/base/hash.h"
#include "src/base/sha256.h"
#include "src/base/strings.h"
#include "src/target/device.h"
#include "src/templates/template_keys.h"
#include "src/templates/text/keywords.h"
#include "src/templates/text/scanner.h"
#include "src/templates/text/schedule_text.h"

namespace tilewright {
namespace {

using Value = ScheduleValue;
using Statement = ScheduleStatement;

constexpr std::size_t kLongestScheduleName = 22;  // a key has 64 characters, the hash 32 of them
constexpr std::size_t kLongestName = 64;
constexpr int kMaxChain = 32;  // operators of one value outside brackets

class TextParser {
 public:
  explicit TextParser(ScheduleText& out) : out_(out) {}

  Status Run() {
    TW_RETURN_IF_ERROR(Next());
    TW_RETURN_IF_ERROR(Head());
    while (token_.kind != ScheduleTokenKind::kEnd) {
      TW_ASSIGN_OR_RETURN(auto statement, OneStatement(0));
      out_.statements.push_back(std::move(statement));
    }
    if (knobs_ == 0 && !touched_) return Expected("a knob or a primitive");
    return {};
  }

 private:
  // --- tokens ----------------------------------------------------------------------------------
  Status ErrorAt(std::size_t offset, std::string_view what) const {
    return InvalidArgument(AtOffset(out_, offset, what));
  }
  Status Expected(std::string_view what) const {
    constexpr std::size_t kShown = 40;
    const std::string seen = token_.kind == ScheduleTokenKind::kEnd
                                 ? "the end"
                                 : fmt::format("'{}'", token_.text.substr(0, kShown));
    return ErrorAt(token_.offset, fmt::format("{}, expected {}", seen, what));
  }
  Status Next() {
    TW_ASSIGN_OR_RETURN(token_, NextScheduleToken(out_, position_));
    return {};
  }
  bool Is(std::string_view text) const {
    return token_.kind != ScheduleTokenKind::kEnd && token_.kind != ScheduleTokenKind::kText &&
           token_.text == text;
  }
  Status Expect(std::string_view text) {
    if (!Is(text)) return Expected(fmt::format("'{}'", text));
    return Next();
  }
  Result<std::string> Name(std::string_view what) {
    if (token_.kind != ScheduleTokenKind::kName) return Expected(what);
    std::string name(token_.text);
    TW_RETURN_IF_ERROR(Next());
    return name;
  }

  // --- statements ------------------------------------------------------------------------------
  Status Head() {
    TW_RETURN_IF_ERROR(Expect("schedule"));
    const std::size_t offset = token_.offset;
    TW_ASSIGN_OR_RETURN(auto name, Name("the schedule's name"));
    if (name.size() > kLongestScheduleName) {
      return ErrorAt(offset, fmt::format("a name of {} characters, expected at most {}",
                                         name.size(), kLongestScheduleName));
    }
    out_.name = std::move(name);
    TW_RETURN_IF_ERROR(Expect("for"));
    while (true) {
      TW_ASSIGN_OR_RETURN(auto op, Name("the name of an operator, as in keys of workloads"));
      out_.operators.push_back(std::move(op));
      if (!Is(",")) break;
      TW_RETURN_IF_ERROR(Next());
      if (out_.operators.size() > kMaxScheduleKnobs) return Expected("fewer operators");
    }
    TW_RETURN_IF_ERROR(Expect("on"));
    const std::size_t device_offset = token_.offset;
    TW_ASSIGN_OR_RETURN(auto device, Name("a device: llvm or cuda"));
    const auto traits = std::ranges::find(AllDevices(), device, &DeviceTraits::name);
    if (traits == AllDevices().end() || !(traits->machine_code || traits->launches_grids)) {
      return ErrorAt(device_offset,
                     fmt::format("'{}', expected llvm or cuda", device.substr(0, kLongestName)));
    }
    out_.device = std::move(device);
    return {};
  }

  Result<Statement> OneStatement(int depth) {
    if (++statements_ > kMaxScheduleStatements) {
      return ErrorAt(token_.offset, fmt::format("more than {} statements", kMaxScheduleStatements));
    }
    if (depth > kMaxScheduleDepth) {
      return ErrorAt(token_.offset,
                     fmt::format("more than {} blocks in one another", kMaxScheduleDepth));
    }
    Statement statement;
    statement.offset = token_.offset;
    value_of_config_ = value_of_schedule_ = false;
    Status status;
    if (token_.kind != ScheduleTokenKind::kName) {
      status = Expected("a statement: knob, where, require, if, a name or a call");
    } else if (Is("knob")) {
      status = Knob(statement, depth);
    } else if (Is("where") || Is("require")) {
      status = Condition(statement, depth);
    } else if (Is("if")) {
      status = If(statement, depth);
    } else {
      status = Assignment(statement);
    }
    TW_RETURN_IF_ERROR(status);
    touched_ = touched_ || statement.of_schedule;
    return statement;
  }

  /// Checks a statement that defines the configs: it precedes all primitives, and is in no block.
  Status CheckIsHead(const Statement& statement, int depth, std::string_view what) const {
    if (depth > 0) return ErrorAt(statement.offset, fmt::format("{} inside of a block", what));
    if (touched_) {
      return ErrorAt(statement.offset, fmt::format("{} behind the first primitive", what));
    }
    return {};
  }
  Status CheckIsOfWorkload(std::size_t offset, std::string_view what) const {
    if (value_of_schedule_) {
      return ErrorAt(offset, fmt::format("{} that asks for stages or loops", what));
    }
    if (value_of_config_) return ErrorAt(offset, fmt::format("{} that depends on a knob", what));
    return {};
  }

  Status Knob(Statement& statement, int depth) {
    statement.kind = Statement::Kind::kKnob;
    TW_RETURN_IF_ERROR(CheckIsHead(statement, depth, "a knob"));
    if (++knobs_ > kMaxScheduleKnobs) {
      return ErrorAt(statement.offset, fmt::format("more than {} knobs", kMaxScheduleKnobs));
    }
    TW_RETURN_IF_ERROR(Next());
    const std::size_t offset = token_.offset;
    TW_ASSIGN_OR_RETURN(auto name, NewName());
    if (names_.contains(name)) {
      return ErrorAt(offset, fmt::format("there is a '{}' already", name));
    }
    TW_RETURN_IF_ERROR(Expect("="));
    const std::size_t values_offset = token_.offset;
    if (Is("{")) {
      statement.value = Value{Value::Kind::kList, 0, {}, {}, token_.offset};
      do {
        TW_RETURN_IF_ERROR(Next());
        TW_ASSIGN_OR_RETURN(auto one, OneValue(1));
        statement.value.args.push_back(std::move(one));
      } while (Is(","));
      TW_RETURN_IF_ERROR(Expect("}"));
    } else {
      TW_ASSIGN_OR_RETURN(statement.value, OneValue(0));
    }
    if (Is("default")) {
      TW_RETURN_IF_ERROR(Next());
      TW_ASSIGN_OR_RETURN(auto standard, OneValue(0));
      statement.second.push_back(std::move(standard));
    }
    TW_RETURN_IF_ERROR(CheckIsOfWorkload(values_offset, "values of a knob"));
    names_[name] = true;
    knob_names_.insert(name);
    statement.names.push_back(std::move(name));
    statement.of_config = true;
    return {};
  }

  Status Condition(Statement& statement, int depth) {
    const bool where = Is("where");
    statement.kind = where ? Statement::Kind::kWhere : Statement::Kind::kRequire;
    if (where) TW_RETURN_IF_ERROR(CheckIsHead(statement, depth, "'where'"));
    TW_RETURN_IF_ERROR(Next());
    const std::size_t offset = token_.offset;
    TW_ASSIGN_OR_RETURN(statement.value, OneValue(0));
    if (where) TW_RETURN_IF_ERROR(CheckIsOfWorkload(offset, "a condition of 'where'"));
    statement.of_config = !where;
    statement.of_schedule = value_of_schedule_;
    if (!Is("else")) return {};
    TW_RETURN_IF_ERROR(Next());
    if (token_.kind != ScheduleTokenKind::kText) return Expected("a reason in quotes");
    statement.second.push_back(
        Value{Value::Kind::kText, 0, std::string(token_.text), {}, token_.offset});
    return Next();
  }

  Status Block(std::vector<Statement>& into, Statement& whole, int depth) {
    TW_RETURN_IF_ERROR(Expect("{"));
    while (!Is("}")) {
      TW_ASSIGN_OR_RETURN(auto statement, OneStatement(depth + 1));
      whole.of_schedule = whole.of_schedule || statement.of_schedule;
      into.push_back(std::move(statement));
    }
    return Next();
  }

  Status If(Statement& statement, int depth) {
    statement.kind = Statement::Kind::kIf;
    TW_RETURN_IF_ERROR(Next());
    TW_ASSIGN_OR_RETURN(statement.value, OneValue(0));
    // A variable that is assigned in a block depends on all that the block depends on.
    const bool outer = in_config_block_;
    in_config_block_ = in_config_block_ || value_of_config_ || value_of_schedule_;
    statement.of_config = in_config_block_;
    statement.of_schedule = value_of_schedule_;
    TW_RETURN_IF_ERROR(Block(statement.inner, statement, depth));
    if (Is("else")) {
      TW_RETURN_IF_ERROR(Next());
      if (Is("if")) {
        TW_ASSIGN_OR_RETURN(auto other, OneStatement(depth + 1));
        statement.of_schedule = statement.of_schedule || other.of_schedule;
        statement.otherwise.push_back(std::move(other));
      } else {
        TW_RETURN_IF_ERROR(Block(statement.otherwise, statement, depth));
      }
    }
    in_config_block_ = outer;
    return {};
  }

  Result<std::string> NewName() {
    const std::size_t offset = token_.offset;
    TW_ASSIGN_OR_RETURN(auto name, Name("a name"));
    if (IsReservedInSchedules(name) || name.size() > kLongestName) {
      return ErrorAt(offset, fmt::format("'{}' is not a name that can be given",
                                         name.substr(0, kLongestName)));
    }
    return name;
  }

  Status Assignment(Statement& statement) {
    const std::size_t begin = token_.offset;
    const bool call = FindScheduleFunction(token_.text) != nullptr;
    std::vector<std::size_t> places;
    while (!call) {
      places.push_back(token_.offset);
      TW_ASSIGN_OR_RETURN(auto name, NewName());
      statement.names.push_back(std::move(name));
      if (!Is(",")) break;
      TW_RETURN_IF_ERROR(Next());
    }
    if (!call) TW_RETURN_IF_ERROR(Expect("="));
    TW_ASSIGN_OR_RETURN(statement.value, OneValue(0));
    const bool is_call = statement.value.kind == Value::Kind::kCall;
    const int results = is_call ? FindScheduleFunction(statement.value.text)->results : 1;
    if (results != static_cast<int>(statement.names.size())) {
      return ErrorAt(begin,
                     fmt::format("{} names for what gives {}", statement.names.size(), results));
    }
    const auto stage =
        is_call ? FindScheduleFunction(statement.value.text)->stage : ScheduleStage::kWorkload;
    if (stage == ScheduleStage::kForm && touched_) {
      return ErrorAt(begin, fmt::format("'{}' behind the first primitive", statement.value.text));
    }
    statement.of_schedule = value_of_schedule_;
    statement.of_config =
        value_of_config_ || value_of_schedule_ || in_config_block_ || stage == ScheduleStage::kForm;
    for (std::size_t i = 0; i < statement.names.size(); ++i) {
      if (knob_names_.contains(statement.names[i])) {
        return ErrorAt(places[i], fmt::format("'{}' is a knob", statement.names[i]));
      }
      bool& of_config = names_[statement.names[i]];
      of_config = of_config || statement.of_config;
    }
    return {};
  }

  // --- values ----------------------------------------------------------------------------------
  Status CheckValues(std::size_t offset) {
    if (++values_ <= kMaxScheduleValues) return {};
    return ErrorAt(offset, fmt::format("more than {} parts of values", kMaxScheduleValues));
  }
  Status CheckDepth(int depth) const {
    if (depth <= kMaxScheduleDepth) return {};
    return ErrorAt(token_.offset,
                   fmt::format("more than {} brackets in one another", kMaxScheduleDepth));
  }

  Result<Value> OneValue(int depth, int rank = 1) {
    TW_RETURN_IF_ERROR(CheckDepth(depth));
    auto left = Unary(depth, rank);
    TW_RETURN_IF_ERROR(left);
    int chain = 0;
    while (token_.kind == ScheduleTokenKind::kPunctuation || Is("or") || Is("and")) {
      const int tight = ScheduleOperatorRank(token_.text, false);
      if (tight == 0 || tight < rank) break;
      TW_RETURN_IF_ERROR(CheckValues(token_.offset));
      Value both{Value::Kind::kOperator, 0, std::string(token_.text), {}, token_.offset};
      TW_RETURN_IF_ERROR(Next());
      TW_ASSIGN_OR_RETURN(auto right, OneValue(depth + 1, tight + 1));
      both.args.push_back(*std::move(left));
      both.args.push_back(std::move(right));
      left = std::move(both);
      if (++chain > kMaxChain) {
        return ErrorAt(token_.offset, fmt::format("more than {} operators in a row", kMaxChain));
      }
    }
    return left;
  }

  Result<Value> Unary(int depth, int rank) {
    const int own = ScheduleOperatorRank(token_.text, true);
    if (token_.kind == ScheduleTokenKind::kEnd || token_.kind == ScheduleTokenKind::kText ||
        own == 0) {
      return Primary(depth);
    }
    if (own < rank) return Expected("brackets around 'not'");
    TW_RETURN_IF_ERROR(CheckValues(token_.offset));
    Value value{Value::Kind::kOperator, 0, std::string(token_.text), {}, token_.offset};
    TW_RETURN_IF_ERROR(Next());
    TW_ASSIGN_OR_RETURN(auto inside, OneValue(depth + 1, own));
    value.args.push_back(std::move(inside));
    return value;
  }

  Result<Value> Primary(int depth) {
    TW_RETURN_IF_ERROR(CheckValues(token_.offset));
    Value value;
    value.offset = token_.offset;
    const ScheduleToken token = token_;
    switch (token.kind) {
      case ScheduleTokenKind::kInteger: {
        const auto number = ParseInt64(token.text);
        if (!number.ok()) return Expected("a number of 64 bits");
        value.integer = *number;
        TW_RETURN_IF_ERROR(Next());
        return value;
      }
      case ScheduleTokenKind::kText:
        value.kind = Value::Kind::kText;
        value.text = std::string(token.text);
        TW_RETURN_IF_ERROR(Next());
        return value;
      case ScheduleTokenKind::kName:
        return Named(std::move(value), depth);
      default:
        break;
    }
    if (!Is("(")) return Expected("a value");
    TW_RETURN_IF_ERROR(Next());
    TW_ASSIGN_OR_RETURN(auto inside, OneValue(depth + 1));
    TW_RETURN_IF_ERROR(Expect(")"));
    return inside;
  }

  Result<Value> Named(Value value, int depth) {
    const std::string name(token_.text);
    value.text = name;
    if (const ScheduleFunction* function = FindScheduleFunction(name)) {
      value.kind = Value::Kind::kCall;
      return Call(std::move(value), *function, depth);
    }
    if (IsScheduleKeyword(name)) {
      value.kind = Value::Kind::kKeyword;
      TW_RETURN_IF_ERROR(Next());
      return value;
    }
    const auto known = names_.find(name);
    if (known == names_.end()) {
      return ErrorAt(value.offset,
                     fmt::format("nothing has the name '{}' yet", name.substr(0, kLongestName)));
    }
    value_of_config_ = value_of_config_ || known->second;
    value.kind = Value::Kind::kName;
    TW_RETURN_IF_ERROR(Next());
    if (!Is("[")) return value;
    TW_RETURN_IF_ERROR(Next());
    Value item{Value::Kind::kItem, 0, {}, {}, value.offset};
    TW_ASSIGN_OR_RETURN(auto position, OneValue(depth + 1));
    TW_RETURN_IF_ERROR(Expect("]"));
    item.args = {std::move(value), std::move(position)};
    return item;
  }

  Result<Value> Call(Value value, const ScheduleFunction& function, int depth) {
    TW_RETURN_IF_ERROR(Next());
    TW_RETURN_IF_ERROR(Expect("("));
    while (!Is(")")) {
      if (!value.args.empty()) TW_RETURN_IF_ERROR(Expect(","));
      TW_ASSIGN_OR_RETURN(auto argument, OneValue(depth + 1));
      value.args.push_back(std::move(argument));
    }
    const auto count = static_cast<int>(value.args.size());
    if (count < function.min_arguments || count > function.most) {
      return ErrorAt(value.offset, fmt::format("{} takes {} arguments, not {}", function.name,
                                               function.min_arguments == function.most
                                                   ? fmt::format("{}", function.min_arguments)
                                                   : fmt::format("{} to {}", function.min_arguments,
                                                                 function.most),
                                               count));
    }
    if (function.results != 1 && depth > 0) {
      return ErrorAt(value.offset, fmt::format("{} is not a value", function.name));
    }
    value_of_schedule_ = value_of_schedule_ || function.stage == ScheduleStage::kSchedule;
    if (function.name == "form" && value.args[0].text == "winograd") out_.winograd = true;
    TW_RETURN_IF_ERROR(Next());
    return value;
  }

  ScheduleText& out_;
  std::size_t position_ = 0;
  ScheduleToken token_;
  std::map<std::string, bool> names_;  // whether the name depends on knobs
  std::set<std::string> knob_names_;
  std::size_t statements_ = 0, values_ = 0, knobs_ = 0;
  bool touched_ = false, in_config_block_ = false;
  bool value_of_config_ = false, value_of_schedule_ = false;  // of the statement being parsed
};

/// Returns 160 bits of a text's SHA-256, five to a letter.
std::string HashName(std::string_view text) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz234567";
  constexpr std::size_t kHashBytes = 20;
  const auto hash = Sha256(text);
  std::string name;
  std::uint32_t bits = 0;
  int count = 0;
  for (std::size_t i = 0; i < kHashBytes; ++i) {
    bits = bits << 8 | hash[i];
    for (count += 8; count >= 5; count -= 5) name += kLetters[bits >> (count - 5) & 31];
  }
  return name;
}

}  // namespace

std::string AtOffset(const ScheduleText& schedule, std::size_t offset, std::string_view what) {
  const std::string_view before = std::string_view(schedule.source).substr(0, offset);
  const auto line = std::ranges::count(before, '\n') + 1;
  const std::size_t begin = before.rfind('\n') + 1;  // npos + 1 is 0
  return fmt::format("{}:{}:{}: {}", schedule.file, line, offset - begin + 1, what);
}

Result<ScheduleText> ParseScheduleText(std::string_view text, std::string_view file) {
  if (text.size() > kMaxScheduleBytes) {
    return InvalidArgument(
        fmt::format("{}: {} bytes, expected at most {}", file, text.size(), kMaxScheduleBytes));
  }
  ScheduleText schedule;
  schedule.source = std::string(text);
  schedule.file = std::string(file);
  TW_RETURN_IF_ERROR(TextParser(schedule).Run());
  schedule.text = CanonicalScheduleText(schedule);
  // Readers parse this form later.
  if (schedule.text.size() > kMaxScheduleBytes) {
    return InvalidArgument(fmt::format("{}: {} bytes in canonical form, expected at most {}", file,
                                       schedule.text.size(), kMaxScheduleBytes));
  }
  schedule.key = fmt::format("{}{}-{}", kScheduleKeyPrefix, schedule.name, HashName(schedule.text));
  return schedule;
}

std::string LegacyScheduleKey(const ScheduleText& schedule) {
  const std::uint64_t first = Fnv1a64(schedule.text);
  return fmt::format("{}{}-{}{}", kScheduleKeyPrefix, schedule.name, HexOf(Mix64(first)),
                     HexOf(Mix64(Fnv1a64(schedule.text, Mix64(first)))));
}

bool AcceptScheduleKey(std::string_view key, ScheduleText& schedule) {
  if (key == schedule.key) return true;
  if (key != LegacyScheduleKey(schedule)) return false;
  schedule.key = key;
  return true;
}

}  // namespace tilewright
