#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "records/autotvm/space.h"
#include "records/store.h"
#include "src/base/status.h"

namespace tilewright {
class TemplateRegistry;
}

namespace tilewright::records {

/// Properties of an imported record. Stored as bits: values never change.
enum ImportedFlag : std::int64_t {
  kImportedUnreachable = 1,   ///< no compiler requests these arguments
  kImportedSharedResult = 2,  ///< costs and time equal those of another workload's record
  kImportedCopy = 4,          ///< of those, the copy that was not measured: excluded from training
  kImportedMalformedTensor = 8,  ///< a tensor argument is not a triple
  kImportedProductsDiffer = 16,  ///< a recorded first factor does not multiply to its axis
  kImportedRenamed = 32,         ///< tile_rx before tile_ry: the names were swapped in 2019
  kImportedFormat01 = 64,        ///< converted from format 0.1
  kImportedFiltered = 128,       ///< a condition on whole configs does not hold
  kImportedNoCost = 256,         ///< the cost is not a finite number: never served
};
/// Returns the names of the bits set, in their order: "unreachable", "shared_result", …
std::vector<std::string_view> ImportedFlagNames(std::int64_t flags);
/// Returns what a flag means, for users; empty for an unknown name.
std::string_view ImportedFlagText(std::string_view name);

/// Record of another program. Unverified: served only if the caller requests AutoTVM's rule.
struct ImportedRecord {
  std::int64_t id = 0;                    ///< order of import
  std::string digest;                     ///< 32 hexadecimal digits, the same in every store
  std::string task, tuple, workload_key;  ///< workload_key: empty if no operator matches
  std::string target;                     ///< as written
  std::string canonical_target;
  std::string file, package;  ///< package: empty for a log
  std::int64_t line = 0;
  std::int64_t index = 0;  ///< as written; the entities are authoritative
  std::string entities;    ///< JSON
  std::string code_hash;
  std::vector<double> costs;  ///< seconds
  double cost = 0;            ///< their mean
  std::int64_t error = 0;     ///< 0: measured
  double all_cost = 0;        ///< seconds
  double finished = 0;        ///< Unix seconds
  std::string tvm_version;
  AutotvmAgreement agreement = AutotvmAgreement::kUnknown;
  std::int64_t flags = 0;

  /// Returns false for edited, copied and failed records and for those without a cost: cost models
  /// exclude them from training.
  bool trainable() const;
};

/// Returns the reason why the costs of a measured record are invalid; empty if they are valid.
/// Costs that are not finite are missing: such a record is never served. least: MinSeconds of its
/// task.
std::string InvalidCostsReason(std::span<const double> costs, std::int64_t error, double least);

/// Returns the reason why an imported record is invalid: implausible values, or a digest that is
/// not that of its values. Empty if it is valid.
std::string InvalidImportReason(const ImportedRecord& record);

/// Returns the SELECT list of `imported` and its joined tables for ReadImported.
std::string_view ImportedColumns();
inline constexpr int kImportedColumnCount = 21;
/// Returns the FROM clause for ImportedColumns.
std::string_view ImportedTables();
class Statement;
ImportedRecord ReadImported(const Statement& row);

/// Calls `visit` for every imported record in the order of import until it returns an error.
Status ForEachImported(const Store& store,
                       const std::function<Status(const ImportedRecord&)>& visit);

/// Returns the config of a record, with values in the record's order. If the space is known,
/// missing and contradicting first factors are recomputed from the axes. The index is the position
/// of the values; -1 if they are outside the space or the space is unknown.
Result<Config> ConfigOfImported(const ImportedRecord& record);

/// Converts the record to a candidate of the template of the same name, to be built and verified
/// for `target`, which may differ from the measured one.
/// Errors: kUnsupported if the template is missing, rejects the workload or target, or its space
/// lacks the config; the message states which.
Result<Candidate> CandidateOfImported(const TemplateRegistry& templates,
                                      const ImportedRecord& record, const Target& target);

}  // namespace tilewright::records
