#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "records/package/catalog.h"
#include "src/tensor/workload.h"

namespace tilewright::session {

/// Imported records of workloads without a record of their own.
struct ImportedHint {
  std::size_t here = 0;       ///< workloads that AutoTVM's rule answers for the target
  std::size_t elsewhere = 0;  ///< workloads with imported records for other targets only
  std::size_t targets = 0;    ///< number of these targets
  std::string target;         ///< the one with records of most workloads, as written
};
/// Errors: those of the catalog.
Result<ImportedHint> FindImported(const std::vector<const Workload*>& workloads,
                                  const TemplateRegistry& templates, const Target& target,
                                  records::Catalog& catalog);

/// Returns the note on such records with the command that uses them; empty if there are none.
/// command: with --rule autotvm. own_target: value of --target for `here`; empty: none needed.
std::string ImportedHintText(const ImportedHint& hint, const std::string& command,
                             const std::string& own_target);

}  // namespace tilewright::session
