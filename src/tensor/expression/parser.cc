// Reads the text of expressions:
//   file       = { statement [";"] }
//   statement  = "size" name "=" value
//              | ("input" | "const") name ":" type "[" [value {"," value}] "]"
//              | name "[" [axes] "]" "=" [reduction "(" axes ")"] value
//   axes       = name ":" value {"," name ":" value}
//   value      = or; or = and {"or" and}; and = not {"and" not}; not = "not" not | comparison
//   comparison = sum [("<" | "<=" | ">" | ">=" | "==" | "!=") sum]
//   sum        = product {("+" | "-") product}; product = unary {("*" | "/" | "%") unary}
//   unary      = "-" unary | number | name | name "[" values "]" | name "(" values ")" | "(" value
//   ")"
// Line ends are blanks, "#" begins a comment. Checks run during parsing: every message has the line
// and column of its cause.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>

#include "src/base/strings.h"
#include "src/tensor/expression/internal.h"

namespace tilewright {
namespace {

constexpr std::int64_t kMaxExtent = std::int64_t{1} << 31;
constexpr std::int64_t kMaxTensorElements = std::int64_t{1} << 40;

enum class TokenKind : std::uint8_t { kName, kInteger, kReal, kSign, kEnd };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;
  std::size_t offset = 0;
};

bool IsNameStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

class Parser {
 public:
  Parser(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  Result<Expression> Run() {
    if (text_.size() > kMaxExpressionBytes) {
      return InvalidArgument(fmt::format("{}: {} bytes, expected at most {}", file_, text_.size(),
                                         kMaxExpressionBytes));
    }
    TW_RETURN_IF_ERROR(Next());
    while (token_.kind != TokenKind::kEnd) {
      if (Accept(";")) continue;
      TW_RETURN_IF_ERROR(error_);
      TW_RETURN_IF_ERROR(Statement());
    }
    TW_RETURN_IF_ERROR(error_);
    TW_RETURN_IF_ERROR(CheckUse());
    return std::move(expression_);
  }

 private:
  // --- tokens --------------------------------------------------------------------------------
  Status ErrorAt(std::size_t offset, std::string_view what) const {
    const std::string_view before = text_.substr(0, offset);
    const auto line = std::ranges::count(before, '\n') + 1;
    const std::size_t begin = before.rfind('\n') + 1;  // npos + 1 is 0
    return InvalidArgument(fmt::format("{}:{}:{}: {}", file_, line, offset - begin + 1, what));
  }
  Status Expected(std::string_view what) const {
    constexpr std::size_t kShown = 40;
    const std::string seen = token_.kind == TokenKind::kEnd
                                 ? "the end"
                                 : fmt::format("'{}'", token_.text.substr(0, kShown));
    return ErrorAt(token_.offset, fmt::format("{}, expected {}", seen, what));
  }

  void SkipBlanks() {
    while (position_ < text_.size()) {
      const char c = text_[position_];
      if (c == '#') {
        while (position_ < text_.size() && text_[position_] != '\n') ++position_;
      } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
        ++position_;
      } else {
        return;
      }
    }
  }

  Status Next() {
    SkipBlanks();
    const std::size_t begin = position_;
    token_ = {TokenKind::kEnd, {}, begin};
    if (begin == text_.size()) return {};
    const char c = text_[begin];
    const auto at = [&](std::size_t i) { return i < text_.size() ? text_[i] : '\0'; };
    std::size_t end = begin + 1;
    TokenKind kind = TokenKind::kSign;
    if (IsNameStart(c)) {
      kind = TokenKind::kName;
      while (IsNameStart(at(end)) || IsDigit(at(end))) ++end;
    } else if (IsDigit(c)) {
      kind = TokenKind::kInteger;
      while (IsDigit(at(end))) ++end;
      if (at(end) == '.' && IsDigit(at(end + 1))) {
        kind = TokenKind::kReal;
        for (++end; IsDigit(at(end));) ++end;
      }
      const bool exponent = at(end) == 'e' || at(end) == 'E';
      const std::size_t digits = end + (at(end + 1) == '-' || at(end + 1) == '+' ? 2 : 1);
      if (exponent && IsDigit(at(digits))) {
        kind = TokenKind::kReal;
        for (end = digits; IsDigit(at(end));) ++end;
      }
    } else {
      constexpr std::array<std::string_view, 5> kTwo = {"<=", ">=", "==", "!=", "//"};
      if (std::ranges::find(kTwo, text_.substr(begin, 2)) != kTwo.end()) end = begin + 2;
      if (std::string_view("()[],:;=+-*/%<>!").find(c) == std::string_view::npos) {
        return ErrorAt(begin, fmt::format("character {} has no meaning here",
                                          static_cast<int>(static_cast<unsigned char>(c))));
      }
    }
    token_ = {kind, text_.substr(begin, end - begin), begin};
    position_ = end;
    return {};
  }

  bool Is(std::string_view text) const {
    return token_.kind != TokenKind::kEnd && token_.text == text;
  }
  /// Skips the token if it comes next; an error on the way is kept for the next Expect.
  bool Accept(std::string_view text) {
    if (!error_.ok() || !Is(text)) return false;
    error_ = Next();
    return error_.ok();
  }
  Status Expect(std::string_view text) {
    TW_RETURN_IF_ERROR(error_);
    if (!Is(text)) return Expected(fmt::format("'{}'", text));
    return Next();
  }
  Result<std::string> Name(std::string_view what) {
    TW_RETURN_IF_ERROR(error_);
    if (token_.kind != TokenKind::kName) return Expected(what);
    std::string name(token_.text);
    TW_RETURN_IF_ERROR(Next());
    return name;
  }

  // --- statements ----------------------------------------------------------------------------
  Status Statement() {
    if (Is("size")) return Size();
    if (Is("input") || Is("const")) return Input(Is("const"));
    if (token_.kind != TokenKind::kName)
      return Expected("a statement: size, input, const or a stage");
    return Stage();
  }

  Result<std::string> NewName(std::string_view what) {
    const std::size_t offset = token_.offset;
    TW_ASSIGN_OR_RETURN(auto name, Name(what));
    constexpr std::size_t kLongestName = 64;
    if (IsExpressionKeyword(name) || name.size() > kLongestName) {
      return ErrorAt(offset,
                     fmt::format("'{}' is not a name that can be given", name.substr(0, 64)));
    }
    if (sizes_.contains(name) || tensors_.contains(name) || axes_.contains(name)) {
      return ErrorAt(offset, fmt::format("there is a '{}' already", name));
    }
    return name;
  }

  /// Parses a value of numbers alone, within a range.
  Result<std::int64_t> Number(std::int64_t least, std::int64_t most) {
    const std::size_t offset = token_.offset;
    ExpressionStage scratch;
    std::swap(scratch, stage_);
    ExpressionBuilder builder(expression_, stage_);
    builder_ = &builder;
    auto value = Value();
    std::swap(scratch, stage_);
    builder_ = nullptr;
    TW_RETURN_IF_ERROR(value);
    const ExpressionNode& node = scratch.nodes[static_cast<std::size_t>(*value)];
    if (node.kind != ExprKind::kInt || node.dtype != kInt64) {
      return ErrorAt(offset, "what depends on a tensor or is not an integer, expected an integer");
    }
    if (node.integer < least || node.integer > most) {
      return ErrorAt(offset, fmt::format("{}, expected {} to {}", node.integer, least, most));
    }
    return node.integer;
  }

  Status Size() {
    TW_RETURN_IF_ERROR(Next());
    TW_ASSIGN_OR_RETURN(auto name, NewName("the name of a size"));
    TW_RETURN_IF_ERROR(Expect("="));
    TW_ASSIGN_OR_RETURN(sizes_[name], Number(-kMaxExtent, kMaxExtent));
    return {};
  }

  Status Input(bool constant) {
    const std::size_t offset = token_.offset;
    TW_RETURN_IF_ERROR(Next());
    TW_ASSIGN_OR_RETURN(auto name, NewName("the name of an input"));
    if (!expression_.stages.empty()) {
      return ErrorAt(offset, "an input behind a stage, expected inputs first");
    }
    if (expression_.inputs.size() == kMaxExpressionInputs) {
      return ErrorAt(offset, fmt::format("more than {} inputs", kMaxExpressionInputs));
    }
    TW_RETURN_IF_ERROR(Expect(":"));
    ExpressionInput input;
    const auto dtype = ParseDataType(token_.text);
    if (!dtype.ok()) return Expected("an element type such as float32");
    input.type.dtype = *dtype;
    TW_RETURN_IF_ERROR(Next());
    TW_RETURN_IF_ERROR(Expect("["));
    while (!Is("]")) {
      if (!input.type.shape.empty()) TW_RETURN_IF_ERROR(Expect(","));
      if (input.type.shape.size() == kMaxExpressionAxes) {
        return Expected(fmt::format("at most {} dimensions", kMaxExpressionAxes));
      }
      TW_ASSIGN_OR_RETURN(auto extent, Number(1, kMaxExtent));
      input.type.shape.push_back(extent);
    }
    TW_RETURN_IF_ERROR(Expect("]"));
    TW_RETURN_IF_ERROR(CheckElements(input.type, offset));
    input.name = name;
    input.constant = constant;
    tensors_[name] = static_cast<std::int64_t>(expression_.inputs.size());
    expression_.inputs.push_back(std::move(input));
    used_.push_back(false);
    offsets_.push_back(offset);
    return {};
  }

  Status CheckElements(const TensorType& type, std::size_t offset) const {
    double elements = 1;
    for (std::int64_t extent : type.shape) elements *= static_cast<double>(extent);
    if (elements <= static_cast<double>(kMaxTensorElements)) return {};
    return ErrorAt(offset, fmt::format("{} elements, expected at most 2^40", elements));
  }

  Status Axes(std::vector<ExpressionAxis>& axes, std::string_view end) {
    while (!Is(end)) {
      if (!axes.empty()) TW_RETURN_IF_ERROR(Expect(","));
      if (axes.size() == kMaxExpressionAxes) {
        return Expected(fmt::format("at most {} axes", kMaxExpressionAxes));
      }
      TW_ASSIGN_OR_RETURN(auto name, NewName("the name of an axis"));
      TW_RETURN_IF_ERROR(Expect(":"));
      TW_ASSIGN_OR_RETURN(auto extent, Number(1, kMaxExtent));
      axes.push_back({name, extent});
      pending_.push_back(name);
    }
    return Expect(end);
  }

  /// Returns the reduction that comes next, if any: a name, a bracket and an axis with its colon.
  ExpressionReduction ReductionAhead() const {
    for (int i = 1; i <= static_cast<int>(ExpressionReduction::kArgMin); ++i) {
      const auto reduction = static_cast<ExpressionReduction>(i);
      if (!Is(ReductionName(reduction))) continue;
      Parser ahead(*this);
      if (!ahead.Next().ok() || !ahead.Is("(") || !ahead.Next().ok()) continue;
      const bool name = ahead.token_.kind == TokenKind::kName;
      if (name && ahead.Next().ok() && ahead.Is(":")) return reduction;
    }
    return ExpressionReduction::kNone;
  }

  Status Stage() {
    const std::size_t offset = token_.offset;
    TW_ASSIGN_OR_RETURN(auto name, NewName("a statement"));
    if (expression_.inputs.empty())
      return ErrorAt(offset, "no input before, expected one at least");
    if (expression_.stages.size() == kMaxExpressionStages) {
      return ErrorAt(offset, fmt::format("more than {} stages", kMaxExpressionStages));
    }
    stage_ = {};
    pending_.clear();
    stage_.name = name;
    TW_RETURN_IF_ERROR(Expect("["));
    TW_RETURN_IF_ERROR(Axes(stage_.axes, "]"));
    TW_RETURN_IF_ERROR(Expect("="));
    stage_.reduction = ReductionAhead();
    if (stage_.reduction != ExpressionReduction::kNone) {
      TW_RETURN_IF_ERROR(Next());
      TW_RETURN_IF_ERROR(Expect("("));
      TW_RETURN_IF_ERROR(Axes(stage_.reduce_axes, ")"));
    }
    for (const std::string& axis : pending_) {
      axes_.emplace(axis, static_cast<std::int64_t>(axes_.size()));
    }
    // The map is sorted by name; numbers follow the order of appearance.
    for (std::size_t i = 0; i < pending_.size(); ++i) {
      axes_[pending_[i]] = static_cast<std::int64_t>(i);
    }
    if (axes_.size() != pending_.size()) return ErrorAt(offset, "two axes of one name");
    ExpressionBuilder builder(expression_, stage_);
    builder_ = &builder;
    loads_.clear();
    TW_ASSIGN_OR_RETURN(auto body, Value());
    nodes_ += stage_.nodes.size();
    if (nodes_ > kMaxExpressionNodes) {
      return ErrorAt(offset, fmt::format("more than {} parts of stages", kMaxExpressionNodes));
    }
    TW_RETURN_IF_ERROR(CheckLoads(body));
    const Status finished = builder.Finish(body);
    builder_ = nullptr;
    if (!finished.ok()) return ErrorAt(offset, finished.message());
    TW_RETURN_IF_ERROR(CheckElements(stage_.type(), offset));
    axes_.clear();
    tensors_[name] =
        static_cast<std::int64_t>(expression_.inputs.size() + expression_.stages.size());
    used_.push_back(false);
    offsets_.push_back(offset);
    expression_.stages.push_back(std::move(stage_));
    return {};
  }

  /// Must run before nodes are renumbered: positions of loads are stored by node number.
  Status CheckLoads(int body) {
    ExpressionStage whole = stage_;
    if (static_cast<std::size_t>(body) + 1 != whole.nodes.size()) {
      whole.nodes.resize(static_cast<std::size_t>(body) + 1);
    }
    const auto outside = FindOutOfBoundsRead(expression_, whole);
    if (!outside) return {};
    const auto place = loads_.find(outside->node);
    return ErrorAt(place == loads_.end() ? token_.offset : place->second, outside->reason);
  }

  Status CheckUse() const {
    if (expression_.stages.empty()) return ErrorAt(text_.size(), "no stage, expected one at least");
    for (std::size_t i = 0; i + 1 < used_.size(); ++i) {
      if (used_[i]) continue;
      return ErrorAt(offsets_[i], fmt::format("'{}' is never read",
                                              expression_.NameOf(static_cast<std::int64_t>(i))));
    }
    return {};
  }

  // --- values --------------------------------------------------------------------------------
  /// Adds the position in the text to a node's error.
  Result<int> Made(Result<int> node, std::size_t offset) const {
    if (!node.ok()) return ErrorAt(offset, node.status().message());
    if (stage_.nodes.size() > kMaxExpressionNodes) {
      return ErrorAt(offset, fmt::format("a value of more than {} parts", kMaxExpressionNodes));
    }
    return node;
  }

  Result<int> Value() {
    if (++depth_ > kMaxExpressionDepth) {
      return ErrorAt(token_.offset,
                     fmt::format("more than {} brackets in one another", kMaxExpressionDepth));
    }
    auto value = Or();
    --depth_;
    TW_RETURN_IF_ERROR(error_);
    return value;
  }

  using Operand = Result<int> (Parser::*)();
  struct Sign {
    std::string_view text;
    ExprKind kind;
  };
  Result<int> Chain(Operand operand, std::initializer_list<Sign> signs) {
    auto value = (this->*operand)();
    while (value.ok()) {
      const auto sign = std::ranges::find_if(signs, [&](const Sign& s) { return Is(s.text); });
      if (sign == signs.end()) break;
      const std::size_t offset = token_.offset;
      TW_RETURN_IF_ERROR(Next());
      TW_ASSIGN_OR_RETURN(auto next, (this->*operand)());
      value = Made(builder_->Binary(sign->kind, *value, next), offset);
    }
    return value;
  }

  Result<int> Or() { return Chain(&Parser::And, {{"or", ExprKind::kOr}}); }
  Result<int> And() { return Chain(&Parser::Not, {{"and", ExprKind::kAnd}}); }
  Result<int> Not() {
    if (!Is("not")) return Comparison();
    const std::size_t offset = token_.offset;
    TW_RETURN_IF_ERROR(Next());
    if (++depth_ > kMaxExpressionDepth) return ErrorAt(offset, "too many 'not'");
    auto value = Not();
    --depth_;
    TW_RETURN_IF_ERROR(value);
    return Made(builder_->Not(*value), offset);
  }
  Result<int> Comparison() {
    TW_ASSIGN_OR_RETURN(auto a, Sum());
    static constexpr std::array kSigns = {Sign{"<", ExprKind::kLt},  Sign{"<=", ExprKind::kLe},
                                          Sign{">", ExprKind::kLt},  Sign{">=", ExprKind::kLe},
                                          Sign{"==", ExprKind::kEq}, Sign{"!=", ExprKind::kNe}};
    const auto sign = std::ranges::find_if(kSigns, [&](const Sign& s) { return Is(s.text); });
    if (sign == kSigns.end()) return a;
    const std::size_t offset = token_.offset;
    const bool turned = sign->text[0] == '>';
    TW_RETURN_IF_ERROR(Next());
    TW_ASSIGN_OR_RETURN(auto b, Sum());
    return Made(builder_->Binary(sign->kind, turned ? b : a, turned ? a : b), offset);
  }
  Result<int> Sum() { return Chain(&Parser::Term, {{"+", ExprKind::kAdd}, {"-", ExprKind::kSub}}); }
  Result<int> Term() {
    return Chain(&Parser::Unary,
                 {{"*", ExprKind::kMul}, {"/", ExprKind::kDiv}, {"%", ExprKind::kFloorMod}});
  }

  Result<int> Unary() {
    TW_RETURN_IF_ERROR(error_);
    const Token token = token_;
    if (Accept("-")) {
      if (++depth_ > kMaxExpressionDepth) return ErrorAt(token.offset, "too many signs");
      auto value = Unary();
      --depth_;
      TW_RETURN_IF_ERROR(value);
      return Made(builder_->Negate(*value), token.offset);
    }
    if (Accept("(")) {
      TW_ASSIGN_OR_RETURN(auto value, Value());
      TW_RETURN_IF_ERROR(Expect(")"));
      return value;
    }
    if (token.kind == TokenKind::kInteger) {
      const auto number = ParseInt64(token.text);
      if (!number.ok()) return Expected("an integer of 64 bits");
      TW_RETURN_IF_ERROR(Next());
      return builder_->Int(*number);
    }
    if (token.kind == TokenKind::kReal) {
      const auto number = ParseDouble(token.text);
      if (!number.ok()) return Expected("a number");
      TW_RETURN_IF_ERROR(Next());
      return builder_->Float(*number);
    }
    if (token.kind != TokenKind::kName) return Expected("a value");
    TW_RETURN_IF_ERROR(Next());
    if (Is("[")) return Load(token);
    if (Is("(")) return Called(token);
    if (token.text == "inf") return builder_->Float(std::numeric_limits<double>::infinity());
    if (const auto axis = axes_.find(token.text); axis != axes_.end()) {
      return builder_->AxisVar(axis->second);
    }
    if (const auto size = sizes_.find(token.text); size != sizes_.end()) {
      return builder_->Int(size->second);
    }
    return ErrorAt(token.offset,
                   fmt::format("'{}' is neither an axis nor a size here", token.text));
  }

  Result<std::vector<int>> Values(std::string_view begin, std::string_view end) {
    TW_RETURN_IF_ERROR(Expect(begin));
    std::vector<int> values;
    while (!Is(end)) {
      if (!values.empty()) TW_RETURN_IF_ERROR(Expect(","));
      TW_ASSIGN_OR_RETURN(auto value, Value());
      values.push_back(value);
    }
    TW_RETURN_IF_ERROR(Expect(end));
    return values;
  }

  Result<int> Load(const Token& name) {
    const auto tensor = tensors_.find(name.text);
    if (tensor == tensors_.end()) {
      return ErrorAt(name.offset, fmt::format("no input or stage '{}' before", name.text));
    }
    TW_ASSIGN_OR_RETURN(auto indices, Values("[", "]"));
    used_[static_cast<std::size_t>(tensor->second)] = true;
    auto load = Made(builder_->Load(tensor->second, std::move(indices)), name.offset);
    if (load.ok()) loads_[*load] = name.offset;
    return load;
  }

  Result<int> Called(const Token& name) {
    TW_ASSIGN_OR_RETURN(auto args, Values("(", ")"));
    return Made(MakeCalled(name, std::move(args)), name.offset);
  }

  Result<int> MakeCalled(const Token& name, std::vector<int> args) {
    const auto takes = [&](std::size_t count) -> Status {
      if (args.size() == count) return {};
      return InvalidArgument(
          fmt::format("{} takes {} arguments, not {}", name.text, count, args.size()));
    };
    for (const ExpressionFunction& function : FunctionsOfExpressions()) {
      if (function.name != name.text) continue;
      TW_RETURN_IF_ERROR(takes(static_cast<std::size_t>(function.arguments)));
      return builder_->Call(function.name, std::move(args));
    }
    static constexpr std::array kBinary = {Sign{"max", ExprKind::kMax}, Sign{"min", ExprKind::kMin},
                                           Sign{"shl", ExprKind::kShiftLeft},
                                           Sign{"shr", ExprKind::kShiftRight}};
    const auto binary =
        std::ranges::find_if(kBinary, [&](const Sign& s) { return s.text == name.text; });
    if (binary != kBinary.end()) {
      TW_RETURN_IF_ERROR(takes(2));
      return builder_->Binary(binary->kind, args[0], args[1]);
    }
    if (name.text == "select") {
      TW_RETURN_IF_ERROR(takes(3));
      return builder_->Select(args[0], args[1], args[2]);
    }
    if (name.text == "clamp") {
      TW_RETURN_IF_ERROR(takes(3));
      TW_ASSIGN_OR_RETURN(auto low, builder_->Binary(ExprKind::kMax, args[0], args[1]));
      return builder_->Binary(ExprKind::kMin, low, args[2]);
    }
    if (name.text == "relu") {
      TW_RETURN_IF_ERROR(takes(1));
      return builder_->Binary(ExprKind::kMax, args[0], builder_->Int(0));
    }
    if (const auto dtype = ParseDataType(name.text); dtype.ok()) {
      TW_RETURN_IF_ERROR(takes(1));
      return builder_->Cast(*dtype, args[0]);
    }
    return InvalidArgument(fmt::format("no function '{}'", name.text));
  }

  std::string_view text_, file_;
  std::size_t position_ = 0;
  Token token_;
  Status error_;
  int depth_ = 0;
  std::size_t nodes_ = 0;
  Expression expression_;
  ExpressionStage stage_;
  ExpressionBuilder* builder_ = nullptr;
  std::map<std::string, std::int64_t, std::less<>> sizes_, tensors_, axes_;
  std::vector<std::string> pending_;  // axes of the current stage, in order
  std::vector<bool> used_;            // by tensor
  std::vector<std::size_t> offsets_;  // by tensor: of its statement
  std::map<int, std::size_t> loads_;  // of the current stage: position in the text
};

}  // namespace

bool IsExpressionKeyword(std::string_view name) {
  constexpr std::array<std::string_view, 16> kWords = {
      "size",  "input", "const", "and", "or",  "not",     "inf",    "select",
      "clamp", "relu",  "shl",   "shr", "sum", "product", "argmax", "argmin"};
  if (std::ranges::find(kWords, name) != kWords.end() || name == "max" || name == "min")
    return true;
  return ParseDataType(name).ok() ||
         std::ranges::find(FunctionsOfExpressions(), name, &ExpressionFunction::name) !=
             FunctionsOfExpressions().end();
}

Result<Expression> ParseExpression(std::string_view text, std::string_view file) {
  return Parser(text, file).Run();
}

}  // namespace tilewright
