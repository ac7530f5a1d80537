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

/// What is to be known about an imported record. Stored as bits: values never change.
enum ImportedFlag : std::int64_t {
  kImportedUnreachable = 1,      ///< no compiler asks for these arguments
  kImportedSharedResult = 2,     ///< costs and time are those of another workload's record too
  kImportedCopy = 4,             ///< of those, not the one that was measured: do not learn from it
  kImportedMalformedTensor = 8,  ///< a tensor argument that is no triple
  kImportedProductsDiffer = 16,  ///< a written first factor does not multiply to its axis
  kImportedRenamed = 32,         ///< tile_rx before tile_ry: the names were swapped in 2019
  kImportedFormat01 = 64,        ///< converted from format 0.1
  kImportedFiltered = 128,       ///< a condition on whole configs does not hold
  kImportedNoCost = 256,         ///< the cost is no finite number: never served
};
/// Names of the bits set, in their order: "unreachable", "shared_result", …
std::vector<std::string_view> ImportedFlagNames(std::int64_t flags);

/// A record of another program. Unverified: served only where the caller asks for AutoTVM's rule.
struct ImportedRecord {
  std::int64_t id = 0;                    ///< order of import
  std::string digest;                     ///< 32 hexadecimal digits, the same in every store
  std::string task, tuple, workload_key;  ///< workload_key: empty where we have no such operator
  std::string target;                     ///< as written
  std::string canonical_target;
  std::string file, package;  ///< package: empty for a log
  std::int64_t line = 0;
  std::int64_t index = 0;  ///< as written; the entities count
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

  /// False for what was edited, copied, failed or has no cost: a cost model must not learn from it.
  bool trainable() const;
};

/// What is wrong with the costs of a record that was measured; empty: nothing. Costs that are no
/// finite number are none: such a record is never served. least: MinSeconds of its task.
std::string InvalidCostsReason(std::span<const double> costs, std::int64_t error, double least);

/// Why an imported record may not be used: its values make no sense, or its digest is not that of
/// its values. Empty: it may.
std::string InvalidImportReason(const ImportedRecord& record);

/// Columns of `imported` and its texts, and their row as a record.
std::string_view ImportedColumns();
inline constexpr int kImportedColumnCount = 21;
/// The FROM clause that goes with them.
std::string_view ImportedTables();
class Statement;
ImportedRecord ReadImported(const Statement& row);

/// Calls `visit` for every imported record in the order of import, until it returns an error.
Status ForEachImported(const Store& store,
                       const std::function<Status(const ImportedRecord&)>& visit);

/// The config of a record: values in the record's own order, dropped and contradicting first
/// factors recomputed from the axes where the space is known; the index is that of the values, -1
/// where they are outside or the space is unknown.
Result<Config> ConfigOfImported(const ImportedRecord& record);

/// The record as a candidate of the template of that name, to be built and verified for
/// `target`, which need not be the one it was measured on.
/// Errors: kUnsupported if there is no such template, it refuses the workload or target, or its
/// space lacks the config; the message says which.
Result<Candidate> CandidateOfImported(const TemplateRegistry& templates,
                                      const ImportedRecord& record, const Target& target);

}  // namespace tilewright::records
