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

/// The package file: one read-only file of records that may be served. docs/packages.md has the
/// format byte by byte.

/// What a package says about itself. Everything that can be counted is checked against its records.
struct PackageManifest {
  int schema = 0;                    ///< of the database (records/schema.h)
  std::string name;                  ///< [a-z0-9._-]+, of the file too
  std::vector<std::string> targets;  ///< canonical texts; one, as built here
  std::int64_t tasks = 0;            ///< distinct workloads with records
  std::int64_t trials = 0;
  std::int64_t devices = 0;
  int codegen_version = 0;   ///< of the code generator all of its records were measured with
  std::string tool_version;  ///< of the program that built it
  std::string newest_trial;  ///< "2026-11-21T07:30:00Z": when the newest of its records was made
  std::string license;       ///< SPDX expression or a sentence, as its builder says
  std::int64_t database_bytes = 0;
  std::string database_sha256;  ///< 64 hexadecimal digits

  /// One line of JSON, always the same for the same values.
  std::string ToText() const;
  /// Accepts what ToText writes and nothing else.
  /// Errors: kCorrupt with what is wrong.
  static Result<PackageManifest> Parse(std::string_view text);
  friend bool operator==(const PackageManifest&, const PackageManifest&) = default;
};

/// Seconds since 1970 as "2026-11-21T07:30:00Z", fractions dropped.
std::string UtcText(double unix_seconds);

/// Whose packages are taken.
struct TrustPolicy {
  std::vector<TrustedKey> keys;
  bool allow_unsigned = false;  ///< also those without a signature; never those of unknown keys
};

/// A package that was read and found whole.
struct Package {
  PackageManifest manifest;
  std::string digest;                ///< SHA-256 of header, manifest and payload: its identity
  std::optional<TrustedKey> signer;  ///< none: unsigned
  std::string database;              ///< bytes of the SQLite file

  /// As shown to people: the signer's comment and the start of its key, or "unsigned".
  std::string SignerText() const;
};

/// The file of a package. key: null for an unsigned one.
/// Errors: kInvalidArgument if the manifest or the database is over a limit.
Result<std::string> PackageBytes(const PackageManifest& manifest, std::string_view database,
                                 const SecretKey* key);

/// Reads a package's bytes: checks lengths, digest, signature and trust before anything in it is
/// interpreted, then unpacks it within the length it states, and checks every record
/// (records/package/content.h). A large one is unpacked to a file first, and takes its memory once
/// all that it holds was found to be records.
/// templates: whose spaces configs are looked up in; null: only those of its own schedules, for who
/// looks them up when a record is served.
/// Errors: kCorrupt if a bit of it is not as it was built, or it holds anything but records that
///         `records check` finds nothing wrong with; kUnsupported if it is newer than this program,
///         unsigned, or signed by an unknown key; kUnavailable if no file can be made.
Result<Package> ReadPackage(std::string_view bytes, const TrustPolicy& policy,
                            const TemplateRegistry* templates = nullptr);
/// As ReadPackage, from a file. Errors: also kNotFound, kInvalidArgument (too large).
Result<Package> ReadPackageFile(const std::string& path, const TrustPolicy& policy,
                                const TemplateRegistry* templates = nullptr);

/// Manifest of a package whose bytes are whole, without unpacking it or asking whom to trust.
Result<PackageManifest> ReadPackageManifest(std::string_view bytes);

/// Extension of package files.
inline constexpr std::string_view kPackageExtension = ".twpkg";
/// No package file is larger: 256 MiB, about ten million records.
inline constexpr std::int64_t kMaxPackageBytes = std::int64_t{1} << 28;

}  // namespace tilewright::records
