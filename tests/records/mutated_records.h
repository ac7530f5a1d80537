#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "src/base/random.h"
#include "src/base/status.h"

namespace tilewright::records {

/// Generator of record stores and packages that an expert forger could have changed: values of
/// every kind in every column, parts of the schema, pages of the file; packages have correct
/// digests. The tests run it for a second, bench/mutated_records for any time.
class MutatedRecords {
 public:
  /// folder: an empty directory for this object alone. corpus: a small record store of any version.
  static Result<MutatedRecords> Create(const std::string& folder, const std::string& corpus);

  /// Mutates one store and runs everything that opens stores on it. The store is case.db in the
  /// folder. Returns the error, or an empty text: errors are an invalid answer and a run of more
  /// than 10 s.
  std::string TryStore(std::uint64_t seed);
  /// The same with one changed field of one row in an otherwise valid store.
  std::string TryField(std::uint64_t seed);
  /// Mutates one package and corrects its digests, then reads, installs and queries it.
  std::string TryPackage(std::uint64_t seed);
  /// The same with one changed field of one of its rows.
  std::string TryPackageField(std::uint64_t seed);

  std::int64_t opened = 0, answered = 0;  ///< of the cases so far

 private:
  MutatedRecords(std::string folder, std::string base)
      : folder_(std::move(folder)), base_(std::move(base)) {}
  /// anything: changes of any kind; otherwise one field.
  std::string Try(std::uint64_t seed, bool anything);
  std::string TryPackage(std::uint64_t seed, bool anything);
  /// Changes one field to a value of another type, size or meaning.
  static void ChangeField(const std::string& path, Random& random);
  /// Changes a database file by SQL statements and by bytes.
  void Mutate(const std::string& path, Random& random) const;

  std::string folder_;
  std::string base_;  ///< bytes of a valid store of the current versions
};

}  // namespace tilewright::records
