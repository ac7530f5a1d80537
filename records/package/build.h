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
  std::string target;  ///< canonical text; empty: one package for each target in the stores
  std::string name;    ///< empty: derived from the target; requires `target` or a single target
  std::string license;
  std::string tool_version;
  /// Number of fastest trials kept for each workload and device, in addition to winners of races
  /// and trials equal to the last one; 0: all that may be served.
  std::int64_t best = 8;
  const SecretKey* key = nullptr;  ///< null: unsigned
  /// Called for each store with trials that `records check` reports: how many were excluded, and
  /// the reason of the first. May be empty.
  std::function<void(const std::string& store, std::int64_t count, const std::string& first)>
      refused = {};
};

struct BuiltPackage {
  PackageManifest manifest;
  std::string bytes;  ///< of the file
};

/// Builds packages of the servable records of the stores, one for each target, in the order of
/// their texts. The same records give the same bytes, independent of the stores and of the order of
/// insertion.
/// Errors: kNotFound if no record may be served (for the target); those of opening a store.
Result<std::vector<BuiltPackage>> BuildPackages(const TemplateRegistry& templates,
                                                const std::vector<std::string>& stores,
                                                const PackageOptions& options);

/// Returns the package name of a target: "llvm-znver5-t1-8c1f22ab" for `llvm -mcpu=znver5`.
Result<std::string> PackageNameOf(const std::string& target);

}  // namespace tilewright::records
