// Recorded spaces: text form, choice of the recorded configs, and their measurement.

#include "search/recorded/recorded_space.h"

#include <algorithm>
#include <cstdio>
#include <deque>
#include <set>
#include <utility>

#include "search/space.h"
#include "src/base/files/file.h"
#include "src/base/json.h"
#include "src/base/strings.h"

namespace tilewright::search {
namespace {

constexpr std::string_view kVersion = "1";
constexpr std::string_view kSeconds = "seconds";
// Shares of the recorded configs, the preferred template first.
constexpr double kFirstShare = 0.6;

std::string Line(std::string_view key, std::string_view value) {
  return "# " + std::string(key) + " " + std::string(value) + "\n";
}

/// Drops knob values evenly, always from the knob with most values, until the product fits.
std::vector<RecordedSpace::KeptKnob> Reduce(const ConfigSpace& space,
                                            const std::vector<std::int64_t>& always,
                                            std::int64_t configs) {
  std::vector<std::int64_t> counts;
  double product = 1;
  for (const Knob& knob : space.knobs()) {
    counts.push_back(knob.size());
    product *= static_cast<double>(knob.size());
  }
  while (product > static_cast<double>(configs)) {
    const auto most = std::max_element(counts.begin(), counts.end());
    if (*most <= 2) break;
    product = product / static_cast<double>(*most) * static_cast<double>(*most - 1);
    --*most;
  }
  std::vector<RecordedSpace::KeptKnob> kept;
  for (std::size_t k = 0; k < counts.size(); ++k) {
    const Knob& knob = space.knobs()[k];
    std::set<std::int64_t> digits;
    for (std::int64_t i = 0; i < counts[k]; ++i) {
      digits.insert(counts[k] == 1 ? 0 : i * (knob.size() - 1) / (counts[k] - 1));
    }
    if (k < always.size()) digits.insert(always[k]);
    RecordedSpace::KeptKnob one{knob.name(), {digits.begin(), digits.end()}, {}};
    for (std::int64_t digit : one.digits) one.values.push_back(knob[digit].ToString());
    kept.push_back(std::move(one));
  }
  return kept;
}

Result<std::vector<std::int64_t>> ParseDigits(std::string_view text) {
  std::vector<std::int64_t> digits;
  for (const std::string& part : Split(text, ',')) {
    TW_ASSIGN_OR_RETURN(const std::int64_t digit, ParseInt64(part));
    digits.push_back(digit);
  }
  return digits;
}

/// Parses "<name> <digits> [<values>]".
Result<RecordedSpace::KeptKnob> ParseKnob(std::string_view text) {
  std::vector<std::string> words = Split(text, ' ');
  if (words.size() < 2) return InvalidArgument("expected a knob's name, digits and values");
  if (words.size() > 3) {  // blanks in values
    words[2] = std::string(text.substr(words[0].size() + words[1].size() + 2));
    words.resize(3);
  }
  RecordedSpace::KeptKnob knob;
  knob.name = words[0];
  TW_ASSIGN_OR_RETURN(knob.digits, ParseDigits(words[1]));
  if (words.size() == 2) return knob;
  const auto values = ParseJson(words[2]);
  if (!values.ok() || !values->is_array() || values->size() != knob.digits.size()) {
    return InvalidArgument("expected a list of as many values as digits");
  }
  for (const Json& value : *values) knob.values.push_back(DumpJson(value));
  return knob;
}

Status ParseHeader(std::string_view key, std::string_view value, RecordedSpace& recorded_space) {
  if (key == "landscape") {
    if (value == kVersion) return {};
    return InvalidArgument("version " + std::string(value) + ", expected " + std::string(kVersion));
  }
  if (key == "workload") {
    TW_ASSIGN_OR_RETURN(recorded_space.task.workload, Workload::Parse(value));
  } else if (key == "target") {
    TW_ASSIGN_OR_RETURN(recorded_space.task.target, Target::Parse(value));
  } else if (key == "epilogue") {
    TW_ASSIGN_OR_RETURN(recorded_space.epilogue, Epilogue::Parse(value));
  } else if (key == "device") {
    recorded_space.device = value;
  } else if (key == "metric") {
    recorded_space.metric = value;
  } else if (key == "template") {
    const std::vector<std::string> words = Split(value, ' ');
    if (words.size() != 2) return InvalidArgument("expected a template's key and version");
    TW_ASSIGN_OR_RETURN(const std::int64_t version, ParseInt64(words[1]));
    recorded_space.spaces.push_back({words[0], static_cast<int>(version), {}});
  } else if (key == "knob") {
    if (recorded_space.spaces.empty()) return InvalidArgument("a knob before the first template");
    TW_ASSIGN_OR_RETURN(RecordedSpace::KeptKnob knob, ParseKnob(value));
    recorded_space.spaces.back().knobs.push_back(std::move(knob));
  } else {
    return InvalidArgument("unknown key " + std::string(key));
  }
  return {};
}

/// Returns the recorded values of a knob. Errors: kNotFound naming the value that it lacks.
Result<Knob> KeptValues(const RecordedSpace::KeptKnob& kept, const Knob& knob) {
  if (knob.name() != kept.name) return NotFound("no knob " + kept.name);
  std::vector<KnobValue> values;
  for (std::size_t i = 0; i < kept.digits.size(); ++i) {
    std::int64_t digit = kept.digits[i];
    if (!kept.values.empty()) {
      digit = 0;
      while (digit < knob.size() && knob[digit].ToString() != kept.values[i]) ++digit;
    }
    if (digit < 0 || digit >= knob.size()) {
      return NotFound(kept.values.empty()
                          ? "knob " + kept.name + ", value " + std::to_string(digit)
                          : "knob " + kept.name + " has no value " + kept.values[i]);
    }
    values.push_back(knob[digit]);
  }
  return Knob::Candidates(knob.name(), knob.kind(), std::move(values));
}

bool HasValues(const RecordedSpace::ReducedSpace& space) {
  return std::ranges::none_of(space.knobs, [](const auto& knob) { return knob.values.empty(); });
}

Result<RecordedSpace::Row> ParseRow(std::string_view line) {
  const std::vector<std::string> cells = Split(line, ',');
  if (cells.size() != 4) return InvalidArgument("expected space,index,outcome,value");
  const Result<std::int64_t> space = ParseInt64(cells[0]);
  const Result<std::int64_t> index = ParseInt64(cells[1]);
  const Result<Outcome> outcome = ParseOutcome(cells[2]);
  const Result<double> value = ParseDouble(cells[3]);
  TW_RETURN_IF_ERROR(space);
  TW_RETURN_IF_ERROR(index);
  TW_RETURN_IF_ERROR(outcome);
  TW_RETURN_IF_ERROR(value);
  return RecordedSpace::Row{{static_cast<int>(*space), *index}, *outcome, *value};
}

}  // namespace

std::string RecordedSpace::ToString() const {
  std::string text = Line("landscape", kVersion) + Line("workload", task.workload.Key()) +
                     Line("target", task.target.ToString()) +
                     Line("epilogue", epilogue.ToString()) + Line("device", device);
  if (metric != kSeconds) text += Line("metric", metric);
  for (const ReducedSpace& space : spaces) {
    text += Line("template", space.template_key + " " + std::to_string(space.template_version));
    for (const KeptKnob& knob : space.knobs) {
      std::string digits, values;
      for (std::int64_t digit : knob.digits) {
        digits += (digits.empty() ? "" : ",") + std::to_string(digit);
      }
      for (const std::string& value : knob.values) values += (values.empty() ? " [" : ",") + value;
      if (!values.empty()) values += "]";
      text += Line("knob", knob.name + " " + digits + values);
    }
  }
  for (const Row& row : rows) {
    char value[32];
    // Times are not accurate to more digits; counts are.
    std::snprintf(value, sizeof(value), metric == kSeconds ? "%.4g" : "%.15g", row.value);
    text += std::to_string(row.point.space) + "," + std::to_string(row.point.index) + "," +
            std::string(OutcomeName(row.outcome)) + "," + value + "\n";
  }
  return text;
}

Result<RecordedSpace> RecordedSpace::Parse(std::string_view text) {
  RecordedSpace recorded_space;
  std::int64_t number = 0;
  for (const std::string& line : Split(text, '\n')) {
    ++number;
    if (line.empty()) continue;
    Status status;
    if (line.starts_with("# ")) {
      const std::string_view rest = std::string_view(line).substr(2);
      const std::size_t space = rest.find(' ');
      const bool bare = space == std::string_view::npos;
      status =
          ParseHeader(rest.substr(0, space), bare ? "" : rest.substr(space + 1), recorded_space);
    } else {
      Result<Row> row = ParseRow(line);
      status = row.status();
      if (row.ok()) recorded_space.rows.push_back(*row);
    }
    if (!status.ok()) {
      return InvalidArgument("line " + std::to_string(number) + ": " + status.message());
    }
  }
  std::sort(recorded_space.rows.begin(), recorded_space.rows.end(),
            [](const Row& a, const Row& b) { return a.point < b.point; });
  return recorded_space;
}

Result<RecordedSpace> RecordedSpace::Load(const std::string& path) {
  TW_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  Result<RecordedSpace> recorded_space = Parse(text);
  if (!recorded_space.ok()) return recorded_space.status().WithContext(path);
  return recorded_space;
}

Result<SearchSpace> RecordedSpace::Space(const TemplateRegistry& templates) const {
  SearchSpace space;
  space.task = task;
  space.epilogue = epilogue;
  for (const ReducedSpace& reduced : spaces) {
    const TemplateEntry* entry = templates.Find(reduced.template_key);
    const bool same_version = entry != nullptr && entry->version == reduced.template_version;
    if (entry == nullptr || (!same_version && !HasValues(reduced))) {
      return NotFound("template " + reduced.template_key + " version " +
                      std::to_string(reduced.template_version));
    }
    TW_ASSIGN_OR_RETURN(const ConfigSpace whole, entry->define_space(task.workload, task.target));
    if (whole.knobs().size() != reduced.knobs.size()) {
      return NotFound("template " + reduced.template_key + ": other knobs");
    }
    ConfigSpace part;
    for (std::size_t k = 0; k < reduced.knobs.size(); ++k) {
      auto knob = KeptValues(reduced.knobs[k], whole.knobs()[k]);
      if (!knob.ok()) return knob.status().WithContext("template " + reduced.template_key);
      TW_RETURN_IF_ERROR(part.Add(*std::move(knob)));
    }
    space.templates.push_back(entry);
    space.spaces.push_back(std::move(part));
  }
  if (space.spaces.empty()) return InvalidArgument("recorded space: no template");
  return space;
}

std::vector<std::string> RecordedSpace::OtherVersions(const TemplateRegistry& templates) const {
  std::vector<std::string> sentences;
  for (const ReducedSpace& reduced : spaces) {
    const TemplateEntry* entry = templates.Find(reduced.template_key);
    if (entry == nullptr || entry->version == reduced.template_version) continue;
    sentences.push_back(reduced.template_key + ": results of version " +
                        std::to_string(reduced.template_version) + ", features of version " +
                        std::to_string(entry->version));
  }
  return sentences;
}

const RecordedSpace::Row* RecordedSpace::Find(Point point) const {
  const auto row = std::lower_bound(rows.begin(), rows.end(), point,
                                    [](const Row& a, Point b) { return a.point < b; });
  return row != rows.end() && row->point == point ? &*row : nullptr;
}

double RecordedSpace::best_value() const {
  double best = 0;
  for (const Row& row : rows) {
    if (row.outcome == Outcome::kOk && (best == 0 || row.value < best)) best = row.value;
  }
  return best;
}

RecordedSpace PlanRecordedSpace(const SearchSpace& space, std::int64_t configs) {
  RecordedSpace recorded_space;
  recorded_space.task = space.task;
  recorded_space.epilogue = space.epilogue;
  const std::vector<Point> defaults = DefaultPoints(space);
  for (std::size_t i = 0; i < space.spaces.size(); ++i) {
    const double share = space.spaces.size() == 1 ? 1
                         : i == 0
                             ? kFirstShare
                             : (1 - kFirstShare) / static_cast<double>(space.spaces.size() - 1);
    std::vector<std::int64_t> always;
    for (Point point : defaults) {
      if (point.space == static_cast<int>(i)) always = space.spaces[i].Digits(point.index);
    }
    recorded_space.spaces.push_back(
        {std::string(space.templates[i]->key), space.templates[i]->version,
         Reduce(space.spaces[i], always,
                static_cast<std::int64_t>(share * static_cast<double>(configs)))});
  }
  return recorded_space;
}

Status RecordSpace(const TemplateRegistry& templates, RecordedSpace& recorded_space,
                   measure::Measurer& measurer,
                   const std::function<bool(std::size_t, std::size_t)>& progress) {
  TW_ASSIGN_OR_RETURN(const SearchSpace space, recorded_space.Space(templates));
  const TemplateAnalyzer analyzer(space);
  std::deque<Point> left;
  for (std::size_t s = 0; s < space.spaces.size(); ++s) {
    for (std::int64_t i = 0; i < space.spaces[s].size(); ++i) {
      const Point point{static_cast<int>(s), i};
      if (recorded_space.Find(point) == nullptr && analyzer.Check(point).ok())
        left.push_back(point);
    }
  }
  // Shuffled, so that a partly recorded space is a fair sample.
  Random random(1);
  for (std::size_t i = left.size(); i > 1; --i) std::swap(left[i - 1], left[random.Below(i)]);
  const std::size_t legal = recorded_space.rows.size() + left.size();
  recorded_space.device = measurer.device().ToString();
  std::vector<Point> tickets;
  bool go_on = true;
  while (measurer.in_flight() > 0 || (go_on && !left.empty())) {
    while (go_on && !left.empty() && measurer.in_flight() < measurer.capacity()) {
      measure::Request request;
      request.ticket = tickets.size();
      request.candidate = ToCandidate(space, left.front());
      request.best_seconds = recorded_space.best_value();
      tickets.push_back(left.front());
      left.pop_front();
      TW_RETURN_IF_ERROR(measurer.Submit(std::move(request)));
    }
    TW_ASSIGN_OR_RETURN(const std::optional<measure::Reply> reply, measurer.Next(1.0));
    if (!reply.has_value()) continue;
    const Trial& trial = reply->trial;
    // A clearly slow one is not verified, but its time is still recorded.
    const bool ok = trial.outcome == Outcome::kOk;
    recorded_space.metric = trial.metric;
    recorded_space.rows.push_back({tickets[reply->ticket], trial.outcome, ok ? trial.value : 0});
    go_on = go_on && progress(recorded_space.rows.size(), legal);
  }
  std::sort(
      recorded_space.rows.begin(), recorded_space.rows.end(),
      [](const RecordedSpace::Row& a, const RecordedSpace::Row& b) { return a.point < b.point; });
  return {};
}

Status RecordedSpaceAnalyzer::Check(Point point) const {
  if (recorded_space_.Find(point) != nullptr) return {};
  return InvalidArgument("not recorded");
}

Status RecordedSpaceAnalyzer::Features(Point point, std::span<float> out) const {
  TW_RETURN_IF_ERROR(Check(point));
  return templates_.Features(point, out);
}

}  // namespace tilewright::search
