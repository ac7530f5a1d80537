#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include "python_free_cli/arguments/store_argument.h"
#include "records/maintenance.h"
#include "src/base/status.h"

namespace CLI {
class App;
}

namespace tilewright::cli {

/// Subcommands of `tilewright records` that maintain stores: stats, best, merge, split, prune,
/// check, backup, vacuum, export-csv.
class StoreSubcommands {
 public:
  void Declare(CLI::App& app);
  /// True if the command line has one of them.
  bool chosen() const { return run_ != nullptr; }
  /// Requires chosen().
  Result<int> Run(const TemplateRegistry& templates) {
    templates_ = &templates;
    TW_ASSIGN_OR_RETURN(store_, StorePath());
    return (this->*run_)();
  }

 private:
  using Subcommand = Result<int> (StoreSubcommands::*)();
  /// Adds a subcommand with the argument `store` and the flag --json.
  CLI::App* Add(CLI::App& app, const char* name, const char* summary, Subcommand run);

  Result<int> Stats();
  Result<int> Best();
  Result<int> Merge();
  Result<int> SplitUp();
  Result<int> Prune();
  Result<int> Check();
  Result<int> Backup();
  Result<int> Vacuum();
  Result<int> Csv();

  const TemplateRegistry* templates_ = nullptr;
  Subcommand run_ = nullptr;
  /// The store of the subcommand, before its other arguments.
  Result<std::string> StorePath();

  std::deque<StoreArgument> stores_;  // of each subcommand; options point to them
  std::size_t chosen_ = 0;
  std::string store_;  // set by Run
  std::string output_, by_ = "target", outcome_, target_, task_;
  std::vector<std::string> from_;
  std::int64_t top_ = 1;
  records::PruneOptions prune_;
  records::TrialFilter filter_;
  bool json_ = false;
};

}  // namespace tilewright::cli
