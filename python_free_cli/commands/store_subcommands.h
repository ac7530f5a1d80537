#pragma once

#include <string>
#include <vector>

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
  std::string store_, output_, by_ = "target", outcome_;
  std::vector<std::string> from_;
  std::int64_t top_ = 1;
  records::PruneOptions prune_;
  records::TrialFilter filter_;
  bool json_ = false;
};

}  // namespace tilewright::cli
