// optimize_bench FOLDER [--bound B] [--threads N] [--samples N] NETWORK...: searches number formats
// of built-in networks with seeded weights on random samples, and prints a row of a Markdown table
// for each. Times are ratios to the float32 library of the same run, interleaved. NETWORK: a name
// of `tilewright model`, or bert_base_encoder:LAYERS. FOLDER keeps the libraries and the stores, so
// a second call resumes.

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "bench/network_rows.h"
#include "src/base/clock.h"
#include "src/graph/quantize/quality.h"
#include "src/models/models.h"
#include "src/optimize/format_search.h"
#include "src/session/target.h"
#include "src/templates/device.h"

namespace tilewright {
namespace {

using optimize::Combination;
using optimize::Format;

struct Arguments {
  std::string folder, bound = "sqnr>=30";
  int threads = 1, samples = 16;
  std::vector<std::string> networks;
};

std::string TimeAndError(const Combination* combination) {
  if (combination == nullptr) return "-";
  return fmt::format("{:.3f} ({:.1f} dB)", combination->ratio, combination->search.SqnrDb());
}

/// Finds the combination with this format wherever a site can have it.
const Combination* UniformOf(const optimize::SearchReport& report, Format format) {
  for (const Combination& combination : report.combinations) {
    bool uniform = true;
    for (std::size_t i = 0; i < report.sites.size(); ++i) {
      const auto& formats = report.sites[i].site.formats;
      const bool can = std::ranges::find(formats, format) != formats.end();
      uniform = uniform && combination.formats[i] == (can ? format : Format::kFloat32);
    }
    if (uniform) return &combination;
  }
  return nullptr;
}

void PrintRow(const std::string& network, const optimize::SearchReport& report, double seconds) {
  const Combination& chosen = report.combinations[report.chosen];
  std::string counts;
  for (const Format format : optimize::kFormats) {
    counts += fmt::format("{}{}", counts.empty() ? "" : " / ",
                          std::ranges::count(chosen.formats, format));
  }
  fmt::print("| {} | {} | {:.3f} | {:.3f} | {:.3f} | {:.1f} | {:.1f} | {} | {} | {} | {:.1f} |\n",
             network, counts, chosen.ratio, chosen.spread, chosen.predicted_ratio,
             optimize::DecibelsOf(chosen.predicted_noise), chosen.search.SqnrDb(),
             chosen.held_out ? fmt::format("{:.1f}", chosen.held_out->SqnrDb()) : "-",
             TimeAndError(UniformOf(report, Format::kBFloat16)),
             TimeAndError(UniformOf(report, Format::kInt8)), seconds / 60);
}

Status Search(const Arguments& arguments, const std::string& network,
              const TemplateRegistry& templates) {
  const std::size_t colon = network.find(':');
  ModelOptions options;
  if (colon != std::string::npos) options.layers = std::atoi(network.c_str() + colon + 1);
  TW_ASSIGN_OR_RETURN(const auto bytes, MakeModelOnnx(network.substr(0, colon), options));
  session::CompileRequest request;
  TW_ASSIGN_OR_RETURN(request.graph, ImportOnnx(bytes, network.substr(0, colon)));
  auto samples = quantize::SyntheticSamples(request.graph, arguments.samples);
  TW_ASSIGN_OR_RETURN(request.options.target, session::ParseTarget("native", arguments.threads));
  TW_ASSIGN_OR_RETURN(request.options.device, DeviceFor(request.options.target));
  request.options.templates = &templates;
  request.options.build_threads = 2;
  optimize::SearchSettings settings;
  TW_ASSIGN_OR_RETURN(settings.bound, optimize::ParseBound(arguments.bound));
  settings.store = fmt::format("{}/{}.db", arguments.folder, network.substr(0, colon));
  settings.budget_seconds = 3600;
  settings.note = [](const std::string& text) { fmt::print(stderr, "{}\n", text); };
  SystemClock clock;
  const double begin = clock.MonotonicSeconds();
  CompiledModel compiled;
  TW_ASSIGN_OR_RETURN(const auto report,
                      optimize::SearchFormats(std::move(request), std::move(samples), settings,
                                              arguments.folder + "/fast.so", compiled));
  PrintRow(network, report, clock.MonotonicSeconds() - begin);
  fmt::print(stderr, "{}\n", report.reason);
  return {};
}

Arguments Parse(int count, char** texts) {
  Arguments arguments;
  for (int i = 1; i < count; ++i) {
    const std::string text = texts[i];
    const bool has_value = i + 1 < count;
    if (text == "--bound" && has_value) {
      arguments.bound = texts[++i];
    } else if (text == "--threads" && has_value) {
      arguments.threads = std::atoi(texts[++i]);
    } else if (text == "--samples" && has_value) {
      arguments.samples = std::atoi(texts[++i]);
    } else if (arguments.folder.empty()) {
      arguments.folder = text;
    } else {
      arguments.networks.push_back(text);
    }
  }
  return arguments;
}

int Main(int count, char** texts) {
  const Arguments arguments = Parse(count, texts);
  if (arguments.networks.empty()) {
    fmt::print(stderr,
               "usage: optimize_bench FOLDER [--bound B] [--threads N] [--samples N] "
               "NETWORK...\n");
    return 2;
  }
  fmt::print("{} threads, bound {}, {} random samples\n\n", arguments.threads, arguments.bound,
             arguments.samples);
  fmt::print(
      "| network | float32 / bfloat16 / int8 sites | time of float32's | +- | predicted | "
      "predicted dB | search part dB | held-out dB | all bfloat16 | all int8 | minutes |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|\n");
  const TemplateRegistry templates = TemplateRegistry::BuiltIn();
  return PrintNetworkRows(arguments.networks, [&](const std::string& network) {
    return Search(arguments, network, templates);
  });
}

}  // namespace
}  // namespace tilewright

int main(int count, char** texts) { return tilewright::Main(count, texts); }
