#include "bench/network_rows.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "src/base/files/file.h"
#include "src/session/target.h"
#include "src/templates/device.h"

namespace tilewright {

Result<BenchNetwork> ReadBenchNetwork(const NetworkArguments& arguments, const std::string& file,
                                      const TemplateRegistry& templates) {
  TW_ASSIGN_OR_RETURN(const auto text, ReadFile(file));
  BenchNetwork network;
  network.name = file.substr(file.rfind('/') + 1);
  TW_ASSIGN_OR_RETURN(network.graph, file.ends_with(".onnx") ? ImportOnnx(text, "network")
                                                             : ImportRelay(text, "network"));
  SeedConstants(network.graph,
                network.name.starts_with("light") ? SeedRule::kAllFloat : SeedRule::kMissing);
  network.options.templates = &templates;
  network.options.build_threads = 2;
  TW_ASSIGN_OR_RETURN(network.options.target, session::ParseTarget("native", arguments.threads));
  TW_ASSIGN_OR_RETURN(network.options.device, DeviceFor(network.options.target));
  network.inputs = std::move(quantize::SyntheticSamples(network.graph, 1)[0]);
  return network;
}

int PrintNetworkRows(const std::vector<std::string>& networks,
                     const std::function<Status(const std::string&)>& print) {
  int code = 0;
  for (const std::string& network : networks) {
    const Status status = print(network);
    std::fflush(stdout);
    if (status.ok()) continue;
    fmt::print("| {} | {} |\n", network, status.message());
    code = 1;
  }
  return code;
}

int MeasureNetworks(int count, char** texts, NetworkArguments arguments, const char* usage,
                    const char* head,
                    const std::function<Status(const NetworkArguments&, BenchNetwork&&)>& measure) {
  for (int i = 1; i < count; ++i) {
    const std::string text = texts[i];
    const bool has_value = i + 1 < count;
    if (text == "--threads" && has_value) {
      arguments.threads = std::atoi(texts[++i]);
    } else if (text == "--seconds" && has_value) {
      arguments.seconds = std::atof(texts[++i]);
    } else {
      arguments.files.push_back(text);
    }
  }
  if (arguments.files.empty()) {
    fmt::print(stderr, "usage: {}\n", usage);
    return 2;
  }
  fmt::print("{}", head);
  const TemplateRegistry templates = TemplateRegistry::BuiltIn();
  return PrintNetworkRows(arguments.files, [&](const std::string& file) -> Status {
    TW_ASSIGN_OR_RETURN(auto network, ReadBenchNetwork(arguments, file, templates));
    return measure(arguments, std::move(network));
  });
}

}  // namespace tilewright
