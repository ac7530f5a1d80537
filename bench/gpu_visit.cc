// Parts of scripts/gpu_visit.sh that are not commands of the program: checks and timings of kernels
// on a GPU outside of a job, and the table.
//
//   gpu_visit winners BEST.json [--device N]
//
//   gpu_visit tophub LOG OUT.tsv [--device N] [--arch sm_90] [--models v100,1080ti]
//                    [--tasks TASKS.json,...]
//
//   gpu_visit table FOLDER

#include "bench/gpu_visit.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>

namespace tilewright::bench {

double RankCorrelation(const std::vector<double>& a, const std::vector<double>& b) {
  const auto ranks = [](const std::vector<double>& values) {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
    std::vector<double> out(values.size());
    for (std::size_t i = 0; i < order.size();) {
      std::size_t end = i;
      while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
      const double mean = static_cast<double>(i + end - 1) / 2;
      for (; i < end; ++i) out[order[i]] = mean;
    }
    return out;
  };
  if (a.size() < 2) return 0;
  const std::vector<double> x = ranks(a), y = ranks(b);
  const double mean = static_cast<double>(a.size() - 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xx == 0 || yy == 0 ? 0 : xy / std::sqrt(xx * yy);
}

namespace {

int PrintTable(const VisitArguments& arguments) {
  const Result<std::string> table = VisitTable(arguments.plain[0]);
  if (!table.ok()) {
    std::fprintf(stderr, "gpu_visit: %s\n", table.status().message().c_str());
    return 2;
  }
  std::fputs(table->c_str(), stdout);
  return std::fflush(stdout) == 0 ? 0 : 1;
}

struct Subcommand {
  const char* name;
  std::size_t plain;  // number of required arguments
  int (*run)(const VisitArguments&);
};
constexpr Subcommand kSubcommands[] = {
    {"winners", 1, &CheckWinners}, {"tophub", 2, &TimeLog}, {"table", 1, &PrintTable}};

int Main(int argc, char** argv) {
  VisitArguments arguments;
  for (int i = 2; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.starts_with("--") && i + 1 < argc) {
      arguments.named[argument.substr(2)] = argv[++i];
    } else {
      arguments.plain.push_back(argument);
    }
  }
  for (const Subcommand& subcommand : kSubcommands) {
    if (argc < 2 || std::string(argv[1]) != subcommand.name) continue;
    if (arguments.plain.size() == subcommand.plain) return subcommand.run(arguments);
  }
  std::fprintf(
      stderr,
      "usage: gpu_visit winners BEST.json [--device N]\n"
      "       gpu_visit tophub LOG OUT.tsv [--device N] [--arch sm_90] [--models v100,1080ti] "
      "[--tasks TASKS.json,...]\n"
      "       gpu_visit table FOLDER\n");
  return 2;
}

}  // namespace
}  // namespace tilewright::bench

int main(int argc, char** argv) { return tilewright::bench::Main(argc, argv); }
