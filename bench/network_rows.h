#pragma once

#include <functional>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/compiler/compile.h"
#include "src/graph/ir/graph.h"
#include "src/graph/quantize/quality.h"
#include "src/templates/registry.h"

namespace tilewright {

// Parts of the benchmarks that print a row of a Markdown table for each network.

/// Arguments "[--threads N] [--seconds N] FILE...".
struct NetworkArguments {
  int threads = 1;
  double seconds = 10;
  std::vector<std::string> files = {};
};

/// Network of a file, to compile for this machine.
struct BenchNetwork {
  std::string name;  ///< of the file
  Graph graph;       ///< float constants that the file lacks, or those of "light" files, synthetic
  CompileOptions options;
  quantize::Sample inputs;  ///< synthetic
};

/// Reads an .onnx file or Relay text.
Result<BenchNetwork> ReadBenchNetwork(const NetworkArguments& arguments, const std::string& file,
                                      const TemplateRegistry& templates);

/// Prints a row for each network, by `print`; of one that fails, a row with the reason. Returns the
/// exit code: 1 if one failed.
int PrintNetworkRows(const std::vector<std::string>& networks,
                     const std::function<Status(const std::string&)>& print);

/// Parses the arguments, prints the head of the table, and then the rows. arguments: the defaults.
/// usage: of the program, printed if there is no file. Returns the exit code.
int MeasureNetworks(int count, char** texts, NetworkArguments arguments, const char* usage,
                    const char* head,
                    const std::function<Status(const NetworkArguments&, BenchNetwork&&)>& measure);

}  // namespace tilewright
