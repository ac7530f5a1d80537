#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "records/package/signing.h"
#include "src/base/status.h"

namespace tilewright {
class TemplateRegistry;
}

namespace tilewright::records {

/// Package file: one read-only file of servable records. docs/packages.md specifies the format byte
/// by byte.

/// Manifest of a package. All of its counts are checked against the records.
struct PackageManifest {
  int schema = 0;                    ///< of the database (records/schema.h)
  std::string name;                  ///< [a-z0-9._-]+, also of the file
  std::vector<std::string> targets;  ///< canonical texts; packages built by this program have one
  std::int64_t tasks = 0;            ///< distinct workloads with records
  std::int64_t trials = 0;
  std::int64_t devices = 0;
  int codegen_version = 0;   ///< code generator version of all of its records
  std::string tool_version;  ///< of the program that built it
  std::string newest_trial;  ///< "2026-11-21T07:30:00Z": date of the newest record
  std::string license;       ///< SPDX expression or a sentence, given by the builder
  std::int64_t database_bytes = 0;
  std::string database_sha256;  ///< 64 hexadecimal digits

  /// Returns one line of JSON, the same for equal values.
  std::string ToText() const;
  /// Parses exactly the output of ToText.
  /// Errors: kCorrupt with the reason.
  static Result<PackageManifest> Parse(std::string_view text);
  friend bool operator==(const PackageManifest&, const PackageManifest&) = default;
};

/// Formats seconds since 1970 as "2026-11-21T07:30:00Z"; drops fractions.
std::string UtcText(double unix_seconds);

/// Signers whose packages are accepted.
struct TrustPolicy {
  std::vector<TrustedKey> keys;
  /// Also accept packages without a signature; never those of unknown keys.
  bool allow_unsigned = false;
};

/// Package that was read and passed all checks.
struct Package {
  PackageManifest manifest;
  std::string digest;                ///< SHA-256 of header, manifest and payload: its identity
  std::optional<TrustedKey> signer;  ///< none: unsigned
  std::string database;              ///< bytes of the SQLite file

  /// Returns the signer for display: the comment and the start of the key, or "unsigned".
  std::string SignerText() const;
};

/// Returns the bytes of a package file. key: null for an unsigned one.
/// Errors: kInvalidArgument if the manifest or the database exceeds a limit.
Result<std::string> PackageBytes(const PackageManifest& manifest, std::string_view database,
                                 const SecretKey* key);

/// Reads a package's bytes. Checks lengths, digest, signature and trust before it interprets any
/// content. Then unpacks at most the stated length and checks every record
/// (records/package/content.h). A large package is unpacked to a file, and its database is loaded
/// into memory only after all records passed. templates: spaces to look up configs in; null: only
/// those of the package's schedules, if the caller checks configs when a record is served.
/// Errors: kCorrupt if any bit differs from the built package, or it contains anything but records
/// that pass `records check`; kUnsupported if it is newer than this program, unsigned, or signed by
/// an unknown key; kUnavailable if a file cannot be created.
Result<Package> ReadPackage(std::string_view bytes, const TrustPolicy& policy,
                            const TemplateRegistry* templates = nullptr);
/// Returns the error of ReadPackage with the path of the file, and names the kind of a file that is
/// not a package.
Status NotAPackage(const Status& error, std::string_view bytes, const std::string& path);
/// Reads a package file; see ReadPackage.
/// Errors: also kNotFound, kInvalidArgument (too large).
Result<Package> ReadPackageFile(const std::string& path, const TrustPolicy& policy,
                                const TemplateRegistry* templates = nullptr);

/// Returns the manifest of an undamaged package without unpacking it and without checking trust.
Result<PackageManifest> ReadPackageManifest(std::string_view bytes);

/// Extension of package files.
inline constexpr std::string_view kPackageExtension = ".twpkg";
/// Maximum size of a package file: 256 MiB, about ten million records.
inline constexpr std::int64_t kMaxPackageBytes = std::int64_t{1} << 28;

}  // namespace tilewright::records
