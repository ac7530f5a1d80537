// Recursive-descent parser of Python's expression grammar, from the loosest operator to the
// tightest: if-else, or, and, not, comparisons, |, ^, &, shifts, + -, * / // %, unary, **, primary.

#include "src/space/open/condition_parser.h"

#include <array>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>

namespace tilewright {
namespace {

constexpr std::size_t kMaxBytes = 10'000;
constexpr std::size_t kMaxListBytes = 1'000'000;
constexpr int kMaxNesting = 100;
constexpr std::size_t kMaxValues = 65'536;
// Nodes of a condition: a list of kMaxValues items, and operators.
constexpr std::uint32_t kMaxConditionWork = 100'000;

struct BinaryRow {
  std::string_view token;
  ConditionOp op;
  int level;
};

// Longer tokens first where one begins another.
constexpr std::array kBinary = {
    BinaryRow{"|", ConditionOp::kBitOr, 0},       BinaryRow{"^", ConditionOp::kBitXor, 1},
    BinaryRow{"&", ConditionOp::kBitAnd, 2},      BinaryRow{"<<", ConditionOp::kShiftLeft, 3},
    BinaryRow{">>", ConditionOp::kShiftRight, 3}, BinaryRow{"+", ConditionOp::kAdd, 4},
    BinaryRow{"-", ConditionOp::kSubtract, 4},    BinaryRow{"**", ConditionOp::kPower, -1},
    BinaryRow{"*", ConditionOp::kMultiply, 5},    BinaryRow{"//", ConditionOp::kFloorDivide, 5},
    BinaryRow{"/", ConditionOp::kDivide, 5},      BinaryRow{"%", ConditionOp::kModulo, 5},
};
constexpr int kUnaryLevel = 6;

constexpr std::array<std::pair<std::string_view, ConditionOp>, 6> kComparisons = {{
    {"<=", ConditionOp::kLessEqual},
    {">=", ConditionOp::kGreaterEqual},
    {"==", ConditionOp::kEqual},
    {"!=", ConditionOp::kNotEqual},
    {"<", ConditionOp::kLess},
    {">", ConditionOp::kGreater},
}};

struct FunctionRow {
  std::string_view name;
  ConditionOp op;
  std::size_t least, most;  // number of arguments
};
constexpr std::array kFunctions = {
    FunctionRow{"abs", ConditionOp::kAbs, 1, 1},
    FunctionRow{"bool", ConditionOp::kToBoolean, 1, 1},
    FunctionRow{"ceil", ConditionOp::kCeil, 1, 1},
    FunctionRow{"float", ConditionOp::kToFloat, 1, 1},
    FunctionRow{"floor", ConditionOp::kFloor, 1, 1},
    FunctionRow{"int", ConditionOp::kToInteger, 1, 1},
    FunctionRow{"len", ConditionOp::kLen, 1, 1},
    FunctionRow{"log2", ConditionOp::kLog2, 1, 1},
    FunctionRow{"max", ConditionOp::kMax, 1, 64},
    FunctionRow{"min", ConditionOp::kMin, 1, 64},
    FunctionRow{"pow", ConditionOp::kPower, 2, 2},
    FunctionRow{"round", ConditionOp::kRound, 1, 2},
    FunctionRow{"sqrt", ConditionOp::kSqrt, 1, 1},
};

bool IsWordByte(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

/// Parser of one text. After an error, all functions return at once and the first error remains.
class ConditionParser {
 public:
  ConditionParser(std::string_view text, ExpressionPool& pool, const NameLookup& names)
      : text_(text), pool_(pool), names_(names) {}

  Result<ExpressionId> Parse() {
    const ExpressionId result = Choice();
    SkipSpaces();
    if (status_.ok() && position_ != text_.size()) Fail("an operator or the end");
    if (!status_.ok()) return status_;
    return result;
  }

 private:
  ExpressionId Nothing() { return pool_.Constant(FailedValue()); }

  ExpressionId Fail(const std::string& expected) {
    if (status_.ok()) {
      status_ = InvalidArgument("position " + std::to_string(position_ + 1) + " of \"" +
                                std::string(text_.substr(0, 200)) + "\": expected " + expected);
    }
    return Nothing();
  }

  void SkipSpaces() {
    while (position_ < text_.size() &&
           std::isspace(static_cast<unsigned char>(text_[position_])) != 0) {
      ++position_;
    }
  }
  std::string_view Rest() const { return text_.substr(position_); }

  bool Accept(std::string_view token) {
    SkipSpaces();
    if (!status_.ok() || !Rest().starts_with(token)) return false;
    position_ += token.size();
    return true;
  }
  bool AcceptWord(std::string_view word) {
    SkipSpaces();
    if (!status_.ok() || !Rest().starts_with(word)) return false;
    const std::size_t end = position_ + word.size();
    if (end < text_.size() && IsWordByte(text_[end])) return false;
    position_ = end;
    return true;
  }
  void Expect(std::string_view token) {
    if (!Accept(token)) Fail("\"" + std::string(token) + "\"");
  }
  std::string_view Word() {
    SkipSpaces();
    const std::size_t begin = position_;
    while (position_ < text_.size() && IsWordByte(text_[position_])) ++position_;
    return text_.substr(begin, position_ - begin);
  }

  /// Counts the depth of recursion. False, and an error, if it is too deep.
  class Nesting {
   public:
    explicit Nesting(ConditionParser& parser) : parser_(parser) {
      if (++parser_.depth_ > kMaxNesting) parser_.Fail("less than 100 levels of nesting");
    }
    ~Nesting() { --parser_.depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    ConditionParser& parser_;
  };

  ExpressionId Choice() {
    const Nesting nesting(*this);
    if (!status_.ok()) return Nothing();
    const ExpressionId value = Or();
    if (!AcceptWord("if")) return value;
    const ExpressionId condition = Or();
    if (!AcceptWord("else")) return Fail("\"else\"");
    const ExpressionId otherwise = Choice();
    return pool_.Make(ConditionOp::kIfElse, {condition, value, otherwise});
  }

  ExpressionId Or() {
    ExpressionId left = And();
    while (AcceptWord("or") || Accept("||")) left = pool_.Make(ConditionOp::kOr, {left, And()});
    return left;
  }

  ExpressionId And() {
    ExpressionId left = Not();
    while (AcceptWord("and") || Accept("&&")) left = pool_.Make(ConditionOp::kAnd, {left, Not()});
    return left;
  }

  ExpressionId Not() {
    const Nesting nesting(*this);
    if (!status_.ok()) return Nothing();
    SkipSpaces();
    const bool mark = Rest().starts_with("!") && !Rest().starts_with("!=");
    if (mark) ++position_;
    if (mark || AcceptWord("not")) return pool_.Make(ConditionOp::kNot, {Not()});
    return Comparison();
  }

  std::optional<ConditionOp> ComparisonOperator() {
    for (const auto& [token, op] : kComparisons) {
      SkipSpaces();
      if (Rest().starts_with("<<") || Rest().starts_with(">>")) return std::nullopt;
      if (Accept(token)) return op;
    }
    if (AcceptWord("in")) return ConditionOp::kIn;
    const std::size_t before = position_;
    if (AcceptWord("not")) {
      if (AcceptWord("in")) return ConditionOp::kNotIn;
      position_ = before;
    }
    return std::nullopt;
  }

  ExpressionId Comparison() {
    ExpressionId left = Binary(0);
    std::optional<ExpressionId> all;
    while (const auto op = ComparisonOperator()) {
      const ExpressionId right = Binary(0);
      const ExpressionId one = pool_.Make(*op, {left, right});
      all = all ? pool_.Make(ConditionOp::kAnd, {*all, one}) : one;
      left = right;
    }
    return all ? *all : left;
  }

  std::optional<ConditionOp> BinaryOperator(int level) {
    SkipSpaces();
    // && and || are looser than comparisons.
    if (!status_.ok() || Rest().starts_with("&&") || Rest().starts_with("||")) return std::nullopt;
    for (const BinaryRow& row : kBinary) {
      if (!Rest().starts_with(row.token)) continue;
      if (row.level != level) return std::nullopt;
      position_ += row.token.size();
      return row.op;
    }
    return std::nullopt;
  }

  ExpressionId Binary(int level) {
    if (level == kUnaryLevel) return Unary();
    ExpressionId left = Binary(level + 1);
    while (const auto op = BinaryOperator(level)) {
      left = pool_.Make(*op, {left, Binary(level + 1)});
    }
    return left;
  }

  ExpressionId Unary() {
    const Nesting nesting(*this);
    if (!status_.ok()) return Nothing();
    if (Accept("-")) return pool_.Make(ConditionOp::kNegate, {Unary()});
    if (Accept("+")) return pool_.Make(ConditionOp::kPlus, {Unary()});
    if (Accept("~")) return pool_.Make(ConditionOp::kInvert, {Unary()});
    const ExpressionId base = Primary();
    if (Accept("**")) return pool_.Make(ConditionOp::kPower, {base, Unary()});
    return base;
  }

  ExpressionId Primary() {
    SkipSpaces();
    if (!status_.ok()) return Nothing();
    if (position_ == text_.size()) return Fail("a value");
    const char c = text_[position_];
    const bool point = c == '.' && position_ + 1 < text_.size() && IsDigit(text_[position_ + 1]);
    if (IsDigit(c) || point) return Number();
    if (c == '\'' || c == '"') return Text(c);
    if (Accept("(")) return Parentheses();
    if (Accept("[")) return Items("]");
    if (!IsWordByte(c)) return Fail("a value");
    return Named();
  }

  ExpressionId Number() {
    const std::string rest(Rest().substr(0, 64));
    char* end = nullptr;
    errno = 0;
    const double number = std::strtod(rest.c_str(), &end);
    auto length = static_cast<std::size_t>(end - rest.c_str());
    const std::string_view token = std::string_view(rest).substr(0, length);
    const bool hexadecimal = token.starts_with("0x") || token.starts_with("0X");
    ExpressionValue value{number};
    if (hexadecimal || token.find_first_of(".eEnN") == std::string_view::npos) {
      errno = 0;
      value.value =
          static_cast<std::int64_t>(std::strtoll(rest.c_str(), &end, hexadecimal ? 16 : 10));
      length = static_cast<std::size_t>(end - rest.c_str());
    }
    if (errno != 0 || length == 0) return Fail("a number of at most 64 bits");
    position_ += length;
    if (position_ < text_.size() && IsWordByte(text_[position_])) return Fail("an operator");
    return pool_.Constant(std::move(value));
  }

  ExpressionId Text(char quote) {
    std::string text;
    for (++position_; position_ < text_.size(); ++position_) {
      if (text_[position_] == quote) {
        ++position_;
        return pool_.Constant({std::move(text)});
      }
      if (text_[position_] == '\\' && position_ + 1 < text_.size()) ++position_;
      text += text_[position_];
    }
    return Fail("the end of the text");
  }

  ExpressionId Parentheses() {
    if (Accept(")")) return pool_.Make(ConditionOp::kList, {});
    const ExpressionId first = Choice();
    if (Accept(")")) return first;
    std::vector<ExpressionId> items = {first};
    while (Accept(",")) {
      if (Accept(")")) return pool_.Make(ConditionOp::kList, std::move(items));
      items.push_back(Choice());
    }
    Expect(")");
    return pool_.Make(ConditionOp::kList, std::move(items));
  }

  /// Reads the items of a list after its opening bracket.
  ExpressionId Items(std::string_view end) {
    const std::size_t begin = position_;
    std::vector<ExpressionId> items;
    std::optional<ExpressionId> comprehension;
    while (status_.ok() && !Accept(end)) {
      items.push_back(Element());
      if (items.size() == 1 && AcceptWord("for")) {
        comprehension = Comprehension(begin, end);
        break;
      }
      if (Accept(end)) break;
      Expect(",");
    }
    if (comprehension) return *comprehension;
    return pool_.Make(ConditionOp::kList, std::move(items));
  }

  /// An item of a list: its names may be those of a comprehension that follows.
  ExpressionId Element() {
    const bool outer = std::exchange(unknown_names_, true);
    const ExpressionId item = Choice();
    unknown_names_ = outer;
    if (!outer && !first_unknown_.empty()) {
      SkipSpaces();
      if (!Rest().starts_with("for")) return UnknownName(std::exchange(first_unknown_, {}));
    }
    return item;
  }

  /// Reads the rest of "[item for name in list if condition]" and evaluates the item, which begins
  /// at `item`, for each value.
  ExpressionId Comprehension(std::size_t item, std::string_view end) {
    first_unknown_.clear();
    const std::string name(Word());
    if (name.empty()) return Fail("a name");
    if (!AcceptWord("in")) return Fail("\"in\"");
    const ExpressionId list = Or();
    const bool filtered = AcceptWord("if");
    const std::size_t filter = position_;
    const auto* all = status_.ok() && pool_.is_constant(list)
                          ? std::get_if<std::vector<ExpressionValue>>(&pool_.constant(list).value)
                          : nullptr;
    if (all == nullptr) return Fail("a list of constants after \"in\"");
    const std::vector<ExpressionValue> values = *all;  // the pool grows
    if (variables_.size() > 1) return Fail("at most two nested comprehensions");
    std::vector<ExpressionId> items;
    variables_.emplace_back(name, Nothing());
    if (values.empty() && filtered) Or();
    std::size_t after = position_;
    for (const ExpressionValue& value : values) {
      if ((steps_ += 1) > 4 * kMaxValues) Fail("at most 65,536 values");
      if (!status_.ok()) break;
      variables_.back().second = pool_.Constant(value);
      if (filtered) {
        position_ = filter;
        const ExpressionId condition = Or();
        after = position_;
        if (pool_.IsFalse(condition)) continue;
      }
      position_ = item;
      items.push_back(Choice());
      if ((parsed_again_ += position_ - item) > kMaxListBytes) Fail("a shorter comprehension");
    }
    variables_.pop_back();
    if (!status_.ok()) return Nothing();
    position_ = after;
    Expect(end);
    return pool_.Make(ConditionOp::kList, std::move(items));
  }

  ExpressionId UnknownName(const std::string& name) {
    if (status_.ok()) {
      status_ = InvalidArgument("\"" + std::string(text_.substr(0, 200)) + "\": no parameter \"" +
                                name + "\"");
    }
    return Nothing();
  }

  ExpressionId Named() {
    const std::size_t begin = position_;
    if (IsDigit(text_[begin])) return Fail("a value");
    std::string name(Word());
    if (name == "True" || name == "true") return pool_.Constant({true});
    if (name == "False" || name == "false") return pool_.Constant({false});
    if (name == "math" && Accept(".")) name = std::string(Word());
    if (Accept("(")) return Call(name);
    for (const auto& [variable, value] : variables_) {
      if (variable == name) return value;
    }
    if (const auto found = names_(name)) return *found;
    if (unknown_names_) {
      if (first_unknown_.empty()) first_unknown_ = name;
      return pool_.Constant({std::int64_t{1}});  // replaced, or reported by Element
    }
    return UnknownName(name);
  }

  ExpressionId Call(const std::string& name) {
    std::vector<ExpressionId> arguments;
    while (status_.ok() && !Accept(")")) {
      arguments.push_back(Choice());
      if (Accept(")")) break;
      Expect(",");
    }
    if (!status_.ok()) return Nothing();
    if (name == "range") return Range(arguments);
    if ((name == "list" || name == "tuple") && arguments.size() == 1) return arguments[0];
    for (const FunctionRow& row : kFunctions) {
      if (row.name != name) continue;
      if (arguments.size() < row.least || arguments.size() > row.most) {
        return Fail("another number of arguments of " + name);
      }
      return pool_.Make(row.op, std::move(arguments));
    }
    return Fail("a known function, not " + name);
  }

  ExpressionId Range(const std::vector<ExpressionId>& arguments) {
    std::array<std::int64_t, 3> bounds = {0, 0, 1};
    if (arguments.empty() || arguments.size() > 3) return Fail("range with 1 to 3 arguments");
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const auto* number = pool_.is_constant(arguments[i])
                               ? std::get_if<std::int64_t>(&pool_.constant(arguments[i]).value)
                               : nullptr;
      if (number == nullptr) return Fail("range of constant integers");
      bounds[arguments.size() == 1 ? 1 : i] = *number;
    }
    std::vector<ExpressionValue> values;
    const auto [from, to, step] = bounds;
    if (step == 0) return Fail("a step that is not 0");
    for (std::int64_t i = from; step > 0 ? i < to : i > to;) {
      if (values.size() == kMaxValues || (steps_ += 1) > 4 * kMaxValues) {
        return Fail("at most 65,536 values");
      }
      values.push_back({i});
      if (__builtin_add_overflow(i, step, &i)) break;
    }
    return pool_.Constant({std::move(values)});
  }

  std::string_view text_;
  ExpressionPool& pool_;
  const NameLookup& names_;
  std::size_t position_ = 0;
  int depth_ = 0;
  std::size_t steps_ = 0;         // values of ranges, and evaluations of comprehensions
  std::size_t parsed_again_ = 0;  // bytes of the items of comprehensions
  bool unknown_names_ = false;
  std::string first_unknown_;
  std::vector<std::pair<std::string, ExpressionId>> variables_;
  Status status_;
};

}  // namespace

Result<ExpressionId> ParseCondition(std::string_view text, ExpressionPool& pool,
                                    const NameLookup& names) {
  if (text.size() > kMaxBytes) {
    return InvalidArgument("a condition of " + std::to_string(text.size()) +
                           " bytes, expected at most " + std::to_string(kMaxBytes));
  }
  TW_ASSIGN_OR_RETURN(const ExpressionId parsed, ConditionParser(text, pool, names).Parse());
  if (pool.work(parsed) > kMaxConditionWork) {
    return InvalidArgument("\"" + std::string(text.substr(0, 200)) +
                           "\": nested comparisons repeat their operands too often");
  }
  return parsed;
}

Result<std::vector<ParameterValue>> ParseValueList(std::string_view text) {
  if (text.size() > kMaxListBytes) return InvalidArgument("a list of more than 1,000,000 bytes");
  ExpressionPool pool({});
  const NameLookup no_names = [](std::string_view) { return std::optional<ExpressionId>(); };
  TW_ASSIGN_OR_RETURN(const ExpressionId parsed, ConditionParser(text, pool, no_names).Parse());
  const auto* list = pool.is_constant(parsed)
                         ? std::get_if<std::vector<ExpressionValue>>(&pool.constant(parsed).value)
                         : nullptr;
  if (list == nullptr) {
    return InvalidArgument("\"" + std::string(text.substr(0, 200)) + "\", expected a list");
  }
  std::vector<ParameterValue> values;
  for (const ExpressionValue& item : *list) {
    if (const auto* integer = std::get_if<std::int64_t>(&item.value)) {
      values.emplace_back(*integer);
    } else if (const auto* boolean = std::get_if<bool>(&item.value)) {
      values.emplace_back(*boolean);
    } else if (const auto* name = std::get_if<std::string>(&item.value)) {
      values.emplace_back(*name);
    } else if (item.is_number()) {
      values.emplace_back(item.number());
    } else {
      return InvalidArgument("\"" + std::string(text.substr(0, 200)) +
                             "\": expected numbers, booleans and texts");
    }
    if (values.size() > kMaxValues) return InvalidArgument("more than 65,536 values");
  }
  return values;
}

}  // namespace tilewright
