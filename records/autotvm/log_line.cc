// One line of an AutoTVM log. Format 0.2:
//   {"input": [target, task, args, kwargs],
//    "config": {"index": i, "code_hash": null, "entity": [[name, kind, value], …]},
//    "result": [costs, error_no, all_cost, timestamp], "version": 0.2, "tvm_version": "…"}
// and 0.1, which alone has the key v:
//   {"i": [target, task, args, kwargs, workload, {"i": i, "c": hash, "e": entities, "t":
//   template}],
//    "r": result, "v": 0.1}
// Keys come in any order.

#include "records/autotvm/log_line.h"

#include <array>
#include <charconv>
#include <cmath>
#include <numeric>
#include <utility>

#include "records/autotvm/json_scanner.h"
#include "src/base/printable.h"
#include "src/base/strings.h"

namespace tilewright::records {
namespace {

constexpr std::array<std::pair<std::string_view, KnobKind>, 4> kKinds = {{
    {"sp", KnobKind::kSplit},
    {"re", KnobKind::kReorder},
    {"an", KnobKind::kAnnotate},
    {"ot", KnobKind::kOther},
}};

void ReadInts(JsonScanner& scanner, LogLine& line, LogEntity& entity) {
  entity.scalar = LogEntity::Scalar::kInts;
  entity.first = line.ints.size();
  for (bool first = true; scanner.More(first, ']');) line.ints.push_back(scanner.Integer());
  entity.count = line.ints.size() - entity.first;
}

/// Reads a list of integers or of words.
void ReadList(JsonScanner& scanner, LogLine& line, LogEntity& entity) {
  scanner.Expect('[');
  if (scanner.Peek() != '"') return ReadInts(scanner, line, entity);
  entity.scalar = LogEntity::Scalar::kWords;
  entity.first = line.words.size();
  for (bool first = true; scanner.More(first, ']');) line.words.push_back(scanner.PlainText());
  entity.count = line.words.size() - entity.first;
}

void ReadScalar(JsonScanner& scanner, LogEntity& entity) {
  using Scalar = LogEntity::Scalar;
  if (scanner.Peek() == '"') {
    entity.scalar = Scalar::kText;
    entity.text = scanner.PlainText();
  } else if (scanner.AcceptWord("true")) {
    entity.scalar = Scalar::kBool;
    entity.integer = 1;
  } else if (scanner.AcceptWord("false")) {
    entity.scalar = Scalar::kBool;
  } else {
    const double number = scanner.Number();
    constexpr double kExact = 9007199254740992.0;  // 2^53
    if (std::floor(number) == number && std::abs(number) <= kExact) {
      entity.scalar = Scalar::kInt;
      entity.integer = static_cast<std::int64_t>(number);
    } else {
      entity.scalar = Scalar::kReal;
      entity.real = number;
    }
  }
}

void ReadEntity(JsonScanner& scanner, LogLine& line) {
  LogEntity entity;
  scanner.Expect('[');
  entity.name = scanner.PlainText();
  scanner.Expect(',');
  const std::string_view kind = scanner.PlainText();
  const auto* found = kKinds.begin();
  while (found != kKinds.end() && found->first != kind) ++found;
  if (found == kKinds.end()) return scanner.Fail("a knob kind: sp, re, an or ot");
  entity.kind = found->second;
  scanner.Expect(',');
  if (scanner.Peek() == '[') {
    ReadList(scanner, line, entity);
  } else {
    ReadScalar(scanner, entity);
  }
  const bool needs_ints = entity.kind == KnobKind::kSplit || entity.kind == KnobKind::kReorder;
  if (needs_ints && (entity.scalar != LogEntity::Scalar::kInts || entity.count == 0)) {
    scanner.Fail("a list of integers before this");
  }
  scanner.Expect(']');
  for (const LogEntity& other : line.entities) {
    if (other.name == entity.name) scanner.Fail("each knob once");
  }
  line.entities.push_back(entity);
}

void ReadEntities(JsonScanner& scanner, LogLine& line) {
  scanner.Expect('[');
  for (bool first = true; scanner.More(first, ']');) ReadEntity(scanner, line);
}

/// Reads the config object of either format: "index" or "i", "code_hash" or "c", "entity" or "e",
/// and "t".
void ReadConfig(JsonScanner& scanner, LogLine& line) {
  bool has_entities = false;
  scanner.Expect('{');
  for (bool first = true; scanner.More(first, '}');) {
    const std::string_view key = scanner.Key();
    if (key == "index" || key == "i") {
      line.index = scanner.Integer();
    } else if (key == "code_hash" || key == "c") {
      if (!scanner.AcceptWord("null")) line.code_hash = scanner.PlainText();
    } else if (key == "entity" || key == "e") {
      if (has_entities) scanner.Fail("the entities once");
      has_entities = true;
      ReadEntities(scanner, line);
    } else if (key == "t") {
      if (!scanner.AcceptWord("null")) line.legacy_template = scanner.PlainText();
    } else {
      scanner.Skip();
    }
  }
  if (!has_entities) scanner.Fail("a config with its entities before this");
}

void ReadResult(JsonScanner& scanner, LogLine& line) {
  scanner.Expect('[');
  scanner.Expect('[');
  line.costs.clear();
  for (bool first = true; scanner.More(first, ']');) line.costs.push_back(scanner.Number());
  if (line.costs.empty()) scanner.Fail("at least one cost before this");
  scanner.Expect(',');
  line.error = scanner.Integer();
  if (line.error < 0 || line.error > 255) scanner.Fail("an error number before this");
  scanner.Expect(',');
  line.all_cost = scanner.Number();
  scanner.Expect(',');
  line.timestamp = scanner.Number();
  if (!std::isfinite(line.timestamp)) scanner.Fail("a time that is a number before this");
  scanner.Expect(']');
}

/// Reads the input array of 0.1: the items of 0.2, a workload, and the config.
void ReadLegacyInput(JsonScanner& scanner, LogLine& line) {
  const char* begin = nullptr;
  const char* end = nullptr;
  scanner.Expect('[');
  for (int i = 0; i < 5; ++i) {
    const std::string_view item = scanner.Skip();
    if (i == 0) begin = item.data();
    end = item.data() + item.size();
    scanner.Expect(',');
  }
  ReadConfig(scanner, line);
  scanner.Expect(']');
  if (scanner.ok()) line.input = {begin, static_cast<std::size_t>(end - begin)};
}

void ReadLine(JsonScanner& scanner, LogLine& line) {
  bool has_input = false, has_config = false, has_result = false;
  const auto once = [&scanner](bool& seen) {
    if (seen) scanner.Fail("each key once");
    seen = true;
  };
  scanner.Expect('{');
  for (bool first = true; scanner.More(first, '}');) {
    const std::string_view key = scanner.Key();
    if (key == "input") {
      once(has_input);
      if (scanner.Peek() != '[') scanner.Fail("the list of target, task, arguments");
      line.input = scanner.Skip();
    } else if (key == "i") {
      once(has_input);
      once(has_config);
      line.legacy = true;
      ReadLegacyInput(scanner, line);
    } else if (key == "config") {
      once(has_config);
      ReadConfig(scanner, line);
    } else if (key == "result" || key == "r") {
      once(has_result);
      ReadResult(scanner, line);
    } else if (key == "tvm_version") {
      line.tvm_version = scanner.PlainText();
    } else if (key == "version" || key == "v") {
      line.version = scanner.Skip();
    } else {
      scanner.Skip();
    }
  }
  if (!scanner.AtEnd()) scanner.Fail("the end of the line");
  if (!has_input) scanner.Fail("an object with \"input\" (or \"i\")");
  if (!has_config) scanner.Fail("an object with \"config\"");
  if (!has_result) scanner.Fail("an object with \"result\" (or \"r\")");
}

void AppendScalar(std::string& out, const LogEntity& entity) {
  switch (entity.scalar) {
    case LogEntity::Scalar::kBool:
      out += entity.integer != 0 ? "true" : "false";
      return;
    case LogEntity::Scalar::kReal:
      if (std::isnan(entity.real)) {
        out += "NaN";
      } else if (std::isinf(entity.real)) {
        out += entity.real > 0 ? "Infinity" : "-Infinity";
      } else {
        out += ShortestDouble(entity.real);
      }
      return;
    case LogEntity::Scalar::kText:
      out += '"';
      out += entity.text;
      out += '"';
      return;
    default:
      out += std::to_string(entity.integer);
  }
}

void AppendInt(std::string& out, std::int64_t value) {
  char buffer[24];
  out.append(buffer, std::to_chars(buffer, buffer + sizeof(buffer), value).ptr);
}

void AppendInts(std::string& out, std::span<const std::int64_t> ints, std::string_view comma,
                bool drop_first) {
  out += '[';
  for (std::size_t i = 0; i < ints.size(); ++i) {
    if (i > 0) out += comma;
    AppendInt(out, drop_first && i == 0 ? -1 : ints[i]);
  }
  out += ']';
}

void AppendWords(std::string& out, std::span<const std::string_view> words,
                 std::string_view comma) {
  out += '[';
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) out += comma;
    out += '"';
    out += words[i];
    out += '"';
  }
  out += ']';
}

/// Checks the format of the line, if the line states one: in another format the same keys may have
/// another meaning.
Status CheckVersion(const LogLine& line) {
  std::string_view version = line.version;
  if (version.size() >= 2 && version.front() == '"')
    version = version.substr(1, version.size() - 2);
  if (line.version.empty() || version == "0.2" || version == "0.1") return {};
  return Unsupported("a log of format " + Printable(version.substr(0, 20)) +
                     ", expected 0.2 or 0.1");
}

}  // namespace

double LogLine::cost() const {
  return std::accumulate(costs.begin(), costs.end(), 0.0) / static_cast<double>(costs.size());
}

void LogLine::Clear() {
  input = legacy_template = code_hash = tvm_version = version = {};
  legacy = false;
  index = error = 0;
  all_cost = timestamp = 0;
  entities.clear();
  ints.clear();
  words.clear();
  costs.clear();
}

void LogLine::AppendEntities(std::string& out, Style style) const {
  const std::string_view comma = style == Style::kSpaced ? ", " : ",";
  out += '[';
  for (std::size_t i = 0; i < entities.size(); ++i) {
    const LogEntity& entity = entities[i];
    if (i > 0) out += comma;
    out += "[\"";
    out += entity.name;
    out += '"';
    out += comma;
    out += '"';
    out += kKinds[static_cast<std::size_t>(entity.kind)].first;
    out += '"';
    out += comma;
    if (entity.scalar == LogEntity::Scalar::kInts) {
      const bool drop = style == Style::kSameConfig && entity.kind == KnobKind::kSplit;
      AppendInts(out, Ints(entity), comma, drop);
    } else if (entity.scalar == LogEntity::Scalar::kWords) {
      AppendWords(out, Words(entity), comma);
    } else {
      AppendScalar(out, entity);
    }
    out += ']';
  }
  out += ']';
}

Status ParseLogLine(std::string_view text, LogLine& line) {
  line.Clear();
  if (text.size() > kMaxLogLine) {
    return InvalidArgument("a line of " + std::to_string(text.size()) +
                           " bytes, expected at most " + std::to_string(kMaxLogLine));
  }
  const std::size_t tab = text.find('\t');
  if (tab != std::string_view::npos && text.substr(0, tab).find('{') == std::string_view::npos) {
    return Unsupported(
        "a pickled record, which only Python can read; write it again with AutoTVM's JSON "
        "protocol");
  }
  JsonScanner scanner(text);
  ReadLine(scanner, line);
  if (line.index < 0) scanner.Fail("a config index of 0 or more");
  TW_RETURN_IF_ERROR(scanner.status());
  return CheckVersion(line);
}

Status ParseEntities(std::string_view text, LogLine& line) {
  line.Clear();
  JsonScanner scanner(text);
  ReadEntities(scanner, line);
  if (!scanner.AtEnd()) scanner.Fail("the end");
  return scanner.status();
}

KnobValue KnobValueOf(const LogLine& line, const LogEntity& entity) {
  using Scalar = LogEntity::Scalar;
  switch (entity.scalar) {
    case Scalar::kInts: {
      const auto ints = line.Ints(entity);
      return KnobValue{std::vector<std::int64_t>(ints.begin(), ints.end())};
    }
    case Scalar::kWords: {
      const auto words = line.Words(entity);
      return KnobValue{std::vector<std::string>(words.begin(), words.end())};
    }
    case Scalar::kInt:
      return KnobValue{entity.integer};
    case Scalar::kBool:
      return KnobValue{entity.integer != 0};
    case Scalar::kReal:
      return KnobValue{ShortestDouble(entity.real)};
    case Scalar::kText:
      break;
  }
  return KnobValue{std::string(entity.text)};
}

}  // namespace tilewright::records
