#pragma once

#include <string>
#include <vector>

#include "python_free_cli/arguments/store_argument.h"
#include "records/autotvm/import.h"
#include "records/exchange/t4_import.h"
#include "src/base/status.h"

namespace CLI {
class App;
}

namespace tilewright {
class TemplateRegistry;
namespace search {
class StrategyRegistry;
}
}  // namespace tilewright

namespace tilewright::cli {

/// `records import` and `records export`: exchange with AutoTVM, and with tuners that have T4 files
/// or Kernel Tuner's cachefiles.
class ExchangeCommands {
 public:
  void Declare(CLI::App& records);
  /// True if the command line has one of the two subcommands.
  bool chosen() const { return !subcommand_.empty(); }
  /// templates: those of the store, for exports.
  Result<int> Run(const TemplateRegistry& templates, const search::StrategyRegistry& strategies);
  static const char* Examples();

 private:
  Result<int> Import(const search::StrategyRegistry& strategies);
  /// Imports T4 files and cachefiles.
  Result<int> ImportT4Files(const search::StrategyRegistry& strategies);
  Result<int> Export(const TemplateRegistry& templates);
  Result<int> ExportT4(const TemplateRegistry& templates);

  /// Takes a record store out of files_; nothing if none is one. Errors: two stores.
  Result<std::string> StoreAmongFiles();
  /// Returns the exit code of an import that read no record, after saying why.
  int NothingImported(const std::vector<records::ImportedFile>& files, const std::string& store,
                      bool new_store) const;

  records::T4ImportOptions t4_;
  CLI::App* in_ = nullptr;
  std::string job_, subcommand_, store_, target_, task_, format_ = "autotvm", output_;
  StoreArgument from_;
  std::vector<std::string> files_;
  bool dry_run_ = false, json_ = false, best_ = false;
};

}  // namespace tilewright::cli
