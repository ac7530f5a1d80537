#pragma once

#include <string>
#include <string_view>

#include "src/base/status.h"

// Keys of a fleet's users in the format of NATS (NKeys: Ed25519, base 32 with a prefix and a
// checksum). The server stores public keys only.

namespace tilewright::measure::fleet {

struct UserKey {
  std::string seed;        ///< secret: 58 letters, "SU…"
  std::string public_key;  ///< 56 letters, "U…"
};
/// Generates a key. Errors: kInternal if the cryptographic library does not start.
Result<UserKey> MakeUserKey();
/// Derives the public key. Errors: kInvalidArgument if the text is not the seed of a user's key.
Result<std::string> PublicKeyOf(std::string_view seed);
/// Reads the seed from the first line of the file. Errors: those of reading; as PublicKeyOf, with
/// the file's name.
Result<std::string> PublicKeyOfSeedFile(const std::string& path);

/// Returns 16 unpredictable letters.
std::string MakeToken();
/// Returns the SHA-256 as 64 hexadecimal digits.
std::string Sha256(std::string_view bytes);

}  // namespace tilewright::measure::fleet
