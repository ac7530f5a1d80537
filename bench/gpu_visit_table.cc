// Table of a visit: the results of its steps from its directory, as Markdown.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <utility>

#include "bench/gpu_visit.h"
#include "src/base/files/file.h"
#include "src/base/strings.h"

namespace tilewright::bench {
namespace {

using nlohmann::json;

constexpr double kMicro = 1e6;

std::string TextOf(const std::string& path) {
  const auto text = ReadFile(path, std::int64_t{1} << 30);
  return text.ok() ? *text : std::string();
}

json JsonOf(const std::string& path) {
  json value = json::parse(TextOf(path), nullptr, /*allow_exceptions=*/false);
  return value.is_discarded() ? json() : value;
}

/// Returns the last line of a log that is a JSON object.
json LastJsonOf(const std::string& path) {
  const std::vector<std::string> lines = Split(TextOf(path), '\n');
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    if (!line->starts_with('{')) continue;
    json value = json::parse(*line, nullptr, /*allow_exceptions=*/false);
    if (!value.is_discarded()) return value;
  }
  return {};
}

std::string Cell(std::string text) {
  std::ranges::replace(text, '|', '/');
  std::ranges::replace(text, '\n', ' ');
  return text;
}

std::string Microseconds(double seconds) {
  return seconds > 0 ? fmt::format("{:.2f}", kMicro * seconds) : "-";
}

/// Returns a number of an object, 0 if it is not one.
double Number(const json& object, const char* name) {
  return object.is_object() && object.contains(name) && object[name].is_number()
             ? object[name].get<double>()
             : 0;
}

struct Step {
  std::string name;
  int code = 0;
  double seconds = 0;
};

std::vector<Step> StepsOf(const std::string& folder) {
  std::vector<Step> steps;
  for (const std::string& line : Split(TextOf(folder + "/steps.tsv"), '\n')) {
    const std::vector<std::string> parts = Split(line, '\t');
    if (parts.size() != 3) continue;
    steps.push_back({parts[0], std::atoi(parts[1].c_str()), std::atof(parts[2].c_str())});
  }
  return steps;
}

/// Returns the seconds of the fastest call of the vendor's libraries by PyTorch, over all turns; 0:
/// none.
double PeerSeconds(const std::vector<json>& turns, const std::string& name) {
  double best = 0;
  for (const json& turn : turns) {
    if (!turn.contains("times") || !turn["times"].contains(name)) continue;
    for (const auto& [form, microseconds] : turn["times"][name].items()) {
      if (!microseconds.is_number()) continue;
      const double seconds = microseconds.get<double>() / kMicro;
      if (best == 0 || seconds < best) best = seconds;
    }
  }
  return best;
}

struct Sum {
  double ours = 0, peer = 0;
  int tasks = 0;
};

std::string TaskTable(const std::string& folder, const std::vector<Step>& steps) {
  std::vector<json> turns;
  for (const char* name : {"/torch_1.json", "/torch_2.json"}) {
    json turn = JsonOf(folder + name);
    if (turn.is_object()) turns.push_back(std::move(turn));
  }
  std::string out =
      "\n## Tasks\n\n| task | trials | per s | default us | best us | template | vendor us | "
      "best/vendor | failed trials |\n|---|---|---|---|---|---|---|---|---|\n";
  std::map<std::string, Sum> sums;
  for (const Step& step : steps) {
    if (!step.name.starts_with("tune/")) continue;
    const std::string name = step.name.substr(5);
    const json job = LastJsonOf(folder + "/logs/" + step.name + ".txt");
    const bool has_task = job.is_object() && job.contains("tasks") && !job["tasks"].empty();
    const json task = has_task ? job["tasks"][0] : json::object();
    const double best = Number(task, "best_seconds"), peer = PeerSeconds(turns, name);
    std::string failures;
    if (task.contains("failures")) {
      for (const auto& [outcome, count] : task["failures"].items())
        failures += fmt::format("{}{} {}", failures.empty() ? "" : ", ", count.dump(), outcome);
    }
    if (step.code != 0) failures += fmt::format(" (exit code {})", step.code);
    if (best > 0 && peer > 0) {
      Sum& sum = sums[name.substr(0, name.find('_'))];
      sum.ours += best;
      sum.peer += peer;
      ++sum.tasks;
    }
    out += fmt::format(
        "| {} | {:.0f} | {:.1f} | {} | {} | {} | {} | {} | {} |\n", name, Number(task, "trials"),
        Number(job, "trials_per_second"), Microseconds(Number(task, "default_seconds")),
        Microseconds(best), Cell(task.value("template", "")), Microseconds(peer),
        best > 0 && peer > 0 ? fmt::format("{:.2f}", best / peer) : "-", Cell(failures));
  }
  for (const auto& [type, sum] : sums) {
    out += fmt::format(
        "\n{}: sum of {} tasks {:.1f} us, of the vendor's libraries {:.1f} us: {:.2f}\n", type,
        sum.tasks, kMicro * sum.ours, kMicro * sum.peer, sum.ours / sum.peer);
  }
  return out;
}

/// Formats the checked, rejected and wrong results of all check logs, by template.
std::string CheckTable(const std::string& folder) {
  struct Count {
    int checked = 0, refused = 0, wrong = 0;
  };
  std::map<std::string, Count> counts;
  std::vector<std::string> wrong;
  const std::regex drawn(R"(^(\S+)\s+(\d+) checked,\s+(\d+) refused.*)");
  const std::regex ruled(R"(^cuda \S+ (\S+)\s+(\d+) run,\s+(\d+) refused,\s+(\d+) wrong.*)");
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder + "/logs/checks", ignored)) {
    for (const std::string& line : Split(TextOf(entry.path()), '\n')) {
      std::smatch m;
      if (std::regex_match(line, m, drawn)) {
        counts[m[1]].checked += std::stoi(m[2]);
        counts[m[1]].refused += std::stoi(m[3]);
      } else if (std::regex_match(line, m, ruled)) {
        counts[m[1]].checked += std::stoi(m[2]);
        counts[m[1]].refused += std::stoi(m[3]);
        counts[m[1]].wrong += std::stoi(m[4]);
      } else if (line.starts_with("WRONG ")) {
        ++counts[line.substr(6, line.find(' ', 6) - 6)].wrong;
        wrong.push_back(line);
      } else if (line.find("expected") != std::string::npos) {
        wrong.push_back(line);
      }
    }
  }
  std::string out =
      "\n## Random kernels on the device\n\n| template | checked | refused | wrong "
      "|\n|---|---|---|---|\n";
  for (const auto& [key, count] : counts)
    out += fmt::format("| {} | {} | {} | {} |\n", key, count.checked, count.refused, count.wrong);
  for (std::size_t i = 0; i < wrong.size() && i < 20; ++i)
    out += "\n    " + wrong[i].substr(0, 400) + "\n";
  return out;
}

std::string NetworkTable(const std::string& folder, const std::vector<Step>& steps) {
  const json peers = JsonOf(folder + "/torch_networks.json");
  std::string out =
      "\n## Networks\n\n| network | ours ms | verified | eager ms | compiled ms "
      "|\n|---|---|---|---|---|\n";
  for (const Step& step : steps) {
    if (!step.name.starts_with("network/")) continue;
    const std::string name = step.name.substr(8);
    const double seconds = Number(JsonOf(folder + "/" + name + ".json"), "total_seconds");
    const json peer = peers.is_object() && peers.contains(name) ? peers[name] : json::object();
    const auto milliseconds = [](double s) { return s > 0 ? fmt::format("{:.3f}", 1e3 * s) : "-"; };
    out += fmt::format("| {} | {} | {} | {} | {} |\n", name, milliseconds(seconds),
                       step.code == 0 ? "yes" : fmt::format("no: exit code {}", step.code),
                       milliseconds(Number(peer, "eager_seconds")),
                       milliseconds(Number(peer, "compiled_seconds")));
  }
  return out;
}

/// Returns a step's last lines, verbatim.
std::string Quoted(const std::string& folder, const Step& step, std::size_t most) {
  std::vector<std::string> lines = Split(TextOf(folder + "/logs/" + step.name + ".txt"), '\n');
  while (!lines.empty() && Trim(lines.back()).empty()) lines.pop_back();
  std::string out;
  const std::size_t first = lines.size() > most ? lines.size() - most : 0;
  for (std::size_t i = first; i < lines.size(); ++i) out += "    " + lines[i].substr(0, 300) + "\n";
  return out;
}

}  // namespace

Result<std::string> VisitTable(const std::string& folder) {
  if (!std::filesystem::is_directory(folder)) return NotFound(folder + ": no such folder");
  const std::vector<Step> steps = StepsOf(folder);
  std::string out = "# GPU visit\n\n";
  for (const std::string& line : Split(TextOf(folder + "/facts.txt"), '\n')) {
    if (!line.empty()) out += "- " + line + "\n";
  }
  out += CheckTable(folder) + TaskTable(folder, steps) + NetworkTable(folder, steps);
  for (const auto& [name, title] :
       {std::pair("tophub", "Records of others"),
        std::pair("sanitizer/memcheck", "compute-sanitizer, memcheck"),
        std::pair("sanitizer/racecheck", "compute-sanitizer, racecheck"),
        std::pair("energy", "Energy")}) {
    for (const Step& step : steps) {
      if (step.name == name) out += fmt::format("\n## {}\n\n{}", title, Quoted(folder, step, 16));
    }
  }
  out += "\n## Steps\n\n| step | exit code | s |\n|---|---|---|\n";
  for (const Step& step : steps)
    out += fmt::format("| {} | {} | {:.1f} |\n", step.name, step.code, step.seconds);
  for (const Step& step : steps) {
    if (step.code != 0) out += fmt::format("\n{}:\n\n{}", step.name, Quoted(folder, step, 6));
  }
  return out;
}

}  // namespace tilewright::bench
