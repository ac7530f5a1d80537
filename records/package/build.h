#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "records/package/package.h"
#include "src/base/status.h"

namespace tilewright {
class TemplateRegistry;
}

namespace tilewright::records {

struct PackageOptions {
  std::string target;  ///< canonical text; empty: one package for each target there is
  std::string name;    ///< empty: made from the target; needs `target` or a single one
  std::string license;
  std::string tool_version;
  /// Fastest trials kept for each workload and device, beside the winners of races and what is
  /// equal; 0: all that may be served.
  std::int64_t best = 8;
  const SecretKey* key = nullptr;  ///< null: unsigned
  /// Told of the trials of a store that are left out, since `records check` finds something wrong
  /// with them: how many, and what of the first. May be empty.
  std::function<void(const std::string& store, std::int64_t count, const std::string& first)>
      refused = {};
};

struct BuiltPackage {
  PackageManifest manifest;
  std::string bytes;  ///< of the file
};

/// Packages of what the stores have that may be served, one for each target, in the
/// order of their texts. The same records give the same bytes, in whatever order they came into
/// which store.
/// Errors: kNotFound if there is nothing to be served (for the target); those of opening a store.
Result<std::vector<BuiltPackage>> BuildPackages(const TemplateRegistry& templates,
                                                const std::vector<std::string>& stores,
                                                const PackageOptions& options);

/// Name for packages of a target: "llvm-znver5-t1-8c1f22ab" for `llvm -mcpu=znver5`.
Result<std::string> PackageNameOf(const std::string& target);

}  // namespace tilewright::records
