#include "src/session/misses.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "src/base/format_printable.h"
#include "src/session/tasks.h"
#include "src/session/text_table.h"

namespace tilewright::session {
namespace {

using records::AnswerLevel;
using records::MissReason;

/// Returns "#0", "#3-#7" for ascending numbers.
std::vector<std::string> RangesOf(const std::vector<std::size_t>& numbers) {
  std::vector<std::string> ranges;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    ranges.push_back(end == i + 1 ? fmt::format("#{}", numbers[i])
                                  : fmt::format("#{}-#{}", numbers[i], numbers[end - 1]));
    i = end;
  }
  return ranges;
}

}  // namespace

TextGroups::Group& TextGroups::Of(const std::string& text) {
  ++count_;
  const auto group = std::ranges::find(groups_, text, &Group::text);
  if (group != groups_.end()) return *group;
  return groups_.emplace_back(Group{text, {}, {}});
}

void TextGroups::Add(const std::string& text, std::string name) {
  Of(text).names.push_back(std::move(name));
}

void TextGroups::Add(const std::string& text, std::size_t number) {
  Of(text).numbers.push_back(number);
}

std::string TextGroups::Lines(std::size_t lines) const {
  std::vector<const Group*> order;
  for (const Group& group : groups_) order.push_back(&group);
  const auto size = [](const Group* group) { return group->names.size() + group->numbers.size(); };
  std::ranges::stable_sort(order, std::greater(), size);
  std::string text;
  for (const Group* group : order) {
    std::vector<std::string> items = RangesOf(group->numbers);
    items.insert(items.end(), group->names.begin(), group->names.end());
    const std::string head = fmt::format("  {:>3}  ", size(group));
    text += WrapText(head, group->text, TextWidth(), head.size()) + "\n" +
            NameLines(items, lines, TextWidth(), head.size()) + "\n";
  }
  return text;
}

std::string MissReasonText(AnswerLevel level, const records::MissCause& cause) {
  const bool none = cause.reason == MissReason::kNoRecords;
  switch (level) {
    case AnswerLevel::kHit:
      return {};
    case AnswerLevel::kNearMatch:
      return records::MissText(cause) + (none ? "; config of a similar workload" : "; its config");
    case AnswerLevel::kModel:
      return records::MissText(cause) + "; config chosen by the cost model";
    case AnswerLevel::kDefault:
      return records::MissText(cause) + "; default config";
    case AnswerLevel::kMiss:
      return records::MissText(cause);
  }
  return {};
}

std::string FileToTune(const std::vector<OperatorReport>& operators, const ModelOptions& model,
                       std::span<const ModelSource> sources, const Target& target,
                       const std::optional<SizeRange>& range) {
  const std::string& file = sources.front().path;
  std::set<std::string> untuned;
  for (const OperatorReport& op : operators) {
    const bool hit = op.answer == records::AnswerLevel::kHit;
    if (!op.workload_key.empty() && !hit) untuned.insert(op.workload_key);
  }
  if (untuned.size() != 1 || sources.size() != 1) return file;
  const auto numbered = [&](std::size_t i) { return fmt::format("{}#{}", file, i); };
  if (range) {
    const auto of_positions = PositionTasks(model, file, *range, target);
    if (!of_positions.ok()) return file;
    if (const auto& found = *of_positions) {
      for (std::size_t i = 0; found->size() > 1 && i < found->size(); ++i) {
        if ((*found)[i].workload.Key() == *untuned.begin()) return numbered(i);
      }
      return file;
    }
  }
  const auto tasks = TasksOfFile(sources.front(), target);
  if (!tasks.ok() || tasks->size() < 2) return file;
  for (std::size_t i = 0; i < tasks->size(); ++i) {
    std::vector<search::TuneTask> own = {(*tasks)[i]};
    if (range) UseRangeOfEntries(*range, own);
    for (const search::TuneTask& task : own) {
      if (task.task.workload.Key() == *untuned.begin()) return numbered(i);
    }
  }
  return file;
}

void NoteMisses(const std::vector<OperatorReport>& operators, const MissNote& text,
                const NoteSink& note) {
  TextGroups misses, skipped;
  std::size_t tunable = 0;
  for (const OperatorReport& op : operators) {
    const std::string name = Printable(op.value);
    if (!op.skipped_record.empty()) skipped.Add(Printable(op.skipped_record), name);
    if (op.workload_key.empty()) continue;
    ++tunable;
    if (op.answer == AnswerLevel::kHit) continue;
    // Without an answer an operator gets the default config.
    const AnswerLevel level = op.answer == AnswerLevel::kMiss ? AnswerLevel::kDefault : op.answer;
    misses.Add(Printable(MissReasonText(level, op.cause)), name);
  }
  const auto pass_on = [&note](std::string lines) {
    if (lines.ends_with('\n')) lines.pop_back();
    note(FormatPrintable("{}", MultilineText{lines}));
  };
  if (!skipped.empty()) pass_on("skipped: records that cannot be used here\n" + skipped.Lines());
  if (misses.empty()) return;
  const std::string command =
      text.command.empty() ? "" : "to tune them:\n  " + Printable(text.command);
  pass_on(WrapText("", fmt::format("{} of {} tunable operators have no record of their own for {}:",
                                   misses.count(), tunable, Printable(text.target))) +
          "\n" + misses.Lines() + command);
}

}  // namespace tilewright::session
