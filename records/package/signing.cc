// Key files and Ed25519 signatures (libsodium). A key file contains lines of a tag, digits
// and a comment; a secret one is readable only by its owner.

#include "records/package/signing.h"

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "src/base/files/file.h"
#include "src/base/files/temp_name.h"
#include "src/base/printable.h"
#include "src/base/strings.h"

namespace tilewright::records {
namespace {

constexpr std::string_view kPublicTag = "tilewright-ed25519";
constexpr std::string_view kSecretTag = "tilewright-ed25519-secret";
// A thousand keys with comments; larger files are rejected.
constexpr std::int64_t kMaxKeyFileBytes = 1 << 18;

static_assert(sizeof(PublicKey::bytes) == crypto_sign_PUBLICKEYBYTES);
static_assert(SecretKey::kBytes == crypto_sign_SECRETKEYBYTES);
static_assert(sizeof(Signature) == crypto_sign_BYTES);

const unsigned char* BytesOf(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

/// Words of a key line: tag, digits, and the rest as comment.
struct KeyLine {
  std::string_view tag, digits, comment;
};
KeyLine Take(std::string_view line) {
  const auto word = [&line] {
    const std::size_t end = std::min(line.find(' '), line.size());
    const std::string_view taken = line.substr(0, end);
    line = Trim(line.substr(end));
    return taken;
  };
  KeyLine parts;
  parts.tag = word();
  parts.digits = word();
  parts.comment = line;
  return parts;
}

/// Writes a new file; fails if it exists.
Status WriteNew(const std::string& path, std::string_view text, mode_t mode) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (fd < 0) {
    if (errno == EEXIST) return InvalidArgument(path + ": exists, and keys are never replaced");
    return Unavailable(path + ": cannot be written: " + std::strerror(errno));
  }
  const ssize_t written = ::write(fd, text.data(), text.size());
  const bool synced = ::fsync(fd) == 0;
  ::close(fd);
  if (written != static_cast<ssize_t>(text.size()) || !synced) {
    ::unlink(path.c_str());
    return Unavailable(path + ": cannot be written");
  }
  return {};
}

}  // namespace

std::string PublicKey::Hex() const {
  return HexText({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

SecretKey::SecretKey(std::string_view bytes) {
  TW_CHECK(bytes.size() == kBytes);
  std::copy_n(BytesOf(bytes), kBytes, bytes_.begin());
}

SecretKey::~SecretKey() { sodium_memzero(bytes_.data(), bytes_.size()); }

PublicKey SecretKey::public_key() const {
  PublicKey key;
  crypto_sign_ed25519_sk_to_pk(key.bytes.data(), bytes_.data());
  return key;
}

std::string SecretKey::FileText(std::string_view comment) const {
  return std::string(kSecretTag) + " " +
         HexText({reinterpret_cast<const char*>(bytes_.data()), kBytes}) + " " +
         std::string(comment) + "\n";
}

Result<SecretKey> GenerateKey() {
  if (sodium_init() < 0) return Internal("the cryptographic library cannot be initialized");
  std::array<unsigned char, SecretKey::kBytes> secret;
  PublicKey ignored;
  crypto_sign_keypair(ignored.bytes.data(), secret.data());
  SecretKey key({reinterpret_cast<const char*>(secret.data()), secret.size()});
  sodium_memzero(secret.data(), secret.size());
  return key;
}

Signature Sign(const SecretKey& key, std::string_view message) {
  Signature signature;
  crypto_sign_detached(signature.data(), nullptr, BytesOf(message), message.size(), key.data());
  return signature;
}

bool VerifySignature(const PublicKey& key, std::string_view message, const Signature& signature) {
  return crypto_sign_verify_detached(signature.data(), BytesOf(message), message.size(),
                                     key.bytes.data()) == 0;
}

std::string PublicKeyLine(const PublicKey& key, std::string_view comment) {
  return std::string(kPublicTag) + " " + key.Hex() + " " + std::string(comment) + "\n";
}

Result<std::vector<TrustedKey>> ParsePublicKeys(std::string_view text, const std::string& file) {
  std::vector<TrustedKey> keys;
  int number = 0;
  for (const std::string& raw : Split(text, '\n')) {
    ++number;
    const std::string_view line = Trim(raw);
    if (line.empty() || line.starts_with('#')) continue;
    const std::string place = file + ":" + std::to_string(number);
    const KeyLine parts = Take(line);
    if (parts.tag == kSecretTag) {
      return InvalidArgument(place + ": a secret key, expected a public one (its .pub file)");
    }
    if (parts.tag != kPublicTag) {
      return InvalidArgument(place + ": expected '" + std::string(kPublicTag) +
                             " <64 hexadecimal digits> <comment>'");
    }
    TrustedKey key;
    auto bytes = ParseHex(parts.digits, key.key.bytes.size());
    if (!bytes.ok()) return bytes.status().WithContext(place);
    std::copy_n(BytesOf(*bytes), key.key.bytes.size(), key.key.bytes.begin());
    key.comment = parts.comment;
    if (!IsPrintable(key.comment)) {
      return InvalidArgument(place + ": the comment has control characters, or is not UTF-8");
    }
    keys.push_back(std::move(key));
  }
  return keys;
}

Result<std::vector<TrustedKey>> ReadTrustedKeys(const std::string& path) {
  if (!FileExists(path)) return std::vector<TrustedKey>();
  std::error_code failed;
  // Checks the permissions of the link's target.
  const auto file = std::filesystem::canonical(path, failed);
  if (failed) return Unavailable(path + ": " + failed.message());
  for (const auto& [place, is_folder] : {std::pair(file, false), {file.parent_path(), true}}) {
    if (const std::string why = UnsafePermissionReason(place, is_folder); !why.empty()) {
      return InvalidArgument(why + "; the keys in " + path + " are not trusted");
    }
  }
  return ReadPublicKeys(path);
}

Status WriteTrustedKeys(const std::string& path, std::string_view text) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code failed;
  if (std::filesystem::create_directories(folder, failed)) {
    ::chmod(folder.c_str(), 0755);  // independent of the umask
  }
  if (failed) return Unavailable(folder.string() + ": cannot be created: " + failed.message());
  TW_RETURN_IF_ERROR(WriteFile(path, text));
  return ::chmod(path.c_str(), 0644) == 0 ? Status() : Unavailable(path + ": " + ErrnoReason());
}

Result<std::vector<TrustedKey>> ReadPublicKeys(const std::string& path) {
  TW_ASSIGN_OR_RETURN(auto text, ReadFile(path, kMaxKeyFileBytes));
  return ParsePublicKeys(text, path);
}

Result<SecretKey> ReadSecretKey(const std::string& path) {
  TW_ASSIGN_OR_RETURN(auto text, ReadFile(path, kMaxKeyFileBytes));
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0 && (info.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return InvalidArgument(path +
                           ": a secret key that others may read; chmod 600 it, or better "
                           "make a new one");
  }
  const KeyLine parts = Take(Trim(text));
  if (parts.tag != kSecretTag) {
    return InvalidArgument(path + ": not a secret key (made by `tilewright package keygen`)");
  }
  auto bytes = ParseHex(parts.digits, SecretKey::kBytes);
  if (!bytes.ok()) return bytes.status().WithContext(path);
  SecretKey key(*bytes);
  // The second half of a secret key is its public half: this detects a damaged file before invalid
  // signatures are made.
  std::array<unsigned char, crypto_sign_SEEDBYTES> seed;
  std::array<unsigned char, SecretKey::kBytes> again;
  PublicKey derived;
  crypto_sign_ed25519_sk_to_seed(seed.data(), key.data());
  crypto_sign_seed_keypair(derived.bytes.data(), again.data(), seed.data());
  sodium_memzero(seed.data(), seed.size());
  sodium_memzero(again.data(), again.size());
  sodium_memzero(bytes->data(), bytes->size());
  sodium_memzero(text.data(), text.size());
  if (!(derived == key.public_key())) {
    return InvalidArgument(path + ": a damaged secret key (its halves do not match)");
  }
  return key;
}

Status WriteKeyFiles(const SecretKey& key, const std::string& path, std::string_view comment) {
  if (!IsPrintable(comment)) {
    return InvalidArgument("the comment of a key is one line without control characters");
  }
  if (FileExists(path + ".pub")) {
    return InvalidArgument(path + ".pub: exists, and keys are never replaced");
  }
  TW_RETURN_IF_ERROR(WriteNew(path, key.FileText(comment), 0600));
  return WriteNew(path + ".pub", PublicKeyLine(key.public_key(), comment), 0644);
}

}  // namespace tilewright::records
