#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace tilewright::records {

/// SHA-256 of some bytes.
using Digest = std::array<unsigned char, 32>;
Digest Sha256(std::string_view bytes);
/// The same as 64 hexadecimal digits.
std::string Sha256Hex(std::string_view bytes);

/// Lower-case hexadecimal digits.
std::string HexText(std::string_view bytes);
/// Errors: kInvalidArgument unless `text` is 2 * size hexadecimal digits.
Result<std::string> ParseHex(std::string_view text, std::size_t size);

/// Half of an Ed25519 key pair that everybody may know.
struct PublicKey {
  std::array<unsigned char, 32> bytes{};
  std::string Hex() const;
  friend bool operator==(const PublicKey&, const PublicKey&) = default;
};

/// The other half. Its bytes are wiped when it goes.
class SecretKey {
 public:
  static constexpr std::size_t kBytes = 64;
  explicit SecretKey(std::string_view bytes);  ///< requires kBytes bytes
  SecretKey(const SecretKey&) = default;
  SecretKey& operator=(const SecretKey&) = default;
  ~SecretKey();
  PublicKey public_key() const;
  /// Text of a key file; see ReadSecretKey.
  std::string FileText(std::string_view comment) const;
  const unsigned char* data() const { return bytes_.data(); }

 private:
  std::array<unsigned char, kBytes> bytes_;
};

/// A new random pair; the public half is in the secret one.
/// Errors: kInternal if the system gives no random bytes.
Result<SecretKey> GenerateKey();

using Signature = std::array<unsigned char, 64>;
Signature Sign(const SecretKey& key, std::string_view message);
bool VerifySignature(const PublicKey& key, std::string_view message, const Signature& signature);

/// A public key whose packages may be used, and whose it is said to be.
struct TrustedKey {
  PublicKey key;
  std::string comment;
};

/// One line "tilewright-ed25519 <64 hexadecimal digits> <comment>", as in a file of trusted keys.
std::string PublicKeyLine(const PublicKey& key, std::string_view comment);
/// Keys of a text of such lines; empty lines and those that begin with '#' are skipped.
/// Errors: kInvalidArgument with file and line.
Result<std::vector<TrustedKey>> ParsePublicKeys(std::string_view text, const std::string& file);
/// A list of keys that are trusted from now on, as ParsePublicKeys. No file: no keys.
/// Errors: also kInvalidArgument if others may write the file or its folder.
Result<std::vector<TrustedKey>> ReadTrustedKeys(const std::string& path);
/// Keys of a file that somebody names, as ParsePublicKeys. Errors: also kNotFound.
Result<std::vector<TrustedKey>> ReadPublicKeys(const std::string& path);
/// Writes a list of keys that only its owner may change, and makes its folder.
/// Errors: kUnavailable.
Status WriteTrustedKeys(const std::string& path, std::string_view text);

/// Reads a file "tilewright-ed25519-secret <128 hexadecimal digits> <comment>".
/// Errors: kNotFound; kInvalidArgument if it is no key, if its halves do not belong together, or if
/// anybody but its owner may read it.
Result<SecretKey> ReadSecretKey(const std::string& path);
/// Writes both halves: `path` (for its owner only) and `path`.pub.
/// Errors: kInvalidArgument if one of the files exists; kUnavailable.
Status WriteKeyFiles(const SecretKey& key, const std::string& path, std::string_view comment);

}  // namespace tilewright::records
