// Package files of arbitrary bytes. A fuzzer cannot find SHA-256 digests, so the target also reads
// the input with a corrected digest, as a hostile builder could send it to a user who accepts
// unsigned packages. To reach the databases inside, it also packs the input.

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "records/package/package.h"
#include "records/store.h"
#include "tests/support/built_in.h"

namespace {

using namespace tilewright;  // NOLINT: a test program

void UseDatabase(std::string_view bytes) {
  auto store = records::Store::OpenImage(bytes, "fuzzed");
  if (!store.ok()) return;
  (void)store->Trials({}).ok();
  const auto workload = Workload::Parse("dense(float32[1,512]MK,float32[1000,512]NK)->float32");
  const auto target = Target::Parse("llvm -mcpu=haswell");
  if (workload.ok() && target.ok())
    (void)store->Query(BuiltInTemplates(), *workload, *target, {}).ok();
}

void Use(const Result<records::Package>& package) {
  if (package.ok()) UseDatabase(package->database);
}

/// Returns the same file with the digest of its contents.
std::string WithDigest(std::string bytes) {
  constexpr std::size_t kTrailer = 128, kDigest = 32;
  if (bytes.size() < kTrailer) return bytes;
  const std::size_t covered = bytes.size() - kTrailer;
  const records::Digest digest = records::Sha256(std::string_view(bytes).substr(0, covered));
  std::memcpy(bytes.data() + covered, digest.data(), kDigest);
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const records::TrustPolicy policy{{}, true};
  Use(records::ReadPackage(bytes, policy));
  Use(records::ReadPackage(WithDigest(std::string(bytes)), policy));
  (void)records::ReadPackageManifest(bytes).ok();
  (void)records::PackageManifest::Parse(bytes).ok();
  (void)records::ParsePublicKeys(bytes, "keys").ok();
  UseDatabase(bytes);
  // The input as the database of an otherwise valid package.
  records::PackageManifest manifest;
  manifest.schema = 1;
  manifest.name = "fuzzed";
  manifest.codegen_version = 1;
  manifest.targets = {"llvm -mcpu=haswell"};
  manifest.trials = manifest.tasks = manifest.devices = 1;
  manifest.newest_trial = "2025-06-15T15:06:40Z";
  manifest.database_bytes = static_cast<std::int64_t>(size);
  manifest.database_sha256 = records::Sha256Hex(bytes);
  if (auto packed = records::PackageBytes(manifest, bytes, nullptr); packed.ok()) {
    Use(records::ReadPackage(*packed, policy));
  }
  return 0;
}
