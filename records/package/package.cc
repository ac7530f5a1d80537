// The package file.
//
//   offset   bytes  contents
//   0        8      "TWPKG", 0x0d, 0x0a, 0x1a: detects text-mode copies
//   8        4      format version, 1
//   12       4      M, length of the manifest
//   16       8      P, length of the payload
//   24       M      manifest, JSON
//   24+M     P      payload, one zstd frame that contains the SQLite file
//   24+M+P   32     SHA-256 of everything before: the package's digest
//   +32      32     public key, or zeros
//   +64      64     Ed25519 signature of "tilewright package 1\n" and the digest, or zeros
//
// Integers are little-endian. Nothing follows. The digest covers every bit before it, and the
// signature covers the digest. Both are checked before the manifest is parsed or the payload
// unpacked, so only a trusted builder's bytes reach zstd and SQLite. An unsigned package reaches
// them if the user allows it; the same limits and hardening apply.

#include "records/package/package.h"

#include <sodium.h>
#include <zstd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "records/package/content.h"
#include "src/base/files/file.h"
#include "src/base/files/file_kind.h"
#include "src/base/files/scratch.h"
#include "src/base/json.h"
#include "src/base/printable.h"

namespace tilewright::records {
namespace {

constexpr std::string_view kMagic("TWPKG\r\n\x1a", 8);
constexpr std::uint32_t kFormatVersion = 1;
constexpr std::size_t kHeaderBytes = 24;
constexpr std::size_t kDigestBytes = 32, kKeyBytes = 32, kSignatureBytes = 64;
constexpr std::size_t kTrailerBytes = kDigestBytes + kKeyBytes + kSignatureBytes;
constexpr std::string_view kSignedPrefix = "tilewright package 1\n";
constexpr std::uint32_t kMaxManifestBytes = 1 << 16;
// 1 GiB unpacked, and at most 400 times the packed bytes: databases of records compress 5 to 30
// times (a tiny one, mostly empty pages, up to 100), a decompression bomb thousands of times.
constexpr std::int64_t kMaxDatabaseBytes = std::int64_t{1} << 30;
constexpr std::int64_t kMaxRatio = 400;
// Larger databases stay in a file until all of their records passed the checks.
constexpr std::int64_t kMaxInMemory = std::int64_t{16} << 20;
// 19: packed once, read often; its window is 8 MiB, and up to 32 are accepted.
constexpr int kLevel = 19;
constexpr int kMaxWindowLog = 25;

std::uint64_t Little(std::string_view bytes, std::size_t at, int count) {
  std::uint64_t value = 0;
  for (int i = count - 1; i >= 0; --i) {
    value = value << 8 | static_cast<unsigned char>(bytes[at + static_cast<std::size_t>(i)]);
  }
  return value;
}

void PutLittle(std::string& out, std::uint64_t value, int count) {
  for (int i = 0; i < count; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
}

std::string_view View(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

bool NameIsFine(std::string_view name) {
  return !name.empty() && name.size() <= 128 && name.front() != '.' &&
         std::ranges::all_of(name, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
                  c == '.';
         });
}

/// Parts of a package file whose lengths fit its size and whose digest is correct.
struct Parts {
  std::string_view manifest, payload, digest, key, signature;
};

Result<Parts> TakeApart(std::string_view bytes) {
  if (bytes.size() < kHeaderBytes + kTrailerBytes || !bytes.starts_with(kMagic)) {
    return Corrupt("not a package file, or cut off");
  }
  const std::uint64_t version = Little(bytes, 8, 4);
  if (version != kFormatVersion) {
    return Unsupported("package format " + std::to_string(version) + ", this program reads " +
                       std::to_string(kFormatVersion));
  }
  const std::uint64_t manifest_bytes = Little(bytes, 12, 4);
  const std::uint64_t payload_bytes = Little(bytes, 16, 8);
  const std::uint64_t room = bytes.size() - kHeaderBytes - kTrailerBytes;
  if (manifest_bytes > kMaxManifestBytes || manifest_bytes > room ||
      payload_bytes != room - manifest_bytes) {
    return Corrupt("its lengths do not add up: cut off, or something was appended");
  }
  Parts parts;
  parts.manifest = bytes.substr(kHeaderBytes, manifest_bytes);
  parts.payload = bytes.substr(kHeaderBytes + manifest_bytes, payload_bytes);
  const std::size_t covered = kHeaderBytes + manifest_bytes + payload_bytes;
  parts.digest = bytes.substr(covered, kDigestBytes);
  parts.key = bytes.substr(covered + kDigestBytes, kKeyBytes);
  parts.signature = bytes.substr(covered + kDigestBytes + kKeyBytes);
  if (View(Sha256(bytes.substr(0, covered))) != parts.digest) {
    return Corrupt("its SHA-256 is not the one it states: damaged or changed");
  }
  return parts;
}

/// Returns the trusted key that signed the package; none if the policy accepts it unsigned.
Result<std::optional<TrustedKey>> CheckSignature(const Parts& parts, const TrustPolicy& policy) {
  const auto is_zero = [](std::string_view bytes) {
    return std::ranges::all_of(bytes, [](char c) { return c == 0; });
  };
  if (is_zero(parts.key) && is_zero(parts.signature)) {
    if (policy.allow_unsigned) return std::optional<TrustedKey>();
    return Unsupported("not signed; --allow-unsigned takes it all the same");
  }
  PublicKey key;
  std::memcpy(key.bytes.data(), parts.key.data(), kKeyBytes);
  const auto trusted = std::ranges::find(policy.keys, key, &TrustedKey::key);
  if (trusted == policy.keys.end()) {
    return Unsupported("signed by the key " + key.Hex() +
                       ", which is not trusted (`tilewright package trust FILE.pub` adds one)");
  }
  Signature signature;
  std::memcpy(signature.data(), parts.signature.data(), kSignatureBytes);
  if (!VerifySignature(key, std::string(kSignedPrefix) + std::string(parts.digest), signature)) {
    return Corrupt("its signature is not by the key it names: damaged or changed");
  }
  return std::optional(*trusted);
}

/// Receiver of unpacked bytes, piece by piece.
using ByteSink = std::function<Status(std::string_view)>;

/// Unpacks exactly `size` bytes and checks the first of them before the rest. Returns their
/// SHA-256.
Result<std::string> Unpack(std::string_view payload, std::int64_t size, const ByteSink& sink) {
  const auto packed = static_cast<std::int64_t>(payload.size());
  if (size > kMaxDatabaseBytes || size > packed * kMaxRatio) {
    return Corrupt("it unpacks " + std::to_string(packed) + " bytes to " + std::to_string(size) +
                   ", more than a package may");
  }
  const unsigned long long framed = ZSTD_getFrameContentSize(payload.data(), payload.size());
  if (framed != static_cast<unsigned long long>(size) ||
      ZSTD_findFrameCompressedSize(payload.data(), payload.size()) != payload.size()) {
    return Corrupt("its payload is not a zstd frame of the length its manifest states");
  }
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(),
                                                                     &ZSTD_freeDCtx);
  TW_CHECK(context != nullptr);
  ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, kMaxWindowLog);
  constexpr std::size_t kPiece = std::size_t{1} << 18;
  std::string piece(kPiece, '\0');
  ZSTD_inBuffer in{payload.data(), payload.size(), 0};
  crypto_hash_sha256_state hash;
  crypto_hash_sha256_init(&hash);
  std::int64_t count = 0;
  for (std::size_t left = 1; left != 0;) {
    ZSTD_outBuffer out{piece.data(), piece.size(), 0};
    const std::size_t before = in.pos;
    left = ZSTD_decompressStream(context.get(), &out, &in);
    if (ZSTD_isError(left)) {
      return Corrupt(std::string("its payload does not unpack: ") + ZSTD_getErrorName(left));
    }
    const std::string_view bytes(piece.data(), out.pos);
    if (count == 0) TW_RETURN_IF_ERROR(CheckHeader(bytes, size));
    count += static_cast<std::int64_t>(out.pos);
    const bool stuck = left != 0 && out.pos == 0 && in.pos == before;
    if (count > size || stuck) break;
    crypto_hash_sha256_update(&hash, reinterpret_cast<const unsigned char*>(bytes.data()),
                              bytes.size());
    TW_RETURN_IF_ERROR(sink(bytes));
  }
  if (count != size) return Corrupt("its payload does not unpack: of another length");
  Digest digest;
  crypto_hash_sha256_final(&hash, digest.data());
  return HexText(View(digest));
}

/// Unpacks a package's database, checks it and returns it.
Result<std::string> DatabaseOf(const Parts& parts, const PackageManifest& manifest,
                               const TemplateRegistry* templates) {
  const bool large = manifest.database_bytes > kMaxInMemory;
  std::string database;
  std::optional<ScratchFile> file;
  if (large) {
    TW_ASSIGN_OR_RETURN(auto made, ScratchFile::Create("tilewright-package"));
    file.emplace(std::move(made));
  }
  TW_ASSIGN_OR_RETURN(const auto digest, Unpack(parts.payload, manifest.database_bytes,
                                                [&](std::string_view bytes) -> Status {
                                                  if (large) return file->Write(bytes);
                                                  database += bytes;
                                                  return {};
                                                }));
  if (digest != manifest.database_sha256) {
    return Corrupt("its database is not the one its manifest describes");
  }
  const Status content = large ? CheckContentFile(file->path(), manifest, templates)
                               : CheckContent(database, manifest, templates);
  if (content.code() == StatusCode::kUnsupported) return content;
  // Any SQLite error means corrupt bytes: retrying cannot help.
  if (!content.ok()) return Corrupt(content.message());
  return large ? ReadFile(file->path()) : Result<std::string>(std::move(database));
}

Result<std::string> Pack(std::string_view database) {
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(),
                                                                     &ZSTD_freeCCtx);
  TW_CHECK(context != nullptr);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, kLevel);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  std::string out(ZSTD_compressBound(database.size()), '\0');
  const std::size_t count =
      ZSTD_compress2(context.get(), out.data(), out.size(), database.data(), database.size());
  if (ZSTD_isError(count)) return Internal(std::string("zstd: ") + ZSTD_getErrorName(count));
  out.resize(count);
  return out;
}

}  // namespace

std::string UtcText(double unix_seconds) {
  // Years 1970 to 9999, the range of the text format.
  const double seconds = std::isfinite(unix_seconds) ? unix_seconds : 0;
  const auto time = static_cast<std::time_t>(std::clamp(seconds, 0.0, 253402300799.0));
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string PackageManifest::ToText() const {
  const Json json = {{"schema", schema},
                     {"name", name},
                     {"targets", targets},
                     {"tasks", tasks},
                     {"trials", trials},
                     {"devices", devices},
                     {"codegen_version", codegen_version},
                     {"tool_version", tool_version},
                     {"newest_trial", newest_trial},
                     {"license", license},
                     {"database_bytes", database_bytes},
                     {"database_sha256", database_sha256}};
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

Result<PackageManifest> PackageManifest::Parse(std::string_view text) {
  auto json = ParseJson(text);
  if (!json.ok()) return Corrupt("manifest: " + json.status().message());
  PackageManifest manifest;
  const auto integer = [&](const char* key, auto& out) {
    using T = std::remove_reference_t<decltype(out)>;
    if (const auto at = json->find(key); at != json->end() && at->is_number_integer()) {
      out = static_cast<T>(at->template get<std::int64_t>());
    }
  };
  const auto string = [&](const char* key, std::string& out) {
    if (const auto at = json->find(key); at != json->end() && at->is_string()) {
      out = at->get<std::string>();
    }
  };
  if (!json->is_object()) return Corrupt("manifest: expected an object");
  integer("schema", manifest.schema);
  string("name", manifest.name);
  if (const auto at = json->find("targets"); at != json->end() && at->is_array()) {
    for (const Json& target : *at) {
      if (target.is_string()) manifest.targets.push_back(target.get<std::string>());
    }
  }
  integer("tasks", manifest.tasks);
  integer("trials", manifest.trials);
  integer("devices", manifest.devices);
  integer("codegen_version", manifest.codegen_version);
  string("tool_version", manifest.tool_version);
  string("newest_trial", manifest.newest_trial);
  string("license", manifest.license);
  integer("database_bytes", manifest.database_bytes);
  string("database_sha256", manifest.database_sha256);
  // One comparison rejects missing, unknown, out-of-range, repeated and wrongly typed members.
  if (manifest.ToText() != text) {
    return Corrupt("manifest: keys or values are not those of this format");
  }
  for (const std::string* shown : {&manifest.license, &manifest.tool_version}) {
    if (!IsPrintable(*shown)) {
      return Corrupt("manifest: '" + Printable(shown->substr(0, 60)) +
                     "' has control characters, or is not UTF-8");
    }
  }
  if (!NameIsFine(manifest.name)) return Corrupt("manifest: the name is not of [a-z0-9._-]");
  if (manifest.database_bytes <= 0) return Corrupt("manifest: database_bytes is not positive");
  return manifest;
}

std::string Package::SignerText() const {
  if (!signer.has_value()) return "unsigned";
  const std::string key = signer->key.Hex().substr(0, 16);
  return signer->comment.empty() ? key : signer->comment + " (" + key + ")";
}

Result<std::string> PackageBytes(const PackageManifest& manifest, std::string_view database,
                                 const SecretKey* key) {
  const std::string text = manifest.ToText();
  if (!IsPrintable(manifest.license)) {
    return InvalidArgument("package: the licence has control characters, or is not UTF-8");
  }
  if (text.size() > kMaxManifestBytes) {
    return InvalidArgument("package: a manifest of " + std::to_string(text.size()) +
                           " bytes, at most " + std::to_string(kMaxManifestBytes));
  }
  if (static_cast<std::int64_t>(database.size()) > kMaxDatabaseBytes) {
    return InvalidArgument("package: a database of " + std::to_string(database.size()) +
                           " bytes, at most " + std::to_string(kMaxDatabaseBytes) +
                           "; keep fewer trials per task");
  }
  TW_ASSIGN_OR_RETURN(auto payload, Pack(database));
  std::string bytes(kMagic);
  PutLittle(bytes, kFormatVersion, 4);
  PutLittle(bytes, text.size(), 4);
  PutLittle(bytes, payload.size(), 8);
  bytes += text;
  bytes += payload;
  const Digest digest = Sha256(bytes);
  bytes += View(digest);
  PublicKey public_key;
  Signature signature{};
  if (key != nullptr) {
    public_key = key->public_key();
    signature = Sign(*key, std::string(kSignedPrefix) + std::string(View(digest)));
  }
  bytes.append(reinterpret_cast<const char*>(public_key.bytes.data()), kKeyBytes);
  bytes.append(reinterpret_cast<const char*>(signature.data()), kSignatureBytes);
  if (static_cast<std::int64_t>(bytes.size()) > kMaxPackageBytes) {
    return InvalidArgument("package: " + std::to_string(bytes.size()) + " bytes, at most " +
                           std::to_string(kMaxPackageBytes) + "; keep fewer trials per task");
  }
  return bytes;
}

Result<Package> ReadPackage(std::string_view bytes, const TrustPolicy& policy,
                            const TemplateRegistry* templates) {
  TW_ASSIGN_OR_RETURN(auto parts, TakeApart(bytes));
  Package package;
  TW_ASSIGN_OR_RETURN(package.signer, CheckSignature(parts, policy));
  package.digest = HexText(parts.digest);
  TW_ASSIGN_OR_RETURN(package.manifest, PackageManifest::Parse(parts.manifest));
  TW_ASSIGN_OR_RETURN(package.database, DatabaseOf(parts, package.manifest, templates));
  return package;
}

Status NotAPackage(const Status& error, std::string_view bytes, const std::string& path) {
  Status explained = error.WithContext(path);
  if (bytes.starts_with(kMagic)) return explained;
  return ExplainWrongFile(std::move(explained), IdentifyBytes(bytes, path), path,
                          {"a package of records (.twpkg)"});
}

Result<Package> ReadPackageFile(const std::string& path, const TrustPolicy& policy,
                                const TemplateRegistry* templates) {
  TW_ASSIGN_OR_RETURN(auto bytes, ReadFile(path, kMaxPackageBytes));
  auto package = ReadPackage(bytes, policy, templates);
  if (!package.ok()) return NotAPackage(package.status(), bytes, path);
  return package;
}

Result<PackageManifest> ReadPackageManifest(std::string_view bytes) {
  TW_ASSIGN_OR_RETURN(auto parts, TakeApart(bytes));
  return PackageManifest::Parse(parts.manifest);
}

}  // namespace tilewright::records
