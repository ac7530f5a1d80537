#include "python_free_cli/record_sources.h"

#include <CLI/CLI.hpp>

#include "src/base/files/file.h"
#include "src/session/user_paths.h"

namespace tilewright::cli {

void DeclareTrust(CLI::App& app, session::TrustOptions& trust) {
  app.add_option("--key", trust.keys, "Additional public key to trust (FILE.pub)");
  app.add_flag("--allow-unsigned", trust.allow_unsigned, "Accept packages without a signature");
}

void RecordArguments::Declare(CLI::App& app, const std::string& accept_default, bool networks) {
  accept = accept_default;
  app.add_option(
      "--records", stores,
      "Record stores to search, in this order (default: the user's store, if it exists)");
  app.add_option("--package", packages, "Package files to search before the installed packages");
  app.add_flag("--no-packages", no_packages, "Ignore the installed packages");
  app.add_option("--accept", accept, "Lowest kind of answer to accept")
      ->check(CLI::IsMember({"hit", "near", "model", "default"}))
      ->capture_default_str();
  app.add_option("--rule", rule, "Lookup rule: own, or autotvm for imported records")
      ->check(CLI::IsMember({"own", "autotvm"}))
      ->capture_default_str();
  app.add_option("--tophub", tophub, "With --rule autotvm: use only this TopHub package");
  app.add_option("--model", model_file,
                 "Cost model for tasks without a record, or none (default: the shipped one)");
  app.add_option("--prefer", prefer,
                 "Choose records by another metric, such as dram_bytes, or within a limit: "
                 "cycles,dram_bytes<=15.3MB" +
                     std::string(networks ? "; or number formats of an earlier `optimize`: "
                                            "seconds,sqnr>=40"
                                          : ""));
  DeclareTrust(app, trust);
}

Result<std::vector<std::string>> StoresToRead(const session::RecordSources& sources) {
  if (!sources.stores.empty()) return sources.stores;
  TW_ASSIGN_OR_RETURN(const std::string own, session::UserStorePath(/*make_folder=*/false));
  return FileExists(own) ? std::vector<std::string>{own} : std::vector<std::string>();
}

}  // namespace tilewright::cli
