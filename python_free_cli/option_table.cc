// Table of options: the name of each value and the group in help, and the values that completion
// suggests.

#include "python_free_cli/option_table.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>

#include "python_free_cli/usage.h"
#include "src/models/models.h"
#include "src/plugins/registries.h"
#include "src/session/user_paths.h"
#include "src/space/trial.h"
#include "src/target/device.h"
#include "src/target/library.h"
#include "src/target/presets.h"

namespace tilewright::cli {
namespace {

/// Value name and group of the options and arguments with one name.
struct OptionRow {
  std::string_view name;  ///< "trials", or "lower config" for one command
  std::string_view value;
  std::string_view group;
};

constexpr std::string_view kModel = "Model", kTarget = "Target and device", kSearch = "Search",
                           kLimits = "Limits", kRecords = "Records", kFleet = "Fleet",
                           kCheck = "Verification", kInput = "Inputs and outputs",
                           kExtensions = "Extensions", kProgram = "Programs to tune";

constexpr auto kRows = std::to_array<OptionRow>({
    // Positional arguments.
    {"file", "FILE", ""},
    {"other", "FILE", ""},
    {"library", "FILE", ""},
    {"task", "TASK", ""},
    {"model name", "NETWORK", ""},
    {"store", "FILE", ""},
    {"stores", "FILE", ""},
    {"from", "FILE", ""},
    {"files", "FILE", ""},
    {"packages", "FILE", ""},
    {"remove packages", "NAME", ""},
    {"query package", "FILE", ""},
    {"before", "FILE", ""},
    {"after", "FILE", ""},
    {"keys", "FILE", ""},
    {"backup output", "FILE", ""},
    {"up folder", "FOLDER", ""},
    {"device", "DEVICE", ""},
    {"class", "CLASS", ""},
    {"job", "JOB", ""},
    {"user", "NAME", ""},
    {"what", "WHAT", ""},
    {"command", "COMMAND", ""},

    {"shape", "NAME=SHAPE", kModel},
    {"dim", "NAME=SIZE", kModel},
    {"sizes", "FILE", kModel},
    {"value", "NAME=VALUE", kModel},
    {"requantize", "", kModel},
    {"precision", "", kModel},
    {"seeded", "", kModel},
    {"bench seeded", "", kModel},

    {"target", "TARGET", kTarget},
    {"threads", "N", kTarget},
    {"libs", "LIBRARIES", kTarget},
    {"vta-config", "DESIGN", kTarget},
    {"--device", "DEVICE", kTarget},
    {"runner", "COMMAND_LINE", kTarget},
    {"runtime", "FILE", kTarget},
    {"fuse-residuals", "", kTarget},
    {"no-fuse-residuals", "", kTarget},

    {"strategy", "STRATEGY", kSearch},
    {"seed", "N", kSearch},
    {"seeds", "N", ""},
    {"evaluations", "N", ""},
    {"runs", "FILE", ""},
    {"template", "TEMPLATE", kSearch},
    {"metric", "METRICS", kSearch},
    {"groups", "", kSearch},
    {"float-error", "", kSearch},
    {"config", "CONFIG", kSearch},
    {"quantize config", "FILE", ""},
    {"epilogue", "EPILOGUE", kSearch},

    {"trials", "N", kLimits},
    {"budget", "DURATION", kLimits},
    {"deadline", "TIME", kLimits},
    {"plan", "", kLimits},
    {"operator-seconds", "SECONDS", kLimits},
    {"build-threads", "N", kLimits},

    {"records", "FILE", kRecords},
    {"--package", "FILE", kRecords},
    {"no-packages", "", kRecords},
    {"accept", "", kRecords},
    {"rule", "", kRecords},
    {"tophub", "NAME", kRecords},
    {"model", "MODEL", kRecords},
    {"prefer", "METRICS", kRecords},
    {"key", "FILE", kRecords},
    {"allow-unsigned", "", kRecords},
    {"front", "", kRecords},
    {"over", "DEVICES", kRecords},
    {"query by", "", kRecords},
    {"on-miss", "", kRecords},

    {"fleet", "FLEET", kFleet},
    {"program", "FILE", kFleet},
    {"fleet-class", "CLASS", kFleet},
    {"insecure", "", kFleet},
    {"priority", "", kFleet},
    {"share", "FACTOR", kFleet},
    {"broker-timeout", "DURATION", kFleet},

    {"verify", "", kCheck},
    {"tolerance", "FACTOR", kCheck},
    {"min-sqnr", "DECIBELS", kCheck},

    {"--job", "FILE", ""},
    {"report --job", "NAME", ""},
    {"output", "FILE", kInput},
    {"split output", "FOLDER", ""},
    {"build output", "PATH", ""},
    {"keygen output", "FILE", ""},
    {"compile output", "PATH", ""},
    {"completion output", "FOLDER", ""},
    {"input", "FILE", kInput},
    {"--made-up", "RULE", kInput},
    {"worker --made-up", "SECONDS", ""},
    {"image-fit", "", kInput},
    {"image-mean", "R,G,B", kInput},
    {"image-std", "R,G,B", kInput},
    {"data", "PATH", kInput},
    {"json", "", kInput},
    {"kernel", "", kInput},
    {"watch", "", kInput},
    {"quiet", "", kInput},
    {"color", "WHEN", kInput},
    {"plan", "", kLimits},
    {"format", "FORMAT", kInput},
    {"vta-trace", "FILE", kInput},
    {"vta-cycles", "", kInput},

    {"space", "FILE", kProgram},
    {"--command", "COMMAND_LINE", kProgram},
    {"tune build", "COMMAND_LINE", kProgram},
    {"tune check", "COMMAND_LINE", kProgram},
    {"shell", "", kProgram},
    {"tune input", "", kProgram},
    {"env", "NAME=VALUE", kProgram},
    {"environment", "JSON", kProgram},
    {"problem", "JSON", ""},
    {"tune name", "NAME", kProgram},
    {"time-limit", "SECONDS", kProgram},
    {"build-limit", "SECONDS", kProgram},

    {"plugin", "FILE", kExtensions},
    {"schedule", "FILE", kExtensions},

    // Options of one or two commands.
    {"name", "NAME", ""},
    {"batch", "N", ""},
    {"set", "FIELD=VALUE", ""},
    {"calibrate", "METHOD", ""},
    {"quantize check", "N", ""},
    {"bound", "BOUND", kCheck},
    {"score", "COMMAND_LINE", kCheck},
    {"score-depends", "FILE", kCheck},
    {"samples", "N", ""},
    {"passes", "PASSES", ""},
    {"print-after", "PASS", ""},
    {"start", "NAME", ""},
    {"stop", "NAME", ""},
    {"emit", "FORM", ""},
    {"seconds", "SECONDS", ""},
    {"top", "N", ""},
    {"by", "", ""},
    {"best", "N", ""},
    {"training", "N", ""},
    {"into", "PATH", ""},
    {"--task", "KEY", ""},
    {"outcome", "OUTCOME", ""},
    {"limit", "N", ""},
    {"license", "NAME", ""},
    {"comment", "TEXT...", ""},
    {"why", "REASON", ""},
    {"graph", "FILE", ""},
    {"compare", "FILE", ""},
    {"bench", "FILE", ""},
    {"hold-out", "SHARE", ""},
    {"kind", "KIND", ""},
    {"builders", "N", ""},
    {"devices", "N", ""},
    {"--made-up-slower", "FACTOR@SECONDS", ""},
    {"host", "HOST", ""},
    {"server", "HOST", ""},
    {"port", "N", ""},
    {"role", "ROLE", ""},
    {"--class", "CLASS", ""},
    {"--folder", "FOLDER", ""},
    {"race", "FILE", ""},
    {"wait", "SECONDS", ""},
});

std::string NameOf(const CLI::Option& option) {
  return option.get_lnames().empty() ? option.get_name(true) : option.get_lnames().front();
}

/// Returns the row of an option: that of its command, of its kind (option or argument), or of its
/// name. nullptr if it has none.
const OptionRow* RowOf(const CLI::App& command, const CLI::Option& option) {
  const std::string name = NameOf(option);
  const std::string dashed = option.get_lnames().empty() ? name : "--" + name;
  for (const std::string& text :
       {command.get_name() + " " + dashed, command.get_name() + " " + name, dashed, name}) {
    const auto found = std::ranges::find(kRows, text, &OptionRow::name);
    if (found != kRows.end()) return &*found;
  }
  return nullptr;
}

std::vector<std::string> NamesIn(const std::string& folder, std::string_view ending) {
  std::vector<std::string> names;
  std::error_code failed;
  std::filesystem::directory_iterator entry(folder, failed), end;
  for (; !failed && entry != end; entry.increment(failed)) {
    std::string name = entry->path().filename().string();
    if (!name.ends_with(ending)) continue;
    names.push_back(name.substr(0, name.size() - ending.size()));
  }
  std::ranges::sort(names);
  return names;
}

std::vector<std::string> Targets() {
  std::vector<std::string> names = {"native"};
  for (const DeviceTraits& device : AllDevices()) names.emplace_back(device.name);
  const auto boards = ReadPresets(session::ShippedPath("targets"));
  if (!boards.ok()) return names;
  for (const TargetPreset& board : *boards) names.push_back(board.name);
  return names;
}

}  // namespace

void NameOptions(CLI::App& command) {
  constexpr std::size_t kManyOptions = 15;
  const std::vector<CLI::Option*> options = command.get_options();
  for (CLI::Option* option : options) {
    const OptionRow* row = RowOf(command, *option);
    if (row == nullptr) continue;
    const bool flag = TypeOf(*option).empty();
    if (!flag && !row->value.empty()) option->type_name(std::string(row->value));
    const bool grouped = options.size() > kManyOptions && !row->group.empty();
    if (grouped && !option->get_positional() && !option->get_group().empty()) {
      option->group(std::string(row->group));
    }
  }
  for (CLI::App* subcommand : command.get_subcommands(nullptr)) NameOptions(*subcommand);
}

bool IsPathValue(std::string_view value_name) {
  constexpr std::array<std::string_view, 7> kPaths = {"FILE",  "FOLDER", "PATH", "TASK",
                                                      "MODEL", "DESIGN", "FLEET"};
  return std::ranges::find(kPaths, value_name) != kPaths.end();
}

std::vector<std::string> SuggestedValues(std::string_view value_name,
                                         const plugins::Registries& registries) {
  std::vector<std::string> values;
  if (value_name == "TARGET") return Targets();
  if (value_name == "DESIGN") {
    values = NamesIn(session::ShippedPath("vta"), ".json");
    std::erase_if(values, [](const std::string& name) { return name.starts_with("cycles_"); });
  } else if (value_name == "STRATEGY") {
    for (const search::StrategyEntry& entry : registries.strategies.all()) {
      values.emplace_back(entry.key);
    }
  } else if (value_name == "TEMPLATE") {
    for (const TemplateEntry& entry : registries.templates.all()) {
      values.emplace_back(entry.key);
    }
  } else if (value_name == "NETWORK") {
    values.assign(ModelNames().begin(), ModelNames().end());
  } else if (value_name == "LIBRARIES") {
    for (const KernelLibrary& library : KernelLibraries()) values.emplace_back(library.name);
  } else if (value_name == "METHOD") {
    values = {"auto", "global_scale", "percentile", "mse", "kl_divergence"};
  } else if (value_name == "OUTCOME") {
    for (int i = 0; i <= static_cast<int>(Outcome::kDeviceLost); ++i) {
      values.emplace_back(OutcomeName(static_cast<Outcome>(i)));
    }
  } else if (value_name == "RULE") {
    values = {"ramp", "random", "quantized"};
  } else if (value_name == "KIND") {
    for (const DeviceTraits& device : AllDevices()) values.emplace_back(device.name);
  } else if (value_name == "ROLE") {
    values = {"tuner", "worker", "builder", "admin"};
  } else if (value_name == "MODEL") {
    values = {"none"};
  } else if (value_name == "DEVICE") {
    values = {"simt"};
  }
  return values;
}

}  // namespace tilewright::cli
