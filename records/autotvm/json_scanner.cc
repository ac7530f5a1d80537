// Scanner of JSON text. The first error is kept and later calls return at once, so that callers
// read a whole line and check once.

#include "records/autotvm/json_scanner.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

namespace tilewright::records {
namespace {

constexpr int kMaxSkipDepth = 64;  // bits of the mask of open brackets

void AppendUtf8(std::string& out, std::uint32_t code) {
  const auto put = [&out](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | (code >> 6));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xE0 | (code >> 12));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

/// Returns the character of an escape; 0 if JSON does not define it.
char EscapeOf(char letter) {
  constexpr std::string_view kLetters = "\"\\/bfnrt";
  constexpr std::string_view kQuantizationMap = "\"\\/\b\f\n\r\t";
  const std::size_t position = kLetters.find(letter);
  return position == std::string_view::npos ? '\0' : kQuantizationMap[position];
}

}  // namespace

Status JsonScanner::status() const {
  if (ok()) return {};
  return InvalidArgument("column " + std::to_string(failed_at_ - begin_ + 1) + ": expected " +
                         expected_);
}

void JsonScanner::Fail(const char* expected) {
  if (expected_ != nullptr) return;
  expected_ = expected;
  failed_at_ = at_;
  at_ = end_;
}

bool JsonScanner::FailFor(char c) {
  switch (c) {
    case '[':
      Fail("'['");
      break;
    case ']':
      Fail("']'");
      break;
    case '{':
      Fail("'{'");
      break;
    case '}':
      Fail("'}'");
      break;
    case ':':
      Fail("':'");
      break;
    case '"':
      Fail("a text in double quotes");
      break;
    default:
      Fail("','");
  }
  return false;
}

bool JsonScanner::More(bool& first, char close) {
  if (!ok() || Accept(close)) return false;
  if (Peek() == 0) {
    Fail(close == ']' ? "']'; the line is cut off" : "'}'; the line is cut off");
    return false;
  }
  if (!first) Expect(',');
  first = false;
  return ok();
}

std::string_view JsonScanner::Key() {
  const std::string_view key = PlainText();
  Expect(':');
  return key;
}

std::string_view JsonScanner::RawText(bool* escaped) {
  if (!Expect('"')) return {};
  const char* begin = at_;
  while (true) {
    const auto* quote =
        static_cast<const char*>(std::memchr(at_, '"', static_cast<std::size_t>(end_ - at_)));
    if (quote == nullptr) {
      Fail("a closing quote; the line is cut off");
      return {};
    }
    const auto* slash =
        static_cast<const char*>(std::memchr(at_, '\\', static_cast<std::size_t>(quote - at_)));
    if (slash == nullptr) {
      at_ = quote + 1;
      return {begin, static_cast<std::size_t>(quote - begin)};
    }
    *escaped = true;
    at_ = slash + 2;  // never past end_: the quote follows the backslash
  }
}

std::string_view JsonScanner::PlainText() {
  bool escaped = false;
  const std::string_view text = RawText(&escaped);
  if (escaped) Fail("a name without escapes");
  return ok() ? text : std::string_view();
}

std::string JsonScanner::Text() {
  bool escaped = false;
  const std::string_view raw = RawText(&escaped);
  if (!escaped) return std::string(raw);
  std::string text;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\') {
      text += raw[i];
      continue;
    }
    const char letter = ++i < raw.size() ? raw[i] : '\0';
    std::uint32_t code = 0;
    if (letter == 'u' && i + 4 < raw.size() &&
        std::from_chars(raw.data() + i + 1, raw.data() + i + 5, code, 16).ptr ==
            raw.data() + i + 5) {
      AppendUtf8(text, code);
      i += 4;
    } else if (const char meaning = EscapeOf(letter); meaning != '\0') {
      text += meaning;
    } else {
      Fail("a text with JSON's escapes");
      return {};
    }
  }
  return text;
}

std::int64_t JsonScanner::Integer() {
  Peek();
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(at_, end_, value);
  const bool fraction = end != end_ && (*end == '.' || *end == 'e' || *end == 'E');
  if (error != std::errc() || fraction) {
    Fail("an integer of 64 bits");
    return 0;
  }
  at_ = end;
  return value;
}

double JsonScanner::Number() {
  const char first = Peek();
  if (first == 'N' && AcceptWord("NaN")) return std::numeric_limits<double>::quiet_NaN();
  if (first == 'I' && AcceptWord("Infinity")) return std::numeric_limits<double>::infinity();
  if (first == '-' && AcceptWord("-Infinity")) return -std::numeric_limits<double>::infinity();
  double value = 0;
  const auto [end, error] = std::from_chars(at_, end_, value);
  // from_chars also accepts "inf" and "nan", which JSON lacks.
  if (error != std::errc() || (first != '-' && (first < '0' || first > '9')) ||
      !std::isfinite(value)) {
    Fail("a number");
    return 0;
  }
  at_ = end;
  return value;
}

bool JsonScanner::AcceptWord(std::string_view word) {
  Peek();
  if (!std::string_view(at_, static_cast<std::size_t>(end_ - at_)).starts_with(word)) return false;
  at_ += word.size();
  return true;
}

std::string_view JsonScanner::Skip() {
  Peek();
  const char* begin = at_;
  std::uint64_t open = 0;  // one bit per open bracket, the latest lowest: 1 for an object
  int depth = 0;
  do {
    const char c = Peek();
    if (c == '"') {
      bool escaped = false;
      RawText(&escaped);
    } else if (c == '[' || c == '{') {
      ++depth;
      ++at_;
      open = open << 1 | (c == '{' ? 1U : 0U);
      if (depth == kMaxSkipDepth) Fail("at most 63 nested brackets");
    } else if (c == ']' || c == '}') {
      const bool matches = depth > 0 && (open & 1) == (c == '}' ? 1U : 0U);
      ++at_;
      open >>= 1;
      --depth;
      if (!matches) Fail("a value");
    } else if (c == 0) {
      Fail("a value; the line is cut off");
    } else if ((c == ',' || c == ':') && depth > 0) {
      ++at_;
    } else if (c == ',' || c == ':') {
      Fail("a value");
    } else {
      while (at_ != end_ && std::memchr(",:[]{}\" \t", *at_, 9) == nullptr) ++at_;
    }
    if (!ok()) return {};
  } while (depth > 0);
  return {begin, static_cast<std::size_t>(at_ - begin)};
}

AutotvmValue JsonScanner::List(int depth) {
  AutotvmValue list = AutotvmValue::List({});
  Expect('[');
  for (bool first = true; More(first, ']');) list.items.push_back(Value(depth + 1));
  return list;
}

AutotvmValue JsonScanner::Value(int depth) {
  if (depth > kMaxListDepth) Fail("at most 16 nested lists");
  if (!ok()) return {};
  switch (Peek()) {
    case '[':
      return List(depth);
    case '"':
      return AutotvmValue::Text(Text());
    case 'n':
      if (AcceptWord("null")) return {};
      break;
    case 't':
      if (AcceptWord("true")) return AutotvmValue::Int(1);
      break;
    case 'f':
      if (AcceptWord("false")) return AutotvmValue::Int(0);
      break;
    default:
      break;
  }
  const char* begin = at_;
  std::int64_t integer = 0;
  const auto [end, error] = std::from_chars(at_, end_, integer);
  const bool whole =
      error == std::errc() && (end == end_ || (*end != '.' && *end != 'e' && *end != 'E'));
  if (whole) {
    at_ = end;
    return AutotvmValue::Int(integer);
  }
  at_ = begin;
  return AutotvmValue::Real(Number());
}

}  // namespace tilewright::records
