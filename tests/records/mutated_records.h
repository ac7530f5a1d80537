#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "src/base/random.h"
#include "src/base/status.h"

namespace tilewright::records {

/// Record stores and packages that were changed by somebody who knows how they are made: values of
/// every kind in every column, parts of the schema, pages of the file; in a package with digests
/// that are right. Used for a second by the tests, for as long as wanted by bench/mutated_records.
class MutatedRecords {
 public:
  /// folder: an empty one, for this object alone. corpus: a small record store of any version.
  static Result<MutatedRecords> Create(const std::string& folder, const std::string& corpus);

  /// One changed store: everything that opens stores is done with it. In the folder it is case.db.
  /// returns what is wrong, empty if nothing is: an answer that may not be, or one that takes 10 s.
  std::string TryStore(std::uint64_t seed);
  /// The same with one field of one row of a store that is sound otherwise.
  std::string TryField(std::uint64_t seed);
  /// One changed package, whose digests are right: read, installed and asked.
  std::string TryPackage(std::uint64_t seed);
  /// The same with one field of one of its rows.
  std::string TryPackageField(std::uint64_t seed);

  std::int64_t opened = 0, answered = 0;  ///< of the cases so far

 private:
  MutatedRecords(std::string folder, std::string base)
      : folder_(std::move(folder)), base_(std::move(base)) {}
  /// anything: changes of any kind, else one field.
  std::string Try(std::uint64_t seed, bool anything);
  std::string TryPackage(std::uint64_t seed, bool anything);
  /// Changes one field to a value of another type, size or meaning.
  static void ChangeField(const std::string& path, Random& random);
  /// Changes the database in a file by statements and in its bytes.
  void Mutate(const std::string& path, Random& random) const;

  std::string folder_;
  std::string base_;  ///< bytes of a sound store of today's versions
};

}  // namespace tilewright::records
