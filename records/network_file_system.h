#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/status.h"

namespace tilewright::records {

/// Returns the name of the network file system with this magic number (statfs: f_type), such as
/// "NFS"; empty for local ones. `mount_type` is the type in /proc/self/mountinfo ("fuse.sshfs"),
/// because all file systems in user space share one magic number.
std::string_view NetworkFileSystem(std::int64_t magic, std::string_view mount_type);

/// Returns the type of the mount that contains `path`, from a text in the format of
/// /proc/self/mountinfo; empty if none does. `path` is absolute.
std::string MountTypeOf(std::string_view path, std::string_view mountinfo);

/// Checks that the directory of `path` is on a local file system. Between machines, locks and the
/// shared memory of a store do not work on a network file system, and writing could damage the
/// store.
/// Errors: kUnsupported if it is on a network file system.
Status CheckLocalFileSystem(const std::string& path);

}  // namespace tilewright::records
