#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "records/validation/digest.h"
#include "src/base/status.h"

namespace tilewright::records {

/// Public half of an Ed25519 key pair.
struct PublicKey {
  std::array<unsigned char, 32> bytes{};
  std::string Hex() const;
  friend bool operator==(const PublicKey&, const PublicKey&) = default;
};

/// Secret half of an Ed25519 key pair. The destructor wipes its bytes.
class SecretKey {
 public:
  static constexpr std::size_t kBytes = 64;
  explicit SecretKey(std::string_view bytes);  ///< requires kBytes bytes
  SecretKey(const SecretKey&) = default;
  SecretKey& operator=(const SecretKey&) = default;
  ~SecretKey();
  PublicKey public_key() const;
  /// Returns the text of a key file; see ReadSecretKey.
  std::string FileText(std::string_view comment) const;
  const unsigned char* data() const { return bytes_.data(); }

 private:
  std::array<unsigned char, kBytes> bytes_;
};

/// Generates a random key pair; the secret key contains the public one.
/// Errors: kInternal if the system provides no random bytes.
Result<SecretKey> GenerateKey();

using Signature = std::array<unsigned char, 64>;
Signature Sign(const SecretKey& key, std::string_view message);
bool VerifySignature(const PublicKey& key, std::string_view message, const Signature& signature);

/// Public key whose packages are accepted, and the stated name of its owner.
struct TrustedKey {
  PublicKey key;
  std::string comment;
};

/// Returns a line "tilewright-ed25519 <64 hexadecimal digits> <comment>", as in a file of trusted
/// keys.
std::string PublicKeyLine(const PublicKey& key, std::string_view comment);
/// Parses such lines; skips empty lines and those that begin with '#'.
/// Errors: kInvalidArgument with file and line.
Result<std::vector<TrustedKey>> ParsePublicKeys(std::string_view text, const std::string& file);
/// Reads a list of keys to trust, in the format of ParsePublicKeys. A missing file contains no
/// keys.
/// Errors: also kInvalidArgument if other users may write the file or its directory.
Result<std::vector<TrustedKey>> ReadTrustedKeys(const std::string& path);
/// Reads the keys of a file that the user names, in the format of ParsePublicKeys.
/// Errors: also kNotFound.
Result<std::vector<TrustedKey>> ReadPublicKeys(const std::string& path);
/// Writes a list of keys, writable only by its owner, and creates its directory.
/// Errors: kUnavailable.
Status WriteTrustedKeys(const std::string& path, std::string_view text);

/// Reads a file "tilewright-ed25519-secret <128 hexadecimal digits> <comment>".
/// Errors: kNotFound; kInvalidArgument if it is not a key, if its halves do not match, or if other
/// users may read it.
Result<SecretKey> ReadSecretKey(const std::string& path);
/// Writes both halves: `path` (readable only by its owner) and `path`.pub.
/// Errors: kInvalidArgument if one of the files exists; kUnavailable.
Status WriteKeyFiles(const SecretKey& key, const std::string& path, std::string_view comment);

}  // namespace tilewright::records
