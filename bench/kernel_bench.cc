// Our kernels against oneDNN's, layer by layer, in the same run and interleaved, on one thread.
//
//   kernel_bench --layers resnet18_v1.csv|resnet18_v1 --mode fp32|int8|avx2|int8avx2
//                [--configs FILE] [--builds N] [--rounds N] [--only NAME] [--json]
//
// --layers is a CSV of layers or the name of a built-in model. --configs names a file of one line
// per layer, `<workload key>\t<template>\t<config>`: layers found there are not searched, and what
// a search finds is appended. The sums weigh each layer by its count in the network.

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "bench/kernel_bench_ours.h"
#include "src/base/files/file.h"
#include "src/base/strings.h"
#include "src/graph/ir/graph.h"
#include "src/graph/passes/passes.h"
#include "src/models/models.h"
#include "tests/support/built_in.h"

namespace tilewright::bench {
namespace {

struct Options {
  std::string layers, mode = "fp32", configs, only;
  int builds = 40, rounds = 25;
  bool json = false;
};

struct Layer {
  std::string name;
  Workload workload;
  std::int64_t count = 1;
};

Result<Options> ParseOptions(int argc, char** argv) {
  Options options;
  const std::map<std::string, std::string*> texts = {{"--layers", &options.layers},
                                                     {"--mode", &options.mode},
                                                     {"--configs", &options.configs},
                                                     {"--only", &options.only}};
  const std::map<std::string, int*> numbers = {{"--builds", &options.builds},
                                               {"--rounds", &options.rounds}};
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--json") {
      options.json = true;
      continue;
    }
    if (i + 1 >= argc) return InvalidArgument(name + ": unknown, or without a value");
    const std::string value = argv[++i];
    if (texts.contains(name)) {
      *texts.at(name) = value;
    } else if (numbers.contains(name)) {
      auto number = ParseInt64(value);
      TW_RETURN_IF_ERROR(number);
      *numbers.at(name) = static_cast<int>(*number);
    } else {
      return InvalidArgument(name + ": unknown option");
    }
  }
  if (options.layers.empty()) return InvalidArgument("--layers FILE is missing");
  return options;
}

/// A line of the CSV: name,n,c,h,w,k,r,s,stride,pad,dil,groups,count; dense layers are 1x1.
Result<Layer> ParseLayer(const std::string& line, bool int8) {
  const std::vector<std::string> fields = Split(line, ',');
  if (fields.size() != 13) return InvalidArgument(line + ": expected 13 fields");
  std::vector<std::int64_t> v = {0};
  for (std::size_t i = 1; i < fields.size(); ++i) {
    auto number = ParseInt64(Trim(fields[i]));
    TW_RETURN_IF_ERROR(number);
    v.push_back(*number);
  }
  Layer layer{fields[0], {}, v[12]};
  Workload& w = layer.workload;
  w.data.dtype = int8 ? kUInt8 : kFloat32;
  w.weight.dtype = int8 ? kInt8 : kFloat32;
  w.out_dtype = int8 ? kInt32 : kFloat32;
  if (layer.name.starts_with("dense")) {
    w.op = OpKind::kDense;
    w.data.shape = {v[1], v[2]};
    w.weight.shape = {v[5], v[2]};
    w.data_layout = "MK", w.kernel_layout = "NK";
    return layer;
  }
  w.data.shape = {v[1], v[2], v[3], v[4]};
  w.weight.shape = {v[5], v[2] / v[11], v[6], v[7]};
  w.strides = {v[8], v[8]};
  w.padding = {v[9], v[9], v[9], v[9]};
  w.dilation = {v[10], v[10]};
  w.groups = v[11];
  w.data_layout = "NCHW", w.kernel_layout = "OIHW";
  return layer;
}

/// The distinct convolutions and matrix products of a built-in model.
Result<std::vector<Layer>> ModelLayers(const Options& options) {
  auto bytes = MakeModelOnnx(options.layers);
  TW_RETURN_IF_ERROR(bytes);
  auto graph = ImportOnnx(*bytes, options.layers);
  TW_RETURN_IF_ERROR(graph);
  auto tasks = ExtractTasks(*graph);
  TW_RETURN_IF_ERROR(tasks);
  std::vector<Layer> layers;
  for (const ExtractedTask& task : *tasks) {
    Layer layer{task.sites.front(), task.workload, task.occurrences()};
    if (options.mode.starts_with("int8")) {
      layer.workload.data.dtype = kUInt8;
      layer.workload.weight.dtype = kInt8;
      layer.workload.out_dtype = kInt32;
    }
    layers.push_back(std::move(layer));
  }
  return layers;
}

Result<std::vector<Layer>> ReadLayers(const Options& options) {
  if (std::ranges::count(ModelNames(), options.layers) > 0) return ModelLayers(options);
  auto text = ReadFile(options.layers);
  TW_RETURN_IF_ERROR(text);
  std::vector<Layer> layers;
  for (const std::string& line : Split(*text, '\n')) {
    if (Trim(line).empty() || line.starts_with("name,")) continue;
    auto layer = ParseLayer(line, options.mode.starts_with("int8"));
    TW_RETURN_IF_ERROR(layer);
    if (options.only.empty() || layer->name.find(options.only) != std::string::npos) {
      layers.push_back(*std::move(layer));
    }
  }
  return layers;
}

std::map<std::string, Choice> ReadChoices(const std::string& path) {
  std::map<std::string, Choice> choices;
  auto text = path.empty() ? Result<std::string>(std::string()) : ReadFile(path);
  if (!text.ok()) return choices;
  for (const std::string& line : Split(*text, '\n')) {
    const std::vector<std::string> fields = Split(line, '\t');
    if (fields.size() != 3) continue;
    if (auto config = Config::Parse(fields[2]); config.ok()) {
      choices[fields[0]] = {fields[1], *std::move(config)};
    }
  }
  return choices;
}

/// The config of the file, found again in today's space, or what a search finds.
Result<Choice> Choose(const Layer& layer, const Epilogue& epilogue, const Target& target,
                      const Options& options, const std::map<std::string, Choice>& known) {
  if (const auto found = known.find(layer.workload.Key()); found != known.end()) {
    const TemplateEntry* entry = BuiltInTemplates().Find(found->second.template_key);
    if (entry != nullptr) {
      auto space = entry->define_space(layer.workload, target);
      TW_RETURN_IF_ERROR(space);
      auto config = space->Locate(found->second.config);
      if (config.ok()) return Choice{found->second.template_key, *config};
    }
  }
  auto choice = QuickSearch(layer.workload, epilogue, target, options.builds, 1);
  TW_RETURN_IF_ERROR(choice);
  if (!options.configs.empty()) {
    std::ofstream(options.configs, std::ios::app)
        << layer.workload.Key() << '\t' << choice->template_key << '\t' << choice->config.ToString()
        << '\n';
  }
  return choice;
}

struct Sums {
  double ours = 0, peer = 0;
};

Status BenchLayer(const Layer& layer, Mode mode, const Target& target, const Options& options,
                  const std::map<std::string, Choice>& known, QuietTimer& timer, Sums& sums) {
  auto epilogue =
      Epilogue::Parse(IsInt8(mode) ? "add(channel:int32);relu;cast(float32);mul(0.0005);"
                                     "saturate_cast(uint8)"
                                   : "add(channel:float32);relu");
  TW_RETURN_IF_ERROR(epilogue);
  auto peer = MakePeer(layer.workload, mode);
  TW_RETURN_IF_ERROR(peer);
  auto choice = Choose(layer, *epilogue, target, options, known);
  TW_RETURN_IF_ERROR(choice);
  auto ours = OurKernel::Make(*BuiltInTemplates().Find(choice->template_key), layer.workload,
                              *epilogue, target, choice->config);
  TW_RETURN_IF_ERROR(ours);
  const auto timings =
      timer.Measure({[&] { (*ours)->Run(); }, [&] { (*peer)->Run(); }}, options.rounds);
  const auto macs = static_cast<double>(layer.workload.macs());
  const double count = static_cast<double>(layer.count);
  sums.ours += count * timings[0].seconds;
  sums.peer += count * timings[1].seconds;
  if (options.json) {
    fmt::print(
        "{{\"layer\":\"{}\",\"count\":{},\"ours_seconds\":{:.4e},\"peer_seconds\":{:.4e},"
        "\"quiet_slices\":[{},{}],\"config\":{}}}\n",
        layer.name, layer.count, timings[0].seconds, timings[1].seconds, timings[0].quiet_slices,
        timings[1].quiet_slices, choice->config.ToString());
  } else {
    fmt::print(
        "{:<28} x{:<2} ours {:8.1f} us {:7.1f} GOP/s   peer {:8.1f} us {:7.1f} GOP/s   "
        "ratio {:5.2f}  quiet {}/{}  {}\n",
        layer.name, layer.count, timings[0].seconds * 1e6, 2e-9 * macs / timings[0].seconds,
        timings[1].seconds * 1e6, 2e-9 * macs / timings[1].seconds,
        timings[0].seconds / timings[1].seconds, timings[0].quiet_slices, timings[1].quiet_slices,
        choice->config.ToString());
  }
  std::fflush(stdout);
  return {};
}

Status Main(int argc, char** argv) {
  auto options = ParseOptions(argc, argv);
  TW_RETURN_IF_ERROR(options);
  const std::map<std::string, std::pair<Mode, const char*>> modes = {
      {"fp32", {Mode::kFloat32, "native"}},
      {"int8", {Mode::kInt8Vnni, "native"}},
      {"avx2", {Mode::kFloat32Avx2, "llvm -mcpu=core-avx2"}},
      {"int8avx2", {Mode::kInt8Avx2, "llvm -mcpu=core-avx2"}}};
  const auto chosen = modes.find(options->mode);
  if (chosen == modes.end())
    return InvalidArgument("--mode: expected fp32, int8, avx2 or int8avx2");
  const Mode mode = chosen->second.first;
  LimitPeer(mode);
  auto target = Target::Parse(chosen->second.second);
  TW_RETURN_IF_ERROR(target);
  auto layers = ReadLayers(*options);
  TW_RETURN_IF_ERROR(layers);
  const auto known = ReadChoices(options->configs);
  QuietTimer timer;
  Sums sums;
  for (const Layer& layer : *layers) {
    const Status done = BenchLayer(layer, mode, *target, *options, known, timer, sums);
    if (!done.ok()) return done.WithContext(layer.name);
  }
  if (options->json) {
    fmt::print(
        "{{\"layers\":\"{}\",\"mode\":\"{}\",\"ours_seconds\":{:.4e},\"peer_seconds\":{:.4e},"
        "\"ratio\":{:.4f}}}\n",
        options->layers, options->mode, sums.ours, sums.peer, sums.ours / sums.peer);
  } else {
    fmt::print("{} {}: ours {:.3f} ms, oneDNN {:.3f} ms, ratio {:.3f}\n", options->layers,
               options->mode, sums.ours * 1e3, sums.peer * 1e3, sums.ours / sums.peer);
  }
  return {};
}

}  // namespace
}  // namespace tilewright::bench

int main(int argc, char** argv) {
  const tilewright::Status status = tilewright::bench::Main(argc, argv);
  if (status.ok()) return 0;
  fmt::print(stderr, "kernel_bench: {}\n", status.message());
  return status.code() == tilewright::StatusCode::kInvalidArgument ? 2 : 1;
}
