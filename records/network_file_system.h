#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/status.h"

namespace tilewright::records {

/// Name of the network file system that has this magic number (statfs: f_type), such as "NFS";
/// empty for local ones. `mount_type` is the type that /proc/self/mountinfo has ("fuse.sshfs"):
/// one magic number stands for all file systems in user space.
std::string_view NetworkFileSystem(std::int64_t magic, std::string_view mount_type);

/// Type of the mount that holds `path` by a text in the form of /proc/self/mountinfo; empty if none
/// does. `path` is absolute.
std::string MountTypeOf(std::string_view path, std::string_view mountinfo);

/// Errors: kUnsupported if the folder of `path` is on a network file system: locks and the shared
/// memory beside the store do not work there between machines, so writing could damage it.
Status CheckLocalFileSystem(const std::string& path);

}  // namespace tilewright::records
