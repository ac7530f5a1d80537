#pragma once

#include <string>
#include <string_view>

#include "src/base/status.h"

// Keys of the users of a fleet, as NATS writes them (NKeys: Ed25519, base 32 with a prefix and a
// checksum). The server knows public keys only.

namespace tilewright::measure::fleet {

struct UserKey {
  std::string seed;        ///< secret: 58 letters, "SU…"
  std::string public_key;  ///< 56 letters, "U…"
};
/// A new one. Errors: kInternal if the cryptographic library does not start.
Result<UserKey> MakeUserKey();
/// Errors: kInvalidArgument if the text is no seed of a user's key.
Result<std::string> PublicKeyOf(std::string_view seed);
/// The file holds the seed in its first line. Errors: those of reading; as PublicKeyOf, with the
/// file's name.
Result<std::string> PublicKeyOfSeedFile(const std::string& path);

/// 16 letters that nobody can guess.
std::string MakeToken();
/// SHA-256, 64 hexadecimal digits.
std::string Sha256(std::string_view bytes);

}  // namespace tilewright::measure::fleet
