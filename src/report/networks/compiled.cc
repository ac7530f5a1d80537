#include "src/report/networks/compiled.h"

#include <fmt/format.h>

#include <algorithm>

#include "records/lookup.h"
#include "src/base/format_printable.h"
#include "src/base/json.h"
#include "src/base/printable.h"
#include "src/base/text/plural.h"
#include "src/session/format.h"
#include "src/session/text_table.h"

namespace tilewright::report {
namespace {

double InMegabytes(std::int64_t bytes) { return 1e-6 * static_cast<double>(bytes); }

std::string WrappedParagraph(const std::string& text) { return session::WrapText("", text) + "\n"; }

/// Passes on the first of some names, if there are any.
void NoteNames(const char* what, const std::vector<std::string>& names,
               const session::NoteSink& note) {
  constexpr std::size_t kMaxNamed = 5;
  if (names.empty()) return;
  const std::size_t named = std::min(names.size(), kMaxNamed);
  std::string text;
  for (std::size_t i = 0; i < named; ++i) text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > named) text += fmt::format(" and {} more", names.size() - named);
  note(FormatPrintable("{}: {}", what, text));
}

Json BlocksJson(const OperatorReport& op) {
  Json list = Json::array();
  for (const BlockReport& block : op.blocks) {
    Json json = {{"template", block.template_key}, {"config", block.config}};
    if (block.measured_rows > 0) {
      json["measured_rows"] = block.measured_rows;
      json["seconds"] = block.seconds;
    }
    json["entries"] = block.entries;
    json["gain"] = block.gain;
    json["sizes"] = Json::array();
    for (const auto& [least, most] : block.sizes) {
      json["sizes"].push_back({{"from", least}, {"to", most}});
    }
    list.push_back(std::move(json));
  }
  return list;
}

std::string SizesText(const BlockReport& block) {
  constexpr std::size_t kMaxNamed = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(block.sizes.size(), kMaxNamed); ++i) {
    const auto& [least, most] = block.sizes[i];
    text += (i == 0 ? "" : ", ") +
            (least == most ? std::to_string(least) : fmt::format("{} to {}", least, most));
  }
  if (block.sizes.size() > kMaxNamed) {
    text += fmt::format(" and {} more intervals", block.sizes.size() - kMaxNamed);
  }
  return text.empty() ? "no size" : text;
}

/// Describes the configs of dense layers by size; layers of one kernel have one line.
std::string BlocksText(const CompiledModel& model) {
  std::string text;
  std::vector<std::string> known;
  for (const OperatorReport& op : model.operators) {
    const bool tuned = !op.blocks.empty() && op.blocks.front().measured_rows > 0;
    if (!tuned || std::ranges::find(known, op.kernel) != known.end()) continue;
    known.push_back(op.kernel);
    std::string line = Printable(op.value) + ": ";
    for (std::size_t i = 0; i < op.blocks.size(); ++i) {
      const BlockReport& block = op.blocks[i];
      line += fmt::format("{}sizes {} by the record of {}", i == 0 ? "" : "; ", SizesText(block),
                          Counted(block.measured_rows, "row"));
      if (i > 0) line += fmt::format(", saves {:.1f} %", 100 * block.gain);
    }
    text += WrappedParagraph(line);
  }
  return text;
}

/// Explains the difference between the sum of the operators and the time of a run.
std::string BenchSumText(const BenchReport& report) {
  const double between = report.total_seconds - report.operators_seconds;
  const std::string sum =
      "sum of the operators " + session::ShortSeconds(report.operators_seconds) + ", ";
  const std::string total = "total " + session::ShortSeconds(report.total_seconds);
  if (report.min_seconds < report.operators_seconds && between > 0) {
    return sum + total + "; runs were disturbed: the fastest took less than the sum";
  }
  constexpr double kVisible = 0.01;  // of the total
  if (between < 0 && -between < kVisible * report.total_seconds) return sum + total;
  if (between >= 0) {
    return sum + "between operators (copies of inputs and outputs, starting threads) " +
           session::ShortSeconds(between) + ", " + total;
  }
  return sum + "which is " + session::ShortSeconds(-between) + " more than the " + "total of " +
         session::ShortSeconds(report.total_seconds) +
         ": operators are timed in runs of their own, with a clock read after each";
}

}  // namespace

Json SyntheticConstantsJson(std::int64_t constants) {
  if (constants == 0) return nullptr;
  return {{"count", constants}, {"seed", "name"}};
}

Json CompiledJson(const CompiledModel& model) {
  Json operators = Json::array();
  for (const OperatorReport& op : model.operators) {
    operators.push_back({{"value", op.value},
                         {"op", op.op},
                         {"kernel", op.kernel},
                         {"task", op.workload_key},
                         {"template", op.template_key},
                         {"config", op.config},
                         {"tuned", op.tuned},
                         {"imported", op.imported},
                         {"verified", op.verified},
                         {"answer", std::string(records::AnswerLevelName(op.answer))},
                         {"source", op.source},
                         {"layout", op.layout},
                         {"explanation", op.explanation},
                         {"passed_over", op.skipped_record},
                         {"macs", op.macs},
                         {"bytes", op.bytes}});
    if (op.max_abs_error) operators.back()["max_abs_error"] = *op.max_abs_error;
    if (!op.blocks.empty()) operators.back()["blocks"] = BlocksJson(op);
  }
  return {{"library", model.library_path},
          {"kernels", model.kernels},
          {"layout_changes", model.transforms},
          {"arena_bytes", model.arena_bytes},
          {"constant_bytes", model.constant_bytes},
          {"untuned", model.untuned().size()},
          {"layouts",
           {{"choices", model.layouts.choices},
            {"changed", model.layouts.changed},
            {"rule_seconds", model.layouts.rule_seconds},
            {"seconds", model.layouts.seconds},
            {"exact", model.layouts.exact}}},
          {"operators", std::move(operators)}};
}

Json CompileCheckJson(const CompileCheck& check, const std::string& level) {
  Json not_compared = Json::array();
  for (const auto& [value, reason] : check.not_compared) {
    not_compared.push_back({{"operator", value}, {"reason", reason}});
  }
  return {{"level", level},
          {"ran", check.ran},
          {"not_run", check.not_run},
          {"operators", check.operators},
          {"compared", check.compared},
          {"elements", check.elements},
          {"seconds", check.seconds},
          {"not_compared", std::move(not_compared)},
          {"not_proved", check.not_proved}};
}

std::string CompiledText(const CompiledModel& model, const std::string& output) {
  std::string text;
  if (!model.variants.empty()) {
    text += Counted(std::ssize(model.variants), "shape variant") + "\n";
  }
  text += WrappedParagraph(fmt::format(
      "{}: {}, {}, {}, {:.1f} MB constants, {:.1f} MB memory, {} untuned; planned "
      "in {:.1f} s, built in {:.1f} s",
      Printable(output), Counted(std::ssize(model.operators), "operator"),
      Counted(model.kernels, "kernel"), Counted(model.transforms, "layout change"),
      InMegabytes(model.constant_bytes), InMegabytes(model.arena_bytes), model.untuned().size(),
      model.plan_seconds, model.build_seconds + model.link_seconds));
  if (const LayoutReport& layouts = model.layouts; layouts.changed > 0) {
    text += WrappedParagraph(fmt::format(
        "layouts: {} of {} with a choice {} another layout than alone, which saves an estimated "
        "{:.1f} % of the time ({})",
        layouts.changed, Counted(layouts.choices, "operator"),
        layouts.changed == 1 ? "takes" : "take", 100 * (1 - layouts.seconds / layouts.rule_seconds),
        layouts.exact ? "no choice saves more" : "by a bounded search"));
  }
  text += BlocksText(model);
  if (const CompileCheck& check = model.check; check.ran) {
    text += WrappedParagraph(
        fmt::format("checked in {:.1f} s: all results are written, {} of {} compared with the "
                    "reference, {}",
                    check.seconds, check.compared, Counted(check.operators, "operator"),
                    Counted(check.elements, "element")));
  }
  return text;
}

void NoteUnchecked(const CompileCheck& check, const session::NoteSink& note) {
  if (!check.ran) {
    note(FormatPrintable(
        "not run here and compared with nothing: {}{}", check.not_run,
        check.not_proved.empty() ? "; by their code all kernels write all of their results" : ""));
  }
  std::vector<std::string> not_compared;
  for (const auto& [value, reason] : check.not_compared) {
    if (check.ran) not_compared.push_back(value + ": " + reason);
  }
  NoteNames("not compared with the reference", not_compared, note);
  NoteNames("not proved to write all of the result", check.not_proved, note);
}

Json BenchJson(const std::string& model, const BenchReport& report,
               std::int64_t synthetic_constants) {
  Json rows = Json::array();
  for (const BenchReport::Row& row : report.rows) {
    rows.push_back({{"value", row.value},
                    {"op", row.op},
                    {"layout", row.layout},
                    {"seconds", row.seconds},
                    {"macs", row.macs},
                    {"bytes", row.bytes},
                    {"roofline_share", row.roofline_share}});
  }
  return {{"model", model},
          {"threads", report.threads},
          {"operators_seconds", report.operators_seconds},
          {"between_operators_seconds", report.total_seconds - report.operators_seconds},
          {"total_seconds", report.total_seconds},
          {"least_seconds", report.min_seconds},
          {"gflops", report.gflops()},
          {"roofline_share", report.roofline_share},
          {"rounds", report.rounds},
          {"made_up_constants", SyntheticConstantsJson(synthetic_constants)},
          {"operators", std::move(rows)}};
}

std::string BenchText(const std::string& model, bool on_gpu, const BenchReport& report,
                      int columns) {
  session::TextTable table({{"value", false, 16},
                            {"operator", false, 16},
                            {"layout"},
                            {"time", true},
                            {"GFLOP/s", true},
                            {"roofl.", true}},
                           columns);
  for (const BenchReport::Row& row : report.rows) {
    const double gflops = row.seconds > 0 ? 2e-9 * static_cast<double>(row.macs) / row.seconds : 0;
    table.AddRow({Printable(row.value), Printable(row.op), Printable(row.layout),
                  session::ShortSeconds(row.seconds),
                  row.macs > 0 ? fmt::format("{:.1f}", gflops) : "-",
                  session::RooflineShareText(row.roofline_share, 1)});
  }
  const std::string how =
      on_gpu ? "tensors copied there and back"
             : fmt::format("{}, {:.1f} % of roofline", Counted(report.threads, "thread"),
                           100 * report.roofline_share);
  return table.Take() + BenchSumText(report) + "\n" +
         FormatPrintable("{}: {} per run (fastest {}), {}, {:.1f} GFLOP/s, {}\n", model,
                         session::ShortSeconds(report.total_seconds),
                         session::ShortSeconds(report.min_seconds), how, report.gflops(),
                         Counted(report.rounds, "run"));
}

}  // namespace tilewright::report
