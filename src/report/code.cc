// Code of a config: loops, and machine code with its hot loop.
// | Loops of an assembly listing are found by their backward jumps: a jump to an earlier label
// closes a loop. Among the innermost loops, the one with the most multiply-adds takes the time of a
// kernel, because unrolled register tiles consist of multiply-adds.

#include "src/report/code.h"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "src/base/strings.h"
#include "src/codegen/codegen.h"
#include "src/schedule/lower/lower.h"
#include "src/target/device.h"
#include "src/templates/limits.h"
#include "src/vta/encoding.h"
#include "src/vta/stream_builder.h"

namespace tilewright::report {
namespace {

constexpr std::size_t kMaxLoopLines = 400;
constexpr std::int64_t kMaxAssemblyLines = 700;

struct AssemblyLoop {
  std::int64_t first = 0, last = 0;  // lines, from 1
  std::int64_t products = 0, instructions = 0;
};

/// Returns the first word of an instruction; empty for labels, directives and comments.
std::string_view MnemonicOf(std::string_view line) {
  const std::size_t start = line.find_first_not_of(" \t");
  if (start == std::string_view::npos || start == 0) return {};
  line.remove_prefix(start);
  if (line.front() == '.' || line.front() == '#' || line.front() == '/') return {};
  return line.substr(0, line.find_first_of(" \t"));
}

bool IsProduct(std::string_view mnemonic) {
  constexpr std::array kStarts = {"vfmadd", "vfnmadd", "vpdp", "vpmadd", "vmul", "fmla",
                                  "fmadd",  "sdot",    "udot", "smlal",  "fma",  "mul"};
  return std::ranges::any_of(kStarts,
                             [mnemonic](const char* start) { return mnemonic.starts_with(start); });
}

/// Returns at most `most` lines, with a last line that states the number of the others.
std::string FirstLines(const std::string& text, std::size_t most) {
  std::size_t lines = 0, end = 0;
  while (lines < most && end < text.size()) {
    const std::size_t next = text.find('\n', end);
    end = next == std::string::npos ? text.size() : next + 1;
    ++lines;
  }
  if (end >= text.size()) return text;
  const auto all = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  return text.substr(0, end) + "… " + std::to_string(all - lines) + " more lines\n";
}

/// Shortens a long listing to the lines around its hot loop.
void CutAround(CodeListing& listing) {
  const std::vector<std::string> lines = Split(listing.assembly, '\n');
  const auto count = static_cast<std::int64_t>(lines.size());
  if (count <= kMaxAssemblyLines) return;
  const std::int64_t middle = listing.hot_first > 0 ? listing.hot_first : 1;
  const std::int64_t first =
      std::clamp<std::int64_t>(middle - kMaxAssemblyLines / 4, 1, count - kMaxAssemblyLines + 1);
  const std::int64_t last = first + kMaxAssemblyLines - 1;
  std::string text;
  std::int64_t added = 0;
  if (first > 1) {
    text = "… " + std::to_string(first - 1) + " lines above\n";
    added = 1;
  }
  for (std::int64_t i = first; i <= last; ++i)
    text += lines[static_cast<std::size_t>(i - 1)] + "\n";
  if (last < count) text += "… " + std::to_string(count - last) + " lines below\n";
  listing.assembly = std::move(text);
  if (listing.hot_first == 0) return;
  listing.hot_first += added - first + 1;
  listing.hot_last = std::min(listing.hot_last, last) + added - first + 1;
}

Status FillListing(const TemplateEntry& entry, const Candidate& candidate, bool assembly,
                   CodeListing& listing) {
  const Task& task = candidate.task;
  if (entry.build_stream != nullptr) {
    TW_ASSIGN_OR_RETURN(auto stream, BuildVtaStream(entry, task.workload, candidate.epilogue,
                                                    task.target, candidate.config));
    listing.loops = FirstLines(vta::Listing(stream.instructions), kMaxLoopLines);
    return {};
  }
  TW_ASSIGN_OR_RETURN(auto kernel, ApplyTemplate(entry, task.workload, candidate.epilogue,
                                                 task.target, candidate.config));
  TW_ASSIGN_OR_RETURN(auto program, Lower(kernel.schedule, "kernel", LowerLimitsFor(task.target)));
  listing.loops = FirstLines(ToString(program), kMaxLoopLines);
  if (!assembly) return {};
  TW_ASSIGN_OR_RETURN(listing.assembly, Generate({program}, task.target, Emit::kAssembly));
  std::tie(listing.hot_first, listing.hot_last) = HotLoop(listing.assembly);
  CutAround(listing);
  return {};
}

}  // namespace

std::pair<std::int64_t, std::int64_t> HotLoop(std::string_view assembly) {
  std::map<std::string, std::int64_t, std::less<>> labels;
  std::vector<AssemblyLoop> loops;
  std::vector<std::string_view> mnemonics = {""};  // by line, from 1
  std::int64_t line_number = 0;
  while (!assembly.empty()) {
    const std::size_t end = std::min(assembly.find('\n'), assembly.size());
    const std::string_view line = assembly.substr(0, end);
    assembly.remove_prefix(std::min(end + 1, assembly.size()));
    ++line_number;
    const std::string_view mnemonic = MnemonicOf(line);
    mnemonics.push_back(mnemonic);
    if (mnemonic.empty()) {
      const std::size_t colon = line.find(':');
      if (colon != std::string_view::npos && !line.starts_with('#')) {
        labels.emplace(line.substr(0, colon), line_number);
      }
      continue;
    }
    const std::size_t goal_at = line.rfind(".L");
    const bool jumps = mnemonic.front() == 'j' || mnemonic.front() == 'b' ||
                       mnemonic.starts_with("cb") || mnemonic.starts_with("tb") ||
                       mnemonic.starts_with("@");
    if (goal_at == std::string_view::npos || !jumps) continue;
    std::string_view goal = line.substr(goal_at);
    goal = goal.substr(0, goal.find_first_of(" \t,;#"));
    const auto label = labels.find(goal);
    if (label != labels.end()) loops.push_back({label->second, line_number});
  }
  const AssemblyLoop* hottest = nullptr;
  for (AssemblyLoop& loop : loops) {
    const bool innermost = std::ranges::none_of(loops, [&loop](const AssemblyLoop& other) {
      const bool same = other.first == loop.first && other.last == loop.last;
      return !same && other.first >= loop.first && other.last <= loop.last;
    });
    if (!innermost) continue;
    for (std::int64_t i = loop.first; i <= loop.last; ++i) {
      const std::string_view mnemonic = mnemonics[static_cast<std::size_t>(i)];
      loop.instructions += mnemonic.empty() ? 0 : 1;
      loop.products += IsProduct(mnemonic) ? 1 : 0;
    }
    const auto weight = [](const AssemblyLoop& of) {
      return std::pair(of.products, of.instructions);
    };
    if (hottest == nullptr || weight(loop) > weight(*hottest)) hottest = &loop;
  }
  return hottest == nullptr ? std::pair<std::int64_t, std::int64_t>(0, 0)
                            : std::pair(hottest->first, hottest->last);
}

CodeListing ListingOf(const TemplateRegistry& templates, const Trial& trial, std::string title,
                      bool assembly) {
  const Candidate& candidate = trial.candidate;
  CodeListing listing;
  listing.title = std::move(title);
  listing.template_key = candidate.template_key;
  listing.config = candidate.config.ToString();
  listing.value = trial.value;
  const TemplateEntry* entry = templates.Find(candidate.template_key);
  if (entry == nullptr || entry->version != candidate.template_version) {
    listing.loops = entry == nullptr
                        ? "this program has no such template\n"
                        : "measured with version " + std::to_string(candidate.template_version) +
                              " of the template; this program has version " +
                              std::to_string(entry->version) + "\n";
    return listing;
  }
  const Status made = FillListing(*entry, candidate, assembly, listing);
  if (!made.ok()) listing.loops = "cannot be made here: " + made.message() + "\n";
  return listing;
}

}  // namespace tilewright::report
