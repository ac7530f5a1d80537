#pragma once

#include <string>
#include <vector>

#include "python_free_cli/arguments/store_argument.h"
#include "records/autotvm/import.h"
#include "src/base/status.h"

namespace CLI {
class App;
}

namespace tilewright {
class TemplateRegistry;
}

namespace tilewright::cli {

/// `records import` and `records export`: import and export of AutoTVM logs.
class ExchangeCommands {
 public:
  void Declare(CLI::App& records);
  /// True if the command line has one of the two subcommands.
  bool chosen() const { return !subcommand_.empty(); }
  Result<int> Run(const TemplateRegistry& templates);
  static const char* Examples();

 private:
  Result<int> Import();
  Result<int> Export(const TemplateRegistry& templates);
  Result<int> ExportT4(const TemplateRegistry& templates);

  /// Takes a record store out of files_; nothing if none is one. Errors: two stores.
  Result<std::string> StoreAmongFiles();
  /// Returns the exit code of an import that read no record, after saying why.
  int NothingImported(const std::vector<records::ImportedFile>& files, const std::string& store,
                      bool new_store) const;

  std::string subcommand_, store_, target_, task_, format_ = "autotvm", output_;
  StoreArgument from_;
  std::vector<std::string> files_;
  bool dry_run_ = false, json_ = false, best_ = false;
};

}  // namespace tilewright::cli
