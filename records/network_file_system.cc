#include "records/network_file_system.h"

#include <sys/statfs.h>

#include <array>
#include <filesystem>

#include "src/base/files/file.h"
#include "src/base/strings.h"

namespace tilewright::records {
namespace {

struct Magic {
  std::int64_t number;
  std::string_view name;
};

// Magic numbers from statfs(2) and from the file systems' headers.
constexpr std::array kMagics = {
    Magic{0x6969, "NFS"},        Magic{0x517B, "SMB"},        Magic{0xFF534D42, "CIFS"},
    Magic{0xFE534D42, "SMB2"},   Magic{0x5346414F, "AFS"},    Magic{0x6B414653, "AFS"},
    Magic{0x00C36400, "Ceph"},   Magic{0x73757245, "Coda"},   Magic{0x564C, "NCP"},
    Magic{0x0BD00BD0, "Lustre"}, Magic{0x47504653, "GPFS"},   Magic{0x01161970, "GFS2"},
    Magic{0x7461636F, "OCFS2"},  Magic{0x01021997, "9P"},     Magic{0x19830326, "BeeGFS"},
    Magic{0x786F4256, "VBOXSF"}, Magic{0xBACBACBC, "VMHGFS"}, Magic{0x013111A8, "IBRIX"},
    Magic{0xAAD7AAEA, "PanFS"},
};

constexpr std::int64_t kFuse = 0x65735546;
// File systems in user space whose files other machines can change. The others (ntfs, encfs, …) are
// local.
constexpr std::array<std::string_view, 13> kFuseNetworks = {
    "sshfs",   "glusterfs", "ceph",      "s3fs",   "rclone", "gcsfuse",   "davfs",
    "juicefs", "blobfuse",  "blobfuse2", "goofys", "mfs",    "seaweedfs",
};

}  // namespace

std::string_view NetworkFileSystem(std::int64_t magic, std::string_view mount_type) {
  // f_type is signed on some machines: compare 32 bits.
  const auto bits = static_cast<std::int64_t>(static_cast<std::uint32_t>(magic));
  for (const Magic& known : kMagics) {
    if (known.number == bits) return known.name;
  }
  if (bits == kFuse && mount_type.starts_with("fuse.")) {
    for (const std::string_view name : kFuseNetworks) {
      if (mount_type.substr(5) == name) return name;
    }
  }
  return {};
}

std::string MountTypeOf(std::string_view path, std::string_view mountinfo) {
  // "36 35 98:0 / /mnt/x rw,noatime master:1 - fuse.sshfs host:/x rw": the fifth word is the mount
  // point, the first after the dash its type. The longest mount point counts, and of equal ones the
  // last.
  std::string type;
  std::size_t longest = 0;
  for (const std::string& line : Split(mountinfo, '\n')) {
    const std::vector<std::string> words = Split(line, ' ');
    std::size_t dash = 6;
    while (dash < words.size() && words[dash] != "-") ++dash;
    if (dash + 1 >= words.size()) continue;
    const std::string& point = words[4];
    const bool inside =
        path == point || point == "/" ||
        (path.starts_with(point) && path.size() > point.size() && path[point.size()] == '/');
    if (!inside || point.size() < longest) continue;
    longest = point.size();
    type = words[dash + 1];
  }
  return type;
}

Status CheckLocalFileSystem(const std::string& path) {
  std::error_code failed;
  std::filesystem::path folder = std::filesystem::absolute(path, failed).parent_path();
  folder = std::filesystem::weakly_canonical(folder, failed);
  struct statfs info {};
  // If statfs fails, opening the store reports the reason.
  if (failed || ::statfs(folder.c_str(), &info) != 0) return {};
  std::string mount_type;
  if (static_cast<std::int64_t>(info.f_type) == kFuse) {
    if (auto mounts = ReadFile("/proc/self/mountinfo"); mounts.ok()) {
      mount_type = MountTypeOf(folder.string(), *mounts);
    }
  }
  const std::string_view name =
      NetworkFileSystem(static_cast<std::int64_t>(info.f_type), mount_type);
  if (name.empty()) return {};
  return Unsupported(path + ": on a network file system (" + std::string(name) +
                     "), where writers on several machines would damage a record store; keep it "
                     "on a local disk, and put a read-only copy there with "
                     "`tilewright records vacuum STORE --into COPY`");
}

}  // namespace tilewright::records
