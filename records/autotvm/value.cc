// Arguments of tasks as trees, parsed from Python notation or JSON and written as either. Equal
// values have equal texts.

#include "records/autotvm/value.h"

#include <array>
#include <charconv>
#include <cmath>

#include "src/base/strings.h"

namespace tilewright::records {
namespace {

using Kind = AutotvmValue::Kind;

// The longest argument list of the packages has 200 items.
constexpr std::size_t kMaxLength = 1 << 16;

/// Reader of one literal from left to right.
class LiteralReader {
 public:
  explicit LiteralReader(std::string_view text) : text_(text) {}

  Result<AutotvmValue> Read(int depth) {
    SkipSpaces();
    if (depth > kMaxListDepth) return Error("at most 16 nested lists");
    if (at_ == text_.size()) return Error("a value");
    const char c = text_[at_];
    if (c == '(' || c == '[') return ReadList(c == '(' ? ')' : ']', depth);
    if (c == '\'' || c == '"') return ReadText(c);
    struct Word {
      std::string_view word;
      AutotvmValue value;
    };
    const std::array words = {
        Word{"None", {}},
        Word{"null", {}},
        Word{"{}", {}},  // the last part of a log's input
        Word{"True", AutotvmValue::Int(1)},
        Word{"true", AutotvmValue::Int(1)},
        Word{"False", AutotvmValue::Int(0)},
        Word{"false", AutotvmValue::Int(0)},
    };
    for (const Word& word : words) {
      if (text_.substr(at_).starts_with(word.word)) {
        at_ += word.word.size();
        return word.value;
      }
    }
    return ReadNumber();
  }

  bool AtEnd() {
    SkipSpaces();
    return at_ == text_.size();
  }
  Status Error(std::string_view expected) const {
    return InvalidArgument("AutoTVM tuple: position " + std::to_string(at_) + ": expected " +
                           std::string(expected));
  }

 private:
  void SkipSpaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) {
      ++at_;
    }
  }

  Result<AutotvmValue> ReadList(char close, int depth) {
    ++at_;
    AutotvmValue list = AutotvmValue::List({});
    while (true) {
      SkipSpaces();
      if (at_ < text_.size() && text_[at_] == close) {
        ++at_;
        return list;
      }
      TW_ASSIGN_OR_RETURN(auto item, Read(depth + 1));
      list.items.push_back(std::move(item));
      SkipSpaces();
      if (at_ < text_.size() && text_[at_] == ',') {
        ++at_;
      } else if (at_ == text_.size() || text_[at_] != close) {
        return Error(std::string("',' or '") + close + "'");
      }
    }
  }

  Result<AutotvmValue> ReadText(char quote) {
    ++at_;
    AutotvmValue value = AutotvmValue::Text({});
    while (at_ < text_.size() && text_[at_] != quote) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      value.text += text_[at_++];
    }
    if (at_ == text_.size()) return Error(std::string("a closing ") + quote);
    ++at_;
    return value;
  }

  Result<AutotvmValue> ReadNumber() {
    const char* begin = text_.data() + at_;
    const char* end = text_.data() + text_.size();
    std::int64_t integer = 0;
    double real = 0;
    const auto whole = std::from_chars(begin, end, integer);
    const auto number = std::from_chars(begin, end, real);
    if (number.ec != std::errc()) return Error("a number, a text in quotes, a tuple or None");
    at_ += static_cast<std::size_t>(number.ptr - begin);
    if (whole.ec == std::errc() && whole.ptr == number.ptr) return AutotvmValue::Int(integer);
    return AutotvmValue::Real(real);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

/// Appends a text in quotes: a backslash precedes the quote and the backslash; JSON also requires
/// escaped control characters.
void AppendQuoted(std::string& out, std::string_view text, char quote) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out += quote;
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (quote == '"' && byte < 0x20) {
      out += "\\u00";
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
      continue;
    }
    if (c == quote || c == '\\') out += '\\';
    out += c;
  }
  out += quote;
}

struct Notation {
  char open, close, quote;
  std::string_view none;
  bool one_item_comma;
};

constexpr Notation kPython = {'(', ')', '\'', "None", true};

void Append(std::string& out, const AutotvmValue& value, const Notation& notation) {
  switch (value.kind) {
    case Kind::kNone:
      out += notation.none;
      return;
    case Kind::kInt:
      out += std::to_string(value.integer);
      return;
    case Kind::kReal:
      out += ShortestDouble(value.real);
      return;
    case Kind::kText:
      AppendQuoted(out, value.text, notation.quote);
      return;
    case Kind::kList:
      break;
  }
  out += notation.open;
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    if (i > 0) out += ", ";
    Append(out, value.items[i], notation);
  }
  if (notation.one_item_comma && value.items.size() == 1) out += ',';
  out += notation.close;
}

}  // namespace

AutotvmValue AutotvmValue::Int(std::int64_t value) {
  AutotvmValue v;
  v.kind = Kind::kInt;
  v.integer = value;
  return v;
}

AutotvmValue AutotvmValue::Real(double value) {
  constexpr double kExact = 9007199254740992.0;  // 2^53: beyond it not every integer is a double
  if (std::floor(value) == value && std::abs(value) <= kExact) {
    return Int(static_cast<std::int64_t>(value));
  }
  AutotvmValue v;
  v.kind = Kind::kReal;
  v.real = value;
  return v;
}

AutotvmValue AutotvmValue::Text(std::string value) {
  AutotvmValue v;
  v.kind = Kind::kText;
  v.text = std::move(value);
  return v;
}

AutotvmValue AutotvmValue::List(std::vector<AutotvmValue> items) {
  AutotvmValue v;
  v.kind = Kind::kList;
  v.items = std::move(items);
  return v;
}

bool AutotvmValue::IsInts() const {
  if (kind != Kind::kList) return false;
  for (const AutotvmValue& item : items) {
    if (!item.is(Kind::kInt)) return false;
  }
  return true;
}

std::vector<std::int64_t> AutotvmValue::Ints() const {
  std::vector<std::int64_t> numbers;
  numbers.reserve(items.size());
  for (const AutotvmValue& item : items) numbers.push_back(item.integer);
  return numbers;
}

bool AutotvmValue::IsTensor() const {
  return kind == Kind::kList && items.size() == 3 && items[0].is(Kind::kText) &&
         items[0].text == "TENSOR" && items[1].IsInts() && items[2].is(Kind::kText);
}

std::string PythonText(const AutotvmValue& value) {
  std::string out;
  Append(out, value, kPython);
  return out;
}

std::string PythonTuple(std::string_view name, const std::vector<AutotvmValue>& args) {
  std::string out = "(";
  AppendQuoted(out, name, kPython.quote);
  if (args.empty()) out += ',';
  for (const AutotvmValue& arg : args) {
    out += ", ";
    Append(out, arg, kPython);
  }
  out += ')';
  return out;
}

std::string JsonText(const AutotvmValue& value) {
  std::string out;
  Append(out, value, {'[', ']', '"', "null", false});
  return out;
}

Result<AutotvmValue> ParseAutotvmValue(std::string_view text) {
  LiteralReader reader(text);
  if (text.size() > kMaxLength) return reader.Error("at most 65536 characters");
  TW_ASSIGN_OR_RETURN(auto value, reader.Read(0));
  if (!reader.AtEnd()) return reader.Error("the end");
  return value;
}

}  // namespace tilewright::records
